import { setTimeout as sleep } from 'node:timers/promises'
import { formatState, parseState, signingAuthority } from './authority-data.ts'
import type { ServingPair } from './serving-pair.ts'
import { Problems } from './problems.ts'
import {
  type AuthorityState,
  bundleOf,
  type RotationChange,
  type FormerAuthority,
  type Leaf,
  notYetValid,
  problemWithClock,
  problemWithSettings,
  type RotationSettings,
  SLACK,
  type RotationStep,
  step,
  orphanedCAs,
  withoutNotYetValid,
} from './rotation.ts'
import { SecretConflict, type SecretStore } from './secret-store.ts'
import {
  type Authority,
  authorityOf,
  BACKDATE,
  publicPart,
  certificatesIn,
  makeAuthority,
  signLeaf,
} from './x509.ts'
import { errorMessage } from '../rule/index.ts'

export interface SelfManagedOptions {
  readonly store: SecretStore
  /** The DNS names and IP addresses for which the serving certificate is issued. */
  readonly names: readonly string[]
  readonly settings: RotationSettings
  /** Whether this replica makes, rotates and stores the CA; other replicas only read the CA and sign with it. */
  readonly writes: boolean
  /**
   * Milliseconds for which both stored webhook configurations have had each CA, by its fingerprint; see Propagation.
   */
  readonly propagatedFor: () => ReadonlyMap<string, number>
  /** Receives each new serving certificate. */
  readonly onPair: (pair: ServingPair) => void
  /** Receives the bundle of CAs (PEM) to write into the webhook configurations, each time it changes. */
  readonly onBundle: (bundle: string) => void
  /** Receives each change that this replica made to the CAs stored in the Secret. */
  readonly onChange: (change: RotationChange) => void
  /** Receives the text of a problem when it appears, and again only if the problem was solved in between. */
  readonly onProblem: (problem: string) => void
  /** Returns the time of the wall clock in Unix milliseconds; Date.now by default. */
  readonly now?: () => number
  /**
   * Milliseconds by which the wall clock is ahead of the API server's; undefined until the API server has sent an
   * answer with a Date header.
   */
  readonly clockOffset: () => number | undefined
}

/** The state of self-managed certificates, for metrics; times are Unix milliseconds. */
export interface SelfManagedStatus {
  /** The CA that signs leaf certificates now. */
  readonly authority: Authority | undefined
  /** The CA of the current leaf certificate. */
  readonly leafAuthority: Authority | undefined
  /** The CA that will sign leaf certificates after the next rotation. */
  readonly next: Authority | undefined
  readonly bundle: readonly Authority[]
  /** Expiry times of the certificates; the bundle expires with the first of its CAs. */
  readonly expiry: {
    readonly leaf: number | undefined
    readonly authority: number | undefined
    readonly bundle: number | undefined
  }
  /** Number of rotations that this replica has seen: each time another CA begins to sign. */
  readonly rotations: number
  /** Number of leaf certificates that this replica has signed. */
  readonly leaves: number
  /** Number of checks that found a problem. */
  readonly errors: number
  readonly problem: string | undefined
  /** Why the clock of this replica is too wrong to make certificates; undefined when it is right. */
  readonly clockProblem: string | undefined
}

/** Attempts of one check to write the Secret: enough when five replicas write at the same time. */
const MOST_ATTEMPTS = 6
const RETRY = 5_000
const SOON = 1_000
/**
 * Milliseconds after which the CAs in memory may be outdated. From then on, a replica whose leaf certificate is still
 * valid does not sign another with these CAs.
 */
const STALE = SLACK / 2
/**
 * Milliseconds before its expiry at which a leaf certificate counts as expired: the next check comes only after a pause
 * of some seconds and the deadline of an API request.
 */
const LAST = 30_000

/** The DNS names under which clients call a Service, and localhost; `more` adds further names. */
export function serviceNames(service: string, namespace: string, more: readonly string[] = []): string[] {
  const short = `${service}.${namespace}`
  return [...new Set([`${short}.svc`, `${short}.svc.cluster.local`, short, 'localhost', ...more])]
}

