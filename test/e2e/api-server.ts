/**
 * A real Kubernetes API server for the end-to-end tests: etcd and kube-apiserver as child processes
 * on loopback, with all that they write in one temporary folder. There is no controller manager:
 * nothing collects garbage, empties namespaces or makes endpoints.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { X509Certificate, generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type RequestOptions, request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, Socket, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** Paths of the three programs. */
export interface Binaries {
  readonly etcd: string
  readonly apiServer: string
  readonly kubectl: string
}

/** How one kubectl run is fed, and whom it impersonates. */
export interface KubectlOptions {
  readonly stdin?: string
  readonly as?: { readonly user: string; readonly groups?: readonly string[] }
}

/** What one kubectl run printed, and its exit code (-1 when a signal ended it). */
export interface KubectlResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

/** The answer to a raw call: the body parsed where it is JSON, else its text. */
export interface Answer<Body> {
  readonly status: number
  readonly body: Body
}

/** A running API server, and the ways to speak to it as a cluster administrator. */
export interface ApiServer {
  /** `https://127.0.0.1:PORT`, the same after a restart. */
  readonly url: string
  /** Path of a kubeconfig file with the CA and the token in it. */
  readonly kubeconfig: string
  readonly token: string
  /** The CA of the serving certificate, PEM. */
  readonly ca: string
  /** Runs kubectl; a non-zero exit code is a result, not an error. Never sees the person's kubeconfig. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>
  /**
   * Sends one request on a connection of its own. A `body` that is a string goes out as it is, any other
   * as JSON; `contentType` is `application/json` unless given. Any status is a result; rejects when there
   * is no answer.
   */
  request<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<Answer<Body>>
  /** Kills kube-apiserver and starts it again on the same etcd and port; resolves when it is ready. */
  restart(): Promise<void>
  /** Kills both servers and removes the temporary folder. A second call does nothing. */
  stop(): Promise<void>
}

/** What starting and calling the servers needs to know. */
interface Place {
  readonly binaries: Binaries
  readonly folder: string
  readonly etcdPort: number
  readonly port: number
  readonly token: string
}

type Name = 'etcd' | 'kube-apiserver'
type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>

const readySeconds = 60
const callSeconds = 60
const kubectlSeconds = 120

/**
 * Polls `condition` every 50 ms until what it returns is truthy, and resolves with that.
 * A throw counts as "not yet". Rejects after `seconds` with an error that says `what` was waited for,
 * and the last throw if there was one.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { seconds, what }: { readonly seconds: number; readonly what: string },
): Promise<Truthy<T>> {
  const end = Date.now() + seconds * 1000
  let last: unknown
  while (Date.now() < end) {
    try {
      const value = await within(end - Date.now(), condition)
      if (value) return value as Truthy<T>
      last = undefined
    } catch (error) {
      last = error
    }
    await sleep(50)
  }
  const reason = last === undefined ? '' : `; last: ${last instanceof Error ? last.message : String(last)}`
  throw new Error(`waited ${seconds} s for ${what}${reason}`, { cause: last })
}

/** The outcome of `work`, or a rejection after `milliseconds`. */
async function within<T>(milliseconds: number, work: () => T | Promise<T>): Promise<T> {
  const timer = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: timer.signal }).then(() => {
    throw new Error('no answer in time')
  })
  try {
    return await Promise.race([(async () => work())(), late])
  } finally {
    timer.abort()
    late.catch(() => {})
  }
}

/**
 * Finds etcd, kube-apiserver and kubectl: in the folder `KUBEBUILDER_ASSETS` when that is set (kubectl
 * may also be on the PATH), else on the PATH. Without all three, `missing` is one line that says what
 * was looked for where, and how to get it.
 */
export function findBinaries(): Binaries | { readonly missing: string } {
  const assets = process.env['KUBEBUILDER_ASSETS']
  const path = (process.env['PATH'] ?? '').split(delimiter)
  const folders = assets ? [assets] : path
  const etcd = findProgram('etcd', folders)
  const apiServer = findProgram('kube-apiserver', folders)
  const kubectl = findProgram('kubectl', assets ? [assets, ...path] : path)
  if (etcd && apiServer && kubectl) return { etcd, apiServer, kubectl }
  const found = { etcd, 'kube-apiserver': apiServer, kubectl }
  const missing = Object.entries(found).flatMap(([name, file]) => (file ? [] : [name]))
  const where = assets ? `in KUBEBUILDER_ASSETS (${assets})` : 'on the PATH (KUBEBUILDER_ASSETS is not set)'
  return {
    missing:
      `no ${missing.join(', no ')} ${where}; get them with ` +
      'export KUBEBUILDER_ASSETS=$(test/e2e/binaries/build.sh) or ' +
      'export KUBEBUILDER_ASSETS=$(setup-envtest use -p path)',
  }
}

/** The path of the first file called `name` in `folders`, if there is one. */
function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/**
 * Starts etcd and kube-apiserver and resolves when /readyz answers 200. They are killed and their
 * folder is removed when this process ends, however it ends. Rejects when the programs are missing, and
 * when the server does not become ready: then with the end of both logs, whose folder is left.
 */
