/**
 * Decides when a self-managed CA is made, signs and retires: a pure function from the stored and observed state to the
 * next state to store. README.md draws the states.
 */

import { aheadOrBehind, inWords } from '../rule/index.ts'
import { type Authority, BACKDATE, publicPart } from './x509.ts'

/** A CA that signs now, or will sign later. */
export interface SigningAuthority extends Authority {
  readonly key: string
  /**
   * The longest lifetime, in milliseconds, of leaves that the CA signs. A replica that needs longer leaves must store
   * their lifetime here first.
   */
  readonly longestLeaf: number
}

/** A CA that no longer signs, but stays trusted until its last leaf has expired. */
export interface FormerAuthority extends Authority {
  readonly until: number
}

/** The state of the CAs in the Secret, which all replicas share. */
export interface AuthorityState {
  /** The CA that signs now. */
  readonly current: SigningAuthority
  /** The CA that signs next, as soon as API servers know it; the caBundle already contains it. */
  readonly next?: SigningAuthority | undefined
  readonly former: readonly FormerAuthority[]
}

/** The serving certificate of one replica. */
export interface Leaf {
  readonly authority: Authority
  readonly issued: number
  readonly expires: number
}

/** The settings of a rotation, in milliseconds. */
export interface RotationSettings {
  readonly authorityLifetime: number
  readonly leafLifetime: number
  /** Milliseconds for which both stored webhook configurations must have a CA before it signs. */
  readonly propagation: number
}

/** Facts that one replica knows in addition to the stored state. */
export interface Observed {
  /** Milliseconds for which both stored webhook configurations have had each CA without a break, by fingerprint. */
  readonly propagatedFor: ReadonlyMap<string, number>
  /** The current serving certificate of this replica. */
  readonly leaf?: Leaf | undefined
  /** The last state that this replica read; used if the state in the Secret is lost. */
  readonly remembered?: AuthorityState | undefined
  /** CAs that were trusted before the state in the Secret was replaced by another state, such as an old backup. */
  readonly orphaned?: readonly FormerAuthority[] | undefined
  /** The new CA, when the previous step asked for one (`wantsFresh`). */
  readonly fresh?: SigningAuthority | undefined
}

export type RotationChange =
  'created' | 'restored' | 'prepared' | 'promoted' | 'replaced' | 'retired' | 'amended'

