import fc from 'fast-check'
import { KINDS } from '../../../src/kinds/index.ts'
import { examplesAt, rulePlaces } from '../../../src/kinds/places.ts'
import { resources } from '../arbitrary.ts'
import { Climb, type Judged as JudgedPlan } from './climb.ts'
import { type Candidate, type Cost, type Resource, type Result } from './candidate.ts'
import { type Expression, longCalls } from './expressions.ts'
import {
  describePlan,
  fitting,
  type Gene,
  IGNORE_LINE,
  IGNORES,
  largestPart,
  matcherPlan,
  mutatePlan,
  partsOf,
  type Plan,
  planOf,
  replaced,
  textNames,
  widened,
  withoutOld,
  withStuffedTexts,
} from './genes.ts'
import { actorMatchers, roleMappings } from './rows.ts'
import { Random } from './random.ts'
import { UNITS } from './texts.ts'

/** The score that the search maximizes. */
export interface Measure {
  readonly of: (cost: Cost, bytes: number) => number
  /** A score above this is reported, and the search goes on elsewhere. */
  readonly enough: number
}

/** Blocks of code that judging any object executes. */
const BLOCKS_OF_ANY = 100_000

export const MEASURES = {
  units: { of: ({ units = 0 }) => units, enough: Infinity },
  /** Executed blocks of code: the same on every machine, but without work inside V8, such as regular expressions. */
  blocks: { of: ({ blocks = 0 }) => blocks, enough: Infinity },
  /** Executed blocks of code for each budget unit and byte of the object: work that the budget does not count. */
  uncharged: {
    of: ({ blocks = 0, units = 0 }, bytes) => Math.max(0, blocks - BLOCKS_OF_ANY) / (units + bytes),
    enough: Infinity,
  },
  cpu: { of: ({ cpuMs }) => cpuMs, enough: 250 },
  memory: { of: ({ peakBytes = 0 }) => peakBytes, enough: 64e6 },
} as const satisfies Record<string, Measure>

/** An object that was judged, with its description. */
export type Judged = JudgedPlan<Plan, Result>

/** The number of plans with random matchers among the first plans. */
const MATCHER_PLANS = 2_000

/**
 * Searches for the objects that are most expensive to judge. It begins with the examples of the rules and random
 * objects of the schemas, with longer texts and lists.
 */
export class Search extends Climb<Plan, Result> {
  constructor(
    seed: number,
    measure: Measure,
    judge: (candidate: Candidate) => Promise<Result>,
    onFind?: (judged: Judged) => void,
  ) {
    const random = new Random(seed)
    const donors = [...examplePlans(), ...schemaPlans(seed, 2)]
    const bases = covering(donors)
    const withMatcher = (expression?: Expression) => () => {
      const { object } = random.pick([roleMappings('true'), actorMatchers('true')])
      return matcherPlan(object, random, expression)
    }
    const others = random.shuffled([
      ...growing().map(
        ({ of }) =>
          () =>
            of(5_000),
      ),
      ...stuffedPlans(bases),
      ...Array.from({ length: MATCHER_PLANS }, () => withMatcher()),
    ])
    const long = random.shuffled([...longCalls()]).map(withMatcher)
    // Alternating, so that a search of a few minutes reaches both kinds of plans.
    const first = others.flatMap((other, i) => [long[i] ?? [], other].flat()).toReversed()
    const attempt = async (given: Plan) => {
      const { plan, candidate, bytes } = fitting(given)
      const result = await judge(candidate)
      const score = result.ended === 'answered' ? measure.of(result, bytes) : Infinity
      return { plan, result, bytes, score, place: placeOf(plan, result) }
    }
    const change = (plan: Plan) => mutatePlan(plan, random, donors)
    const isOfHalf = (place: string) => /(?:matcher|Matcher) /.test(place)
    super(random, { first, bases, donors, enough: measure.enough, change, isOfHalf, attempt }, onFind)
  }
}

/** The operation, the kind, the largest part of the object, and the function with the most executed blocks. */
function placeOf(plan: Plan, result: Result): string {
  const operation = plan.old === undefined ? 'CREATE' : 'UPDATE'
  const hottest = result.ended === 'answered' ? (result.hottest ?? '') : result.ended
  return `${operation} ${plan.object.kind} ${largestPart(plan)} ${hottest}`
}

/** The examples of every rule at every place where it applies, and an object with an annotation that ignores a rule. */
export function examplePlans(): Plan[] {
  const { object } = roleMappings('claims.a == "b"')
  const metadata = {
    ...(object.metadata as object),
    annotations: { [IGNORES]: IGNORE_LINE },
    labels: { a: 'b' },
  }
  const ofRules = rulePlaces().flatMap((place) =>
    examplesAt(place).map(({ resource, old, others }) =>
      planOf(resource as Resource, {
        old: old as Resource | undefined,
        others: others as readonly Resource[],
      }),
    ),
  )
  return [planOf({ ...object, metadata }), ...ofRules]
}

