import type { Logger } from 'pino'
import type { ArmingState } from '../arming/index.ts'
import { SelfManaged } from '../certificates/authority.ts'
import type { ServingPair } from '../certificates/serving-pair.ts'
import { Propagation } from '../certificates/propagation.ts'
import { clusterSecret } from '../certificates/secret-store.ts'
import { authoritiesIn } from '../certificates/x509.ts'
import type { ClusterConnection } from '../cluster/index.ts'
import type { ServerConfiguration } from './configuration.ts'
import { LatestPair } from './latest-pair.ts'
import { servingNames } from './names.ts'
import type { Serving, ServingState } from './serving.ts'

/** Milliseconds in which the first certificate must be available. */
const FIRST_CERTIFICATE = 60_000
/** The name of the Secret with the CA. */
const SECRET = 'vmcp-admission-ca'
/** Milliseconds after which the leader has certainly read a new CA (once a minute) and written it to the cluster. */
const WRITTEN_WITHIN = 90_000

/**
 * Makes API servers trust the serving certificate of a self-managed CA. Each replica runs this loop, in the order of
 * the methods below; src/certificates/README.md has a drawing:
 *
 * 1. The authority makes the CA in the Secret (leader) or reads it (webhook), and signs the serving certificate.
 * 2. The leader (class Arming) writes the CAs of the Secret as `caBundle` into both webhook configurations.
 * 3. Every replica (class Arming) reads both configurations back, every five seconds and at each change.
 * 4. The propagation measures for how long both configurations have had each CA, and informs the authority: a new CA
 *    signs only after API servers have had the time to learn of it. This closes the loop.
 * 5. A replica is ready once both configurations have the CA of its certificate.
 */
export class TrustLoop implements Serving {
  readonly source: string
  readonly #propagation = new Propagation()
  readonly #pairs = new LatestPair()
  readonly #authority: SelfManaged
  readonly #writes: boolean
  #first: ServingPair | undefined
  #caBundle: string | undefined
  #isTrusted = false

  /**
   * Starts the loop, which runs until the signal aborts. Throws an Error when the configured lifetimes contradict each
   * other.
   */
  constructor(
    configuration: ServerConfiguration,
    connection: ClusterConnection,
    logger: Logger,
    signal: AbortSignal,
  ) {
    const { namespace, role } = configuration
    this.source = `serving a certificate of the CA in the Secret ${namespace}/${SECRET}`
    this.#writes = role !== 'webhook'
    this.#authority = new SelfManaged({
      store: clusterSecret(connection, namespace, SECRET, signal),
      names: servingNames(configuration),
      settings: {
        authorityLifetime: configuration['ca-lifetime'] * 1_000,
        leafLifetime: configuration['leaf-lifetime'] * 1_000,
        propagation: configuration['ca-propagation'] * 1_000,
      },
      writes: this.#writes,
      propagatedFor: () => this.#propagation.propagatedFor(),
      clockOffset: () => connection.clockOffset(),
      onPair: this.#pairs.put,
      onBundle: (bundle) => (this.#caBundle = bundle),
      onChange: (change) => logger.info({ change }, 'certificates: the CA changed'),
      onProblem: (problem) => logger.error({ problem }, 'certificates: what is in use stays'),
    })
    void this.#authority.run(signal)
  }

  /** Step 1: the first certificate. A replica whose clock is wrong waits, and reports the problem at /readyz. */
  async first(): Promise<ServingPair> {
    do this.#first = await this.#pairs.within(FIRST_CERTIFICATE)
    while (this.#first === undefined && this.clockProblem() !== undefined)
    if (this.#first !== undefined) return this.#first
    const problem = this.#authority.status().problem ?? 'no answer from the cluster'
    throw new Error(`no certificate within ${FIRST_CERTIFICATE / 1_000} s: ${problem}`)
  }

  onNext(use: (pair: ServingPair) => void): void {
    this.#pairs.onNext(this.#first, use)
  }

  clockProblem(): string | undefined {
    return this.#authority.status().clockProblem
  }

  /** Step 2 of TrustLoop: the caBundle that the leader writes into both webhook configurations. */
  caBundle(): string | undefined {
    return this.#caBundle
  }

  /** Steps 3 and 4 of TrustLoop: receives the caBundles in the stored webhook configurations. */
  observe(caBundles: readonly string[]): void {
    this.#propagation.observe(caBundles.map(fingerprintsIn))
    const { leafAuthority } = this.#authority.status()
    const isInBundles = this.#propagation.propagatedFor().has(leafAuthority?.fingerprint ?? '')
    this.#isTrusted ||= caBundles.length === 0 || isInBundles
    // Checks at once whether the leader has made another CA: the next regular check may be a minute away.
    if (!this.#writes && !isInBundles) void this.#authority.check()
  }

  /** Step 5 of TrustLoop: whether API servers can trust this replica, so that it is ready. */
  isTrusted(): boolean {
    return this.#isTrusted
  }

  state(): ServingState {
    const { expiry, rotations, errors } = this.#authority.status()
    return { expiry: { leaf: expiry.leaf, ca: expiry.authority, bundle: expiry.bundle }, rotations, errors }
  }
}

/**
 * Whether a replica may receive requests: when both webhook configurations have its CA, but also when the replica
 * failed to read or write them, or has listened for over 90 seconds. To wait longer would only remove a replica that
 * some API servers trust.
 */
export function mayServe(serving: Serving, arming: ArmingState | undefined, listeningFor: number): boolean {
  return serving.isTrusted() || (arming?.errors ?? 0) > 0 || listeningFor > WRITTEN_WITHIN
}

/** The fingerprints of the CAs in a caBundle; none if it cannot be parsed, because then API servers trust none. */
function fingerprintsIn(caBundle: string): string[] {
  try {
    return authoritiesIn(caBundle).map(({ fingerprint }) => fingerprint)
  } catch {
    return []
  }
}
