import { excerpt } from './excerpt.ts'
import { foldCauses, type Told } from './fold.ts'
import { ignoredIn, inFileOrder, notesIn, reasonOf, shownIn, summary } from './line.ts'
import { objectKey } from '../../rule/index.ts'
import {
  counted,
  type Format,
  type Located,
  type Printing,
  type Report,
  type ReportedEnd,
  type ReportedFinding,
  type ReportedIgnored,
} from './report.ts'
import { wrapped } from './terminal.ts'
import { visible } from './visible.ts'
import { PROGRAM } from '../program-name.ts'

const COLOURS = { error: 'red', warning: 'yellow', advice: 'cyan' } as const

/**
 * The report for people: the findings by file and object, each with lines of the file and, if it is about fields that
 * contradict each other, with the other fields.
 */
export const printHuman: Format = (report, printing) => {
  const order = inFileOrder(report)
  const told = foldCauses(shownIn(report, printing).toSorted(order))
  const blocks = [
    ...told.map((each, i) => ({
      place: each.finding,
      of: headOf(each.finding),
      lines: toldLines(each, isSamePlace(told[i - 1]?.finding, each.finding), printing),
    })),
    ...ignoredIn(report, printing).map((each) => ({
      place: each,
      of: headOf(each),
      lines: ignoredLines(each, printing),
    })),
    ...notesIn(report, printing).map((note) => ({
      place: note,
      of: note.file ?? '',
      lines: noteLines(note, printing),
    })),
  ].toSorted((a, b) => order(a.place, b.place))
  const { paint, columns } = printing.terminal
  const lines: string[] = []
  let head = ''
  for (const { of, lines: own } of blocks) {
    // A note about a file needs no heading of its own below the heading of an object in that file.
    if (of !== head && !(head.startsWith(`${of}: `) && of !== '')) {
      if (of !== '') lines.push(...wrappedLines(of, columns).map((line) => paint('bold', line)), '')
      head = of
    }
    lines.push(...own, '')
  }
  if (printing.quiet) return lines.map((line) => `${line}\n`).join('')
  const end = [summary(report, printing), ...nextSteps(told, report, printing)]
  return [...lines, ...end.flatMap((text) => wrappedLines(text, columns)), ''].join('\n')
}

/** Commands that are useful after this report. */
function nextSteps(told: readonly Told[], { findings }: Report, { names }: Printing): string[] {
  const fixable = findings.filter(({ fix }) => fix !== null).length
  const [worst] = told.toSorted(
    (a, b) => Number(b.finding.severity === 'error') - Number(a.finding.severity === 'error'),
  )
  const steps = [
    ...(fixable === 0 || names.length === 0
      ? []
      : [
          `${fixable} can be fixed: ${PROGRAM} fix ${names.length > MOST_PLACES ? 'FILES' : names.join(' ')}`,
        ]),
    ...(worst === undefined ? [] : [`more on a finding: ${PROGRAM} explain ${worst.finding.id}`]),
  ]
  return steps.length === 0 ? [] : ['', ...steps]
}

/** Whether the lines of the file around this finding were already printed for the finding before it. */
const isSamePlace = (a: ReportedFinding | undefined, b: ReportedFinding): boolean =>
  a?.related.length === 0 && a.file === b.file && a.line === b.line && a.column === b.column

const headOf = ({ file, kind, namespace, name }: ReportedFinding): string =>
  file === null ? `${kind} ${namespace}/${name}` : `${file}: ${kind} ${name}`

function noteLines({ line, message }: Located, { terminal }: Printing): string[] {
  const where = line === 0 ? '' : `line ${line}: `
  return [`  ${terminal.paint('cyan', 'note')}`, ...indented(where + message, terminal.columns)]
}

function ignoredLines(finding: ReportedIgnored, { terminal }: Printing): string[] {
  const { path, message, id, line, severity } = finding
  const where = line === 0 ? '' : `line ${line}: `
  const text = `${where}${path === '' ? '' : `${path}: `}${message.replace(` (${id})`, '')}`
  const { paint, columns } = terminal
  return [
    `  ${paint('dim', `ignored ${severity} ${id}`)}`,
    ...indented(text, columns),
    ...indented(reasonOf(finding), columns),
  ]
}

