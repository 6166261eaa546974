/**
 * Looks for the folders, and the messages of an editor, on which a command takes most CPU or memory for what it reads, and
 * prints the worst of each place, measured again alone, and where the time goes.
 * Run: npm run worst-cases -- runs [MINUTES] [SEED] [cpu|memory]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CommandSearch,
  describeRun,
  type JudgedRun,
  problemOfRun,
  RUN_MEASURES,
} from '../test/support/worst-cases/command-search.ts'
import { runOf } from '../test/support/worst-cases/command-plans.ts'
import { hottestIn, run } from '../test/support/worst-cases/running.ts'

export async function searchRuns(minutes: number, seed: number, name: string): Promise<void> {
  if (name !== 'cpu' && name !== 'memory')
    throw new Error(`'${name}' is none of ${Object.keys(RUN_MEASURES).join(', ')}`)
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const search = new CommandSearch(seed, name, run, (judged) => say(`found ${describeRun(judged)}`))
  const until = Date.now() + minutes * 60_000
  await search.run(() => Date.now() > until)
  say(`judged ${search.count} runs with seed ${seed}`)
  for (const judged of search.worst().slice(0, 20)) await confirm(judged, say)
}

async function confirm(judged: JudgedRun, say: (line: string) => void): Promise<void> {
  say(describeRun(judged))
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-profile-'))
  const made = runOf(judged.plan)
  const result = await run(made, { profile: folder, limitMs: 120_000 })
  say(`    again: ${problemOfRun(result, made) ?? 'within its bounds'}`)
  for (const { where, ms } of hottestIn(folder).slice(0, 4)) say(`    ${ms.toFixed(0)} ms ${where}`)
  rmSync(folder, { recursive: true })
}
