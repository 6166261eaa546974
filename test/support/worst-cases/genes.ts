/**
 * Compact descriptions of objects: a repeated part is written once, with its count, and rendered to an object of any
 * size.
 */

import { kindNamed } from '../../../src/kinds/index.ts'
import type { SchemaTree } from '../../../src/kinds/schema-tree.ts'
import { bytesOf, type Candidate, LARGEST_OBJECT, type Resource } from './candidate.ts'
import {
  callOfLongText,
  type Expression,
  expressionOf,
  mutateExpression,
  renderExpression,
  shapeOf,
} from './expressions.ts'
import type { Random } from './random.ts'
import {
  cedarText,
  entitiesText,
  halved,
  isNumbered,
  ITEM,
  mutateText,
  type Place,
  renderText,
  ROUND,
  stuffed,
  type Text,
  textOf,
  UNITS,
} from './texts.ts'

export type Gene =
  | { readonly is: 'object'; readonly fields: Readonly<Record<string, Gene>> }
  /** A list with `count` items, which repeats the given ones. */
  | { readonly is: 'list'; readonly items: readonly Gene[]; readonly count: number }
  | { readonly is: 'map'; readonly key: Text; readonly value: Gene; readonly count: number }
  | { readonly is: 'text'; readonly text: Text }
  /** A CEL expression, rendered to at most `longest` bytes. */
  | { readonly is: 'matcher'; readonly expression: Expression; readonly longest: number }
  | { readonly is: 'value'; readonly value: unknown }

/**
 * How the stored object differs: in the texts of one field (undefined: of all fields), and in the order of all lists.
 */
interface Change {
  readonly field: string | undefined
  readonly isReversed: boolean
}

/** A compact description of an object to judge, with its stored state and other objects. */
export interface Plan {
  readonly object: Resource
  readonly body: Gene
  /** The stored object: a body of its own, or `body` with a change. */
  readonly old?: Gene | Change
  readonly others: readonly Other[]
}

/** Another object of the namespace; if `count` is above 1, so many copies with numbered names. */
interface Other {
  readonly resource: Resource
  readonly body: Gene
  readonly count: number
}

const MATCHERS: Readonly<Record<string, number>> = { matcher: 10_000, actorMatcher: 4_096 }

/** Generators for fields that hold text of a language, by the name of the field. */
const GROWN: Readonly<Record<string, ((random: Random) => Text) | undefined>> = {
  policies: cedarText,
  entitiesJson: entitiesText,
}

/** The compact description of a value. */
function geneOf(value: unknown, node: SchemaTree | undefined): Gene {
  if (node?.enum !== undefined) return { is: 'value', value }
  if (typeof value === 'string') return { is: 'text', text: textOf(value) }
  if (Array.isArray(value) && value.length > 0)
    return { is: 'list', items: value.map((item) => geneOf(item, node?.items)), count: value.length }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { is: 'value', value }
  const entries = Object.entries(value)
  const [first] = entries
  if (node?.additionalProperties !== undefined && first !== undefined) {
    const [key, own] = first as [string, unknown]
    const inner = geneOf(own, node.additionalProperties)
    return { is: 'map', key: textOf(key), value: inner, count: entries.length }
  }
  const fields = entries.map(([name, field]) => [name, geneOf(field, node?.properties?.[name])] as const)
  return { is: 'object', fields: Object.fromEntries(fields) }
}

/** The compact description of these resources: their spec, status, annotations and labels. */
export function planOf(
  object: Resource,
  { old, others = [] }: { readonly old?: Resource | undefined; readonly others?: readonly Resource[] } = {},
): Plan {
  return {
    object,
    body: bodyOf(object),
    ...(old && { old: bodyOf(old) }),
    others: others.map((resource) => ({ resource, body: bodyOf(resource), count: 1 })),
  }
}

function bodyOf({ kind, metadata, spec, status }: Resource): Gene {
  const { properties } = (kindNamed.get(kind)?.schema ?? {}) as SchemaTree
  const { annotations = {}, labels = {} } = (metadata ?? {}) as { annotations?: object; labels?: object }
  return {
    is: 'object',
    fields: {
      annotations: geneOf(annotations, METADATA_MAP),
      labels: geneOf(labels, METADATA_MAP),
      ...(spec !== undefined && { spec: geneOf(spec, properties?.spec) }),
      ...(status !== undefined && { status: geneOf(status, properties?.status) }),
    },
  }
}
const METADATA_MAP: SchemaTree = { additionalProperties: { type: 'string' } }

