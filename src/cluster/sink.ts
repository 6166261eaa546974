import type { Kind } from '../kinds/kind.ts'

/**
 * Where the resources of the cluster go. Every call is synchronous and must not throw. Resources are JSON as the API
 * server sent it; nothing of them is kept here.
 */
export interface Sink {
  /**
   * Begins the whole of a kind, in one namespace or (undefined) in all. Between this call and `commit` no `put` and no
   * `remove` comes for the same kind and namespace. A replacement that breaks off is never committed, and the next
   * `replace` of the same kind and namespace takes its place.
   */
  replace(kind: Kind, namespace: string | undefined): Replacement
  /** The resource was created or changed. */
  put(kind: Kind, resource: unknown): void
  /** The resource is gone; this is how it was last seen. */
  remove(kind: Kind, resource: unknown): void
  /** Whether all of a kind is known has changed, in one namespace or (undefined) in all: `Following.knows` says it. */
  reconsider(kind: Kind, namespace: string | undefined): void
}

/** The whole of a kind, delivered page by page, so that it is never in memory at once. */
export interface Replacement {
  /** What the next page holds. It is as fresh as a `put` is, and may be shown before the commit. */
  add(resources: readonly unknown[]): void
  /** The list is complete: what was not added is gone. */
  commit(): void
}
