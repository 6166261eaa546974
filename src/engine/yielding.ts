import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { allRules } from '../kinds/places.ts'
import { fieldsOf } from '../kinds/schema-fields.ts'
import {
  allows,
  type ReleaseRefusal,
  refusals,
  type Release,
  type ReleaseSchema,
  schemaAt,
} from '../release/index.ts'
import {
  compareReleases,
  deepEqual,
  type Finding,
  findingText,
  type Fix,
  isObject,
  jsonKey,
  pathText,
  type Segment,
  valueAt,
} from '../rule/index.ts'
import type { Verdict } from './decide.ts'
import { missingFields } from './demanded-fields.ts'
import { outside } from '../shape/index.ts'

interface Situated {
  readonly kind: Kind
  readonly value: unknown
  readonly release: Release | undefined
  /** Set for an object in a file; absent for the webhook, which gets only objects that the API server has accepted. */
  readonly file?: {
    /** Paths of placeholders, whose values are not known. */
    readonly unknown: readonly (readonly Segment[])[]
    /** Whether a field name is a template that a tool will replace, possibly by several fields. */
    isTemplate(name: string): boolean
  }
}

/**
 * Adapts findings to the installed release (decision 3): when the release lacks the violated constraint, the error
 * becomes a warning that says how the release treats the value, or is removed if the author of the object wants that
 * treatment. When no release is known, adds findings about missing fields that every known release requires.
 */
export function yielding(
  findings: readonly Finding[],
  { kind, value, release, file }: Situated,
): readonly Finding[] {
  const schema = release?.schemas.get(kind.kind)
  if (schema === undefined || release === undefined) {
    const missing = missingFields(kind, value, file?.isTemplate)
    if (missing.length === 0) return findings
    const told = new Set(findings.flatMap(({ id, error }) => [pathText(error.at), ...(READ_AT[id] ?? [])]))
    const untold = outside(file?.unknown ?? [], missing).filter(({ error }) => !told.has(pathText(error.at)))
    return [
      ...findings,
      ...(file ? untold : untold.map((each): Finding => ({ ...each, severity: 'warning' }))),
    ]
  }
  return findings.filter(isOfSpecification).flatMap((finding): Finding[] => {
    const { constraint: keyword, severity, error } = finding
    if (keyword === undefined || severity !== 'error') return [finding]
    const { at } = error
    const broken = { keyword, at, value: valueAt(value, at), holder: valueAt(value, at.slice(0, -1)) }
    if (!allows(schema, broken)) return [finding]
    const instead = isOfRule(finding) ? insteadOfRule(finding) : insteadOf(keyword, broken.value)
    if (instead === undefined) return []
    // The detail of an `enum` error is left out, because it lists the values that the specification supports.
    const before = keyword === 'enum' || error.detail === '' ? '' : `${error.detail}; `
    return [
      { ...finding, severity: 'warning', error: { ...error, detail: `${before}${release.name} ${instead}` } },
    ]
  })
}

const isOfRule = ({ id }: Finding): boolean => !id.startsWith('schema-')

/** For each rule with a `constraint`: how a release without the constraint treats an object that violates it. */
const INSTEAD = new Map(
  allRules().flatMap(({ id, instead }) => (instead === undefined ? [] : [[id, instead] as const])),
)

function insteadOfRule({ id, error }: Finding): string | undefined {
  const instead = INSTEAD.get(id)
  return typeof instead === 'function' ? instead(error.at) : instead
}

/** How a release without the constraint treats the value; undefined when the author of the object wants just that. */
function insteadOf(keyword: string, value: unknown): string | undefined {
  // The missing field is `spec`: the CRD of every release requires all other fields that the specification requires.
  if (keyword === 'required') return 'stores the object, which configures nothing'
  if (keyword === 'minLength') return 'stores the empty text, which names nothing at run time'
  return keyword === 'enum' && value === 'obo'
    ? 'stores it, and only an enterprise build runs it: the others set Valid=False, EnterpriseRequired'
    : undefined
}

/**
 * False for a warning of a schema: it is about a bound in a field of a newer release (decision 3), and the bounds in
 * the CRD of the installed release are checked instead.
 */
