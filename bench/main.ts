import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { format, resolveConfig } from 'prettier'
import { access } from './access.ts'
import { attackers } from './attackers.ts'
import { openConnection, requestOf } from './client.ts'
import { check } from './cli.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { cpu, gate } from './cpu.ts'
import { rareCalls } from './rare.ts'
import { mixedReviews } from './reviews.ts'
import { saturation } from './saturation.ts'
import { cleanUp, startServer } from './servers.ts'
import { starts } from './start.ts'
import { stored } from './stored.ts'
import { worst } from './worst.ts'

/**
 * Measures what users feel and prints it as Markdown: npm run bench -- [SECTION ...] [--requests COUNT]
 * [--rules] [--node-options OPTIONS] [--write FILE], where --rules is the section of that name alone, --node-options in `cpu`
 * are sets of options to compare, divided by semicolons, --record keeps what `gate` measures, and --write puts each section between its marks. Needs Linux.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '100000' },
    'node-options': { type: 'string' },
    write: { type: 'string' },
    rules: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
})

const SECTIONS: Readonly<Record<string, () => Promise<string>>> = {
  cpu: () => cpu(values['node-options']?.split(';')),
  gate: () => gate(values.record),
  rules: () => Promise.resolve(printedBy('rules.ts', YOUNG)),
  latency,
  rare: rareCalls,
  saturation,
  attackers,
  worst,
  stored,
  memory: () => memory(Number(values.requests), values['node-options']),
  start: starts,
  cli: check,
  access: () => Promise.resolve(access()),
  cache: () => Promise.resolve(printedBy('cache.ts', ['--expose-gc'])),
}

/** A young generation that holds all that is allocated while it is counted. */
const YOUNG = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']

/** What a script prints in a process of its own. */
function printedBy(file: string, options: readonly string[]): string {
  const script = fileURLToPath(new URL(file, import.meta.url))
  return spawnSync(process.execPath, [...options, script], { encoding: 'utf8' }).stdout.trim()
}

/** What the mixed reviews are, by the verdicts of the server. */
async function describeReviews(): Promise<string> {
  const server = await startServer('vmcp-admission')
  const ask = await openConnection(server.port)
  const reviews = mixedReviews()
  const answers: string[] = []
  for (const body of reviews) answers.push(await ask(requestOf('/validate', body)))
  await server.stop()
  const count = (all: readonly string[], text: string) => all.filter((each) => each.includes(text)).length
  const size = reviews.reduce((sum, { length }) => sum + length, 0) / reviews.length / 1_024
  return `${new Set(reviews).size} different reviews of ${size.toFixed(1)} KB on average: ${count(reviews, '"operation":"UPDATE"')} updates, ${count(answers, '"allowed":false')} denied, ${count(answers, '"warnings"')} with warnings.`
}

const wanted = values.rules
  ? ['rules']
  : positionals.length > 0
    ? positionals
    : Object.keys(SECTIONS).filter((name) => name !== 'gate' && name !== 'latency')
const unknown = wanted.filter((name) => !(name in SECTIONS))
if (unknown.length > 0)
  throw new Error(`no section ${unknown.join()}; there are ${Object.keys(SECTIONS).join()}`)

try {
  const figures = new Map([['reviews', await describeReviews()]])
  for (const name of wanted) {
    process.stderr.write(`${name}\n`)
    const text = await SECTIONS[name]?.()
    if (text !== undefined) figures.set(name, text)
    process.stdout.write(`\n## ${name}\n\n${text}\n`)
  }
  if (values.write !== undefined) {
    let page = readFileSync(values.write, 'utf8')
    for (const [name, text] of figures) {
      const [before, after] = page.split(new RegExp(`(?<=<!-- ${name} -->\n)[^]*(?=<!-- end of ${name} -->)`))
      if (after === undefined) throw new Error(`${values.write} has no marks of ${name}`)
      page = `${before}\n${text}\n\n${after}`
    }
    const style = await resolveConfig(values.write)
    writeFileSync(values.write, await format(page, { ...style, parser: 'markdown' }))
  }
} finally {
  await cleanUp()
}
process.exit()
