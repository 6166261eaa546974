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

/** What the search climbs towards. */
export interface Measure {
  readonly of: (cost: Cost, bytes: number) => number
  /** More than this is a find: the search goes on elsewhere. */
  readonly enough: number
}

/** Blocks that any object costs. */
const BLOCKS_OF_ANY = 100_000

export const MEASURES = {
  units: { of: ({ units = 0 }) => units, enough: Infinity },
  /** Blocks of code: the same on every machine, blind for what the engine does by itself, as regular expressions. */
  blocks: { of: ({ blocks = 0 }) => blocks, enough: Infinity },
  /** Blocks that neither a unit nor a byte of the object pays for: work that the budget does not see. */
  uncharged: {
    of: ({ blocks = 0, units = 0 }, bytes) => Math.max(0, blocks - BLOCKS_OF_ANY) / (units + bytes),
    enough: Infinity,
  },
  cpu: { of: ({ cpuMs }) => cpuMs, enough: 250 },
  memory: { of: ({ peakBytes = 0 }) => peakBytes, enough: 64e6 },
} as const satisfies Record<string, Measure>

/** A candidate that was judged. */
export type Judged = JudgedPlan<Plan, Result>

/** How many plans with matchers it begins with. */
const MATCHER_PLANS = 2_000

/**
 * Looks for the candidates that cost most. It begins with examples of the rules and with objects of the schemas, their texts
 * stuffed and their lists widened.
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
    // Every second one, so that a few minutes come to all of them.
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

/** The part that is largest, and the code that ran most. */
function placeOf(plan: Plan, result: Result): string {
  const operation = plan.old === undefined ? 'CREATE' : 'UPDATE'
  const hottest = result.ended === 'answered' ? (result.hottest ?? '') : result.ended
  return `${operation} ${plan.object.kind} ${largestPart(plan)} ${hottest}`
}

/** The examples of every rule, at every place where it applies, and an object that ignores a rule. */
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

/** Objects of each schema, some parts of which are wrong. */
const schemaPlans = (seed: number, wrong: number): Plan[] =>
  KINDS.flatMap((kind) =>
    fc
      .sample(resources(kind, { wrong }), { seed, numRuns: 30 })
      .filter(({ spec }) => typeof spec === 'object')
      .map((resource) => planOf(resource as Resource)),
  )

/** Plans that together have every path of a text, a list or a map, alone and in an update; as few as are found at once. */
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

/** A list or a map of a kind that grows. */
export interface Growing {
  /** `MCPGroup spec.list, numbered, stored with another name`. */
  readonly title: string
  readonly of: (count: number) => Plan
}

/** Each list and map of the schemas: with items that are alike, or have numbers; created, and updated in some texts or all. */
export const growing = (): Growing[] => growingIn(examplePlans(), schemaPlans(1, 0))

/** From the plan of the first list whose items have most parts; of the second where the first has none. */
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
    // Deeper ones are not compared between the versions.
    for (const field of new Set(textNames(gene, 3))) change(`every ${field} changed`, field)
  }
  return made
}

/** Each plan with all of its texts stuffed with each unit. */
const stuffedPlans = (plans: readonly Plan[]): (() => Plan)[] =>
  UNITS.flatMap((unit) =>
    plans.map((plan) => () => ({ ...plan, body: withStuffedTexts(plan.body, unit, 200_000) })),
  )

/** What judging cost, for people. */
export function costText(result: Result): string {
  if (result.ended === 'killed') return `killed after ${result.afterMs} ms`
  if (result.ended === 'crashed') return `ended: ${result.how}`
  const { cpuMs, peakBytes = NaN, blocks = '?', units = '?', hottest = '' } = result
  return `${cpuMs.toFixed(0)} ms, ${(peakBytes / 1e6).toFixed(0)} MB, ${blocks} blocks, ${units} units, ${hottest}`
}

/** One line about a candidate that was judged. */
export const describeJudged = ({ plan, result, bytes, number }: Judged): string =>
  `#${number} ${bytes} bytes: ${costText(result)}: ${describePlan(plan)}`
