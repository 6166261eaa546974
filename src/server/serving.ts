import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { SelfManaged, serviceNames } from '../certificates/authority.ts'
import { Carried } from '../certificates/carried.ts'
import { followFiles } from '../certificates/files.ts'
import { localPair, type ServingPair } from '../certificates/local.ts'
import { clusterSecret } from '../certificates/secret-store.ts'
import { authoritiesIn } from '../certificates/x509.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { clientTlsOptions, problemWithClientAuthorities } from '../certificates/clients.ts'
import type { ServerConfiguration } from './configuration.ts'

/** The serving certificate, however it comes. */
export interface Serving {
  /** The first pair; the next ones come through `follow`. */
  readonly pair: ServingPair
  /** For a person at a terminal: what was done. */
  readonly told: string
  /** Hands over each pair from now on. */
  follow(use: (pair: ServingPair) => void): void
  /** PEM of the CAs that API servers must trust; undefined where something else says it. */
  bundle(): string | undefined
  /** Told of the bundles that both webhook configurations carry, an entry each. */
  carried(bundles: readonly string[]): void
  /** Whether API servers trust the pair, as far as the configurations say; what has been trusted once stays so. */
  isTrusted(): boolean
  /** For metrics: Unix milliseconds, and how often. */
  state(): ServingState
}

export interface ServingState {
  readonly expiry: Readonly<Record<'leaf' | 'ca' | 'bundle', number | undefined>>
  readonly rotations: number
  readonly errors: number
}

/** Milliseconds that the first certificate may take. */
const PATIENCE = 60_000
/** The Secret that holds a CA of our own. */
const SECRET = 'vmcp-admission-ca'

