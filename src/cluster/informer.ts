import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind } from '../kinds/kind.ts'
import { type Api, StatusError } from './api.ts'
import type { InformerState, InformerStatus, Logger } from './informers.ts'
import { list, SilentWatch, watch, type WatchEvent } from './list-watch.ts'
import type { Replacement, Sink } from './sink.ts'
import { jittered, pauseAfter, type Times } from './times.ts'
import { errorMessage } from '../rule/index.ts'

const EXPIRED = 410
const TOO_MANY_REQUESTS = 429
const REFUSED: ReadonlyMap<number, 'absent' | 'forbidden'> = new Map([
  [401, 'forbidden'],
  [403, 'forbidden'],
  [404, 'absent'],
])

/** The kind and namespace that an informer lists and watches, and the sink (such as the cache) that it updates. */
interface Subject {
  readonly kind: Kind
  readonly namespace: string | undefined
  /** Path of the collection in the API. */
  readonly path: string
  readonly api: Api
  readonly sink: Sink
  readonly logger: Logger
  readonly times: Times
}

/**
 * Keeps the sink up to date for one kind, in one namespace or in all. After one list it watches, each time from the
 * resourceVersion at which the previous watch ended. It lists again only when the API server refuses that version (410
 * Gone), when a watch fails twice in a row, or while the sink lacks objects because it is full.
 */
export class Informer {
  readonly #subject: Subject
  readonly #firstSync = Promise.withResolvers<undefined>()
  #state: InformerState = 'listing'
  #reason: string | undefined
  #logged: InformerState = 'listing'
  #synced = false
  /** Time at which the API server last confirmed the objects in the sink, in milliseconds of the monotonic clock. */
  #confirmed = performance.now()
  #listed = -Infinity
  #lists = 0
  #failures = 0
  #failuresInARow = 0
  #refusedSince: number | undefined
  /** Whether the API server forbids reading the kind; false again after the next successful list. */
  #hidden = false
  /** The resourceVersion for the next watch; undefined when a list must come first. */
  #resourceVersion: string | undefined

  constructor(subject: Subject) {
    this.#subject = subject
  }

  get synced(): Promise<undefined> {
    return this.#firstSync.promise
  }

  get isSynced(): boolean {
    return this.#synced
  }

  /** Whether this informer is for this kind and namespace, but the API server forbids reading the kind there. */
  hides(kind: string, namespace: string): boolean {
    if (!this.#hidden) return false
    const subject = this.#subject
    return subject.kind.kind === kind && (subject.namespace ?? namespace) === namespace
  }

  get status(): InformerStatus {
    const { kind, namespace } = this.#subject
    return {
      kind: kind.kind,
      namespace,
      state: this.#state,
      reason: this.#reason,
      synced: this.#synced,
      age: (performance.now() - this.#confirmed) / 1_000,
      lists: this.#lists,
      failures: this.#failures,
    }
  }

  /** Lists and watches until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const isStopped = () => signal.aborted
    while (!isStopped()) {
      try {
        this.#resourceVersion ??= await this.#list(signal)
        await this.#watch(this.#resourceVersion, signal)
        if (this.#isListDue()) this.#resourceVersion = undefined
      } catch (error) {
        if (!isStopped()) await sleep(this.#fail(error), undefined, { signal }).catch(() => undefined)
      }
    }
  }

  /** Replaces the objects in the sink by a new list; returns the resourceVersion for the next watch. */
  async #list(signal: AbortSignal): Promise<string> {
    const { api, path, sink, kind, namespace } = this.#subject
    if (this.#state === 'watching') this.#enter('listing')
    let replacement: Replacement | undefined
    const resourceVersion = await list(api, path, signal, (resources) => {
      this.#confirmed = performance.now()
      replacement ??= sink.replace(kind, namespace)
      replacement.add(resources)
    })
    signal.throwIfAborted()
    replacement?.commit()
    this.#listed = performance.now()
    this.#lists += 1
    this.#refusedSince = undefined
    this.#hide(false)
    this.#sync()
    return resourceVersion
  }

  /** Watches until the API server ends the watch or sends nothing for too long. */
  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { api, path, times } = this.#subject
    let accepted = Infinity
    const from = { resourceVersion, milliseconds: jittered(times.watch), silence: times.silence }
    const hasLasted = () => performance.now() - accepted >= times.brief
    try {
      await watch(api, path, from, signal, (event) => {
        this.#confirmed = performance.now()
        if (event === 'accepted') {
          accepted = performance.now()
          this.#enter('watching')
          return
        }
        this.#receive(event)
        this.#resourceVersion = event.resourceVersion
      })
      this.#confirmed = performance.now()
    } catch (error) {
      // A silent watch is not a failure: an idle API server may send no bookmark for minutes. The next watch shows
      // whether the connection works.
      if (!(error instanceof SilentWatch)) throw error
    } finally {
      if (hasLasted()) this.#failuresInARow = 0
    }
    if (!hasLasted()) throw new Error('the watch ended at once')
  }

  #receive(event: WatchEvent): void {
    const { sink, kind } = this.#subject
    if (event.type !== 'bookmark') sink[event.type](kind, event.resource)
  }

  /** Whether to list again because the sink was full and dropped objects, which only a new list brings back. */
  #isListDue(): boolean {
    const { sink, kind, namespace, times } = this.#subject
    return performance.now() - this.#listed >= times.relist && sink.lacks(kind, namespace)
  }

  /** Records an error; returns the milliseconds until the next attempt. */
  #fail(error: unknown): number {
    const { pause, longestPause, longestRefusedPause } = this.#subject.times
    const { status, retryAfter } = error instanceof StatusError ? error : { status: 0, retryAfter: 0 }
    const reason = errorMessage(error)
    const refusal = REFUSED.get(status)
    this.#failuresInARow += 1
    const isRefused = status >= 400 && status < 500 && status !== TOO_MANY_REQUESTS
    if (isRefused || this.#failuresInARow > 1) this.#resourceVersion = undefined
    if (refusal !== undefined && this.#isRefusalCertain()) {
      this.#beEmpty(refusal, reason)
      return pauseAfter(this.#failuresInARow, pause, longestRefusedPause)
    }
    this.#failures += 1
    if (status === EXPIRED) this.#enter('listing')
    else this.#enter('failing', reason)
    return Math.max(pauseAfter(this.#failuresInARow, pause, longestPause), Math.min(retryAfter, longestPause))
  }

  /** Whether a refusal (401, 403, 404) is final: always before the first list, later only if it lasts some seconds. */
  #isRefusalCertain(): boolean {
    const now = performance.now()
    this.#refusedSince ??= this.#synced ? now : -Infinity
    return now - this.#refusedSince >= this.#subject.times.refusal
  }

  #beEmpty(refusal: 'absent' | 'forbidden', reason: string): void {
    const { sink, kind, namespace } = this.#subject
    if (this.#state !== refusal) sink.replace(kind, namespace).commit()
    this.#hide(refusal === 'forbidden')
    this.#confirmed = performance.now()
    this.#sync()
    this.#enter(refusal, reason)
  }

  #hide(hidden: boolean): void {
    if (hidden === this.#hidden) return
    this.#hidden = hidden
    const { sink, kind, namespace } = this.#subject
    sink.recheck(kind, namespace)
  }

  #sync(): void {
    this.#synced = true
    this.#firstSync.resolve(undefined)
  }

  /** Sets the state and its reason; logs the change, except a change to `listing`. */
  #enter(state: InformerState, reason?: string): void {
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
