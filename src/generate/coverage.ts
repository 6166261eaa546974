/** Which statements of the specification rules, schemas and CRDs hold, and which nothing can. */

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

/** The owner of a statement: a rule or engine id, keywords of a field, or a part of the CRD of MCPExternalAuthConfig. */
export type Owner =
  | { readonly rule: string }
  | { readonly kind: string; readonly path: string; readonly keywords: readonly string[] }
  | { readonly crd: string }

/** A statement with everything that holds it, or why nothing does. */
export interface CoveredStatement {
  readonly text: string
  /** Whether one resource can break it and is wrong then. */
  readonly must: boolean
  readonly owners: readonly Owner[]
  readonly because?: string
}

/** The statements of a section: those that a resource can break, the other owned ones, those that nothing holds. */
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

/** The problems of sources and statements; the generation of contributing/coverage.md fails when there is one. */
export function coverageProblems(): string[] {
  return [...sourceProblems(), ...constraintProblems(), ...schemaProblems(), ...crdProblems()]
}

/** Of the statements, each as `2.4.1 At least one …`, those that nothing holds. */
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

/** The statements of a field, and of the items of a list. */
function ownedByField({ kind }: Kind, field: Field): Owned[] {
  const { node, path } = field
  const owned = (holder: SchemaTree, owner: Owner) =>
    ((holder.statements ?? []) as readonly Statement[]).map((statement) => ({ statement, owner }))
  return [
    ...owned(node, { kind, path, keywords: holdingKeywords(field) }),
    ...owned(node.items ?? {}, { kind, path: `${path}[]`, keywords: ['properties'] }),
  ]
}

/** The owner of a statement about a field: its fields where it is an object, else its constraints, else its type. */
function holdingKeywords(field: Field): string[] {
  const isPlain = (keyword: string) => keyword === 'properties' || keyword === 'type'
  if (field.node.properties !== undefined) return ['properties']
  const constraints = keywordsOf(field).filter((keyword) => !isPlain(keyword))
  return constraints.length > 0 ? constraints : ['type']
}

/** The fields of a kind without the inside of a part that an earlier kind holds too. */
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

/** Sources and statements that name a section which does not exist. */
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

/** Fields that state what a resource must hold and constrain nothing. */
function constraintProblems(): string[] {
  return OWNED.flatMap(({ statement, owner }) =>
    'must' in statement && 'keywords' in owner && owner.keywords.includes('type')
      ? [`${ownerText(owner)} has no constraint that holds '${statement.must}'`]
      : [],
  )
}

/** Every object whose fields the specification lists says in which section; a resource as a whole has none. */
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

/** Parts of the CRD that hold a statement and do not exist. */
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
