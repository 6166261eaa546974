import type { TSchema } from 'typebox'
import type { Kind } from './kind.ts'
import type { SchemaTree } from './schema-tree.ts'

/** A field of a schema. In its path, `[]` stands for an item of a list and `<name>` for a value of a map. */
export interface Field {
  readonly path: string
  readonly name: string
  readonly node: SchemaTree
  readonly required: boolean
  /** The object in the schema that contains the field. */
  readonly holder: Holder
}

interface Holder {
  readonly path: string
  readonly node: SchemaTree
  /** The section of the specification that lists the object's fields, or else the fields of the object around it. */
  readonly section: string | undefined
}

/** For a required field: the fields of newer operator releases that can replace it (decision 3). */
const ALTERNATIVES: Readonly<Record<string, readonly string[]>> = {
  clientId: ['dcrConfig'],
  userInfo: ['identityFromToken', 'dcrConfig'],
  sentinelConfig: ['addr'],
  upstreamProviders: ['delegateClients', 'trustedIssuers', 'inboundGrants'],
}

/** The fields that can replace a required field of this object; empty when the object's schema does not have them. */
export function alternativesOf(holder: SchemaTree, field: string): readonly string[] {
  return (ALTERNATIVES[field] ?? []).filter((name) => holder.properties?.[name] !== undefined)
}

/** All fields of a kind, each object before its own fields; without apiVersion, kind and metadata. */
export function fieldsOf({ schema }: Kind): Field[] {
  return fieldsIn(schema).filter(({ path }) => /^(spec|status)\b/.test(path))
}

/** All fields of a schema, at any depth; their paths start at the schema. */
export function fieldsIn(schema: TSchema): Field[] {
  return [...walk(schema as SchemaTree, '', undefined)]
}

function* walk(node: SchemaTree, path: string, around: string | undefined): Iterable<Field> {
  const section = (node.source as string | undefined) ?? around
  const holder: Holder = { path, node, section }
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const place = path === '' ? name : `${path}.${name}`
    yield { path: place, name, node: child, required: node.required?.includes(name) ?? false, holder }
    yield* walk(child, place, section)
  }
  if (node.items !== undefined) yield* walk(node.items, `${path}[]`, section)
  if (node.additionalProperties !== undefined)
    yield* walk(node.additionalProperties, `${path}.<name>`, section)
}

/** Whether the node is an embedded authorization server, which two kinds have and the docs describe only once. */
const isEmbeddedAuthServer = (node: SchemaTree) => node.title === 'EmbeddedAuthServer'
/** Whether the node is a reference to a key of a Secret (specification 2.1). */
export const isSecretRef = (node: SchemaTree) => node.source === '2.1'

/** The fields, except fields inside embedded authorization servers and Secret references, which have separate docs. */
export function withoutParts(fields: readonly Field[]): Field[] {
  const inner = fields
    .filter(({ node }) => isEmbeddedAuthServer(node) || isSecretRef(node) || isSecretRef(node.items ?? {}))
    .map(({ path }) => path)
  return fields.filter(
    ({ path }) => !inner.some((at) => path.startsWith(`${at}.`) || path.startsWith(`${at}[`)),
  )
}

const JUDGING = ['enum', 'pattern', 'format', 'minLength', 'maxLength', 'minItems', 'minimum', 'maximum']

/** The JSON Schema keywords that check a field or give it a default, and `properties`, which declares the field. */
export function keywordsOf({ node, required }: Field): string[] {
  const filled = ['default', 'defaultFrom', 'create'].some((keyword) => node[keyword] !== undefined)
  return [
    'properties',
    ...(node.type === undefined ? [] : ['type']),
    ...(required ? ['required'] : []),
    ...JUDGING.filter((keyword) => node[keyword] !== undefined),
    ...(filled ? ['default'] : []),
  ]
}

/** A function that marks a text as code, for Markdown or for a terminal. */
type Quote = (text: string) => string

/** The type of a field, as text for people: `list of string`. */
export function typeText(node: SchemaTree): string {
  if (isSecretRef(node)) return 'Secret reference'
  if (isEmbeddedAuthServer(node)) return 'EmbeddedAuthServer'
  if (node.items !== undefined) return `list of ${typeText(node.items)}`
  if (node.additionalProperties !== undefined) return `map of ${typeText(node.additionalProperties)}`
  const type = node.type === undefined ? 'any' : [node.type].flat().join(' or ')
  return node.format === undefined ? type : `${type} (${node.format})`
}

/** Whether a field is required, as text: `yes`, `yes, without dcrConfig`, or an empty text. */
export function requiredText({ name, required, holder }: Field, quote: Quote): string {
  const others = alternativesOf(holder.node, name).map(quote)
  if (others.length > 0) return `yes, without ${others.join(' or ')}`
  return required ? 'yes' : ''
}

/** The default that /mutate writes when the field is absent, as text; undefined when the field has no default. */
export function defaultText(node: SchemaTree, quote: Quote): string | undefined {
  if (node.default !== undefined) return quote(JSON.stringify(node.default))
  if (node.defaultFrom !== undefined) return `that of ${quote(node.defaultFrom)}`
  return node.create === true ? 'created with its defaults' : undefined
}

const BOUNDS = {
  minLength: 'at least % characters',
  maxLength: 'at most % characters',
  minItems: 'at least % items',
  maxItems: 'at most % items',
  maxProperties: 'at most % keys',
  minimum: 'at least %',
  maximum: 'at most %',
}

/** The constraints of a field apart from its type, as one phrase each. */
export function constraintTexts(node: SchemaTree, quote: Quote): string[] {
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
    ...(values.length === 0 ? [] : [`one of ${values.map(quote).join(', ')}`]),
    ...(node.rePattern === undefined ? [] : [`pattern ${quote(node.rePattern)}`]),
    ...bounds,
    ...(typeof node.since === 'string' ? [`of release ${node.since} and later`] : []),
  ]
}
