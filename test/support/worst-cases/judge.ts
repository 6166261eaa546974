// A process that judges one object after the other, each as the server does: for /mutate, for /validate, and then as a
// stored object.
import { readFileSync, writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { DEFAULT_API_GROUP, kindNamed } from '../../../src/kinds/index.ts'
import { ClusterState } from '../../../src/state/cluster-state.ts'
import type { ObjectJudgement, Submission } from '../../../src/engine/index.ts'
import { judgeOf } from '../review.ts'
import type { Candidate, Cost, Resource } from './candidate.ts'

/** A message from the parent process: `blocks` counts executed blocks of code, `profile` samples the stack. */
export interface Question {
  readonly candidate: Candidate
  readonly blocks?: boolean
  readonly profile?: boolean
}

/** Functions with their self time in milliseconds, the longest first. */
export type Profile = readonly { readonly where: string; readonly ms: number }[]
export interface Answer {
  readonly cost: Cost
  readonly profile?: Profile
}

const session = new Session()
session.connect()
session.post('Profiler.enable')
let counting = false

/** Starts or stops counting blocks; counting makes code slower. */
function countBlocks(on: boolean): void {
  if (on === counting) return
  if (on) session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  else session.post('Profiler.stopPreciseCoverage')
  counting = on
}

function takeBlocks(): Pick<Cost, 'blocks' | 'hottest'> {
  let taken: Profiler.TakePreciseCoverageReturnType = { result: [] }
  session.post('Profiler.takePreciseCoverage', (_, coverage) => (taken = coverage))
  let blocks = 0
  let hottest = { where: '', count: 0 }
  for (const { url, functions } of taken.result) {
    if (!url.startsWith('file:') || url.includes('/test/')) continue
    for (const { functionName, ranges } of functions) {
      let count = 0
      for (const range of ranges) count += range.count
      blocks += count
      if (count > hottest.count)
        hottest = { where: placeOf(url, functionName || `at ${ranges[0]?.startOffset}`), count }
    }
  }
  return { blocks, hottest: hottest.where }
}

const placeOf = (url: string, name: string): string =>
  `${url.replace(/^.*\/(?:src|node_modules)\//, '')} ${name}`

/** Bytes of resident memory: VmHWM is the peak since `resetPeak`, VmRSS the current size. */
function resident(field: 'VmHWM' | 'VmRSS'): number | undefined {
  try {
    const found = new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return found === undefined ? undefined : Number(found) * 1_024
  } catch {
    return undefined
  }
}

/** Resets VmHWM (proc(5), clear_refs). */
function resetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // Without /proc (not Linux), the peak stays unknown.
  }
}

const nameOf = ({ metadata }: Resource): string => (metadata as { name?: string } | undefined)?.name ?? ''

function actsOf({ object, oldObject, others }: Candidate): readonly (() => Partial<ObjectJudgement>)[] {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) })
  const put = (stored: Resource) => {
    const kind = kindNamed.get(stored.kind)
    if (kind !== undefined) state.put(kind, stored)
  }
  for (const other of others) put(other)
  if (oldObject !== undefined) put(oldObject)
  const submission: Submission = {
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    group: DEFAULT_API_GROUP,
    kind: object.kind,
    namespace: 'default',
    name: nameOf(object),
    subResource: '',
    dryRun: false,
    user: '',
    object,
    oldObject,
  }
  const judge = judgeOf({ state })
  const { kind, namespace, name } = submission
  return [
    () => {
      judge.complete(submission)
      return {}
    },
    () => judge.admit(submission),
    () => {
      put(object)
      const known = kindNamed.get(kind)
      return known === undefined ? {} : judge.stored({ kind: known, namespace, name, object })
    },
  ]
}

function costOf(candidate: Candidate, blocks: boolean): Cost {
  const acts = actsOf(candidate)
  countBlocks(blocks)
  if (blocks) takeBlocks()
  resetPeak()
  const before = resident('VmRSS')
  let cpuMs = 0
  let units: number | undefined
  let findings = 0
  const failures: string[] = []
  for (const act of acts) {
    const begun = process.cpuUsage()
    const outcome: Partial<ObjectJudgement> & { readonly spent?: number } = act()
    const { user, system } = process.cpuUsage(begun)
    cpuMs = Math.max(cpuMs, (user + system) / 1_000)
    if (outcome.spent !== undefined) units = Math.max(units ?? 0, outcome.spent)
    findings += (outcome.errors?.length ?? 0) + (outcome.warnings?.length ?? 0)
    for (const { id, failure } of outcome.failures ?? []) failures.push(`${id}: ${String(failure)}`)
  }
  const peak = resident('VmHWM')
  return {
    cpuMs,
    findings,
    failures,
    ...(units !== undefined && { units }),
    ...(before !== undefined && peak !== undefined && { peakBytes: Math.max(0, peak - before) }),
    ...(blocks && takeBlocks()),
  }
}

/** Judges the object while it samples the stack. */
function profiled(candidate: Candidate): Answer {
  session.post('Profiler.setSamplingInterval', { interval: 500 })
  session.post('Profiler.start')
  const cost = costOf(candidate, false)
  let taken: Profiler.StopReturnType | undefined
  session.post('Profiler.stop', (_, profile) => (taken = profile))
  const { nodes = [], samples = [], timeDeltas = [] } = taken?.profile ?? {}
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const spent = new Map<string, number>()
  samples.forEach((id, i) => {
    const { functionName = '', url = '' } = byId.get(id)?.callFrame ?? {}
    const where = placeOf(url, functionName)
    spent.set(where, (spent.get(where) ?? 0) + (timeDeltas[i] ?? 0) / 1_000)
  })
  const profile = Array.from(spent, ([where, ms]) => ({ where, ms }))
    .filter(({ where }) => !/ \((?:program|idle|root)\)$|^node:|\/test\//.test(where))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, 5)
  return { cost, profile }
}

process.on('message', ({ candidate, blocks = false, profile = false }: Question) => {
  const answer: Answer = profile ? profiled(candidate) : { cost: costOf(candidate, blocks) }
  process.send?.(answer)
})
