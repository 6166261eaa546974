import { compareFindings, type Finding, fitsGlob, isObject, metadataOf, nearest } from '../rule/index.ts'
import { allRules } from '../kinds/places.ts'
import { ALL_IDS, presentId } from './engine-ids.ts'
import type { Verdict } from './decide.ts'
import { PROBE_IDS } from './probe-ids.ts'
import {
  type AllowedIgnores,
  type Exemption,
  FIXED,
  type Ignore,
  type Ignored,
  isPlace,
  type Settings,
} from './settings.ts'

/**
 * By default an ignore comment affects errors too, because it never reaches a cluster; an annotation affects only
 * warnings.
 */
const ALLOWED_IGNORES = { comment: 'all', annotation: 'warnings' } as const

export const allowedIgnores = ({ allowIgnores }: Settings, written: Ignore['written']): AllowedIgnores =>
  allowIgnores === 'by default' ? ALLOWED_IGNORES[written] : allowIgnores

/**
 * Ids of findings that cannot be ignored. Each says that something was not judged, that an API server refuses the
 * object, or that an ignore has no effect.
 */
const NEVER_IGNORED: ReadonlySet<string> = new Set([
  ...FIXED,
  'api-server-accepts',
  'metadata-accepted',
  'release-accepts',
  'ignore-effective',
  'others-known',
  'registration-covers-known-kinds',
])

/** Why findings with this id cannot be ignored; undefined when they can. */
export function problemWithIgnoredId(id: string): string | undefined {
  if (NEVER_IGNORED.has(id))
    return `'${id}' cannot be ignored: nothing behind it is judged, or the API server refuses it`
  if (ALL_IDS.has(presentId(id))) return undefined
  const near = nearest(id, ALL_IDS)
  const advice = near === undefined ? '; docs/rules.md lists them' : `; did you mean '${near}'`
  return `'${id}' is not the id of a rule${advice}`
}

