import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { ROOT } from './cluster.ts'
import { ACCOUNT, kubeconfigOf, LEADER, NAMESPACE } from './installed.ts'
import { lead } from './service-network.ts'

/** A server process that stands for a pod of a Deployment. */
export interface Pod {
  readonly account: string
  readonly port: number
  readonly server: RunningServer
}

interface Deployment {
  readonly metadata: { readonly uid: string; readonly generation: number }
  readonly spec: {
    readonly replicas: number
    readonly selector: object
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec }
  }
}

interface PodSpec {
  readonly containers: readonly [
    {
      readonly args: readonly string[]
      readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
    },
  ]
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[]
}

/**
 * Starts a server process as a pod of the service account's Deployment, from the sources in a folder, as an endpoint of
 * the chart's Service.
 */
export async function startPod(
  t: Test,
  api: ApiServer,
  account: string,
  folder: string,
  sources = ROOT,
): Promise<Pod> {
  const found = await deployment(api, account)
  if (found === undefined) throw new Error(`there is no Deployment ${account}`)
  const { spec } = found
  const port = await freePort()
  const kubeconfig = join(folder, account)
  writeFileSync(kubeconfig, await kubeconfigOf(account, api))
  const { args } = spec.template.spec.containers[0]
  const mounted = await mountConfigMaps(api, spec.template.spec, folder)
  const flags = args.map((arg) => mounted(arg.replace('$(POD_NAMESPACE)', NAMESPACE)))
  const own = [`--port=${port}`, '--probe-port=0', `--kubeconfig=${kubeconfig}`]
  const server = await startServer([...flags, ...own], undefined, {}, join(sources, 'src/server/main.ts'))
  t.teardown(() => server.stop('SIGKILL'))
  await server.ready()
  if (account === ACCOUNT) await lead(api, ACCOUNT, NAMESPACE, port)
  return { account, port, server }
}

/** Ends the process as kubelet ends a pod, and returns the exit code. */
export async function endPod(api: ApiServer, { account, port, server }: Pod): Promise<number | null> {
  const unready = account === ACCOUNT ? lead(api, ACCOUNT, NAMESPACE, port, false) : undefined
  const [code] = await Promise.all([server.stop('SIGTERM'), unready])
  return code
}

/** Writes the ConfigMaps that a pod mounts into a folder; returns a function that replaces their paths in a flag. */
async function mountConfigMaps(api: ApiServer, { containers, volumes = [] }: PodSpec, folder: string) {
  let mounted = (flag: string) => flag
  for (const { name, mountPath } of containers[0].volumeMounts ?? []) {
    const configMap = volumes.find((volume) => volume.name === name)?.configMap?.name
    if (configMap === undefined) continue
    const { body } = await api.request<{ data: Record<string, string> }>(
      'GET',
      `/api/v1/namespaces/${NAMESPACE}/configmaps/${configMap}`,
    )
    const here = join(folder, 'mounts', name)
    mkdirSync(here, { recursive: true })
    for (const [key, text] of Object.entries(body.data)) writeFileSync(join(here, key), text)
    const before = mounted
    mounted = (flag) => before(flag).replace(`=${mountPath}/`, `=${here}/`)
  }
  return mounted
}

/** The process that stands for the pods of a Deployment. */
interface Running {
  /** The Deployment's name and its pod template. */
  readonly key: string
  isReady: boolean
  readonly pod: Promise<Pod | undefined>
}

/**
 * Acts as the controllers and the node for the Deployments of the chart until the test ends: runs one process for each
 * Deployment with replicas, replaces it when the pod template changes, and updates the status. A pod that needs a
 * Secret of another tool is only reported as ready.
 */
export function runDeployments(t: Test, api: ApiServer, folder: string): void {
  const running = new Map<string, Running>()
  const ending: Promise<unknown>[] = []
  const over = new AbortController()

  const run = (account: string, key: string): Running => {
    const isFilledByOthers = key.includes('--cert-dir=/certificates')
    if (key === '' || isFilledByOthers) return { key, isReady: true, pod: Promise.resolve(undefined) }
    const started: Running = {
      key,
      isReady: false,
      pod: startPod(t, api, account, folder).then(
        (pod) => {
          started.isReady = true
          return pod
        },
        (error: unknown) => {
          t.comment(`${account}: ${String(error)}`)
          if (running.get(account) === started) running.delete(account)
          return undefined
        },
      ),
    }
    return started
  }
  const end = async ({ pod }: Running) => {
    const ended = await pod
    if (ended !== undefined) await endPod(api, ended)
  }
  const look = async (account: string) => {
    const found = await deployment(api, account)
    const { replicas = 0, template } = found?.spec ?? {}
    const key = replicas === 0 ? '' : `${found?.metadata.uid ?? ''} ${JSON.stringify(template)}`
    const present = running.get(account)
    const next = present?.key === key ? present : run(account, key)
    running.set(account, next)
    if (present !== undefined && present !== next) ending.push(end(present))
    if (found === undefined) return
    const ready = next.isReady ? replicas : 0
    await makeReplicaSet(api, account, found, ready)
    const status = {
      observedGeneration: found.metadata.generation,
      ...{ replicas, updatedReplicas: replicas, readyReplicas: ready, availableReplicas: ready },
    }
    await api.request('PATCH', `${pathTo(account)}/status`, { status }, MERGE)
  }
  const work = (async () => {
    while (!over.signal.aborted) {
      for (const account of [LEADER, ACCOUNT])
        await look(account).catch((error: unknown) => t.comment(`${account}: ${String(error)}`))
      await setTimeout(300)
    }
    await Promise.all([...ending, ...[...running.values()].map(end)])
  })()
  t.teardown(async () => {
    over.abort()
    await work
  })
}

/** Creates the ReplicaSet of the pod template, which `helm --wait` needs to see that pods are ready. */
async function makeReplicaSet(
  api: ApiServer,
  name: string,
  { metadata, spec }: Deployment,
  ready: number,
): Promise<void> {
  const { replicas, selector, template } = spec
  const replicaSets = `/apis/apps/v1/namespaces/${NAMESPACE}/replicasets`
  const own = `${name}-${metadata.uid.slice(0, 8)}-${metadata.generation}`
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name, uid: metadata.uid, controller: true }
  const { labels } = template.metadata
  const made = {
    metadata: { name: own, labels, ownerReferences: [owner] },
    spec: { replicas, selector, template },
  }
  await api.request('POST', replicaSets, made) // refused once it is there
  const counts = { observedGeneration: 1, replicas, readyReplicas: ready, availableReplicas: ready }
  await api.request('PATCH', `${replicaSets}/${own}/status`, { status: counts }, MERGE)
}

const MERGE = 'application/merge-patch+json'

const pathTo = (name: string) => `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}`

async function deployment(api: ApiServer, name: string): Promise<Deployment | undefined> {
  const { status, body } = await api.request<Deployment>('GET', pathTo(name))
  return status === 200 ? body : undefined
}
