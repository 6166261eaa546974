import { type Flag, text, toggle, type Values } from '../../configuration/flags.ts'
import type { Documents, ReadOptions } from './documents.ts'
import { excluding } from './files.ts'
import { counted, type Located, type Unread } from '../output/report.ts'
import { visible } from '../output/visible.ts'

type Environment = Readonly<Record<string, string | undefined>>

const values: Flag<ReadonlyMap<string, string>> = {
  help: 'fill in a placeholder first; may be repeated',
  argument: 'NAME=VALUE',
  repeated: true,
  fallback: new Map(),
  read: (written, before) => {
    const equals = written.indexOf('=')
    if (equals < 1) throw new Error(`'${written}' is not NAME=VALUE`)
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

/** How files are read: the same for every command that reads them. */
export const READING_FLAGS = {
  namespace: text(
    "namespace of documents that name none; else 'default', or with --cluster that of the kubeconfig",
    'NAME',
    '',
  ),
  set: values,
  env: toggle('fill in placeholders from the environment'),
  exclude: patterns,
}

/** How the flags say that files are read. */
export function readOptions(
  { env, set, exclude }: Pick<Values<typeof READING_FLAGS>, 'env' | 'set' | 'exclude'>,
  environment: Environment,
): ReadOptions {
  const given = env ? Object.entries(environment) : []
  const filled = [...given.filter((entry): entry is [string, string] => entry[1] !== undefined), ...set]
  return { filled: new Map(filled), excluded: excluding(exclude) }
}

/**
 * What was named and holds no document is worth a line, as for a folder that may be empty. Where nothing holds one, it
 * counts as unread, and is returned: nothing would be judged, and a wrong name or a template that failed would pass.
 */
export function tellEmpty(reads: readonly Documents[]): readonly Located[] {
  const empty = reads.flatMap((read) => read.empty)
  if (reads.every(({ documents, unread }) => documents.length + unread.length === 0)) return empty
  tell(empty)
  return []
}

/** A line each; all templates are one line, because a repository of charts has many. */
export function tellUnread(unread: readonly Unread[]): void {
  const templates = unread.filter(({ template }) => template)
  const others = unread.filter(({ template }) => !template)
  const lines = [...others, ...templates.slice(0, 1).map((first) => ofTemplates(first, templates))]
  tell(lines.map(({ message, ...place }) => ({ ...place, message: `cannot read: ${message}` })))
}

function ofTemplates(first: Unread, templates: readonly Unread[]): Unread {
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

/** A line each on standard error. */
export function tell(lines: readonly Located[]): void {
  for (const { file, line, column, message } of lines) {
    const place = `${file ?? 'cluster'}${line === 0 ? '' : `:${line}:${column}`}`
    process.stderr.write(`${visible(`${place}: ${message}`)}\n`)
  }
}