/** Random objects of each schema; `wrong` percent of their values do not fit the schema. */
const schemaPlans = (seed: number, wrong: number): Plan[] =>
  KINDS.flatMap((kind) =>
    fc
      .sample(resources(kind, { wrong }), { seed, numRuns: 30 })
      .filter(({ spec }) => typeof spec === 'object')
      .map((resource) => planOf(resource as Resource)),
  )

/**
 * A few of these objects that together contain the path of every text, list and map of all of them, in creations
 * and in updates.
 */
function covering(plans: readonly Plan[]): Plan[] {
  const known = new Set<string>()
  const chosen: Plan[] = []
  const pathsOf = new Map(plans.map((plan) => [plan, growingPaths(plan)]))
  const bySize = plans.toSorted((a, b) => (pathsOf.get(b)?.length ?? 0) - (pathsOf.get(a)?.length ?? 0))
  for (const plan of bySize) {
    const fresh = (pathsOf.get(plan) ?? []).filter((path) => !known.has(path))
    if (fresh.length === 0) continue
    for (const path of fresh) known.add(path)
    chosen.push(plan)
  }
  return chosen
}

const growingPaths = ({ object, body, old }: Plan): string[] =>
  [...partsOf(body)]
    .filter(({ gene: { is } }) => is === 'text' || is === 'list' || is === 'map')
    .map(({ path }) => `${old === undefined ? '' : 'UPDATE '}${object.kind} ${path}`)

/** A list or map of a kind, in objects with any number of its items. */
export interface Growing {
  /** Such as `MCPGroup spec.list, reversed`. */
  readonly title: string
  readonly of: (count: number) => Plan
}

/**
 * For each list and map of the schemas: with equal and with numbered items, as a creation and as updates of some texts
 * or all.
 */
export const growing = (): Growing[] => growingIn(examplePlans(), schemaPlans(1, 0))

/**
 * Takes each list or map from the object whose items have most parts; objects of `second` only for those that `first`
 * lacks.
 */
function growingIn(first: readonly Plan[], second: readonly Plan[]): Growing[] {
  const places = new Map<string, { readonly plan: Plan; readonly gene: Gene; readonly parts: number }>()
  for (const plans of [first, second]) {
    const known = new Set(places.keys())
    for (const plan of plans) {
      for (const { path, gene } of partsOf(plan.body)) {
        const place = `${plan.object.kind} ${path}`
        if ((gene.is !== 'list' && gene.is !== 'map') || known.has(place)) continue
        const parts = [...partsOf(gene)].length / (gene.is === 'list' ? gene.items.length : 1)
        if (parts > (places.get(place)?.parts ?? 0)) places.set(place, { plan, gene, parts })
      }
    }
  }
  const made: Growing[] = []
  for (const [place, { plan, gene }] of places) {
    const grown = (count: number, isNumbered: boolean): Plan => ({
      ...withoutOld(plan),
      body: replaced(plan.body, gene, (part) => widened(part, count, () => isNumbered)),
    })
    made.push({ title: `${place}, all alike`, of: (count) => grown(count, false) })
    made.push({ title: place, of: (count) => grown(count, true) })
    const change = (title: string, field: string | undefined, isReversed = false) =>
      made.push({
        title: `${place}, ${title}`,
        of: (count) => ({ ...grown(count, true), old: { field, isReversed } }),
      })
    change('reversed', '', true)
    change('every text changed', undefined)
    // The engine does not compare fields at deeper levels between two versions of an item.
    for (const field of new Set(textNames(gene, 3))) change(`every ${field} changed`, field)
  }
  return made
}

/** Each object with each unit inserted into all its texts. */
const stuffedPlans = (plans: readonly Plan[]): (() => Plan)[] =>
  UNITS.flatMap((unit) =>
    plans.map((plan) => () => ({ ...plan, body: withStuffedTexts(plan.body, unit, 200_000) })),
  )

/** The cost as text for people. */
export function costText(result: Result): string {
  if (result.ended === 'killed') return `killed after ${result.afterMs} ms`
  if (result.ended === 'crashed') return `ended: ${result.how}`
  const { cpuMs, peakBytes = NaN, blocks = '?', units = '?', hottest = '' } = result
  return `${cpuMs.toFixed(0)} ms, ${(peakBytes / 1e6).toFixed(0)} MB, ${blocks} blocks, ${units} units, ${hottest}`
}

/** A line of text about a judged object. */
export const describeJudged = ({ plan, result, bytes, number }: Judged): string =>
  `#${number} ${bytes} bytes: ${costText(result)}: ${describePlan(plan)}`
