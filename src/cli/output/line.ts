import {
  counted,
  type Format,
  type Located,
  type ReportNote,
  placeText,
  type Printing,
  type Report,
  type ReportedFinding,
  type ReportedIgnored,
} from './report.ts'
import { visible } from './visible.ts'

/** A line for each finding and note, in the order of the files; the counts come last. */
export const printLines: Format = (report, printing) => {
  const inOrder = inFileOrder(report)
  const lines = [
    ...findingLines(shownIn(report, printing).toSorted(inOrder)),
    ...ignoredIn(report, printing).map((each) => ({ ...each, text: ignoredLine(each) })),
    ...notesIn(report, printing).map((note) => ({ ...note, text: `${placeOf(note)}note: ${note.message}` })),
  ]
  const printed = lines.toSorted(inOrder).map(({ text }) => visible(text))
  if (printing.quiet) return printed.map((line) => `${line}\n`).join('')
  return [...printed, ...(printed.length === 0 ? [] : ['']), summary(report, printing), ''].join('\n')
}

/** The findings to print: advice only if requested. */
export const shownIn = ({ findings }: Report, { advice }: Printing): readonly ReportedFinding[] =>
  advice ? findings : findings.filter(({ severity }) => severity !== 'advice')

/** The notes to print: first those about documents that were not judged, which are printed even with `--quiet`. */
export const notesIn = ({ notes, notJudged }: Report, { quiet }: Printing): readonly Located[] =>
  quiet ? notJudged : [...notJudged, ...onePerFile(notes)]

/** Merges the notes about placeholders in the same file into one note, at the place of the first. */
function onePerFile(notes: readonly ReportNote[]): readonly Located[] {
  const held = Map.groupBy(notes, ({ file, placeholder }) => (placeholder === undefined ? undefined : file))
  const firsts = new Set(Array.from(held.values(), ([first]) => first))
  return notes.flatMap((note): Located[] => {
    const { placeholder, file } = note
    const all = held.get(file) ?? []
    if (placeholder === undefined || all.length === 1) return [note]
    return firsts.has(note) ? [{ ...note, message: heldBack(all) }] : []
  })
}

/** The most placeholders that are named in the one note about all placeholders of a file. */
const MOST_PLACEHOLDERS = 3

function heldBack(notes: readonly ReportNote[]): string {
  const placeholders = notes.flatMap(({ placeholder }) => placeholder ?? [])
  const texts = [...new Set(placeholders.map(({ text }) => text))]
  const more = texts.length - MOST_PLACEHOLDERS
  const shown = [...texts.slice(0, MOST_PLACEHOLDERS), ...(more > 0 ? [`${more} more`] : [])]
  const named = [shown.slice(0, -1).join(', '), shown.at(-1)].filter(Boolean).join(' and ')
  const name = placeholders.find((each) => each.name !== undefined)?.name
  const advice = name === undefined ? '' : `; to judge them: --set ${name}=VALUE`
  const verb = texts.length === 1 ? 'is' : 'are'
  return `${notes.length} values are not judged, because ${named} ${verb} filled in later${advice}; --output json has each place`
}

export const ignoredIn = ({ ignored }: Report, { showIgnored }: Printing): readonly ReportedIgnored[] =>
  showIgnored ? ignored : []

/** The text that an ignored finding shows: where the ignore is written, and its reason. */
export const reasonOf = ({ reason, by }: ReportedIgnored): string => `ignored by the ${by}: ${reason}`

const ignoredLine = (finding: ReportedIgnored): string =>
  `${findingLine(finding, 0).replace(`: ${finding.severity}: `, `: ignored ${finding.severity}: `)}: ${reasonOf(finding)}`

/** Orders findings and notes by file (as in the list of files), line and column; those of a cluster come last. */
export function inFileOrder({ files }: Report): (a: Located, b: Located) => number {
  const order = new Map(files.map((file, index) => [file, index]))
  const place = ({ file }: Located) => (file === null ? Infinity : (order.get(file) ?? -1))
  return (a, b) => compare(place(a), place(b)) || a.line - b.line || a.column - b.column
}

/**
 * The lines of the findings. Findings about an outdated apiVersion, which often all documents of a repository have,
 * become one line for each severity, with a count.
 */
function findingLines(findings: readonly ReportedFinding[]): (Located & { readonly text: string })[] {
  const alike = Map.groupBy(findings, ({ id, severity, message }, i) =>
    id === 'api-version-current' ? `${severity}: ${message}` : i,
  )
  return [...alike.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [{ ...first, text: findingLine(first, others.length) }],
  )
}

const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0)

const placeOf = (at: Located) => (at.file === null ? '' : `${placeText(at)}: `)

/** The line for a finding and `others` equal findings; it begins with the file or, in a cluster, with the object. */
export function findingLine(finding: ReportedFinding, others = 0): string {
  const { file, kind, namespace, name, severity, path, message } = finding
  const text = `${path === '' ? '' : `${path}: `}${message}`
  const more = others === 0 ? '' : ` and ${others} more`
  return file === null
    ? `${kind} ${namespace}/${name}${more}: ${severity}: ${text}`
    : `${placeOf(finding)}${severity}: ${kind} ${name}${more}: ${text}`
}

/** The last line of the output: the counts, and the release or specification by which resources were judged. */
export function summary(
  { judged, others, notes, notJudged, unread, findings, ignored }: Report,
  { scope, judgedBy, advice, showIgnored }: Printing,
): string {
  const count = (severity: string) => findings.filter((finding) => finding.severity === severity).length
  const shown = onePerFile(notes).length
  const parts = [
    counted(count('error'), 'error'),
    counted(count('warning'), 'warning'),
    ...(count('advice') === 0 ? [] : [`${count('advice')} of advice${advice ? '' : ' (--advice shows it)'}`]),
    ...(ignored.length === 0
      ? []
      : [`${ignored.length} ignored${showIgnored ? '' : ' (--show-ignored lists them)'}`]),
    ...(shown === 0 ? [] : [counted(shown, 'note')]),
    ...(notJudged.length === 0 ? [] : [`${notJudged.length} not judged`]),
    ...(unread.length === 0 ? [] : [`${unread.length} that could not be read`]),
  ]
  const left = others === 0 ? '' : ` (${counted(others, 'document')} of other kinds not judged)`
  return `${counted(judged.length, 'resource')} in ${scope}${left}: ${parts.join(', ')}${judgedBy === undefined ? '' : `; judged by ${judgedBy}`}`
}
