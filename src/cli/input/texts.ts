import type { Located, Unread } from '../output/report.ts'
import { fillPlaceholders, quoteTemplates } from './fill.ts'
import { withoutPatches } from './kustomize.ts'
import { type FileDocument, loadDocuments } from './load.ts'

/** All documents and texts that were read from the arguments. */
export interface Documents {
  readonly files: string[]
  /** The texts of the files, by name. */
  readonly texts: ReadonlyMap<string, string>
  readonly documents: readonly FileDocument[]
  /** Files that are not judged, with the reasons: patches, and files of kustomizations outside of the given paths. */
  readonly notJudged: readonly Located[]
  readonly unread: Unread[]
  /** Files and folders without a document, with the reasons. */
  readonly empty: readonly Located[]
}

/** The documents in these texts, which are given by file name. */
export function documentsOf(texts: ReadonlyMap<string, string>): Documents {
  const documents = [...texts].flatMap(([file, text]) =>
    loadDocuments(quoteTemplates(text)).flatMap((document) =>
      'error' in document ? [] : [{ file, document }],
    ),
  )
  const { documents: resources, patches } = withoutPatches(documents)
  return {
    files: [...texts.keys()],
    texts,
    documents: resources,
    notJudged: patches,
    unread: [],
    empty: [],
  }
}

/** The documents in the text of a file, after filling in placeholders whose values are given. */
export function documentsIn(
  file: string,
  text: string,
  filled: ReadonlyMap<string, string>,
): { readonly documents: readonly FileDocument[]; readonly unread: readonly Unread[] } {
  const loaded = loadDocuments(quoteTemplates(fillPlaceholders(text, filled)))
  const unread = loaded.flatMap((each) => ('error' in each ? [each.error] : []))
  // Template lines (`{{ if … }}`) are not YAML.
  const isTemplate = unread.length > 0 && /\{\{|\{%/.test(text)
  return {
    documents: loaded.flatMap((document) => ('error' in document ? [] : [{ file, document }])),
    unread: unread.map((error) => ({ file, ...error, ...(isTemplate && { template: true as const }) })),
  }
}