export async function startApiServer(): Promise<ApiServer> {
  const binaries = findBinaries()
  if ('missing' in binaries) throw new Error(binaries.missing)
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(binaries)
    } catch (error) {
      // Another process took a port between our finding it free and the server's listening on it.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

/** One attempt of `startApiServer`. */
async function start(binaries: Binaries): Promise<ApiServer> {
  const [etcdPort, port] = await freePorts()
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-e2e-'))
  const place: Place = { binaries, folder, etcdPort, port, token: randomBytes(16).toString('hex') }
  writeCredentials(place)
  const servers = new Servers(place)
  try {
    servers.start('etcd')
    servers.start('kube-apiserver')
    return present(place, servers, await ready(place, servers))
  } catch (error) {
    await servers.abandon()
    throw error
  }
}

/** The API server for its users, once it is ready and its CA known. Writes the kubeconfig file. */
function present(place: Place, servers: Servers, ca: string): ApiServer {
  const url = `https://127.0.0.1:${place.port}`
  const kubeconfig = join(place.folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(url, ca, place.token), { mode: 0o600 })
  return {
    url,
    kubeconfig,
    token: place.token,
    ca,
    kubectl: (args, options) => kubectl(place, kubeconfig, args, options),
    request: (method, path, body, contentType) => call(place, ca, method, path, body, contentType),
    async restart() {
      await servers.kill('kube-apiserver')
      servers.start('kube-apiserver')
      await ready(place, servers)
    },
    stop: () => servers.stop(),
  }
}

/** The two child processes, and a guard that kills them when this process is gone. */
class Servers {
  readonly #place: Place
  readonly #guard: ChildProcess
  readonly #running = new Map<Name, ChildProcess>()

  constructor(place: Place) {
    this.#place = place
    this.#guard = startGuard(place.folder)
  }

  /** Starts the server `name`; its output is appended to its log. */
  start(name: Name): void {
    const { folder, binaries } = this.#place
    const log = openSync(logFile(folder, name), 'a')
    const [file, args] =
      name === 'etcd'
        ? [binaries.etcd, etcdArguments(this.#place)]
        : [binaries.apiServer, apiServerArguments(this.#place)]
    const child = spawn(file, args, { cwd: folder, env: environment(folder), stdio: ['ignore', log, log] })
    closeSync(log)
    child.once('error', (error) => appendFileSync(logFile(folder, name), `${error.message}\n`))
    child.unref()
    this.#running.set(name, child)
    this.#tellGuard()
  }

  /** The server that ended by itself, if one did. */
  ended(): Name | undefined {
    return [...this.#running].find(([, child]) => hasEnded(child))?.[0]
  }

  /** Kills the server `name` and resolves when it is gone. */
  async kill(name: Name): Promise<void> {
    const child = this.#running.get(name)
    this.#running.delete(name)
    if (child && !hasEnded(child)) await killAndWait(child)
    this.#tellGuard()
  }

  /** Kills both and lets the guard remove the folder. */
  async stop(): Promise<void> {
    await this.#killBoth()
    if (hasEnded(this.#guard)) return
    this.#guard.ref()
    this.#guard.stdin?.end()
    await once(this.#guard, 'exit')
  }

  /** Kills both and the guard; the logs stay. */
  async abandon(): Promise<void> {
    await this.#killBoth()
    await killAndWait(this.#guard)
    rmSync(join(this.#place.folder, 'etcd'), { recursive: true, force: true })
  }

  async #killBoth(): Promise<void> {
    await this.kill('kube-apiserver')
    await this.kill('etcd')
  }

  #tellGuard(): void {
    const pids = [...this.#running.values()].flatMap((child) => child.pid ?? [])
    if (this.#guard.stdin?.writable) this.#guard.stdin.write(`${pids.join(' ')}\n`)
  }
}

/**
 * Starts a shell that reads lines of process ids from this process and, when the pipe closes (this
 * process ended, even by SIGKILL), kills those of the last line and removes `folder`.
 */
function startGuard(folder: string): ChildProcess {
  const script =
    'while read -r line; do pids=$line; done; kill -9 $pids; rm -rf -- "$0" || { sleep 1; rm -rf -- "$0"; }'
  const guard = spawn('sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  guard.unref()
  if (guard.stdin instanceof Socket) guard.stdin.unref()
  return guard
}

/** Kills `child` and resolves when it is gone. */
async function killAndWait(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.ref()
  child.kill('SIGKILL')
  await gone
}

/** Whether `child` is gone, or never ran. */
function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

/**
 * Resolves with the CA's PEM text when /readyz answers 200 to a client that trusts only that CA.
 * Rejects with the end of the logs when a server ends first or the time is up.
 */
async function ready(place: Place, servers: Servers): Promise<string> {
  const poll = async () => {
    const ended = servers.ended()
    if (ended) return { ended }
    const ca = readAuthority(place.folder)
    return (await call(place, ca, 'GET', '/readyz')).status === 200 && { ca }
  }
  const what = 'the API server to become ready'
  const outcome = await waitFor(poll, { seconds: readySeconds, what }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${logTails(place.folder)}`, { cause: error })
  })
  if ('ended' in outcome) throw new Error(`${outcome.ended} ended at its start\n${logTails(place.folder)}`)
  return outcome.ca
}

/** The CA certificate that kube-apiserver made beside its serving certificate. Throws before it is there. */
function readAuthority(folder: string): string {
  const bundle = readFileSync(join(folder, 'certificates', 'apiserver.crt'), 'latin1')
  const certificates = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? []
  const authority = certificates.find((certificate) => new X509Certificate(certificate).ca)
  if (!authority) throw new Error('no CA certificate yet')
  return authority
}

/** Two different free loopback ports. */
async function freePorts(): Promise<[number, number]> {
  const holders = [createServer(), createServer()] as const
  const [first, second] = holders
  await Promise.all(holders.map((holder) => once(holder.listen(0, '127.0.0.1'), 'listening')))
  const ports: [number, number] = [
    (first.address() as AddressInfo).port,
    (second.address() as AddressInfo).port,
  ]
  await Promise.all(holders.map((holder) => once(holder.close(), 'close')))
  return ports
}

/** Writes the token file and the key pair of service account tokens. */
function writeCredentials({ folder, token }: Place): void {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const mode = 0o600
  mkdirSync(join(folder, 'home'))
  writeFileSync(join(folder, 'tokens'), `${token},admin,admin,"system:masters"\n`, { mode })
  writeFileSync(join(folder, 'service-account.pub'), publicKey, { mode })
  writeFileSync(join(folder, 'service-account.key'), privateKey, { mode })
}

/** etcd's command line: no fsync, since nothing outlives the tests. */
function etcdArguments({ folder, etcdPort }: Place): string[] {
  const url = `http://127.0.0.1:${etcdPort}`
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    '--listen-peer-urls=http://127.0.0.1:0',
    '--unsafe-no-fsync',
    '--log-level=warn',
  ]
}

/** kube-apiserver's command line: RBAC, one administrator with a token, no service account admission. */
function apiServerArguments({ folder, etcdPort, port }: Place): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--cert-dir=${join(folder, 'certificates')}`,
    `--token-auth-file=${join(folder, 'tokens')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(folder, 'service-account.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--disable-admission-plugins=ServiceAccount',
  ]
}

/** The environment of every child: the PATH, and a home of its own; no proxy, no ETCD_ or KUBE variable. */
function environment(folder: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: join(folder, 'home'), TMPDIR: folder }
}

/** A kubeconfig (JSON is YAML) with the CA and the token in it. */
function kubeconfigText(url: string, ca: string, token: string): string {
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    'current-context': 'test',
  })
}

/** Runs kubectl once. Rejects only when it cannot be started. */
async function kubectl(
  { binaries, folder }: Place,
  kubeconfig: string,
  args: readonly string[],
  options: KubectlOptions = {},
): Promise<KubectlResult> {
  const flags = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(folder, 'kubectl-cache')}`]
  const child = spawn(binaries.kubectl, [...flags, ...impersonation(options.as), ...args], {
    env: environment(folder),
    stdio: 'pipe',
    timeout: kubectlSeconds * 1000,
    killSignal: 'SIGKILL',
  })
  // It may end without reading its input; that is no error of ours.
  child.stdin.on('error', () => {})
  child.stdin.end(options.stdin ?? '')
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { stdout, stderr, code: code ?? -1 }
}

/** The flags that make kubectl act as another user. */
function impersonation(as: KubectlOptions['as']): string[] {
  return as ? [`--as=${as.user}`, ...(as.groups ?? []).map((group) => `--as-group=${group}`)] : []
}

/** Sends one request as the administrator, trusting only `ca`. Rejects when there is no answer in time. */
async function call<Body>(
  { port, token }: Place,
  ca: string,
  method: string,
  path: string,
  body?: unknown,
  contentType = 'application/json',
): Promise<Answer<Body>> {
  const authorization = { authorization: `Bearer ${token}` }
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const response = await send(payload, {
    host: '127.0.0.1',
    port,
    ca,
    method,
    path,
    agent: false,
    headers: payload === undefined ? authorization : { ...authorization, 'content-type': contentType },
    signal: AbortSignal.timeout(callSeconds * 1000),
  })
  const answer = await text(response)
  const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '')
  return { status: response.statusCode ?? 0, body: (isJson ? JSON.parse(answer) : answer) as Body }
}

/** Sends `payload` and resolves with the response once its head is there. */
function send(payload: string | undefined, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpsRequest(options, resolve).on('error', reject).end(payload)
  })
}

/** Where the output of the server `name` goes. */
function logFile(folder: string, name: Name): string {
  return join(folder, `${name}.log`)
}

/** The last lines of both logs. */
function logTails(folder: string): string {
  const names: Name[] = ['etcd', 'kube-apiserver']
  const tails = names.map((name) => {
    const file = logFile(folder, name)
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-15) : []
    return `--- the end of ${file}\n${lines.join('\n')}`
  })
  return tails.join('\n')
}
