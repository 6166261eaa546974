/** Preloaded by a server of the tests: its Date is ahead by as many milliseconds as the file $CLOCK_FILE says. */
import { readFileSync } from 'node:fs'

const RightDate = Date
const now = () => RightDate.now() + Number(readFileSync(process.env.CLOCK_FILE ?? '', 'utf8'))

class WrongDate extends RightDate {
  constructor(...given: readonly number[]) {
    super(...((given.length === 0 ? [now()] : given) as [number]))
  }

  static override now(): number {
    return now()
  }
}

globalThis.Date = WrongDate as DateConstructor
