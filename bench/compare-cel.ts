/**
 * Replays the golden expressions, whose verdicts are cel-go's, through the CEL libraries of npm and through our own
 * front end, and writes contributing/cel-libraries.md. Each library works in a worker thread with a time limit for every
 * expression, so that none can hang or take down the run. Run: npm run compare:cel
 */
import { celEnv, parse as bufParse, plan } from '@bufbuild/cel'
import { Environment } from '@marcbachmann/cel-js'
import { parse as celJsParse } from 'cel-js'
import { readFileSync, writeFileSync } from 'node:fs'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { checkMatcher } from '../src/cel/index.ts'

interface Golden {
  readonly from: 'hand' | 'generated' | 'mutant' | 'probe'
  readonly expr: string
  readonly ok: boolean
  readonly type?: string
  /** The verdict of 0.33, where it is another. */
  readonly '0.33'?: { readonly ok: boolean }
}

/** What a library says: rejected, the type of an accepted expression (`unknown` without a type checker), or failed. */
type Answer = string

type Outcome = 'agree' | 'falseReject' | 'falseAccept' | 'nonBool' | 'failed'

const libraries: Readonly<Record<string, () => (expr: string) => Answer>> = {
  'this project': () => (expr) => {
    const verdict = checkMatcher(expr)
    return verdict.ok && verdict.refusedBy?.version !== '0.32' ? verdict.type : 'rejected'
  },
  '@bufbuild/cel': () => {
    const env = celEnv()
    return (expr) => {
      plan(env, bufParse(expr))
      return 'unknown'
    }
  },
  '@marcbachmann/cel-js': () => {
    const env = new Environment({ homogeneousAggregateLiterals: false }).registerVariable(
      'claims',
      'map<string, dyn>',
    )
    return (expr) => {
      const result = env.check(expr)
      return result.valid ? (result.type ?? 'unknown') : 'rejected'
    }
  },
  'cel-js': () => (expr) => (celJsParse(expr).isSuccess ? 'unknown' : 'rejected'),
}

const timeLimit = 5000

/** An error that the library means to throw is a verdict; a broken invariant or an overflowing stack is not. */
function answer(check: (expr: string) => Answer, expr: string): Answer {
  try {
    return check(expr)
  } catch (error) {
    const broken =
      error instanceof RangeError || error instanceof TypeError || error instanceof ReferenceError
    return broken ? 'failed' : 'rejected'
  }
}

function work(library: string): void {
  const check = libraries[library]?.()
  parentPort?.on('message', (expr: string) => {
    parentPort?.postMessage(check === undefined ? 'failed' : answer(check, expr))
  })
}

function startWorker(library: string): Worker {
  return new Worker(new URL(import.meta.url), {
    workerData: library,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  })
}

/** The answer of a worker; `lost` when it dies or is too late. */
function ask(worker: Worker, expr: string): Promise<Answer> {
  return new Promise((resolve) => {
    const finish = (result: Answer) => {
      clearTimeout(timer)
      worker.off('message', finish).off('error', lose).off('exit', lose)
      resolve(result)
    }
    const lose = () => finish('lost')
    const timer = setTimeout(lose, timeLimit)
    worker.on('message', finish).on('error', lose).on('exit', lose)
    worker.postMessage(expr)
  })
}

async function replay(library: string, golden: readonly Golden[]): Promise<Outcome[]> {
  let worker = startWorker(library)
  const outcomes: Outcome[] = []
  for (const expected of golden) {
    const result = await ask(worker, expected.expr)
    if (result === 'lost') {
      // It may still be busy: a new one for the next expression. A late error of the old one is of no interest.
      worker.on('error', () => undefined)
      await worker.terminate()
      worker = startWorker(library)
    }
    outcomes.push(judge(expected, result))
  }
  await worker.terminate()
  return outcomes
}

function couldBeBool(type: string | undefined): boolean {
  return type === 'bool' || type === 'dyn' || type === 'unknown'
}

/** A matcher is good when cel-go compiles it and the result can be a bool. */
function judge(expected: Golden, answered: Answer): Outcome {
  if (answered === 'failed' || answered === 'lost') return 'failed'
  const good = expected.ok && couldBeBool(expected.type)
  const taken = couldBeBool(answered)
  if (good === taken) return 'agree'
  if (good) return 'falseReject'
  return expected.ok ? 'nonBool' : 'falseAccept'
}

