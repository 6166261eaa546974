import { isAbsolute, posix, relative } from 'node:path'
import { UsageError } from '../../configuration/flags.ts'
import { documentsFrom, type ReadOptions } from './documents.ts'
import { type SourceFile, sourceOf, withSlashes } from './files.ts'
import { isWithin, normalized } from './kustomize.ts'
import { type Batch, readListed, together } from './listed.ts'
import { type Allowance, LINK_TO_OTHER_KIND, MANIFEST, newAllowance, take } from './regular-file.ts'
import { errorMessage, withoutEnd } from '../../rule/index.ts'
import { type BlobName, blobsOf, commitOf, filesOf, openRepository, type Repository } from './repository.ts'
import { type Documents, documentsIn } from './texts.ts'

/** A state of the manifests in git, written `git:REVISION` or `git:REVISION:PATH`. */
export interface Revision {
  readonly revision: string
  readonly path: string | undefined
}

export function readRevision(written: string): Revision | undefined {
  if (!written.startsWith('git:')) return undefined
  const [, revision = '', path] = /^git:([^:]*)(?::(.*))?$/s.exec(written) ?? []
  if (revision === '' || revision.startsWith('-'))
    throw new UsageError(`'${written}' names no revision: write git:main, or git:main:deploy/`)
  return { revision, path }
}

/** Reads the manifests of a git revision at these paths, relative to the working folder. Throws UsageError. */
export async function readRevisionDocuments(
  { revision }: Revision,
  paths: readonly string[],
  options: ReadOptions,
): Promise<Documents> {
  const repository = openRepository(process.env)
  const commit: Commit = {
    repository,
    files: filesOf(repository, commitOf(repository, revision)),
    allowance: options.allowance ?? newAllowance(),
  }
  const { prefix } = repository
  const inRepository = (name: string) => normalized(posix.join(prefix, withSlashes(name)))
  const folders = paths.map((path) => inRepository(isAbsolute(path) ? relative('', path) : path))
  const isNamed = (name: string) => folders.some((folder) => isWithin(name, folder))
  const read = (names: readonly string[]): Batch =>
    together(
      readFiles(commit, names.map(inRepository)).flatMap((source, i): Batch[] => {
        const file = names[i] ?? ''
        if (source === undefined) return []
        if ('problem' in source)
          return [
            {
              texts: new Map(),
              documents: [],
              unread: [{ file, line: 0, column: 0, message: source.problem }],
            },
          ]
        return [{ texts: new Map([[file, source.text]]), ...documentsIn(file, source.text, options.filled) }]
      }),
    )
  const names = [...commit.files.keys()]
    .filter(isNamed)
    .map((name) => posix.relative(prefix, name))
    .filter((name) => isManifest(name) && !options.excluded(name))
  if (names.length === 0) throw new UsageError(`there is no manifest at ${paths.join(', ')} in ${revision}`)
  const searched = read(names)
  const listed = await readListed(searched, {
    covers: (name) => isNamed(inRepository(name)),
    isExcluded: options.excluded,
    isFile: (name) => Promise.resolve(commit.files.has(inRepository(name))),
    read: (more) => Promise.resolve(read(more)),
  })
  return named(
    documentsFrom([searched, listed], { ...options, notJudged: listed.notJudged, empty: [] }),
    (file) => `git:${revision}:${file}`,
  )
}

/** The same documents with new file names, which `nameOf` returns. */
function named(documents: Documents, nameOf: (file: string) => string): Documents {
  const rename = <T extends { readonly file: string | null }>(each: T): T =>
    each.file === null ? each : { ...each, file: nameOf(each.file) }
  return {
    files: documents.files.map(nameOf),
    texts: new Map(Array.from(documents.texts, ([file, text]) => [nameOf(file), text])),
    documents: documents.documents.map(rename),
    notJudged: documents.notJudged.map(rename),
    unread: documents.unread.map(rename),
    empty: documents.empty,
  }
}

/** The files of a git commit, by their path from the top of the repository. */
interface Commit {
  readonly repository: Repository
  readonly files: ReadonlyMap<string, BlobName>
  readonly allowance: Allowance
}

/** The most symbolic links that are followed one after another to reach a file, as in Linux. */
const MOST_LINKS = 40

/** Reads files of a commit, in the order of the paths; undefined for a symbolic link to a folder, which is skipped. */
function readFiles(
  { repository, files, allowance }: Commit,
  paths: readonly string[],
): (SourceFile | undefined)[] {
  const found = new Map<string, SourceFile | undefined>()
  let open = new Map(paths.map((path) => [path, path]))
  for (let round = 0; open.size > 0; round++) {
    const blobs = new Map(
      Array.from(open, ([path, leadsTo]) => [path, { leadsTo, blob: files.get(leadsTo) }] as const),
    )
    const ids = [...blobs.values()].flatMap(({ blob }) => blob?.id ?? [])
    const contents = blobsOf(repository, ids, allowance)
    open = new Map()
    for (const [path, { leadsTo, blob }] of blobs) {
      const content = blob === undefined ? undefined : contents.get(blob.id)
      if (blob === undefined || content === undefined) found.set(path, brokenLink(path, leadsTo, files))
      else if (!blob.isLink) found.set(path, linked(path, leadsTo) ?? taken(path, content, allowance))
      else if (round === MOST_LINKS) found.set(path, { name: path, problem: 'a link that leads to itself' })
      else open.set(path, posix.join(posix.dirname(leadsTo), content.toString()))
    }
  }
  return paths.map((path) => found.get(path))
}

function taken(name: string, content: Buffer, allowance: Allowance): SourceFile {
  try {
    take(allowance, content)
    return sourceOf(name, content)
  } catch (error) {
    return { name, problem: errorMessage(error) }
  }
}

function brokenLink(
  name: string,
  leadsTo: string,
  files: ReadonlyMap<string, BlobName>,
): SourceFile | undefined {
  const folder = `${withoutEnd(leadsTo, '/')}/`
  const isFolder = leadsTo === '.' || [...files.keys()].some((path) => path.startsWith(folder))
  return isFolder ? undefined : { name, problem: 'a link that leads to no file of the revision' }
}

/** The problem of a symbolic link that is named like a manifest, but leads to another type of file; else undefined. */
const linked = (name: string, leadsTo: string): SourceFile | undefined =>
  name !== leadsTo && MANIFEST.test(name) && !MANIFEST.test(leadsTo)
    ? { name, problem: LINK_TO_OTHER_KIND }
    : undefined

/** Whether the file at a path is a manifest to read; hidden files, hidden folders and node_modules are not read. */
const isManifest = (path: string): boolean =>
  MANIFEST.test(posix.basename(path)) &&
  !path.split('/').some((name) => (name.startsWith('.') && name !== '..') || name === 'node_modules')
