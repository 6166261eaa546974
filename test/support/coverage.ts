import { globSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Whole percents of lines and branches, and how many files with code no test file loads. */
type Figures = readonly [lines: number, branches: number, unloaded: number]

/**
 * The figures of each folder of src/, below which it may not fall. They count what the processes of the test files run, not
 * the servers and commands that these start, nor the tests with an API server or a browser. What depends on time makes a
 * difference of a few branches between runs, so a figure close above a whole percent counts as the one below.
 */
const FLOORS: Readonly<Record<string, Figures>> = {
  access: [99, 95, 0],
  arming: [91, 93, 0],
  cel: [99, 93, 0],
  certificates: [99, 95, 0],
  cli: [96, 90, 2],
  cluster: [94, 92, 0],
  configuration: [99, 94, 0],
  generate: [97, 96, 8],
  kinds: [99, 98, 0],
  library: [100, 98, 0],
  mistakes: [99, 91, 0],
  pages: [100, 96, 15],
  probe: [99, 91, 0],
  release: [98, 91, 0],
  review: [99, 96, 0],
  rule: [100, 94, 0],
  server: [96, 93, 11],
  steps: [98, 91, 0],
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The report of `tap --coverage-report=json-summary`. */
const SUMMARY = '.tap/report/coverage-summary.json'

type Counts = Readonly<Record<'lines' | 'branches', { readonly total: number; readonly covered: number }>>

function percent(files: readonly Counts[], of: keyof Counts): number {
  const sum = (which: 'total' | 'covered') => files.reduce((all, counts) => all + counts[of][which], 0)
  return sum('total') === 0 ? 100 : Math.floor((100 * sum('covered')) / sum('total'))
}

/** Whether a file has more than types, which no process loads. */
const hasCode = (path: string): boolean =>
  /^(?:export )?(?:async function|function|const|class|await|if|for)\b/m.test(
    readFileSync(join(ROOT, path), 'utf8'),
  )

const counted = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(ROOT, SUMMARY), 'utf8')) as Readonly<Record<string, Counts>>,
  ).map(([path, counts]) => [relative(ROOT, path), counts]),
)
const sources = globSync('src/*/**/*.ts', { cwd: ROOT, exclude: ['**/*.d.ts'] })
const folders = Map.groupBy(sources, (path) => path.split(sep)[1] ?? '')

let isLess = false
for (const [folder, paths] of [...folders].toSorted()) {
  const found = paths.flatMap((path) => counted.get(path) ?? [])
  const unloaded = paths.filter((path) => !counted.has(path) && hasCode(path))
  const figures: Figures = [percent(found, 'lines'), percent(found, 'branches'), unloaded.length]
  const floor = FLOORS[folder] ?? [100, 100, 0]
  const falls = figures[0] < floor[0] || figures[1] < floor[1] || figures[2] > floor[2]
  isLess ||= falls
  process.stdout.write(
    `coverage of src/${folder}: ${figures.join(', ')}${falls ? `: less than ${floor.join(', ')}` : ''}\n`,
  )
  if (falls) process.stdout.write(unloaded.map((path) => `  no test file loads ${path}\n`).join(''))
}
process.exitCode = isLess ? 1 : 0
