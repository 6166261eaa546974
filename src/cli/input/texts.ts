import type { Located, Unread } from '../output/report.ts'
import { fillPlaceholders, quoteTemplates } from './fill.ts'
import { withoutPatches } from './kustomize.ts'
import { type FileDocument, loadDocuments, type UnreadDocument } from './load.ts'

/** Everything that was read from the files in the arguments. */
export interface Documents {
  readonly files: string[]
  /** The texts of the files, by name. */
  readonly texts: ReadonlyMap<string, string>
  readonly documents: readonly FileDocument[]
  /** Documents that are left out, and the reason. */
  readonly patches: readonly Located[]
  readonly unread: Unread[]
  /** Files and folders without a document, and the reason. */
  readonly empty: readonly Located[]
}

/** The documents of texts that were read, by the name of the file. */
export function documentsOf(texts: ReadonlyMap<string, string>): Documents {
  const documents = [...texts].flatMap(([file, text]) =>
    loadDocuments(quoteTemplates(text)).flatMap((document) =>
      'error' in document ? [] : [{ file, document }],
    ),
  )
  return { files: [...texts.keys()], texts, ...withoutPatches(documents), unread: [], empty: [] }
}

/** The documents in the text of a file, with the placeholders filled in whose values are given. */
export function documentsIn(
  file: string,
  text: string,
  filled: ReadonlyMap<string, string>,
): { readonly documents: readonly FileDocument[]; readonly unread: readonly Unread[] } {
  const loaded = loadDocuments(quoteTemplates(fillPlaceholders(text, filled)))
  return {
    documents: loaded.flatMap((document) => ('error' in document ? [] : [{ file, document }])),
    unread: loaded.flatMap((each) => ('error' in each ? [{ file, ...markTemplate(each.error, text) }] : [])),
  }
}

/** Marks an error in a file with template lines (`{{ if … }}`), which are not YAML. */
function markTemplate(
  error: UnreadDocument['error'],
  text: string,
): UnreadDocument['error'] & Pick<Unread, 'template'> {
  return /\{\{|\{%/.test(text) ? { ...error, template: true } : error
}