interface Rendering extends Place {
  /** The change to apply when the stored object is rendered. */
  readonly change?: Change
  readonly name: string
}

/** Rendered values of descriptions without numbers: all items of a list share one value. */
const shared = new WeakMap<Gene, unknown>()

function rendered(gene: Gene, at: Rendering): unknown {
  if (at.change !== undefined || gene.is === 'value') return made(gene, at)
  if (shared.has(gene)) return shared.get(gene)
  const value = made(gene, at)
  if (!isNumberedGene(gene)) shared.set(gene, value)
  return value
}

const numberedGenes = new WeakMap<Gene, boolean>()
function isNumberedGene(gene: Gene): boolean {
  const known = numberedGenes.get(gene)
  if (known !== undefined) return known
  const is =
    gene.is === 'text'
      ? gene.text.some(({ text }) => isNumbered(text))
      : gene.is === 'matcher' || partsDirectlyIn(gene, '').some((part) => isNumberedGene(part.gene))
  numberedGenes.set(gene, is)
  return is
}

function made(gene: Gene, at: Rendering): unknown {
  switch (gene.is) {
    case 'value':
      return gene.value
    case 'text': {
      const text = renderText(gene.text, at)
      const { change } = at
      return change !== undefined && (change.field ?? at.name) === at.name ? `${text}-old` : text
    }
    case 'matcher':
      return renderExpression(gene.expression, at, gene.longest)
    case 'object':
      return Object.fromEntries(
        Object.entries(gene.fields).map(([name, field]) => [name, rendered(field, { ...at, name })]),
      )
    case 'list': {
      const items = Array.from({ length: gene.count }, (_, item) => {
        const own = gene.items[item % gene.items.length]
        return own === undefined ? null : rendered(own, { ...at, item, round: item })
      })
      return at.change?.isReversed ? items.reverse() : items
    }
    case 'map':
      return Object.fromEntries(
        Array.from({ length: gene.count }, (_, item) => [
          `${renderText(gene.key, { item, round: item })}${gene.count > 1 && item > 0 ? item : ''}`,
          rendered(gene.value, { ...at, item, round: item }),
        ]),
      )
  }
}

function resourceOf(resource: Resource, body: Gene, at: Rendering, number?: number): Resource {
  const { annotations, labels, ...parts } = rendered(body, at) as Record<string, unknown>
  const { name } = resource.metadata as { name: string }
  const metadata = {
    ...(resource.metadata as object),
    name: number === undefined || number === 0 ? name : `${name}-${number}`,
    annotations,
    labels,
  }
  return { apiVersion: resource.apiVersion, kind: resource.kind, metadata, ...parts }
}

const isGene = (old: Gene | Change): old is Gene => 'is' in old

/** Makes the objects from their description. */
function render({ object, body, old, others }: Plan): Candidate {
  const at: Rendering = { item: 0, round: 0, name: '' }
  const before =
    old === undefined
      ? undefined
      : isGene(old)
        ? resourceOf(object, old, at)
        : resourceOf(object, body, { ...at, change: old })
  return {
    object: resourceOf(object, body, at),
    ...(before && { oldObject: before }),
    others: others.flatMap(({ resource, body: own, count }) =>
      Array.from({ length: count }, (_, i) => resourceOf(resource, own, { ...at, item: i, round: i }, i)),
    ),
  }
}

/** The most bytes of all other objects together. */
const MOST_OF_OTHERS = 4_000_000

/** The description, reduced until an API server can store its objects; `bytes` counts the object and the stored one. */
export function fitting(plan: Plan): {
  readonly plan: Plan
  readonly candidate: Candidate
  readonly bytes: number
} {
  let fits = plan
  for (;;) {
    // The size is estimated before rendering, because nested counts multiply.
    const most = Math.max(
      sizeOf(fits.body),
      fits.old !== undefined && isGene(fits.old) ? sizeOf(fits.old) : 0,
    )
    const around = fits.others.reduce((sum, { body, count }) => sum + (200 + sizeOf(body)) * count, 0)
    if (most <= 1.2 * LARGEST_OBJECT && around <= MOST_OF_OTHERS) {
      const candidate = render(fits)
      const { object, oldObject } = candidate
      const [bytes, old] = [bytesOf(object), bytesOf(oldObject)]
      if (Math.max(bytes, old) <= LARGEST_OBJECT) return { plan: fits, candidate, bytes: bytes + old }
    }
    fits = smaller(fits)
  }
}

