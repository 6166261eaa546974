import { type Environment, type Flag, text, toggle, type Values } from '../../configuration/flags.ts'
import type { ReadOptions } from './documents.ts'
import type { Documents } from './texts.ts'
import { excluding } from './files.ts'
import { newAllowance } from './regular-file.ts'
import { counted, type Located, placeText, type Unread } from '../output/report.ts'
import { visible } from '../output/visible.ts'

const values: Flag<ReadonlyMap<string, string>> = {
  help: 'fill in a placeholder first; may be repeated',
  argument: 'NAME=VALUE',
  repeated: true,
  fallback: new Map(),
  read: (written, before) => {
    const equals = written.indexOf('=')
    if (equals < 1) throw new Error(`'${written}' is not NAME=VALUE`)
    if (written.includes('\n'))
      throw new Error(`the value of ${written.slice(0, equals)} has several lines: give one line`)
    return new Map([...before, [written.slice(0, equals), written.slice(equals + 1)]])
  },
}

const patterns: Flag<readonly string[]> = {
  help: 'leave out files and folders of this name, or path: *, ? and ** as in a shell; may be repeated',
  argument: 'PATTERN',
  repeated: true,
  fallback: [],
  read: (written, before) => {
    if (/^[./\s]*$/.test(written)) throw new Error(`'${written}' is not the name or path of a file or folder`)
    return [...before, written]
  },
}

/** Flags of every command that reads files. */
export const READING_FLAGS = {
  namespace: text(
    "namespace of documents that name none; else 'default', or with --cluster that of the kubeconfig",
    'NAME',
    '',
  ),
  set: values,
  env: toggle('fill in placeholders from the environment'),
  exclude: patterns,
  'fail-on-not-judged': toggle(
    'exit with 3 where a file or resource is not judged: a patch of kustomize, what a kustomization lists elsewhere, a namespace that is left out',
  ),
}

const { namespace, set, env, exclude } = READING_FLAGS

/** The flags of READING_FLAGS without `fail-on-not-judged`: an editor only marks documents that are not judged. */
export const EDITOR_READING_FLAGS = { namespace, set, env, exclude }

/** The options for reading files, made from the command's flags and the environment. */
export function readOptions(
  {
    env,
    set,
    exclude,
    'fail-on-not-judged': failOnNotJudged = false,
  }: Pick<Values<typeof READING_FLAGS>, 'env' | 'set' | 'exclude'> &
    Partial<Pick<Values<typeof READING_FLAGS>, 'fail-on-not-judged'>>,
  environment: Environment,
): ReadOptions {
  const given = env ? Object.entries(environment) : []
  const filled = [...given.filter((entry): entry is [string, string] => entry[1] !== undefined), ...set]
  return {
    filled: new Map(filled),
    excluded: excluding(exclude),
    allowance: newAllowance(),
    failOnNotJudged,
  }
}

/**
 * Prints a line for each argument that contains no document. If no argument contains a document, returns the arguments
 * as unread instead, so that a wrong name or a failed template does not pass.
 */
export function printEmpty(reads: readonly Documents[]): readonly Located[] {
  const empty = reads.flatMap((read) => read.empty)
  if (reads.every(({ documents, unread }) => documents.length + unread.length === 0)) return empty
  printLines(empty)
  return []
}

/**
 * Prints a line for each file or object that is not judged. With `fail-on-not-judged` returns these files and objects
 * as unread instead, so that the command fails.
 */
export function unlessJudged(
  places: readonly Located[],
  flags: Pick<Values<typeof READING_FLAGS>, 'fail-on-not-judged'>,
): Unread[] {
  if (flags['fail-on-not-judged']) return places.map((each) => ({ ...each, notJudged: true as const }))
  printLines(places)
  return []
}

/** Prints a line for each note about the cluster. */
export function printNotes(notes: readonly Located[]): void {
  for (const { message } of notes) process.stderr.write(`note: ${visible(message)}\n`)
}

/** The most lines about unread files: a process that reads slowly would not receive the end of a longer output. */
const MOST_LINES = 500

/** Prints a line for each unread file. All templates share one line, because a repository of Helm charts has many. */
export function printUnread(unread: readonly Unread[]): void {
  const templates = unread.filter(({ template }) => template)
  const others = unread.filter(({ template }) => !template)
  const lines = [...others, ...templates.slice(0, 1).map((first) => templateLine(first, templates))]
  printLines(
    lines.slice(0, MOST_LINES).map(({ message, notJudged, ...place }) => ({
      ...place,
      message: notJudged ? message : `cannot read: ${message}`,
    })),
  )
  if (lines.length > MOST_LINES)
    process.stderr.write(`and ${lines.length - MOST_LINES} more that cannot be read\n`)
}

function templateLine(first: Unread, templates: readonly Unread[]): Unread {
  const files = new Set(templates.map(({ file }) => file))
  const [what, they, them] =
    files.size === 1
      ? [`a template is not YAML (${first.message})`, 'it renders', 'it']
      : [`this and ${counted(files.size - 1, 'more file')} are templates, not YAML`, 'they render', 'them']
  const isChart = [...files].every((file) => file?.split(/[\\/]/).includes('templates'))
  const render = `check what ${they} to, as in 'helm template . | vmcp-admission check -'`
  const leave = `--exclude ${isChart ? 'templates' : 'PATTERN'} leaves ${them} out`
  return { ...first, message: `${what}: ${render}; ${leave}` }
}

/** Prints each message on standard error, with its file, line and column. */
export function printLines(lines: readonly Located[]): void {
  for (const each of lines) process.stderr.write(`${visible(`${placeText(each)}: ${each.message}`)}\n`)
}
