import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { type LabelSelector, labelsSelectedBy } from '../configuration/label-selector.ts'
import { type ClientConfig, WEBHOOK_NAME } from '../registration/index.ts'
import {
  clientConfigOf,
  bundlesOf,
  type WebhookConfiguration,
  displacing,
  drift,
  groupOf,
  type FailurePolicy,
  managerOf,
  otherManagers,
  policyOf,
  wantedConfigurations,
} from './reconcile.ts'
import { LeaseHolder, type LeaseStore } from './lease.ts'
import { errorMessage } from '../rule/index.ts'

export { bundlesOf, type WebhookConfiguration } from './reconcile.ts'
export type { Lease, LeaseStore } from './lease.ts'

/** The requests to an API server that write the webhook configurations, and prove that the webhook is called. */
export interface ArmingCluster {
  readonly lease: LeaseStore
  /** The webhook configuration with this kind and name; undefined when it does not exist. */
  readConfiguration(kind: string, name: string): Promise<WebhookConfiguration | undefined>
  /** Calls back at each change of the configuration until the watch ends; rejects when watching is not possible. */
  watchConfiguration(kind: string, name: string, changed: () => void): Promise<void>
  /** A forced server-side apply; before it, the merge patch `displacing` replaces fields of other field managers. */
  applyConfiguration(configuration: WebhookConfiguration, displacing?: WebhookConfiguration): Promise<void>
  /** The uid of a ClusterRole; undefined when it does not exist. */
  readOwner(name: string): Promise<string | undefined>
  /**
   * Sends the probe: a dry run of an object with the nonce as an annotation, and with these labels. The webhook refuses
   * the object with an answer that proves that it was called. Returns the text of the refusal; undefined when the
   * object was admitted.
   */
  tryProbe(nonce: string, labels: Readonly<Record<string, string>>): Promise<string | undefined>
}

/**
 * `on`: writes the webhook configurations, and makes them fail closed once a probe proves that the webhook is called;
 * `ignore`: they always fail open.
 */
export type ArmingSetting = 'on' | 'ignore'

export interface ArmingOptions {
  readonly setting: ArmingSetting
  /**
   * Whether this process may take the Lease and then write the webhook configurations; otherwise it only reads them.
   */
  readonly writes: boolean
  readonly group: string
  readonly identity: string
  /** Name of the ClusterRole that owns the webhook configurations; when empty, they have no owner. */
  readonly owner: string
  readonly clientConfig: (path: '/validate' | '/mutate') => ClientConfig
  /** Selects the namespaces that the webhook configurations cover; when empty, all. */
  readonly namespaceSelector: LabelSelector
  /** Selects the objects that the webhook configurations cover; when empty, all. */
  readonly objectSelector: LabelSelector
  /** Seconds that the API server waits for an answer of the webhook. */
  readonly timeoutSeconds: number
  /** Identifies this installation by the name of its Lease: `Lease NAMESPACE/NAME`. */
  readonly manager: string
  /** Commands that take the webhook out of service, for an annotation of the webhook configurations. */
  readonly breakGlass: string
  /** Called with both stored webhook configurations, after each read. */
  readonly onRead: (configurations: readonly (WebhookConfiguration | undefined)[]) => void
  readonly logger: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
}

/** The state of the webhook configurations, and of the work of this replica on them, for metrics. */
export interface ArmingState {
  /** Whether this replica holds the Lease, and so writes the webhook configurations. */
  readonly leads: boolean
  /** The failurePolicy of the stored webhook configurations; undefined when none is stored. */
  readonly policy: FailurePolicy | undefined
  /** Whether the last probe proved that the webhook is called; undefined before the first probe. */
  readonly proved: boolean | undefined
  /** Whether another installation or field manager keeps writing the webhook configurations. */
  readonly contested: boolean
  readonly repairs: number
  readonly errors: number
}

/** Milliseconds between two reconciliations while nothing changes. */
const RECONCILE_EVERY = 5_000
/**
 * The fewest milliseconds between two reconciliations, so that two writers do not answer each other in a tight loop.
 */
