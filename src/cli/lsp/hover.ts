import type { Hover, Position } from 'vscode-languageserver'
import { allRules } from '../../kinds/places.ts'
import { describedId, pathOf } from '../../kinds/documentation.ts'
import { ENGINE_IDS } from '../../engine/index.ts'
import { cursorAt } from './cursor.ts'
import { diagnosticsOf } from './diagnostics.ts'
import { fieldText, nodeAt, schemaOf } from './fields.ts'
import { holds } from './lines.ts'
import type { Workspace, WorkspaceFile } from './workspace.ts'

/** The description of the field at a position, and of the findings there. */
export function hoverAt(workspace: Workspace, file: WorkspaceFile, position: Position): Hover | undefined {
  const texts = [fieldAt(workspace, file, position), ...rulesAt(workspace, file, position)]
  const parts = texts.filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : { contents: { kind: 'markdown', value: parts.join('\n\n---\n\n') } }
}

function fieldAt({ judging }: Workspace, { text }: WorkspaceFile, position: Position): string | undefined {
  const cursor = cursorAt(text, position)
  const names = cursor?.path.filter((step) => typeof step === 'string') ?? []
  const [name] = names.slice(-1)
  if (cursor === undefined || name === undefined) return undefined
  const at = cursor.path.slice(0, cursor.path.lastIndexOf(name))
  const schema = schemaOf(cursor.object, judging)
  const holder = nodeAt(schema, at)
  const node = holder?.properties?.[name]
  return node && fieldText(name, node, holder.required?.includes(name) ?? false)
}

function rulesAt(workspace: Workspace, file: WorkspaceFile, position: Position): string[] {
  const here = diagnosticsOf(workspace, file, workspace.findingsIn(file)).filter(({ range }) =>
    holds(range, position),
  )
  const ids = new Set(here.flatMap(({ code }) => (code === undefined ? [] : [String(code)])))
  return [...ids].flatMap((id) => {
    const about = [...allRules(), ...ENGINE_IDS].find((each) => each.id === id)
    return about === undefined
      ? []
      : [`**${id}**: ${about.summary} ${about.why}\n\n${pathOf(describedId(id))}`]
  })
}
