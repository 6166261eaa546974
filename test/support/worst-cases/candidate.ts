/** An object that is written and judged, with what is stored before it and beside it. */
export interface Candidate {
  readonly object: Resource
  /** The stored object of an update; a creation where there is none. */
  readonly oldObject?: Resource
  /** Other objects of the namespace. */
  readonly others: readonly Resource[]
}

export interface Resource {
  readonly kind: string
  readonly [field: string]: unknown
}

/** Bytes of JSON of an object that an API server can store: etcd takes requests of 1.5 MiB. */
export const LARGEST_OBJECT = 1_500_000

/** Bytes of the JSON of an object, in UTF-8; none where there is no object. */
export const bytesOf = (object: Resource | undefined): number =>
  object === undefined ? 0 : Buffer.byteLength(JSON.stringify(object))

/** What judging a candidate cost. */
export interface Cost {
  /** Units that the judgement spent, the most of its acts; undefined where the engine counts none. */
  readonly units?: number
  /** Milliseconds of CPU of the whole process, of the act that took longest. */
  readonly cpuMs: number
  /** Bytes by which the resident memory rose above what it was before, at its peak; undefined where it is not known. */
  readonly peakBytes?: number
  /** Blocks of code that were executed, without those of the test, where they were counted. */
  readonly blocks?: number
  /** The function with most of these blocks: `rule/address.ts isInsideCluster`. */
  readonly hottest?: string
  /** Findings of the engine, to see that something was judged. */
  readonly findings: number
  /** Rules that failed: `id: message`. */
  readonly failures: readonly string[]
}

/** How judging a candidate ended. */
export type Result =
  | ({ readonly ended: 'answered' } & Cost)
  /** The process ended by itself: out of memory, or a stack that overflowed. */
  | { readonly ended: 'crashed'; readonly how: string }
  /** It took longer than the limit. */
  | { readonly ended: 'killed'; readonly afterMs: number }
