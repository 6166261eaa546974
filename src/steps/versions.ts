import { deepEqual, isObject, metadataOf } from '../rule/index.ts'
import { type Item, LAST_APPLIED, type Manifest, without } from './states.ts'

/** A version of an object: the old one, the new one or one between them. Without a value, the object does not exist. */
export interface Version {
  readonly is: 'old' | 'between' | 'copy' | 'interruption' | 'new'
  readonly value: Manifest | undefined
  /** Describes an intermediate version: `the new version, and upstreamProviders of the old one`. */
  readonly words: string
}

/** An object that changes, with its versions: the first is the old one, the last the new one. */
export interface ChangedObject extends Omit<Item, 'value'> {
  readonly key: string
  readonly versions: readonly [Version, ...Version[]]
}

/** Whether the object exists before and after the change. */
export const isUpdate = ({ versions }: ChangedObject): boolean =>
  versions[0].value !== undefined && versions.at(-1)?.value !== undefined

/** Whether the object exists neither before nor after the change: a temporary copy. */
export const isTemporary = ({ versions }: ChangedObject): boolean =>
  versions[0].value === undefined && versions.at(-1)?.value === undefined

export const lastOf = ({ versions }: ChangedObject): number => versions.length - 1

/** Maps, and lists of named items, for which an intermediate version can merge the old and the new content. */
const UNITED = [
  ['spec', 'authServerConfig', 'upstreamProviders'],
  ['spec', 'embeddedAuthServer', 'upstreamProviders'],
  ['spec', 'outgoingAuth', 'backends'],
] as const

/** Intermediate versions, for changes that cannot be made in any order of complete objects. */
export function versionsBetween(stored: Manifest, now: Manifest): Version[] {
  const old = asFile(stored)
  const candidates: [value: Manifest, words: string][] = []
  const fields = UNITED.filter((at) => canUnite(valueIn(old, at), valueIn(now, at)))
  const names = fields.map((at) => at.at(-1) ?? '').join(' and ')
  if (fields.length > 0) {
    const unite = (base: Manifest, other: Manifest) =>
      fields.reduce((value, at) => withValue(value, at, united(valueIn(base, at), valueIn(other, at))), base)
    candidates.push([unite(now, old), `the new version, which keeps ${names} of the old one`])
    candidates.push([unite(old, now), `the old version with ${names} of the new one added`])
  }
  const parts = partsThatDiffer(old, now)
  // When only one field of the spec differs, the old version with the new field would equal the new version.
  for (const part of parts.length > 1 ? parts : []) {
    const at = ['spec', part]
    candidates.push([withValue(old, at, valueIn(now, at)), `the old version with ${part} of the new one`])
    if (parts.length > 2)
      candidates.push([
        withValue(now, at, valueIn(old, at)),
        `the new version, which keeps ${part} of the old one`,
      ])
  }
  const kept: Version[] = []
  for (const [value, words] of candidates) {
    const others = [old, now, ...kept.map((each) => each.value)]
    if (!others.some((each) => deepEqual(each?.spec, value.spec))) kept.push({ is: 'between', value, words })
  }
  return kept
}

const REFERENCE = 'externalAuthConfigRef'

/**
 * Versions that interrupt a service, for changes that would otherwise, in every order, grant access that neither the
 * old nor the new state grants.
 */
export function interruptions(stored: Manifest): Version[] {
  const old = asFile(stored)
  const isReferring = isObject(old.spec) && old.spec[REFERENCE] !== undefined
  const value = withValue(old, ['spec', REFERENCE], undefined)
  return [
    ...(isReferring
      ? [{ is: 'interruption', value, words: `the old version without ${REFERENCE}` } as const]
      : []),
    { is: 'interruption', value: undefined, words: 'to be created again' },
  ]
}

/** The object without the fields that the API server adds. */
function asFile(stored: Manifest): Manifest {
  const { name, namespace, labels, annotations } = metadataOf(stored)
  const kept = isObject(annotations) ? without(annotations, LAST_APPLIED) : {}
  const metadata = { name, namespace, labels, annotations: Object.keys(kept).length === 0 ? undefined : kept }
  const given = Object.entries(metadata).filter(([, value]) => value !== undefined)
  return { ...without(stored, 'status'), metadata: Object.fromEntries(given) }
}

function partsThatDiffer(old: Manifest, now: Manifest): string[] {
  const [before, after] = [old.spec, now.spec].map((spec) => (isObject(spec) ? spec : {}))
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])
  return [...names].filter((name) => !deepEqual(before?.[name], after?.[name])).sort()
}

export const valueIn = (value: unknown, [first, ...rest]: readonly string[]): unknown =>
  first === undefined ? value : isObject(value) ? valueIn(value[first], rest) : undefined

export function withValue(holder: Manifest, [first, ...rest]: readonly string[], value: unknown): Manifest {
  if (first === undefined) return holder
  const inner = holder[first]
  const next = rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value)
  return next === undefined ? without(holder, first) : { ...holder, [first]: next }
}

const canUnite = (old: unknown, now: unknown): boolean =>
  !deepEqual(old, now) && ((Array.isArray(old) && Array.isArray(now)) || (isObject(old) && isObject(now)))

/** The items of `base`, followed by the items of `other` with names that `base` does not have. */
function united(base: unknown, other: unknown): unknown {
  if (isObject(base) && isObject(other)) return { ...other, ...base }
  if (!Array.isArray(base) || !Array.isArray(other)) return base
  const names = new Set(base.map(nameIn))
  return [...(base as unknown[]), ...(other as unknown[]).filter((each) => !names.has(nameIn(each)))]
}

const nameIn = (item: unknown): unknown => (isObject(item) ? item.name : item)
