import { ClusterConnection } from '../../../cluster/index.ts'
import type { Kind } from '../../../kinds/kind.ts'
import { errorMessage } from '../../../rule/index.ts'
import type { Environment } from '../../../configuration/flags.ts'
import { accessTo, ANSWER_TIMEOUT_MS, type ClusterChoice, serverUrl } from './access.ts'
import { forEachConcurrently, retryRefused } from './requests.ts'

/** Reads one object; undefined when it does not exist. Throws an Error of one line. */
export async function readObject(
  kind: Kind,
  { kubeconfig, group }: ClusterChoice,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  environment: Environment,
): Promise<{ readonly server: string; readonly namespace: string; readonly value: object | undefined }> {
  const access = await accessTo(kubeconfig, environment)
  const connection = new ClusterConnection(access, { group, times: { answer: ANSWER_TIMEOUT_MS } })
  const place = namespace ?? access.namespace ?? 'default'
  const server = serverUrl(connection)
  try {
    const value = await retryRefused(() => connection.read(kind, place, name, new AbortController().signal))
    return { server, namespace: place, value }
  } catch (error) {
    throw new Error(`${server}: ${errorMessage(error)}`)
  } finally {
    connection.close()
  }
}

/** The ConfigMaps with these names, including their values; leaves out those that do not exist or cannot be read. */
export async function readConfigMaps(
  { kubeconfig, group }: ClusterChoice,
  names: readonly { readonly namespace: string; readonly name: string }[],
  environment: Environment,
): Promise<readonly object[]> {
  if (names.length === 0) return []
  const access = await accessTo(kubeconfig, environment)
  const connection = new ClusterConnection(access, { group, times: { answer: ANSWER_TIMEOUT_MS } })
  const found: object[] = []
  try {
    await forEachConcurrently(names, async ({ namespace, name }) => {
      const read = () => connection.readConfigMap(namespace, name, new AbortController().signal)
      const object = await retryRefused(read).catch(() => undefined)
      if (object !== undefined) found.push(object)
    })
  } finally {
    connection.close()
  }
  return found
}