/** Throws an Error that says what is wrong with the files, UsageError when settings do not go together. */
export async function openServing(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving> {
  switch (configuration.certificates) {
    case 'files':
      return fromFiles(configuration, logger, signal)
    case 'self-managed':
      return selfManaged(configuration, connection, logger, signal)
    case 'local':
      return local(configuration)
  }
}

async function local({ 'cert-dir': folder, host }: ServerConfiguration): Promise<Serving> {
  const pair = await localPair(folder, host)
  const ca = pair.ca === undefined ? undefined : firstExpiry(pair.ca)
  return {
    pair,
    told: pair.made ? `made a local CA and certificate in ${folder}` : `serving the certificate in ${folder}`,
    follow: () => undefined,
    bundle: () => pair.ca,
    carried: () => undefined,
    isTrusted: () => true,
    state: () => ({
      expiry: { leaf: firstExpiry(pair.certificate), ca, bundle: ca },
      rotations: 0,
      errors: 0,
    }),
  }
}

async function fromFiles(
  configuration: ServerConfiguration,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving> {
  const folder = configuration['cert-dir']
  const handing = new Handing()
  const followed = followFiles(folder, {
    signal,
    names: namesOf(configuration),
    onPair: handing.give,
    onProblem: (problem) => logger.error({ folder, problem }, 'certificates: the pair in use stays'),
    onWarning: (problem) => logger.warn({ folder, problem }, 'certificates'),
  })
  await followed.check()
  const { problem } = followed.status()
  if (handing.last === undefined) throw new Error(`${folder}: ${problem ?? 'no certificate'}`)
  return {
    pair: handing.last,
    told: `serving the certificate in ${folder}, and its successors`,
    follow: handing.follow(handing.last),
    bundle: () => undefined,
    carried: () => undefined,
    isTrusted: () => true,
    state: () => {
      const { expiry, pairs, errors } = followed.status()
      const ca = handing.last?.ca === undefined ? undefined : firstExpiry(handing.last.ca)
      return { expiry: { leaf: expiry.leaf, ca, bundle: ca }, rotations: pairs - 1, errors }
    },
  }
}

async function selfManaged(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving> {
  if (connection === undefined)
    throw new UsageError('--certificates self-managed keeps a CA in a cluster: give --kubeconfig FILE')
  if (configuration.arming === 'off')
    throw new UsageError('--certificates self-managed needs --arming on or ignore: nobody else knows its CA')
  const handing = new Handing()
  const carried = new Carried()
  let bundle: string | undefined
  let trusted = false
  const authority = new SelfManaged({
    store: clusterSecret(connection, configuration.namespace, SECRET, signal),
    names: namesOf(configuration),
    settings: {
      authorityLifetime: configuration['ca-lifetime'] * 1_000,
      leafLifetime: configuration['leaf-lifetime'] * 1_000,
      propagation: configuration['ca-propagation'] * 1_000,
    },
    carriedFor: () => carried.carriedFor(),
    onPair: handing.give,
    onBundle: (next) => (bundle = next),
    onChange: (change) => logger.info({ change }, 'certificates: the CA changed'),
    onProblem: (problem) => logger.error({ problem }, 'certificates: what is in use stays'),
  })
  void authority.run(signal)
  await handing.first(PATIENCE)
  const { problem } = authority.status()
  if (handing.last === undefined)
    throw new Error(`no certificate within ${PATIENCE / 1_000} s: ${problem ?? 'no answer from the cluster'}`)
  return {
    pair: handing.last,
    told: `serving a certificate of the CA in the Secret ${configuration.namespace}/${SECRET}`,
    follow: handing.follow(handing.last),
    bundle: () => bundle,
    carried: (bundles) => {
      carried.look(bundles.map(fingerprintsIn))
      const { leafAuthority } = authority.status()
      trusted ||= bundles.length === 0 || carried.carriedFor().has(leafAuthority?.fingerprint ?? '')
    },
    isTrusted: () => trusted,
    state: () => {
      const { expiry, rotations, errors } = authority.status()
      return { expiry: { leaf: expiry.leaf, ca: expiry.authority, bundle: expiry.bundle }, rotations, errors }
    },
  }
}

/** Keeps the last pair until somebody asks for it. */
class Handing {
  last: ServingPair | undefined
  #use: ((pair: ServingPair) => void) | undefined
  #arrived: (() => void) | undefined

  readonly give = (pair: ServingPair): void => {
    this.last = pair
    this.#use?.(pair)
    this.#arrived?.()
  }

  /** Also hands over what came while nobody followed, after the pair that was taken. */
  follow(taken: ServingPair): (use: (pair: ServingPair) => void) => void {
    return (use) => {
      this.#use = use
      if (this.last !== undefined && this.last !== taken) use(this.last)
    }
  }

  first(patience: number): Promise<void> {
    if (this.last !== undefined) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patience)
      this.#arrived = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** The names by which we are called. */
function namesOf({ service, namespace, host, 'webhook-url': url }: ServerConfiguration): string[] {
  return serviceNames(service, namespace, [host, ...(url === '' ? [] : [new URL(url).hostname])])
}

const firstExpiry = (pem: string): number | undefined => {
  const all = authoritiesIn(pem).map(({ expires }) => expires)
  return all.length === 0 ? undefined : Math.min(...all)
}

/** Of the CAs of a caBundle that anybody may have written; none of one that cannot be read, which API servers trust in nothing. */
function fingerprintsIn(bundle: string): string[] {
  try {
    return authoritiesIn(bundle).map(({ fingerprint }) => fingerprint)
  } catch {
    return []
  }
}

/** What TLS needs to ask for client certificates; nothing without a CA for them. Throws UsageError on an unfit file. */
export async function clientOptions(file: string): Promise<ReturnType<typeof clientTlsOptions> | undefined> {
  if (file === '') return undefined
  const ca = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`--client-ca: cannot read ${file}: ${error instanceof Error ? error.message : ''}`)
  })
  const problem = problemWithClientAuthorities(ca)
  if (problem !== undefined) throw new UsageError(`--client-ca: ${file}: ${problem}`)
  return clientTlsOptions({ ca, subjects: [] })
}
