/** Where names stand: definition, references, rename. */
import type { Location, Position, Range, TextEdit, WorkspaceEdit } from 'vscode-languageserver'
import { holds, rangeAt, unquoted } from './lines.ts'
import type { Placed, Workspace, WorkspaceFile } from './workspace.ts'

/** The name at a position. */
export const nameAt = (workspace: Workspace, file: WorkspaceFile, position: Position): Placed | undefined =>
  workspace.occurrencesIn(file).find((each) => holds(rangeOf(each), position))

export const definitionsOf = (workspace: Workspace, { symbol }: Placed): Location[] =>
  workspace
    .occurrencesOf(symbol)
    .filter(({ role }) => role === 'definition')
    .map(locationOf)

export const usesOf = (workspace: Workspace, { symbol }: Placed, withDefinition: boolean): Location[] =>
  workspace
    .occurrencesOf(symbol)
    .filter(({ role }) => withDefinition || role === 'use')
    .map(locationOf)

/** The edits that give every occurrence another name. */
export function renamed(workspace: Workspace, { symbol }: Placed, newName: string): WorkspaceEdit {
  const changes: Record<string, TextEdit[]> = {}
  for (const each of workspace.occurrencesOf(symbol)) {
    const { text } = each.file
    // A merged or aliased text stands once and occurs twice.
    const edits = (changes[text.uri] ??= [])
    const range = unquoted(text, rangeOf(each))
    if (!edits.some((edit) => sameStart(edit.range, range))) edits.push({ range, newText: newName })
  }
  return { changes }
}

const sameStart = (a: Range, b: Range): boolean =>
  a.start.line === b.start.line && a.start.character === b.start.character

/** The range of a name. */
export const rangeOf = ({ file, document, path, target }: Placed): Range =>
  rangeAt(file.text, document.locate(path, target))

const locationOf = (placed: Placed): Location => ({ uri: placed.file.text.uri, range: rangeOf(placed) })
