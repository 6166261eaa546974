import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import type { ApiServer } from '../e2e/api-server.ts'
import { kubectl } from '../e2e/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { helmPath } from '../support/helm.ts'
import type { Client } from './client.ts'
import { folderFor, installCrdsOf, startProgram } from './programs.ts'

const NAMESPACE = 'argocd'
const REFRESH = 'argocd.argoproj.io/refresh'

interface Application {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly status?: {
    readonly sync?: { readonly status: string; readonly revision?: string }
    readonly reconciledAt?: string
    readonly conditions?: readonly { readonly type: string; readonly message: string }[]
    readonly operationState?: {
      readonly phase: string
      readonly message: string
      readonly syncResult?: {
        readonly revision: string
        readonly resources?: readonly {
          readonly kind: string
          readonly name: string
          readonly message: string
        }[]
      }
    }
  }
}

/** Fields of an Application that replace the default ones. */
export interface ApplicationSettings {
  readonly annotations?: Readonly<Record<string, string>>
  readonly spec?: object
}

/** The sync policy: automatic, with pruning, and with retries of failed syncs at the newest commit. */
const AUTOMATED = {
  automated: { prune: true, selfHeal: true },
  // The default, foreground deletion, needs the garbage collector of a controller manager.
  syncOptions: ['PrunePropagationPolicy=background'],
  retry: { limit: 20, refresh: true, backoff: { duration: '1s', factor: 1, maxDuration: '2s' } },
}

/** Argo CD, with an Application for each folder. */
export interface ArgoCd extends Client {
  readonly follow: (folders: readonly string[], settings?: ApplicationSettings) => Promise<void>
  readonly application: (name: string) => Promise<Application>
}

/** Starts Redis, the repository server and the application controller for a repository. */
export async function startArgoCd(t: Test, api: ApiServer, clients: string, url: string): Promise<ArgoCd> {
  const folder = folderFor(t)
  await installCrdsOf(api, clients, /^app.*-crd/)
  await kubectl(api, ['create', 'namespace', NAMESPACE])
  // The ConfigMaps and Secrets of an ordinary installation.
  const settings = readdirSync(join(clients, 'argo-cd')).map((name) => join(clients, 'argo-cd', name))
  await kubectl(api, ['apply', '-n', NAMESPACE, ...settings.flatMap((file) => ['-f', file])])
  const apply = (items: readonly object[]) =>
    kubectl(
      api,
      ['apply', '-n', NAMESPACE, '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    )
  const object = (kind: string, name: string, spec: object, more: object = {}) => ({
    apiVersion: 'argoproj.io/v1alpha1',
    kind,
    metadata: { name, ...more },
    spec,
  })
  await apply([
    object('AppProject', 'default', {
      sourceRepos: ['*'],
      destinations: [{ namespace: '*', server: '*' }],
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
    }),
  ])

  const redis = await freePort()
  startProgram(t, folder, 'redis', 'redis-server', [
    ...['--port', String(redis), '--bind', '127.0.0.1', '--save', ''],
  ])
  const repoServer = await freePort()
  for (const name of ['tls', 'ssh']) mkdirSync(join(folder, name))
  const environment = {
    // The folders of git-verify-wrapper.sh and helm.
    PATH: `${clients}:${dirname(helmPath())}:${process.env.PATH ?? ''}`,
    KUBECONFIG: api.kubeconfig,
    ARGOCD_FAKE_IN_CLUSTER: 'true',
    ARGOCD_TLS_DATA_PATH: join(folder, 'tls'),
    ARGOCD_SSH_DATA_PATH: join(folder, 'ssh'),
    ARGOCD_GPG_ENABLED: 'false',
  }
  const start = (name: string, args: readonly string[]) =>
    startProgram(t, folder, name, join(clients, 'argocd'), ['--redis', `127.0.0.1:${redis}`, ...args], {
      ...environment,
      ARGOCD_BINARY_NAME: name,
    })
  start('argocd-repo-server', [
    ...['--address', '127.0.0.1', '--port', String(repoServer)],
    ...['--metrics-address', '127.0.0.1', '--metrics-port', String(await freePort())],
  ])
  const log = start('argocd-application-controller', [
    ...['--namespace', NAMESPACE, '--metrics-port', String(await freePort())],
    ...['--repo-server', `127.0.0.1:${repoServer}`],
  ])

  const path = (name: string) => `/apis/argoproj.io/v1alpha1/namespaces/${NAMESPACE}/applications/${name}`
  const application = async (name: string) => (await api.request<Application>('GET', path(name))).body
  return {
    application,
    follow: async (folders, { annotations = {}, spec = {} } = {}) => {
      const items = folders.map((name) =>
        object(
          'Application',
          name,
          {
            project: 'default',
            source: { repoURL: url, targetRevision: 'main', path: name },
            destination: { server: 'https://kubernetes.default.svc', namespace: name },
            syncPolicy: AUTOMATED,
            ...spec,
          },
          { annotations },
        ),
      )
      await apply(items)
    },
    look: async (folders) => {
      const refresh = { metadata: { annotations: { [REFRESH]: 'hard' } } }
      for (const name of folders) {
        // Argo CD removes the annotation after the refresh.
        const isAsked = (await application(name)).metadata.annotations?.[REFRESH] !== undefined
        if (!isAsked) await api.request('PATCH', path(name), refresh, 'application/merge-patch+json')
      }
    },
    report: async (name) => {
      const { sync, operationState } = (await application(name)).status ?? {}
      const resources = operationState?.syncResult?.resources ?? []
      return {
        commit: sync?.revision ?? '',
        isDone: sync?.status === 'Synced' && operationState?.phase !== 'Running',
        message: [
          operationState?.message ?? '',
          ...resources.map(({ kind, name, message }) => `${kind}/${name}: ${message}`),
        ].join('\n'),
      }
    },
    comparisons: (name) =>
      log()
        .split('\n')
        .filter((line) => line.includes('Reconciliation completed') && line.includes(`"${name}"`)).length,
  }
}
