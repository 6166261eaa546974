export { type Access, fromKubeconfig, fromServiceAccount } from './access.ts'
export { ClusterConnection, type ConnectionOptions } from './connection.ts'
export type { Following, FollowOptions, FollowState, KindState, Logger } from './follow.ts'
export type { Replacement, Sink } from './sink.ts'
