/** The fields of a coordination.k8s.io/v1 Lease that are used here. */
export interface Lease {
  readonly holder: string
  /** Time of the last renewal (RFC 3339), by the clock of the holder; the election does not read it. */
  readonly renewed: string
  readonly seconds: number
  readonly transitions: number
  readonly resourceVersion: string
}

/** Reads and writes the Lease; a write resolves to false when another write came first. */
export interface LeaseStore {
  read(): Promise<Lease | undefined>
  create(lease: Omit<Lease, 'resourceVersion'>): Promise<boolean>
  update(lease: Lease): Promise<boolean>
}

/** Seconds without a renewal after which another replica may take the Lease. */
const SECONDS = 15
/** The maximum of `leaseTransitions`, an int32 in the API. */
const MOST_TRANSITIONS = 2 ** 31 - 1

/**
 * Leader election: one replica at a time holds the Lease, and only this replica writes webhook configurations. As in
 * client-go, the age of the Lease is counted from when this replica saw the Lease change, not from the time stored in
 * the Lease, because clocks differ.
 */
export class LeaseHolder {
  readonly #store: LeaseStore
  readonly #identity: string
  /** A monotonic clock, in milliseconds. */
  readonly #clock: () => number
  #seen: { readonly resourceVersion: string; readonly at: number } | undefined

  constructor(store: LeaseStore, identity: string, clock: () => number = () => performance.now()) {
    this.#store = store
    this.#identity = identity
    this.#clock = clock
  }

  /** Takes or renews the Lease if possible; resolves to whether this replica holds it. */
  async hold(): Promise<boolean> {
    const lease = await this.#store.read()
    const ours = { holder: this.#identity, renewed: new Date().toISOString(), seconds: SECONDS }
    if (lease === undefined) return this.#store.create({ ...ours, transitions: 0 })
    const isOurs = lease.holder === this.#identity
    if (!isOurs && lease.holder !== '' && !this.#hasExpired(lease)) return false
    const transitions = Math.min(lease.transitions + (isOurs ? 0 : 1), MOST_TRANSITIONS)
    return this.#store.update({ ...lease, ...ours, transitions })
  }

  /** Releases the Lease, so that another replica can take it immediately. */
  async release(): Promise<void> {
    const lease = await this.#store.read()
    if (lease?.holder === this.#identity) await this.#store.update({ ...lease, holder: '' })
  }

  #hasExpired({ resourceVersion }: Lease): boolean {
    if (this.#seen?.resourceVersion !== resourceVersion) this.#seen = { resourceVersion, at: this.#clock() }
    return this.#clock() - this.#seen.at > SECONDS * 1_000
  }
}
