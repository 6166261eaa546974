/**
 * A real Kubernetes API server for the end-to-end tests: etcd and kube-apiserver as child processes on 127.0.0.1, with
 * all their files in one temporary folder. There is no controller manager, so nothing collects garbage, empties
 * namespaces or creates endpoints.
 */
import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { type Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Binaries, findBinaries } from './find-binaries.ts'
import { environment, logTails, type Place, Servers } from './processes.ts'
import { waitFor } from './wait-for.ts'

/** The standard input of a kubectl run, and the user that it impersonates. */
export interface KubectlOptions {
  readonly stdin?: string
  readonly as?: { readonly user: string; readonly groups?: readonly string[] }
}

/** Options for starting an API server. */
export interface ApiServerOptions {
  /** Flags of kube-apiserver, such as `--v=2`; they replace default ones of the same name. */
  readonly flags?: readonly string[]
}

/** The output of a kubectl run and its exit code (-1 when a signal ended it). */
export interface KubectlResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

/** The answer to a request; the body is parsed if it is JSON, and otherwise a string. */
export interface Answer<Body> {
  readonly status: number
  readonly body: Body
  /** The texts of the `Warning` headers, which kubectl prints. */
  readonly warnings: readonly string[]
}

/** A running API server, with functions that act as a cluster administrator. */
export interface ApiServer {
  /** `https://127.0.0.1:PORT`; it does not change at a restart. */
  readonly url: string
  /** The path of a kubeconfig file that contains the CA and the token. */
  readonly kubeconfig: string
  readonly token: string
  /** The CA of the serving certificate, in PEM. */
  readonly ca: string
  /**
   * Runs kubectl in the root folder of the repository, without the kubeconfig of the user who runs the tests. Resolves
   * for any exit code.
   */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<KubectlResult>
  /**
   * Sends one request, on a new connection unless `agent` keeps one. A string as `body` is sent unchanged, any other
   * value as JSON; `contentType` is `application/json` by default. Resolves for any status; rejects when there is no
   * answer.
   */
  request<Body = unknown>(
    method: string,
    path: string,
    body?: unknown,
    contentType?: string,
    agent?: Agent,
  ): Promise<Answer<Body>>
  /** Kills kube-apiserver and starts it again with the same etcd and port; resolves when it is ready. */
  restart(): Promise<void>
  /** Kills both servers and removes the temporary folder. A second call does nothing. */
  stop(): Promise<void>
}

const readySeconds = 60
const callSeconds = 60
const kubectlSeconds = 120
const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Starts etcd and kube-apiserver and resolves when /readyz answers 200. They are killed and their folder is deleted
 * when this process ends, in whatever way. Rejects when the programs are missing or the server does not become ready;
 * in the latter case the error contains the end of both logs, and the folder is kept.
 */
export async function startApiServer({ flags = [] }: ApiServerOptions = {}): Promise<ApiServer> {
  const binaries = findBinaries()
  if ('missing' in binaries) throw new Error(binaries.missing)
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(binaries, flags)
    } catch (error) {
      // Another process has taken a port after `freePorts` found it.
      if (attempt === 3 || !String(error).includes('address already in use')) throw error
    }
  }
}

/** One attempt of `startApiServer`. */
async function start(binaries: Binaries, flags: readonly string[]): Promise<ApiServer> {
  const [etcdPort, port] = await freePorts()
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-e2e-'))
  const place: Place = { binaries, folder, etcdPort, port, token: randomBytes(16).toString('hex'), flags }
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

/** Writes the kubeconfig file and returns the API server for the tests. The API server must be ready. */
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
    request: (method, path, body, contentType, agent) =>
      call(place, ca, method, path, body, contentType, agent),
    async restart() {
      await servers.kill('kube-apiserver')
      servers.start('kube-apiserver')
      await ready(place, servers)
    },
    stop: () => servers.stop(),
  }
}

/**
 * Resolves with the CA in PEM once /readyz answers 200 to a client that trusts only that CA. Rejects with the end of
 * the logs when a server ends or the time is up.
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

/** The CA certificate that kube-apiserver writes beside its serving certificate. Throws before the file exists. */
function readAuthority(folder: string): string {
  const bundle = readFileSync(join(folder, 'certificates', 'apiserver.crt'), 'latin1')
  const certificates = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? []
  const authority = certificates.find((certificate) => new X509Certificate(certificate).ca)
  if (!authority) throw new Error('no CA certificate yet')
  return authority
}

/** Two different free ports of 127.0.0.1. */
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

/** Writes the token file, and the key pair for service account tokens. */
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

/** The text of a kubeconfig that contains the CA and the token. It is JSON, which is valid YAML. */
export function kubeconfigText(url: string, ca: string, token: string): string {
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
    cwd: root,
    env: environment(folder),
    stdio: 'pipe',
    timeout: kubectlSeconds * 1000,
    killSignal: 'SIGKILL',
  })
  // kubectl may end without reading its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.stdin ?? '')
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { stdout, stderr, code: code ?? -1 }
}

/** The flags that make kubectl impersonate a user. */
function impersonation(as: KubectlOptions['as']): string[] {
  return as ? [`--as=${as.user}`, ...(as.groups ?? []).map((group) => `--as-group=${group}`)] : []
}

/** Sends one request as the administrator and trusts only `ca`. Rejects when there is no answer in time. */
async function call<Body>(
  { port, token }: Place,
  ca: string,
  method: string,
  path: string,
  body?: unknown,
  contentType = 'application/json',
  agent?: Agent,
): Promise<Answer<Body>> {
  const authorization = { authorization: `Bearer ${token}` }
  const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const response = await send(payload, {
    host: '127.0.0.1',
    port,
    ca,
    method,
    path,
    agent: agent ?? false,
    headers: payload === undefined ? authorization : { ...authorization, 'content-type': contentType },
    signal: AbortSignal.timeout(callSeconds * 1000),
  })
  const answer = await text(response)
  const isJson = /^application\/json\b/.test(response.headers['content-type'] ?? '')
  return {
    status: response.statusCode ?? 0,
    body: (isJson ? JSON.parse(answer) : answer) as Body,
    warnings: (response.headersDistinct.warning ?? []).map(warningText),
  }
}

/** The text of a `Warning` header from an API server: `299 - "text"`, in UTF-8. */
function warningText(header: string): string {
  const quoted = /^299 - "(.*)"$/s.exec(Buffer.from(header, 'latin1').toString())?.[1]
  if (quoted === undefined) throw new Error(`not a warning of an API server: ${header}`)
  return quoted.replace(/\\(.)/gs, '$1')
}

/** Sends `payload` and resolves with the response once its headers have arrived. */
function send(payload: string | undefined, options: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpsRequest(options, resolve).on('error', reject).end(payload)
  })
}
