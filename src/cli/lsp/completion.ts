import { namespaceOf } from '../../documents/index.ts'
import {
  type CompletionItem,
  CompletionItemKind,
  InsertTextFormat,
  type Position,
} from 'vscode-languageserver'
import { API_VERSION, KINDS } from '../../kinds/index.ts'
import { REFERENCES } from '../../relations/index.ts'
import { typeText } from '../../kinds/schema-fields.ts'
import type { SchemaTree } from '../../kinds/schema-tree.ts'
import { isObject } from '../../rule/index.ts'
import { type Typing, typingAt } from './cursor.ts'
import { fieldText, nodeAt, schemaOf } from './fields.ts'
import { PROVIDER_FIELDS, type JsonPath } from './symbols.ts'
import type { Workspace, WorkspaceFile } from './workspace.ts'

/** The completions at a position in a file: missing fields, values, and names of objects in the workspace. */
export function completionsAt(
  workspace: Workspace,
  { text }: WorkspaceFile,
  position: Position,
): CompletionItem[] {
  const typing = typingAt(text, position)
  if (typing === undefined) return []
  const range = {
    start: { line: position.line, character: typing.start },
    end: { line: position.line, character: typing.end },
  }
  return candidates(workspace, typing).map(({ label, insert = label, ...item }, index) => ({
    label,
    ...item,
    sortText: String(index).padStart(4, '0'),
    insertTextFormat: InsertTextFormat.PlainText,
    textEdit: { range, newText: insert },
  }))
}

type Candidate = Pick<CompletionItem, 'label' | 'kind' | 'detail' | 'documentation'> & {
  readonly insert?: string
}

function candidates(workspace: Workspace, typing: Typing): Candidate[] {
  const { object, path, on } = typing
  const schema = schemaOf(object, workspace.judging)
  if (on === 'value') return valuesAt(workspace, typing, nodeAt(schema, path))
  const around = path.slice(0, -1)
  if (around.length === 0) return fieldsIn(schema ?? ENVELOPE, object)
  const holder = nodeAt(schema, around)
  // The text could begin a field, but the schema has no fields here: so the text is an item of a list of strings.
  if (holder?.properties === undefined) return valuesAt(workspace, { ...typing, path: around }, holder)
  return fieldsIn(holder, valueAt(object, around))
}

const ENVELOPE: SchemaTree = {
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  properties: {
    apiVersion: { type: 'string', description: 'Group and version.' },
    kind: { type: 'string', description: 'What it is.' },
    metadata: { type: 'object', description: 'Name, namespace, labels and annotations.' },
    spec: { type: 'object', description: 'What is wanted.' },
  },
}

/** Completions for the missing fields of an object, the required ones first. */
function fieldsIn({ properties = {}, required = [] }: SchemaTree, object: unknown): Candidate[] {
  const given = isObject(object) ? object : {}
  const missing = Object.entries(properties).filter(([name]) => !Object.hasOwn(given, name))
  const isRequired = ([name]: readonly [string, SchemaTree]) => required.includes(name)
  const inOrder = [...missing.filter(isRequired), ...missing.filter((each) => !isRequired(each))]
  return inOrder.map(([name, node]) => ({
    label: name,
    kind: CompletionItemKind.Field,
    detail: `${typeText(node)}${required.includes(name) ? ', required' : ''}`,
    documentation: { kind: 'markdown', value: fieldText(name, node, required.includes(name)) },
    insert: (node.properties ?? node.items ?? node.additionalProperties) ? `${name}:` : `${name}: `,
  }))
}

/** Completions for the value of a field: names in the workspace, or the values that the schema lists. */
function valuesAt(workspace: Workspace, { object, path }: Typing, node: SchemaTree | undefined): Candidate[] {
  const names = namesAt(workspace, object, path)
  if (names.length > 0) return names.map((label) => ({ label, kind: CompletionItemKind.Reference }))
  const { group } = workspace.judging
  if (path.length === 1 && path[0] === 'kind')
    return KINDS.map(({ kind, schema }) => ({
      label: kind,
      kind: CompletionItemKind.Class,
      documentation: String((schema as SchemaTree).description),
    }))
  if (path.length === 1 && path[0] === 'apiVersion')
    return [{ label: `${group}/${API_VERSION}`, kind: CompletionItemKind.Constant }]
  const fixed = (node?.enum ?? (node?.type === 'boolean' ? [true, false] : [])) as readonly unknown[]
  const all = fixed.length === 0 && node?.default !== undefined ? [node.default] : fixed
  return all.map((value) => ({
    label: typeof value === 'string' ? value : JSON.stringify(value),
    kind: CompletionItemKind.EnumMember,
    ...(value === node?.default && { detail: 'default' }),
  }))
}

/** The names of objects, upstream providers and keys in the workspace that are possible in the field at a path. */
function namesAt(workspace: Workspace, object: unknown, path: JsonPath): string[] {
  if (!isObject(object)) return []
  const namespace = namespaceOf(object, workspace.judging)
  if (typeof namespace !== 'string') return []
  const last = path.at(-1)
  const namesOf = (kind: string) =>
    Array.from(workspace.state.all(kind, namespace), ({ name }) => name).toSorted()
  const target = targetAt(String(object.kind), path)
  if (target !== undefined) return namesOf(target)
  if (typeof last === 'string' && PROVIDER_FIELDS.has(last)) return providersIn(workspace, namespace)
  const holder = path.findLast((step, index) => typeof step === 'string' && index < path.length - 1)
  const core = CORE.find(([pattern]) => pattern.test(String(holder)))?.[1]
  if (core === undefined) return []
  if (last === 'name') return namesOf(core)
  const named = valueAt(object, [...path.slice(0, -1), 'name'])
  return last === 'key' && typeof named === 'string' ? keysOf(workspace, { namespace, core, named }) : []
}

/** Core Kubernetes kinds, each after a pattern of the field names that refer to it. */
const CORE: readonly (readonly [RegExp, string])[] = [
  [/SecretRefs?$/, 'Secret'],
  [/^configMap(?:KeyRef|Ref)?$/, 'ConfigMap'],
]

/** The kind of the object that the name at a path refers to; undefined when the field there is not a reference. */
function targetAt(kind: string, path: JsonPath): string | undefined {
  const field = (REFERENCES[kind] ?? []).find(({ at, to }) => {
    const whole = [...at, 'name']
    const isThere = (steps: readonly string[]) =>
      steps.length === path.length && steps.every((step, i) => step === '*' || step === path[i])
    return isThere(whole) || (to === 'MCPGroup' && isThere(at))
  })
  return field?.to
}

function providersIn(workspace: Workspace, namespace: string): string[] {
  const prefix = JSON.stringify([namespace, 'provider']).slice(0, -1)
  const all = [...workspace.files].flatMap((file) => workspace.occurrencesIn(file))
  const defined = all.filter(({ role, symbol }) => role === 'definition' && symbol.startsWith(prefix))
  return [...new Set(defined.map(({ name }) => name))].toSorted()
}

function keysOf(
  workspace: Workspace,
  { namespace, core, named }: { readonly namespace: string; readonly core: string; readonly named: string },
): string[] {
  const definition = workspace.find(core, namespace, named)
  const keys = definition === undefined ? [] : workspace.occurrencesIn(definition.file)
  return keys
    .filter(
      ({ document, role, target }) =>
        document === definition?.document && role === 'definition' && target === 'key',
    )
    .map(({ name }) => name)
}

function valueAt(value: unknown, path: JsonPath): unknown {
  let found = value
  for (const step of path) found = (found as Record<string | number, unknown> | null | undefined)?.[step]
  return found
}
