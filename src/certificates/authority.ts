import { setTimeout as sleep } from 'node:timers/promises'
import { formatState, parseState, signingAuthority } from './authority-data.ts'
import type { ServingPair } from './local.ts'
import { Problems } from './problems.ts'
import {
  type AuthorityState,
  bundleOf,
  type Change,
  type FormerAuthority,
  type Leaf,
  problemWithSettings,
  type RotationSettings,
  SLACK,
  type Step,
  step,
  unknownTo,
} from './rotation.ts'
import { SecretConflict, type SecretStore } from './secret-store.ts'
import { type Authority, authorityOf, bare, certificatesIn, makeAuthority, signLeaf } from './x509.ts'

export interface SelfManagedOptions {
  readonly store: SecretStore
  /** DNS names and addresses of the serving certificate. */
  readonly names: readonly string[]
  readonly settings: RotationSettings
  /** For how long both live webhook configurations have carried which CA; see Carried. */
  readonly carriedFor: () => ReadonlyMap<string, number>
  /** A new serving certificate is to be used. */
  readonly onPair: (pair: ServingPair) => void
  /** The webhook configurations are to carry these CAs. */
  readonly onBundle: (bundle: string) => void
  /** The shared state changed, by us. */
  readonly onChange: (change: Change) => void
  /** Once for each problem, until it is gone. */
  readonly onProblem: (problem: string) => void
  /** The wall clock. */
  readonly now?: () => number
}

/** For metrics; times are Unix milliseconds. */
export interface SelfManagedStatus {
  /** The CA that signs. */
  readonly authority: Authority | undefined
  /** The CA of the leaf in use. */
  readonly leafAuthority: Authority | undefined
  /** The one that will sign. */
  readonly next: Authority | undefined
  readonly bundle: readonly Authority[]
  /** When what expires; the bundle with the first of its CAs. */
  readonly expiry: {
    readonly leaf: number | undefined
    readonly authority: number | undefined
    readonly bundle: number | undefined
  }
  /** How often another CA began to sign, as far as this replica saw. */
  readonly rotations: number
  /** Leaves signed by this replica. */
  readonly leaves: number
  /** Checks that found a problem. */
  readonly errors: number
  readonly problem: string | undefined
}

/** Five replicas that all write at once still end; after that we come back later. */
const MOST_ATTEMPTS = 6
const RETRY = 5_000
const SOON = 1_000
/** A state of longer ago may have been left behind by the others: nothing is signed with it while a leaf still serves. */
const STALE = SLACK / 2
/** A leaf that ends sooner is as good as gone: the next check comes after RETRY and the patience for an answer. */
const LAST = 30_000

/** The names by which a Service is called, and localhost. */
export function serviceNames(service: string, namespace: string, more: readonly string[] = []): string[] {
  const short = `${service}.${namespace}`
  return [...new Set([`${short}.svc`, `${short}.svc.cluster.local`, short, 'localhost', ...more])]
}

/** Keeps the CA in a Secret together with the other replicas, and a serving certificate in memory. */
export class SelfManaged {
  readonly #options: SelfManagedOptions
  readonly #now: () => number
  readonly #problems: Problems
  #state: AuthorityState | undefined
  /** Trusted before, and missing in what is stored now: so it stays until it is written down again. */
  #left: readonly FormerAuthority[] = []
  #read = -Infinity
  #leaf: Leaf | undefined
  #bundle = ''
  #rotations = 0
  #leaves = 0
  #checking: Promise<number> | undefined

  /** Throws an Error when the settings do not fit each other. */
  constructor(options: SelfManagedOptions) {
    const problem = problemWithSettings(options.settings)
    if (problem !== undefined) throw new Error(problem)
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#problems = new Problems(options.onProblem)
  }

  status(): SelfManagedStatus {
    const bundle = this.#state === undefined ? [] : bundleOf(this.#state)
    const { current, next } = this.#state ?? {}
    return {
      authority: current === undefined ? undefined : bare(current),
      leafAuthority: this.#leaf?.authority,
      next: next === undefined ? undefined : bare(next),
      bundle: bundle.map(bare),
      expiry: {
        leaf: this.#leaf?.expires,
        authority: current?.expires,
        bundle: bundle.length === 0 ? undefined : Math.min(...bundle.map(({ expires }) => expires)),
      },
      rotations: this.#rotations,
      leaves: this.#leaves,
      errors: this.#problems.count,
      problem: this.#problems.present,
    }
  }

