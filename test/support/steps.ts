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
  taken()
  return works.map((work) => {
    work()
    return taken()
  })
}

let session: Session | undefined

/** The blocks that were run since the last call. */
function taken(): number {
  if (session === undefined) {
    session = new Session()
    session.connect()
    session.post('Profiler.enable')
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }
  let coverage: Profiler.TakePreciseCoverageReturnType = { result: [] }
  session.post('Profiler.takePreciseCoverage', (_, result) => (coverage = result))
  let steps = 0
  for (const { url, functions } of coverage.result)
    if (url.includes('/src/'))
      for (const { ranges } of functions) for (const { count } of ranges) steps += count
  return steps
}
