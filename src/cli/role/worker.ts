import { parentPort, workerData } from 'node:worker_threads'
import { fromJson } from './cel/values.ts'
import { bounded, evaluateMatcher } from './matcher.ts'
import type { Task } from './evaluations.ts'

const { matchers, claims, limits } = workerData as Task
const values = fromJson(claims)
const now = () => performance.now()
const until = now() + limits.milliseconds
for (const matcher of matchers) {
  parentPort?.postMessage([matcher, evaluateMatcher(matcher, values, bounded(limits, until, now))])
}
