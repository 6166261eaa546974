/** The texts that `explain` prints for a kind and for a field. */
import { KINDS } from '../../kinds/index.ts'
import type { Kind } from '../../kinds/kind.ts'
import { examplesAt, rulePlaces } from '../../kinds/places.ts'
import {
  constraintTexts,
  defaultText,
  type Field,
  fieldsOf,
  keywordsOf,
  requiredText,
  typeText,
  withoutParts,
} from '../../kinds/schema-fields.ts'
import type { SchemaTree } from '../../kinds/schema-tree.ts'
import { describedSource, pathOf } from '../../kinds/documentation.ts'
import type { Rule } from '../../rule/index.ts'

/** A field, and the kind that has it. */
interface Found {
  readonly kind: Kind
  readonly field: Field
}

const FIELDS: readonly Found[] = KINDS.flatMap((kind) => fieldsOf(kind).map((field) => ({ kind, field })))

/** The kind with this name, plural or short name; case is ignored. */
export function kindCalled(text: string): Kind | undefined {
  const name = text.toLowerCase()
  return KINDS.find(({ kind, plural, shortNames }) =>
    [kind.toLowerCase(), plural, ...shortNames].includes(name),
  )
}

export function kindPage(kind: Kind): string[] {
  const { description } = kind.schema as SchemaTree
  const rules = [...new Set(rulePlaces().flatMap((place) => (place.kind === kind ? [place.rule] : [])))]
  return [
    `${kind.kind} (${[kind.plural, ...kind.shortNames].join(', ')})`,
    '',
    String(description),
    '',
    'fields:',
    ...fieldRows(withoutParts(fieldsOf(kind))),
    '',
    'rules:',
    ...ruleRows(rules),
  ]
}

/**
 * The fields at a path, which is written as in findings or in docs/fields.md. Indexes and keys in brackets are
 * ignored, the kind may come first, and the start of the path may be missing. Fields of several kinds with the same
 * description are one group.
 */
export function fieldsAt(text: string): readonly (readonly Found[])[] {
  const [first = '', ...rest] = plain(text).split('.')
  const kind = kindCalled(first)
  const path = kind === undefined ? plain(text) : rest.join('.')
  const known = FIELDS.filter((each) => kind === undefined || each.kind === kind)
  const exact = known.filter(({ field }) => plain(field.path) === path)
  const found = exact.length > 0 ? exact : known.filter(({ field }) => plain(field.path).endsWith(`.${path}`))
  return path === '' ? [] : [...Map.groupBy(found, sameField).values()]
}

/** The key for grouping: equal for fields with the same name, schema and `required`. */
const sameField = ({ field: { name, node, required } }: Found): string =>
  JSON.stringify([name, node, required])

/** A path in lower case, without list indexes and keys of maps. */
const plain = (path: string): string => path.replaceAll(/\[[^[\]]*\]|\.<[^<>]*>/g, '').toLowerCase()

export const placeText = ({ kind, field }: Found): string => `${field.path} of ${kind.kind}`

/** The paths of all fields, for suggestions. */
export const fieldPaths = (): Set<string> => new Set(FIELDS.map(({ field }) => field.path))

export function fieldPage(group: readonly Found[]): string[] {
  const [first] = group
  if (first === undefined) return []
  const { field } = first
  const { node, holder } = field
  const facts = [
    ['type', typeText(node)],
    ['required', requiredText(field, asIs) || 'no'],
    ['default', defaultText(node, asIs)],
    ['constraints', constraintTexts(node, asIs).join('; ')],
    ['section', holder.section && `${holder.section} (${pathOf(describedSource(holder.section))})`],
    ['schema ids', schemaIds(field).join(', ')],
  ].flatMap(([name, value]) => (value === undefined || value === '' ? [] : [`${name}: ${value}`]))
  const inner = fieldsOf(first.kind).filter(
    ({ path }) => /^[.[]/.test(path.slice(field.path.length)) && path.startsWith(field.path),
  )
  const rules = [...new Set(group.flatMap(rulesAbout))]
  return [
    group.map(placeText).join(', '),
    '',
    node.description ?? '',
    '',
    ...facts,
    ...(inner.length === 0 ? [] : ['', 'fields:', ...fieldRows(inner, field.path)]),
    ...(rules.length === 0 ? [] : ['', 'rules:', ...ruleRows(rules)]),
  ]
}

const asIs = (text: string): string => text

/** The ids of the schema errors that are possible at the field. */
function schemaIds(field: Field): string[] {
  const keywords = keywordsOf(field).filter((keyword) => keyword !== 'properties' && keyword !== 'default')
  return keywords.map((keyword) => `schema-${keyword}`)
}

/** Rules with an example that has a finding at the field or below it. */
function rulesAbout({ kind, field }: Found): Rule[] {
  const path = plain(field.path)
  const isAbout = (finding: string) => {
    const at = plain(finding.slice(0, finding.indexOf(': ')))
    return at === path || at.startsWith(`${path}.`)
  }
  return rulePlaces()
    .filter(
      (place) => place.kind === kind && examplesAt(place).some(({ findings }) => findings.some(isAbout)),
    )
    .map(({ rule }) => rule)
}

function fieldRows(fields: readonly Field[], within = ''): string[] {
  return columns(
    fields.map((field) => [
      field.path.slice(within === '' ? 0 : within.length).replace(/^\./, ''),
      `${typeText(field.node)}${field.required ? ', required' : ''}`,
      field.node.description ?? '',
    ]),
  )
}

const ruleRows = (rules: readonly Rule[]): string[] =>
  columns(rules.map(({ id, severity, summary }) => [id, severity, summary]))

/** Rows as lines with aligned columns. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd())
}
