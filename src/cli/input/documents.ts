import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { UsageError } from '../../configuration/flags.ts'
import { type Excluded, INPUT, readSources } from './files.ts'
import { type Documents, documentsIn } from './texts.ts'
import { isWithin, withoutPatches } from './kustomize.ts'
import { type Batch, readListed, together } from './listed.ts'
import type { FileDocument } from './load.ts'
import { type Allowance, newAllowance } from './regular-file.ts'
import type { Located, Unread } from '../output/report.ts'

/** The settings for reading files. */
export interface ReadOptions {
  /** The values that replace placeholders, by name of the placeholder. */
  readonly filled: ReadonlyMap<string, string>
  readonly excluded: Excluded
  /** Limits the bytes of all files of the run together. */
  readonly allowance?: Allowance
  /** Whether the run fails because of a document that is not judged, as it does for a document that cannot be read. */
  readonly failOnNotJudged?: boolean
}

/**
 * Reads files, folders and standard input, and fills in placeholders. The result also lists files that cannot be read.
 * Throws UsageError.
 */
export async function readDocuments(names: readonly string[], given: ReadOptions): Promise<Documents> {
  if (names.filter((name) => name === '-').length > 1)
    throw new UsageError('standard input can be named only once')
  const options = { allowance: newAllowance(), ...given }
  const known = new Set<string>()
  const reads: Read[] = []
  for (const name of names) reads.push(await readArgument(name, options, known))
  const searched = together(reads)
  const folders: string[] = []
  for (const name of names) if (await isFolder(name)) folders.push(name)
  const listed = await readListed(searched, {
    covers: (path) => folders.some((folder) => isWithin(path, folder)),
    isExcluded: options.excluded,
    isFile,
    read: async (files) => {
      const found: Read[] = []
      for (const file of files) found.push(await readArgument(file, options, known))
      return together(found)
    },
  })
  return documentsFrom([...reads, listed], {
    ...options,
    notJudged: listed.notJudged,
    empty: reads.flatMap(emptyPlaces),
  })
}

/** Joins the documents of several sources, without the patches of kustomizations, which are not judged. */
export function documentsFrom(
  batches: readonly Batch[],
  given: Pick<ReadOptions, 'failOnNotJudged'> & Pick<Documents, 'notJudged' | 'empty'>,
): Documents {
  const { texts, documents: all, unread } = together(batches)
  const { documents, patches } = withoutPatches(all, resolve)
  const notJudged = [...patches, ...given.notJudged]
  const fails = given.failOnNotJudged === true
  return {
    files: batches.flatMap((batch) => [...batch.texts.keys()]),
    texts,
    documents,
    notJudged: fails ? [] : notJudged,
    unread: [...unread, ...(fails ? notJudged.map((each) => ({ ...each, notJudged: true as const })) : [])],
    empty: given.empty,
  }
}

const isFolder = (name: string): Promise<boolean> => is(name, 'isDirectory')
const isFile = (name: string): Promise<boolean> => is(name, 'isFile')

async function is(name: string, what: 'isDirectory' | 'isFile'): Promise<boolean> {
  return name !== '-' && (await stat(name).catch(() => undefined))?.[what]() === true
}

/** The documents that were read from one argument of the command. */
interface Read extends Batch {
  readonly name: string
  /** Whether a file of this argument was excluded. */
  readonly reduced: boolean
  /** Whether a file of this argument was read for an earlier argument. */
  readonly repeats: boolean
}

/** Reads an argument without the files in `known`, and adds the files that it reads to `known`. */
async function readArgument(
  name: string,
  { filled, excluded, allowance }: ReadOptions,
  known: Set<string>,
): Promise<Read> {
  let [reduced, repeats] = [false, false]
  const isLeftOut = (path: string) => {
    const [isExcluded, isKnown] = [excluded(path), known.has(resolve(path))]
    reduced ||= isExcluded
    repeats ||= isKnown
    return isExcluded || isKnown
  }
  const texts = new Map<string, string>()
  const documents: (readonly FileDocument[])[] = []
  const unread: (readonly Unread[])[] = []
  for await (const source of readSources(name, isLeftOut, allowance)) {
    const file = source.name
    known.add(resolve(file))
    if ('problem' in source) {
      unread.push([{ file, line: 0, column: 0, message: source.problem }])
      continue
    }
    texts.set(file, source.text)
    const read = documentsIn(file, source.text, filled)
    documents.push(read.documents)
    unread.push(read.unread)
  }
  return { name, texts, documents: documents.flat(), unread: unread.flat(), reduced, repeats }
}

function emptyPlaces({ name, texts, documents, unread, reduced, repeats }: Read): Located[] {
  if (documents.length + unread.length > 0 || repeats) return []
  const without = reduced ? '--exclude leaves nothing of it' : NO_MANIFEST
  const message = texts.size > 0 ? 'there is no document in it' : without
  return [{ file: name === '-' ? INPUT : name, line: 0, column: 0, message }]
}

const NO_MANIFEST = 'no file in this folder ends in .yaml, .yml or .json'
