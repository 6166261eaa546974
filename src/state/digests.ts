/** For objects too large to be stored: digests (the fields that rules read), and hashes of their references. */

import { visitTargets } from '../relations/index.ts'
import { nameKey, type ObjectName, type Resource } from '../rule/index.ts'

/**
 * Milliseconds for which a recently used digest is not replaced by another. When more digests are needed than fit, some
 * stay useful, instead of all being replaced before their next use.
 */
const HOLDS = 10_000

interface Digest {
  readonly resource: Resource
  readonly bytes: number
  used: number
}

/** Digests of large objects, by a key that stands for one version of the object. Bounded in bytes. */
export class Digests<Of extends object> {
  /** The digests in the order of their last use, the oldest first. */
  readonly #kept = new Map<Of, Digest>()
  readonly #now: () => number
  #bytes = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get bytes(): number {
    return this.#bytes
  }

  get(of: Of): Resource | undefined {
    const found = this.#kept.get(of)
    if (found === undefined) return undefined
    found.used = this.#now()
    this.#kept.delete(of)
    this.#kept.set(of, found)
    return found.resource
  }

  has(of: Of): boolean {
    return this.#kept.has(of)
  }

  /**
   * Stores a digest if all digests together then take at most `most` bytes, after dropping those unused for ten
   * seconds; returns false if they would take more.
   */
  keep(of: Of, resource: Resource, bytes: number, most: number): boolean {
    this.drop(of)
    const now = this.#now()
    for (const [other, { used }] of this.#kept) {
      if (this.#bytes + bytes <= most || now - used < HOLDS) break
      this.drop(other)
    }
    if (this.#bytes + bytes > most) return false
    this.#kept.set(of, { resource, bytes, used: now })
    this.#bytes += bytes
    return true
  }

  drop(of: Of): void {
    const found = this.#kept.get(of)
    if (found === undefined) return
    this.#bytes -= found.bytes
    this.#kept.delete(of)
  }

  /** Drops the least recently used digests until the rest takes at most `most` bytes. */
  shrink(most: number): void {
    for (const of of this.#kept.keys()) {
      if (this.#bytes <= most) return
      this.drop(of)
    }
  }
}

/** The objects of which a resource is a referrer, as sorted hashes of eight bytes. */
export function referenceHashes(kind: string, resource: Resource): Float64Array {
  const hashes: number[] = []
  visitTargets(kind, resource, (kind, name) => hashes.push(hashOf({ kind, name })))
  return new Float64Array(hashes).sort()
}

/** Whether the hashes from `referenceHashes` contain the hash of an object. */
export function isAmong(hashes: Float64Array, target: number): boolean {
  let [from, to] = [0, hashes.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((hashes[middle] ?? 0) < target) from = middle + 1
    else to = middle
  }
  return hashes[from] === target
}

/** Random in each process, so that nobody can choose two names with the same hash. */
const SEED = Math.floor(Math.random() * 2 ** 32)

/**
 * A hash of 53 bits: in one of ten thousand processes, two of a million names have the same hash. It is computed in two
 * lanes of 32 bits, each as in MurmurHash3.
 */
export function hashOf(name: ObjectName): number {
  const key = nameKey(name)
  let high = 0xdeadbeef ^ SEED
  let low = 0x41c6ce57 ^ SEED
  for (let i = 0; i < key.length; i++) {
    const code = key.charCodeAt(i)
    high = Math.imul(high ^ code, 0x9e3779b1)
    low = Math.imul(low ^ code, 0x5f356495)
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return 2 ** 32 * (high & 0x1fffff) + (low >>> 0)
}
