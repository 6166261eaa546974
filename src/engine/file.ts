import { API_VERSION } from '../kinds/index.ts'
import {
  type Budget,
  type FieldError,
  type Finding,
  type Fix,
  isObject,
  type Segment,
  type Steps,
} from '../rule/index.ts'
import { findingsBeforeDeployment, findingsIn } from './findings.ts'
import { isLeftOut } from './ignored.ts'
import { metadataFindings } from './metadata.ts'
import { type FindPlaceholder, holdsPlaceholder, type Placeholder } from '../documents/index.ts'
import { folded, refusedBy, withoutRepeats, withSureFixes, yielding } from './yielding.ts'
import type { Ignore } from './settings.ts'
import { type NewerField, unknownFields } from './unknown-fields.ts'
import {
  ADMITTED,
  around,
  type ObjectJudgement,
  judgement,
  readable,
  type JudgedSubject,
} from './judgement.ts'
import type { Surroundings } from './rules.ts'
import { beside, type Prepared, type World } from './world.ts'

/** An object in a file: tools may still replace its placeholders, and no API server has dropped its unknown fields. */
export interface FileObject extends JudgedSubject {
  readonly object: unknown
  /** The object that an apply would replace, and the other objects as they were before; `nothing` for a creation. */
  readonly stored: { readonly object: unknown; readonly state: World['state'] } | 'nothing'
  /** The ignores in comments of the file. */
  readonly ignores: readonly Ignore[]
  /** Whether placeholders are judged as plain text, and unknown fields are errors (`--strict`). */
  readonly strict: boolean
  /** Finds the placeholders that the configuration file defines, in addition to the built-in ones. */
  readonly placeholders: FindPlaceholder | undefined
}

export interface FileVerdict extends ObjectJudgement {
  /** The values that contain a placeholder, which are not judged (decision 28). */
  readonly placeholders: readonly Placeholder[]
  /**
   * The fields that neither the specification nor the oldest known operator release has; empty when the schema of the
   * installed release is known, because then any field that it lacks is a finding.
   */
  readonly newerFields: readonly NewerField[]
}

/** Judges an object in a file. An error that the stored object already has becomes a warning (decision 8). */
export function* judgingFile(prepared: Prepared, file: FileObject): Steps<FileVerdict> {
  const { kind, namespace, object, stored } = file
  const { settings } = prepared.world
  if (isLeftOut(settings, namespace)) return { ...ADMITTED, placeholders: [], newerFields: [] }
  const old = stored !== 'nothing' && isObject(stored.object) ? stored.object : undefined
  const unknown = unknownIn(prepared, file, object)
  const placeholders: Placeholder[] = []
  const verdict = yield* judgement(prepared, {
    ...file,
    dryRun: false,
    confirmed: undefined,
    find: (budget) =>
      findingsInFile(file, { ...aroundFile(prepared, file), old: readable(kind, old), budget }, prepared, {
        unknown,
        placeholders,
      }),
    replaced:
      old === undefined || stored === 'nothing'
        ? undefined
        : { object: old, find: (budget) => foundBefore(beside(prepared, stored.state), file, old, budget) },
  })
  return { ...withoutRepeats(verdict), placeholders, newerFields: unknown.newer }
}

/** The findings of an object in a file, also about unknown fields; adds values with placeholders to `placeholders`. */
function* findingsInFile(
  file: FileObject,
  within: Surroundings,
  prepared: Prepared,
  { unknown, placeholders }: { readonly unknown: UnknownInFile; readonly placeholders: Placeholder[] },
): Steps<readonly Finding[]> {
  const { kind, object, stored, placeholders: own, strict } = file
  const found = strict
    ? { findings: yield* findingsIn(kind, object, within), placeholders: [] }
    : yield* findingsBeforeDeployment(kind, object, within, own)
  placeholders.push(...found.placeholders)
  const unjudged = [...placeholders.map(({ at }) => at), ...unknown.meant]
  const known = yieldingIn(prepared, file, object, found.findings, unjudged)
  const refused = refusedBy(object, {
    kind: kind.kind,
    release: prepared.installed,
    stored: stored === 'nothing' ? undefined : stored.object,
    unknown: unjudged,
  })
  return [
    ...otherVersion(object, strict),
    ...metadataFindings(object, { strict, placeholders: own }),
    ...unknown.findings,
    ...withSureFixes(folded(known, refused), kind, prepared.installed),
  ]
}
/**
 * The objects and settings by which rules judge an object in a file. If a release is known, every finding that says
 * that the operator will certainly fail (`isOutage`) is an error, even if it depends on other objects, because a commit
 * contains them too.
 */
