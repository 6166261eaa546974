import { setImmediate, setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Replacement, Sink } from '../cluster/index.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { CurrentFindings } from './current-findings.ts'
import type { ClusterState } from '../state/index.ts'
import { metadataOf } from '../rule/index.ts'

/**
 * Milliseconds between a change and the background check of its namespace, so that quick successive changes are checked
 * once.
 */
const DELAY = 1_000
/** Milliseconds for which the background check runs before it pauses for 40 ms: it takes a fifth of a core. */
const STRETCH = 10
const PAUSE = 40
/** The pause after a large object was judged, as a multiple of the time for judging: a fifth of a core at most. */
const REST = 4
/** Milliseconds until a failed read of an object is repeated. */
const RETRY = 10_000

/** Reads an object from the API server; undefined when it does not exist. */
type Read = (kind: Kind, namespace: string, name: string, signal: AbortSignal) => Promise<object | undefined>

/**
 * The cache of the cluster. Informers store objects in it; changed namespaces are checked again in the background,
 * which updates the current findings.
 */
export class ClusterCache implements Sink {
  readonly #state: ClusterState
  readonly #findings: CurrentFindings
  readonly #logger: Pick<Logger, 'warn' | 'info'>
  readonly #read: Read
  #wasFull = false
  #isReading = false

  /** `read` is for objects that are too large to be cached with all fields: they are read again to be judged. */
  constructor(
    state: ClusterState,
    findings: CurrentFindings,
    logger: Pick<Logger, 'warn' | 'info'>,
    read: Read = () => Promise.resolve(undefined),
  ) {
    this.#state = state
    this.#findings = findings
    this.#logger = logger
    this.#read = read
  }

  put(kind: Kind, resource: unknown): void {
    const { partial } = this.#state.sizes
    this.#findings.put(kind, resource)
    if (this.#state.sizes.partial > partial)
      this.#logger.warn(
        { kind: kind.kind, ...placeOf(resource) },
        'too large to keep whole: read when needed',
      )
    this.#logWhetherFull()
  }

  #logWhetherFull(): void {
    if (this.#state.isFull === this.#wasFull) return
    this.#wasFull = this.#state.isFull
    const { bytes } = this.#state.sizes
    if (this.#wasFull)
      this.#logger.warn({ bytes }, 'the cache is full (--cache-memory): objects are left out')
    else this.#logger.info({ bytes }, 'the cache has room for all objects again')
  }

  remove(kind: Kind, resource: unknown): void {
    const { namespace, name } = placeOf(resource)
    this.#findings.remove(kind, namespace, name)
  }

  recheck(_kind: Kind, namespace: string | undefined): void {
    this.#findings.recheck(namespace)
  }

  lacks(kind: Kind, namespace: string | undefined): boolean {
    return this.#state.lacks(kind.kind, namespace)
  }

  replace(kind: Kind, namespace: string | undefined): Replacement {
    const listed = new Set<string>()
    const { leftOut } = this.#state.sizes
    return {
      add: (resources) => {
        for (const resource of resources) {
          const place = placeOf(resource)
          listed.add(`${place.namespace}/${place.name}`)
          this.put(kind, resource)
        }
      },
      commit: () => {
        const gone = [...this.#state.all(kind.kind, namespace)].filter(
          (place) => !listed.has(`${place.namespace}/${place.name}`),
        )
        for (const place of gone) this.#findings.remove(kind, place.namespace, place.name)
        for (const each of this.#state.settle(kind.kind, namespace, leftOut)) this.recheck(kind, each)
        this.#logWhetherFull()
      },
    }
  }

  /** Checks changed namespaces in short stretches until the signal aborts. While nothing changes, no timer runs. */
  keepChecking(signal: AbortSignal): void {
    let timer: NodeJS.Timeout | undefined
    const after = (milliseconds: number, act: () => void) => {
      timer = signal.aborted ? undefined : setTimeout(act, milliseconds).unref()
    }
    const begin = () => {
      this.#findings.startRound()
      goOn()
    }
    const goOn = () => {
      const end = performance.now() + STRETCH
      let isLeft = true
      while (isLeft && performance.now() < end) isLeft = this.#findings.work(1)
      timer = undefined
      if (isLeft) after(PAUSE, goOn)
      else if (this.#findings.waiting > 0) after(DELAY, begin)
      void this.#judgeLarge(signal)
    }
    this.#findings.onChange(() => {
      if (timer === undefined) after(DELAY, begin)
    })
    if (this.#findings.waiting > 0) after(DELAY, begin)
    signal.addEventListener('abort', () => clearTimeout(timer))
  }

  /** Reads and judges objects that are too large to be cached with all fields, one at a time, each version once. */
  async #judgeLarge(signal: AbortSignal): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    for (let next = this.#findings.nextUnread(); next !== undefined; next = this.#findings.nextUnread()) {
      const kind = kindNamed.get(next.kind)
      if (kind === undefined) continue
      try {
        const found = await this.#read(kind, next.namespace, next.name, signal)
        await setImmediate()
        const begun = performance.now()
        if (found !== undefined) this.#findings.judgeWhole(kind, found)
        await pause(REST * (performance.now() - begun), undefined, { signal, ref: false })
      } catch {
        this.#findings.readAgain(next)
        await pause(RETRY, undefined, { signal, ref: false }).catch(() => undefined)
      }
      if (signal.aborted) return
    }
    this.#isReading = false
  }
}

function placeOf(resource: unknown): { namespace: string; name: string } {
  const metadata = metadataOf(resource)
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return { namespace: text(metadata.namespace), name: text(metadata.name) }
}
