/** Finds out which statements of the specification are enforced by rules, schemas and CRDs, and which cannot be. */

import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { mcpExternalAuthConfig } from '../kinds/mcp-external-auth-config/index.ts'
import { allRules } from '../kinds/places.ts'
import { type Field, fieldsOf, keywordsOf } from '../kinds/schema-fields.ts'
import { mapSchema, type SchemaTree } from '../kinds/schema-tree.ts'
import { ENGINE_IDS } from '../engine/index.ts'
import { pathText, type Source, type Statement } from '../rule/index.ts'
import { crd } from '../registration/index.ts'
import { SECTIONS } from './specification.ts'

/**
 * An owner enforces a statement of the specification. It is a rule (or an id of the engine), the JSON Schema keywords
 * of a field, or a part of the CRD of MCPExternalAuthConfig.
 */
export type Owner =
  | { readonly rule: string }
  | { readonly kind: string; readonly path: string; readonly keywords: readonly string[] }
  | { readonly crd: string }

/** A statement of the specification with everything that enforces it, or with the reason why nothing does. */
export interface CoveredStatement {
  readonly text: string
  /** Whether the statement is a requirement that a single resource can violate. */
  readonly must: boolean
  readonly owners: readonly Owner[]
  readonly because?: string
}

/** The statements of a section of the specification: requirements, then others that are enforced, then the rest. */
export function statementsOf(section: string): CoveredStatement[] {
  const found = new Map<string, { text: string; must: boolean; owners: Owner[] }>()
  for (const { statement, owner } of OWNED) {
    if (statement.section !== section) continue
    const must = 'must' in statement
    const text = must ? statement.must : statement.says
    const covered = found.get(text) ?? { text, must, owners: [] }
    covered.owners.push(owner)
    found.set(text, covered)
  }
  const owned = [...found.values()].toSorted((a, b) => Number(b.must) - Number(a.must))
  const unowned = SECTIONS.find((known) => known.section === section)?.unowned ?? []
  return [...owned, ...unowned.map(({ text, because }) => ({ text, must: false, owners: [], because }))]
}

/**
 * Problems in the data about what enforces each statement; with any problem, contributing/coverage.md is not written.
 */
export function coverageProblems(): string[] {
  return [...sourceProblems(), ...constraintProblems(), ...schemaProblems(), ...crdProblems()]
}

/** The statements that nothing enforces, among the given statements (such as `2.4.1 At least one …`). */
export function withoutOwner(statements: readonly string[]): string[] {
  const owned = new Set(
    SECTIONS.flatMap(({ section }) =>
      statementsOf(section).flatMap(({ text, owners }) => (owners.length > 0 ? [`${section} ${text}`] : [])),
    ),
  )
  return statements.filter((statement) => !owned.has(statement))
}

interface Owned {
  readonly statement: Statement
  readonly owner: Owner
}

const OWNED: readonly Owned[] = [
  ...SECTIONS.flatMap(({ section, crds = [] }) =>
    crds.map(({ must, field }) => ({ statement: { section, must }, owner: { crd: field } })),
  ),
  ...KINDS.flatMap((kind) => listedOnce(kind).flatMap((field) => ownedByField(kind, field))),
  ...[...allRules(), ...ENGINE_IDS].flatMap(({ id, sources }) =>
    statementsIn(sources).map((statement) => ({ statement, owner: { rule: id } })),
  ),
]

function statementsIn(sources: readonly Source[]): Statement[] {
  return sources.filter((source) => typeof source !== 'string')
}

/** The statements of the specification about a field or its list items, each with the keywords that enforce it. */
function ownedByField({ kind }: Kind, field: Field): Owned[] {
  const { node, path } = field
  const owned = (holder: SchemaTree, owner: Owner) =>
    ((holder.statements ?? []) as readonly Statement[]).map((statement) => ({ statement, owner }))
  return [
    ...owned(node, { kind, path, keywords: holdingKeywords(field) }),
    ...owned(node.items ?? {}, { kind, path: `${path}[]`, keywords: ['properties'] }),
  ]
}

