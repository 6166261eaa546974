import { EmbeddedAuthServer } from '../kinds/schemas.ts'
import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { secretRef } from '../kinds/parts.ts'
import type { GeneratedFile } from './generated-file.ts'
import { code, GENERATED, linkedSources, page, table } from './markdown.ts'
import {
  constraintTexts,
  defaultText,
  type Field,
  fieldsIn,
  fieldsOf,
  isSecretRef,
  requiredText,
  typeText,
  withoutParts,
} from '../kinds/schema-fields.ts'
import type { SchemaTree } from '../kinds/schema-tree.ts'

const INTRODUCTION = `The fields of each kind that the checks know. A field that is not listed is kept and not judged. Lists are written \`[]\`, the keys
of maps \`<name>\`. Patterns are read as Go reads them.`

const REQUIRED = `A field that is required only beside another one is not marked: [a rule](rules/README.md) asks for it.`

/** Generates docs/fields.md, the reference of the fields. */
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
  const { description } = kind.schema as SchemaTree
  return [`## ${kind.kind}`, `${String(description)} ${names}.`, fieldTable(fieldsOf(kind))]
}

function fieldTable(fields: readonly Field[]): string {
  return table(
    ['Path', 'Type', 'Required', 'Default', 'Constraints', 'Description', 'Section'],
    withoutParts(fields).map(row),
  )
}

function row(field: Field): string[] {
  const { path, node, holder } = field
  return [
    code(path),
    linked(typeText(node)),
    requiredText(field, code),
    defaultText(node, code) ?? '',
    linkedSources(constraintTexts(node, code).join('; ')),
    linkedSources(node.description ?? ''),
    sectionLink(sectionOf(node.items ?? node) ?? holder.section),
  ]
}

const sectionOf = (node: SchemaTree) => (isSecretRef(node) ? undefined : (node.source as string | undefined))

const sectionLink = (section: string | undefined) =>
  section === undefined ? '' : `[${section}](model.md#section-${section})`

/** The type of a field, as a link if this page has a section about it. */
const linked = (type: string) =>
  type.replace(
    /Secret reference|EmbeddedAuthServer/,
    (name) => `[${name}](#${name.toLowerCase().replace(' ', '-')})`,
  )
