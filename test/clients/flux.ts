import { join } from 'node:path'
import type { Test } from 'tap'
import type { ApiServer } from '../e2e/api-server.ts'
import { kubectl } from '../e2e/cluster.ts'
import { freePort } from '../support/free-port.ts'
import type { Client } from './client.ts'
import { folderFor, installCrdsOf, startProgram } from './programs.ts'

const NAMESPACE = 'flux-system'
/** The interval at which Flux reads the repository, compares folders and retries failures. */
const INTERVAL = '2s'

interface Kustomization {
  readonly status?: {
    readonly lastAttemptedRevision?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly message: string
    }[]
  }
}

/** Starts source-controller and kustomize-controller for a repository. */
export async function startFlux(t: Test, api: ApiServer, clients: string, url: string): Promise<Client> {
  const folder = folderFor(t)
  await installCrdsOf(api, clients, /toolkit\.fluxcd\.io/)
  await kubectl(api, ['create', 'namespace', NAMESPACE])
  const artifacts = `127.0.0.1:${await freePort()}`
  const environment = { KUBECONFIG: api.kubeconfig, RUNTIME_NAMESPACE: NAMESPACE }
  const start = async (name: string, ...more: readonly string[]) => {
    const health = `--health-addr=127.0.0.1:${await freePort()}`
    const flags = ['--metrics-addr=0', health, '--interval-jitter-percentage=0', ...more]
    return startProgram(t, folder, name, join(clients, name), flags, environment)
  }
  const storage = [
    `--storage-path=${folder}`,
    `--storage-addr=${artifacts}`,
    `--storage-adv-addr=${artifacts}`,
  ]
  await start('source-controller', ...storage)
  const log = await start('kustomize-controller')
  const inNamespace = (name: string) => ({ name, namespace: NAMESPACE })
  const apply = (items: readonly object[]) =>
    kubectl(api, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await apply([
    {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'GitRepository',
      metadata: inNamespace('fleet'),
      spec: { url, interval: INTERVAL, ref: { branch: 'main' } },
    },
  ])
  return {
    follow: async (folders) => {
      const items = folders.map((path) => ({
        apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
        kind: 'Kustomization',
        metadata: inNamespace(path),
        spec: {
          sourceRef: { kind: 'GitRepository', name: 'fleet' },
          path,
          prune: true,
          wait: true,
          interval: INTERVAL,
          retryInterval: INTERVAL,
          timeout: '1m',
        },
      }))
      await apply(items)
    },
    // Flux reads the repository at each interval by itself.
    look: () => Promise.resolve(),
    report: async (name) => {
      const path = `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/${NAMESPACE}/kustomizations/${name}`
      const { status = {} } = (await api.request<Kustomization>('GET', path)).body
      const ready = status.conditions?.find(({ type }) => type === 'Ready')
      return {
        commit: /[0-9a-f]{40}$/.exec(status.lastAttemptedRevision ?? '')?.[0] ?? '',
        isDone: ready?.status === 'True',
        message: ready?.message ?? '',
      }
    },
    comparisons: (name) =>
      log()
        .split('\n')
        .filter((line) => /"Reconciliation (finished|failed)/.test(line) && line.includes(`"name":"${name}"`))
        .length,
  }
}
