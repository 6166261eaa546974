import { readFile, writeFile } from 'node:fs/promises'
import { readFlags, toggle, UsageError } from '../../configuration/flags.ts'
import { chosenSettings, CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { pathText } from '../../rule/path.ts'
import { unifiedDiff } from '../fix/diff.ts'
import { type Change, fixAll } from '../fix/fix-all.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { placeholderFinder } from '../../review/own-placeholders.ts'
import { openConfiguration } from '../input/configuration.ts'
import { excluding, INPUT } from '../input/files.ts'
import { printEmpty, printLines, printUnread, READING_FLAGS } from '../input/reading.ts'
import { readRelease, RELEASE_FLAGS } from '../input/release.ts'
import { counted, EXIT } from '../output/report.ts'
import { visible } from '../output/visible.ts'
import type { Judging } from './judge-document.ts'

const { namespace, exclude } = READING_FLAGS

export const FIX_FLAGS = {
  write: toggle('change the files; without it the changes are printed as a diff'),
  'add-defaults': toggle('write the documented defaults that are missing too'),
  namespace,
  exclude,
  ...CONFIGURATION_FLAG,
  ...JUDGING_FLAGS,
  ...RELEASE_FLAGS,
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
  const configuration = await openConfiguration(flags['config-file'], positionals)
  const judging: Judging = {
    group,
    namespace: flags.namespace || configuration.defaultNamespace || 'default',
    strict: false,
    settings: chosenSettings(flags, configuration, Date.now()),
    placeholders: placeholderFinder(configuration.placeholders),
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
