import type { CelGoVersion } from '../../../cel/index.ts'
import type { Claims } from '../../../access/role/claims.ts'
import { type Evaluation, type Limits, LIMITS, outOfTime } from '../../../access/role/matcher.ts'
import { startWorker } from '../../program-files.ts'

/** The input of the worker thread that evaluates matchers. */
export interface Task {
  readonly matchers: readonly string[]
  readonly claims: Claims
  readonly celGo: CelGoVersion
  readonly limits: Limits
}

/** Milliseconds for the worker thread to load its modules, added to the time limit of the evaluation. */
const START_MILLISECONDS = 3_000

/**
 * Evaluates matchers in a worker thread; the keys of the result are the texts of the matchers. The thread is stopped
 * when a regular expression takes too long or the heap is too large (`limits`); the remaining matchers then get the
 * result `stopped`.
 */
export async function evaluations(
  matchers: Iterable<string>,
  claims: Claims,
  celGo: CelGoVersion,
  limits: Limits = LIMITS,
): Promise<ReadonlyMap<string, Evaluation>> {
  const task: Task = { matchers: [...new Set(matchers)], claims, celGo, limits }
  const found = new Map<string, Evaluation>()
  const end = task.matchers.length === 0 ? '' : await work(task, found)
  for (const matcher of task.matchers) {
    if (!found.has(matcher)) found.set(matcher, { kind: 'stopped', message: end })
  }
  return found
}

/**
 * Runs the worker thread and adds its results to `found`. Resolves to a text that says why results may be missing:
 * lack of time or memory.
 */
function work(task: Task, found: Map<string, Evaluation>): Promise<string> {
  const { limits } = task
  return new Promise((resolve, reject) => {
    const worker = startWorker('worker.js', {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: limits.megabytes },
    })
    let timer: NodeJS.Timeout | undefined
    worker.once('online', () => {
      timer = setTimeout(() => void worker.terminate(), START_MILLISECONDS + limits.milliseconds)
    })
    worker.on('message', ([matcher, evaluation]: [string, Evaluation]) => found.set(matcher, evaluation))
    worker.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve('for lack of memory')
      else reject(error)
    })
    worker.on('exit', () => {
      clearTimeout(timer)
      resolve(outOfTime(limits))
    })
  })
}
