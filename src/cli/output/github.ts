import { foldCauses, type Told } from './fold.ts'
import { ignoredIn, inFileOrder, notesIn, reasonOf, shownIn, summary } from './line.ts'
import type { Format, Located } from './report.ts'
import { commandMessage, commandProperty, visible } from './visible.ts'

const COMMANDS = { error: 'error', warning: 'warning', advice: 'notice' } as const

/** Prints findings as workflow commands of GitHub Actions, which annotate lines of a pull request, and a summary. */
export const printGitHub: Format = (report, printing) => {
  const told = foldCauses(shownIn(report, printing).toSorted(inFileOrder(report)))
  const lines = [
    ...report.unread.map((each) => command('error', each, 'not read', [each.message])),
    ...told.map((each) =>
      command(COMMANDS[each.finding.severity], each.finding, each.finding.id, linesOf(each)),
    ),
    ...ignoredIn(report, printing).map((each) =>
      command('notice', each, `ignored: ${each.id}`, [
        ...linesOf({ finding: each, others: [] }),
        reasonOf(each),
      ]),
    ),
    ...notesIn(report, printing).map((note, i) =>
      i < report.notJudged.length
        ? command('warning', note, 'not judged', [note.message])
        : command('notice', note, 'note', [note.message]),
    ),
    ...(printing.quiet ? [] : [visible(summary(report, printing))]),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function linesOf({ finding, others }: Told): string[] {
  const { kind, name, path, message, related } = finding
  const ends = related.map((end) => `${end.kind} ${end.name}${placeOf(end)}: ${end.path} ${end.message}`)
  const same = others.map((other) => `same cause: ${other.kind} ${other.name}${placeOf(other)}`)
  return [`${kind} ${name}: ${path === '' ? '' : `${path}: `}${message}`, ...ends, ...same]
}

const placeOf = ({ file, line }: Located) => (file === null ? '' : ` (${file}:${line})`)

/** A workflow command: https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
function command(
  name: string,
  { file, line, column }: Located,
  title: string,
  message: readonly string[],
): string {
  const place =
    file === null
      ? []
      : [`file=${commandProperty(file)}`, ...(line === 0 ? [] : [`line=${line}`, `col=${column}`])]
  return `::${name} ${[...place, `title=${commandProperty(title)}`].join(',')}::${commandMessage(message)}`
}
