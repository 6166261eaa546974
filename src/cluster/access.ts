import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { delimiter, dirname, resolve } from 'node:path'
import type { Cluster, KubeConfig, User } from '@kubernetes/client-node'
import { check, checkNames, completed, merged, parseKubeconfig } from './kubeconfig.ts'

/** Access to an API server: its URL, and the credentials of one user. */
export interface Access {
  readonly server: URL
  /** The namespace of the kubeconfig context or of the pod, if there is one. */
  readonly namespace: string | undefined
  /**
   * The TLS settings and headers for the next request, with the current credentials; with an agent only when the
   * kubeconfig names a proxy.
   */
  credentials(): Promise<RequestOptions>
  /** To be called when the API server answers 401: loads the credentials again, at most every ten seconds. */
  renew(): void
}

const RENEWED_AT_MOST_EVERY = 10_000

/**
 * Access with a kubeconfig file, or with several that are merged as kubectl merges those in $KUBECONFIG. Rejects with
 * an Error of one line that names the file, or all of them, and describes the problem.
 */
export function fromKubeconfig(...files: readonly string[]): Promise<Access> {
  return access(async () => {
    const configs: KubeConfig[] = []
    for (const file of files) configs.push(await naming(file, () => readKubeconfig(file)))
    return naming(files.join(delimiter), async () => {
      const config = await newKubeConfig()
      config.loadFromOptions(merged(configs))
      check(config)
      return config
    })
  })
}

async function naming<T>(files: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`kubeconfig ${files}: ${problemOf(error).replace(`${files}: `, '')}`)
  }
}

/**
 * Access with the service account of the pod; its token is read again every minute. Rejects with an Error of one line
 * when the process does not run in a pod. `root` is a prefix for the paths of the files, for tests.
 */
export function fromServiceAccount(root = ''): Promise<Access> {
  return access(async () => {
    try {
      return await readServiceAccount(root)
    } catch (error) {
      throw new Error(`in-cluster service account: ${problemOf(error)}`)
    }
  })
}

/** Imports the Kubernetes client on demand: unbundled it takes 90 MB, which a process that uses no cluster saves. */
async function newKubeConfig(): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  return new KubeConfig()
}

async function access(load: () => Promise<KubeConfig>): Promise<Access> {
  let config = await load()
  const { server } = clusterOf(config)
  const { namespace } = config.getContextObject(config.getCurrentContext()) ?? {}
  let loaded = performance.now()
  let stale = false
  let pending: Promise<RequestOptions> | undefined
  const current = async () => {
    if (!stale) return config
    loaded = performance.now()
    const next = await load()
    if (clusterOf(next).server !== server)
      throw new Error(`the credentials are now for another server than ${server}`)
    config = next
    stale = false
    return config
  }
  return {
    server: new URL(server),
    namespace,
    credentials() {
      pending ??= current()
        .then(credentialsOf)
        .finally(() => (pending = undefined))
      return pending
    },
    renew() {
      stale ||= performance.now() - loaded > RENEWED_AT_MOST_EVERY
    },
  }
}

async function credentialsOf(config: KubeConfig): Promise<RequestOptions> {
  const options: RequestOptions = {}
  try {
    await config.applyToHTTPSOptions(options)
  } catch (error) {
    throw new Error(problemWithCredentials(config.getCurrentUser(), error as NodeJS.ErrnoException))
  }
  const { agent, headers, ...rest } = options
  const settings = { ...rest, headers: trimmed(headers) }
  return clusterOf(config).proxyUrl === undefined ? settings : { ...settings, agent }
}

/** Trims the values of the headers: a token that was read from a file may end in a newline. */
function trimmed(headers: RequestOptions['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]),
  )
}

async function readKubeconfig(file: string): Promise<KubeConfig> {
  const config = await newKubeConfig()
  const folder = dirname(resolve(file))
  const content = parseKubeconfig(await readFile(file, 'utf8'))
  const users = Array.isArray(content.users) ? content.users.map((user) => completed(user, folder)) : []
  config.loadFromString(JSON.stringify({ ...content, users }))
  config.makePathsAbsolute(folder)
  checkNames(config)
  return config
}

async function readServiceAccount(root: string): Promise<KubeConfig> {
  for (const name of ['KUBERNETES_SERVICE_HOST', 'KUBERNETES_SERVICE_PORT']) {
    if (!process.env[name]) throw new Error(`${name} is not set; we are not in a pod`)
  }
  const config = await newKubeConfig()
  config.loadFromCluster(root)
  const { config: settings } = (config.getCurrentUser()?.authProvider ?? {}) as AuthProvider
  if (settings?.tokenFile !== undefined) readFileSync(settings.tokenFile)
  check(config)
  return config
}

interface AuthProvider {
  readonly config?: { readonly tokenFile?: string; readonly exec?: { readonly command?: string } }
}

function clusterOf(config: KubeConfig): Cluster {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('no cluster')
  return cluster
}

/**
 * Why a user has no credentials, in one line. Repeats only the messages of system errors, because the output of a
 * plugin or token service may contain a secret.
 */
function problemWithCredentials(user: User | null, error: NodeJS.ErrnoException): string {
  const { command } = (user?.exec ??
    (user?.authProvider as AuthProvider | undefined)?.config?.exec ??
    {}) as {
    readonly command?: string
  }
  const what = command === undefined ? `user '${user?.name ?? ''}'` : `the exec plugin '${command}'`
  const why = command === undefined ? '' : '; run it by hand to see why'
  return `no credentials from ${what}${error.path === undefined ? why : `: ${problemOf(error)}`}`
}

/** The message of an error, in one line. */
function problemOf(error: unknown): string {
  const { code, message, path } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return path === undefined ? 'no such file' : `${path}: no such file`
  return message.split('\n', 1)[0] ?? ''
}
