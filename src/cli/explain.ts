import { stringify } from 'yaml'
import { UsageError } from '../configuration/flags.ts'
import { allRules, examplesOf, placesOf } from '../kinds/places.ts'
import { ALL_IDS, ENGINE_IDS } from '../review/engine-ids.ts'
import { parseSeveritySetting } from '../review/settings.ts'
import { nearest } from '../rule/nearest.ts'
import { pathText } from '../rule/path.ts'
import type { Rule } from '../rule/rule.ts'

/** Prints what an id asks for, why, and examples, or of every id a line; returns the exit code. Throws UsageError. */
export function explain(args: readonly string[]): number {
  const [id, more] = args
  if (more !== undefined) throw new UsageError('name one id, as it ends a finding in parentheses')
  process.stdout.write(`${(id === undefined ? list() : pageOf(id)).join('\n')}\n`)
  return 0
}

/** Every id, with its severity and what it asks for. */
function list(): string[] {
  const all = [...allRules(), ...ENGINE_IDS]
  const width = Math.max(...all.map(({ id }) => id.length))
  return all
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, severity, summary }) => `${id.padEnd(width)}  ${severity.padEnd(7)}  ${summary}`)
}

function pageOf(id: string): string[] {
  const rule = allRules().find((each) => each.id === id)
  if (rule !== undefined)
    return [...head(rule), places(rule), ...reads(rule), ...relaxing(rule), ...exampleLines(rule)]
  const found = ENGINE_IDS.find((each) => each.id === id)
  if (found !== undefined) return [...head(found), ...relaxing(found)]
  const near = nearest(id, ALL_IDS)
  throw new UsageError(
    `'${id}' is not an id${near === undefined ? '; `vmcp-admission explain` lists them' : `; did you mean '${near}'`}`,
  )
}

interface Described {
  readonly id: string
  readonly severity: string
  readonly summary: string
  readonly why: string
  readonly sources: readonly string[]
}

function head({ id, severity, summary, why, sources }: Described): string[] {
  const named = sources.map((source) => (source.startsWith('decision') ? source : `section ${source}`))
  return [`${id} (${severity})`, '', summary, why, '', `from: ${named.join(', ')}`]
}

function places(rule: Rule): string {
  const texts = placesOf(rule).map(({ kind, at }) =>
    at.length === 0 ? kind.kind : `${pathText(at)} of ${kind.kind}`,
  )
  return `on: ${texts.join(', ')}`
}

const reads = (rule: Rule): string[] => (rule.reads.length === 0 ? [] : [`reads: ${rule.reads.join(', ')}`])

/** How its severity is changed. */
function relaxing({ id, severity }: Described): string[] {
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

function manifest(resource: object): string[] {
  const text = stringify(resource, { aliasDuplicateObjects: false, lineWidth: 0 })
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line.length > 160 ? `${line.slice(0, 160)}…` : line}`)
}
