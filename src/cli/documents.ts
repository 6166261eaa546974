import { UsageError } from '../configuration/flags.ts'
import { INPUT, readSources } from './files.ts'
import { fillPlaceholders, quoteTemplates } from './fill.ts'
import { withoutPatches } from './kustomize.ts'
import { loadDocuments, type ReadDocument, type UnreadDocument } from './load.ts'
import type { Located } from './report.ts'

export interface FileDocument {
  readonly file: string
  readonly document: ReadDocument
}

/** Everything that was read from the files that a person named. */
export interface Documents {
  readonly files: string[]
  readonly documents: readonly FileDocument[]
  /** Documents that are left out, and why. */
  readonly patches: readonly Located[]
  readonly unread: Located[]
  /** What was named and holds no document, and why. */
  readonly empty: readonly Located[]
}

/**
 * Reads files, folders and standard input, and fills in placeholders; what cannot be read is told, never thrown. Throws
 * UsageError.
 */
export async function readDocuments(
  names: readonly string[],
  filled: ReadonlyMap<string, string>,
): Promise<Documents> {
  if (names.filter((name) => name === '-').length > 1)
    throw new UsageError('standard input can be named only once')
  const reads: Read[] = []
  for (const name of names) reads.push(await readOne(name, filled))
  return {
    files: reads.flatMap(({ files }) => files),
    ...withoutPatches(reads.flatMap(({ documents }) => documents)),
    unread: reads.flatMap(({ unread }) => unread),
    empty: reads.flatMap(emptiness),
  }
}

/** What was read of one name. */
interface Read {
  readonly name: string
  readonly files: string[]
  readonly documents: FileDocument[]
  readonly unread: Located[]
}

async function readOne(name: string, filled: ReadonlyMap<string, string>): Promise<Read> {
  const read: Read = { name, files: [], documents: [], unread: [] }
  const { files, documents, unread } = read
  for await (const source of readSources(name)) {
    const file = source.name
    if ('problem' in source) {
      unread.push({ file, line: 0, column: 0, message: source.problem })
      continue
    }
    files.push(file)
    for (const document of loadDocuments(quoteTemplates(fillPlaceholders(source.text, filled)))) {
      if ('error' in document) unread.push({ file, ...hinted(document.error, source.text) })
      else documents.push({ file, document })
    }
  }
  return read
}

function emptiness({ name, files, documents, unread }: Read): Located[] {
  if (documents.length + unread.length > 0) return []
  const message =
    files.length > 0 ? 'there is no document in it' : 'no file in this folder ends in .yaml, .yml or .json'
  return [{ file: name === '-' ? INPUT : name, line: 0, column: 0, message }]
}

/** Templates with lines for the tool itself (`{{ if … }}`) are no YAML. */
function hinted(error: UnreadDocument['error'], text: string): UnreadDocument['error'] {
  if (!text.includes('{{')) return error
  const message = `a template is no YAML (${error.message}): check what it renders to, as in 'helm template . | vmcp-admission check -'`
  return { ...error, message }
}
