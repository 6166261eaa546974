import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import {
  installDefinitions,
  register,
  removeAbandoned,
  removeConfigurations,
  removeDefinitions,
  type TemporaryCluster,
  TEMPORARY_SELECTOR,
} from '../arming/temporary.ts'
import { ClusterConnection, fromKubeconfig } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { crd, probeAnnotation, WEBHOOK_NAME } from '../registration/index.ts'
import { errorMessage, isObject } from '../rule/index.ts'
import { SERVER_FLAGS, type ServerConfiguration } from './configuration.ts'

/** Milliseconds within which the first lists of all kinds must be complete. */
const SYNCED_WITHIN = 30_000
/**
 * Milliseconds within which the API server must call this process: it applies a webhook configuration within a second
 * or two.
 */
const REACHED_WITHIN = 20_000
/** Milliseconds within which everything that was installed must be removed. */
const REMOVED_WITHIN = 20_000
const POLL_EVERY = 50

/** The address of the running server. */
export interface Listening {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** The CA (PEM) that signed the serving certificate. */
  readonly ca: string
  /** Whether the cluster cache is complete. */
  isReady(): boolean
}

/**
 * Serves the cluster of a kubeconfig from this machine while the process runs: installs missing CRDs, registers the
 * process as a webhook, and removes these CRDs and the registration at the end. Call `prepare`, `register` and `close`
 * in this order; `close` may be called at any time.
 */
export class LocalCluster {
  readonly #given: ServerConfiguration
  readonly #holder = `process ${process.pid} on ${hostname()}`
  readonly #ended = new AbortController()
  /** Plural names of the CRDs that this process installed, and removes at the end. */
  readonly #own = new Set<string>()
  #opened:
    { connection: ClusterConnection; cluster: TemporaryCluster; namespaces: readonly string[] } | undefined
  /** The run of `prepare` or `register` that is in progress; the removal waits until it ends. */
  #work: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  /** Throws UsageError when another setting contradicts `--local-cluster`. */
  constructor(given: ServerConfiguration) {
    const fixed = ['kubeconfig', 'arming', 'certificates', 'client-ca'] as const
    const other = fixed.find((name) => given[name] !== SERVER_FLAGS[name].fallback)
    if (other !== undefined) throw new UsageError(`--local-cluster sets --${other} itself: leave that out`)
    this.#given = given
  }

  /**
   * Installs missing CRDs, and returns the settings for serving this cluster. Throws UsageError, or an Error that
   * describes the problem.
   */
  prepare(): Promise<ServerConfiguration> {
    return this.#during(() => this.#prepare())
  }