export interface RotationStep {
  /** The state to store; the stored object itself when nothing changes. Undefined only if a CA must be made first. */
  readonly state: AuthorityState | undefined
  /** The changes that turn the stored state into `state`, in the order in which they were applied. */
  readonly changes: readonly RotationChange[]
  /** Whether a CA must be made; then `step` is called again with this CA as `fresh`. */
  readonly wantsFresh: boolean
  /** The CAs for the caBundle of the webhook configurations. */
  readonly bundle: readonly Authority[]
  /** Set when a leaf is due: the stored CA that signs it, and its lifetime. */
  readonly sign?: { readonly authority: SigningAuthority; readonly lifetime: number } | undefined
  /** Milliseconds until the next step. */
  readonly nextCheck: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * A CA lives for a year and is replaced after eight months: so each installation exercises the rotation, and a cluster
 * that was switched off has four months to spare. A leaf lives for a week: a leaked key is of little use, and a replica
 * that loses the API server can serve for two and a third days more. Within ten minutes API servers learn of a new CA.
 */
export const ROTATION: RotationSettings = {
  authorityLifetime: 365 * DAY,
  leafLifetime: 7 * DAY,
  propagation: 10 * MINUTE,
}

/**
 * Milliseconds by which the clock of a replica may differ from the API server's; beyond that the replica makes no
 * certificates. Half of the time by which certificates are backdated, so that replicas with opposite clock errors
 * accept each other's certificates; less for very short-lived leaves, which a slow clock would renew too late.
 */
function clockTolerance({ leafLifetime }: Pick<RotationSettings, 'leafLifetime'>): number {
  return Math.min(BACKDATE / 2, leafLifetime / 6)
}

/**
 * Why the clock of this replica does not allow it to make certificates; undefined when the clock agrees with the API
 * server's within the tolerance. `offset` is the difference in milliseconds; undefined when not known.
 */
export function problemWithClock(offset: number | undefined, settings: RotationSettings): string | undefined {
  if (offset === undefined)
    return "the clock cannot be compared: the API server's answers have no Date header; no certificate is made"
  const tolerance = clockTolerance(settings)
  if (Math.abs(offset) <= tolerance) return undefined
  return `the clock of this replica is ${aheadOrBehind(offset)} the API server's: no certificate is made until they agree within ${inWords(tolerance)}`
}

/**
 * Milliseconds for which a CA stays trusted after its last leaf has expired: the clocks of replicas differ, and a
 * replica may have read the state just before a change.
 */
export const SLACK = HOUR
/** The longest wait for the next check: the wall clock may jump, and timers stop when a machine sleeps. */
const LONGEST_WAIT = MINUTE
const SHORTEST_WAIT = SECOND

/** Why the configured lifetimes contradict each other; undefined when they do not. */
export function problemWithSettings(settings: RotationSettings): string | undefined {
  const { authorityLifetime, leafLifetime, propagation } = settings
  if (leafLifetime < 30 * SECOND) return 'leaves must live for 30 seconds at least'
  if (leafLifetime * 3 > authorityLifetime) return 'the CA must live three times as long as its leaves'
  if (propagation * 6 > authorityLifetime)
    return 'the CA must live six times as long as a new one takes to be known'
  return undefined
}

/** Unix milliseconds at which a successor of the CA is made: after two thirds of its lifetime. */
function rotationDue({ issued, expires }: Authority): number {
  return issued + ((expires - issued) * 2) / 3
}

/** Unix milliseconds at which the leaf is replaced: after two thirds of its lifetime. */
function renewalDue({ issued, expires }: Leaf): number {
  return issued + ((expires - issued) * 2) / 3
}

/** The CAs of a state by issue time, so that the order stays the same when a CA changes its role. */
export function bundleOf({ current, next, former }: AuthorityState): Authority[] {
  const all = [current, ...(next === undefined ? [] : [next]), ...former]
  return all.toSorted((a, b) => a.issued - b.issued || (a.fingerprint < b.fingerprint ? -1 : 1))
}

/** The CAs of a state that are not valid yet. */
export function notYetValid(state: AuthorityState, now: number): Authority[] {
  return bundleOf(state).filter((each) => !hasBegun(each, now))
}

/**
 * The state without CAs that are not valid yet, which come from a clock that was ahead. Undefined when the current CA
 * is not valid yet.
 */
export function withoutNotYetValid(state: AuthorityState, now: number): AuthorityState | undefined {
  const { current, next, former } = state
  if (!hasBegun(current, now)) return undefined
  return {
    current,
    ...(next !== undefined && hasBegun(next, now) ? { next } : {}),
    former: former.filter((each) => hasBegun(each, now)),
  }
}

/**
 * CAs that were trusted but are missing in the stored state, which may come from another installation or an old backup:
 * the CAs of the previous state, and earlier CAs that are still missing. Replicas may still use leaves that these CAs
 * signed.
 */
export function orphanedCAs(
  stored: AuthorityState,
  { current, next, former }: AuthorityState,
  orphaned: readonly FormerAuthority[],
  now: number,
): FormerAuthority[] {
  const known = new Set(bundleOf(stored).map(({ fingerprint }) => fingerprint))
  const signing = next === undefined ? [current] : [current, next]
  const signed = signing.map((each) => ({
    ...publicPart(each),
    until: Math.min(now + each.longestLeaf + SLACK, each.expires),
  }))
  const all = known.has(current.fingerprint) ? orphaned : [...signed, ...former, ...orphaned]
  return all.filter((each) => !known.has(each.fingerprint) && each.until > now && hasBegun(each, now))
}

/**
 * Computes the next step of the rotation. `stored` is the state in the Secret, or undefined when it cannot be used. The
 * new state must be written on condition that the Secret is unchanged; otherwise the step is repeated with the newer
 * state. Only a CA that is stored signs a leaf.
 */
export function step(
  stored: AuthorityState | undefined,
  now: number,
  observed: Observed,
  settings: RotationSettings,
): RotationStep {
  const draft = new Draft(stored, now, observed, settings)
  const { state } = draft
  const sign = stored === undefined ? undefined : signature(stored, now, observed, settings)
  return {
    state,
    changes: draft.changes,
    wantsFresh: draft.wantsFresh,
    bundle: state === undefined ? [] : bundleOf(state),
    sign,
    nextCheck: state === undefined ? SHORTEST_WAIT : untilNext(state, now, observed, settings),
  }
}

/** The state of the CAs while `step` changes it. */
class Draft {
  state: AuthorityState | undefined
  wantsFresh = false
  readonly changes: RotationChange[] = []
  readonly #now: number
  readonly #observed: Observed
  readonly #settings: RotationSettings
  #fresh: SigningAuthority | undefined

