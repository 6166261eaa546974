import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import type { Logger } from 'pino'
import { SelfManaged, serviceNames } from '../certificates/authority.ts'
import { Propagation } from '../certificates/propagation.ts'
import { followFiles } from '../certificates/files.ts'
import { localPair, makePair, type ServingPair } from '../certificates/local.ts'
import { readRegularFile } from '../certificates/regular-file.ts'
import { clusterSecret } from '../certificates/secret-store.ts'
import { authoritiesIn } from '../certificates/x509.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import { UsageError } from '../configuration/flags.ts'
import { clientTlsOptions, problemWithClientAuthorities } from '../certificates/clients.ts'
import type { ServerConfiguration } from './configuration.ts'

/** The serving certificate, however it comes. */
export interface Serving {
  /** For a person at a terminal: where the pair comes from. */
  readonly source: string
  /** The first pair, waited for; the next ones come through `follow`. Rejects with an Error when none comes in time. */
  first(): Promise<ServingPair>
  /** Hands over each pair after the first. */
  follow(use: (pair: ServingPair) => void): void
  /** PEM of the CAs that API servers must trust; undefined where something else says it. */
  bundle(): string | undefined
  /** Told of the bundles that both webhook configurations carry, an entry each. */
  carried(bundles: readonly string[]): void
  /** Whether API servers trust the pair, as far as the configurations say; what has been trusted once stays so. */
  isTrusted(): boolean
  /** Why the clock of this replica makes no certificate; undefined where it may, or need not. */
  clockProblem(): string | undefined
  /** For metrics: Unix milliseconds, and how often. */
  state(): ServingState
}

export interface ServingState {
  readonly expiry: Readonly<Record<'leaf' | 'ca' | 'bundle', number | undefined>>
  readonly rotations: number
  readonly errors: number
}

/** Milliseconds that the first certificate may take. */
const FIRST_CERTIFICATE = 60_000
/** The Secret that holds a CA of our own. */
const SECRET = 'vmcp-admission-ca'

/**
 * Undefined for a leader whose webhooks serve from files: it needs none, and knows no CA. Throws an Error that says what
 * is wrong with the files, UsageError when settings do not go together.
 */
