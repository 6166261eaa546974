/** Preloaded into servers of the tests: Date is ahead by the milliseconds in the file $CLOCK_FILE. */
import { readFileSync } from 'node:fs'

const RightDate = Date
/** Milliseconds after which the file is read again. */
const FRESH = 100
let read = -Infinity
let ahead = 0

function now(): number {
  if (performance.now() - read > FRESH) {
    ahead = Number(readFileSync(process.env.CLOCK_FILE ?? '', 'utf8'))
    read = performance.now()
  }
  return RightDate.now() + ahead
}

class WrongDate extends RightDate {
  constructor(...given: readonly number[]) {
    super(...((given.length === 0 ? [now()] : given) as [number]))
  }

  static override now(): number {
    return now()
  }
}

globalThis.Date = WrongDate as DateConstructor
