import { type Literal, solve, ClaimsWorld } from '../../cel/index.ts'
import { Budget, OutOfBudget, withinBudget } from '../../rule/index.ts'
import type { Claims } from '../role/claims.ts'
import { UNKNOWN_TOKENS, type CallerTokens, canExist } from '../role/caller-tokens.ts'
import { type Choice, type Outcome, outcomesOf } from './choice.ts'
import { shrink } from './shrink.ts'
import { sampled, whyNotDecided } from './samples.ts'
import { onlyThose, soughtFirst } from './usual.ts'

/** An example of a caller who gets different access in the old and the new state. */
export interface CallerChange {
  readonly old: Outcome
  readonly new: Outcome
  readonly witness: Claims
}

/** An access, such as an AWS role, for which it could not be decided whether some caller gains or loses it. */
export interface UndecidedChange {
  readonly access: string
  /**
   * The undecided question. `gains`: does some caller get the access only in the new state? `loses`: does some caller
   * get it only in the old state?
   */
  readonly question: 'gains' | 'loses'
  readonly why: string
}

export interface Difference {
  /** One example caller for each pair of different old and new accesses that was found. */
  readonly changes: readonly CallerChange[]
  /** Whether there may be callers with further pairs of an old and a new access than those in `changes`. */
  readonly more: boolean
  readonly undecided: readonly UndecidedChange[]
}

/** The budget for one comparison, in units of `Budget`. */
export const COMPARISON = 6_000_000
/** The budget for all comparisons of a run together, in units of `Budget`. */
export const ALL_COMPARISONS = 5 * COMPARISON
const MOST_PAIRS = 60
/** The most example callers whose claims are reduced to those that matter; later examples keep all claims. */
const MOST_SHRUNK = 40

/**
 * Finds callers whose access differs. Each change has example claims, evaluated in both states. If there are neither
 * changes nor undecided accesses, it is proved that no claims make a difference.
 */
export function compareChoices(
  old: Choice,
  now: Choice,
  { budget = new Budget(COMPARISON), callers = [], callerTokens = UNKNOWN_TOKENS }: Settings = {},
): Difference {
  const world = withinBudget(() => new ClaimsWorld(budget, ['map']))
  return world === undefined ? UNDECIDED : new Search(old, now, world, callerTokens).run(callers)
}

interface Settings {
  readonly budget?: Budget
  /** Claims to try first, such as the examples found for other releases. */
  readonly callers?: readonly Claims[]
  /** The tokens that callers can have; the comparison considers only claims that such a token can contain. */
  readonly callerTokens?: Callers
}

type Callers = Pick<CallerTokens, 'lacks' | 'partly'>

class Search {
  readonly #old: Choice
  readonly #new: Choice
  readonly #world: ClaimsWorld
  readonly #changes = new Map<string, CallerChange>()
  readonly #answered = { gains: new Set<string | undefined>(), loses: new Set<string | undefined>() }
  readonly #undecided: UndecidedChange[] = []
  readonly #tried = new WeakMap<Claims, CallerChange>()
  readonly #callerTokens: Callers
  #more = false

  constructor(old: Choice, now: Choice, world: ClaimsWorld, callerTokens: Callers) {
    this.#old = old
    this.#new = now
    this.#world = world
    this.#callerTokens = callerTokens
  }

