import { pino } from 'pino'

const BATCH = 16_384
const MOST_MILLISECONDS = 1_000

/**
 * Standard output for a logger, written in batches of 16 KiB, or what there is after a second. The lines are kept apart
 * until then: pino's destination counts the bytes of all that it holds at each new line.
 */
export function logInBatches() {
  const destination = pino.destination({ dest: 1, sync: false })
  let lines: string[] = []
  let length = 0
  const write = () => {
    if (lines.length > 0) destination.write(lines.join(''))
    lines = []
    length = 0
  }
  setInterval(write, MOST_MILLISECONDS).unref()
  return {
    write(line: string) {
      lines.push(line)
      length += line.length
      if (length >= BATCH) write()
    },
    flushSync() {
      write()
      destination.flushSync()
    },
  }
}