/** The approximate number of characters of the rendered value. */
function sizeOf(gene: Gene): number {
  switch (gene.is) {
    case 'value':
      return JSON.stringify(gene.value ?? null).length
    case 'text':
      return lengthOf(gene.text)
    case 'matcher':
      return gene.longest / 8
    case 'object':
      return Object.entries(gene.fields).reduce(
        (sum, [name, field]) => sum + name.length + 4 + sizeOf(field),
        2,
      )
    case 'list':
      return (gene.items.reduce((sum, item) => sum + sizeOf(item) + 1, 0) / gene.items.length) * gene.count
    case 'map':
      return (lengthOf(gene.key) + 8 + sizeOf(gene.value)) * gene.count
  }
}
const lengthOf = (text: Text) => text.reduce((sum, piece) => sum + piece.text.length * piece.times, 0)

/** The description with every count halved. */
export function smaller({ body, old, others, object }: Plan): Plan {
  return {
    object,
    body: shrunk(body),
    ...(old !== undefined && { old: isGene(old) ? shrunk(old) : old }),
    others: others.map((other) => ({ ...other, body: shrunk(other.body), count: half(other.count) })),
  }
}
const half = (count: number) => Math.max(1, Math.floor(count / 2))

const shrunk = (gene: Gene): Gene => {
  switch (gene.is) {
    case 'text':
      return { ...gene, text: halved(gene.text) }
    case 'list':
      return { ...gene, items: gene.items.map(shrunk), count: half(gene.count) }
    case 'map':
      return { ...gene, key: halved(gene.key), value: shrunk(gene.value), count: half(gene.count) }
    case 'matcher':
      return { ...gene, longest: Math.max(100, half(gene.longest)) }
    case 'object':
      return mapFields(gene, shrunk)
    default:
      return gene
  }
}
const mapFields = (
  gene: Extract<Gene, { is: 'object' }>,
  change: (field: Gene, name: string) => Gene,
): Gene => ({
  ...gene,
  fields: Object.fromEntries(Object.entries(gene.fields).map(([name, field]) => [name, change(field, name)])),
})

/** A part of a described object, and its path without list indexes: `spec.awsSts.roleMappings[].matcher`. */
interface Part {
  readonly path: string
  readonly gene: Gene
}

export function* partsOf(gene: Gene, path = ''): Iterable<Part> {
  yield { path, gene }
  for (const part of partsDirectlyIn(gene, path)) yield* partsOf(part.gene, part.path)
}

/** The description with the part `target` (the same instance, not an equal one) changed. */
export function replaced(gene: Gene, target: Gene, change: (part: Gene) => Gene): Gene {
  if (gene === target) return change(gene)
  const inner = (part: Gene) => replaced(part, target, change)
  switch (gene.is) {
    case 'object':
      return mapFields(gene, inner)
    case 'list':
      return { ...gene, items: gene.items.map(inner) }
    case 'map':
      return { ...gene, value: inner(gene.value) }
    default:
      return gene
  }
}

/** Whether a key is an annotation that the product reads, so that it must keep its name. */
const isOurs = (key: Text): boolean => renderText(key, { item: 0, round: 0 }).startsWith('toolhive.')

/** The description with the unit inserted repeatedly into every text, up to `length` characters in total. */
export function withStuffedTexts(gene: Gene, unit: string, length: number): Gene {
  const texts = [...partsOf(gene)].filter(({ gene: { is } }) => is === 'text').length
  const each = Math.min(length / Math.max(1, texts), 100_000)
  const change = (part: Gene): Gene => {
    switch (part.is) {
      case 'text':
        return { ...part, text: stuffed(part.text, unit, each) }
      case 'object':
        return mapFields(part, (field, name) => (name === 'type' || name === 'kind' ? field : change(field)))
      case 'list':
        return { ...part, items: part.items.map(change) }
      case 'map':
        return {
          ...part,
          value: change(part.value),
          key: isOurs(part.key) ? part.key : stuffed(part.key, unit, 50),
        }
      default:
        return part
    }
  }
  return change(gene)
}

/** The list or map with `count` items; the texts of fields that `numbered` selects get the number of the item. */
export function widened(gene: Gene, count: number, numbered: (name: string) => boolean): Gene {
  const change = (part: Gene, name: string): Gene => {
    switch (part.is) {
      case 'text':
        return numbered(name) ? { ...part, text: [...part.text, { text: ITEM, times: 1 }] } : part
      case 'object':
        return mapFields(part, change)
      default:
        return part
    }
  }
  if (gene.is === 'list') return { ...gene, items: gene.items.map((item) => change(item, '')), count }
  return gene.is === 'map' ? { ...gene, value: change(gene.value, ''), count } : gene
}

