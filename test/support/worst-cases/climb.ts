import type { Random } from './random.ts'

/** An input that was tried, with its result and score. A plan is a compact description of the input. */
export interface Tried<Plan, Result> {
  readonly plan: Plan
  readonly result: Result
  readonly bytes: number
  /** The part of the input and the code that cost most; the search keeps the most expensive plan of each place. */
  readonly place: string
  readonly score: number
}

export interface Judged<Plan, Result> extends Tried<Plan, Result> {
  /** The number of inputs tried up to this one. */
  readonly number: number
}

/** The plans that a search can try. */
export interface Space<Plan, Result> {
  /** Makers of the first plans, which are tried from the last to the first. */
  readonly first: readonly (() => Plan)[]
  /** The plans to change when no place is known whose score is below `enough`. */
  readonly bases: readonly Plan[]
  /** Plans that are changed instead in a tenth of the cases, so that no part of a resource is neglected. */
  readonly donors: readonly Plan[]
  /** A place with a higher score is reported, and its plans are changed no more. */
  readonly enough: number
  readonly change: (plan: Plan) => Plan
  /** Divides the places into two halves, which are searched equally often. */
  readonly isOfHalf: (place: string) => boolean
  readonly attempt: (plan: Plan) => Promise<Tried<Plan, Result>>
}

interface Place<Plan, Result> {
  worst: Judged<Plan, Result>
  /** The plan with the highest score per byte. */
  densest: Judged<Plan, Result>
}

/** The smallest size that `density` divides by, because every input has some fixed bytes. */
const LEAST_BYTES = 1_000

interface Scored {
  readonly score: number
  readonly bytes: number
}

/** Sorts by descending score; plans with the score Infinity, which crashed or were killed, come first. */
const byScore = (a: Scored, b: Scored): number =>
  a.score === b.score ? a.bytes - b.bytes : b.score - a.score

const density = ({ score, bytes }: Scored): number => score / Math.max(bytes, LEAST_BYTES)

/**
 * Hill climbing for the most expensive inputs: changes the worst plan of each place again and again. With the same
 * seed, and a measure that is the same on every machine, it tries the same plans.
 */
export class Climb<Plan, Result> {
  readonly #random: Random
  readonly #space: Space<Plan, Result>
  readonly #onFind: (judged: Judged<Plan, Result>) => void
  readonly #first: (() => Plan)[]
  readonly #places = new Map<string, Place<Plan, Result>>()
  #count = 0

  /** Calls `onFind` once for each place whose score reaches `space.enough`. */
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

  /** The number of plans tried. */
  get count(): number {
    return this.#count
  }

  /** The worst plan of each place, highest score first. */
  worst(): readonly Judged<Plan, Result>[] {
    return Array.from(this.#places.values(), ({ worst }) => worst).toSorted(byScore)
  }

  /** Tries plans until `isOver`: alternately one of the first plans and a changed plan. */
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
    // One half of the choices prefers places with a high score; the other treats all alike.
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