/** Shares a CA with the other replicas through a Secret, and keeps a serving certificate in memory. */
export class SelfManaged {
  readonly #options: SelfManagedOptions
  readonly #now: () => number
  readonly #problems: Problems
  #state: AuthorityState | undefined
  /** CAs that were trusted but are missing in the Secret: they stay in the bundle while they may be in use. */
  #orphaned: readonly FormerAuthority[] = []
  #read = -Infinity
  #leaf: Leaf | undefined
  #bundle = ''
  #rotations = 0
  #leaves = 0
  #checking: Promise<number> | undefined
  #clockProblem: string | undefined

  /** Throws an Error when settings contradict each other. */
  constructor(options: SelfManagedOptions) {
    const problem = problemWithSettings(options.settings)
    if (problem !== undefined) throw new Error(problem)
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#problems = new Problems(options.onProblem)
  }

  status(): SelfManagedStatus {
    const { settings, clockOffset } = this.#options
    const offset = clockOffset()
    const bundle = this.#state === undefined ? [] : bundleOf(this.#state)
    const { current, next } = this.#state ?? {}
    return {
      authority: current === undefined ? undefined : publicPart(current),
      leafAuthority: this.#leaf?.authority,
      next: next === undefined ? undefined : publicPart(next),
      bundle: bundle.map(publicPart),
      expiry: {
        leaf: this.#leaf?.expires,
        authority: current?.expires,
        bundle: bundle.length === 0 ? undefined : Math.min(...bundle.map(({ expires }) => expires)),
      },
      rotations: this.#rotations,
      leaves: this.#leaves,
      errors: this.#problems.count,
      problem: this.#problems.present,
      // Uses the clock as it is now, not as it was at the last check.
      clockProblem: offset === undefined ? this.#clockProblem : problemWithClock(offset, settings),
    }
  }

