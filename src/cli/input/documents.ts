import { UsageError } from '../../configuration/flags.ts'
import { type Excluded, INPUT, readSources } from './files.ts'
import { type Documents, documentsIn } from './texts.ts'
import { withoutPatches } from './kustomize.ts'
import type { FileDocument } from './load.ts'
import type { Located, Unread } from '../output/report.ts'

/** The settings for reading files. */
export interface ReadOptions {
  /** The values of placeholders by name. */
  readonly filled: ReadonlyMap<string, string>
  readonly excluded: Excluded
}

/**
 * Reads files, folders and standard input, and fills in placeholders. Files that cannot be read are listed in the result. Throws
 * UsageError.
 */
export async function readDocuments(names: readonly string[], options: ReadOptions): Promise<Documents> {
  if (names.filter((name) => name === '-').length > 1)
    throw new UsageError('standard input can be named only once')
  const reads: Read[] = []
  for (const name of names) reads.push(await readArgument(name, options))
  return {
    files: reads.flatMap(({ texts }) => [...texts.keys()]),
    texts: new Map(reads.flatMap(({ texts }) => [...texts])),
    ...withoutPatches(reads.flatMap(({ documents }) => documents)),
    unread: reads.flatMap(({ unread }) => unread),
    empty: reads.flatMap(emptyPlaces),
  }
}

/** The documents of one argument. */
interface Read {
  readonly name: string
  readonly texts: ReadonlyMap<string, string>
  readonly documents: FileDocument[]
  readonly unread: Unread[]
  /** Whether a document in it was left out. */
  readonly reduced: boolean
}

async function readArgument(name: string, { filled, excluded }: ReadOptions): Promise<Read> {
  let reduced = false
  const isLeftOut = (path: string) => {
    const isExcluded = excluded(path)
    reduced ||= isExcluded
    return isExcluded
  }
  const texts = new Map<string, string>()
  const documents: FileDocument[] = []
  const unread: Unread[] = []
  for await (const source of readSources(name, isLeftOut)) {
    const file = source.name
    if ('problem' in source) {
      unread.push({ file, line: 0, column: 0, message: source.problem })
      continue
    }
    texts.set(file, source.text)
    const read = documentsIn(file, source.text, filled)
    documents.push(...read.documents)
    unread.push(...read.unread)
  }
  return { name, texts, documents, unread, reduced }
}

function emptyPlaces({ name, texts, documents, unread, reduced }: Read): Located[] {
  if (documents.length + unread.length > 0) return []
  const without = reduced ? '--exclude leaves nothing of it' : NO_MANIFEST
  const message = texts.size > 0 ? 'there is no document in it' : without
  return [{ file: name === '-' ? INPUT : name, line: 0, column: 0, message }]
}

const NO_MANIFEST = 'no file in this folder ends in .yaml, .yml or .json'
