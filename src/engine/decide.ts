import {
  type Cluster,
  compareFindings,
  type FieldError,
  type Finding,
  jsonKey,
  NOT_JUDGED,
  type ObjectName,
  type ErrorSubject,
  valueAt,
} from '../rule/index.ts'
import { type Ignore, type Ignored, type Settings, severityAt } from './settings.ts'

/**
 * The decision on a resource, which is denied when there is an error. Errors and warnings are sorted by
 * `compareFindings`.
 */
export interface Verdict {
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  /** Ids of findings that rules report as errors, but that a setting makes milder; they are logged and counted. */
  readonly exempted: readonly string[]
  /** Findings that report that a rule threw an exception; they are logged and counted. */
  readonly failures: readonly Finding[]
  /** Findings removed from the verdict by an exemption or an ignore; they are counted. */
  readonly ignored: readonly Ignored[]
  /** The ignores in the manifest that have no effect on their finding, because the settings do not allow them. */
  readonly refusedIgnores: readonly Ignore[]
}

export const NO_FINDINGS: Verdict = {
  errors: [],
  warnings: [],
  exempted: [],
  failures: [],
  ignored: [],
  refusedIgnores: [],
}

/** The findings of an object, after the severities of the settings are applied. */
export interface Weighed extends Pick<Verdict, 'exempted' | 'failures'> {
  /** The findings without those that the settings turn off. */
  readonly findings: readonly Finding[]
}

const NOTHING_WEIGHED: Weighed = { findings: [], exempted: [], failures: [] }

/** An object with its findings; `value` is the object as submitted or stored, with its missing defaults added. */
interface WeighedObject {
  readonly weighed: Weighed
  readonly value: () => unknown
}

/**
 * The objects that were read from the API server during this admission review, to confirm errors that depend on them.
 */
export interface Confirmed {
  has(name: ObjectName): boolean
  /** Returns the cluster with the objects that were read but are not in the cache, such as Secrets. */
  with(cluster: Cluster): Cluster
}

/** Gives findings the severities of the settings (decision 7). */
export function weigh(findings: readonly Finding[], namespace: string, settings: Settings): Weighed {
  if (findings.length === 0) return NOTHING_WEIGHED
  const exempted: string[] = []
  const weighed = findings.flatMap((finding): Finding[] => {
    const { id, constraint, error } = finding
    const place = { id, ...(constraint && { constraint }), at: error.at, namespace }
    const set = severityAt(settings, place, finding.severity)
    // A rule that threw never denies, whatever severity its findings have (decision 20).
    const severity = finding.failure !== undefined && set === 'error' ? 'warning' : set
    if (finding.severity === 'error' && severity !== 'error') exempted.push(id)
    return severity === 'off'
      ? []
      : [{ ...finding, severity, error: severity === 'error' ? asError(error) : error }]
  })
  return {
    findings: weighed,
    exempted,
    failures: findings.filter(({ failure }) => failure !== undefined),
  }
}

/** Whether a finding is an error, which denies the object unless the stored object has it too. */
export const hasErrors = ({ findings }: Weighed): boolean => findings.some(isError)

interface Circumstances {
  /** The mode in the settings: `enforce`, or `warn` for a trial in which nothing is denied. */
  readonly mode: Settings['mode']
  readonly dryRun: boolean
  readonly confirmed: Confirmed | undefined
}

/**
 * Makes the verdict from findings that have the severities of the settings. First the ratchet turns errors that the
 * replaced object has too into warnings (decision 8). Then errors that depend on other objects may become warnings
 * (decision 9), and in the mode `warn` all errors do. Last, the findings are sorted.
 */
export function decide(
  { weighed, value }: WeighedObject,
  replaced: WeighedObject | undefined,
  circumstances: Circumstances,
): Verdict {
  if (weighed === NOTHING_WEIGHED) return NO_FINDINGS
  const ratcheted =
    replaced === undefined ? weighed.findings : excuseStored(weighed.findings, value(), replaced)
  const decided = ratcheted.map((finding) => settle(finding, circumstances))
  const ordered = distinct(decided.toSorted(compareFindings))
  return {
    ...NO_FINDINGS,
    errors: ordered.filter(isError),
    warnings: ordered.filter((finding) => !isError(finding)),
    exempted: weighed.exempted,
    failures: weighed.failures,
  }
}

/** Adapts a warning that a setting makes an error: as an error it depends on the objects in `dependsOnAsError`. */
const asError = (error: FieldError): FieldError =>
  error.dependsOnAsError === undefined ? error : { ...error, dependsOn: error.dependsOnAsError }

const isError = ({ severity }: Finding) => severity === 'error'

