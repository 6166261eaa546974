/**
 * The cache of a large cluster: 10,000 objects in 100 namespaces and 2,000 more in one. Its memory above that of the
 * process without it, the time to fill it and to check every object, and the CPU time of a review beside it, with the same
 * review alone in turn. Run with --expose-gc: npm run bench.
 */
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import type { Judge, Submission } from '../src/engine/index.ts'
import { judgeOf } from '../test/support/review.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { crowd, NAMESPACES, objects, parsed } from './cluster.ts'

/** What the cache may take, and the CPU time that a review beside it may take, in milliseconds. */
const MOST_MEGABYTES = 100
const MOST_MILLISECONDS = 3
/** Memory without garbage: V8 keeps the pages of what is gone until it is asked, or until the limit of the container nears. */
function compacted(): NodeJS.MemoryUsage {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  return process.memoryUsage()
}

const CROWDED = 7
const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) })
const current = new CurrentFindings(state, () => judgeOf())
const before = compacted()
const start = performance.now()
let count = 0
for (let i = 0; i < NAMESPACES; i++) {
  const namespace = `namespace-${i}`
  for (const other of [...objects(namespace), ...(i === CROWDED ? crowd() : [])]) {
    const kind = kindNamed.get(other.kind)
    if (kind !== undefined) current.put(kind, parsed(other, namespace, count++))
  }
}
const put = performance.now() - start
const judging = performance.now()
current.startRound()
while (current.work(1_000));
const judged = performance.now() - judging
const grown = process.memoryUsage()
const after = compacted()
const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`

process.stdout.write(
  [
    '',
    '| cache | |',
    '|---|---|',
    `| objects | ${count} |`,
    `| heap above the empty cache | ${megabytes(after.heapUsed - before.heapUsed)} |`,
    `| resident memory above the empty cache | ${megabytes(after.rss - before.rss)} |`,
    `| with the garbage of reading it all | ${megabytes(grown.rss - before.rss)} |`,
    `| parsed and put in | ${((put / count) * 1e3).toFixed(0)} µs an object |`,
    `| checked beside the others | ${((judged / count) * 1e3).toFixed(0)} µs an object |`,
    `| current findings | ${current.count} |`,
    '',
    '',
  ].join('\n'),
)

const alone = judgeOf()
const beside = judgeOf({ state })

/** Microseconds of CPU time of one review. */
function time(submission: Submission, judge: Judge): number {
  const rounds = 200
  const begun = process.cpuUsage()
  for (let i = 0; i < rounds; i++) judge.admit(submission)
  return process.cpuUsage(begun).user / rounds
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

process.stdout.write('| review | alone | beside the cache |\n|---|---|---|\n')
const missed: string[] = []
const taken = (after.rss - before.rss) / 1024 / 1024
if (taken > MOST_MEGABYTES) missed.push(`${taken.toFixed(0)} MB`)
const samples = new Map([...objects('namespace-7'), ...crowd()].map((other) => [other.metadata.name, other]))
for (const name of [
  'team-3-gateway',
  'team-4-gateway',
  'team-3-tokens',
  'team-3-inject',
  'team-3-1',
  'team-3-5',
  'crowd-gateway',
  'crowd-key',
  'crowd-1',
]) {
  const other = samples.get(name)
  if (other === undefined) throw new Error(`no sample ${name}`)
  const submission: Submission = {
    operation: 'CREATE',
    group: DEFAULT_API_GROUP,
    kind: other.kind,
    namespace: 'namespace-7',
    name,
    subResource: '',
    dryRun: false,
    user: 'admin',
    object: parsed(other, 'namespace-7', 0),
    oldObject: undefined,
  }
  const pairs = Array.from({ length: 15 }, () => [time(submission, alone), time(submission, beside)] as const)
  const micros = median(pairs.map(([, b]) => b))
  if (micros > MOST_MILLISECONDS * 1e3) missed.push(`${name}: ${(micros / 1e3).toFixed(1)} ms`)
  const row = [
    `${other.kind} ${name}`,
    ...[median(pairs.map(([a]) => a)), micros].map((each) => `${each.toFixed(1)} µs`),
  ]
  process.stdout.write(`| ${row.join(' | ')} |\n`)
}
process.stdout.write(
  `\nAt most ${MOST_MEGABYTES} MB and ${MOST_MILLISECONDS} ms a review: ${missed.length === 0 ? 'held' : `missed (${missed.join('; ')})`}\n`,
)
if (missed.length > 0) process.exitCode = 1