function mutateGene(part: Part, random: Random, donors: () => Gene | undefined): Gene {
  const { gene, path } = part
  const name = /\w+$/.exec(path)?.[0] ?? ''
  const longest = MATCHERS[name]
  if (longest !== undefined && (gene.is === 'text' || (gene.is === 'matcher' && random.chance(0.1))))
    return { is: 'matcher', longest, expression: expressionOf('bool', random, 1 + random.below(5)) }
  const donor = random.chance(0.25) ? donors() : undefined
  if (gene.is === 'matcher') {
    const other = donor?.is === 'matcher' ? donor.expression : undefined
    return { ...gene, expression: mutateExpression(gene.expression, random, other) }
  }
  if (donor !== undefined) return donor
  const grown = GROWN[/\w+(?=(?:\[\])?$)/.exec(path)?.[0] ?? '']
  if (gene.is === 'text' && grown !== undefined && random.chance(0.5)) return { ...gene, text: grown(random) }
  switch (gene.is) {
    case 'text':
      return { ...gene, text: mutateText(gene.text, random) }
    case 'list':
    case 'map': {
      if (random.chance(0.5)) return { ...gene, count: Math.min(gene.count * random.pick([2, 4]), 100_000) }
      const names = gene.is === 'list' ? gene.items.flatMap((item) => textNames(item)) : textNames(gene.value)
      const chosen = names.length === 0 ? '' : random.pick(names)
      const all = random.chance(0.4)
      return widened(gene, random.size(20_000), (each) => all || each === chosen)
    }
    case 'object': {
      const names = Object.keys(gene.fields)
      if (names.length < 2) return gene
      const left = random.pick(names)
      const fields = Object.entries(gene.fields).filter(([name]) => name !== left)
      return { ...gene, fields: Object.fromEntries(fields) }
    }
    default:
      return gene
  }
}
/** The names of all text fields at most `deepest` levels down. */
export const textNames = (gene: Gene, deepest = Infinity): string[] =>
  [...partsOf(gene)].flatMap(({ path, gene: { is } }) =>
    is === 'text' && path.split('.').length <= deepest ? [/\w*$/.exec(path)?.[0] ?? ''] : [],
  )

/** The description of an object in which all matchers are one random expression. */
export function matcherPlan(
  object: Resource,
  random: Random,
  expression = expressionOf('bool', random, 1 + random.below(5)),
): Plan {
  const plan = planOf(object)
  const count = random.size(random.pick([1, 20, 500]))
  const change = (gene: Gene): Gene => {
    if (gene.is === 'list')
      return { ...gene, items: gene.items.map(change), ...(gene.items.length === 1 && { count }) }
    if (gene.is !== 'object') return gene
    return mapFields(gene, (field, name) => {
      const longest = MATCHERS[name]
      return longest === undefined ? change(field) : { is: 'matcher', longest, expression }
    })
  }
  const lists = [...partsOf(plan.body)].filter(
    ({ path, gene: { is } }) => is === 'list' && /roleMappings$|trustedIssuers$/.test(path),
  )
  return { ...plan, body: lists.reduce((body, { gene }) => replaced(body, gene, change), plan.body) }
}

/** The annotation that ignores rules, and a line of its value. */
export const IGNORES = 'toolhive.stacklok.dev/vmcp-admission-ignore'
export const IGNORE_LINE = 'unknown-field: because of this and that'

