/**
 * Judges the authentication resources of vMCP inside another program, as `vmcp-admission check` does. This library
 * does not read files, a cluster or the clock, and keeps no state between calls.
 *
 * @packageDocumentation
 */
import { DEFAULT_API_GROUP } from '../kinds/index.ts'
import { type Release as KnownRelease, releaseOf, type ReleaseSchema } from '../release/index.ts'
import type { ClusterState } from '../state/index.ts'
import {
  ALL_DEFAULTS,
  ALL_IDS,
  createJudge,
  DEFAULT_SETTINGS,
  jsonPatch,
  parseSeveritySetting,
  severitiesOf,
  type SeveritySetting,
  submissionOf,
  type Verdict,
} from '../engine/index.ts'
import {
  causeText,
  type Finding as FoundFinding,
  isNestedOver,
  isObject,
  jsonKey,
  NOT_JUDGED,
  objectKey,
  pathText,
  type Resource,
  type Segment,
} from '../rule/index.ts'
import {
  asApplied,
  kindOf,
  nameOf,
  notJudged,
  type DocumentReading,
  stateOf,
  subjectOf,
} from '../documents/index.ts'

/** Options of {@link judge}. */
export interface JudgeOptions {
  /**
   * Existing resources of any kind, such as those of a cluster. The judged objects are applied on top of them, and
   * replace those with the same name; an error that the replaced object has too becomes a warning (`stored before: …`).
   */
  readonly others?: readonly unknown[]
  /** The operator release that the resources are for. Without it, the specification alone decides. */
  readonly release?: Release | undefined
  /**
   * The severities to start from. The profile `strict` turns a warning into an error when its cause is certainly a
   * mistake; it includes the option `strict: true`.
   */
  readonly profile?: 'standard' | 'strict'
  /**
   * Severities by the id of a rule, or by id and path, such as `'schema-pattern:spec.oidc.issuer'`. When several apply,
   * the last one has effect.
   */
  readonly severities?: Readonly<Record<string, 'error' | 'warning' | 'advice' | 'off'>>
  /** Whether unknown fields are errors, and values with placeholders such as `${REGION}` are judged as plain text. */
  readonly strict?: boolean
  /** The namespace of resources that do not name one; `default` when absent. */
  readonly namespace?: string
  /** The API group of the resources; `toolhive.stacklok.dev` when absent. */
  readonly apiGroup?: string
}

/** The schemas of a release of the operator. Each file in `vmcp-admission/releases/` has one. */
export interface Release {
  /** The version of the operator, such as `0.63.0`; empty when not known. */
  readonly version: string
  /** The schema of each kind. */
  readonly schemas: Readonly<Record<string, object>>
}

/** Identifies one of the given objects. */
export interface Subject {
  /** The index of the object in the given list. */
  readonly index: number
  readonly kind: string
  readonly namespace: string
  /** The object's `metadata.name`, or else its `generateName`; empty when the object has neither. */
  readonly name: string
}

/** A place in one of the given objects. */
export interface Place extends Subject {
  /** The path as Kubernetes prints it: `spec.awsSts.roleMappings[0].matcher`; empty for the whole object. */
  readonly path: string
  /** The path as a list of keys: `['spec', 'awsSts', 'roleMappings', 0, 'matcher']`. */
  readonly keys: readonly (string | number)[]
}

/** An error (the webhook would deny the object), a warning, or advice for production (nothing fails now). */
export interface Finding extends Place {
  readonly severity: 'error' | 'warning' | 'advice'
  /** The id of the finding's rule, for `severities` and `vmcp-admission explain`. */
  readonly id: string
  /** The text of the finding, without the path; it ends with the id in parentheses. */
  readonly message: string
}

/** A value that is not judged, because a deployment tool will replace the placeholder in it. */
export interface Placeholder extends Place {
  /** The placeholder as written: `${REGION}`. */
  readonly text: string
}

/** The documented defaults that are missing in an object. */
export interface Defaults extends Subject {
  /** A patch that turns the object into the object that the mutating webhook would store. */
  readonly patch: readonly PatchOperation[]
}

