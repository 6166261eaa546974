import { resolve } from 'node:path'
import type { Located, Unread } from '../output/report.ts'
import { KUSTOMIZATION_NAMES, listedIn, normalized } from './kustomize.ts'
import type { FileDocument } from './load.ts'

/** The documents of some files, and the texts of these files by name. */
export interface Batch {
  readonly texts: ReadonlyMap<string, string>
  readonly documents: readonly FileDocument[]
  readonly unread: readonly Unread[]
}

/** Finds and reads the files that kustomizations list, on the disk or in a commit. */
interface Place {
  /** Whether the path is in a folder that was searched for manifests. */
  readonly covers: (path: string) => boolean
  readonly isExcluded: (path: string) => boolean
  readonly isFile: (name: string) => Promise<boolean>
  readonly read: (files: readonly string[]) => Promise<Batch>
}

/** The most kustomization entries that are looked up. */
const MOST_LISTED = 10_000

/**
 * Reads the files that kustomizations list but that the search skipped, such as hidden ones, because kubectl builds
 * them too. Listed files outside of the searched folders are not judged.
 */
export async function readListed(
  searched: Batch,
  place: Place,
): Promise<Batch & { readonly notJudged: readonly Located[] }> {
  const batches: Batch[] = []
  const notJudged: Located[] = []
  const known = new Set(namesIn(searched).map((name) => resolve(name)))
  let looked = 0
  for (let last = searched; last.documents.length > 0;) {
    const files: string[] = []
    for (const { path, written, at } of listedIn(last.documents)) {
      const names = [path, ...KUSTOMIZATION_NAMES.map((name) => normalized(`${path}/${name}`))]
      if (place.isExcluded(path) || names.some((name) => known.has(resolve(name)))) continue
      looked += 1
      const file = place.covers(path) && looked <= MOST_LISTED ? await firstFile(names, place) : undefined
      if (file !== undefined) {
        known.add(resolve(file))
        files.push(file)
        continue
      }
      const message = `not judged: this kustomization lists '${written}', which is not among the given files`
      notJudged.push({ ...at, message })
    }
    last = await place.read(files)
    batches.push(last)
  }
  return { ...together(batches), notJudged }
}

const namesIn = ({ texts, unread }: Batch): string[] => [
  ...texts.keys(),
  ...unread.flatMap(({ file }) => file ?? []),
]

async function firstFile(names: readonly string[], { isFile }: Place): Promise<string | undefined> {
  for (const name of names) if (await isFile(name)) return name
  return undefined
}

export const together = (batches: readonly Batch[]): Batch => ({
  texts: new Map(batches.flatMap(({ texts }) => [...texts])),
  documents: batches.flatMap(({ documents }) => documents),
  unread: batches.flatMap(({ unread }) => unread),
})
