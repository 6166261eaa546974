import { chartMemory } from '../../test/support/container.ts'
import { median, milliseconds, percentile, table } from '../figures.ts'
import type { Calls } from './callers.ts'
import type { Fuzzed } from './fuzz.ts'
import { PHASES } from './phases.ts'
import type { Memory, Sample, World } from './world.ts'

/**
 * Megabytes an hour by which its own memory, and the heap that collections leave, may grow over the second half of a
 * run, and the minutes of a run in which that says something: below is noise.
 */
const SLOPE = { most: 12, minutes: 30 }
/** The share of the memory limit that its own memory may take at any time. */
const MOST_OWN = 0.5
/** The load average of each core above which it is the machine that is late. */
const BUSY = 3
/** Files that may be open at the end beside those of the start: connections that clients keep. */
const MORE_FILES = 80
const [MINUTE, HOUR] = [60_000, 3_600_000]

export interface Seen {
  readonly minutes: number
  /** The highest load average of a minute, of each core. */
  readonly load: number
  readonly rest: Memory
  /** Open files before the first bad client, and at the end. */
  readonly files: readonly [number, number]
  readonly calls: readonly Calls[]
  readonly bodies: Fuzzed
  /** How many bodies were to be sent. */
  readonly count: number
  readonly isLimited: boolean
}

export interface Promised {
  readonly text: string
  readonly isHeld: boolean
}

const number = (value: number) => value.toLocaleString('en')
const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0)
const mean = (values: readonly number[]) => sum(values) / values.length
const writesOf = (tallies: World['parts']['stream']['tallies']) =>
  sum(tallies.flatMap(({ counts }) => [...counts.values()]))

/** Megabytes an hour, by the line of least squares. */
function slopeOf(samples: readonly Sample[], field: keyof Memory | 'heap'): number {
  const at = mean(samples.map((each) => each.at))
  const value = mean(samples.map((each) => each[field]))
  const covariance = sum(samples.map((each) => (each.at - at) * (each[field] - value)))
  return (covariance / sum(samples.map((each) => (each.at - at) ** 2))) * HOUR
}

/** The samples of the second half, between the phases: bad clients take memory for their connections. */
function secondHalf(samples: readonly Sample[]): Sample[] {
  const quiet = samples.filter(({ phase }) => phase === 'quiet')
  const middle = ((quiet[0]?.at ?? 0) + (quiet.at(-1)?.at ?? 0)) / 2
  return quiet.filter(({ at }) => at > middle)
}

const growthOf = (samples: readonly Sample[]) => {
  const half = secondHalf(samples)
  return {
    resident: slopeOf(half, 'resident'),
    own: slopeOf(half, 'own'),
    heap: slopeOf(leastOfMinutes(half), 'heap'),
  }
}

/** The samples with the smallest heap of each minute, which come after a collection of garbage. */
function leastOfMinutes(samples: readonly Sample[]): Sample[] {
  const minutes = Map.groupBy(
    samples.filter(({ heap }) => !Number.isNaN(heap)),
    ({ at }) => Math.floor(at / MINUTE),
  )
  return [...minutes.values()].map((all) => all.reduce((one, other) => (other.heap < one.heap ? other : one)))
}