  /** Checks the CA and the leaf certificate at least once a minute until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = await this.check()
      await sleep(wait, undefined, { signal }).catch(() => undefined)
    }
  }

  /**
   * Makes or rotates the CA and signs a leaf certificate, if that is due. Resolves with the milliseconds until the next
   * check; may be called at any time.
   */
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
      problems.push(errorMessage(error))
      await this.#signFromMemory(problems)
    }
    this.#problems.found(problems)
    return wait
  }

  /**
   * Compares this replica's clock with the API server's; returns the time (Unix milliseconds) by which certificates are
   * judged. If the clocks disagree, it is the API server's time, and this replica makes no CA or leaf certificate.
   */
  #readClock(problems: string[]): number {
    const { settings, clockOffset } = this.#options
    const offset = clockOffset()
    this.#clockProblem = problemWithClock(offset, settings)
    if (this.#clockProblem === undefined) return this.#now()
    if (!problems.includes(this.#clockProblem)) problems.push(this.#clockProblem)
    return this.#now() - (offset ?? 0)
  }

  /**
   * Reads and updates the CAs in the Secret until no update is due, then signs a leaf certificate that is due. Resolves
   * with the milliseconds until the next check.
   */
  async #settle(problems: string[]): Promise<number> {
    const { store } = this.#options
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const secret = await store.read()
      const read = secret === undefined ? { state: undefined, problems: [] } : parseState(secret.data)
      const now = this.#readClock(problems)
      const state = read.state && withoutNotYetValid(read.state, now)
      const found = [...read.problems, ...(read.state === undefined ? [] : futureIn(read.state, now))]
      for (const each of found) if (!problems.includes(each)) problems.push(each)
      this.#know(state, now)
      const { writes } = this.#options
      if (!writes && read.state === undefined)
        problems.push('there is no CA in the Secret: the leader (--role leader) makes it')
      if (!writes && read.state !== undefined && read.state.current.expires <= now)
        problems.push('the CA in the Secret has expired: the leader (--role leader) makes another')
      if (this.#clockProblem !== undefined) return RETRY
      const next = await this.#step(read.state, now)
      const isSettled = next.state === read.state && read.problems.length === 0
      if (!writes || isSettled || next.state === undefined) {
        await this.#sign(next, now)
        // `nextCheck` was computed without the leaf that is signed only now, so the next check comes soon.
        return next.sign === undefined ? next.nextCheck : SOON
      }
      try {
        const data = formatState(next.state)
        await (secret === undefined ? store.create(data) : store.update(data, secret.resourceVersion))
      } catch (error) {
        if (error instanceof SecretConflict) continue
        await this.#sign(next, now)
        throw error
      }
      for (const change of next.changes) this.#options.onChange(change)
    }
    throw new Error(`the Secret changed ${MOST_ATTEMPTS} times while we wanted to write it`)
  }

  async #step(stored: AuthorityState | undefined, now: number): Promise<RotationStep> {
    const { settings, propagatedFor, writes } = this.#options
    const leaf = this.#leafBeside(stored)
    const observed = {
      propagatedFor: propagatedFor(),
      leaf,
      remembered: this.#state,
      orphaned: this.#orphaned,
    }
    const first = step(stored, now, observed, settings)
    if (!first.wantsFresh || !writes) return first
    const { authorityLifetime, leafLifetime } = settings
    const made = await makeAuthority('vmcp-admission CA', { now, lifetime: authorityLifetime })
    return step(stored, now, { ...observed, fresh: signingAuthority(made, leafLifetime) }, settings)
  }

  /**
   * The current leaf certificate. Undefined when this replica only reads the CAs and the Secret lacks the CA that
   * signed the leaf: then another leaf is signed at once.
   */
  #leafBeside(stored: AuthorityState | undefined): Leaf | undefined {
    const leaf = this.#leaf
    if (leaf === undefined || stored === undefined || this.#options.writes) return leaf
    return bundleOf(stored).some(({ fingerprint }) => fingerprint === leaf.authority.fingerprint)
      ? leaf
      : undefined
  }

  /** Remembers the CAs that the Secret contains and passes on their bundle; ignores an unusable Secret (undefined). */
  #know(state: AuthorityState | undefined, now: number): void {
    if (state === undefined) return
    const before = this.#state
    if (before !== undefined) {
      if (before.current.fingerprint !== state.current.fingerprint) this.#rotations += 1
      this.#orphaned = orphanedCAs(state, before, this.#orphaned, now)
    }
    this.#state = state
    this.#read = now
    const bundle = bundleOf({ ...state, former: [...state.former, ...this.#orphaned] })
      .map(({ certificate }) => certificate)
      .join('')
    if (bundle === this.#bundle) return
    this.#bundle = bundle
    this.#options.onBundle(bundle)
  }

  /**
   * Signs a leaf certificate that is due while the API server cannot be reached, with the CA in memory. If the CA was
   * not read recently, signs only when the current leaf certificate has expired.
   */
  async #signFromMemory(problems: string[]): Promise<void> {
    if (this.#state === undefined) return
    const now = this.#readClock(problems)
    const isRecent = Math.abs(now - this.#read) <= STALE
    const serves = this.#leaf !== undefined && this.#leaf.expires > now + LAST
    if (this.#clockProblem !== undefined || (serves && !isRecent)) return
    const { settings, propagatedFor } = this.#options
    try {
      await this.#sign(
        step(this.#state, now, { propagatedFor: propagatedFor(), leaf: this.#leaf }, settings),
        now,
      )
    } catch (error) {
      problems.push(errorMessage(error))
    }
  }

  async #sign({ sign }: RotationStep, now: number): Promise<void> {
    if (sign === undefined) return
    const { names, onPair } = this.#options
    const { authority, lifetime } = sign
    const pair = await signLeaf(authority, names, { now, lifetime })
    const [certificate] = certificatesIn(pair.certificate)
    if (certificate === undefined) throw new Error('the leaf that was signed is none')
    const { issued, expires } = authorityOf(certificate)
    this.#leaf = { authority: publicPart(authority), issued, expires }
    this.#leaves += 1
    onPair({ ...pair, ca: this.#bundle })
  }
}

/** A problem for each CA in the Secret whose validity begins in the future. */
const futureIn = (state: AuthorityState, now: number): string[] =>
  notYetValid(state, now).map(
    ({ fingerprint, issued }) =>
      `the CA with SHA-256 ${fingerprint} is valid from ${new Date(issued - BACKDATE).toISOString()} only: a clock that was ahead made it, and another CA replaces it`,
  )
