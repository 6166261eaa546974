import fc from 'fast-check'
import { KINDS } from '../../../src/kinds/index.ts'
import { examplesAt, rulePlaces } from '../../../src/kinds/places.ts'
import { resources } from '../arbitrary.ts'
import { type Candidate, type Cost, type Resource, type Result } from './candidate.ts'
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
export interface Judged {
  readonly plan: Plan
  readonly result: Result
  readonly bytes: number
  /** Which of the judged candidates it was. */
  readonly number: number
  /** Where its cost lies: candidates of one place compete. */
  readonly place: string
  readonly score: number
}

interface Place {
  worst: Judged
  /** The worst for its size. */
  densest: Judged
}

/** How many plans with matchers it begins with. */
const MATCHER_PLANS = 2_000

/** Bytes that an object has anyway: small ones are not compared by the byte. */
const LEAST_BYTES = 1_000

/** The worst first; what did not end before all others. */
const byScore = (a: Judged, b: Judged): number =>
  a.score === b.score ? a.bytes - b.bytes : b.score - a.score

const density = ({ score, bytes }: Judged): number => score / Math.max(bytes, LEAST_BYTES)

/**
 * Looks for the candidates that cost most. It begins with examples of the rules and with objects of the schemas, their texts
 * stuffed and their lists widened; then it changes the worst of each place again and again. Two searches with one seed, and
 * a measure that is the same everywhere, judge the same candidates.
 */
export class Search {
  readonly #random: Random
  readonly #measure: Measure
  readonly #judge: (candidate: Candidate) => Promise<Result>
  readonly #onFind: (judged: Judged) => void
  readonly #donors: readonly Plan[]
  readonly #bases: readonly Plan[]
  readonly #first: (() => Plan)[]
  readonly #places = new Map<string, Place>()
  #count = 0

  /** `onFind` is told of each place whose cost is beyond `measure.enough`, once. */
  constructor(
    seed: number,
    measure: Measure,
    judge: (candidate: Candidate) => Promise<Result>,
    onFind: (judged: Judged) => void = () => undefined,
  ) {
    this.#onFind = onFind
    this.#random = new Random(seed)
    this.#measure = measure
    this.#judge = judge
    this.#donors = [...examplePlans(), ...schemaPlans(seed, 2)]
    this.#bases = covering(this.#donors)
    this.#first = this.#random.shuffled([
      ...growing().map(
        ({ of }) =>
          () =>
            of(5_000),
      ),
      ...stuffedPlans(this.#bases),
      ...Array.from({ length: MATCHER_PLANS }, () => () => {
        const { object } = this.#random.pick([roleMappings('true'), actorMatchers('true')])
        return matcherPlan(object, this.#random)
      }),
    ])
  }

  /** How many candidates were judged. */
  get count(): number {
    return this.#count
  }

  /** The worst of each place, the worst first; those that did not end before all others. */
  worst(): readonly Judged[] {
    return Array.from(this.#places.values(), ({ worst }) => worst).toSorted(byScore)
  }

  /** Judges plans until it is over: those of the beginning and changed ones in turn. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const next = this.#first.pop()
      if (next !== undefined) await this.#try(next())
      let plan = this.#parent()
      const changes = this.#random.size(4)
      for (let i = 0; i < changes; i++) plan = mutatePlan(plan, this.#random, this.#donors)
      await this.#try(plan)
    }
  }

  #parent(): Plan {
    if (this.#places.size === 0 || this.#random.chance(0.1)) return this.#random.pick(this.#donors)
    const { enough } = this.#measure
    const matchers = this.#random.chance(0.5)
    const open = [...this.#places.values()].filter(
      ({ worst: { score, place } }) => score < enough && /(?:matcher|Matcher) /.test(place) === matchers,
    )
    if (open.length === 0) return this.#random.pick(this.#bases)
    const best = open.toSorted((a, b) => byScore(a.worst, b.worst))
    // Half of the time one of the worst places, the worse the likelier.
    const place = this.#random.chance(0.5)
      ? best[Math.min(this.#random.size(best.length), best.length) - 1]
      : this.#random.pick(best)
    if (place === undefined) return this.#random.pick(this.#bases)
    return this.#random.chance(0.5) ? place.worst.plan : place.densest.plan
  }

  async #try(given: Plan): Promise<void> {
    const { plan, candidate, bytes } = fitting(given)
    const result = await this.#judge(candidate)
    this.#count += 1
    const score = result.ended === 'answered' ? this.#measure.of(result, bytes) : Infinity
    const place = placeOf(plan, result)
    const judged: Judged = { plan, result, bytes, number: this.#count, place, score }
    const known = this.#places.get(place)
    const { enough } = this.#measure
    if (score >= enough && (known === undefined || known.worst.score < enough)) this.#onFind(judged)
    if (known === undefined) this.#places.set(place, { worst: judged, densest: judged })
    else {
      if (score > known.worst.score) known.worst = judged
      if (density(judged) > density(known.densest)) known.densest = judged
    }
  }
}

/** The part that is largest, and the code that ran most. */
function placeOf(plan: Plan, result: Result): string {
  const operation = plan.old === undefined ? 'CREATE' : 'UPDATE'
  const hottest = result.ended === 'answered' ? (result.hottest ?? '') : result.ended
  return `${operation} ${plan.object.kind} ${largestPart(plan)} ${hottest}`
}

/** The examples of every rule, at every place where it applies, and an object that ignores a rule. */
function examplePlans(): Plan[] {
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
