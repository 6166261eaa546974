import { toggle, UsageError, type Values } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { pathText, withoutUserInfo } from '../../rule/index.ts'
import { defineCommand, type Invocation, UNREAD } from '../define-command.ts'
import { unifiedDiff } from '../fix/diff.ts'
import { type FileChange, fixAll } from '../fix/fix-all.ts'
import { replaceFile } from '../fix/replace-file.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { leftOutIn } from './exemptions.ts'
import { excluding, INPUT } from '../input/files.ts'
import { printEmpty, printLines, printUnread, READING_FLAGS, unlessJudged } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'
import { openWorld, type OpenWorld } from '../input/world.ts'
import { counted, EXIT, placeText } from '../output/report.ts'
import { visible, visiblePatch } from '../output/visible.ts'

const { namespace, exclude, 'fail-on-not-judged': failOnNotJudged } = READING_FLAGS

const FLAGS = {
  write: toggle('change the files; without it the changes are printed as a diff'),
  'add-defaults': toggle('write the documented defaults that are missing too'),
  namespace,
  exclude,
  'fail-on-not-judged': failOnNotJudged,
  ...CONFIGURATION_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
}

export const fix = defineCommand({
  name: 'fix',
  summary: 'print safe fixes of these files as a diff, or make them',
  arguments: [['[flags] FILE|DIRECTORY ...']],
  flags: FLAGS,
  examples: ['--write deploy/'],
  exitCodes: { 0: 'nothing to fix, or --write has fixed it', 1: 'there are fixes in the diff', 3: UNREAD },
  run: fixFiles,
})

async function fixFiles({ flags, names: positionals }: Invocation<typeof FLAGS>): Promise<number> {
  if (positionals.length === 0) throw new UsageError('name the files or folders to fix')
  if (flags.write && positionals.includes('-'))
    throw new UsageError('--write changes files, not standard input')
  const world = await openWorld(flags, positionals)
  const { texts, unread } = await readTexts(positionals, flags, world)
  const fixed = fixAll(texts, world, flags['add-defaults'])
  printUnread(unread)
  printLines(fixed.left)
  const changed = [...fixed.texts].filter(([file, text]) => text !== texts.get(file))
  const failed = new Set<string>()
  for (const [file, text] of changed) {
    const before = texts.get(file) ?? ''
    if (!flags.write) printPatch(file, unifiedDiff(file === INPUT ? 'stdin' : file, before, text))
    else if (!(await write(file, before, text, unread))) failed.add(file)
  }
  const done = fixed.changes.filter(({ file }) => !failed.has(file))
  if (flags.write) for (const change of done) process.stdout.write(`${visible(lineOf(change))}\n`)
  const count = `${counted(done.length, 'change')} in ${counted(changed.length - failed.size, 'file')}`
  const next = changed.length === 0 || flags.write ? '' : '; --write makes them'
  const left = failed.size === 0 ? '' : `; ${counted(failed.size, 'file')} not written`
  process.stderr.write(`${count}${next}${left}\n`)
  if (unread.length > 0) return EXIT.unread
  return changed.length > 0 && !flags.write ? EXIT.findings : EXIT.clean
}

/**
 * Reads only the texts: their documents are parsed again after each fix, and both together would take twice the memory.
 */
async function readTexts(
  names: readonly string[],
  flags: Values<typeof FLAGS>,
  world: OpenWorld,
): Promise<Pick<Documents, 'texts' | 'unread'>> {
  const read = await readDocuments(names, { filled: new Map(), excluded: excluding(flags.exclude) })
  const leftOut = leftOutIn(read, world, world.settings, world.configuration)
  const { texts, notJudged, unread } = read
  unread.push(...unlessJudged([...notJudged, ...leftOut], flags), ...printEmpty([read]))
  return { texts, unread }
}

const lineOf = ({ file, edit, title, id }: FileChange): string =>
  `${placeText({ ...edit, file })}: ${pathText(edit.at)}: ${title}${id === '' ? '' : ` (${id})`}`

/** Prints a patch for reading: escapes what a CI log would execute, and hides passwords in URLs. */
function printPatch(file: string, patch: string): void {
  const masked = patch.split('\n').map(withoutPassword).join('\n')
  const shown = visiblePatch(masked)
  process.stdout.write(shown)
  if (shown === patch) return
  const what =
    shown === masked
      ? 'the diff leaves out the user information of URLs'
      : 'the diff shows as escapes what a log would act upon'
  const message = `${what}, so patch does not take it; --write makes the changes`
  printLines([{ file, line: 0, column: 0, message }])
}

/** A line of a diff without passwords in URLs; its first character, which marks additions and removals, stays. */
const withoutPassword = (line: string): string => line.slice(0, 1) + withoutUserInfo(line.slice(1))

/** Writes a file, if it still has the text that was read, in UTF-8; false where it was not written. */
async function write(
  file: string,
  before: string,
  after: string,
  unread: Documents['unread'],
): Promise<boolean> {
  const why = await replaceFile(file, before, after)
  if (why === undefined) return true
  const problem = { file, line: 0, column: 0, message: `not written: ${why}` }
  printLines([problem])
  unread.push(problem)
  return false
}
