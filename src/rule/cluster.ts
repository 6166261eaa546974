import type { Resource } from './resource.ts'

/** What a rule may read of other resources: only the kinds in its `reads`, only in its own namespace. */
export interface Cluster {
  get(kind: string, namespace: string, name: string): Resource | undefined
}

/** The view of a server or a CLI that knows no other resource. */
export const emptyCluster: Cluster = { get: () => undefined }