const SHORTEST_WAIT = 500
const PROVE_EVERY = 60_000
/**
 * When another installation writes its webhook configurations back within this many milliseconds after they were
 * replaced, that installation is running.
 */
const REPLACE_EVERY = 600_000
/**
 * When this many consecutive reconciliations had to write, there is another writer. Then changes of the webhook
 * configurations no longer start a reconciliation: reconciliations start only at regular intervals.
 */
const CONTESTED = 5
/** The beginning of the API server's answer to a probe when the namespace or the CRD does not exist. */
const ABSENT = '404 '
const KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']

const waitFor = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => undefined)

/** The text with which a webhook answers the probe with this nonce. */
export const probeAnswer = (nonce: string): string => `vmcp-admission is here: ${nonce}`

/**
 * Reconciles both webhook configurations, and makes them fail closed once a probe proves that the webhook is called.
 */
export class Arming {
  readonly #cluster: ArmingCluster
  readonly #options: ArmingOptions
  readonly #holder: LeaseHolder
  #state: ArmingState = {
    leads: false,
    policy: undefined,
    proved: undefined,
    contested: false,
    repairs: 0,
    errors: 0,
  }
  /** Aborted to start the next reconciliation immediately. */
  #changed = new AbortController()
  #proveAt = 0
  /** The caBundle, injected by another tool, that the webhook configuration had at the last probe. */
  #provedWith = ''
  #problem = ''
  /** The reason why the last probe failed, without parts that differ each time, such as ports and times. */
  #answer = ''
  /** Number of consecutive reconciliations that had to write. */
  #writesInARow = 0
  /** The webhook configurations that this process has seen in the cluster (0: validating, 1: mutating). */
  readonly #seen = new Set<number>()
  /** The time when this process last replaced another installation's configurations, by name of that installation. */
  readonly #replaced = new Map<string, number>()

  constructor(
    cluster: ArmingCluster,
    options: ArmingOptions,
    clock = () => performance.now(),
    wait: typeof waitFor = waitFor,
  ) {
    this.#cluster = cluster
    this.#options = options
    this.#holder = new LeaseHolder(cluster.lease, options.identity, clock)
    this.#clock = clock
    this.#wait = wait
  }

  readonly #clock: () => number
  readonly #wait: typeof waitFor

  get state(): ArmingState {
    return this.#state
  }

  /** Reconciles until the signal aborts, then releases the Lease. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    for (const kind of KINDS) void this.#watch(kind, signal)
    while (!signal.aborted) {
      this.#changed = new AbortController()
      await this.reconcileSafely()
      await this.#wait(SHORTEST_WAIT, signal)
      const sooner = this.#writesInARow < CONTESTED ? [this.#changed.signal] : []
      await this.#wait(RECONCILE_EVERY - SHORTEST_WAIT, AbortSignal.any([signal, ...sooner]))
    }
    if (this.#state.leads) await this.#holder.release().catch(() => undefined)
  }

  /**
   * Starts the next reconciliation at each change of a webhook configuration. If it cannot be watched, it is still
   * reconciled regularly.
   */
  async #watch(kind: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const watched = this.#cluster.watchConfiguration(kind, WEBHOOK_NAME, () => this.#changed.abort())
      await watched.catch(() => undefined)
      await this.#wait(RECONCILE_EVERY, signal)
    }
  }

  async reconcileSafely(): Promise<void> {
    try {
      await this.reconcile()
      if (this.#problem !== '') this.#options.logger.info({}, 'arming: works again')
      this.#problem = ''
    } catch (error) {
      const problem = errorMessage(error)
      this.#set({ errors: this.#state.errors + 1, leads: false })
      this.#forget()
      if (problem !== this.#problem)
        this.#options.logger.warn({ problem }, 'arming: cannot reconcile the webhook configurations')
      this.#problem = problem
    }
  }

  /**
   * Reads both webhook configurations. The holder of the Lease also writes those that differ from the wanted ones,
   * and probes whether the API server calls the webhook.
   */
  async reconcile(): Promise<void> {
    const stored = await this.#read()
    if (!this.#options.writes) return
    await this.#respectOthers(stored)
    const other = await this.#otherInstallation(stored)
    const leads = await this.#holder.hold()
    this.#set({ leads })
    // The proof that the API server calls the webhook is no longer valid when this replica does not hold the Lease,
    // somebody deleted a webhook configuration, or the caBundle that another tool injects has changed.
    if (!leads || stored.includes(undefined) || this.#injected(stored) !== this.#provedWith) this.#forget()
    if (!leads) return
    const written = await this.#write(stored, this.#policy(stored))
    if (other !== undefined) this.#replaced.set(other, this.#clock())
    this.#count(stored, written)
    if (this.#isProofDue()) await this.#prove(written)
    const policy = this.#policy(written)
    if (policy !== policyOf(written[0])) await this.#write(written, policy)
  }

  #forget(): void {
    this.#proveAt = 0
    this.#set({ proved: undefined })
  }

  #isProofDue(): boolean {
    return this.#clock() >= this.#proveAt
  }

  /** The caBundle that another tool has injected; empty when this server writes the caBundle. */
  #injected([validating]: readonly (WebhookConfiguration | undefined)[]): string {
    const isOurs = this.#options.clientConfig('/validate').caBundle !== undefined
    return isOurs ? '' : (bundlesOf(validating)[0] ?? '')
  }

  /**
   * Throws when the stored configurations are for another API group and this server's group has no CRD: then
   * --api-group is probably wrong.
   */
  async #respectOthers(stored: readonly (WebhookConfiguration | undefined)[]): Promise<void> {
    const { group } = this.#options
    const other = stored.map(groupOf).find((each) => each !== undefined && each !== group)
    if (other === undefined) return
    const refusal = await this.#tryProbe(randomUUID())
    if (refusal?.startsWith(ABSENT))
      throw new Error(
        `the configurations are for the API group ${other}, and ${group} has no MCPExternalAuthConfig here: set --api-group, or install the CRDs`,
      )
  }

  /**
   * The other installation that wrote the stored configurations, if these may be replaced. Throws when that
   * installation is running (its webhook answers, or it wrote the configurations again): two running installations
   * would overwrite each other forever.
   */
  async #otherInstallation([validating]: readonly (WebhookConfiguration | undefined)[]): Promise<
    string | undefined
  > {
    const other = managerOf(validating)
    const { manager } = this.#options
    if (other === undefined || other === manager || this.#isOurAddress(validating)) {
      this.#set({ contested: this.#writesInARow >= CONTESTED })
      return undefined
    }
    const isBack = this.#clock() - (this.#replaced.get(other) ?? -Infinity) < REPLACE_EVERY
    if (isBack || (await this.#isAnswered(randomUUID()))) {
      this.#set({ contested: true })
      throw new Error(
        `the webhook configurations are those of another installation (${other}), which is there: a cluster has one; uninstall either, this one waits (${manager})`,
      )
    }
    return other
  }

  /**
   * Sends the probe with labels that match the objectSelector; without these labels the API server would not call the
   * webhook.
   */
  #tryProbe(nonce: string): Promise<string | undefined> {
    return this.#cluster.tryProbe(nonce, labelsSelectedBy(this.#options.objectSelector))
  }

  /** Whether some vmcp-admission webhook, even of another installation, answers a dry run. */
  async #isAnswered(nonce: string): Promise<boolean> {
    return (await this.#tryProbe(nonce))?.includes(probeAnswer(nonce)) ?? false
  }

  /** Counts consecutive reconciliations that had to write: several in a row show that there is another writer. */
  #count(
    stored: readonly (WebhookConfiguration | undefined)[],
    written: readonly (WebhookConfiguration | undefined)[],
  ): void {
    this.#writesInARow = written === stored ? 0 : this.#writesInARow + 1
    if (this.#writesInARow !== CONTESTED) return
    this.#set({ contested: true })
    const managers = [...new Set(stored.flatMap(otherManagers))]
    this.#options.logger.warn({ managers }, 'arming: somebody else keeps changing the webhook configurations')
  }

  async #read(): Promise<readonly (WebhookConfiguration | undefined)[]> {
    const stored: (WebhookConfiguration | undefined)[] = []
    // The configurations are read in sequence: if both reads fail, the error of the first one is always reported.
    for (const kind of KINDS) stored.push(await this.#cluster.readConfiguration(kind, WEBHOOK_NAME))
    for (const [i, each] of stored.entries()) if (each !== undefined) this.#seen.add(i)
    this.#set({ policy: policyOf(stored[0]) })
    this.#options.onRead(stored)
    return stored
  }

  /**
   * `Fail` when the stored configuration has the failurePolicy `Fail` and the address of this server, or when a probe
   * proved that the webhook is called. `Fail` changes back to `Ignore` only with the setting `ignore`, or when the
   * server has a new address that no probe has proved yet.
   */
  #policy([validating]: readonly (WebhookConfiguration | undefined)[]): FailurePolicy {
    if (this.#options.setting === 'ignore') return 'Ignore'
    const isArmed = policyOf(validating) === 'Fail' && this.#isOurAddress(validating)
    const isProved = this.#state.proved === true && !this.#isProofDue()
    return isArmed || isProved ? 'Fail' : 'Ignore'
  }

  #isOurAddress(validating: WebhookConfiguration | undefined): boolean {
    const { url, service } = this.#options.clientConfig('/validate')
    return drift(url === undefined ? { service } : { url }, clientConfigOf(validating)) === undefined
  }

  async #write(
    stored: readonly (WebhookConfiguration | undefined)[],
    failurePolicy: FailurePolicy,
  ): Promise<readonly (WebhookConfiguration | undefined)[]> {
    const { owner: name, logger } = this.#options
    const uid = name === '' ? undefined : await this.#cluster.readOwner(name)
    const owner = uid === undefined ? undefined : { name, uid }
    let repaired = false
    for (const [i, wanted] of wantedConfigurations({ ...this.#options, failurePolicy, owner }).entries()) {
      const before = stored[i]
      const at = before === undefined ? 'missing' : drift(wanted, before)
      if (at === undefined) continue
      logger.info({ kind: KINDS[i], at, failurePolicy }, 'arming: writing the webhook configuration')
      const displaced =
        before !== undefined && otherManagers(before).length > 0 ? displacing(wanted, before) : undefined
      await this.#cluster.applyConfiguration(wanted, displaced)
      if (before === undefined && this.#seen.has(i))
        logger.warn({ kind: KINDS[i] }, 'arming: the configuration was deleted and written again')
      repaired = true
    }
    if (!repaired) return stored
    this.#set({ repairs: this.#state.repairs + 1 })
    const before = policyOf(stored[0])
    const written = await this.#read()
    const after = policyOf(written[0])
    if (after === 'Fail' && before !== 'Fail')
      logger.warn({}, 'arming: armed: the API server refuses a write that it cannot ask the webhook about')
    if (after === 'Ignore' && before === 'Fail')
      logger.warn({}, 'arming: disarmed: the API server admits a write that it cannot ask the webhook about')
    return written
  }

  /**
   * Probes whether the API server calls this webhook: sends a dry run that only this webhook refuses with this answer.
   */
  async #prove(stored: readonly (WebhookConfiguration | undefined)[]): Promise<void> {
    const nonce = randomUUID()
    const refusal = await this.#tryProbe(nonce).catch((error: unknown) => String(error))
    const proved = refusal?.includes(probeAnswer(nonce)) ?? false
    const answer = refusal ?? 'stored without asking'
    const kind = proved ? '' : answer.replace(/\d+/g, '0')
    if (proved !== this.#state.proved || kind !== this.#answer) {
      const { logger } = this.#options
      if (proved) logger.info({}, 'arming: the API server reaches the webhook')
      else if (answer.startsWith(ABSENT))
        logger.warn(
          { answer },
          'arming: MCPExternalAuthConfig or the namespace is not there to prove it with',
        )
      else logger.warn({ answer }, 'arming: the API server does not reach the webhook')
    }
    this.#answer = kind
    this.#provedWith = this.#injected(stored)
    this.#set({ proved })
    this.#proveAt = this.#clock() + (proved ? PROVE_EVERY : RECONCILE_EVERY)
  }

  #set(changed: Partial<ArmingState>): void {
    this.#state = { ...this.#state, ...changed }
  }
}
