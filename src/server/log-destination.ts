import { write, writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'

const BATCH = 16_384
const MOST_MILLISECONDS = 1_000
/** Characters that may wait for a slow reader; lines beyond are dropped. */
const MOST_WAITING = 4 * 1024 * 1024
/** Milliseconds between two attempts, and the most attempts, to write the last lines to a slow reader. */
const PAUSE = 10
const ATTEMPTS = 100
const STDOUT = 1

interface Batch {
  bytes: Buffer
  readonly lines: number
}

const isSlow = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

/**
 * Standard output as a destination for pino, which never waits for it: written in batches of 16 KiB or once a second, and
 * what is left when the process exits. Lines are dropped and counted when the reader is 4 MiB behind or has gone.
 *
 * Not pino.destination: `flushSync` of sonic-boom 4.2, which it calls at the exit, repeats a write that failed with EPIPE
 * for ever, so that a server whose log reader has gone does not end on SIGTERM.
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
    // A batch that is being written now arrives by itself.
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
    /** Writes what waits and returns when it is written, or after a second with a slow reader. */
    flushSync,
    /** Lines that were dropped. */
    dropped: () => dropped,
  }
}

/** A log of lines of JSON, each with the ISO time and the name of its level. */
export const openLog = (destination: DestinationStream, level = 'info'): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
