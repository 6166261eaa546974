import type { Finding, Steps } from '../rule/index.ts'
import { findingsIn } from './findings.ts'
import { isLeftOut } from './ignored.ts'
import { yielding } from './yielding.ts'
import { ADMITTED, around, type ObjectJudgement, judgement, type JudgedSubject } from './judgement.ts'
import type { Surroundings } from './rules.ts'
import type { Prepared } from './world.ts'

export interface StoredObject extends JudgedSubject {
  readonly object: unknown
}

/** Judges a stored object. Its errors stay errors; only in the review of an update are they warnings (decision 8). */
export function* judgingStored(prepared: Prepared, stored: StoredObject): Steps<ObjectJudgement> {
  const { kind, namespace, name } = stored
  if (isLeftOut(prepared.world.settings, namespace)) return ADMITTED
  const cluster = prepared.shared(namespace)
  const old = () => cluster?.get(kind.kind, name)
  return yield* judgement(prepared, {
    ...stored,
    ignores: [],
    dryRun: false,
    confirmed: undefined,
    find: (budget) =>
      findingsOf(stored, { ...around(prepared, stored, cluster), isStored: true, old, budget }, prepared),
  })
}

function* findingsOf(
  { kind, object }: StoredObject,
  within: Surroundings,
  { installed: release }: Prepared,
): Steps<readonly Finding[]> {
  return yielding(yield* findingsIn(kind, object, within), { kind, value: object, release })
}
