import type { Cluster, ObjectName } from '../rule/cluster.ts'
import { pathTextWithoutIndexes, valueAt } from '../rule/path.ts'
import { isObject } from '../rule/resource.ts'
import { compareFindings, type Finding } from './finding.ts'
import { type Settings, severityAt } from './settings.ts'

/** What is decided about a resource: it is refused when there is an error. Both lists are in order. */
export interface Verdict {
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  /** Findings that a severity setting made less than an error; they are logged and counted. */
  readonly exempted: readonly string[]
  /** Rules that failed on this resource; they are logged and counted. */
  readonly failures: readonly Finding[]
}

export const ADMITTED: Verdict = { errors: [], warnings: [], exempted: [], failures: [] }

/** A judged object: what was found in it, and the object as it was submitted or stored, with the defaults that it lacks. */
export interface Judged {
  readonly findings: readonly Finding[]
  readonly value: () => unknown
}

/** What has just been read from the API server. */
export interface Confirmed {
  has(name: ObjectName): boolean
  /** The view with what is read for one review only: what Secrets hold. */
  with(cluster: Cluster): Cluster
}

export interface Judging {
  readonly namespace: string
  readonly settings: Settings
  readonly dryRun?: boolean
  readonly confirmed?: Confirmed | undefined
  /** What is found in the object beside what was tried together with it. */
  readonly tried?: (() => readonly Finding[]) | undefined
}

/**
 * Severity, then the ratchet (decision 8), then what an error is worth that rests on other objects (decision 9), then
 * the mode, then order. `old` is asked for only when there is an error.
 */
export function judge(
  { findings, value }: Judged,
  { namespace, settings, dryRun = false, confirmed, tried }: Judging,
  old: () => Judged | undefined = () => undefined,
): Verdict {
  if (findings.length === 0) return ADMITTED
  const exempted: string[] = []
  const weigh = (all: readonly Finding[], exempt?: (id: string) => void) =>
    all.flatMap((finding): Finding[] => {
      const place = { id: finding.id, at: finding.error.at, namespace }
      const set = severityAt(settings, place, finding.severity)
      // A rule that failed never denies, whatever its findings are worth (decision 20).
      const severity = finding.failure !== undefined && set === 'error' ? 'warning' : set
      if (finding.severity === 'error' && severity !== 'error') exempt?.(finding.id)
      return severity === 'off' ? [] : [{ ...finding, severity }]
    })
  const weighed = weigh(findings, (id) => exempted.push(id))
  const before = weighed.some(isError) ? old() : undefined
  const ratcheted =
    before === undefined
      ? weighed
      : excuseStored(weighed, value(), {
          value: before.value,
          findings: weigh(before.findings).filter(isError),
        })
  const settled = ratcheted.map((finding) => settle(finding, dryRun, confirmed))
  const joined =
    tried === undefined || !settled.some(restsOnOthers) ? settled : excuse(settled, value(), tried())
  const decided = settings.mode === 'warn' ? joined.map(wouldBeDenied) : joined
  const ordered = distinct(decided.toSorted(compareFindings))
  return {
    errors: ordered.filter(isError),
    warnings: ordered.filter((finding) => !isError(finding)),
    exempted,
    failures: findings.filter(({ failure }) => failure !== undefined),
  }
}

const isError = ({ severity }: Finding) => severity === 'error'

/**
 * An error that rests on other objects is none in a dry run, where they may be about to change too, and none while
 * they could not be read from the API server.
 */
function settle(finding: Finding, dryRun: boolean, confirmed: Confirmed | undefined): Finding {
  const { restsOn } = finding.error
  if (restsOn === undefined) return finding
  if (confirmed !== undefined && !restsOn.every((name) => confirmed.has(name)))
    return { ...finding, severity: 'warning', prefix: `not confirmed: ${finding.prefix ?? ''}` }
  return dryRun ? wouldBeDenied(finding) : finding
}

const restsOnOthers = (finding: Finding) => isError(finding) && finding.error.restsOn !== undefined

/** Turns each error that rests on other objects into a warning when it will be gone with what was tried together. */
function excuse(findings: readonly Finding[], value: unknown, left: readonly Finding[]): readonly Finding[] {
  const stay = new Set(left.map((finding) => sameness(finding, value)))
  return findings.map((finding) =>
    restsOnOthers(finding) && !stay.has(sameness(finding, value))
      ? { ...finding, severity: 'warning', prefix: 'until the rest is applied: ' }
      : finding,
  )
}

/** Turns each error that the stored object already has into a warning; one old error excuses one new one. */
function excuseStored(findings: readonly Finding[], value: unknown, old: Judged): Finding[] {
  const left = new Map<string, number>()
  const before = old.findings.length === 0 ? undefined : old.value()
  for (const finding of old.findings) {
    const key = sameness(finding, before)
    left.set(key, (left.get(key) ?? 0) + 1)
  }
  return findings.map((finding) => {
    const key = finding.severity === 'error' ? sameness(finding, value) : ''
    const count = left.get(key) ?? 0
    if (count === 0) return finding
    left.set(key, count - 1)
    return { ...finding, severity: 'warning', prefix: 'stored before: ' }
  })
}

const COMPARES_NO_VALUE = new Set(['required', 'forbidden'])

/**
 * Equal for the same error: id, place without list indexes, and the value that lies there. Which errors are not shown
 * nobody knows: that there are some is the same error when it is of the same rule, or of the schema.
 */
function sameness({ id, error, more }: Finding, object: unknown): string {
  if (more) return `more ${id.startsWith('schema-') ? 'schema' : id}`
  const value = COMPARES_NO_VALUE.has(error.type) ? undefined : valueAt(object, error.at)
  return [id, error.type, pathTextWithoutIndexes(error.at), canonical(value)].join(' ')
}

/** JSON with the keys of objects in order; empty for what is absent. */
function canonical(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
  return `{${members.join()}}`
}

function wouldBeDenied(finding: Finding): Finding {
  return finding.severity === 'error'
    ? { ...finding, severity: 'warning', prefix: 'would be denied: ' }
    : finding
}

/** Without exact repeats; the list is in order. */
function distinct(ordered: readonly Finding[]): Finding[] {
  return ordered.filter((finding, i) => {
    const before = ordered[i - 1]
    return before === undefined || compareFindings(before, finding) !== 0
  })
}
