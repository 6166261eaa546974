import type { Kind } from '../kinds/kind.ts'
import type { ClusterState } from '../state/index.ts'
import { deepEqual, isObject, metadataOf, objectKey } from '../rule/index.ts'
import {
  createJudge,
  type Judge,
  type Settings,
  submissionOf,
  withChanges,
  type WrittenDefaults,
} from '../engine/index.ts'
import { asApplied, kindOf, nameOf, namespaceOf, putAll, type DocumentReading } from '../documents/index.ts'
import { defaulted, type Release, type ReleaseSchema } from '../release/index.ts'

export type Manifest = Readonly<Record<string, unknown>>

/** The annotation in which kubectl stores the manifest that it applied. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object without one of its members. */
export function without(object: Manifest, name: string): Manifest {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))
}

/** An object of a kind that this project judges. */
export interface Item {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly value: Manifest
}

/** The objects of a cluster state by their key, in the order of the documents. */
export type Items = ReadonlyMap<string, Item>

export const keyOf = ({ kind, namespace, name }: Pick<Item, 'kind' | 'namespace' | 'name'>): string =>
  objectKey({ kind: kind.kind, namespace, name })

/** The objects in documents. Of two documents for one object the later one counts, as if both were applied. */
export function itemsOf(values: readonly unknown[], reading: DocumentReading): Items {
  const items = new Map<string, Item>()
  for (const value of values) {
    const kind = kindOf(value, reading)
    if (kind === undefined || !isObject(value)) continue
    const item = { kind, namespace: namespaceOf(value, reading), name: nameOf(value), value }
    if (item.name !== '') items.set(keyOf(item), item)
  }
  return items
}

/** The settings by which the webhook judges and writes defaults, the same in all states of the cluster. */
export interface StateJudging {
  readonly settings: Settings
  readonly reading: DocumentReading
  readonly defaults: WrittenDefaults
  /** The operator release with the schemas of its CRDs; undefined when it is not known. */
  readonly release?: Release | undefined
}

/** A judge that decides as the webhook would in this cluster state; later changes of the state have effect. */
export const judgeIn = (
  state: ClusterState,
  { settings, reading, defaults: written, release }: StateJudging,
): Judge =>
  createJudge({
    group: reading.group,
    settings,
    release: release ?? 'specification',
    state,
    defaults: { written, serviceAccountAudience: '' },
  })

/** Stores an object in the cluster state, replacing the object with its name; undefined removes that object. */
export function put(
  state: ClusterState,
  { kind, namespace, name }: Pick<Item, 'kind' | 'namespace' | 'name'>,
  value: unknown,
  reading: DocumentReading,
): void {
  if (value === undefined) state.remove(kind.kind, namespace, name)
  else putAll(state, [value], { ...reading, namespace })
}

/** The admission request that an apply of `value` over the stored object sends. */
export function submitted(
  { kind, namespace, name }: Pick<Item, 'kind' | 'namespace' | 'name'>,
  value: unknown,
  stored: unknown,
  reading: DocumentReading,
) {
  const object = namesProvider(value) ? value : asApplied(value, stored, reading)
  return submissionOf(
    { kind: kind.kind, name },
    { namespace, group: reading.group, object, ...(stored === undefined ? {} : { oldObject: stored }) },
  )
}

/** Whether the manifest sets `subjectProviderName`: an apply without the field keeps what /mutate wrote. */
function namesProvider(value: unknown): boolean {
  const { tokenExchange } = isObject(value) && isObject(value.spec) ? value.spec : {}
  return isObject(tokenExchange) && tokenExchange.subjectProviderName !== undefined
}

/** The manifest with `subjectProviderName` set, to '' if it is absent, so that an apply changes the stored value. */
export function namingProvider(value: Manifest): Manifest {
  const { spec } = value
  if (!isObject(spec) || !isObject(spec.tokenExchange)) return value
  return { ...value, spec: { ...spec, tokenExchange: { subjectProviderName: '', ...spec.tokenExchange } } }
}

/**
 * Applies the objects to the state; returns them by key as the API server stores them, with the defaults of /mutate.
 */
export function storedItems(
  items: Items,
  before: ReadonlyMap<string, unknown>,
  state: ClusterState,
  judging: StateJudging,
): Map<string, unknown> {
  const { reading } = judging
  for (const item of items.values()) put(state, item, item.value, reading)
  const judge = judgeIn(state, judging)
  const stored = new Map<string, unknown>()
  for (const [key, item] of items) {
    const { object } = submitted(item, item.value, before.get(key), reading)
    const submission = { ...submitted(item, item.value, undefined, reading), object }
    const changes = judge.complete(submission)
    stored.set(key, isObject(object) ? withChanges(object, changes) : object)
  }
  for (const [key, item] of items) put(state, item, stored.get(key), reading)
  return stored
}

/** Whether the specs differ with the defaults of the CRD, which the API server fills in; none without a schema. */
export function isOtherSpec(schema: ReleaseSchema | undefined, old: Manifest, now: Manifest): boolean {
  const [before, after] = [old, now].map(({ spec = {} }) => defaulted(schema, { spec }))
  return !deepEqual(before, after)
}

/** Whether an apply changes a label or annotation, or removes one of the manifest that was applied before. */
export const isOtherMetadata = (stored: Manifest, now: Manifest, appliedBefore: unknown): boolean =>
  ['labels', 'annotations'].some((field) => {
    const [has, wanted, had] = [stored, now, appliedBefore].map((each) => {
      const texts = metadataOf(each)[field]
      return isObject(texts) ? without(texts, LAST_APPLIED) : {}
    })
    return Object.keys({ ...wanted, ...had }).some((name) => !deepEqual(has?.[name], wanted?.[name]))
  })

/** The manifest that kubectl applied last, without nulls; undefined when there is none. */
export function lastApplied(stored: unknown): unknown {
  const { annotations } = metadataOf(stored)
  const text = isObject(annotations) ? annotations[LAST_APPLIED] : undefined
  try {
    return typeof text === 'string' ? parsedWithoutNulls(text) : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether kubectl last applied the same spec and every value of it is stored: then an apply does not change the stored
 * spec, whose additional fields are defaults.
 */
export function isAppliedSpec({ spec: stored }: Manifest, wanted: Manifest, last: unknown): boolean {
  const spec = parsedWithoutNulls(JSON.stringify(wanted.spec ?? {}))
  return isObject(last) && deepEqual(last.spec ?? {}, spec) && holds(stored ?? {}, spec)
}

const parsedWithoutNulls = (text: string): unknown =>
  JSON.parse(text, (_, value: unknown) => value ?? undefined)

/** Whether the stored value has every part of the wanted one. */
function holds(stored: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(stored) &&
      stored.length === wanted.length &&
      wanted.every((item, i) => holds(stored[i], item))
    )
  if (!isObject(wanted)) return deepEqual(stored, wanted)
  return isObject(stored) && Object.entries(wanted).every(([name, part]) => holds(stored[name], part))
}
