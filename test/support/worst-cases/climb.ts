import type { Random } from './random.ts'

/** A plan that was tried, with what that cost. */
export interface Tried<Plan, Result> {
  readonly plan: Plan
  readonly result: Result
  readonly bytes: number
  /** Where its cost lies: plans of one place compete. */
  readonly place: string
  readonly score: number
}

export interface Judged<Plan, Result> extends Tried<Plan, Result> {
  /** Which of the tried plans it was. */
  readonly number: number
}

/** The plans among which is searched. */
export interface Space<Plan, Result> {
  /** What a search begins with; the last comes first. */
  readonly first: readonly (() => Plan)[]
  /** What is changed where nothing is known. */
  readonly bases: readonly Plan[]
  /** What is changed now and then, so that no place is forgotten. */
  readonly donors: readonly Plan[]
  /** A higher score is a find: the search goes on elsewhere. */
  readonly enough: number
  readonly change: (plan: Plan) => Plan
  /** Half of the time the plans of such places are changed, half of the time the others. */
  readonly isOfHalf: (place: string) => boolean
  readonly attempt: (plan: Plan) => Promise<Tried<Plan, Result>>
}

interface Place<Plan, Result> {
  worst: Judged<Plan, Result>
  /** The worst for its size. */
  densest: Judged<Plan, Result>
}

/** Bytes that a plan has anyway: small ones are not compared by the byte. */
const LEAST_BYTES = 1_000

interface Scored {
  readonly score: number
  readonly bytes: number
}

/** The worst first; what did not end before all others. */
const byScore = (a: Scored, b: Scored): number =>
  a.score === b.score ? a.bytes - b.bytes : b.score - a.score

const density = ({ score, bytes }: Scored): number => score / Math.max(bytes, LEAST_BYTES)

/**
 * Looks for the plans that cost most: changes the worst of each place again and again. Two searches with one seed, and a
 * measure that is the same everywhere, try the same plans.
 */
export class Climb<Plan, Result> {
  readonly #random: Random
  readonly #space: Space<Plan, Result>
  readonly #onFind: (judged: Judged<Plan, Result>) => void
  readonly #first: (() => Plan)[]
  readonly #places = new Map<string, Place<Plan, Result>>()
  #count = 0

  /** `onFind` is told of each place whose score is beyond `space.enough`, once. */
  constructor(
    random: Random,
    space: Space<Plan, Result>,
    onFind: (judged: Judged<Plan, Result>) => void = () => undefined,
  ) {
    this.#random = random
    this.#space = space
    this.#onFind = onFind
    this.#first = [...space.first]
  }

  /** How many plans were tried. */
  get count(): number {
    return this.#count
  }

  /** The worst of each place, the worst first; those that did not end before all others. */
  worst(): readonly Judged<Plan, Result>[] {
    return Array.from(this.#places.values(), ({ worst }) => worst).toSorted(byScore)
  }

  /** Tries plans until it is over: those of the beginning and changed ones in turn. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const next = this.#first.pop()
      if (next !== undefined) await this.#try(next())
      let plan = this.#parent()
      const changes = this.#random.size(4)
      for (let i = 0; i < changes; i++) plan = this.#space.change(plan)
      await this.#try(plan)
    }
  }

  #parent(): Plan {
    const { bases, donors, enough, isOfHalf } = this.#space
    if (this.#places.size === 0 || this.#random.chance(0.1)) return this.#random.pick(donors)
    const half = this.#random.chance(0.5)
    const open = [...this.#places.values()].filter(
      ({ worst: { score, place } }) => score < enough && isOfHalf(place) === half,
    )
    if (open.length === 0) return this.#random.pick(bases)
    const best = open.toSorted((a, b) => byScore(a.worst, b.worst))
    // Half of the time one of the worst places, the worse the likelier.
    const place = this.#random.chance(0.5)
      ? best[Math.min(this.#random.size(best.length), best.length) - 1]
      : this.#random.pick(best)
    if (place === undefined) return this.#random.pick(bases)
    return this.#random.chance(0.5) ? place.worst.plan : place.densest.plan
  }

  async #try(given: Plan): Promise<void> {
    const tried = await this.#space.attempt(given)
    this.#count += 1
    const judged = { ...tried, number: this.#count }
    const { score, place } = judged
    const known = this.#places.get(place)
    const { enough } = this.#space
    if (score >= enough && (known === undefined || known.worst.score < enough)) this.#onFind(judged)
    if (known === undefined) this.#places.set(place, { worst: judged, densest: judged })
    else {
      if (score > known.worst.score) known.worst = judged
      if (density(judged) > density(known.densest)) known.densest = judged
    }
  }
}
