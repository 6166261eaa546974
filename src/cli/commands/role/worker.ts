import { parentPort, workerData } from 'node:worker_threads'
import { fromJson } from '../../../cel/index.ts'
import { bounded, evaluateMatcher } from '../../../access/role/matcher.ts'
import type { Task } from './evaluations.ts'

const { matchers, claims, celGo, limits } = workerData as Task
const values = fromJson(claims)
const now = () => performance.now()
const until = now() + limits.milliseconds
for (const matcher of matchers) {
  parentPort?.postMessage([matcher, evaluateMatcher(matcher, values, celGo, bounded(limits, until, now))])
}
