import { write, writeSync } from 'node:fs'

const BATCH = 16_384
const MOST_MILLISECONDS = 1_000
/** Characters that may wait for a slow reader; lines beyond are dropped. */
const MOST_WAITING = 4 * 1024 * 1024
/** Milliseconds between two attempts to write the last lines to a slow reader, and below the most attempts. */
const PAUSE = 10
const ATTEMPTS = 100
const STDOUT = 1

interface Batch {
  bytes: Buffer
  readonly lines: number
}

const isSlow = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

/**
 * Standard output as a destination for pino that never blocks: it writes in batches of 16 KiB or once a second, and the
 * rest when the process exits. It drops and counts lines while the reader is 4 MiB behind, or gone.
 *
 * Not pino.destination: at the exit that calls `flushSync` of sonic-boom 4.2, which repeats a write that failed with
 * EPIPE for ever, so that a server whose log reader is gone does not end on SIGTERM.
 */
export function logDestination() {
  let lines: string[] = []
  let length = 0
  let sending: Batch | undefined
  let isWriting = false
  let dropped = 0
  const take = (): Batch | undefined => {
    if (lines.length === 0) return undefined
    const taken = { bytes: Buffer.from(lines.join('')), lines: lines.length }
    lines = []
    length = 0
    return taken
  }
  const send = () => {
    if (isWriting) return
    const batch = (sending ??= take())
    if (batch === undefined) return
    isWriting = true
    write(STDOUT, batch.bytes, (error, written) => {
      isWriting = false
      if (error === null) batch.bytes = batch.bytes.subarray(written)
      else if (!isSlow(error)) {
        dropped += batch.lines
        sending = undefined
      }
      if (batch.bytes.length === 0) sending = undefined
      if (error === null && (sending !== undefined || length >= BATCH)) send()
    })
  }
  const flushSync = () => {
    // The operating system already has a batch that is being written.
    const batches = [isWriting ? undefined : sending, take()]
    if (!isWriting) sending = undefined
    let left = Buffer.concat(batches.map((batch) => batch?.bytes ?? Buffer.alloc(0)))
    for (let attempts = ATTEMPTS; left.length > 0 && attempts > 0;) {
      try {
        left = left.subarray(writeSync(STDOUT, left))
      } catch (error) {
        if (!isSlow(error)) return
        attempts -= 1
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE)
      }
    }
  }
  setInterval(send, MOST_MILLISECONDS).unref()
  process.on('exit', flushSync)
  return {
    write(line: string) {
      if (length > MOST_WAITING) {
        dropped += 1
        return
      }
      lines.push(line)
      length += line.length
      if (length >= BATCH) send()
    },
    /** Writes all waiting lines before it returns; gives up after a second with a slow reader. */
    flushSync,
    /** Number of lines dropped so far. */
    dropped: () => dropped,
  }
}
