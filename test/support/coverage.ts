import { globSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Covered lines and branches in whole percent, and the number of files with code that no test file loads. */
type Figures = readonly [lines: number, branches: number, unloaded: number]

/**
 * The minimum for each folder of src/. Coverage counts what the processes of the test files run; it excludes servers
 * and commands that tests start, and tests with an API server or a browser. Code that depends on time changes a few
 * branches between runs, so each minimum is one below the measured figure.
 */
const FLOORS: Readonly<Record<string, Figures>> = {
  access: [98, 94, 0],
  arming: [90, 92, 0],
  cedar: [97, 92, 0],
  cel: [98, 92, 0],
  certificates: [97, 94, 0],
  cli: [95, 88, 3],
  cluster: [96, 90, 0],
  configuration: [98, 93, 0],
  documents: [99, 95, 0],
  engine: [98, 95, 0],
  generate: [96, 95, 8],
  kinds: [98, 96, 0],
  library: [99, 95, 0],
  pages: [99, 95, 15],
  probe: [98, 90, 0],
  registration: [99, 99, 0],
  relations: [98, 95, 0],
  release: [97, 90, 0],
  reports: [99, 90, 0],
  rule: [97, 93, 0],
  server: [93, 93, 9],
  shape: [98, 93, 0],
  state: [97, 95, 0],
  steps: [96, 89, 0],
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The report of `tap --coverage-report=json-summary`. */
const SUMMARY = '.tap/report/coverage-summary.json'

type Counts = Readonly<Record<'lines' | 'branches', { readonly total: number; readonly covered: number }>>

function percent(files: readonly Counts[], of: keyof Counts): number {
  const sum = (which: 'total' | 'covered') => files.reduce((all, counts) => all + counts[of][which], 0)
  return sum('total') === 0 ? 100 : Math.floor((100 * sum('covered')) / sum('total'))
}

/** Whether a file has more than types: no process loads a file that has only types. */
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
