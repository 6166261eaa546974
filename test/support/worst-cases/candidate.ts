/** An object to judge, with its stored state and the other objects of the namespace. */
export interface Candidate {
  readonly object: Resource
  /** The stored object that an update replaces; undefined for a creation. */
  readonly oldObject?: Resource
  /** Other objects of the namespace. */
  readonly others: readonly Resource[]
}

export interface Resource {
  readonly kind: string
  readonly [field: string]: unknown
}

/** The largest JSON of an object, in bytes, that an API server can store: etcd accepts requests of 1.5 MiB. */
export const LARGEST_OBJECT = 1_500_000

/** The size of the object's JSON in UTF-8 bytes; 0 when there is no object. */
export const bytesOf = (object: Resource | undefined): number =>
  object === undefined ? 0 : Buffer.byteLength(JSON.stringify(object))

/**
 * What judging an object cost. It is judged three times (by /mutate, by /validate, and as a stored object); each figure
 * is the largest of the three.
 */
export interface Cost {
  /** Budget units; undefined when none were counted. */
  readonly units?: number
  /** Milliseconds of CPU of the whole process. */
  readonly cpuMs: number
  /** Bytes by which the peak of the resident memory exceeded that before; undefined when unknown. */
  readonly peakBytes?: number
  /** Executed blocks of code, without those of the test itself; undefined when they were not counted. */
  readonly blocks?: number
  /** The function with the most executed blocks: `rule/address.ts isInsideCluster`. */
  readonly hottest?: string
  /** The number of findings; 0 shows that nothing was judged. */
  readonly findings: number
  /** Rules that threw an error, as `id: message`. */
  readonly failures: readonly string[]
}

/** How judging an object ended. */
export type Result =
  | ({ readonly ended: 'answered' } & Cost)
  /** The process crashed, such as out of memory or by a stack overflow. */
  | { readonly ended: 'crashed'; readonly how: string }
  /** The process was killed at its time limit. */
  | { readonly ended: 'killed'; readonly afterMs: number }
