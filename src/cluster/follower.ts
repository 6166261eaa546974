import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind } from '../kinds/kind.ts'
import { type Api, StatusError } from './api.ts'
import type { FollowState, KindState, Logger } from './follow.ts'
import { list, watch, type WatchEvent } from './list-watch.ts'
import type { Replacement, Sink } from './sink.ts'
import { jittered, pauseAfter, type Times } from './times.ts'

const EXPIRED = 410
const REFUSED: ReadonlyMap<number, 'absent' | 'forbidden'> = new Map([
  [401, 'forbidden'],
  [403, 'forbidden'],
  [404, 'absent'],
])

/** What a follower follows, and where it goes. */
export interface Subject {
  readonly kind: Kind
  readonly namespace: string | undefined
  readonly path: string
  readonly api: Api
  readonly sink: Sink
  readonly logger: Logger
  readonly times: Times
}

/**
 * Keeps one kind, in one namespace or in all, fresh: a list, then one watch after the other from where the last one
 * ended, then a list again. Whatever goes wrong, it starts over from the list after a pause.
 */
export class Follower {
  readonly #subject: Subject
  readonly #firstOutcome = Promise.withResolvers<undefined>()
  #state: FollowState = 'listing'
  #reason: string | undefined
  #logged: FollowState = 'listing'
  #synced = false
  #proven = performance.now()
  #restarts = 0
  #failures = 0
  #refusedSince: number | undefined
  /** Whether it may not be read: from a refusal until the next list. */
  #hidden = false

  constructor(subject: Subject) {
    this.#subject = subject
  }

  get synced(): Promise<undefined> {
    return this.#firstOutcome.promise
  }

  get isSynced(): boolean {
    return this.#synced
  }

  /** Whether it follows the kind there and may not read it. */
  hides(kind: string, namespace: string): boolean {
    if (!this.#hidden) return false
    const subject = this.#subject
    return subject.kind.kind === kind && (subject.namespace ?? namespace) === namespace
  }

  get state(): KindState {
    const { kind, namespace } = this.#subject
    return {
      kind: kind.kind,
      namespace,
      state: this.#state,
      reason: this.#reason,
      synced: this.#synced,
      age: (performance.now() - this.#proven) / 1_000,
      restarts: this.#restarts,
    }
  }

  /** Follows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const isStopped = () => signal.aborted
    while (!isStopped()) {
      try {
        const resourceVersion = await this.#list(signal)
        await this.#watchFrom(resourceVersion, signal)
      } catch (error) {
        if (!isStopped()) await sleep(this.#failed(error), undefined, { signal }).catch(() => undefined)
      }
    }
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { api, path, sink, kind, namespace } = this.#subject
    if (this.#state === 'watching') this.#enter('listing')
    let replacement: Replacement | undefined
    const resourceVersion = await list(api, path, signal, (resources) => {
      this.#proven = performance.now()
      replacement ??= sink.replace(kind, namespace)
      replacement.add(resources)
    })
    signal.throwIfAborted()
    replacement?.commit()
    this.#refusedSince = undefined
    this.#hide(false)
    this.#sync()
    return resourceVersion
  }

  /** One watch after the other, until it is time to list again. */
  async #watchFrom(listed: string, signal: AbortSignal): Promise<void> {
    const until = performance.now() + jittered(this.#subject.times.relist)
    let resourceVersion = listed
    while (performance.now() < until) resourceVersion = await this.#watch(resourceVersion, signal)
  }

  /** Watches once; answers with the resourceVersion to go on from. */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    const { api, path, times } = this.#subject
    const milliseconds = jittered(times.watch)
    let accepted = Infinity
    let resourceVersion = from
    const hasLasted = () => performance.now() - accepted >= times.brief
    try {
      await watch(api, path, { resourceVersion, milliseconds, grace: times.grace }, signal, (event) => {
        this.#proven = performance.now()
        if (event === 'accepted') {
          accepted = performance.now()
          this.#enter('watching')
          return
        }
        this.#receive(event)
        resourceVersion = event.resourceVersion
      })
    } finally {
      if (hasLasted()) this.#failures = 0
    }
    this.#proven = performance.now()
    if (!hasLasted()) throw new Error('the watch ended at once')
    return resourceVersion
  }

  #receive(event: WatchEvent): void {
    const { sink, kind } = this.#subject
    if (event.type !== 'bookmark') sink[event.type](kind, event.resource)
  }

  /** Notes what went wrong; answers with the pause until the next attempt. */
  #failed(error: unknown): number {
    const { pause, longestPause, longestRefusedPause } = this.#subject.times
    const { status, retryAfter } = error instanceof StatusError ? error : { status: 0, retryAfter: 0 }
    const reason = error instanceof Error ? error.message : String(error)
    const refusal = REFUSED.get(status)
    this.#failures += 1
    if (refusal !== undefined && this.#isLasting()) {
      this.#beEmpty(refusal, reason)
      return pauseAfter(this.#failures, pause, longestRefusedPause)
    }
    this.#restarts += 1
    if (status === EXPIRED) this.#enter('listing')
    else this.#enter('failing', reason)
    return Math.max(pauseAfter(this.#failures, pause, longestPause), Math.min(retryAfter, longestPause))
  }

  /** Whether a refusal is to be believed: at the start at once, later when it has lasted. */
  #isLasting(): boolean {
    const now = performance.now()
    this.#refusedSince ??= this.#synced ? now : -Infinity
    return now - this.#refusedSince >= this.#subject.times.patience
  }

  #beEmpty(refusal: 'absent' | 'forbidden', reason: string): void {
    const { sink, kind, namespace } = this.#subject
    if (this.#state !== refusal) sink.replace(kind, namespace).commit()
    this.#hide(refusal === 'forbidden')
    this.#proven = performance.now()
    this.#sync()
    this.#enter(refusal, reason)
  }

  #hide(hidden: boolean): void {
    if (hidden === this.#hidden) return
    this.#hidden = hidden
    const { sink, kind, namespace } = this.#subject
    sink.reconsider(kind, namespace)
  }

  #sync(): void {
    this.#synced = true
    this.#firstOutcome.resolve(undefined)
  }

  /** Logs a state other than the last one that was logged; a list in between is none. */
  #enter(state: FollowState, reason?: string): void {
    this.#state = state
    this.#reason = reason
    if (state === 'listing' || state === this.#logged) return
    this.#logged = state
    const { kind, namespace, logger } = this.#subject
    const fields = { kind: kind.kind, ...(namespace === undefined ? {} : { namespace }) }
    if (state === 'watching') logger.info(fields, 'watching')
    else logger.warn({ ...fields, reason }, state)
  }
}
