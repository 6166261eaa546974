import { visible } from './visible.ts'

const QUIET_MS = 2_000
const EVERY_MS = 200

/** Shows the progress of a long run on a terminal, on one line that is removed at the end. */
export interface Progress {
  /** Sets the current activity, such as `judging 120 of 4000 documents`; `text` is called only when it is printed. */
  readonly tell: (text: () => string) => void
  readonly end: () => void
}

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

/** Makes a progress line; it prints nothing in the first two seconds, without a terminal, or with `quiet`. */
export function progressOn(stream: Stream, quiet: boolean, now = () => performance.now()): Progress {
  if (!stream.isTTY || quiet) return { tell: () => undefined, end: () => undefined }
  const start = now()
  let last = -Infinity
  let text = () => ''
  const show = () => {
    last = now()
    stream.write(`\r\u001b[K${visible(text())}`)
  }
  // The timer prints while the program waits for a cluster or a disk; during a busy loop `tell` prints.
  const timer = setTimeout(show, QUIET_MS)
  timer.unref()
  return {
    tell: (next) => {
      text = next
      const time = now()
      if (time - start >= QUIET_MS && time - last >= EVERY_MS) show()
    },
    end: () => {
      clearTimeout(timer)
      if (last > -Infinity) stream.write('\r\u001b[K')
    },
  }
}
