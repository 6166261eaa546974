import { Agent, request } from 'node:https'
import { setTimeout } from 'node:timers/promises'

export interface Answer {
  /** 0 where there was no answer. */
  readonly status: number
  readonly text: string
}

/** How a client calls: with connections of its own, from an address of its own. */
export interface Caller {
  readonly port: number
  readonly agent: Agent
  readonly localAddress: string
}

export const callerOf = (port: number, localAddress: string): Caller => ({
  port,
  agent: new Agent({ keepAlive: true, maxSockets: 32 }),
  localAddress,
})

/** Milliseconds after which a call ends without an answer. */
const LONGEST = 20_000

/**
 * Sends a review. As Go's transport does for an API server, it sends once more where a kept connection was closed before
 * any byte of an answer.
 */
export async function call(caller: Caller, path: string, body: Buffer): Promise<Answer> {
  for (;;) {
    const answer = await send(caller, path, body)
    if (answer !== 'closed') return answer
  }
}

function send({ port, agent, localAddress }: Caller, path: string, body: Buffer): Promise<Answer | 'closed'> {
  return new Promise((resolve) => {
    const sent = request(
      {
        method: 'POST',
        host: '127.0.0.1',
        port,
        path: `${path}?timeout=5s`,
        agent,
        localAddress,
        rejectUnauthorized: false,
        headers: { 'content-type': 'application/json', 'content-length': body.length },
        timeout: LONGEST,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.on('error', (error) => resolve({ status: 0, text: error.message }))
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve(
        sent.reusedSocket && error.code === 'ECONNRESET' ? 'closed' : { status: 0, text: error.message },
      ),
    )
    sent.end(body)
  })
}

/** Milliseconds between two looks at what is due. */
const TICK = 5

/**
 * Makes `rate` calls a second, each at its time whether or not the one before is answered, but no more than `most` at a
 * time; `call` is given how many milliseconds late it is. Ends after `count` calls, or when `isOver` says so.
 */
export async function pace(
  { rate, most, count = Infinity }: { rate: number; most: number; count?: number },
  call: (late: number) => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  const start = performance.now()
  const running = new Set<Promise<void>>()
  for (let begun = 0; begun < count && !isOver();) {
    const due = Math.min(count, ((performance.now() - start) * rate) / 1_000)
    while (begun < due && running.size < most) {
      const late = performance.now() - start - (begun * 1_000) / rate
      begun += 1
      const each = call(late).finally(() => running.delete(each))
      running.add(each)
    }
    await setTimeout(TICK)
  }
  await Promise.all(running)
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