const isOfSpecification = ({ id, severity }: Finding): boolean =>
  severity !== 'warning' || !id.startsWith('schema-')

/** For rules whose error is at a field that releases do not read: the paths from which releases read the value. */
const READ_AT: Readonly<Record<string, readonly string[]>> = {
  'incoming-auth-audience-configured': ['spec.incomingAuth.oidcConfigRef.audience'],
}

/**
 * The errors of the release's CRD. The ratchet excuses an error only where the API server does: the value is stored
 * unchanged, or its placeholders may stand for what is stored.
 */
export function refusedBy(
  object: unknown,
  {
    kind,
    release,
    stored,
    unknown,
  }: {
    readonly kind: string
    readonly release: Release | undefined
    /** The stored object that an apply would replace. */
    readonly stored: unknown
    /** Paths of placeholders, whose values are not known. */
    readonly unknown: readonly (readonly Segment[])[]
  },
): readonly Finding[] {
  const schema = release?.schemas.get(kind)
  if (release === undefined || schema === undefined) return []
  const refused = [...refusals(schema, object, stored)].filter(({ keyword }) => keyword !== 'unknown')
  const isExcusable = (at: readonly Segment[]) =>
    stored === undefined ||
    unknown.some((path) => isWithin(at, path)) ||
    (unknown.length > 0 && deepEqual(valueAt(object, at), valueAt(stored, at)))
  const found = withoutGuesses(refused, unknown).map(({ keyword, error, isStored }): Finding => {
    const { at } = error
    const detail = `${error.detail === '' ? '' : `${error.detail}; `}${release.name} refuses it`
    const fields = at.flatMap((step) => (typeof step === 'number' ? [] : [String(jsonKey(step))]))
    const about = () =>
      // If the stored object has duplicate items too, the API server also accepts other duplicates.
      keyword === 'list-type' || isStored || isExcusable(at)
        ? [[RELEASE_ACCEPTS, ...fields, '', detail] as const]
        : []
    return { id: RELEASE_ACCEPTS, severity: 'error', error: { ...error, detail, about } }
  })
  return outside(unknown, found)
}

/**
 * Leaves out the refusals of values around a placeholder that may depend on its text: a CEL rule that names every field
 * on the way to the placeholder or compares with the stored object, and items that have the same keys.
 */
function withoutGuesses(
  refused: readonly ReleaseRefusal[],
  unknown: readonly (readonly Segment[])[],
): readonly ReleaseRefusal[] {
  const isAround = ({ keyword }: ReleaseRefusal) => keyword === 'rule' || keyword === 'list-type'
  if (unknown.length === 0 || !refused.some(isAround)) return refused
  const ways = unknown.flatMap((path) => path.map((_, i) => [path.slice(0, i), path.slice(i)] as const))
  const below = Map.groupBy(ways, ([holder]) => keyOf(holder))
  return refused.filter((refusal) => {
    const { rule, error } = refusal
    const isRead = (way: readonly Segment[]) =>
      rule === undefined
        ? // Of a duplicate item in a list of type `map`, the error's value has only the key fields.
          !isObject(error.value) || Object.hasOwn(error.value, jsonKey(way[0] ?? ''))
        : rule.includes('oldSelf') || way.every((step) => typeof step !== 'string' || rule.includes(step))
    return !isAround(refusal) || below.get(keyOf(error.at))?.some(([, way]) => isRead(way)) !== true
  })
}

const keyOf = (at: readonly Segment[]): string => JSON.stringify(at.map(jsonKey))

/**
 * Adds the refusals to the findings. Leaves out warnings whose mistake the API server reports as an error too: the
 * error gets the fix of such a warning, and an error about a missing field the advice of the warning at the same field.
 */
