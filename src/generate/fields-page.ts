import { EmbeddedAuthServer } from '../kinds/embedded-auth-server/schema.ts'
import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { secretRef } from '../kinds/parts.ts'
import type { GeneratedFile } from './generated-file.ts'
import { code, GENERATED, page, table } from './markdown.ts'
import {
  alternativesOf,
  type Field,
  fieldsIn,
  fieldsOf,
  isEmbeddedAuthServer,
  isSecretRef,
} from './schema-fields.ts'
import type { SchemaNode } from './schema-tree.ts'

const INTRODUCTION = `What the checks know of each kind. A field that is not listed is kept and not judged. Sections are those of the
specification, decisions are ours. Lists are written \`[]\`, the keys of maps \`<name>\`. Patterns are as Go reads them.`

const REQUIRED = `A field that is required only beside another one is not marked here: [a rule](rules.md) asks for it.`

/** docs/fields.md: the field reference. */
export function fieldsPage(): GeneratedFile {
  const text = page([
    GENERATED,
    '# Fields',
    INTRODUCTION,
    REQUIRED,
    ...KINDS.flatMap(kindSection),
    '## EmbeddedAuthServer',
    'In `spec.embeddedAuthServer` of MCPExternalAuthConfig and `spec.authServerConfig` of VirtualMCPServer.',
    fieldTable(fieldsIn(EmbeddedAuthServer)),
    '## Secret reference',
    'The value itself is never in a resource.',
    fieldTable(fieldsIn(secretRef(''))),
  ])
  return { path: 'docs/fields.md', text }
}

function kindSection(kind: Kind): string[] {
  const names = [kind.plural, ...kind.shortNames].map(code).join(', ')
  const { description } = kind.schema as SchemaNode
  return [`## ${kind.kind}`, `${String(description)} ${names}.`, fieldTable(fieldsOf(kind))]
}

function fieldTable(fields: readonly Field[]): string {
  return table(
    ['Path', 'Type', 'Required', 'Default', 'Constraints', 'Description', 'Section'],
    outside(fields).map(row),
  )
}

/** Without the fields inside an object that has a section of its own. */
function outside(fields: readonly Field[]): Field[] {
  const inner = fields
    .filter(({ node }) => isEmbeddedAuthServer(node) || isSecretRef(node) || isSecretRef(node.items ?? {}))
    .map(({ path }) => path)
  return fields.filter(
    ({ path }) => !inner.some((at) => path.startsWith(`${at}.`) || path.startsWith(`${at}[`)),
  )
}

function row(field: Field): string[] {
  const { path, node, holder } = field
  return [
    code(path),
    typeText(node),
    requiredText(field),
    defaultText(node) ?? '',
    constraints(node).join('; '),
    node.description ?? '',
    sectionOf(node.items ?? node) ?? holder.section ?? '',
  ]
}

const sectionOf = (node: SchemaNode) => (isSecretRef(node) ? undefined : (node.source as string | undefined))

export function typeText(node: SchemaNode): string {
  if (isSecretRef(node)) return '[Secret reference](#secret-reference)'
  if (isEmbeddedAuthServer(node)) return '[EmbeddedAuthServer](#embeddedauthserver)'
  if (node.items !== undefined) return `list of ${typeText(node.items)}`
  if (node.additionalProperties !== undefined) return `map of ${typeText(node.additionalProperties)}`
  const type = node.type === undefined ? 'any' : [node.type].flat().join(' or ')
  return node.format === undefined ? type : `${type} (${node.format})`
}

function requiredText({ name, required, holder }: Field): string {
  const others = alternativesOf(holder.node, name).map(code)
  if (others.length > 0) return `yes, without ${others.join(' or ')}`
  return required ? 'yes' : ''
}

/** What /mutate writes where the field is absent. */
export function defaultText(node: SchemaNode): string | undefined {
  if (node.default !== undefined) return code(JSON.stringify(node.default))
  if (node.defaultFrom !== undefined) return `that of ${code(node.defaultFrom)}`
  return node.create === true ? 'created with its defaults' : undefined
}

const BOUNDS = {
  minLength: 'at least % characters',
  maxLength: 'at most % characters',
  minItems: 'at least % items',
  minimum: 'at least %',
  maximum: 'at most %',
}

export function constraints(node: SchemaNode): string[] {
  const decided = (node.decided ?? []) as readonly string[]
  const bounds = Object.entries(BOUNDS)
    .filter(([keyword]) => node[keyword] !== undefined)
    .map(([keyword, text]) => {
      const bound =
        node[keyword] === 1 && keyword !== 'minimum' ? 'not empty' : text.replace('%', String(node[keyword]))
      return decided.includes(keyword) ? `${bound} (decision 17)` : bound
    })
  const values = (node.enum ?? []) as readonly string[]
  return [
    ...(values.length === 0 ? [] : [`one of ${values.map(code).join(', ')}`]),
    ...(node.rePattern === undefined ? [] : [`pattern ${code(node.rePattern)}`]),
    ...bounds,
  ]
}
