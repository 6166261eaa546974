import { setImmediate } from 'node:timers/promises'
import { isObject, metadataOf } from '../rule/index.ts'
import { type Api, parseJson, StatusError } from './api.ts'
import { lines } from './lines.ts'
import type { Times } from './times.ts'

/** A watch event. An ERROR event is thrown as a StatusError instead. */
export type WatchEvent =
  | {
      readonly type: 'put' | 'remove'
      readonly resource: Record<string, unknown>
      readonly resourceVersion: string
    }
  | { readonly type: 'bookmark'; readonly resourceVersion: string }

const PAGE = 500
/**
 * The most bytes of a page, unless a single object has more. Parsing takes up to twenty times as much memory and blocks
 * the event loop, usually for ten milliseconds. An object has at most 1.5 MiB in etcd, unless an administrator allows
 * more.
 */
const LONGEST_PAGE = 1024 * 1024
const LONGEST_OBJECT = 16 * 1024 * 1024
/** Milliseconds for which listed objects are delivered before the event loop gets control. */
const STRETCH = 10

/**
 * Lists page by page, and delivers the resources of each page one by one; returns the resourceVersion for the next
 * watch. Throws StatusError at an answer other than 200 (410 when the list expires between two pages), and an Error
 * when an answer is malformed. `selector` has the parameters that select objects, such as `labelSelector`.
 */
export async function list(
  api: Api,
  path: string,
  signal: AbortSignal,
  deliver: (resources: readonly unknown[]) => void,
  selector: Readonly<Record<string, string>> = {},
): Promise<string> {
  let first: string | undefined
  let limit = PAGE
  for (let from: string | undefined = ''; from !== undefined;) {
    const paging = { limit: String(limit), ...(from === '' ? {} : { continue: from }) }
    const query = new URLSearchParams({ ...paging, ...selector })
    const text = await api.textUpTo(`${path}?${query}`, [signal], limit === 1 ? LONGEST_OBJECT : LONGEST_PAGE)
    signal.throwIfAborted()
    if (text === undefined) {
      if (limit === 1) throw new Error(`an object of more than ${LONGEST_OBJECT} bytes`)
      limit = Math.max(1, Math.floor(limit / 5))
      continue
    }
    const page = await oneAtATime(api, async () => {
      const parsed = pageOf(parseJson(text))
      await deliverSlowly(parsed.items, signal, deliver)
      return { resourceVersion: parsed.resourceVersion, next: parsed.next }
    })
    first ??= page.resourceVersion
    from = page.next
    if (text.length < LONGEST_PAGE / 8) limit = Math.min(PAGE, limit * 4)
  }
  return first ?? ''
}

const turns = new WeakMap<Api, Promise<unknown>>()

/** Handles one page per API server at a time, so that only one page of parsed objects is in memory. */
function oneAtATime<T>(api: Api, work: () => Promise<T>): Promise<T> {
  const done = (turns.get(api) ?? Promise.resolve()).then(work)
  turns.set(
    api,
    done.catch(() => undefined),
  )
  return done
}

/** Delivers resources one by one (an empty array if there are none), and yields to the event loop in between. */
async function deliverSlowly(
  resources: readonly unknown[],
  signal: AbortSignal,
  deliver: (resources: readonly unknown[]) => void,
): Promise<void> {
  if (resources.length === 0) deliver([])
  let begun = -Infinity
  for (const resource of resources) {
    if (performance.now() - begun >= STRETCH) {
      await setImmediate()
      signal.throwIfAborted()
      begun = performance.now()
    }
    deliver([resource])
  }
}

function pageOf(answer: unknown) {
  const { items, metadata } = isObject(answer) ? answer : {}
  const { resourceVersion, continue: next } = isObject(metadata) ? metadata : {}
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new Error('the answer is not a list')
  return {
    items: items as unknown[],
    resourceVersion,
    next: typeof next === 'string' && next !== '' ? next : undefined,
  }
}

/** Thrown when a watch was silent for so long that its connection may be dead. */
export class SilentWatch extends Error {
  constructor() {
    super('the watch went silent')
  }
}

/**
 * Sends one watch request for about `milliseconds`, and resolves when the API server ends the watch normally. Rejects
 * with SilentWatch when neither an event nor a bookmark arrives for `silence` milliseconds, with StatusError on an
 * ERROR event, and with an Error when the connection breaks or a line is not an event. With an empty resourceVersion
 * the watch begins with an event for each existing object.
 */
export async function watch(
  api: Api,
  path: string,
  from: {
    readonly resourceVersion: string
    readonly milliseconds: number
    readonly silence: Times['silence']
    /** The name of a single object to watch; `path` is the path of the collection. */
    readonly name?: string
  },
  signal: AbortSignal,
  receive: (event: WatchEvent | 'accepted') => void,
): Promise<void> {
  const seconds = Math.max(1, Math.round(from.milliseconds / 1_000))
  const query = new URLSearchParams({
    watch: '1',
    allowWatchBookmarks: 'true',
    resourceVersion: from.resourceVersion,
    timeoutSeconds: String(seconds),
    ...(from.name !== undefined && { fieldSelector: `metadata.name=${from.name}` }),
  })
  await api.stream(`${path}?${query}`, [signal], async (response, deadline) => {
    const awaitEvent = () => deadline.set(from.silence, () => new SilentWatch())
    awaitEvent()
    receive('accepted')
    for await (const line of lines(response as AsyncIterable<Buffer>)) {
      signal.throwIfAborted()
      awaitEvent()
      if (line.trim() !== '') receive(eventOf(parseJson(line)))
    }
    signal.throwIfAborted()
  })
}

const TYPES: Readonly<Record<string, WatchEvent['type']>> = {
  ADDED: 'put',
  MODIFIED: 'put',
  DELETED: 'remove',
  BOOKMARK: 'bookmark',
}

function eventOf(line: unknown): WatchEvent {
  const { type: name, object: resource } = isObject(line) ? line : {}
  if (!isObject(resource)) throw new Error('the watch sent something that is not an event')
  if (name === 'ERROR') throw errorOf(resource)
  const type = typeof name === 'string' && Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  const { resourceVersion } = metadataOf(resource)
  if (type === undefined || typeof resourceVersion !== 'string')
    throw new Error('the watch sent something that is not an event')
  return type === 'bookmark' ? { type, resourceVersion } : { type, resource, resourceVersion }
}

function errorOf({ code, message }: Record<string, unknown>): StatusError {
  return new StatusError(Number(code) || 500, typeof message === 'string' ? message.slice(0, 300) : '')
}
