/** Who catches a mistake: the findings and refusals that were not there without it. */

import {
  configMapFacts,
  configMapReferencesOf,
  policyReferencesOf,
  secretFacts,
  secretReferencesOf,
} from '../../src/relations/index.ts'
import { API_VERSION } from '../../src/kinds/index.ts'
import { fieldOf, refusals, type Release, type ReleaseSchema } from '../../src/release/index.ts'
import { ClusterState } from '../../src/state/index.ts'
import {
  causeText,
  type Finding,
  isObject,
  jsonKey,
  objectKey,
  pathText,
  pathTextWithoutIndexes,
  type Resource,
} from '../../src/rule/index.ts'
import {
  kindOf,
  nameOf,
  namespaceOf,
  notJudged,
  putAll,
  type DocumentReading,
  stateOf,
  subjectOf,
} from '../../src/documents/index.ts'
import {
  ALL_DEFAULTS,
  createJudge,
  type Judge,
  type Settings,
  submissionOf,
  type Verdict,
} from '../../src/engine/index.ts'
import { type Mistake, withMistake } from './mistake.ts'

export interface MistakeJudging extends DocumentReading {
  readonly settings: Settings
  /** By which files are checked; undefined for the specification alone. */
  readonly release: Release | undefined
  /** Whose CRDs the API server has. */
  readonly installed: Release
}

/** A document and the file that it is in. */
export interface GivenDocument {
  readonly file: string
  readonly value: unknown
}

/** Who reports a mistake. */
export interface Catchers {
  /** A new error or warning in the file with the mistake, beside all others. */
  readonly editor: boolean
  /** A new error or warning in any of the files. */
  readonly check: boolean
  /** The answer of the webhook to the object, in a cluster with the others and the Secrets that they name. */
  readonly webhook: 'denied' | 'warned' | 'no'
  /** The API server refuses the object by the CRD, or kubectl a field that it does not have. */
  readonly crd: boolean
  /** It is reported as advice alone. */
  readonly advice: boolean
  /** A report stands at the changed field, or names it. */
  readonly isNamed: boolean
}

interface Report {
  readonly document: number
  readonly severity: Finding['severity']
  /** The same for the same finding, wherever it stands in a list. */
  readonly key: string
  readonly path: string
  readonly text: string
}

/** Judges the same documents again and again, each time with one mistake in them. */
export class Judges {
  readonly #given: readonly GivenDocument[]
  readonly #judging: MistakeJudging
  /** The files beside each other. */
  readonly #files: ClusterState
  /** The cluster into which each of them is applied. */
  readonly #cluster: ClusterState
  readonly #fileJudge: Judge
  readonly #webhookJudge: Judge
  readonly #checked: readonly (readonly Report[])[]
  readonly #admitted: readonly (readonly Report[])[]
  readonly #refused: readonly (readonly Report[])[]

  constructor(given: readonly GivenDocument[], judging: MistakeJudging) {
    this.#given = given
    this.#judging = judging
    const values = given.map(({ value }) => value)
    this.#files = stateOf(values, judging)
    this.#cluster = clusterOf(values, judging)
    const { group, settings, release, installed } = judging
    const world = { group, settings, defaults: ALL_DEFAULTS }
    this.#fileJudge = createJudge({ ...world, release: release ?? 'specification', state: this.#files })
    this.#webhookJudge = createJudge({ ...world, release: installed, state: this.#cluster })
    this.#checked = values.map((value, i) => this.#check(i, value))
    this.#admitted = values.map((value, i) => this.#admit(i, pruned(value, this.#crdOf(value))))
    this.#refused = values.map((value, i) => this.#refuse(i, value))
  }

