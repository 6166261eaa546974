export { ClusterState, type Extent } from './cluster-state.ts'
export { overlay } from './overlay.ts'