export function folded(findings: readonly Finding[], refused: readonly Finding[]): readonly Finding[] {
  if (refused.length === 0) return findings
  const places = placesOf(findings.filter(({ severity }) => severity === 'error'))
  const warnings = findings.filter(({ severity }) => severity === 'warning')
  const told = new Set<Finding>()
  const refusals = refused.map((refusal): Finding => {
    const { type, at, detail } = refusal.error
    if (places.has(pathText(at))) return { ...refusal, repeats: true }
    const same = warnings.filter((warning) => isSaidBy(refusal, warning))
    for (const warning of same) told.add(warning)
    const there = same.find((warning) => type === 'required' && isAt(refusal, warning))
    const fix = same.find(({ error }) => error.fix !== undefined)?.error.fix
    if (there === undefined && fix === undefined) return refusal
    const advised = there === undefined ? detail : `${there.error.detail}; ${detail}`
    return { ...refusal, error: { ...refusal.error, detail: advised, ...(fix && { fix }) } }
  })
  return [...findings.filter((finding) => !told.has(finding)), ...refusals]
}

/**
 * Leaves out the refusals that repeat an error, if that error still is one: a severity, an exemption, an ignore and the
 * ratchet excuse the error, but not the refusal.
 */
export function withoutRepeats<V extends Verdict>(verdict: V): V {
  const all = [...verdict.errors, ...verdict.warnings]
  const prefixes = new Set(all.flatMap(({ repeats, prefix }) => (repeats ? [prefix] : [])))
  if (prefixes.size === 0) return verdict
  const errors = all.filter(
    ({ id, wasError, severity }) => !OF_CRD.has(id) && (wasError ?? severity === 'error'),
  )
  const places = new Map(
    Array.from(prefixes, (like) => [
      like,
      placesOf(errors.filter(({ severity, prefix }) => severity === 'error' || prefix === like)),
    ]),
  )
  const stays = ({ repeats, prefix, error }: Finding) =>
    !repeats || places.get(prefix)?.has(pathText(error.at)) !== true
  return { ...verdict, errors: verdict.errors.filter(stays), warnings: verdict.warnings.filter(stays) }
}

/** The paths of the findings and those around them, and the paths from which releases read the values. */
const placesOf = (findings: readonly Finding[]): ReadonlySet<string> =>
  new Set(findings.flatMap(({ id, error: { at } }) => [...placesAround(at), ...(READ_AT[id] ?? [])]))

/** Leaves out the fixes that move a field to a place which the release does not have; none when no release is known. */
export function withSureFixes(
  findings: readonly Finding[],
  kind: Kind,
  release: Release | undefined,
): readonly Finding[] {
  const schema = release?.schemas.get(kind.kind)
  if (schema === undefined) return findings
  // A cache, because many findings may share one fix that moves many fields.
  const known = new Map<Fix, boolean>()
  return findings.map((finding) => {
    const { fix, ...error } = finding.error
    if (fix === undefined) return finding
    const sure = known.get(fix) ?? isSure(fix, schema)
    known.set(fix, sure)
    return sure ? finding : { ...finding, error }
  })
}

/** Whether the release has each place to which the fix moves a field. */
const isSure = ({ edits }: Fix, schema: ReleaseSchema): boolean =>
  edits.every(
    (edit) =>
      edit.op !== 'move' ||
      edit.moves.every(({ to = [] }) => {
        const steps = to.map((step) => (/^\d+$/.test(step) ? Number(step) : step))
        return schemaAt(schema, [...edit.at, ...steps]) !== undefined
      }),
  )

/**
 * Rules about mistakes that a CRD refuses too, each with a pattern for the message of the CRD. A rule whose failure
 * has `reportedBy: 'API server'` needs no pattern.
 */
const SAID_BY_CRD: Readonly<Record<string, RegExp>> = {
  'assertion-policy-accepted': /maxAssertionAge must be greater|duplicate subjects/,
  'auth-server-incoming-auth-oidc': /^spec\.incomingAuth: Required/,
  'incoming-auth-inline-oidc-checked': /oidcConfigRef is required/,
  'oidc-config-ca-bundle-configured': /configMapRef/,
  'outgoing-auth-default-ref-configured': /^spec\.outgoingAuth\.default\.type: Required/,
  'session-storage-tls-in-spec': /config\.sessionStorage\.tls is ignored/,
  'token-only-server-has-caller': /upstreamProviders: Required|upstream provider or inbound grant/,
  'trusted-issuer-policy-configured': /(?:expectedAudience|allowedDelegateClients): Required/,
  'trusted-issuer-unique': /trustedIssuers must not contain duplicate/,
  'upstream-filter-provider-exists': /authServerUpstreamFilter requires/,
}