  /** Whether something is found at the field already, so that nothing new can be said of it. */
  isWrongAlready({ object, change }: Mistake): boolean {
    const at = pathText(change.at)
    return [...(this.#checked[object] ?? []), ...(this.#refused[object] ?? [])].some(
      (report) => isErrorOrWarning(report) && report.path === at,
    )
  }

  catchers(mistake: Mistake): Catchers {
    const { object: index, change } = mistake
    const original = this.#given[index]
    if (original === undefined || !isObject(original.value)) throw new Error('the mistake is in no object')
    const value = withMistake(original.value, mistake)
    const checked = this.#around(index, original.value, value)
    const isSame = ({ document }: Report) => this.#given[document]?.file === original.file
    const object = pruned(value, this.#crdOf(value))
    const admitted = this.#beside(this.#cluster, original.value, object, () =>
      newReports(this.#admit(index, object), this.#admitted[index] ?? []),
    )
    const refused = newReports(this.#refuse(index, value), this.#refused[index] ?? [])
    const all = [...checked, ...admitted, ...refused]
    return {
      editor: checked.some((report) => isErrorOrWarning(report) && isSame(report)),
      check: checked.some(isErrorOrWarning),
      webhook: admitted.some(({ severity }) => severity === 'error')
        ? 'denied'
        : admitted.some(isErrorOrWarning)
          ? 'warned'
          : 'no',
      crd: refused.length > 0,
      advice: all.length > 0 && !all.some(isErrorOrWarning),
      isNamed: all.some(
        (report) => isErrorOrWarning(report) && report.document === index && mentionsChange(report, change),
      ),
    }
  }

  /**
   * The new findings: in the object, or else in the others of the namespaces that it is in, before and after. Most
   * mistakes are found in the object, and then nothing else is judged.
   */
  #around(index: number, original: unknown, value: unknown): readonly Report[] {
    const spaces = new Set([namespaceOf(original, this.#judging), namespaceOf(value, this.#judging)])
    return this.#beside(this.#files, original, value, () => {
      const own = newReports(this.#check(index, value), this.#checked[index] ?? [])
      if (own.some(isErrorOrWarning)) return own
      const others = this.#given.flatMap((each, i) =>
        i !== index && spaces.has(namespaceOf(each.value, this.#judging))
          ? newReports(this.#check(i, each.value), this.#checked[i] ?? [])
          : [],
      )
      return [...own, ...others]
    })
  }

  /** Asks while the value stands in the place of the original. */
  #beside<T>(state: ClusterState, original: unknown, value: unknown, ask: () => T): T {
    const remove = (object: unknown) => {
      const kind = kindOf(object, this.#judging)
      if (kind !== undefined)
        state.remove(kind.kind, namespaceOf(object, this.#judging), nameOf(object as Resource))
    }
    remove(original)
    const there = this.#stored(state, value)
    putAll(state, [value], this.#judging)
    try {
      return ask()
    } finally {
      remove(value)
      putAll(state, [...there, this.#lastNamed(original)], this.#judging)
    }
  }

  /** The objects that already have the value as their name. */
  #stored(state: ClusterState, value: unknown): readonly unknown[] {
    const kind = kindOf(value, this.#judging)
    if (kind === undefined) return []
    const there = state.object(kind.kind, namespaceOf(value, this.#judging), nameOf(value as Resource))
    return there === undefined ? [] : [there]
  }

  /** Of several objects with one name the last one counts. */
  #lastNamed(original: unknown): unknown {
    const key = (value: unknown) => {
      const kind = kindOf(value, this.#judging)
      return kind && objectKey(subjectOf(kind.kind, value as Resource, this.#judging))
    }
    return this.#given.findLast(({ value }) => key(value) === key(original))?.value
  }

  #check(document: number, value: unknown): readonly Report[] {
    const judging = this.#judging
    const kind = kindOf(value, judging)
    if (kind === undefined) {
      const finding = notJudged(value, judging)?.finding
      return finding === undefined ? [] : [reportOf(document, finding)]
    }
    const verdict = this.#fileJudge.file({
      kind,
      namespace: namespaceOf(value, judging),
      name: nameOf(value as Resource),
      object: value,
      stored: 'nothing',
      ignores: [],
      strict: judging.strict,
      placeholders: judging.placeholders,
    })
    return reportsOf(document, verdict)
  }

  #admit(document: number, object: unknown): readonly Report[] {
    const kind = kindOf(object, this.#judging)
    if (kind === undefined || !isServed(object, this.#judging)) return []
    const self = { kind: kind.kind, name: nameOf(object as Resource) }
    const namespace = namespaceOf(object, this.#judging)
    const submission = submissionOf(self, { namespace, group: this.#judging.group, object })
    return reportsOf(document, this.#webhookJudge.admit(submission))
  }

  #refuse(document: number, value: unknown): readonly Report[] {
    if (!isObject(value)) return []
    if (!isServed(value, this.#judging))
      return [{ document, severity: 'error', key: 'kind', path: 'kind', text: '' }]
    const schema = this.#crdOf(value)
    return [...refusals(schema ?? {}, value)].map(({ keyword, error }) =>
      reportOf(document, { id: keyword, severity: 'error', error }),
    )
  }

  #crdOf(value: unknown): ReleaseSchema | undefined {
    return this.#judging.installed.schemas.get(kindOf(value, this.#judging)?.kind ?? '')
  }
}

const isErrorOrWarning = ({ severity }: Report): boolean => severity !== 'advice'

/** Whether the API server has the kind in the version. */
function isServed(value: unknown, reading: DocumentReading): boolean {
  if (!isObject(value) || kindOf(value, reading) === undefined) return false
  const [, version = ''] = String(value.apiVersion).split('/')
  return [API_VERSION, 'v1alpha1'].includes(version)
}

const reportsOf = (document: number, { errors, warnings }: Verdict): readonly Report[] =>
  [...errors, ...warnings].map((finding) => reportOf(document, finding))

function reportOf(document: number, finding: Finding): Report {
  const { id, severity, error } = finding
  const path = error.at.length === 0 ? '' : pathText(error.at)
  return {
    document,
    severity,
    key: `${severity} ${id} ${error.at.length === 0 ? '' : pathTextWithoutIndexes(error.at)}`,
    path,
    text: causeText(finding),
  }
}

/** The reports that are there more often than before. */
function newReports(now: readonly Report[], before: readonly Report[]): readonly Report[] {
  const left = new Map<string, number>()
  for (const { key } of before) left.set(key, (left.get(key) ?? 0) + 1)
  return now.filter(({ key }) => {
    const count = left.get(key) ?? 0
    left.set(key, count - 1)
    return count <= 0
  })
}

/** Whether a report stands at the changed field, around it or in it, or names the field or its value. */
function mentionsChange({ path, text }: Report, change: Mistake['change']): boolean {
  const at = pathText(change.at)
  const key = String(change.op === 'rename' ? change.to : jsonKey(change.at.at(-1) ?? ''))
  const holder = pathText(change.at.slice(0, -1))
  const value = 'value' in change && typeof change.value === 'string' ? change.value : undefined
  return (
    path.startsWith(at) ||
    path === (change.op === 'rename' ? `${holder}.${key}` : at) ||
    text.includes(key) ||
    (value !== undefined && value !== '' && text.includes(value))
  )
}

/** The object without the fields that the API server drops. */
function pruned(value: unknown, schema: ReleaseSchema | undefined): unknown {
  if (schema === undefined) return value
  if (Array.isArray(value)) return value.map((item) => pruned(item, schema.items))
  if (!isObject(value)) return value
  const isRoot = 'apiVersion' in value && 'kind' in value
  const kept = Object.entries(value).flatMap(([key, field]): [string, unknown][] => {
    const of = fieldOf(schema, key)
    if (isRoot && ENVELOPE.has(key)) return [[key, field]]
    return of === undefined ? [] : [[key, pruned(field, of)]]
  })
  return Object.fromEntries(kept)
}

const ENVELOPE: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata'])

/** A cluster that has the objects, and all Secrets, ConfigMaps and policies that they name. */
function clusterOf(values: readonly unknown[], judging: MistakeJudging): ClusterState {
  const state = new ClusterState({ group: judging.group, knows: () => true })
  const named = new Map<string, { namespace: string; kind: string; name: string; keys: Set<string> }>()
  const add = (namespace: string, kind: string, name: string, key: string) => {
    const id = `${namespace}/${kind}/${name}`
    const known = named.get(id) ?? { namespace, kind, name, keys: new Set<string>() }
    named.set(id, known)
    known.keys.add(key)
  }
  for (const value of values) {
    if (kindOf(value, judging) === undefined) continue
    const namespace = namespaceOf(value, judging)
    const resource = value as Resource
    for (const { name, key } of secretReferencesOf(resource)) add(namespace, 'Secret', name, key)
    for (const { name, key } of configMapReferencesOf(resource)) add(namespace, 'ConfigMap', name, key)
    for (const { kind, name } of policyReferencesOf(resource)) add(namespace, kind, name, '')
  }
  for (const { namespace, kind, name, keys } of named.values()) {
    const data = Object.fromEntries([...keys].map((key) => [key, LONG_ENOUGH]))
    const facts =
      kind === 'Secret'
        ? secretFacts({ stringData: data })
        : kind === 'ConfigMap'
          ? configMapFacts({ data }, () => true)
          : {}
    state.putFacts({ kind, name }, namespace, facts)
  }
  putAll(state, values, judging)
  return state
}

/** A value of a Secret that is long enough for any key. */
const LONG_ENOUGH = 'x'.repeat(64)
