/** Reads a live cluster for the CLI. Commands import this module on demand, because it loads the Kubernetes client. */
export { accessTo, type ClusterChoice } from './access.ts'
export type { Answer } from '../../../cluster/index.ts'
export { tryWrites } from './dry-run.ts'
export { isRefusal, type Opened, openInstallation } from './installation.ts'
export {
  type LiveCluster,
  type LiveObject,
  type NameInNamespace,
  readCluster,
  type Wanted,
} from './read-cluster.ts'
export { readConfigMaps, readObject } from './read-object.ts'
