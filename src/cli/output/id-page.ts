import { stringify } from 'yaml'
import { allRules, examplesOf, placesOf } from '../../kinds/places.ts'
import {
  ALL_IDS,
  ENGINE_IDS,
  type EngineId,
  isStrictError,
  parseSeveritySetting,
  presentId,
} from '../../engine/index.ts'
import { describedId, describedSource, pathOf, threadUrl } from '../../kinds/documentation.ts'
import { pathText, type Rule, sourceNames } from '../../rule/index.ts'

type Described = Pick<EngineId, 'id' | 'severity' | 'summary' | 'why' | 'sources'>

/** The description of an id that a finding can have; undefined for any other text. */
export const describedAs = (id: string): Described | undefined =>
  allRules().find((rule) => rule.id === id) ?? ENGINE_IDS.find((each) => each.id === id)

/** The text of `explain` for a current or former id of findings, with its examples as manifests; else undefined. */
export function idPage(named: string): string[] | undefined {
  const id = presentId(named)
  const rule = allRules().find((each) => each.id === id)
  if (rule !== undefined)
    return [
      ...headLines(rule),
      placeLine(rule),
      ...formerLine(rule),
      ...seenLine(rule),
      ...reportedLine(rule),
      ...readLines(rule),
      severityLine(rule),
      ...exampleLines(rule),
    ]
  const found = ENGINE_IDS.find((each) => each.id === id)
  return found && [...headLines(found), severityLine(found), ...engineExample(found)]
}

export const nameLine = ({ id, severity }: Pick<Described, 'id' | 'severity'>): string =>
  `${id} (${severity}${isStrictError(id) ? '; error with --profile strict' : ''})`

function headLines({ id, severity, summary, why, sources }: Described): string[] {
  const from = sourceNames(sources)
    .map(describedSource)
    .map((source) => `${source.text} (${pathOf(source)})`)
  return [
    nameLine({ id, severity }),
    '',
    summary,
    why,
    '',
    `page: ${pathOf(describedId(id))}`,
    `from: ${from.join(', ')}`,
  ]
}

export function placeLine(rule: Rule): string {
  const texts = placesOf(rule).map(({ kind, at }) =>
    at.length === 0 ? kind.kind : `${pathText(at)} of ${kind.kind}`,
  )
  return `on: ${texts.join(', ')}`
}

const formerLine = ({ formerIds = [] }: Rule): string[] =>
  formerIds.length === 0 ? [] : [`formerly: ${formerIds.join(', ')}`]

const readLines = (rule: Rule): string[] =>
  rule.reads.length === 0 ? [] : [`reads: ${rule.reads.join(', ')}`]

/** The line with the symptom that users see when a resource breaks the rule; empty when none is known. */
export function seenLine({ failure }: Rule): string[] {
  if (failure === undefined) return []
  const { symptom, releases } = failure
  return [`seen as: ${symptom}${releases === undefined ? '' : ` (${releases})`}`]
}

/** The line with the issues in which users reported the failure that the rule prevents; empty when there are none. */
function reportedLine({ failure }: Rule): string[] {
  const threads = failure?.threads ?? []
  return threads.length === 0 ? [] : [`reported in: ${threads.map(threadUrl).join(', ')}`]
}

/** The line about the flag that changes the severity of a rule: `silence: --severity ID[:PATH]=off`. */
export function severityLine({ id, severity }: Described): string {
  if (typeof parseSeveritySetting(`${id}=off`, ALL_IDS) === 'string')
    return 'relax: not possible, it is always an error'
  const change = severity === 'error' ? ['relax', 'warning|off'] : ['silence', 'off']
  return `${change[0]}: --severity ${id}[:PATH]=${change[1]}[@NAMESPACE,...]`
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
  return yamlLines(resource).map((line) => `    ${line.length > 160 ? `${line.slice(0, 160)}…` : line}`)
}

export const yamlLines = (resource: object): string[] =>
  stringify(resource, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd().split('\n')
