import { choice, readFlags, toggle, UsageError } from '../configuration/flags.ts'
import { JUDGING_FLAGS } from '../configuration/judging.ts'
import { compare } from '../review/plan/comparison.ts'
import { type Plan, plansOf } from '../review/plan/plan.ts'
import { readDocuments } from './documents.ts'
import { type Reading, worldOf } from './given-world.ts'
import { changesMermaid, planMermaid } from './plan/mermaid.ts'
import { changesText, planText } from './plan/text.ts'
import { READING_FLAGS, tellUnread, valuesFor } from './reading.ts'
import type { Located } from './report.ts'

export const PLAN_FLAGS = {
  output: choice('how to print', ['human', 'json', 'mermaid'], 'human'),
  together: toggle('two files or folders are one plan, not an old and a new one'),
  ...READING_FLAGS,
  'api-group': JUDGING_FLAGS['api-group'],
}

/** Prints who is authenticated how, or what changes between two states; returns the exit code. Throws UsageError. */
export async function plan(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(PLAN_FLAGS, args, environment)
  if (positionals.length === 0)
    throw new UsageError('name the files or folders to plan, an old and a new one, or - for standard input')
  const reading = { group: flags['api-group'], namespace: flags.namespace }
  const read = (names: readonly string[]) => plansIn(names, valuesFor(flags, environment), reading)
  const [old, now] = positionals
  const { text, unread } =
    positionals.length === 2 && old !== undefined && now !== undefined && !flags.together
      ? await comparison(old, now, read, flags.output)
      : single(await read(positionals), flags.output)
  tellUnread(unread)
  process.stdout.write(text)
  return unread.length > 0 ? 3 : 0
}

interface Read {
  readonly plans: readonly Plan[]
  readonly unread: readonly Located[]
}

interface Printed {
  readonly text: string
  readonly unread: readonly Located[]
}

type Output = 'human' | 'json' | 'mermaid'

function single({ plans, unread }: Read, output: Output): Printed {
  const printers = {
    human: () => planText(plans),
    mermaid: () => planMermaid(plans),
    json: () => json({ virtualMCPServers: plans, unread }),
  }
  return { text: printers[output](), unread }
}

async function comparison(
  old: string,
  now: string,
  read: (names: readonly string[]) => Promise<Read>,
  output: Output,
): Promise<Printed> {
  if (old === '-' && now === '-') throw new UsageError('only one of the two can be standard input')
  const [before, after] = [await read([old]), await read([now])]
  const unread = [...before.unread, ...after.unread]
  // Two files that belong together are easily taken for two states.
  if ((before.plans.length === 0) !== (after.plans.length === 0)) {
    const empty = before.plans.length === 0 ? old : now
    process.stderr.write(
      `no VirtualMCPServer in ${empty}: this compares ${old} with ${now}; --together makes them one plan\n`,
    )
  }
  const changes = compare(before.plans, after.plans)
  const printers = {
    human: () => changesText(changes),
    mermaid: () => changesMermaid(changes),
    json: () => json({ changes, unread }),
  }
  return { text: printers[output](), unread }
}

const json = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`

async function plansIn(
  names: readonly string[],
  filled: ReadonlyMap<string, string>,
  reading: Reading,
): Promise<Read> {
  const { documents, unread } = await readDocuments(names, filled)
  const world = worldOf(
    documents.map(({ document }) => document.value),
    reading,
  )
  return { plans: plansOf(world), unread }
}
