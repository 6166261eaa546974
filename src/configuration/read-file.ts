import { Settings } from 'typebox/system'
import { Errors } from 'typebox/value'
import { isMap, isPair, LineCounter, type Node, parseDocument } from 'yaml'
import { kindNamed } from '../kinds/index.ts'
import { ALL_IDS, parseSeveritySetting, problemWithIgnoredId, problemWithPath } from '../engine/index.ts'
import { nearest, shortQuote } from '../rule/index.ts'
import { ConfigurationSchema, type WrittenConfiguration } from './file-schema.ts'
import { ConfigurationError } from './configuration-error.ts'
import type { Configuration, FileExemption } from './file.ts'
import { isNamespaceName } from './flags.ts'
import { problemWithRelease } from './known-releases.ts'

type Step = string | number

/** TypeBox reports only eight errors by default. */
Settings.Set({ maxErrors: 100 })

/** Reads the text of a configuration file. Throws ConfigurationError. */
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
        // Each problem must be one line, and some messages quote the file.
        return { line, column: col, message: message.replaceAll('\n', '\\n') }
      })
    throw new ConfigurationError(file, placed)
  }
  end(syntax)
  const value: unknown = document.toJS() ?? {}
  for (const { at, message, target } of schemaProblems(value)) fail(at, message, target)
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

/** A hint at a known id, for a problem of `parseSeveritySetting` with an unknown one. */
function nearId(id: string, problem: string): string {
  const near = problem.includes('is not the id') ? nearest(id, ALL_IDS) : undefined
  return near === undefined ? '' : `; did you mean '${near}'`
}

interface SchemaProblem {
  readonly at: readonly Step[]
  readonly message: string
  readonly target?: 'key'
}

/** The errors of TypeBox in words for the author of the file; all errors about an unknown key become one. */
function schemaProblems(value: unknown): SchemaProblem[] {
  return Errors(ConfigurationSchema, value).flatMap((error): SchemaProblem[] => {
    const at = stepsOf(error.instancePath)
    const field = at.length === 0 ? 'the file' : `'${String(at.at(-1))}'`
    switch (error.keyword) {
      // TypeBox reports each unknown key by itself, then all together, and the latter not where there are too many
      // errors.
      case 'boolean': {
        const known = Object.keys(keysAt(at.slice(0, -1)))
        const key = String(at.at(-1))
        const near = nearest(key, known)
        const advice = near === undefined ? `; the keys are ${known.join(', ')}` : `; did you mean '${near}'`
        return [{ at, message: `there is no key ${shortQuote(key)}${advice}`, target: 'key' }]
      }
      case 'additionalProperties':
        return []
      case 'required':
        return error.params.requiredProperties.map((key) => ({ at, message: `'${key}' is missing` }))
      case 'enum': {
        const values = error.params.allowedValues.map(String)
        const near = nearest(String(valueAt(value, at)), values)
        const advice = near === undefined ? '' : `; did you mean '${near}'`
        return [{ at, message: `${field} is one of ${values.join(', ')}${advice}` }]
      }
      case 'type':
        // YAML reads 0.50 as the number 0.5, so a release must be in quotes.
        if (at.join('.') === 'release' && typeof valueAt(value, at) === 'number')
          return [{ at, message: `'release' must be in quotes, such as '0.63'` }]
        return [
          { at, message: `${field} must be ${IN_WORDS[String(error.params.type)] ?? 'of another type'}` },
        ]
      case 'pattern':
        return [{ at, message: `${field} must be a day such as 2026-12-31` }]
      case 'minLength':
        return [{ at, message: `${field} must not be empty` }]
      case 'maxLength': {
        const name = String(at.findLast((step) => typeof step === 'string'))
        return [{ at, message: `'${name}' has at most ${error.params.limit} characters` }]
      }
      default:
        return [{ at, message: `${field} ${error.message}` }]
    }
  })
}

const IN_WORDS: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'a map',
  string: 'a text',
}

const stepsOf = (pointer: string): Step[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')))

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** The properties of the schema at a place. */
function keysAt(at: readonly Step[]): Readonly<Record<string, unknown>> {
  let schema: Schema = ConfigurationSchema as Schema
  for (const step of at) schema = (typeof step === 'number' ? schema.items : schema.properties?.[step]) ?? {}
  return schema.properties ?? {}
}

const valueAt = (value: unknown, at: readonly Step[]): unknown =>
  at.reduce<unknown>((inner, step) => (inner as Record<Step, unknown> | undefined)?.[step], value)

/** The offset of the key or the value at a place; of the nearest place above where it is missing. */
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