/** An operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** The result of {@link judge}. */
export interface Judgement {
  /** The findings in the order of the objects; for each object errors first, then warnings and advice, each by path. */
  readonly findings: readonly Finding[]
  readonly defaults: readonly Defaults[]
  readonly placeholders: readonly Placeholder[]
}

/**
 * Judges a set of objects that were read from YAML or JSON. Objects of other kinds than those of vMCP are not judged,
 * but rules read the Secrets and ConfigMaps among them.
 *
 * @throws TypeError when an option is wrong. Objects of any content never make it throw.
 */
export function judge(objects: readonly unknown[], options: JudgeOptions = {}): Judgement {
  const { others = [], namespace = 'default', apiGroup: group = DEFAULT_API_GROUP, profile } = options
  const strict = options.strict === true || profile === 'strict'
  const reading: DocumentReading = { group, namespace, strict }
  const existing = others.map((object) => (isTooDeep(object, reading) ? withoutSpec(object) : object))
  const stored = storedIn(existing, reading)
  const applied = objects.map((object) =>
    isTooDeep(object, reading)
      ? withoutSpec(object)
      : asApplied(object, stored.get(keyOf(object, reading)), reading),
  )
  const around: Around = {
    reading,
    stored,
    before: others.length === 0 ? undefined : stateOf(existing, reading, amongObjects),
    after: stateOf([...existing, ...applied], reading, amongObjects),
    severities: severitiesFor(options),
    release: knownRelease(options.release),
  }
  const judged = objects.map((object, index) => judgeOne(object, index, around))
  return {
    findings: judged.flatMap(({ findings }) => findings),
    defaults: judged.flatMap(({ defaults }) => defaults),
    placeholders: judged.flatMap(({ placeholders }) => placeholders),
  }
}

/**
 * Reads a release from CustomResourceDefinitions (`apiextensions.k8s.io/v1`), such as those of a cluster; undefined
 * when none is of the operator. Ignores objects of other kinds.
 */
export function releaseOfCrds(
  crds: readonly unknown[],
  apiGroup: string = DEFAULT_API_GROUP,
): Release | undefined {
  const release = releaseOf(crds, apiGroup, '')
  return release && { version: '', schemas: Object.fromEntries(release.schemas) }
}

interface Around {
  readonly reading: DocumentReading
  /** The objects of `others`, which exist already, by `kind/namespace/name`. */
  readonly stored: ReadonlyMap<string | undefined, unknown>
  readonly before: ClusterState | undefined
  readonly after: ClusterState
  readonly severities: readonly SeveritySetting[]
  readonly release: KnownRelease | undefined
}

const amongObjects = () => 'among the given objects'

function judgeOne(object: unknown, index: number, around: Around): Judgement {
  const { reading, before, after, severities, release } = around
  const { group, strict } = reading
  const judge = createJudge({
    group,
    settings: { ...DEFAULT_SETTINGS, severities },
    release: release ?? 'specification',
    state: after,
    defaults: ALL_DEFAULTS,
  })
  const kind = kindOf(object, reading)
  if (kind === undefined) {
    const found = notJudged(object, reading)
    if (found?.finding === undefined) return NOTHING
    const { kind } = found.resource
    const subject = subjectOf(typeof kind === 'string' ? kind : 'resource', found.resource, reading)
    const verdict = judge.weigh([found.finding], { ...subject, object, ignores: [] })
    return { ...NOTHING, findings: findingsOf(verdict, { index, ...subject }) }
  }
  const resource = object as Resource
  const subject = { index, ...subjectOf(kind.kind, resource, reading) }
  if (isTooDeep(object, reading))
    return { ...NOTHING, findings: findingsOf({ errors: [TOO_DEEP], warnings: [] }, subject) }
  const name = nameOf(resource)
  const oldObject = around.stored.get(keyOf(object, reading))
  const { namespace } = subject
  const outcome = judge.file({
    kind,
    namespace,
    name,
    object,
    stored: oldObject === undefined ? 'nothing' : { object: oldObject, state: before ?? after },
    ignores: [],
    strict,
    placeholders: undefined,
  })
  const submission = submissionOf({ kind: kind.kind, name }, { namespace, group, object, oldObject })
  const patch = jsonPatch(judge.complete(submission))
  return {
    findings: findingsOf(outcome, subject),
    defaults: patch.length === 0 ? [] : [{ ...subject, patch }],
    placeholders: outcome.placeholders.map(({ at, text }) => ({ ...placeOf(subject, at), text })),
  }
}