function count(outcomes: readonly Outcome[], outcome: Outcome): number {
  return outcomes.filter((one) => one === outcome).length
}

function row(name: string, outcomes: readonly Outcome[]): string {
  const numbers = (['agree', 'falseReject', 'falseAccept', 'nonBool', 'failed'] as const).map((outcome) =>
    count(outcomes, outcome),
  )
  const share = ((100 * count(outcomes, 'agree')) / outcomes.length).toFixed(1)
  return `| ${[name, ...numbers, `${share} %`].join(' | ')} |`
}

function version(name: string): string {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
    packages: Record<string, { version?: string } | undefined>
  }
  const found = lock.packages[`node_modules/${name}`]?.version
  return found === undefined ? name : `${name} ${found}`
}

function table(title: string, results: ReadonlyMap<string, readonly Outcome[]>): string {
  return [
    `## ${title}`,
    '',
    '| library | agree | false reject | false accept | non-bool accepted | hang or crash | agreement |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...[...results].map(([library, outcomes]) => row(version(library), outcomes)),
    '',
  ].join('\n')
}

function page(golden: readonly Golden[], results: ReadonlyMap<string, readonly Outcome[]>): string {
  const hand = new Map(
    [...results].map(([library, outcomes]) => [
      library,
      outcomes.filter((_, index) => golden[index]?.from === 'hand'),
    ]),
  )
  const differing = golden.filter((row) => row['0.33'] !== undefined).length
  const handCount = golden.filter(({ from }) => from === 'hand').length
  return `# CEL libraries compared

Written by \`npm run compare:cel\`; do not edit.

A \`matcher\` is a CEL expression that cel-go compiles in the end. None of the npm libraries below gives the same
verdicts, so this project has its own parser and type checker. This page shows by how much they differ: each
expression of \`test/golden/cel.jsonl\` goes through each library. The expected verdicts are recorded answers of
cel-go with one variable, \`claims: map(string, dyn)\`, and nothing but the standard definitions.

Gateways of operator releases up to 0.58 are built with cel-go 0.31 or 0.32, those of later ones with 0.33. The tables
hold the verdicts of 0.32; of ${golden.length} expressions 0.33 judges ${differing} otherwise, and the tests replay both.
\`npm run record:cel\` asks both versions again, and \`npm run parity -- cel\` compares their verdicts and values with ours over random
expressions; both need Go.

How to read the columns:

- **agree**: taken and refused as it should be. An expression should be taken when cel-go compiles it and its type
  is bool or dyn.
- **false reject**: a good matcher is refused.
- **false accept**: cel-go rejects it, the library does not. These are the dangerous ones: upstream compiles all
  matchers of a workload together, so one bad matcher stops all of them.
- **non-bool accepted**: cel-go compiles it, but its type is for example int or string, so it can never match. A
  library without a type checker cannot tell.
- **hang or crash**: no answer within ${timeLimit / 1000} seconds, or an internal error such as an overflowing stack.

\`@bufbuild/cel\` and \`cel-js\` have no type checker: parsing (and planning, where there is such a step) is all that they
can do without claims at hand. They are made for another purpose.

${table(`All ${golden.length} expressions`, results)}
The rest of the corpus is generated or mutated, and heavy on conversions, bytes and damaged text. The expressions
that people wrote are nearer to everyday use:

${table(`The ${handCount} written by hand`, hand)}`
}

async function main(): Promise<void> {
  const golden = readFileSync(new URL('../test/golden/cel.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Golden)
  const results = new Map<string, readonly Outcome[]>()
  for (const library of Object.keys(libraries)) results.set(library, await replay(library, golden))
  const text = page(golden, results)
  writeFileSync(new URL('../contributing/cel-libraries.md', import.meta.url), text)
  const wrote = 'wrote contributing/cel-libraries.md, whose tables are:\n\n'
  process.stdout.write(wrote + text.slice(text.indexOf('## ')))
}

if (isMainThread) await main()
else work(String(workerData))
