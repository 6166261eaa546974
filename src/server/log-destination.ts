import { write, writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'

const BATCH = 16_384
const MOST_MILLISECONDS = 1_000
/** Characters of log lines that may wait for a slow reader; further lines are dropped. */
const MOST_WAITING = 4 * 1024 * 1024
/** Milliseconds between attempts to write the last lines to a slow reader; there are at most `ATTEMPTS` attempts. */
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
 * rest when the process exits. While the reader is 4 MiB behind or gone, it drops and counts lines.
 *
 * Not pino.destination, which calls `flushSync` of sonic-boom 4.2 at exit: that repeats a write that failed with EPIPE
 * forever, so that a server whose log reader is gone would not stop on SIGTERM.
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
    // A batch that is being written is not sent again, because the operating system already has it.
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
    /** Writes all waiting lines before it returns; gives up after a second if the reader is slow. */
    flushSync,
    /** Number of log lines that were dropped since the start. */
    dropped: () => dropped,
  }
}

/** A logger that writes JSON lines, each with the time in ISO format and the name of the level. */
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