export async function openServing(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Promise<Serving | undefined> {
  if (configuration['local-cluster'] !== '') return inMemory(configuration)
  switch (configuration.certificates) {
    case 'files':
      return configuration.role === 'leader' ? undefined : fromFiles(configuration, logger, signal)
    case 'self-managed':
      return selfManaged(configuration, connection, logger, signal)
    case 'local':
      return local(configuration)
  }
}

async function local(configuration: ServerConfiguration): Promise<Serving> {
  const { 'cert-dir': folder, arming, 'webhook-url': url } = configuration
  const pair = await localPair(folder, localNames(configuration))
  const [name = ''] = localNames(configuration)
  if (arming !== 'off' && url !== '' && !isFor(pair.certificate, name))
    throw new UsageError(
      `the certificate in ${folder} is not for ${name}, so no API server would call it: name another --cert-dir, where one is made`,
    )
  return lasting(
    pair,
    pair.made ? `made a local CA and certificate in ${folder}` : `serving the certificate in ${folder}`,
  )
}

function isFor(certificate: string, name: string): boolean {
  const leaf = new X509Certificate(certificate)
  return (isIP(name) ? leaf.checkIP(name) : leaf.checkHost(name)) !== undefined
}

/** The names by which an API server calls us without a Service: that of the URL first, where there is one. */
const localNames = ({ host, 'webhook-url': url }: ServerConfiguration): string[] =>
  [...(url === '' ? [] : [new URL(url).hostname]), host].map((name) => name.replace(/^\[|\]$/g, ''))

/** A pair that lives as long as the process: nothing of it is written. */
async function inMemory(configuration: ServerConfiguration): Promise<Serving> {
  return lasting(await makePair(localNames(configuration)), 'made a certificate for this run')
}

/** A pair that stays the same as long as the process lives. */
function lasting(pair: ServingPair, source: string): Serving {
  const ca = pair.ca === undefined ? undefined : firstExpiry(pair.ca)
  return {
    first: () => Promise.resolve(pair),
    source,
    follow: () => undefined,
    bundle: () => pair.ca,
    carried: () => undefined,
    isTrusted: () => true,
    clockProblem: () => undefined,
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
  const first = handing.last
  if (first === undefined) throw new Error(`${folder}: ${problem ?? 'no certificate'}`)
  return {
    first: () => Promise.resolve(first),
    source: `serving the certificate in ${folder}, and its successors`,
    follow: (use) => handing.follow(first, use),
    bundle: () => undefined,
    carried: () => undefined,
    isTrusted: () => true,
    clockProblem: () => undefined,
    state: () => {
      const { expiry, pairs, errors } = followed.status()
      const ca = handing.last?.ca === undefined ? undefined : firstExpiry(handing.last.ca)
      return { expiry: { leaf: expiry.leaf, ca, bundle: ca }, rotations: pairs - 1, errors }
    },
  }
}

function selfManaged(
  configuration: ServerConfiguration,
  connection: ClusterConnection | undefined,
  logger: Logger,
  signal: AbortSignal,
): Serving {
  if (connection === undefined)
    throw new UsageError('--certificates self-managed keeps a CA in a cluster: give --kubeconfig FILE')
  if (configuration.arming === 'off')
    throw new UsageError('--certificates self-managed needs --arming on or ignore: nobody else knows its CA')
  const handing = new Handing()
  const carried = new Propagation()
  const writes = configuration.role !== 'webhook'
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
    writes,
    propagatedFor: () => carried.propagatedFor(),
    clockOffset: () => connection.clockOffset(),
    onPair: handing.give,
    onBundle: (next) => (bundle = next),
    onChange: (change) => logger.info({ change }, 'certificates: the CA changed'),
    onProblem: (problem) => logger.error({ problem }, 'certificates: what is in use stays'),
  })
  void authority.run(signal)
  let first: ServingPair | undefined
  return {
    /** A replica whose clock is wrong stays, and says so at /readyz, until the clock is right. */
    first: async () => {
      do first = await handing.first(FIRST_CERTIFICATE)
      while (first === undefined && authority.status().clockProblem !== undefined)
      if (first !== undefined) return first
      const problem = authority.status().problem ?? 'no answer from the cluster'
      throw new Error(`no certificate within ${FIRST_CERTIFICATE / 1_000} s: ${problem}`)
    },
    source: `serving a certificate of the CA in the Secret ${configuration.namespace}/${SECRET}`,
    follow: (use) => handing.follow(first, use),
    bundle: () => bundle,
    carried: (bundles) => {
      carried.look(bundles.map(fingerprintsIn))
      const { leafAuthority } = authority.status()
      const isCarried = carried.propagatedFor().has(leafAuthority?.fingerprint ?? '')
      trusted ||= bundles.length === 0 || isCarried
      // The leader may have had to make another CA, which cannot wait for the next minute.
      if (!writes && !isCarried) void authority.check()
    },
    isTrusted: () => trusted,
    clockProblem: () => authority.status().clockProblem,
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
  follow(taken: ServingPair | undefined, use: (pair: ServingPair) => void): void {
    this.#use = use
    if (this.last !== undefined && this.last !== taken) use(this.last)
  }

  /** The pair that is there, or comes within so many milliseconds. */
  first(milliseconds: number): Promise<ServingPair | undefined> {
    if (this.last !== undefined) return Promise.resolve(this.last)
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#arrived = () => {
        clearTimeout(timer)
        resolve(this.last)
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
  const ca = await readRegularFile(file).catch((error: unknown) => {
    throw new UsageError(`--client-ca: ${file} ${error instanceof Error ? error.message : ''}`)
  })
  if (ca === undefined) throw new UsageError(`--client-ca: ${file} does not exist`)
  const problem = problemWithClientAuthorities(ca)
  if (problem !== undefined) throw new UsageError(`--client-ca: ${file}: ${problem}`)
  return clientTlsOptions({ ca, subjects: [] })
}