  run(callers: readonly Claims[]): Difference {
    try {
      for (const claims of callers) this.#keep(claims)
      this.#ask()
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error
      this.#undecided.push(...UNDECIDED.undecided)
    }
    return { changes: [...this.#changes.values()], more: this.#more, undecided: this.#undecided }
  }

  #ask(): void {
    const world = this.#world
    const before = outcomesOf(world, this.#old.alternatives(world))
    const after = outcomesOf(world, this.#new.alternatives(world))
    onlyThose(world, this.#callerTokens)
    const sides = [
      ['gains', after, before],
      ['loses', before, after],
    ] as const
    const questions = sides.flatMap(([question, one, other]) =>
      Array.from(one, ([access, when]) => ({
        access,
        question,
        when: world.and(when, -(other.get(access) ?? world.false)),
      })),
    )
    this.#answer(questions.filter(({ access, when }) => access !== '' && when !== world.false))
    this.#findMorePairs(before, after)
  }

  /**
   * Tries to prove in one step that no caller gains or loses any of the accesses. If that fails, looks for a caller
   * who gains or loses one of them, then tries to prove the rest in one step again.
   */
  #answer(questions: readonly Question[]): void {
    if (this.#answerAll(questions)) return
    for (const question of questions) {
      if (this.#isAnswered(question) || this.#answerOne(question)) continue
      if (this.#answerAll(questions)) return
    }
  }

  /** Whether it is proved that no caller gains or loses any of the accesses that these questions are about. */
  #answerAll(questions: readonly Question[]): boolean {
    const some = this.#world.variable()
    const open = questions.filter((question) => !this.#isAnswered(question))
    this.#world.clause([-some, ...open.map(({ when }) => when)])
    const { size } = this.#changes
    const holds = (claims: Claims) => {
      const change = this.#change(claims)
      return open.some((question) => answers(change, question))
    }
    return this.#witness([some], holds) && this.#changes.size === size
  }

  /** Looks for a caller who gains (or loses) the access of the question; false when none is found. */
  #answerOne(question: Question): boolean {
    const { size } = this.#changes
    const holds = (claims: Claims) => answers(this.#change(claims), question)
    if (this.#witness([question.when], holds)) return this.#changes.size > size
    const caller = sampled(this.#world, (claims) => canExist(claims, this.#callerTokens) && holds(claims))
    if (caller !== undefined) this.#keep(caller)
    else {
      const { access, question: asked } = question
      this.#undecided.push({ access, question: asked, why: whyNotDecided(this.#world) })
    }
    return caller !== undefined
  }

  #isAnswered({ access, question }: Question): boolean {
    return this.#answered[question].has(access)
  }

  /** Finds further pairs of an old and a new access that some caller has, with an example caller for each. */
  #findMorePairs(before: ReadonlyMap<string, Literal>, after: ReadonlyMap<string, Literal>): void {
    const world = this.#world
    const blocked = new Set<string>()
    const differs = world.variable()
    world.clause([
      -differs,
      ...[...new Set([...before.keys(), ...after.keys()])].map((access) =>
        world.and(before.get(access) ?? world.false, -(after.get(access) ?? world.false)),
      ),
    ])
    const isNew = (claims: Claims) => {
      const change = this.#change(claims)
      return isDifferent(change) && !this.#changes.has(pairOf(change))
    }
    for (;;) {
      for (const [pair, { old, new: now }] of this.#changes) {
        if (blocked.has(pair)) continue
        blocked.add(pair)
        world.clause([
          -differs,
          -(before.get(old.access ?? '') ?? world.false),
          -(after.get(now.access ?? '') ?? world.false),
        ])
      }
      if (this.#changes.size >= MOST_PAIRS) {
        this.#more = true
        return
      }
      const { size } = this.#changes
      if (!this.#witness([differs], isNew)) this.#more = true
      if (this.#changes.size === size) return
    }
  }

  /**
   * Looks for example claims for which the assumptions and `holds` are true, and prefers claims that look as identity
   * providers issue them. True when an example was found and stored, or when it is proved that there is none.
   */
  #witness(assumptions: readonly Literal[], holds: (claims: Claims) => boolean): boolean {
    const isSuch = (value: unknown) => canExist(value as Claims, this.#callerTokens) && holds(value as Claims)
    const answer = soughtFirst(this.#world, this.#callerTokens, (more) =>
      solve(this.#world, [...assumptions, ...more], isSuch),
    )
    if (answer.is === 'possible') this.#keep(answer.value as Claims)
    return answer.is !== 'unknown'
  }

  #change(claims: Claims): CallerChange {
    const known = this.#tried.get(claims)
    if (known !== undefined) return known
    const { budget } = this.#world
    const change = {
      old: this.#old.decide(claims, budget),
      new: this.#new.decide(claims, budget),
      witness: claims,
    }
    this.#tried.set(claims, change)
    return change
  }

  #keep(claims: Claims): void {
    const change = this.#change(claims)
    const pair = pairOf(change)
    if (!isDifferent(change) || this.#changes.has(pair) || !canExist(claims, this.#callerTokens)) return
    const isEnough = this.#changes.size >= MOST_SHRUNK
    const witness = isEnough ? claims : shrink(claims, (smaller) => pairOf(this.#change(smaller)) === pair)
    this.#changes.set(pair, this.#change(witness))
    this.#answered.gains.add(change.new.access)
    this.#answered.loses.add(change.old.access)
  }
}

/** Does some caller gain (or lose) an access? `when` (a SAT variable or its negation) is true for such a caller. */
interface Question {
  readonly access: string
  readonly question: 'gains' | 'loses'
  readonly when: Literal
}

const isDifferent = (change: CallerChange): boolean => change.old.access !== change.new.access

const pairOf = (change: CallerChange): string => JSON.stringify([change.old.access, change.new.access])

const answers = (change: CallerChange, { access, question }: Question): boolean =>
  isDifferent(change) && (question === 'gains' ? change.new : change.old).access === access

export const BOUND = 'the comparison was ended at its bound'
const UNDECIDED: Difference = {
  changes: [],
  more: false,
  undecided: [{ access: '', question: 'gains', why: BOUND }],
}
