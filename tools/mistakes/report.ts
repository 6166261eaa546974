import { CLASSES, UNDECIDABLE, type Undecidable } from './classes.ts'
import type { Coverage, Made } from './run.ts'
import { byClass, byField, type Counts, countsOf, isMissed } from './summary.ts'
import { counted, type Unread } from '../../src/cli/output/report.ts'
import { json, markdown, visible } from '../../src/cli/output/visible.ts'

/** The settings of the output of a coverage. */
export interface CoverageReport extends Coverage {
  /** `examples/`, and what else was named. */
  readonly scope: string
  /** The name of the release whose CRDs the API server has. */
  readonly release: string
  /** The rows of the table. */
  readonly by: 'class' | 'field'
  readonly unread: readonly Unread[]
}

/** The columns of the table behind the class or the field. */
const COLUMNS: readonly (readonly [head: string, of: (counts: Counts) => number])[] = [
  ['mistakes', ({ mistakes }) => mistakes],
  ['decidable', ({ decidable }) => decidable],
  ['editor', ({ editor }) => editor],
  ['check', ({ check }) => check],
  ['denied', ({ denied }) => denied],
  ['warned', ({ warned }) => warned],
  ['CRD', ({ crd }) => crd],
  ['nobody', ({ missed }) => missed],
]

/** As a terminal shows it. */
export function coverageText(report: CoverageReport): string {
  const rows = rowsOf(report)
  const table = [
    [report.by, ...COLUMNS.map(([head]) => head)],
    ...rows.map(([name, counts]) => cells(name, counts)),
  ]
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => (row[column] ?? '').length)),
  )
  const lines = table.map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
  )
  const missed = missedIn(report)
  const parts = [
    ...lines,
    '',
    ...(missed.length === 0 ? [] : ['nobody says anything of', ...missed.map((line) => `  ${line}`), '']),
    ...summaryOf(report),
  ]
  return parts.map((line) => `${visible(line)}\n`).join('')
}

/** As Markdown, such as for a comment on a pull request. */
export function coverageMarkdown(report: CoverageReport): string {
  const row = (all: readonly string[]) => `| ${all.join(' | ')} |`
  const missed = missedIn(report)
  const parts = [
    '<!-- coverage of mistakes -->',
    ...summaryOf(report).flatMap((line) => [markdown(line.trim()), '']),
    row([report.by, ...COLUMNS.map(([head]) => head)]),
    row(['---', ...COLUMNS.map(() => '---:')]),
    ...rowsOf(report).map(([name, counts]) => row(cells(markdown(name), counts))),
    ...(missed.length === 0
      ? []
      : ['', 'Nobody says anything of', '', ...missed.map((line) => `- ${markdown(line)}`)]),
  ]
  return `${parts.join('\n')}\n`
}

export function coverageJson(report: CoverageReport): string {
  const { scope, release, objects, mistakes, made, unread } = report
  const named = (rows: readonly (readonly [string, Counts])[]) =>
    rows.map(([name, counts]) => ({ name, ...counts }))
  return json({
    version: 1,
    ...{ scope, release, objects, mistakes },
    counts: countsOf(made),
    classes: named(byClass(made)),
    fields: named(byField(made)),
    made: made.map((each) => ({ ...each, undecidable: each.undecidable ?? null })),
    unread,
  })
}

/** The data of the page. */
export interface CoverageData {
  readonly scope: string
  readonly summary: readonly string[]
  readonly classes: readonly (readonly [name: string, what: string, counts: Counts])[]
  readonly fields: readonly (readonly [name: string, counts: Counts])[]
  readonly undecidable: Readonly<Record<string, string>>
  readonly made: readonly Made[]
}

/** One page with everything in it. */
export function coverageHtml(report: CoverageReport, page: string): string {
  const { scope, made } = report
  const data: CoverageData = {
    scope,
    summary: summaryOf(report),
    classes: byClass(made).map(([name, counts]) => [name, CLASSES[name], counts]),
    fields: byField(made),
    undecidable: UNDECIDABLE,
    made,
  }
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  return page.replace(
    /(<script type="application\/json" id="coverage">)\s*null\s*</,
    (_, head: string) => `${head}${json}<`,
  )
}

const rowsOf = ({ by, made }: CoverageReport): readonly (readonly [string, Counts])[] =>
  by === 'class' ? byClass(made) : byField(made)

const cells = (name: string, counts: Counts): string[] => [
  name,
  ...COLUMNS.map(([, of]) => String(of(counts) || '-')),
]

function summaryOf({ made, mistakes, objects, scope, release }: CoverageReport): string[] {
  const counts = countsOf(made)
  const { decidable, caught, meaning, meaningCaught, named, caughtOfAll } = counts
  const some = made.length === mistakes ? '' : `${made.length} of `
  const reasons = Map.groupBy(made, ({ undecidable }) => undecidable)
  const left = made.length - decidable
  return [
    `${some}${counted(mistakes, 'mistake')} of one field in ${counted(objects, 'resource')} of ${scope}, with the CRDs of ${release}`,
    `  check or the webhook catches ${caught} of the ${decidable} that are decidable (${share(caught, decidable)}), ${named} by name`,
    `  of the ${meaning} that the CRDs accept: ${meaningCaught} (${share(meaningCaught, meaning)})`,
    `  ${caughtOfAll} of all ${made.length} (${share(caughtOfAll, made.length)}) are reported by check, webhook or CRD`,
    ...(left === 0 ? [] : [`  not decidable: ${left}`]),
    ...(Object.keys(UNDECIDABLE) as Undecidable[]).flatMap((reason) => {
      const count = reasons.get(reason)?.length ?? 0
      return count === 0 ? [] : [`    ${count}: ${UNDECIDABLE[reason]}`]
    }),
  ]
}

/** Rounded down: 100 % are all. */
const share = (part: number, whole: number): string =>
  whole === 0 ? 'all' : `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)} %`

const MOST_MISSED = 20

/** The decidable mistakes that nobody catches, the most frequent first. */
function missedIn({ made }: CoverageReport): string[] {
  const groups = Map.groupBy(made.filter(isMissed), (each) => `${each.class}: ${each.field}`)
  const lines = [...groups]
    .toSorted(([a, as], [b, bs]) => bs.length - as.length || (a < b ? -1 : 1))
    .map(([what, group]) => {
      const [first] = group
      const place = first === undefined ? '' : `${first.namespace}/${first.name}, ${first.change}`
      return `${what} (${group.length === 1 ? place : `${group.length} times, first ${place}`})`
    })
  const more = lines.length - MOST_MISSED
  return more > 0 ? [...lines.slice(0, MOST_MISSED), `and ${more} more; --output json has all`] : lines
}
