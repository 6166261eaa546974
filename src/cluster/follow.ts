/** What is written of the connection; pino fits. Neither a resource nor a credential is ever in it. */
export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/**
 * How a kind is followed. `absent`: its CRD is not there. `forbidden`: we may not read it. Both count as synced and
 * empty, and are asked again. `failing`: no answer of use; what was known stays in the view and ages.
 */
export type FollowState = 'listing' | 'watching' | 'absent' | 'forbidden' | 'failing'

export interface KindState {
  readonly kind: string
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined
  readonly state: FollowState
  /** Why it is absent, forbidden or failing. */
  readonly reason: string | undefined
  /** Whether the first outcome was there: a complete list, or that the kind is absent or forbidden. */
  readonly synced: boolean
  /**
   * Seconds since the API server last proved what the view holds: a page of a list, an event, a bookmark, a watch that
   * it accepted or ended in order, or an answer that the kind is absent or forbidden. Below half a minute when all is
   * well, however idle the kind is.
   */
  readonly age: number
  /** How often it was listed again out of turn: after an error, silence, or an expired resourceVersion. */
  readonly restarts: number
}

/** Keeps a sink fresh, from `follow` until `stop`. */
export interface Following {
  /** Resolves when every kind is synced; never rejects. An API server out of reach is not synced. */
  readonly synced: Promise<void>
  isSynced(): boolean
  /** Whether what the sink has of the kind in the namespace is all there is: synced, and not forbidden. */
  knows(kind: string, namespace: string): boolean
  states(): readonly KindState[]
  /** Ends every request and timer at once; the sink is not called again. */
  stop(): void
}

export interface FollowOptions {
  /** Only these namespaces, which needs no more than Roles in them; undefined: all. */
  readonly namespaces?: readonly string[] | undefined
  readonly logger: Logger
}
