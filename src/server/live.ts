import { createHash } from 'node:crypto'
import type { ClusterConnection } from '../cluster/index.ts'
import { type SecretFacts, secretFacts } from '../kinds/between/secrets.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { DryRuns } from '../review/dry-runs.ts'
import type { Confirmed, Verdict } from '../review/judge.ts'
import type { Standing } from '../review/standing.ts'
import { answering, nameKey, type ObjectName } from '../rule/cluster.ts'
import { isObject } from '../rule/resource.ts'

/** How many objects are read from the API server for one review. */
const MOST_READS = 20
/** How often an object is read for one review that changes meanwhile. */
const MOST_ATTEMPTS = 3
/** How long, in milliseconds, an object that was not there is believed not to be there. */
const MISS_HOLDS = 1_000

/** What the reads of a review came to, for a metric. */
export type ReadOutcome = 'found' | 'missing' | 'failed'

/** Reads from the API server what a verdict rests on, so that nobody is denied on stale news. */
export class Live {
  readonly #connection: Pick<ClusterConnection, 'read' | 'readSecret' | 'readNamespace'>
  readonly #standing: Standing
  readonly #count: (outcome: ReadOutcome) => void
  /** When an object was found not to be there. */
  readonly #misses = new Map<string, number>()
  /** What was tried beside it. */
  readonly dryRuns = new DryRuns((text) => createHash('sha256').update(text).digest('base64'))
  #waiting = 0

  constructor(
    connection: Pick<ClusterConnection, 'read' | 'readSecret' | 'readNamespace'>,
    standing: Standing,
    count: (outcome: ReadOutcome) => void,
  ) {
    this.#connection = connection
    this.#standing = standing
    this.#count = count
  }

  /** How many reviews wait for reads. */
  get waiting(): number {
    return this.#waiting
  }

  /** Puts what it reads into the view. Never throws: what cannot be read in time is not confirmed. */
  async confirm(namespace: string, names: readonly ObjectName[], milliseconds: number): Promise<Confirmed> {
    const confirmed = new Set<string>()
    const secrets = new Map<string, SecretFacts>()
    const signal = AbortSignal.timeout(milliseconds)
    const read = async (name: ObjectName) => {
      if (!(await this.#isRead(namespace, name, secrets, signal))) return
      confirmed.add(nameKey(name))
    }
    this.#waiting += 1
    await Promise.all(names.slice(0, MOST_READS).map(read))
    this.#waiting -= 1
    return {
      has: (name) => confirmed.has(nameKey(name)),
      with: (cluster) =>
        answering(cluster, {
          get: (kind, name) => (kind === 'Secret' ? secrets.get(name) : cluster.get(kind, name)),
        }),
    }
  }

  /** Whether the namespace is being deleted; no answer means that it may be. */
  async isTerminating(namespace: string, milliseconds: number): Promise<boolean> {
    try {
      const found = await this.#connection.readNamespace(namespace, AbortSignal.timeout(milliseconds))
      const status = isObject(found) && isObject(found.status) ? found.status : undefined
      return status?.phase === 'Terminating' || found === undefined
    } catch {
      return true
    }
  }

  async #isRead(
    namespace: string,
    { kind, name }: ObjectName,
    secrets: Map<string, SecretFacts>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const key = `${kind}/${namespace}/${name}`
    const missed = performance.now() - (this.#misses.get(key) ?? -Infinity) < MISS_HOLDS
    if (missed && !this.#standing.has(kind, namespace, name)) return true
    try {
      const known = kindNamed.get(kind)
      if (known !== undefined) return await this.#isKnown(known, namespace, name, signal)
      const found = await this.#connection.readSecret(namespace, name, signal)
      this.#heard(found, key)
      if (isObject(found)) secrets.set(name, secretFacts(found))
      return true
    } catch {
      this.#count('failed')
      return false
    }
  }

  /**
   * Puts into the view what is read. What the watch brings meanwhile may be newer than the answer, and nothing would
   * bring it again: then the answer counts for nothing, and is asked for anew.
   */
  async #isKnown(kind: Kind, namespace: string, name: string, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const before = this.#standing.stamp(kind.kind, namespace, name)
      const found = await this.#connection.read(kind, namespace, name, signal)
      if (this.#standing.stamp(kind.kind, namespace, name) !== before) continue
      this.#heard(found, `${kind.kind}/${namespace}/${name}`)
      if (found === undefined) this.#standing.remove(kind, namespace, name)
      else this.#standing.put(kind, found)
      return true
    }
    return false
  }

  #heard(found: unknown, key: string): void {
    this.#count(found === undefined ? 'missing' : 'found')
    if (found === undefined) this.#remember(key)
  }

  #remember(key: string): void {
    const now = performance.now()
    for (const [other, since] of this.#misses) {
      if (now - since < MISS_HOLDS) break
      this.#misses.delete(other)
    }
    // Last of all, so that the oldest stay first.
    this.#misses.delete(key)
    this.#misses.set(key, now)
  }
}

/** Nothing has been read. */
export const UNCONFIRMED: Confirmed = { has: () => false, with: (cluster) => cluster }

/** What a verdict rests on, errors first, each object once. */
export function restsOn({ errors, warnings }: Verdict): ObjectName[] {
  const found = new Map<string, ObjectName>()
  for (const { error } of [...errors, ...warnings]) {
    for (const name of error.restsOn ?? []) found.set(nameKey(name), name)
  }
  return [...found.values()]
}
