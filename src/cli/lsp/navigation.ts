/** Finds the definition and the references of names in the workspace, and renames them. */
import {
  type Location,
  LSPErrorCodes,
  type Position,
  type Range,
  ResponseError,
  type TextEdit,
  type WorkspaceEdit,
} from 'vscode-languageserver'
import { holds, rangeAt, unquoted } from './lines.ts'
import type { PlacedOccurrence, Workspace, WorkspaceFile } from './workspace.ts'

/** The occurrence of a name at a position in a file; undefined when there is none. */
export const nameAt = (
  workspace: Workspace,
  file: WorkspaceFile,
  position: Position,
): PlacedOccurrence | undefined =>
  workspace.occurrencesIn(file).find((each) => each.role !== 'default' && holds(rangeOf(each), position))

export const definitionsOf = (workspace: Workspace, { symbol }: PlacedOccurrence): Location[] =>
  workspace
    .occurrencesOf(symbol)
    .filter(({ role }) => role === 'definition')
    .map(locationOf)

export const usesOf = (
  workspace: Workspace,
  { symbol }: PlacedOccurrence,
  withDefinition: boolean,
): Location[] =>
  workspace
    .occurrencesOf(symbol)
    .filter(({ role }) => withDefinition || role !== 'definition')
    .map(locationOf)

/** The edits that rename every occurrence of a name in the workspace. Throws when a use does not write the name. */
export function renamed(workspace: Workspace, { symbol }: PlacedOccurrence, newName: string): WorkspaceEdit {
  const changes: Record<string, TextEdit[]> = {}
  for (const each of workspace.occurrencesOf(symbol)) {
    if (each.role === 'default')
      throw new ResponseError(
        LSPErrorCodes.RequestFailed,
        `'${each.file.name}' uses '${each.name}' by default: write the key there first`,
      )
    const { text } = each.file
    // A name that YAML merges or aliases repeat occurs several times, but is written only once: it gets one edit.
    const edits = (changes[text.uri] ??= [])
    const range = unquoted(text, rangeOf(each))
    if (!edits.some((edit) => sameStart(edit.range, range))) edits.push({ range, newText: newName })
  }
  return { changes }
}

const sameStart = (a: Range, b: Range): boolean =>
  a.start.line === b.start.line && a.start.character === b.start.character

export const rangeOf = ({ file, document, path, target }: PlacedOccurrence): Range =>
  rangeAt(file.text, document.locate(path, target))

const locationOf = (placed: PlacedOccurrence): Location => ({
  uri: placed.file.text.uri,
  range: rangeOf(placed),
})
