import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Environment } from '../../../configuration/flags.ts'
import { type Access, ClusterConnection, fromKubeconfig, fromServiceAccount } from '../../../cluster/index.ts'

/** Milliseconds to wait for an answer of the API server, whose cache may be cold, or for a slow credential plugin. */
export const ANSWER_TIMEOUT_MS = 30_000

/** The cluster to read: its kubeconfig, and the API group of the resources. */
export interface ClusterChoice {
  /** The path of a kubeconfig; when empty, kubectl's default, or the service account of the pod. */
  readonly kubeconfig: string
  readonly group: string
}

/**
 * Access to the cluster of the kubeconfig at this path or, when the path is empty, of kubectl's default or of the pod.
 * Throws an Error of one line when there is no kubeconfig, or it cannot be used.
 */
export async function accessTo(kubeconfig: string, environment: Environment): Promise<Access> {
  if (kubeconfig !== '') return fromKubeconfig(kubeconfig)
  const { KUBECONFIG = '', KUBERNETES_SERVICE_HOST, HOME = homedir() } = environment
  const files =
    KUBECONFIG === '' ? [join(HOME, '.kube', 'config')] : KUBECONFIG.split(delimiter).filter(Boolean)
  const found = files.filter((file) => statSync(file, { throwIfNoEntry: false }) !== undefined)
  if (found.length > 0) return fromKubeconfig(...found)
  if (KUBERNETES_SERVICE_HOST !== undefined) return fromServiceAccount()
  const where = KUBECONFIG === '' ? files[0] : `$KUBECONFIG (${KUBECONFIG})`
  throw new Error(
    `there is no kubeconfig: not at ${where}, and this is not a pod with a service account; name one with --kubeconfig FILE`,
  )
}

/** The URL of the API server, without a slash at its end. */
export const serverUrl = ({ server }: ClusterConnection) => server.replace(/\/$/, '')