function toldLines({ finding, others }: Told, isRepeated: boolean, printing: Printing): string[] {
  const { terminal } = printing
  const { severity, path, message, id, fix } = finding
  const style = COLOURS[severity]
  const { paint, columns } = terminal
  const text = `${path === '' ? '' : `${path}: `}${message.replace(` (${id})`, '')}`
  const shown = isRepeated ? [] : excerptOf(finding, { context: 2 }, printing, style)
  return [
    `  ${paint(['bold', style], severity)} ${paint('dim', id)}`,
    ...indented(text, columns),
    ...(shown.length === 0 ? [] : ['', ...shown]),
    ...(fix === null
      ? []
      : ['', ...indented(`fix: ${fix.title}`, columns).map((line) => paint('green', line))]),
    ...finding.related.flatMap((end) => endLines(end, finding, printing)),
    ...(others.length === 0 ? [] : ['', ...otherLines(others, finding, printing)]),
  ]
}

/** The lines of a wrapped text. Each is escaped again, because a wrapped line could begin like a command for a CI. */
const wrappedLines = (text: string, columns: number): string[] => wrapped(visible(text), columns).map(visible)

const indented = (text: string, columns: number): string[] =>
  wrappedLines(text, columns - 4).map((line) => `    ${line}`)

function excerptOf(
  place: Located,
  { context, label }: { readonly context: number; readonly label?: string },
  { terminal, source }: Printing,
  style: 'red' | 'yellow' | 'cyan' | 'blue',
): string[] {
  const found = place.file === null ? undefined : source(place.file)
  if (found === undefined || place.line === 0) return []
  const { line, column } = place
  return excerpt(found, { line, column, context, ...(label !== undefined && { label }) }, terminal, style)
}

/** Lines about another field of a contradiction: object and file if they differ from the finding's, then an excerpt. */
function endLines(end: ReportedEnd, finding: ReportedFinding, printing: Printing): string[] {
  const { paint, columns } = printing.terminal
  const { kind, name, namespace, file, line, path, message } = end
  const lines = excerptOf(end, { context: 0, label: message }, printing, 'blue')
  const isSame = kind === finding.kind && name === finding.name
  const named = file === null ? `${kind} ${namespace}/${name}` : `${kind} ${name}`
  const shown = lines.length > 0 ? '' : `:${line}`
  const where =
    file === null || isSame ? '' : file === finding.file ? 'in the same file, ' : `${file}${shown}: `
  const head = `${where}${isSame ? 'in the same object' : named}`
  const text = lines.length > 0 ? head : `${head}: ${path} ${message}`
  return ['', ...wrappedLines(text, columns - 4).map((part) => `    ${paint('blue', part)}`), ...lines]
}

/**
 * At most eight other objects with the same cause are named, each with its line if there are at most three. The hint
 * about `fix` names the files if there are at most three.
 */
const [MOST_OTHERS, MOST_PLACES] = [8, 3]

/** Lines for findings of other objects about the same contradiction: their number by severity, and their places. */
function otherLines(
  others: readonly ReportedFinding[],
  { file: here }: ReportedFinding,
  { terminal }: Printing,
): string[] {
  const counts = (['error', 'warning', 'advice'] as const).flatMap((severity) => {
    const count = others.filter((other) => other.severity === severity).length
    return count === 0 ? [] : [counted(count, severity)]
  })
  const objects = new Map(others.map((other) => [objectKey(other), other]))
  const names = Array.from(objects.values(), ({ kind, namespace, name, file, line }) => {
    if (file === null) return `${kind} ${namespace}/${name}`
    const place = file === here ? `line ${line}` : `${file}:${line}`
    return objects.size > MOST_PLACES ? `${kind} ${name}` : `${kind} ${name} (${place})`
  })
  const more = names.length - MOST_OTHERS
  const list = [...names.slice(0, MOST_OTHERS), ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return indented(`same cause: ${counts.join(', ')} at ${list}`, terminal.columns).map((line) =>
    terminal.paint('dim', line),
  )
}
