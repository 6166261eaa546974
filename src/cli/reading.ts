import { type Flag, text, toggle, type Values } from '../configuration/flags.ts'
import type { Documents } from './documents.ts'
import type { Located } from './report.ts'
import { visible } from './visible.ts'

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

/** How files are read: the same for every command that reads them. */
export const READING_FLAGS = {
  namespace: text(
    "namespace of documents that name none; else 'default', or with --cluster that of the kubeconfig",
    'NAME',
    '',
  ),
  set: values,
  env: toggle('fill in placeholders from the environment'),
}

/** What placeholders are filled in with. */
export function valuesFor(
  { env, set }: Pick<Values<typeof READING_FLAGS>, 'env' | 'set'>,
  environment: Environment,
): ReadonlyMap<string, string> {
  const given = env ? Object.entries(environment) : []
  return new Map([...given.filter((entry): entry is [string, string] => entry[1] !== undefined), ...set])
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

export function tellUnread(unread: readonly Located[]): void {
  tell(unread.map(({ message, ...place }) => ({ ...place, message: `cannot read: ${message}` })))
}

/** A line each on standard error. */
export function tell(lines: readonly Located[]): void {
  for (const { file, line, column, message } of lines) {
    const place = `${file ?? 'cluster'}${line === 0 ? '' : `:${line}:${column}`}`
    process.stderr.write(`${visible(`${place}: ${message}`)}\n`)
  }
}
