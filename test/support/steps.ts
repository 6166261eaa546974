import { type Profiler, Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'

// Optimised code does not count its blocks, so nothing may be optimised before the first measurement.
setFlagsFromString('--no-opt')
setFlagsFromString('--no-maglev')

/**
 * The number of executed blocks of code in src/ for each function: the same on every machine. Work inside V8, such as
 * copying, is not counted.
 */
export function stepsOf(...works: readonly (() => void)[]): number[] {
  taken()
  return works.map((work) => {
    work()
    return taken()
  })
}

let session: Session | undefined

/** The number of blocks executed since the last call. */
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