/**
 * The JSON Schema keywords that enforce a statement of the specification about a field: `properties` for an object,
 * else the constraints of the field, or `type` if it has no constraints.
 */
function holdingKeywords(field: Field): string[] {
  const isPlain = (keyword: string) => keyword === 'properties' || keyword === 'type'
  if (field.node.properties !== undefined) return ['properties']
  const constraints = keywordsOf(field).filter((keyword) => !isPlain(keyword))
  return constraints.length > 0 ? constraints : ['type']
}

/** The fields of a kind, without those inside a schema that an earlier kind has too, such as an embedded server. */
export function listedOnce(kind: Kind): Field[] {
  const earlier = KINDS.slice(0, KINDS.indexOf(kind)).flatMap(({ parts }) =>
    parts.map(({ schema }) => schema),
  )
  const repeated = kind.parts
    .filter(({ schema }) => earlier.includes(schema))
    .map(({ at }) => `${pathText(at)}.`)
  return fieldsOf(kind).filter(({ path }) => !repeated.some((part) => path.startsWith(part)))
}

const KNOWN: ReadonlySet<string> = new Set(SECTIONS.map(({ section }) => section))

/** Problems of rules and statements that name a section which the specification does not have. */
function sourceProblems(): string[] {
  const named = [...allRules(), ...ENGINE_IDS].flatMap(({ id, sources }) =>
    sources
      .map((source) => (typeof source === 'string' ? source : source.section))
      .filter((section) => /^\d/.test(section))
      .map((section) => ({ by: id, section })),
  )
  const stated = OWNED.map(({ statement, owner }) => ({ by: ownerText(owner), section: statement.section }))
  return [...named, ...stated].flatMap(({ by, section }) =>
    KNOWN.has(section) ? [] : [`${by} names section ${section}, which does not exist`],
  )
}

/** Problems of fields with a requirement that no constraint of their schema enforces. */
function constraintProblems(): string[] {
  return OWNED.flatMap(({ statement, owner }) =>
    'must' in statement && 'keywords' in owner && owner.keywords.includes('type')
      ? [`${ownerText(owner)} has no constraint that holds '${statement.must}'`]
      : [],
  )
}

/**
 * Problems of objects in the schemas of the kinds. The `source` of an object is the section of the specification that
 * defines its fields. It must exist, and only a whole resource and an object marked `open` may have none.
 */
function schemaProblems(): string[] {
  const problems: string[] = []
  for (const { kind, schema } of KINDS) {
    mapSchema(schema, (node) => {
      const source = node.source as string | undefined
      const fields = Object.keys(node.properties ?? {})
      const named = `${kind}: the object of ${fields.join(', ')}`
      if (source === undefined && fields.length > 0 && node.open !== true && !fields.includes('apiVersion')) {
        problems.push(`${named} has no source`)
      }
      if (source !== undefined && !KNOWN.has(source)) problems.push(`${named} has no section ${source}`)
      return node
    })
  }
  return problems
}

/** Problems of statements about a part of the CRD that the CRD does not have. */
function crdProblems(): string[] {
  const { spec } = crd(mcpExternalAuthConfig, false)
  return SECTIONS.flatMap(({ crds = [] }) => crds)
    .filter(({ field }) => partOf(spec, field) === undefined)
    .map(({ field }) => `the CRD of ${mcpExternalAuthConfig.kind} has no ${field}`)
}

const partOf = (spec: unknown, field: string): unknown =>
  field.split('.').reduce<unknown>((value, name) => (value as SchemaTree | undefined)?.[name], spec)

function ownerText(owner: Owner): string {
  if ('rule' in owner) return owner.rule
  return 'crd' in owner ? owner.crd : `${owner.path} of ${owner.kind}`
}
