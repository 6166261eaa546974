import { type Profiler, Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'

// Optimised code does not count its blocks: what runs before the first count must not be optimised either.
setFlagsFromString('--no-opt')
setFlagsFromString('--no-maglev')

/**
 * How many blocks of the code in src/ each piece of work runs: a measure that is the same on every machine. What the
 * engine copies by itself is not seen.
 */
export function stepsOf(...works: readonly (() => void)[]): number[] {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const counts = works.map((work) => {
    work()
    let taken: Profiler.TakePreciseCoverageReturnType = { result: [] }
    session.post('Profiler.takePreciseCoverage', (_, coverage) => (taken = coverage))
    return taken.result
      .filter(({ url }) => url.includes('/src/'))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
      .reduce((sum, { count }) => sum + count, 0)
  })
  session.disconnect()
  return counts
}
