import { write, writeSync } from 'node:fs'

const BATCH = 16_384
const MOST_MILLISECONDS = 1_000
/** Characters that wait for a slow reader; lines beyond are lost. */
const MOST_WAITING = 4 * 1024 * 1024
/** Milliseconds between tries, and how many there are at the end, while a reader is slow. */
const PAUSE = 10
const TRIES = 100
const STDOUT = 1
const NOTHING = Buffer.alloc(0)

const isSlow = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

/**
 * Standard output for a logger, written in batches of 16 KiB, or what there is after a second; the rest when the process
 * exits. A reader that has gone loses its lines, and nothing else comes of it: pino's own destination would try for ever.
 */
export function logInBatches() {
  let lines: string[] = []
  let length = 0
  let sending: Buffer = NOTHING
  let underWay = false
  const take = () => {
    const taken = Buffer.from(lines.join(''))
    lines = []
    length = 0
    return taken
  }
  const send = () => {
    if (underWay) return
    if (sending.length === 0) sending = take()
    if (sending.length === 0) return
    underWay = true
    write(STDOUT, sending, (error, written) => {
      underWay = false
      if (error === null) sending = sending.subarray(written)
      else if (!isSlow(error)) sending = NOTHING
      if (error === null && (sending.length > 0 || length >= BATCH)) send()
    })
  }
  const flushSync = () => {
    let left = Buffer.concat([underWay ? NOTHING : sending, take()])
    if (!underWay) sending = NOTHING
    for (let tries = TRIES; left.length > 0 && tries > 0;) {
      try {
        left = left.subarray(writeSync(STDOUT, left))
      } catch (error) {
        if (!isSlow(error)) return
        tries -= 1
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
      }
    }
  }
  setInterval(send, MOST_MILLISECONDS).unref()
  process.on('exit', flushSync)
  return {
    write(line: string) {
      if (length > MOST_WAITING) return
      lines.push(line)
      length += line.length
      if (length >= BATCH) send()
    },
    flushSync,
  }
}
