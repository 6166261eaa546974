import { realpath } from 'node:fs/promises'
import { choice, toggle, UsageError, type Values } from '../../configuration/flags.ts'
import { CONFIGURATION_FLAG, JUDGING_FLAGS } from '../../configuration/judging.ts'
import { defineCommand, type Invocation, type CommandResult, print, UNREAD } from '../define-command.ts'
import { unifiedDiff } from '../fix/diff.ts'
import { fixAll } from '../fix/fix-all.ts'
import { replaceFile } from '../fix/replace-file.ts'
import { readDocuments } from '../input/documents.ts'
import type { Documents } from '../input/texts.ts'
import { leftOutIn } from './exemptions.ts'
import { excluding, INPUT } from '../input/files.ts'
import { printEmpty, printLines, printUnread, READING_FLAGS, unlessJudged } from '../input/reading.ts'
import { RELEASE_FLAGS } from '../input/release.ts'
import { openWorld, type OpenWorld } from '../input/world.ts'
import { fixJson, type FixReport, fixText, type Patch, patchOf, problemWithPatch } from '../output/fix.ts'
import { counted, EXIT } from '../output/report.ts'

const { namespace, exclude, 'fail-on-not-judged': failOnNotJudged } = READING_FLAGS

export const FIX_FLAGS = {
  output: choice('format of the output', ['human', 'json'], 'human'),
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
  flags: FIX_FLAGS,
  examples: ['--write deploy/'],
  exitCodes: { 0: 'nothing to fix, or --write has fixed it', 1: 'there are fixes in the diff', 3: UNREAD },
  run: async (invocation) => {
    const fixes = await fixesOf(invocation)
    const code = await print(fixes, invocation.flags.output)
    process.stderr.write(`${fixes.counts}\n`)
    return code
  },
})

/**
 * Finds the fixes for the named files; with --write, writes them. `counts` in the result is a text with the number of
 * changes.
 */
export async function fixesOf({
  flags,
  names: positionals,
}: Invocation<typeof FIX_FLAGS>): Promise<CommandResult<'human' | 'json'> & { readonly counts: string }> {
  if (positionals.length === 0) throw new UsageError('name the files or folders to fix')
  if (flags.write && positionals.includes('-'))
    throw new UsageError('--write changes files, not standard input')
  const world = await openWorld(flags, positionals)
  const { texts, unread } = await readTexts(positionals, flags, world)
  const fixed = fixAll(texts, world, {
    addDefaults: flags['add-defaults'],
    namespace: flags.namespace || world.configuration.defaultNamespace || '',
  })
  printUnread(unread)
  printLines(fixed.left)
  const changed = [...fixed.texts].filter(([file, text]) => text !== texts.get(file))
  const patches: Patch[] = []
  const failed = new Set<string>()
  for (const [file, text] of changed) {
    const before = texts.get(file) ?? ''
    if (!flags.write) patches.push(patchOf(file, unifiedDiff(file === INPUT ? 'stdin' : file, before, text)))
    else if (!(await write(file, before, text, unread))) failed.add(file)
  }
  const changes = fixed.changes.filter(({ file }) => !failed.has(file))
  const count = `${counted(changes.length, 'change')} in ${counted(changed.length - failed.size, 'file')}`
  const next = changed.length === 0 || flags.write ? '' : '; --write makes them'
  const left = failed.size === 0 ? '' : `; ${counted(failed.size, 'file')} not written`
  const report = { patches, changes, left: fixed.left, isWritten: flags.write, unread }
  const code = changed.length > 0 && !flags.write ? EXIT.findings : EXIT.clean
  return {
    code: unread.length > 0 ? EXIT.unread : code,
    text: (output) => (output === 'json' ? fixJson(report) : textWithProblems(report)),
    counts: `${count}${next}${left}`,
  }
}

function textWithProblems(report: FixReport): string {
  for (const patch of report.patches) {
    const message = problemWithPatch(patch)
    if (message !== undefined) printLines([{ file: patch.file, line: 0, column: 0, message }])
  }
  return fixText(report)
}

/**
 * Reads the files and returns only their texts, not the parsed documents: the texts are parsed again for each round
 * of fixes, and keeping both would take twice the memory.
 */
async function readTexts(
  names: readonly string[],
  flags: Values<typeof FIX_FLAGS>,
  world: OpenWorld,
): Promise<Pick<Documents, 'texts' | 'unread'>> {
  const read = await readDocuments(names, { filled: new Map(), excluded: excluding(flags.exclude) })
  const leftOut = leftOutIn(read, world, world.settings, world.configuration)
  const { texts, notJudged, unread } = read
  unread.push(...unlessJudged([...notJudged, ...leftOut], flags), ...printEmpty([read]))
  return { texts: await byPath(texts), unread }
}

/** The texts without those of a file that an earlier name leads to: a file is changed once. */
async function byPath(texts: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, readonly [file: string, text: string]>()
  for (const [file, text] of texts) {
    const path = await realpath(file).catch(() => file)
    if (!known.has(path)) known.set(path, [file, text])
  }
  return new Map(known.values())
}

/** Writes `after` to a file that still has the text `before`, in UTF-8; returns false when the file was not written. */
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