  /**
   * Registers the URL once the cache is complete, and prints commands to try. Rejects when the API server does not
   * reach the URL; returns early when `close` is called.
   */
  async register(at: Listening): Promise<void> {
    try {
      await this.#during(() => this.#register(at))
    } catch (error) {
      if (!this.#ended.signal.aborted) throw error
    }
  }

  /**
   * Removes all that this process installed, and prints what was removed and what remains. A second call waits for the
   * first. Never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #during<T>(work: () => Promise<T>): Promise<T> {
    const running = work()
    this.#work = running.catch(() => undefined)
    return running
  }

  async #prepare(): Promise<ServerConfiguration> {
    const { 'local-cluster': file, 'api-group': group, 'watch-namespaces': named, host } = this.#given
    const access = await fromKubeconfig(file).catch((error: unknown) => {
      throw new UsageError(errorMessage(error))
    })
    const connection = new ClusterConnection(access, { group })
    const namespaces = named.length > 0 ? named : [access.namespace ?? 'default']
    const cluster = clusterOf(connection, group)
    for (const namespace of namespaces) {
      if ((await connection.readNamespace(namespace, this.#ended.signal)) === undefined)
        throw new UsageError(
          `${connection.server} has no namespace '${namespace}': create it, or name others with --watch-namespaces`,
        )
    }
    const abandoned = await removeAbandoned(cluster)
    if (abandoned !== undefined) tell(`removed the webhook configurations that ${abandoned} left behind`)
    // Set only after `removeAbandoned`: until then the webhook configurations, which `close` removes, may belong to
    // another process.
    this.#opened = { connection, cluster, namespaces }
    await installDefinitions(cluster, {
      definitionOf: (kind) => crd(kind, false, group),
      holder: this.#holder,
      own: this.#own,
      signal: this.#ended.signal,
    })
    const isChosen = host !== SERVER_FLAGS.host.fallback || this.#given['webhook-url'] !== ''
    return {
      ...this.#given,
      kubeconfig: file,
      'watch-namespaces': namespaces,
      host: isChosen ? host : await addressTowards(connection),
    }
  }

  async #register({ url: listening, ca, isReady }: Listening): Promise<void> {
    if (this.#opened === undefined) throw new Error('register before prepare')
    const { connection, cluster, namespaces } = this.#opened
    const { signal } = this.#ended
    const { 'webhook-url': given, 'api-group': group } = this.#given
    const url = given === '' ? listening : given
    const end = performance.now() + SYNCED_WITHIN
    while (!isReady() && performance.now() < end) await setTimeout(POLL_EVERY, undefined, { signal })
    const registration = { group, url, ca, namespaces, holder: this.#holder }
    if (!(await register(cluster, registration, { milliseconds: REACHED_WITHIN, signal })))
      throw new Error(
        `${connection.server} does not reach ${url}: name an address of this machine that it reaches with --host ADDRESS (or --webhook-url https://NAME:PORT), and let the firewall pass it`,
      )
    tell(this.#welcome(url, namespaces))
  }

  #welcome(url: string, namespaces: readonly string[]): string {
    const { 'local-cluster': file } = this.#given
    const kubeconfig = `--kubeconfig ${quoted(file)}`
    const kubectl = `kubectl ${kubeconfig} -n ${namespaces[0] ?? 'default'}`
    return [
      `registered ${url} for the namespace ${namespaces.join(', ')}; if this process dies, writes pass unjudged`,
      ...(this.#own.size === 0
        ? []
        : [`installed ${this.#own.size} CRDs: at the end they go, with all that is stored in them`]),
      'try in another terminal:',
      ...EXAMPLES.map((example) => `  ${kubectl} apply -f ${example}`),
      `  ${CLI} audit ${kubeconfig}`,
      'Ctrl-C ends it and removes all of this',
    ].join('\n')
  }

  async #close(): Promise<void> {
    this.#ended.abort()
    await this.#work
    if (this.#opened === undefined) return
    const { connection, cluster } = this.#opened
    const late = AbortSignal.timeout(REMOVED_WITHIN)
    late.addEventListener('abort', () => connection.close())
    try {
      const configurations = await removeConfigurations(cluster, this.#holder)
      const { removed, resources, kept } = await removeDefinitions(cluster, this.#own)
      for (const each of configurations) tell(`removed ${each}`)
      if (removed.length > 0) tell(`removed ${removed.length} CRDs, with ${resources} resources`)
      for (const each of kept) tell(`kept ${each}`)
      if (kept.length > 0) tell(`to remove them: kubectl delete crd -l ${TEMPORARY_SELECTOR}`)
    } catch (error) {
      const { 'local-cluster': file } = this.#given
      tell(`cannot remove the registration: ${errorMessage(error)}`)
      tell(`to remove it: ${CLI} uninstall --kubeconfig ${quoted(file)}`)
    }
    connection.close()
  }
}

/**
 * The shell command for the CLI. Without --no-install, npx could run a package of that name from the registry when the
 * package is not installed here.
 */
export const CLI = 'npx --no-install vmcp-admission'

/** Example files to try first: an object that is wrong by itself, and objects that contradict each other. */
export const EXAMPLES = [
  'examples/bad/role-mapping-with-claim-and-matcher.yaml',
  'examples/together/three-mistakes.yaml',
] as const

const tell = (line: string) => void process.stderr.write(`${line}\n`)

/** A word for a shell, quoted if necessary. */
export const quoted = (word: string) =>
  /^[\w./:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

function clusterOf(connection: ClusterConnection, group: string): TemporaryCluster {
  const registrations = connection.registrations('default')
  const installation = connection.installation('default')
  return {
    readConfiguration: (kind) => registrations.readConfiguration(kind, WEBHOOK_NAME),
    applyConfiguration: (configuration) => registrations.applyConfiguration(configuration),
    deleteConfiguration: (kind) => registrations.deleteConfiguration(kind, WEBHOOK_NAME),
    tryProbe: (namespace, nonce) =>
      connection.registrations(namespace).tryProbe(probeAnnotation(group), nonce),
    readDefinition: (plural) => installation.readDefinition(plural),
    createDefinition: (definition) => installation.createDefinition(definition),
    deleteDefinition: (plural, uid) => installation.deleteDefinition(plural, uid),
    countResources: (plural) => installation.countResources(plural),
  }
}

/**
 * The address of this machine that the API server can most probably reach: the address of the network interface towards
 * the endpoints of the Service `kubernetes`. With kind, k3d and minikube these endpoints are in the network of the
 * container, while the kubeconfig has only a forwarded port.
 */
async function addressTowards(connection: ClusterConnection): Promise<string> {
  const slices = await connection
    .installation('default')
    .listEndpoints('kubernetes')
    .catch(() => [])
  const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  const advertised = slices
    .flatMap(({ endpoints }) => listed(endpoints))
    .flatMap((endpoint) => (isObject(endpoint) ? listed(endpoint.addresses).map(String) : []))
  const hosts = [...advertised, new URL(connection.server).hostname.replace(/^\[|\]$/g, '')]
  for (const host of hosts) {
    const address = await localAddressTowards(host).catch(() => undefined)
    if (address !== undefined) return address
  }
  return SERVER_FLAGS.host.fallback
}

/** The local address from which packets to the host would be sent; sends no packet. */
async function localAddressTowards(host: string): Promise<string> {
  const { address, family } = await lookup(host)
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
  try {
    socket.connect(9, address)
    await once(socket, 'connect')
    return socket.address().address
  } finally {
    socket.close()
  }
}