  constructor(
    stored: AuthorityState | undefined,
    now: number,
    observed: Observed,
    settings: RotationSettings,
  ) {
    this.state = stored
    this.#now = now
    this.#observed = observed
    this.#settings = settings
    this.#fresh = observed.fresh
    const restored = stored === undefined && this.#restore()
    if (this.state === undefined) this.#create()
    this.#replaceInvalid()
    this.#promote()
    this.#prepare(restored)
    this.#amend()
    this.#retire()
  }

  /** Restores the state that this replica remembers, after the loss of the Secret; false when it has no valid state. */
  #restore(): boolean {
    const { remembered: last } = this.#observed
    const remembered = last === undefined ? undefined : withoutNotYetValid(last, this.#now)
    if (remembered === undefined || remembered.current.expires <= this.#now) return false
    this.#become('restored', remembered)
    return true
  }

  #create(): void {
    const fresh = this.#make()
    if (fresh !== undefined) this.#become('created', { current: fresh, former: [] })
  }

  /** Immediately replaces a CA that has expired or is not valid yet, because no client accepts its leaves. */
  #replaceInvalid(): void {
    const { state } = this
    if (state === undefined) return
    const now = this.#now
    const next = state.next !== undefined && isValid(state.next, now) ? state.next : undefined
    if (isValid(state.current, now)) {
      if (next !== state.next) this.#become('amended', { ...state, next: undefined })
      return
    }
    const successor = next ?? this.#make()
    if (successor !== undefined)
      this.#become('replaced', { current: successor, former: state.former, next: undefined })
  }

  #promote(): void {
    const { state } = this
    if (state?.next === undefined) return
    if (!hasPropagated(state.next, this.#observed, this.#settings)) return
    const former = publicPart(state.current)
    const until = Math.min(this.#now + state.current.longestLeaf + SLACK, former.expires)
    this.#become('promoted', {
      current: state.next,
      former: [...without(state.former, former), { ...former, until }],
      next: undefined,
    })
  }

  /** Makes the next CA after two thirds of the current CA's lifetime, or at once after the Secret was lost. */
  #prepare(atOnce: boolean): void {
    const { state } = this
    if (state === undefined || state.next !== undefined) return
    const { current } = state
    if (!atOnce && this.#now < rotationDue(current)) return
    const next = this.#make()
    if (next !== undefined) this.#become('prepared', { ...state, next })
  }

  /** Adds to the state the CAs and times that this replica knows and that the Secret lacks. */
  #amend(): void {
    const { leafLifetime } = this.#settings
    const { leaf, orphaned = [] } = this.#observed
    const { state } = this
    if (state === undefined) return
    const { issued, expires } = state.current
    const longestLeaf = Math.min(leafLifetime, expires - issued)
    if (state.current.longestLeaf < longestLeaf)
      this.#become('amended', { ...state, current: { ...state.current, longestLeaf } })
    for (const { until, ...authority } of orphaned) this.#vouchFor({ authority, expires: until })
    if (leaf !== undefined && leaf.expires > this.#now) this.#vouchFor(leaf)
  }

