import { JUDGEMENT } from '../../../src/engine/rules.ts'
import type { Result } from './candidate.ts'

/** The most budget units that judging the submitted and the stored object may spend together. */
const MOST_UNITS = 2 * JUDGEMENT
/** The most bytes by which judging an object may raise the memory of the process. */
const MOST_BYTES = 64e6
/**
 * The most executed blocks of code for each budget unit spent, and for each byte of the submitted and the stored
 * object. Compiling a pattern takes 400.
 */
export const MOST_BLOCKS = 600

/** The bound that the result exceeds; undefined when it exceeds none. */
export function problemOf(result: Result): string | undefined {
  if (result.ended === 'crashed') return `the process ended: ${result.how}`
  if (result.ended === 'killed') return `not answered after ${result.afterMs} ms`
  const { units, failures, peakBytes = 0 } = result
  if (failures.length > 0) return failures.join('; ')
  if (units === undefined) return 'no units are counted'
  if (units > MOST_UNITS) return `${units} units`
  return peakBytes > MOST_BYTES ? `${(peakBytes / 1e6).toFixed(0)} MB` : undefined
}
