/**
 * The entry point of the engine: all front ends use a judge, which is made once for a `World` (settings, release and
 * other objects). A judge is pure and synchronous, and never throws for any JSON.
 */

import { atOnce, type Finding, type Steps } from '../rule/index.ts'
import type { FieldChange } from './defaults.ts'
import { isLeftOut, withoutIgnored } from './ignored.ts'
import { decide, type Verdict, weigh } from './decide.ts'
import { type Admission, admitting } from './admit.ts'
import { complete } from './complete.ts'
import { type FileObject, type FileVerdict, judgingFile } from './file.ts'
import type { ObjectJudgement } from './judgement.ts'
import { judgingStored, type StoredObject } from './stored.ts'
import type { Ignore } from './settings.ts'
import type { Submission } from './submission.ts'
import { beside, prepare, type Prepared, type World } from './world.ts'

/** Judges objects by the settings (decisions 7 to 9), the release and the other objects of one `World`. */
export interface Judge {
  readonly world: World
  /** Judges a write that the API server asks about. */
  admit(submission: Submission): Admission
  /** The defaults that /mutate writes into the submitted object. */
  complete(submission: Submission): readonly FieldChange[]
  /** Judges an object in a file. */
  file(file: FileObject): FileVerdict
  /** Judges an object that is stored in the cluster. */
  stored(object: StoredObject): ObjectJudgement
  /**
   * Applies the settings, and the ignores in the file of the object, to findings from outside the engine, such as
   * refusals of an API server.
   */
  weigh(findings: readonly Finding[], of: FoundIn): Verdict
  /** Whether the settings exclude a namespace: all its objects are admitted without findings. */
  leavesOut(namespace: string): boolean
  /** A judge with the same settings and release, whose rules look up the other objects in `state`. */
  beside(state: World['state']): Judge
  /** `admit` and `file` as steps: a server can answer other requests between them. */
  readonly inSteps: {
    admit(submission: Submission): Steps<Admission>
    file(file: FileObject): Steps<FileVerdict>
  }
}

/** The object that findings from outside the engine are about. */
interface FoundIn {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly object: unknown
  /**
   * The ignores in the file of the object. `none count`: an API server refused the object, which no ignore can change.
   */
  readonly ignores: readonly Ignore[] | 'none count'
}

export const createJudge = (world: World): Judge => judgeIn(prepare(world))

const judgeIn = (prepared: Prepared): Judge => ({
  world: prepared.world,
  admit: (submission) => atOnce(admitting(prepared, submission)),
  complete: (submission) => complete(prepared, submission),
  file: (file) => atOnce(judgingFile(prepared, file)),
  stored: (object) => atOnce(judgingStored(prepared, object)),
  weigh: (findings, { ignores, object, ...self }) => {
    const { settings } = prepared.world
    const { namespace } = self
    const weighed = weigh(findings, namespace, settings)
    const { mode } = settings
    const verdict = decide({ weighed, value: () => object }, undefined, {
      mode,
      dryRun: false,
      confirmed: undefined,
    })
    return ignores === 'none count' ? verdict : withoutIgnored(verdict, self, settings, ignores)
  },
  leavesOut: (namespace) => isLeftOut(prepared.world.settings, namespace),
  beside: (state) => judgeIn(beside(prepared, state)),
  inSteps: {
    admit: (submission) => admitting(prepared, submission),
    file: (file) => judgingFile(prepared, file),
  },
})

export type { Admission } from './admit.ts'
export type { Confirmed, Verdict } from './decide.ts'
export {
  completed,
  type SchemaDefaults,
  initial,
  schemaDefaults,
  withChanges,
  type WrittenDefaults,
} from './defaults.ts'
export {
  ALL_IDS,
  ENGINE_IDS,
  type EngineExample,
  type EngineId,
  FORMER_IDS,
  presentId,
} from './engine-ids.ts'
export type { FileObject, FileVerdict } from './file.ts'
export {
  allowedIgnores,
  exemptionText,
  idleIgnores,
  ignoreAnnotation,
  ignoresIn,
  isAlwaysFound,
  isFor,
  isLeftOut,
  isForOne,
  problemWithIgnore,
  problemWithIgnoredId,
  refusal,
} from './ignored.ts'
export { type ObjectJudgement, READ_BY_REVIEWS } from './judgement.ts'
export { jsonPatch, type PatchOperation } from './patch.ts'
export { PROBE_IDS, type ProbeId } from './probe-ids.ts'
export { isStrictError, type Profile, severitiesOf, STRICT } from './profiles.ts'
export {
  DEFAULT_SETTINGS,
  type Exemption,
  FIXED,
  type Ignore,
  type Ignored,
  parseSeveritySetting,
  problemWithPath,
  type Settings,
  type SeveritySetting,
  writtenIn,
} from './settings.ts'
export type { StoredObject } from './stored.ts'
export { type Submission, submissionOf } from './submission.ts'
export type { NewerField } from './unknown-fields.ts'
export { readVersion, refusedBy } from './yielding.ts'
export { ALL_DEFAULTS, type Completion, type World } from './world.ts'
