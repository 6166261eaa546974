import { isObject } from '../../rule/index.ts'
import type { FileDocument } from './load.ts'
import type { Located } from '../output/report.ts'

/**
 * Removes the files that a kustomization uses as patches, because they contain only parts of resources. Keeps a file
 * that some kustomization also lists as a resource. `absolute` gives the spellings of a path the same text.
 */
export function withoutPatches(
  documents: readonly FileDocument[],
  absolute: (path: string) => string = normalized,
): {
  readonly documents: readonly FileDocument[]
  readonly patches: readonly Located[]
} {
  const kustomizations = documents.filter(isKustomization)
  const named = (list: (value: unknown) => string[]) =>
    kustomizations.flatMap(({ file, document }) =>
      list(document.value).map((path) => [absolute(`${folderOf(file)}/${path}`), file] as const),
    )
  const resources = new Map(named(resourcesOf))
  const users = new Map(named(patchesOf).filter(([path]) => !resources.has(path)))
  const userOf = ({ file }: FileDocument) => users.get(absolute(file))
  return {
    documents: documents.filter((each) => userOf(each) === undefined),
    patches: documents.flatMap((each) => {
      const user = userOf(each)
      return user === undefined ? [] : [patchNote(each, user)]
    }),
  }
}

/** The names under which `kubectl kustomize` finds a kustomization. */
export const KUSTOMIZATION_NAMES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization'] as const
const NAMES: ReadonlySet<string | undefined> = new Set(KUSTOMIZATION_NAMES)

/** Whether a document is a kustomization, by the name of its file and by its `kind`, which may be missing. */
function isKustomization({ file, document: { value } }: FileDocument): boolean {
  if (!NAMES.has(normalized(file).split('/').at(-1)) || !isObject(value)) return false
  return [undefined, null, '', 'Kustomization', 'Component'].includes(value.kind as string | null | undefined)
}

/** An entry in a kustomization's resources, bases or components: a file, or a folder with another kustomization. */
interface Listed {
  /** The path of the entry from the working folder; `written` is the text in the kustomization. */
  readonly path: string
  readonly written: string
  readonly at: Pick<Located, 'file' | 'line' | 'column'>
}

/** The entries in the resources, bases and components of the kustomizations among the documents. */
export function* listedIn(documents: readonly FileDocument[]): Iterable<Listed> {
  for (const { file, document } of documents.filter(isKustomization))
    for (const field of ['resources', 'bases', 'components']) {
      const list = (document.value as Readonly<Record<string, unknown>>)[field]
      for (const [i, written] of Array.isArray(list) ? list.entries() : [])
        if (typeof written === 'string')
          yield {
            path: normalized(`${folderOf(file)}/${written}`),
            written,
            at: { file, ...document.locate([field, i], 'value') },
          }
    }
}

function resourcesOf(value: unknown): string[] {
  const { resources } = value as { readonly resources?: unknown }
  return Array.isArray(resources) ? resources.filter((path) => typeof path === 'string') : []
}

/** The paths of the patches, as written in a kustomization. */
function patchesOf(value: unknown): string[] {
  const { patches, patchesStrategicMerge, patchesJson6902 } = value as Readonly<Record<string, unknown>>
  return [patches, patchesStrategicMerge, patchesJson6902].flatMap((list) =>
    Array.isArray(list) ? list.map(pathOf).filter((path) => path !== undefined) : [],
  )
}
const pathOf = (patch: unknown): string | undefined => {
  const path = isObject(patch) ? patch.path : patch
  return typeof path === 'string' ? path : undefined
}

function patchNote({ file, document }: FileDocument, user: string): Located {
  const built = `kubectl kustomize ${folderOf(user)} | vmcp-admission check -`
  const message = `not judged, because ${user} uses it as a patch; to judge the result: ${built}`
  return { file, ...document.locate([], 'value'), message }
}

const folderOf = (file: string): string => normalized(`${file}/..`)

/** Whether a path is inside a folder, or is the folder itself. */
export function isWithin(path: string, folder: string): boolean {
  const [inner, outer] = [normalized(path), normalized(folder)]
  if (outer === '.') return !/^(?:\.\.(?:\/|$)|\/)/.test(inner)
  return inner === outer || inner.startsWith(outer === '/' ? outer : `${outer}/`)
}

/** A path with `/`, without `.`, and with `..` only at its start. A Windows drive (`C:`) counts as a name. */
export function normalized(path: string): string {
  const parts: string[] = []
  for (const part of path.replaceAll('\\', '/').split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return (/^[\\/]/.test(path) ? '/' : '') + (parts.join('/') || '.')
}
