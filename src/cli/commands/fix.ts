import { readFile, writeFile } from 'node:fs/promises'
import { readFlags, toggle, UsageError } from '../../configuration/flags.ts'
import { chosenSeverities, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { kindOf, namespaceOf } from '../../review/given-objects.ts'
import { mutate, submissionOf } from '../../review/index.ts'
import { DEFAULT_SETTINGS } from '../../review/settings.ts'
import { jsonKey, pathText } from '../../rule/path.ts'
import { metadataOf } from '../../rule/resource.ts'
import { unifiedDiff } from '../fix/diff.ts'
import { type PlacedEdit, withEdit } from '../fix/text-edits.ts'
import { documentsOf, type Documents, readDocuments } from '../input/documents.ts'
import { excluding, INPUT } from '../input/files.ts'
import { printEmpty, printLines, printUnread, READING_FLAGS } from '../input/reading.ts'
import { readRelease, RELEASE_FLAGS } from '../input/release.ts'
import { counted, EXIT, type Located } from '../output/report.ts'
import { visible } from '../output/visible.ts'
import { judgeAlone } from './check.ts'
import type { Judging } from './judge-document.ts'

const { namespace, exclude } = READING_FLAGS

export const FIX_FLAGS = {
  write: toggle('change the files; without it the changes are printed as a diff'),
  'add-defaults': toggle('write the documented defaults that are missing too'),
  namespace,
  exclude,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

/** A change of a file, and the reason. */
interface Change {
  readonly file: string
  readonly edit: PlacedEdit
  readonly title: string
  /** The id of the finding; empty for a default. */
  readonly id: string
}

/** Mends what can be mended safely; returns the exit code. Throws UsageError. */
export async function fix(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { values: flags, positionals } = readFlags(FIX_FLAGS, args, environment)
  if (positionals.length === 0) throw new UsageError('name the files or folders to fix')
  if (flags.write && positionals.includes('-'))
    throw new UsageError('--write changes files, not standard input')
  const group = flags['api-group']
  const release = await readRelease(flags, group)
  const judging: Judging = {
    group,
    namespace: flags.namespace || 'default',
    strict: false,
    severities: chosenSeverities(flags),
    release,
  }
  const read = await readDocuments(positionals, { filled: new Map(), excluded: excluding(flags.exclude) })
  read.unread.push(...printEmpty([read]))
  const fixed = fixAll(read.texts, judging, flags['add-defaults'])
  printUnread(read.unread)
  printLines(fixed.left)
  const changed = [...fixed.texts].filter(([file, text]) => text !== read.texts.get(file))
  for (const [file, text] of changed) {
    const before = read.texts.get(file) ?? ''
    if (flags.write) await write(file, before, text, read.unread)
    else process.stdout.write(unifiedDiff(file === INPUT ? 'stdin' : file, before, text))
  }
  if (flags.write) for (const change of fixed.changes) process.stdout.write(`${visible(lineOf(change))}\n`)
  const count = `${counted(fixed.changes.length, 'change')} in ${counted(changed.length, 'file')}`
  const next = changed.length === 0 || flags.write ? '' : '; --write makes them'
  process.stderr.write(`${count}${next}\n`)
  if (read.unread.length > 0) return EXIT.unread
  return changed.length > 0 && !flags.write ? EXIT.findings : EXIT.clean
}

const lineOf = ({ file, edit, title, id }: Change): string =>
  `${file}:${edit.line}:${edit.column}: ${pathText(edit.at)}: ${title}${id === '' ? '' : ` (${id})`}`

/** Only a file that is still as it was read, in UTF-8. */
async function write(
  file: string,
  before: string,
  after: string,
  unread: Documents['unread'],
): Promise<void> {
  const bytes = await readFile(file)
  if (bytes.equals(Buffer.from(before))) return writeFile(file, after)
  const problem = { file, line: 0, column: 0, message: 'not written: it is not in UTF-8, or has changed' }
  printLines([problem])
  unread.push(problem)
}

interface Fixed {
  readonly texts: ReadonlyMap<string, string>
  readonly changes: readonly Change[]
  /** What has a fix that the text does not take. */
  readonly left: readonly Located[]
}

/** A fix may bring up another: a field that is renamed is judged then. */
const MOST_ROUNDS = 5

/** Applies fixes until there are no more. */
export function fixAll(given: ReadonlyMap<string, string>, judging: Judging, addDefaults: boolean): Fixed {
  const texts = new Map(given)
  const changes: Change[] = []
  let left: Located[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const wanted = changesIn(texts, judging)
    const isDone = wanted.length === 0
    const more = isDone && addDefaults ? defaultsIn(texts, judging) : wanted
    const applied = apply(texts, more)
    changes.push(...applied.done)
    left = applied.left
    if (applied.done.length === 0) {
      if (isDone || !addDefaults) break
      const { done, left: lacking } = apply(texts, defaultsIn(texts, judging))
      changes.push(...done)
      left.push(...lacking)
      break
    }
  }
  return { texts, changes, left }
}

/** From the end of each file to its start, so that places stay right. */
function apply(texts: Map<string, string>, changes: readonly Change[]): { done: Change[]; left: Located[] } {
  const [done, left]: [Change[], Located[]] = [[], []]
  const ordered = changes.toSorted((a, b) => b.edit.line - a.edit.line || b.edit.column - a.edit.column)
  for (const change of ordered) {
    const { file, edit, title } = change
    const after = withEdit(texts.get(file) ?? '', edit)
    if (after !== undefined) {
      texts.set(file, after)
      done.unshift(change)
      continue
    }
    const reason = 'an alias or a merge shares the text, or it spans lines'
    const message = `${pathText(edit.at)}: not fixed (${title}): ${reason}`
    left.unshift({ file, line: edit.line, column: edit.column, message })
  }
  return { done, left }
}

/** The fixes of all findings, each once. */
function changesIn(texts: ReadonlyMap<string, string>, judging: Judging): Change[] {
  const { report } = judgeAlone(documentsOf(texts), judging)
  const found = new Map<string, Change>()
  for (const { file, fix: mend, id } of report.findings)
    for (const edit of mend?.edits ?? []) {
      const key = `${file ?? ''}:${edit.line}:${edit.column}`
      if (file !== null && !found.has(key)) found.set(key, { file, edit, title: mend?.title ?? '', id })
    }
  return [...found.values()]
}

/** The documented defaults that the objects lack, as /mutate writes them. */
function defaultsIn(texts: ReadonlyMap<string, string>, judging: Judging): Change[] {
  const { group, release } = judging
  return documentsOf(texts).documents.flatMap(({ file, document }) => {
    const { value } = document
    const kind = kindOf(value, judging)
    if (kind === undefined) return []
    const { name } = metadataOf(value)
    const self = { kind: kind.kind, name: typeof name === 'string' ? name : '' }
    const submission = submissionOf(self, { namespace: namespaceOf(value, judging), group, object: value })
    const missing = mutate(submission, { group, settings: DEFAULT_SETTINGS, release })
    return missing.flatMap(({ at, value: written }): Change[] => {
      if (written === undefined) return []
      const place = document.locate(at.slice(0, -1).map(jsonKey), 'value')
      const edit = { op: 'add', at, value: written, ...place } as const
      return [{ file, edit, title: `write the default, ${JSON.stringify(written)}`, id: '' }]
    })
  })
}