  /** Keeps the CA of a leaf trusted, even if the Secret was restored from a backup without this CA. */
  #vouchFor({ authority, expires }: Pick<Leaf, 'authority' | 'expires'>): void {
    const { state } = this
    if (state === undefined || !hasBegun(authority, this.#now)) return
    const { fingerprint } = authority
    if ([state.current, state.next].some((each) => each?.fingerprint === fingerprint)) return
    const former = state.former.find((each) => each.fingerprint === fingerprint)
    if (former !== undefined && former.until >= expires) return
    const entry = { ...publicPart(authority), until: expires }
    this.#become('amended', { ...state, former: [...without(state.former, authority), entry] })
  }

  #retire(): void {
    const { state } = this
    if (state === undefined) return
    const former = state.former.filter((each) => each.until > this.#now && hasBegun(each, this.#now))
    if (former.length < state.former.length) this.#become('retired', { ...state, former })
  }

  #become(change: RotationChange, state: AuthorityState): void {
    this.state = state
    this.changes.push(change)
  }

  #make(): SigningAuthority | undefined {
    const fresh = this.#fresh
    this.#fresh = undefined
    this.wantsFresh ||= fresh === undefined
    return fresh
  }
}

/**
 * The CA with which a new leaf must be signed now; undefined when no leaf is due. A leaf with an issue time in the
 * future, from before the clock was corrected, is replaced, because clients may not accept it yet.
 */
function signature(
  { current }: AuthorityState,
  now: number,
  observed: Observed,
  settings: RotationSettings,
): RotationStep['sign'] {
  if (!isValid(current, now)) return undefined
  const lifetime = Math.min(settings.leafLifetime, current.longestLeaf)
  const sign = { authority: current, lifetime }
  const { leaf } = observed
  if (leaf === undefined || !isValid(leaf, now)) return sign
  if (leaf.authority.fingerprint !== current.fingerprint) {
    return hasPropagated(current, observed, settings) || now >= lastMoment(leaf) ? sign : undefined
  }
  if (now < leaf.issued - MINUTE) return sign
  const gains = Math.min(now + lifetime, current.expires) > leaf.expires
  return gains && now >= renewalDue(leaf) ? sign : undefined
}

/**
 * The time (Unix milliseconds) from which the current leaf is so close to expiry that a new leaf is better, even if
 * some API servers do not know its CA.
 */
function lastMoment({ issued, expires }: Leaf): number {
  return expires - (expires - issued) / 20
}

/** Whether a certificate is valid already: its notBefore is in the past. */
function hasBegun({ issued }: Pick<Authority, 'issued'>, now: number): boolean {
  return now >= issued - BACKDATE
}

function isValid(certificate: Pick<Authority, 'issued' | 'expires'>, now: number): boolean {
  return hasBegun(certificate, now) && certificate.expires > now
}

function hasPropagated(
  { fingerprint }: Authority,
  { propagatedFor }: Observed,
  { propagation }: RotationSettings,
): boolean {
  return (propagatedFor.get(fingerprint) ?? -1) >= propagation
}

function untilNext(
  { current, next, former }: AuthorityState,
  now: number,
  { leaf, propagatedFor }: Observed,
  { propagation }: RotationSettings,
): number {
  const moments = [current.expires, ...former.map(({ until }) => until)]
  if (next === undefined) moments.push(rotationDue(current))
  for (const { fingerprint } of [current, ...(next === undefined ? [] : [next])]) {
    const carried = propagatedFor.get(fingerprint)
    if (carried !== undefined) moments.push(now + propagation - carried)
  }
  if (leaf !== undefined) moments.push(renewalDue(leaf), lastMoment(leaf), leaf.expires)
  const soonest = Math.min(...moments.filter((moment) => moment > now), now + LONGEST_WAIT)
  return Math.max(SHORTEST_WAIT, soonest - now)
}

function without(former: readonly FormerAuthority[], { fingerprint }: Authority): FormerAuthority[] {
  return former.filter((each) => each.fingerprint !== fingerprint)
}