/** What the product promises of bad days, and whether it held. */
export async function promises(world: World, seen: Seen): Promise<Promised[]> {
  const { parts, samples, leaves, broken, missed } = world
  const { minutes, load, files, calls, bodies, count } = seen
  const reviews = sum(calls.map(({ latencies }) => latencies.length))
  const failures = sum(calls.map((each) => each.failures))
  const late = sum(calls.map((each) => each.late))
  const faults = sum(parts.stream.tallies.map((each) => each.faults))
  const renewals = leaves.size - 1
  const statuses = Object.entries(bodies.statuses).map(([status, times]) => `${status}: ${number(times)}`)
  const more = files[1] - files[0]
  const growth = growthOf(samples)
  const mostOwn = Math.max(...samples.map(({ own }) => own))
  const none = async (name: string): Promise<Promised> => {
    const times = await world.metric(name)
    return { isHeld: times === 0, text: `${name}: ${times}` }
  }
  return [
    {
      isHeld: failures === 0,
      text: `each of ${number(reviews)} reviews is answered as on a quiet day; not so: ${failures}`,
    },
    {
      isHeld: late === 0 || load > BUSY,
      text: `each is answered within 5 s, unless the machine is too busy (${load.toFixed(1)} processes wait for each core); not so: ${late}`,
    },
    {
      isHeld: faults === 0,
      text: `each of ${number(writesOf(parts.stream.tallies))} writes through the API server is judged rightly; not so: ${faults}`,
    },
    {
      isHeld: bodies.sent === count && bodies.faults.length === 0,
      text: `each of ${number(count)} fuzzed bodies gets a verdict, 400, 413 or 415; ${number(bodies.sent)} sent, ${statuses.join(', ')}`,
    },
    await none('vmcp_admission_rule_failures_total'),
    await none('vmcp_admission_uncaught_errors_total'),
    {
      isHeld: renewals >= Math.floor(minutes) - 1,
      text: `the certificate is renewed every minute: ${renewals} times`,
    },
    { isHeld: more <= MORE_FILES, text: `bad clients leave no open files: ${more} more than before` },
    ...(minutes < SLOPE.minutes
      ? []
      : [
          {
            isHeld: growth.heap <= SLOPE.most,
            text: `the heap after collections has no slope: ${growth.heap.toFixed(1)} MB an hour`,
          },
          {
            isHeld: growth.own <= SLOPE.most,
            text: `memory has no slope: ${growth.own.toFixed(1)} MB an hour`,
          },
        ]),
    {
      isHeld: mostOwn <= MOST_OWN * chartMemory(),
      text: `memory without pages of files stays below half of the limit: ${mostOwn.toFixed(0)} of ${chartMemory()} MB`,
    },
    { isHeld: broken.length === 0, text: `all is well after each phase; not so: ${broken.join('; ') || 0}` },
    { isHeld: missed.length === 0, text: `each phase has what it is for; not so: ${missed.join('; ') || 0}` },
  ]
}

/** What was seen, as Markdown. */
export function report({ parts, samples, slowest, connections, logged }: World, seen: Seen): string {
  const { minutes, rest, calls, bodies, isLimited } = seen
  const { stream, server, seed } = parts
  const rows = ['quiet', ...PHASES.map(({ name }) => name)].map((name) => {
    const own = calls.filter(({ phase }) => phase === name)
    const tallies = stream.tallies.filter(({ phase }) => phase === name)
    const latencies = own.flatMap((each) => each.latencies)
    const opened = connections.get(name)
    return [
      opened === undefined ? name : `${name}, ${number(opened)}`,
      number(latencies.length),
      number(sum(own.map(({ failures, late }) => failures + late))),
      ...[
        median(latencies),
        percentile(latencies, 0.99),
        percentile(latencies, 1),
        slowest.get(name) ?? NaN,
      ].map(milliseconds),
      number(writesOf(tallies)),
      number(sum(tallies.map(({ faults }) => faults))),
      number(sum(tallies.map(({ excused }) => excused))),
    ]
  })
  const head = [
    'phase',
    'reviews',
    'failed',
    'p50',
    'p99',
    'worst',
    'worst by the log',
    'writes',
    'failed',
    'API server away',
  ]
  const growth = growthOf(samples)
  const last = samples.at(-1) ?? rest
  const both = ({ resident, own }: Memory, digits = 0) =>
    `${resident.toFixed(digits)} (${own.toFixed(digits)}) MB`
  const requests = sum(calls.map(({ latencies }) => latencies.length)) + bodies.sent
  const failed = [
    ...calls.flatMap(({ phase, texts }) => texts.map((text) => `${phase}: ${text}`)),
    ...stream.tallies.flatMap(({ phase, texts }) => Array.from(texts, (text) => `${phase}: ${text}`)),
    ...bodies.faults.map((text) => `fuzzed: ${text}`),
  ]
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`${title}:\n\n${lines.map((line) => `- ${line}`).join('\n')}`]
  return [
    `${minutes.toFixed(1)} minutes, seed ${seed}.`,
    table(head, rows),
    `Memory, in parentheses without pages of files: ${both(rest)} at rest, ${both(last)} after ${number(requests)} requests, ${server.memory('VmHWM').toFixed(0)} MB at the peak, ${isLimited ? 'in a cgroup' : 'without a cgroup, meant for one'} of ${chartMemory()} MB. Over the second half it grows by ${both(growth, 1)} an hour, the heap that collections leave by ${growth.heap.toFixed(1)} MB.`,
    ...list(
      'The log',
      Array.from(logged, ([text, times]) => `${number(times)} times ${text}`),
    ),
    ...list('Answers that failed, or that the API server did not give', failed),
  ].join('\n\n')
}
