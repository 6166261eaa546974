/** A coordination.k8s.io/v1 Lease, of which only this is used. */
export interface Lease {
  readonly holder: string
  /** When it was renewed, as the holder's clock had it: for people. */
  readonly renewed: string
  readonly seconds: number
  readonly transitions: number
  readonly resourceVersion: string
}

/** Where the Lease is kept; a write answers false when it came too late. */
export interface LeaseStore {
  read(): Promise<Lease | undefined>
  create(lease: Omit<Lease, 'resourceVersion'>): Promise<boolean>
  update(lease: Lease): Promise<boolean>
}

/** Others may take it this long after the last renewal that they saw, in seconds; what it says itself is for people. */
const SECONDS = 15
/** As many as the API server takes. */
const MOST_TRANSITIONS = 2 ** 31 - 1

/**
 * Who writes: one replica at a time holds the Lease. As client-go does, its age is reckoned from when a change was seen
 * here, and never from the time that it carries: clocks differ.
 */
export class LeaseHolder {
  readonly #store: LeaseStore
  readonly #identity: string
  /** Milliseconds of a clock that no one sets. */
  readonly #clock: () => number
  #seen: { readonly resourceVersion: string; readonly at: number } | undefined

  constructor(store: LeaseStore, identity: string, clock: () => number = () => performance.now()) {
    this.#store = store
    this.#identity = identity
    this.#clock = clock
  }

  /** Takes or renews the Lease if that is possible; answers whether it is ours. */
  async hold(): Promise<boolean> {
    const lease = await this.#store.read()
    const ours = { holder: this.#identity, renewed: new Date().toISOString(), seconds: SECONDS }
    if (lease === undefined) return this.#store.create({ ...ours, transitions: 0 })
    const isOurs = lease.holder === this.#identity
    if (!isOurs && lease.holder !== '' && !this.#hasExpired(lease)) return false
    const transitions = Math.min(lease.transitions + (isOurs ? 0 : 1), MOST_TRANSITIONS)
    return this.#store.update({ ...lease, ...ours, transitions })
  }

  /** Lets the next replica take it at once. */
  async release(): Promise<void> {
    const lease = await this.#store.read()
    if (lease?.holder === this.#identity) await this.#store.update({ ...lease, holder: '' })
  }

  #hasExpired({ resourceVersion }: Lease): boolean {
    if (this.#seen?.resourceVersion !== resourceVersion) this.#seen = { resourceVersion, at: this.#clock() }
    return this.#clock() - this.#seen.at > SECONDS * 1_000
  }
}
