import { stringify } from 'yaml'
import { UsageError } from '../../configuration/flags.ts'
import { KINDS } from '../../kinds/index.ts'
import { allRules, examplesOf, placesOf } from '../../kinds/places.ts'
import { ALL_IDS, ENGINE_IDS, type EngineId } from '../../review/engine-ids.ts'
import { isStrictError } from '../../review/profiles.ts'
import { parseSeveritySetting } from '../../review/settings.ts'
import { describedId, describedSource, pathOf, threadUrl } from '../../review/documentation.ts'
import { nearest } from '../../rule/nearest.ts'
import { pathText } from '../../rule/path.ts'
import { type Rule, type Source, sourceNames } from '../../rule/rule.ts'
import { fieldPage, fieldPaths, fieldsAt, kindCalled, kindPage, placeText } from './explain-field.ts'

/**
 * Prints the page of an id, a kind or a field, or without an argument one line for each id. Returns the exit code. Throws
 * UsageError.
 */
export function explain(args: readonly string[]): number {
  const [name, more] = args
  if (more !== undefined)
    throw new UsageError(
      'name one id, as it ends a finding in parentheses, one kind, or the path of one field',
    )
  process.stdout.write(`${(name === undefined ? idLines() : pageOf(name)).join('\n')}\n`)
  return 0
}

/** Every id, with its severity and what it asks for. */
function idLines(): string[] {
  const all = [...allRules(), ...ENGINE_IDS]
  const width = Math.max(...all.map(({ id }) => id.length))
  return all
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, severity, summary }) => `${id.padEnd(width)}  ${severity.padEnd(7)}  ${summary}`)
}

function pageOf(name: string): string[] {
  const rule = allRules().find(({ id }) => id === name)
  if (rule !== undefined)
    return [
      ...headLines(rule),
      placeLine(rule),
      ...symptomLines(rule),
      ...readLines(rule),
      ...severityLines(rule),
      ...exampleLines(rule),
    ]
  const found = ENGINE_IDS.find(({ id }) => id === name)
  if (found !== undefined) return [...headLines(found), ...severityLines(found), ...engineExample(found)]
  const kind = kindCalled(name)
  if (kind !== undefined) return kindPage(kind)
  const groups = fieldsAt(name)
  if (groups.length === 0) throw new UsageError(`'${name}' is not an id, a kind or a field${advice(name)}`)
  if (groups.length > MOST_PAGES)
    throw new UsageError(`'${name}' is in several places: ${listed(groups.flat().map(placeText), 'and')}`)
  return groups.flatMap((group, i) => [...(i === 0 ? [] : ['', '---', '']), ...fieldPage(group)])
}

/** Most fields of one name that are all printed. */
const MOST_PAGES = 4
/** Most names that a message lists. */
const MOST_NAMES = 8

function listed(names: readonly string[], word: 'and' | 'or'): string {
  const shown = names.slice(0, MOST_NAMES)
  if (shown.length < names.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length === 1
    ? names.join('')
    : `${shown.slice(0, -1).join(', ')} ${word} ${shown.at(-1) ?? ''}`
}

const quoted = (name: string): string => `'${name}'`

/** A suggestion: ids that contain the name, else the most similar name. */
function advice(name: string): string {
  const part = name.toLowerCase()
  const holding = part.length < 3 ? [] : [...ALL_IDS].filter((id) => id.toLowerCase().includes(part))
  const near = nearest(name, [...ALL_IDS, ...KINDS.map(({ kind }) => kind)]) ?? nearest(name, fieldPaths())
  if (holding.length > 0) return `; did you mean ${listed(holding.toSorted().map(quoted), 'or')}`
  if (near !== undefined) return `; did you mean ${quoted(near)}`
  return '; `vmcp-admission explain` lists the ids, docs/fields.md the fields'
}

interface Described {
  readonly id: string
  readonly severity: string
  readonly summary: string
  readonly why: string
  readonly sources: readonly Source[]
}

function headLines({ id, severity, summary, why, sources }: Described): string[] {
  const from = sourceNames(sources)
    .map(describedSource)
    .map((source) => `${source.text} (${pathOf(source)})`)
  return [
    `${id} (${severity}${isStrictError(id) ? '; error with --profile strict' : ''})`,
    '',
    summary,
    why,
    '',
    `page: ${pathOf(describedId(id))}`,
    `from: ${from.join(', ')}`,
  ]
}

function placeLine(rule: Rule): string {
  const texts = placesOf(rule).map(({ kind, at }) =>
    at.length === 0 ? kind.kind : `${pathText(at)} of ${kind.kind}`,
  )
  return `on: ${texts.join(', ')}`
}

const readLines = (rule: Rule): string[] =>
  rule.reads.length === 0 ? [] : [`reads: ${rule.reads.join(', ')}`]

/** The symptom that users saw where the rule was broken, and where they reported it. */
function symptomLines({ failure }: Rule): string[] {
  if (failure === undefined) return []
  const { symptom, releases, threads } = failure
  return [
    `seen as: ${symptom}${releases === undefined ? '' : ` (${releases})`}`,
    ...(threads.length === 0 ? [] : [`reported in: ${threads.map(threadUrl).join(', ')}`]),
  ]
}

/** The flag that changes its severity. */
function severityLines({ id, severity }: Described): string[] {
  if (typeof parseSeveritySetting(`${id}=off`, ALL_IDS) === 'string')
    return ['relax: not possible, it is always an error']
  const change = severity === 'error' ? ['relax', 'warning|off'] : ['silence', 'off']
  return [`${change[0]}: --severity ${id}[:PATH]=${change[1]}[@NAMESPACE,...]`]
}

function exampleLines(rule: Rule): string[] {
  const verdict = rule.severity === 'error' ? 'denied' : 'warned about'
  return examplesOf(rule).flatMap(({ title, resource, others, old, findings }) => [
    '',
    `${findings.length === 0 ? 'accepted' : verdict}: ${title}`,
    ...others.flatMap((other) => [...manifest(other), '    ---']),
    ...manifest(resource),
    ...(old === undefined ? [] : ['  which was before:', ...manifest(old)]),
    ...findings.map((text) => `  => ${text}`),
  ])
}

function engineExample({ example }: EngineId): string[] {
  if (example === undefined) return []
  const { resource, findings } = example
  return ['', 'found in:', ...manifest(resource), ...findings.map((text) => `  => ${text}`)]
}

function manifest(resource: object): string[] {
  const text = stringify(resource, { aliasDuplicateObjects: false, lineWidth: 0 })
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line.length > 160 ? `${line.slice(0, 160)}…` : line}`)
}