const aroundFile = (prepared: Prepared, file: JudgedSubject): Surroundings => ({
  ...around(prepared, file),
  outages: prepared.installed && 'all',
})

const yieldingIn = (
  { installed }: Prepared,
  file: FileObject,
  value: unknown,
  findings: readonly Finding[],
  unknown: readonly (readonly Segment[])[],
) =>
  yielding(findings, {
    kind: file.kind,
    value,
    release: installed,
    file: { unknown, isTemplate: isTemplateIn(file) },
  })

/** Judges the stored object like an object in a file, together with the other objects as they are before the apply. */
function* foundBefore(
  before: Prepared,
  file: FileObject,
  old: unknown,
  budget: Budget,
): Steps<readonly Finding[]> {
  const { kind } = file
  const within = { ...aroundFile(before, file), budget }
  const unknown = unknownIn(before, file, old)
  const known = yieldingIn(before, file, old, yield* findingsIn(kind, old, within), unknown.meant)
  const release = before.installed
  const refused = refusedBy(old, {
    kind: kind.kind,
    release,
    stored: undefined,
    unknown: unknown.meant,
  })
  return [...known, ...unknown.findings, ...refused]
}

/**
 * The unknown fields of an object in a file. When no release is known, they are errors only in v1beta1: v1alpha1
 * objects may be for older releases with other fields.
 */
function unknownIn({ installed }: Prepared, file: FileObject, object: unknown): UnknownInFile {
  const { kind, strict } = file
  const isTemplate = isTemplateIn(file)
  const version = versionOf(object)
  const isOlder = version === 'v1alpha1'
  const { findings, ...others } = unknownFields(kind, object, { release: installed, isTemplate, isOlder })
  const isKnown = installed?.schemas.has(kind.kind) === true
  const mostly = version === API_VERSION ? undefined : 'warning'
  const severityOf = ({ severity }: Finding) => (strict || isKnown ? 'error' : (mostly ?? severity))
  return {
    ...others,
    findings: findings.map((finding): Finding => ({ ...finding, severity: severityOf(finding) })),
  }
}

type UnknownInFile = ReturnType<typeof unknownFields>

const isTemplateIn =
  ({ strict, placeholders }: FileObject) =>
  (name: string): boolean =>
    !strict && holdsPlaceholder(name, placeholders)

const versionOf = (object: unknown): string | undefined =>
  String(isObject(object) ? object.apiVersion : '').split('/')[1]

/** The finding about an `apiVersion` that is not current: `v1alpha1`, or a version that never existed (decision 1). */
function otherVersion(object: unknown, strict: boolean): Finding[] {
  const [group, version] = String(isObject(object) ? object.apiVersion : '').split('/')
  if (version === API_VERSION) return []
  const served = version === 'v1alpha1'
  const state = served ? 'is deprecated' : 'is not a version of these resources, and no cluster serves it'
  const detail = `${version} ${state}; checked as ${API_VERSION}; write ${API_VERSION}`
  const severity = served ? 'advice' : strict ? 'error' : 'warning'
  const at = ['apiVersion']
  const current = `${String(group)}/${API_VERSION}`
  const fix: Fix | undefined =
    version === undefined
      ? undefined
      : { title: `write ${API_VERSION}`, edits: [{ op: 'set', at, value: current }] }
  const causes = () => [['other version', version ?? '']] as const
  const error: FieldError = { type: 'advice', at, detail, causes, ...(fix && { fix }) }
  return [{ id: 'api-version-current', severity, error }]
}
