import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { rendered } from '../support/helm.ts'
import { type ApiServer, kubeconfigText } from './api-server.ts'
import { kubectl, ROOT } from './cluster.ts'

export const NAMESPACE = 'vmcp-system'
/** The service accounts of the webhook pods and of the leader. */
export const ACCOUNT = 'vmcp-admission'
export const LEADER = 'vmcp-admission-leader'

/** A rule of a role. */
export interface Grant {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** The parts of an object in `deploy/install.yaml` that concern permissions. */
export interface Installed {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Grant[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string }[]
}

const RIGHTS = ['Namespace', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']

/** The objects of `deploy/install.yaml` that grant permissions. */
export function installedRights(): readonly Installed[] {
  return documentsIn('deploy/install.yaml').filter(({ kind }) => RIGHTS.includes(kind))
}

/** The objects in a file of the repository. */
export function documentsIn(path: string): Installed[] {
  const documents = parseAllDocuments(readFileSync(ROOT + path, 'utf8'))
  return documents.map((each) => each.toJS() as Installed | null).filter((each) => each !== null)
}

/** Applies several objects in one command. */
export async function applyAll(api: ApiServer, items: readonly object[]): Promise<void> {
  await kubectl(api, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
}

/** The text of a kubeconfig with a token of a service account of the chart. */
export async function kubeconfigOf(account: string, api: ApiServer): Promise<string> {
  const token = await kubectl(api, ['create', 'token', account, '-n', NAMESPACE])
  return kubeconfigText(api.url, api.ca, token.trim())
}

/**
 * The arguments of a Deployment of the chart, for a process on this machine that has the permissions of its service
 * account.
 */
export async function flagsOfChart(
  api: ApiServer,
  folder: string,
  name: string,
  port: number,
): Promise<string[]> {
  const deployments = rendered().objects.filter(({ kind }) => kind === 'Deployment')
  const deployment = deployments.find(({ metadata }) => metadata.name === name)
  const args = deployment?.spec.template.spec.containers[0].args ?? []
  const kubeconfig = join(folder, name)
  writeFileSync(kubeconfig, await kubeconfigOf(name, api))
  return [
    ...args.map((arg) => arg.replace('$(POD_NAMESPACE)', NAMESPACE)),
    ...['--kubeconfig', kubeconfig, '--webhook-url', `https://127.0.0.1:${port}`],
    ...['--host', '127.0.0.1', '--port', String(port), '--probe-port', '0'],
  ]
}
