import { JUDGEMENT } from '../../../src/engine/rules.ts'
import type { Result } from './candidate.ts'

/** Most units that the submitted and the stored object spend together. */
const MOST_UNITS = 2 * JUDGEMENT
/** Most bytes of memory that a judgement takes beside what the process has. */
const MOST_BYTES = 64e6
/** Most blocks of code for each unit that is spent, and for each byte of the object and of the stored one: compiling takes 400. */
export const MOST_BLOCKS = 600

/** Why a candidate is no bounded one; undefined where it is. */
export function problemOf(result: Result): string | undefined {
  if (result.ended === 'crashed') return `the process ended: ${result.how}`
  if (result.ended === 'killed') return `not answered after ${result.afterMs} ms`
  const { units, failures, peakBytes = 0 } = result
  if (failures.length > 0) return failures.join('; ')
  if (units === undefined) return 'no units are counted'
  if (units > MOST_UNITS) return `${units} units`
  return peakBytes > MOST_BYTES ? `${(peakBytes / 1e6).toFixed(0)} MB` : undefined
}
