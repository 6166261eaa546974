import { type Document, isAlias, isMap, isPair, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { kindNamed } from '../kinds/index.ts'
import { ALL_IDS, parseSeveritySetting, problemWithIgnoredId, problemWithPath } from '../engine/index.ts'
import { errorMessage, nearest, shortQuote } from '../rule/index.ts'
import { ConfigurationSchema, type WrittenConfiguration } from './file-schema.ts'
import { ConfigurationError } from './configuration-error.ts'
import type { Configuration, FileExemption } from './file.ts'
import { isNamespaceName } from './flags.ts'
import { problemWithRelease } from './known-releases.ts'
import { schemaProblems, type Step } from './schema-problems.ts'

/** Parses the text of a configuration file. Throws ConfigurationError. */
export function readConfiguration(file: string, content: string): Configuration {
  const lines = new LineCounter()
  const document = parseDocument(content, { lineCounter: lines, prettyErrors: false })
  const problems: { readonly offset: number; readonly message: string }[] = []
  const syntax = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    offset: pos[0],
    message,
  }))
  const root = document.contents as Node | null
  const offsetOf = (at: readonly Step[], target: 'key' | 'value' = 'value') => offsetIn(root, at, target)
  const fail = (at: readonly Step[], message: string, target?: 'key' | 'value') =>
    problems.push({ offset: offsetOf(at, target), message })
  const end = (found: typeof problems): void => {
    if (found.length === 0) return
    const placed = found
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, message }) => {
        const { line, col } = lines.linePos(offset)
        // Each problem must be a single line, and some messages quote the file.
        return { line, column: col, message: message.replaceAll('\n', '\\n') }
      })
    throw new ConfigurationError(file, placed)
  }
  end(syntax)
  end(unknownAliases(document))
  let value: unknown
  try {
    value = document.toJS() ?? {}
  } catch (error) {
    // `toJS` throws when aliases expand to too many nodes.
    end([{ offset: 0, message: errorMessage(error) }])
  }
  for (const { at, message, target } of schemaProblems(ConfigurationSchema, value, 'the file'))
    fail(at, message, target)
  end(problems)
  const written = value as WrittenConfiguration
  const severities = (written.severities ?? []).flatMap((setting, i) => {
    const parsed = parseSeveritySetting(setting, ALL_IDS)
    if (typeof parsed !== 'string') return [parsed]
    fail(['severities', i], parsed + nearId(setting.split(/[:=]/, 1)[0] ?? '', parsed))
    return []
  })
  const exemptions = (written.exemptions ?? []).map((exemption, i): FileExemption => {
    const at = ['exemptions', i]
    const { id, object, path, expires } = exemption
    const wrongId = problemWithIgnoredId(id)
    if (wrongId !== undefined) fail([...at, 'id'], wrongId)
    const { kind = '' } = object ?? {}
    const nearKind = kindNamed.has(kind) ? undefined : nearest(kind, kindNamed.keys())
    if (nearKind !== undefined)
      fail([...at, 'object', 'kind'], `${shortQuote(kind)} is not a kind; did you mean '${nearKind}'`)
    const wrongPath = path === undefined ? undefined : problemWithPath(path)
    if (wrongPath !== undefined) fail([...at, 'path'], wrongPath)
    if (expires !== undefined && !isDay(expires))
      fail([...at, 'expires'], `${shortQuote(expires)} is not a day of the calendar`)
    const { line, col } = lines.linePos(offsetOf(at))
    return { ...exemption, line, column: col }
  })
  const { default: defaultNamespace = '', leaveOut: leftOut = [] } = written.namespaces ?? {}
  if (defaultNamespace !== '' && !isNamespaceName(defaultNamespace))
    fail(['namespaces', 'default'], `${shortQuote(defaultNamespace)} is not the name of a namespace`)
  const { release } = written
  const unknownRelease = release === undefined ? undefined : problemWithRelease(release)
  if (unknownRelease !== undefined) fail(['release'], unknownRelease)
  const placeholders = written.placeholders ?? []
  for (const [i, placeholder] of placeholders.entries())
    if (placeholder.replaceAll(/[*\w\s]/g, '') === '')
      fail(
        ['placeholders', i],
        `${shortQuote(placeholder)} would be found in ordinary values: write the signs around it, such as @@*@@`,
      )
  end(problems)
  const { profile, allowIgnores } = written
  return {
    file,
    ...(profile && { profile }),
    ...(allowIgnores && { allowIgnores }),
    ...(release !== undefined && { release }),
    severities,
    exemptions,
    defaultNamespace,
    leftOut,
    placeholders,
  }
}

/** Texts such as `*-test` without quotes, which YAML reads as aliases, although no anchor before them has their name. */
function unknownAliases(document: Document): { readonly offset: number; readonly message: string }[] {
  const anchors = new Set<string>()
  const found: { readonly offset: number; readonly message: string }[] = []
  visit(document, {
    Node(_, node) {
      if (!isAlias(node)) anchors.add(node.anchor ?? '')
      else if (!anchors.has(node.source))
        found.push({
          offset: node.range?.[0] ?? 0,
          message: `write ${shortQuote(`*${node.source}`)} in quotes: without them, a text that begins with * is an alias of YAML`,
        })
    },
  })
  return found
}

/** A hint with a similar known id, if the text `problem` says that the id is unknown; else an empty text. */
function nearId(id: string, problem: string): string {
  const near = problem.includes('is not the id') ? nearest(id, ALL_IDS) : undefined
  return near === undefined ? '' : `; did you mean '${near}'`
}

/** The offset of the key or value at a path; if it is missing, the offset of the nearest parent. */
function offsetIn(root: Node | null, at: readonly Step[], target: 'key' | 'value'): number {
  let node: Node | null = root
  let key: Node | null = root
  for (const step of at) {
    const pair = isMap(node) ? node.items.find((each) => String(each.key) === String(step)) : undefined
    const next = pair ?? (node as { items?: readonly unknown[] } | null)?.items?.[Number(step)]
    if (next === undefined) break
    key = (isPair(next) ? next.key : next) as Node
    node = (isPair(next) ? (next.value ?? next.key) : next) as Node
  }
  return (target === 'key' ? key : node)?.range?.[0] ?? 0
}

function isDay(day: string): boolean {
  const time = Date.parse(`${day}T00:00:00Z`)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}
