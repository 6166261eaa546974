import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { ClusterConnection, fromKubeconfig, fromServiceAccount } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Settings } from '../review/settings.ts'
import { Standing } from '../review/standing.ts'
import { type Extent, World } from '../review/world.ts'
import { measureCluster } from './cluster-metrics.ts'
import type { ServerConfiguration } from './configuration.ts'
import { Live } from './live.ts'
import { View } from './view.ts'

/** The cluster beside whose objects resources are judged. */
export interface OpenCluster {
  readonly server: string
  readonly connection: ClusterConnection
  readonly world: World
  readonly live: Live
  isSynced(): boolean
  close(): void
}

/**
 * Begins to follow the cluster of the kubeconfig, or that of the pod; undefined when there is neither. Throws
 * UsageError on a kubeconfig that cannot be used. An API server out of reach is waited for.
 */
export async function openCluster(
  configuration: ServerConfiguration,
  settings: Settings,
  logger: Logger,
  registry: Registry,
): Promise<OpenCluster | undefined> {
  const { kubeconfig, 'api-group': group } = configuration
  const inPod = process.env.KUBERNETES_SERVICE_HOST !== undefined
  if (kubeconfig === '' && !inPod) return undefined
  const access = await (kubeconfig === '' ? fromServiceAccount() : fromKubeconfig(kubeconfig)).catch(
    (error: unknown) => {
      throw new UsageError(error instanceof Error ? error.message : String(error))
    },
  )
  const watched = configuration['watch-namespaces']
  const isWatched = (namespace: string) => watched.length === 0 || watched.includes(namespace)
  const checksSecrets = configuration['check-secrets']
  let isKnown: Extent['knows'] = () => false
  const world = new World({
    group,
    knows: (kind, namespace) =>
      isWatched(namespace) &&
      (kind === 'Secret' ? checksSecrets : kindNamed.has(kind) && isKnown(kind, namespace)),
  })
  // A trial period does not change what stands in the cluster.
  const standing = new Standing(world, { ...settings, mode: 'enforce' })
  const view = new View(world, standing)
  const connection = new ClusterConnection(access, { group })
  const following = connection.follow(view, {
    logger,
    namespaces: watched.length === 0 ? undefined : watched,
  })
  isKnown = (kind, namespace) => following.knows(kind, namespace)
  const stopped = new AbortController()
  void following.synced.then(() => view.keepJudging(stopped.signal))
  const live = new Live(connection, standing, measureCluster(registry, following, standing))
  return {
    server: connection.server,
    connection,
    world,
    live,
    isSynced: () => following.isSynced(),
    close: () => {
      stopped.abort()
      following.stop()
      connection.close()
    },
  }
}