/** A random variation of the described object; parts of `others` may be copied into it. */
export function mutatePlan(plan: Plan, random: Random, others: readonly Plan[]): Plan {
  const other = random.pick(others)
  switch (random.below(12)) {
    case 0: {
      if (random.chance(0.3)) return plan.old === undefined ? plan : withoutOld(plan)
      const names = textNames(plan.body)
      const field = names.length === 0 || random.chance(0.2) ? '' : random.pick(names)
      return { ...plan, old: { field, isReversed: random.chance(0.3) } }
    }
    case 1:
      return other.object.kind === plan.object.kind ? { ...plan, old: other.body } : plan
    case 2: {
      if (plan.others.length > 0 && random.chance(0.5)) {
        const chosen = random.pick(plan.others)
        const more = { ...chosen, count: Math.min(chosen.count * 4, 2_000) }
        return { ...plan, others: plan.others.map((each) => (each === chosen ? more : each)) }
      }
      const beside = { resource: other.object, body: other.body, count: random.size(100) }
      return { ...plan, others: [...plan.others, ...other.others.slice(0, 3), beside].slice(-6) }
    }
    case 3: {
      const line = textOf(IGNORE_LINE)
      const unit = { text: random.pick(UNITS), times: random.size(300_000) }
      const text = line.toSpliced(random.below(line.length + 1), 0, unit)
      const annotations: Gene = {
        is: 'map',
        key: [{ text: IGNORES, times: 1 }],
        value: { is: 'text', text },
        count: random.chance(0.8) ? 1 : random.size(5_000),
      }
      return { ...plan, body: withField(plan.body, 'annotations', annotations) }
    }
    default: {
      const beside = plan.others.length > 0 && random.chance(0.1) ? random.pick(plan.others) : undefined
      const body = beside?.body ?? plan.body
      const parts = [...partsOf(body)].filter(({ gene: { is } }) => is !== 'value')
      const matchers = parts.filter(({ gene: { is } }) => is === 'matcher')
      const part = random.pick(matchers.length > 0 && random.chance(0.6) ? matchers : parts)
      const donors = () => {
        const fitting = [...partsOf(other.body)].filter(
          ({ path, gene }) => path === part.path && gene !== part.gene,
        )
        return fitting.length === 0 ? undefined : random.pick(fitting).gene
      }
      const changed = replaced(body, part.gene, () => mutateGene(part, random, donors))
      if (beside === undefined) return { ...plan, body: changed }
      return {
        ...plan,
        others: plan.others.map((each) => (each === beside ? { ...beside, body: changed } : each)),
      }
    }
  }
}

export const withoutOld = ({ object, body, others }: Plan): Plan => ({ object, body, others })

const withField = (gene: Gene, name: string, field: Gene): Gene =>
  gene.is === 'object' ? { ...gene, fields: { ...gene.fields, [name]: field } } : gene

/**
 * The path of the smallest part with more than half of the object's characters. For a matcher with a long text, also
 * the form of the call that takes the text.
 */
export function largestPart(plan: Plan): string {
  let { path, gene }: Part = { path: '', gene: plan.body }
  for (;;) {
    const inner = partsDirectlyIn(gene, path)
    const [first] = inner.toSorted((a, b) => sizeOf(b.gene) - sizeOf(a.gene))
    const all = inner.reduce((sum, each) => sum + sizeOf(each.gene), 0)
    if (first === undefined || sizeOf(first.gene) < all / 2)
      return gene.is === 'matcher' ? `${path} ${callOfLongText(gene.expression)}` : path
    ;({ path, gene } = first)
  }
}

function partsDirectlyIn(gene: Gene, path: string): readonly Part[] {
  switch (gene.is) {
    case 'object':
      return Object.entries(gene.fields).map(([name, field]) => ({
        path: path === '' ? name : `${path}.${name}`,
        gene: field,
      }))
    case 'list':
      return gene.items.map((item) => ({ path: `${path}[]`, gene: item }))
    case 'map':
      return [{ path: `${path}.<name>`, gene: gene.value }]
    default:
      return []
  }
}

/** The large parts of a described object, as text for people. */
export function describePlan(plan: Plan): string {
  const found: string[] = []
  for (const { path, gene } of partsOf(plan.body)) {
    if ((gene.is === 'list' || gene.is === 'map') && gene.count > 3)
      found.push(`${path}: ${gene.count} items`)
    if (gene.is === 'text' && lengthOf(gene.text) > 200) found.push(`${path}: ${textShape(gene.text)}`)
    if (gene.is === 'matcher') found.push(`${path}: ${cut(shapeOf(gene.expression))}`)
  }
  const { old, others } = plan
  const before =
    old === undefined
      ? []
      : [
          isGene(old)
            ? 'beside another stored object'
            : `stored with another ${old.field ?? 'text everywhere'}${old.isReversed ? ', lists reversed' : ''}`,
        ]
  const around = others.map(({ resource, count }) => `${count} × ${resource.kind} beside it`)
  return [plan.object.kind, ...found, ...before, ...around].join('; ')
}
const cut = (text: string) => (text.length <= 300 ? text : `${text.slice(0, 300)}…`)
const textShape = (text: Text) =>
  cut(
    text
      .map(
        ({ text: part, times }) =>
          `${JSON.stringify(part.replaceAll(ITEM, 'ITEM').replaceAll(ROUND, 'ROUND'))}${times > 1 ? `×${times}` : ''}`,
      )
      .join(' '),
  )
