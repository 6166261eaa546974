import { readSources } from './files.ts'
import { fillPlaceholders, quoteTemplates } from './fill.ts'
import { loadDocuments, type ReadDocument, type UnreadDocument } from './load.ts'
import type { Located } from './report.ts'

/** Everything that was read from the files that a person named. */
export interface Documents {
  readonly files: string[]
  readonly documents: readonly { readonly file: string; readonly document: ReadDocument }[]
  readonly unread: Located[]
}

/** Reads files, folders and standard input, and fills in placeholders; what cannot be read is told, never thrown. */
export async function readDocuments(
  names: readonly string[],
  filled: ReadonlyMap<string, string>,
): Promise<Documents> {
  const files: string[] = []
  const documents: { file: string; document: ReadDocument }[] = []
  const unread: Located[] = []
  for await (const source of readSources(names)) {
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
  return { files, documents, unread }
}

/** Templates with lines for the tool itself (`{{ if … }}`) are no YAML. */
function hinted(error: UnreadDocument['error'], text: string): UnreadDocument['error'] {
  if (!text.includes('{{')) return error
  const message = `${error.message}; check what the template renders to, as in 'helm template . | vmcp-admission check -'`
  return { ...error, message }
}
