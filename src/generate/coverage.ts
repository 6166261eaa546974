import { KINDS, kindNamed } from '../kinds/index.ts'
import { allRules } from '../kinds/places.ts'
import { ALL_IDS, ENGINE_IDS } from '../review/engine-ids.ts'
import { crd } from './crds.ts'
import { type Field, fieldsOf, keywordsOf } from '../kinds/schema-fields.ts'
import { mapSchema, type SchemaNode } from '../kinds/schema-tree.ts'
import { type Owner, type Section, SPECIFICATION } from './specification.ts'

/** What is wrong with the table of sentences: nothing, or the generation fails. */
export function coverageProblems(): string[] {
  return [...SPECIFICATION.flatMap(sectionProblems), ...sourceProblems(), ...schemaProblems()]
}

/** The sentences of a section that nothing holds and that need it, and the owners that do not exist. */
export function sectionProblems({ section, sentences }: Section): string[] {
  return sentences.flatMap(({ text, must, owners, because }) => {
    const unowned = owners.length === 0 && (must || because === undefined)
    const missing = owners.filter((owner) => !exists(owner)).map(ownerText)
    return [
      ...(unowned ? [`${section}: '${text}' has no owner`] : []),
      ...missing.map((owner) => `${section}: '${text}' is owned by ${owner}, which does not exist`),
    ]
  })
}

/** A rule that names a section holds a sentence of it. */
function sourceProblems(): string[] {
  const ids = [...allRules(), ...ENGINE_IDS.filter(({ id }) => !id.startsWith('schema-'))]
  return ids.flatMap(({ id, sources }) =>
    sources
      .filter((source) => /^\d/.test(source) && !namedIn(source, id))
      .map((source) => `${id} names section ${source}, where no sentence names it`),
  )
}

function namedIn(source: string, id: string): boolean {
  const sentences = SPECIFICATION.find(({ section }) => section === source)?.sentences ?? []
  return sentences.some(({ owners }) => owners.some((owner) => 'rule' in owner && owner.rule === id))
}

/** Every object whose fields the specification lists says in which section; a resource as a whole has none. */
function schemaProblems(): string[] {
  const known = new Set(SPECIFICATION.map(({ section }) => section))
  const problems: string[] = []
  for (const { kind, schema } of KINDS) {
    mapSchema(schema, (node) => {
      const source = node.source as string | undefined
      const fields = Object.keys(node.properties ?? {})
      const named = `${kind}: the object of ${fields.join(', ')}`
      if (source === undefined && fields.length > 0 && node.open !== true && !fields.includes('apiVersion')) {
        problems.push(`${named} has no source`)
      }
      if (source !== undefined && !known.has(source)) problems.push(`${named} has no section ${source}`)
      return node
    })
  }
  return problems
}

function exists(owner: Owner): boolean {
  if ('rule' in owner) return ALL_IDS.has(owner.rule)
  if ('crd' in owner) return partOfCrd(owner.crd, owner.field) !== undefined
  const found = fieldAt(owner.kind, owner.path)
  return found !== undefined && keywordsOf(found).includes(owner.keyword)
}

function partOfCrd(kind: string, field: string): unknown {
  const known = kindNamed.get(kind)
  if (known === undefined) return undefined
  return field
    .split('.')
    .reduce<unknown>((value, name) => (value as SchemaNode | undefined)?.[name], crd(known, false).spec)
}

function fieldAt(kind: string, path: string): Field | undefined {
  const known = kindNamed.get(kind)
  return known && fieldsOf(known).find((field) => field.path === path)
}

export function ownerText(owner: Owner): string {
  if ('rule' in owner) return owner.rule
  if ('crd' in owner) return `CRD of ${owner.crd}: ${owner.field}`
  return `${owner.keyword} of ${owner.path} in ${owner.kind}`
}