const NOTHING: Judgement = { findings: [], defaults: [], placeholders: [] }

/** The most levels of lists and objects in an object that is judged, as in `check`. */
const DEEPEST = 500

const isTooDeep = (object: unknown, reading: DocumentReading): object is Resource =>
  kindOf(object, reading) !== undefined && isNestedOver(object, DEEPEST)

/** An object of which nothing is known but that it exists. */
const withoutSpec = ({ apiVersion, kind, metadata }: Resource): Resource => ({
  apiVersion,
  kind,
  metadata: { name: textOf(metadata?.name), namespace: textOf(metadata?.namespace) },
  spec: undefined,
})

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const TOO_DEEP: FoundFinding = {
  id: NOT_JUDGED,
  severity: 'error',
  error: {
    type: 'forbidden',
    at: [],
    detail: `lists and maps nest deeper than ${DEEPEST} levels; the object is not judged`,
  },
}

function findingsOf({ errors, warnings }: Pick<Verdict, 'errors' | 'warnings'>, subject: Subject): Finding[] {
  return [...errors, ...warnings].map((finding: FoundFinding) => ({
    ...placeOf(subject, finding.error.at),
    severity: finding.severity,
    id: finding.id,
    message: (finding.prefix ?? '') + causeText(finding),
  }))
}

const placeOf = (subject: Subject, at: readonly Segment[]): Place => ({
  ...subject,
  path: at.length === 0 ? '' : pathText(at),
  keys: at.map(jsonKey),
})

/** The key that identifies an object; undefined for an object that is not of a vMCP kind, or that has no name. */
function keyOf(object: unknown, reading: DocumentReading): string | undefined {
  const kind = kindOf(object, reading)
  if (kind === undefined || nameOf(object as Resource) === '') return undefined
  return objectKey(subjectOf(kind.kind, object as Resource, reading))
}

function storedIn(others: readonly unknown[], reading: DocumentReading): Map<string | undefined, unknown> {
  const stored = new Map(others.map((object) => [keyOf(object, reading), object]))
  stored.delete(undefined)
  return stored
}

function severitiesFor({ profile = 'standard', severities = {} }: JudgeOptions): readonly SeveritySetting[] {
  if (!['standard', 'strict'].includes(profile)) throw new TypeError(`profile: '${profile}' is not known`)
  const own = Object.entries(severities).map(([place, severity]) => {
    const setting = parseSeveritySetting(`${place}=${severity}`, ALL_IDS)
    if (typeof setting === 'string') throw new TypeError(`severities: ${setting}`)
    return setting
  })
  return [...severitiesOf(profile), ...own]
}

/** The internal form of each given release, created once, because results are cached by the identity of this form. */
const known = new WeakMap<Release, KnownRelease>()

function knownRelease(release: Release | undefined): KnownRelease | undefined {
  if (release === undefined) return undefined
  const before = known.get(release)
  if (before !== undefined) return before
  if (!isObject(release) || typeof release.version !== 'string' || !isObject(release.schemas))
    throw new TypeError('release: give the contents of a file of vmcp-admission/releases, or releaseOfCrds')
  const { version, schemas } = release
  const named =
    version === ''
      ? { name: 'the installed operator' }
      : { name: `operator release ${minorOf(version)}`, version: minorOf(version) }
  const read = { ...named, schemas: new Map(Object.entries(schemas) as [string, ReleaseSchema][]) }
  known.set(release, read)
  return read
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')