const asWarning = (finding: Finding, prefix: string): Finding => ({
  ...finding,
  severity: 'warning',
  prefix,
  ...(isError(finding) && { wasError: true }),
})

/**
 * Turns an error into a warning in a trial (mode `warn`). An error that depends on other objects also becomes a warning
 * when they could not be read from the API server, and in a dry run, where objects that are applied together are not
 * stored.
 */
function settle(finding: Finding, { dryRun, confirmed, mode }: Circumstances): Finding {
  const { dependsOn } = finding.error
  if (dependsOn !== undefined && confirmed !== undefined && !dependsOn.every((name) => confirmed.has(name)))
    return asWarning(finding, `not confirmed: ${finding.prefix ?? ''}`)
  if (!isError(finding)) return finding
  if (mode === 'warn') return asWarning(finding, 'would be denied: ')
  return dryRun && dependsOn !== undefined ? asWarning(finding, 'alone, this would be denied: ') : finding
}

/** Turns each error that the stored object already has into a warning. */
function excuseStored(
  findings: readonly Finding[],
  value: unknown,
  { weighed, value: storedValue }: WeighedObject,
): readonly Finding[] {
  const errors = weighed.findings.filter(isError)
  if (errors.length === 0) return findings
  const before = storedValue()
  const stored = new Tally(errors.flatMap((finding) => subjectsOf(finding, before)))
  return findings.map((finding) =>
    isError(finding) && stored.takeAll(subjectsOf(finding, value))
      ? asWarning(finding, 'stored before: ')
      : finding,
  )
}

/**
 * Counts the errors of the stored object, for the ratchet, by subject (`ErrorSubject`: the words that say what an
 * error is about). The counts are in a tree with a level for each word: with joined words as keys, a thousand
 * subjects that contain the same long word would have a thousand copies of it.
 */
class Tally {
  readonly #root: Counted = { count: 0, next: new Map() }

  constructor(things: readonly ErrorSubject[]) {
    for (const thing of things) this.#at(thing).count += 1
  }

  /**
   * Whether the stored object has an error about each of these subjects. If so, reduces each count by one, so that one
   * stored error excuses only one submitted error. False for an empty list.
   */
  takeAll(things: readonly ErrorSubject[]): boolean {
    if (things.length === 0) return false
    const taken: Counted[] = []
    for (const thing of things) {
      const found = this.#at(thing)
      if (found.count === 0) break
      found.count -= 1
      taken.push(found)
    }
    if (taken.length === things.length) return true
    for (const found of taken) found.count += 1
    return false
  }

  #at(thing: ErrorSubject): Counted {
    let here = this.#root
    for (const word of thing) {
      let next = here.next.get(word)
      if (next === undefined) here.next.set(word, (next = { count: 0, next: new Map() }))
      here = next
    }
    return here
  }
}

interface Counted {
  count: number
  readonly next: Map<string, Counted>
}

const COMPARES_NO_VALUE = new Set(['required', 'forbidden'])

/**
 * The subjects by which the ratchet recognises an error. The rule may list them in `about`. Otherwise there is one
 * subject, made of the id, the type of the error, the path without list indexes, the objects that the error depends
 * on, and the value (of a list or an object only its type). A finding "and more" has one subject for all errors that
 * it stands for, because they are unknown. The finding "not judged further" has none: its errors may be new.
 */
function subjectsOf({ id, error, more }: Finding, object: unknown): readonly ErrorSubject[] {
  if (more) return id === NOT_JUDGED ? [] : [['more', id]]
  const { about, at, dependsOn = [], type } = error
  if (about !== undefined) return [...about()]
  const value = COMPARES_NO_VALUE.has(type) ? undefined : valueAt(object, at)
  const place = at.flatMap((segment) => (typeof segment === 'number' ? [] : [String(jsonKey(segment))]))
  const others = dependsOn.flatMap(({ kind, name }) => [kind, name])
  return [[id, type, ...place, '', ...others, '', ...wordsOfValue(value)]]
}

/** A value as words of a subject of the ratchet: its type, and its text unless it is a list or an object. */
function wordsOfValue(value: unknown): readonly string[] {
  if (typeof value === 'string') return ['string', value]
  if (typeof value === 'object' && value !== null) return [Array.isArray(value) ? 'list' : 'object']
  return [typeof value, String(value)]
}

/** The findings without exact repeats, which are adjacent in the sorted list. */
function distinct(ordered: readonly Finding[]): Finding[] {
  return ordered.filter((finding, i) => {
    const before = ordered[i - 1]
    return before === undefined || compareFindings(before, finding) !== 0
  })
}
