import type { Kind } from '../kinds/kind.ts'

/**
 * Receives the resources of the cluster from the informers. Every method is synchronous and must not throw. Resources
 * are JSON as the API server sent it; the informers keep none of it.
 */
export interface Sink {
  /**
   * Begins to replace all resources of a kind, in one namespace or (undefined) in all. Until `commit` there is no `put`
   * or `remove` for the same kind and namespace. A replacement that fails is never committed; the next `replace` of the
   * same kind and namespace supersedes it.
   */
  replace(kind: Kind, namespace: string | undefined): Replacement
  /** The resource was created or changed. */
  put(kind: Kind, resource: unknown): void
  /** The resource was deleted; `resource` is its last state. */
  remove(kind: Kind, resource: unknown): void
  /**
   * `Informers.knows` now has another answer for the kind, in one namespace or (undefined) in all: check again what
   * refers to it.
   */
  recheck(kind: Kind, namespace: string | undefined): void
  /**
   * Whether the sink dropped objects of the kind because it was full, in one namespace or (undefined) in any, and needs
   * another list.
   */
  lacks(kind: Kind, namespace: string | undefined): boolean
}

/** Receives all resources of a kind page by page, so that they are never in memory at once. */
export interface Replacement {
  /**
   * Receives the resources of the next page, which are as recent as those of a `put`: they may be used before the
   * commit.
   */
  add(resources: readonly unknown[]): void
  /** The list is complete: resources that were not added no longer exist. */
  commit(): void
}
