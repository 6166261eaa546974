import type { Kind } from '../kinds/kind.ts'

/**
 * Receives the resources of the cluster from the informers. All methods are synchronous and must not throw. Resources
 * are JSON as sent by the API server; the informers do not keep them.
 */
export interface Sink {
  /**
   * Begins to replace all resources of a kind, in one namespace or (undefined) in all. Until `commit`, `put` and
   * `remove` are not called for this kind and namespace. A replacement that fails is never committed; the next
   * `replace` for the same kind and namespace supersedes it.
   */
  replace(kind: Kind, namespace: string | undefined): Replacement
  /** A resource was created or changed. */
  put(kind: Kind, resource: unknown): void
  /** A resource was deleted; `resource` is its last state. */
  remove(kind: Kind, resource: unknown): void
  /**
   * The answer of `Informers.knows` for the kind has changed, in one namespace or (undefined) in all: objects that
   * refer to resources of the kind must be checked again.
   */
  recheck(kind: Kind, namespace: string | undefined): void
  /**
   * Whether the sink, because it was full, dropped objects of the kind, in one namespace or (undefined) in any; then
   * the informer must list the kind again.
   */
  lacks(kind: Kind, namespace: string | undefined): boolean
}

/** Receives all resources of a kind in parts, so that they are never all in memory. */
export interface Replacement {
  /**
   * Receives the next resources of the list. They are as recent as the resources that `put` receives, so they may be
   * used before `commit`.
   */
  add(resources: readonly unknown[]): void
  /** The list is complete: resources that were not added no longer exist. */
  commit(): void
}
