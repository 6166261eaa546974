/** Receives log lines, as pino does. They never contain a resource or a credential. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/**
 * The state of an informer. `absent`: the CRD is not installed. `forbidden`: the user may not list or watch the kind.
 * The informer of such a kind counts as synced and empty, and tries again. `failing`: the API server gives no usable
 * answer; the cache keeps its objects, which become outdated.
 */
export type InformerState = 'listing' | 'watching' | 'absent' | 'forbidden' | 'failing'

export interface InformerStatus {
  readonly kind: string
  /** The namespace; undefined for all namespaces. */
  readonly namespace: string | undefined
  readonly state: InformerState
  /** The reason for the state absent, forbidden or failing. */
  readonly reason: string | undefined
  /** Whether the first list was completed, or the kind was found to be absent or forbidden. */
  readonly synced: boolean
  /**
   * Seconds since the API server last confirmed the objects in the cache: by a page of a list, an event, a bookmark, a
   * watch that it accepted or ended in order, or the answer that the kind is absent or forbidden. At most
   * `Times.silence` (the longest wait for an event) while the connection works, however rarely the kind changes.
   */
  readonly age: number
  /** Number of complete lists. */
  readonly lists: number
  /** Number of failed lists and watches: an error, a broken connection or an expired resourceVersion. */
  readonly failures: number
}

/** The informers for all kinds and namespaces; they run from `startInformers` until `stop`. */
export interface Informers {
  /** Resolves when every kind is synced; never rejects. No kind is synced while the API server cannot be reached. */
  readonly synced: Promise<void>
  isSynced(): boolean
  /** Whether the cache has every object of the kind in the namespace: the kind is synced and not forbidden there. */
  knows(kind: string, namespace: string): boolean
  statuses(): readonly InformerStatus[]
  /** Stops every request and timer at once; the sink receives no further object. */
  stop(): void
}

export interface InformersOptions {
  /** The namespaces to list and watch, for which Roles are enough; undefined for all, which needs a ClusterRole. */
  readonly namespaces?: readonly string[] | undefined
  readonly logger: Logger
}