/** Whether the API server reports the mistake of a warning too: at the same path, or at an object around it. */
function isSaidBy(refusal: Finding, warning: Finding): boolean {
  const { at, type } = refusal.error
  if (type === 'required' && isAt(refusal, warning)) return true
  const holder = type === 'required' ? at.slice(0, -1) : at
  if (!isWithin(holder, warning.error.at)) return false
  return TOLD_BY_CRD.has(warning.id) || SAID_BY_CRD[warning.id]?.test(findingText(refusal)) === true
}

const isAt = ({ error: a }: Finding, { error: b }: Finding): boolean =>
  a.at.length === b.at.length && isWithin(a.at, b.at)

const isWithin = (holder: readonly Segment[], at: readonly Segment[]): boolean =>
  holder.every((segment, i) => at.length > i && jsonKey(segment) === jsonKey(at[i] ?? ''))

const TOLD_BY_CRD = new Set(
  allRules()
    .filter(({ failure }) => failure?.reportedBy === 'API server')
    .map(({ id }) => id),
)

/** A path and all paths above it: the API server reports a CEL rule at the object that contains the mistake. */
const placesAround = (at: readonly Segment[]): string[] =>
  Array.from({ length: at.length }, (_, i) => pathText(at.slice(0, i + 1)))

/** The id of errors that the CRD of the release reports although the specification accepts the object. */
const RELEASE_ACCEPTS = 'release-accepts'

/** The ids of findings that the CRD of the release makes. */
const OF_CRD: ReadonlySet<string> = new Set([RELEASE_ACCEPTS, 'unknown-field'])

const RANGES = new Map(
  allRules().flatMap(({ id, appliesTo }) => (appliesTo ? [[id, appliesTo] as const] : [])),
)

/** Whether a rule applies to the release; with undefined, to an operator whose release is not known. */
export function isAbout(id: string, release: Release | undefined): boolean {
  const range = RANGES.get(id)
  if (range === undefined) return true
  const { from, to, orUnknown = false } = range
  if (release === undefined) return orUnknown || from === undefined
  const version = readVersion(release)
  // When only CRDs are known, a release that adds no fields looks like the last release before it that adds fields.
  const first = from && release.version === undefined ? lastWithField(from) : from
  return (first === undefined || !isBefore(version, first)) && (to === undefined || !isBefore(to, version))
}

const isBefore = (a: string, b: string) => compareReleases(a, b) < 0

/** The version of a release; if unknown, the version that introduced the newest field of its CRDs, or `0` for none. */
export function readVersion(release: Release): string
export function readVersion(release: Release | undefined): string | undefined
export function readVersion(release: Release | undefined): string | undefined {
  return release && (release.version ?? newestField(release))
}

const newestFields = new WeakMap<Release, string>()

function newestField(release: Release): string {
  const known = newestFields.get(release)
  if (known !== undefined) return known
  const found = KINDS.flatMap((kind) => {
    const schema = release.schemas.get(kind.kind)
    // A field without a type preserves unknown fields, so it does not prove that the CRD has the field.
    return newerFields(kind).filter(
      ({ path }) => schema && schemaAt(schema, stepsOf(path))?.type !== undefined,
    )
  })
  const last = newest(found)
  newestFields.set(release, last)
  return last
}

const newerFields = (kind: Kind) =>
  fieldsOf(kind).flatMap(({ path, node }) =>
    typeof node.since === 'string' ? [{ path, since: node.since }] : [],
  )

const newest = (fields: readonly { readonly since: string }[]): string =>
  fields.map(({ since }) => since).reduce((a, b) => (isBefore(a, b) ? b : a), '0')

/** The newest release that introduced a field, among the releases up to the given one. */
const lastWithField = (release: string): string =>
  newest(KINDS.flatMap(newerFields).filter(({ since }) => !isBefore(release, since)))

/** The segments of a path; `spec.providers[].name` means the name of the first provider. */
const stepsOf = (path: string): Segment[] =>
  path.split('.').flatMap((step) => step.split('[]').map((name) => (name === '' ? 0 : name)))