  /** Checks until the signal aborts, at least once a minute. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = await this.check()
      await sleep(wait, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Does what is due now; answers with the milliseconds until the next check. It may be called at any time. */
  check(): Promise<number> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined))
    return this.#checking
  }

  async #check(): Promise<number> {
    const problems: string[] = []
    let wait = RETRY
    try {
      wait = await this.#settle(problems)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
      await this.#signFromMemory(problems)
    }
    this.#problems.found(problems)
    return wait
  }

  /** Reads, changes and reads again until nothing is to be changed, then signs what is due. */
  async #settle(problems: string[]): Promise<number> {
    const { store } = this.#options
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const secret = await store.read()
      const read = secret === undefined ? { state: undefined, problems: [] } : parseState(secret.data)
      for (const each of read.problems) if (!problems.includes(each)) problems.push(each)
      this.#know(read.state)
      const next = await this.#step(read.state)
      const isSettled = next.state === read.state && read.problems.length === 0
      if (isSettled || next.state === undefined) {
        await this.#sign(next)
        // When the new leaf is due was not known when the step was taken.
        return next.sign === undefined ? next.nextCheck : SOON
      }
      try {
        const data = formatState(next.state)
        await (secret === undefined ? store.create(data) : store.update(data, secret.resourceVersion))
      } catch (error) {
        if (error instanceof SecretConflict) continue
        await this.#sign(next)
        throw error
      }
      for (const change of next.changes) this.#options.onChange(change)
    }
    throw new Error(`the Secret changed ${MOST_ATTEMPTS} times while we wanted to write it`)
  }

  async #step(stored: AuthorityState | undefined): Promise<Step> {
    const { settings, carriedFor } = this.#options
    const now = this.#now()
    const observed = { carriedFor: carriedFor(), leaf: this.#leaf, remembered: this.#state, left: this.#left }
    const first = step(stored, now, observed, settings)
    if (!first.wantsFresh) return first
    const { authorityLifetime, leafLifetime } = settings
    const made = await makeAuthority('vmcp-admission CA', { now, lifetime: authorityLifetime })
    return step(stored, now, { ...observed, fresh: signingAuthority(made, leafLifetime) }, settings)
  }

  /** Takes note of what is stored, and hands on the bundle; what cannot be used changes nothing of what we know. */
  #know(state: AuthorityState | undefined): void {
    if (state === undefined) return
    const before = this.#state
    const now = this.#now()
    if (before !== undefined) {
      if (before.current.fingerprint !== state.current.fingerprint) this.#rotations += 1
      this.#left = unknownTo(state, before, this.#left, now)
    }
    this.#state = state
    this.#read = now
    const bundle = bundleOf({ ...state, former: [...state.former, ...this.#left] })
      .map(({ certificate }) => certificate)
      .join('')
    if (bundle === this.#bundle) return
    this.#bundle = bundle
    this.#options.onBundle(bundle)
  }

  /** The API server is out of reach: a leaf that is due need not wait for it, if we know well enough how things stand. */
  async #signFromMemory(problems: string[]): Promise<void> {
    const now = this.#now()
    const isRecent = Math.abs(now - this.#read) <= STALE
    const serves = this.#leaf !== undefined && this.#leaf.expires > now + LAST
    if (this.#state === undefined || (serves && !isRecent)) return
    const { settings, carriedFor } = this.#options
    try {
      await this.#sign(step(this.#state, now, { carriedFor: carriedFor(), leaf: this.#leaf }, settings))
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }

  async #sign({ sign }: Step): Promise<void> {
    if (sign === undefined) return
    const { names, onPair } = this.#options
    const { authority, lifetime } = sign
    const now = this.#now()
    const pair = await signLeaf(authority, names, { now, lifetime })
    const [certificate] = certificatesIn(pair.certificate)
    if (certificate === undefined) throw new Error('the leaf that was signed is none')
    const { issued, expires } = authorityOf(certificate)
    this.#leaf = { authority: bare(authority), issued, expires }
    this.#leaves += 1
    onPair({ ...pair, ca: this.#bundle })
  }
}
