import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { ClusterConnection, fromKubeconfig, fromServiceAccount } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { ALL_DEFAULTS, type Settings } from '../engine/index.ts'
import { kindNamed } from '../kinds/index.ts'
import { CurrentFindings } from './current-findings.ts'
import { ClusterState, type Extent } from '../state/index.ts'
import { ClusterCache } from './cluster-cache.ts'
import { measureClock, measureCluster, measureRelease } from './cluster-metrics.ts'
import { memoryBudget, type ServerConfiguration } from './configuration.ts'
import { InstalledRelease } from './installed-release.ts'
import { latestJudge } from './latest-judge.ts'
import type { Release } from '../release/index.ts'
import { LiveReads } from './live.ts'
import { openReports } from './open-reports.ts'
import type { ReportKeeper } from './report-keeper.ts'
import { errorMessage } from '../rule/index.ts'

/** The cluster cache, with its informers and functions that read from the API server. */
export interface OpenClusterCache {
  readonly state: ClusterState
  readonly live: LiveReads
  /**
   * The schemas of the installed operator or, when these are not known, of the operator release that the configuration
   * file names.
   */
  release(): Release | undefined
  isSynced(): boolean
  /** Writes reports of the current findings to the cluster; undefined unless `--reports` is set. */
  readonly reports: ReportKeeper | undefined
  /** Checks all stored objects again, after a change of the settings. */
  recheck(): void
  /** Stops the informers; the connection to the API server stays open. */
  stop(): void
}

/** The share of the heap for the cluster cache; the rest is for parsing requests and answers. */
const CACHE_SHARE = 0.3
/** The most estimated bytes of an object that the cache stores completely; an ordinary object has two thousand. */
const MOST_OF_ONE = 256 * 1024

/**
 * A connection to the cluster of the kubeconfig or, without a kubeconfig, of the pod; undefined when there is neither.
 * Sends no request yet. Throws UsageError for a kubeconfig that cannot be used.
 */
export async function openConnection(
  configuration: ServerConfiguration,
): Promise<ClusterConnection | undefined> {
  const { kubeconfig, 'api-group': group } = configuration
  const inPod = process.env.KUBERNETES_SERVICE_HOST !== undefined
  if (kubeconfig === '' && !inPod) return undefined
  const access = await (kubeconfig === '' ? fromServiceAccount() : fromKubeconfig(kubeconfig)).catch(
    (error: unknown) => {
      throw new UsageError(errorMessage(error))
    },
  )
  return new ClusterConnection(access, { group })
}

/** Opens the cluster cache and starts its informers, which keep trying while the API server cannot be reached. */
export function openClusterCache(
  configuration: ServerConfiguration,
  connection: ClusterConnection,
  chosen: { readonly settings: Settings; readonly release: Release | undefined },
  logger: Logger,
  registry: Registry,
): OpenClusterCache {
  const group = configuration['api-group']
  const watched = configuration['watch-namespaces']
  const isWatched = (namespace: string) => watched.length === 0 || watched.includes(namespace)
  const checked: Readonly<Record<string, boolean>> = {
    Secret: configuration['check-secrets'] !== 'off',
    ConfigMap: configuration['check-config-maps'],
  }
  let isKnown: Extent['knows'] = () => false
  const knows = (kind: string, namespace: string) =>
    isWatched(namespace) && (checked[kind] ?? (kindNamed.has(kind) && isKnown(kind, namespace)))
  const budget = { all: memoryBudget(configuration['cache-memory'], CACHE_SHARE), object: MOST_OF_ONE }
  const state = new ClusterState({ group, knows }, budget)
  const installed =
    configuration['installed-release'] === 'off' ? undefined : new InstalledRelease(connection, group, logger)
  const release = () => installed?.current() ?? chosen.release
  // The current findings count errors as errors, even with --mode warn.
  const counting = (chosen: Settings): Settings => ({ ...chosen, mode: 'enforce' })
  const judge = latestJudge(
    { group, state, defaults: ALL_DEFAULTS },
    { settings: () => chosen.settings, release, counting },
  )
  const findings = new CurrentFindings(state, judge)
  const cache = new ClusterCache(state, findings, logger, (...of) => connection.read(...of))
  measureClock(registry, () => connection.clockOffset())
  const informers = connection.startInformers(cache, {
    logger,
    namespaces: watched.length === 0 ? undefined : watched,
  })
  isKnown = (kind, namespace) => informers.knows(kind, namespace)
  const stopped = new AbortController()
  void installed?.keepReading(stopped.signal, () => findings.recheck(undefined))
  measureRelease(registry, () => installed?.current())
  void informers.synced.then(() => cache.keepChecking(stopped.signal))
  const live = new LiveReads(connection, findings, measureCluster(registry, informers, { findings, state }))
  const isSynced = () => informers.isSynced() && (installed?.isRead() ?? true)
  const reports = configuration.reports
    ? openReports(configuration, { connection, findings, isSynced }, logger, registry)
    : undefined
  return {
    state,
    live,
    release,
    isSynced,
    reports,
    recheck: () => {
      findings.recheck(undefined)
    },
    stop: () => {
      stopped.abort()
      informers.stop()
    },
  }
}