interface Judged {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

export const isFor = ({ object = {} }: Exemption, judged: Judged): boolean =>
  matches(object.kind, judged.kind) &&
  matches(object.namespace, judged.namespace) &&
  matches(object.name, judged.name)

/** Whether a text matches a pattern, in which `*` stands for any characters; without a pattern, every text does. */
const matches = (pattern: string | undefined, text: string): boolean =>
  pattern === undefined || pattern === text || (text.length <= LONGEST_NAME && fitsGlob(pattern, text))

/** The longest text that is compared with a pattern. Names and namespaces have at most 253 characters. */
const LONGEST_NAME = 1_000

/**
 * Moves the ignored findings of a verdict to `ignored`. The exemptions of the configuration come first; an ignore in
 * the manifest affects errors only if the settings allow it.
 */
export function withoutIgnored<V extends Verdict>(
  verdict: V,
  judged: Judged,
  settings: Settings,
  ignores: readonly Ignore[],
): V {
  const exemptions = settings.exemptions.filter((each) => isFor(each, judged))
  if (exemptions.length + ignores.length === 0) return verdict
  const ignored: Ignored[] = []
  const refused = new Set<Ignore>()
  const stays = (finding: Finding): boolean => {
    const { id, constraint, error } = finding
    const severity = finding.wasError ? 'error' : finding.severity
    if (NEVER_IGNORED.has(id) || finding.failure !== undefined || finding.more) return true
    const isOf = (by: Exemption | Ignore) => presentId(by.id) === id
    const exemption = exemptions.find(
      (each) =>
        (isOf(each) || (each.path !== undefined && each.id === `schema-${constraint}`)) &&
        (each.path === undefined || isPlace(each.path, error.at)),
    )
    const written = ignores.filter((each) => isOf(each) && (each.covers?.(error.at) ?? true))
    const allowed = written.find((each) => mayIgnore(allowedIgnores(settings, each.written), severity))
    for (const each of written) if (allowed === undefined) refused.add(each)
    const by = exemption ?? allowed
    if (by !== undefined) ignored.push({ finding, by })
    return by === undefined
  }
  const errors = verdict.errors.filter(stays)
  return {
    ...verdict,
    errors,
    warnings: verdict.warnings.filter(stays),
    ignored,
    refusedIgnores: [...refused],
  }
}

const mayIgnore = (allowed: AllowedIgnores, severity: Finding['severity']): boolean =>
  allowed === 'all' || (allowed === 'warnings' && severity !== 'error')

/** Whether the settings exclude the objects of a namespace from judging. */
export const isLeftOut = ({ leftOut }: Pick<Settings, 'leftOut'>, namespace: string): boolean =>
  leftOut.some((pattern) => matches(pattern, namespace))

/** The name of the annotation whose lines, each `ID: reason`, ignore findings of its object. */
export const ignoreAnnotation = (group: string): string => `${group}/vmcp-admission-ignore`

/** The ignores in an object's annotation, and the problems of the lines that have no effect. */
export function ignoresIn(object: unknown, group: string): { ignores: Ignore[]; problems: string[] } {
  const { annotations } = metadataOf(object)
  const text = isObject(annotations) ? annotations[ignoreAnnotation(group)] : undefined
  const ignores: Ignore[] = []
  const problems: string[] = []
  if (typeof text !== 'string') return { ignores, problems }
  for (const line of text.split('\n', MOST_LINES).filter((each) => each.trim() !== '')) {
    const { id, reason } = ignoreOf(line.trim())
    const problem = problemWithIgnore(id, reason, 'ID: reason')
    if (problem === undefined) ignores.push({ id, reason, written: 'annotation' })
    else problems.push(problem)
  }
  return { ignores, problems }
}

/**
 * Splits the text `ID: reason` of an ignore. A text with a line break inside is not valid: id and reason are then
 * empty, so that the ignore has no effect.
 */
export function ignoreOf(line: string): { readonly id: string; readonly reason: string } {
  const [id = ''] = /^[\w-]{0,80}/.exec(line) ?? []
  const rest = line.slice(id.length).trimStart()
  const reason = (rest.startsWith(':') ? rest.slice(1) : rest).trimStart()
  return /[\r\u2028\u2029]/.test(reason) ? { id: '', reason: '' } : { id, reason }
}

/** The most lines of the ignore annotation that are read; further lines have no effect. */
const MOST_LINES = 100

/** Why an ignore cannot have an effect on any finding; undefined when it can. `form`: how to write such an ignore. */
export const problemWithIgnore = (id: string, reason: string, form: string): string | undefined =>
  (id === '' ? `it names no id: write ${form}` : problemWithIgnoredId(id)) ??
  (reason === '' ? `'${id}' has no effect without a reason: write ${form}` : undefined)

/** Why the settings do not let an ignore affect a finding that it names. */
export function refusal({ id, written }: Ignore, settings: Settings): string {
  const allowed = allowedIgnores(settings, written)
  return allowed === 'none'
    ? `'${id}' has no effect: the configuration allows no ignores in manifests`
    : `'${id}' has no effect on an error: ${written === 'comment' ? 'comments' : 'annotations'} ignore warnings only (allowIgnores)`
}

/** The verdict with a warning for each line of the ignore annotation that has no effect. */
export function withAnnotationProblems<V extends Verdict>(
  verdict: V,
  problems: readonly string[],
  { group, settings }: { readonly group: string; readonly settings: Settings },
): V {
  const refused = verdict.refusedIgnores.filter(({ written }) => written === 'annotation')
  const details = [...problems, ...refused.map((each) => refusal(each, settings))]
  if (details.length === 0) return verdict
  const at = ['metadata', 'annotations', { key: ignoreAnnotation(group) }] as const
  const findings = details.map((detail): Finding => ({
    id: 'ignore-effective',
    severity: 'warning',
    error: { type: 'advice', at, detail },
  }))
  return { ...verdict, warnings: [...verdict.warnings, ...findings].toSorted(compareFindings) }
}

/** The ids that the annotation of a stored object ignores although the object has no such finding. */
export function idleIgnores(object: unknown, group: string, { ignored, refusedIgnores }: Verdict): string[] {
  const used = new Set([...ignored.map(({ by }) => by.id), ...refusedIgnores.map(({ id }) => id)])
  const ids = ignoresIn(object, group).ignores.map(({ id }) => id)
  return ids.filter((id) => !used.has(id) && isAlwaysFound(id, 'cluster'))
}

/** Ids that findings in stored objects can have; all other ids occur only for files. */
const IN_STORED: ReadonlySet<string> = new Set([
  ...allRules().map(({ id }) => id),
  ...Array.from(ALL_IDS).filter((id) => id.startsWith('schema-')),
])

/** Ids that not every run looks for: ids of `probe`, of deletions and changes, and of rules that read Secrets or ConfigMaps. */
const ASKED_FOR: ReadonlySet<string> = new Set<string>([
  ...PROBE_IDS.map(({ id }) => id),
  ...allRules().flatMap(({ id, when, reads }) =>
    when !== undefined || reads.some((kind) => kind === 'Secret' || kind === 'ConfigMap') ? [id] : [],
  ),
])

/** Ids that files alone do not have: they wait for the value of a placeholder, or for what /mutate writes. */
const NOT_IN_FILES: ReadonlySet<string> = new Set([
  'unresolved-placeholder',
  'written-subject-provider-exists',
])

/**
 * Whether every run over a cluster, or over files, looks for findings with the id `named`: only then does a run that
 * reports none prove that an ignore or exemption of this id has no use.
 */
export function isAlwaysFound(named: string, where: 'cluster' | 'files'): boolean {
  const id = presentId(named)
  return !ASKED_FOR.has(id) && (where === 'files' ? !NOT_IN_FILES.has(id) : IN_STORED.has(id))
}

/** Whether an exemption is for one object, rather than for a pattern of objects. */
export const isForOne = ({ object }: Exemption): boolean =>
  object?.name !== undefined && !Object.values(object).some((part: string) => part.includes('*'))

/** The text for an exemption in messages: `ID at path`. */
export const exemptionText = ({ id, path }: Exemption): string =>
  path === undefined ? `'${id}'` : `'${id}' at ${path}`
