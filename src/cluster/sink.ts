import type { Kind } from '../kinds/kind.ts'

/**
 * Takes the resources of the cluster from the informers. Every call is synchronous and must not throw. Resources are
 * JSON as the API server sent it; the informers keep none of it.
 */
export interface Sink {
  /**
   * Begins to replace all resources of a kind, in one namespace or (undefined) in all. Between this call and `commit` no
   * `put` and no `remove` comes for the same kind and namespace. A replacement that breaks off is never committed, and the
   * next `replace` of the same kind and namespace takes its place.
   */
  replace(kind: Kind, namespace: string | undefined): Replacement
  /** The resource was created or changed. */
  put(kind: Kind, resource: unknown): void
  /** The resource was deleted; `resource` is its last state. */
  remove(kind: Kind, resource: unknown): void
  /** `Informers.knows` now answers differently about the kind, in one namespace or (undefined) in all: re-check its referrers. */
  recheck(kind: Kind, namespace: string | undefined): void
  /** Whether the sink left out objects of the kind, in one namespace or (undefined) in any, and needs another list. */
  lacks(kind: Kind, namespace: string | undefined): boolean
}

/** Everything of a kind, delivered page by page, so that it is never in memory at once. */
export interface Replacement {
  /** Takes the resources of the next page. They are as fresh as those of a `put`, and may be shown before the commit. */
  add(resources: readonly unknown[]): void
  /** The list is complete: what was not added no longer exists. */
  commit(): void
}
