import type { Budget } from '../../rule/index.ts'
import type { Bound } from './bounds.ts'
import { type Literal, Solver } from './solver.ts'
import { passes, type TextTest, workOf } from './texts.ts'

/** The possible types of a claim; a bool has two, one for each value. */
export const FORMS = ['absent', 'null', 'false', 'true', 'number', 'string', 'list', 'map'] as const
export type Form = (typeof FORMS)[number]

/**
 * The types of a claim in the order of their solver variables: an example leaves a claim out if possible; otherwise
 * preference is given to the last type, a string.
 */
const EXAMPLES: readonly Form[] = ['absent', 'map', 'null', 'false', 'true', 'number', 'list', 'string']

/** A place in a JSON value that a matcher reads: a claim, a member of a map, or an element of a list. */
export interface ValuePlace {
  readonly parent: ValuePlace | undefined
  readonly key: string | number
  readonly forms: Readonly<Record<Form, Literal>>
  readonly parts: Map<string | number, ValuePlace>
  readonly texts: Map<string, { readonly literal: Literal; readonly test: TextTest }>
  readonly bounds: Map<string, Bound>
  readonly guesses: Guess[]
  list: ListPlace | undefined
  /** Literals about the keys of a map; the field `list` has the literals about the elements of a list. */
  keys: ListPlace | undefined
  /** A literal that is true when the text equals one of the constants so far: then it equals no further constant. */
  taken: Literal | undefined
}

/** Literals that count: each says that at least n elements of a list satisfy another literal. */
export interface ListPlace {
  readonly elements: ClaimsWorld
  readonly counts: Map<string, Count>
  found: FoundElement[]
  /** Cache: whether a literal holds for a key of the map, by literal and key. */
  readonly facts: Map<string, KeyFact>
}

/** Whether a literal holds for a key of a map; `open` when neither "always" nor "never" is proved. */
export type KeyFact = 'always' | 'never' | 'open'

export interface Count {
  readonly literal: Literal
  readonly least: number
  readonly of: Literal
}

/** Whether a loop or a count is about the elements of a list or the keys of a map. */
export type Over = 'list' | 'keys'

/** An element of a list, or a key of a map, that was found for an example, and the literals that it satisfies. */
export interface FoundElement {
  readonly value: unknown
  readonly satisfies: ReadonlySet<Literal>
}

/**
 * A boolean expression that was not translated to a formula: the solver chooses its result freely, and `evaluate`
 * returns the real result for a value.
 */
export interface Guess {
  /** The literals for true (`yes`) and false (`no`); both are false when the result is a failure or not a bool. */
  readonly yes: Literal
  readonly no: Literal
  /** The result of the expression matters only when one of these literals is true. */
  readonly guards: Literal[]
  readonly places: readonly ValuePlace[]
  readonly text: string
  /** Constants in the expression, which the search for an example tries as values. */
  readonly hints: readonly unknown[]
  /** The names of the claims that the expression reads. */
  readonly claims: readonly string[]
  /** The result for a JSON value: undefined if not a bool, 'unknown' if the expression also reads other values. */
  evaluate(root: unknown): boolean | undefined | 'unknown'
}

/** A formula about the values that claims, or a list's elements, can have; each matcher that is read adds clauses. */
export class ClaimsWorld {
  readonly budget: Budget
  /**
   * Identifies this formula among the formulas for nested loops. Ids begin at 0 in each outermost formula, because
   * they are part of canonical texts, whose length is charged to the budget: so the same analysis always has the same
   * cost.
   */
  readonly id: number
  readonly #ids: { next: number }
  readonly root: ValuePlace
  readonly guesses: Guess[] = []
  /** The expressions that were not translated to a formula, by canonical text: equal expressions share a `Guess`. */
  readonly guessed = new Map<string, Guess>()
  readonly true: Literal
  readonly #solver: Solver
  readonly #gates = new Map<string, Literal>()
  /** A literal that each search assumes. Clauses that are not proved (`suppose`) hold only when it is true. */
  readonly #supposed: Literal

  /** `forms`: the possible types of the root value. `within`: for list elements, the formula about the list. */
  constructor(budget: Budget, forms: readonly Form[], within?: ClaimsWorld) {
    this.budget = budget
    this.#ids = within === undefined ? { next: 0 } : within.#ids
    this.id = this.nextId()
    this.#solver = new Solver(budget)
    this.true = this.#solver.variable(true)
    this.#solver.clause([this.true])
    this.#supposed = this.#solver.variable(true)
    this.root = this.#place(undefined, '', forms)
  }

  get false(): Literal {
    return -this.true
  }

  /** A number that is unique in this formula and in the formulas for nested loops. */
  nextId(): number {
    return this.#ids.next++
  }

  variable(phase = false): Literal {
    return this.#solver.variable(phase)
  }

  clause(literals: readonly Literal[]): void {
    this.#solver.clause(literals)
  }

  isTrue(literal: Literal): boolean {
    return this.#solver.isTrue(literal)
  }

  and(...literals: readonly Literal[]): Literal {
    this.budget.spend((1 + literals.length) / 2)
    const parts = [...new Set(literals)].filter((each) => each !== this.true).toSorted((a, b) => a - b)
    const set = new Set(parts)
    if (parts.some((each) => each === this.false || set.has(-each))) return this.false
    const [first] = parts
    if (first === undefined) return this.true
    if (parts.length === 1) return first
    const key = parts.join()
    const known = this.#gates.get(key)
    if (known !== undefined) return known
    this.budget.spend(1 + parts.length / 8)
    const gate = this.#solver.variable()
    for (const part of parts) this.#solver.clause([-gate, part])
    this.#solver.clause([gate, ...parts.map((part) => -part)])
    this.#gates.set(key, gate)
    return gate
  }

  or(...literals: readonly Literal[]): Literal {
    return -this.and(...literals.map((each) => -each))
  }

  /** The place of a map's member by name, or of a list's element by index. */
  memberAt(place: ValuePlace, key: string | number): ValuePlace {
    const known = place.parts.get(key)
    if (known !== undefined) return known
    const part = this.#place(place, key, FORMS)
    place.parts.set(key, part)
    const holder = typeof key === 'string' ? 'map' : 'list'
    this.#solver.clause([place.forms[holder], part.forms.absent])
    if (typeof key === 'number') {
      const long = this.atLeast(place, key + 1, this.true)
      this.#solver.clause([-place.forms.list, -long, -part.forms.absent])
      this.#solver.clause([-place.forms.list, long, part.forms.absent])
    }
    return part
  }

  #place(parent: ValuePlace | undefined, key: string | number, allowed: readonly Form[]): ValuePlace {
    const variableFor = (form: Form) => {
      if (!allowed.includes(form)) return this.false
      if (allowed.length === 1) return this.true
      return this.#solver.variable(form === 'absent')
    }
    const forms = Object.fromEntries(EXAMPLES.map((form) => [form, variableFor(form)])) as Record<
      Form,
      Literal
    >
    const literals = FORMS.map((form) => forms[form])
    const open = literals.filter((literal) => literal !== this.false)
    this.#solver.clause(open)
    open.forEach((one, i) => {
      for (const other of open.slice(i + 1)) this.#solver.clause([-one, -other])
    })
    return {
      parent,
      key,
      forms,
      parts: new Map(),
      texts: new Map(),
      bounds: new Map(),
      guesses: [],
      list: undefined,
      keys: undefined,
      taken: undefined,
    }
  }

  /** The literal that is true when the text at the place passes the test; meaningless when the value is not a text. */
  text(place: ValuePlace, test: TextTest): Literal {
    const known = place.texts.get(test.key)
    if (known !== undefined) return known.literal
    this.budget.spend(1 + test.cuts.length / 16)
    const literal = this.#solver.variable()
    for (const other of place.texts.values()) this.#relate(literal, test, other)
    if (test.only !== undefined) this.#only(place, literal)
    place.texts.set(test.key, { literal, test })
    return literal
  }

  /** Adds clauses for the relation of two tests of a text, such as "excludes", which shorten the search. */
  #relate(
    literal: Literal,
    test: TextTest,
    other: { readonly literal: Literal; readonly test: TextTest },
  ): void {
    this.budget.spend(workOf(1, test.only ?? other.test.only ?? ''))
    if (test.only !== undefined && other.test.only !== undefined) return
    if (test.only !== undefined)
      this.#solver.clause([-literal, passes(other.test, test.only) ? other.literal : -other.literal])
    else if (other.test.only !== undefined)
      this.#solver.clause([-other.literal, passes(test, other.test.only) ? literal : -literal])
    else {
      const relation = test.relation(other.test)
      if (relation === 'excludes') this.#solver.clause([-literal, -other.literal])
      if (relation === 'implies') this.#solver.clause([-literal, other.literal])
      if (relation === 'isImplied') this.#solver.clause([literal, -other.literal])
    }
  }

  /**
   * Tells the solver that the text at the place equals at most one constant: not both the constant of `literal` and
   * the constant of an earlier call for the same place.
   */
  #only(place: ValuePlace, literal: Literal): void {
    const { taken } = place
    const next = this.#solver.variable()
    this.#solver.clause([-literal, next])
    if (taken !== undefined) {
      this.#solver.clause([-taken, next])
      this.#solver.clause([-taken, -literal])
    }
    place.taken = next
  }

  /** The literal that is true when the number at the place is `> bound` (`strict`) or `>= bound`. */
  above(place: ValuePlace, bound: number, strict: boolean): Literal {
    if (Number.isNaN(bound) || bound === Infinity) return this.false
    if (bound === -Infinity) return this.true
    const key = `${strict ? '>' : '>='} ${bound}`
    return kept(place.bounds, key, () => ({ literal: this.#solver.variable(), bound, strict })).literal
  }

  #manyAt(place: ValuePlace, over: Over): ListPlace {
    const forms = over === 'keys' ? (['string'] as const) : FORMS.filter((form) => form !== 'absent')
    place[over] ??= {
      elements: new ClaimsWorld(this.budget, forms, this),
      counts: new Map(),
      found: [],
      facts: new Map(),
    }
    return place[over]
  }

  /** The formula (world) for the elements of the list, or for the keys of the map, at the place. */
  elements(place: ValuePlace, over: Over = 'list'): ClaimsWorld {
    return this.#manyAt(place, over).elements
  }

  /**
   * The literal that is true when at least `least` elements of the list (or keys of the map) at the place satisfy `of`,
   * a literal of the formula for these elements.
   */
  atLeast(place: ValuePlace, least: number, of: Literal, over: Over = 'list'): Literal {
    const { elements, counts, facts } = this.#manyAt(place, over)
    if (least <= 0) return this.true
    if (of === elements.false) return this.false
    const known = counts.get(`${least} ${of}`)
    if (known !== undefined) return known.literal
    this.budget.spend(counts.size / 8)
    const literal = this.#solver.variable()
    for (const other of counts.values()) {
      if (other.of !== of && of !== elements.true && other.of !== elements.true) continue
      if (other.least >= least && (other.of === of || of === elements.true))
        this.#solver.clause([-other.literal, literal])
      if (least >= other.least && (other.of === of || other.of === elements.true))
        this.#solver.clause([-literal, other.literal])
    }
    counts.set(`${least} ${of}`, { literal, least, of })
    place[over] = { elements, counts, found: [], facts }
    return literal
  }

  /** Registers a boolean expression that was not translated to a formula. */
  guess(guess: Guess): void {
    this.guesses.push(guess)
    this.#solver.clause([-guess.yes, -guess.no])
    const [place, second] = guess.places
    if (place !== undefined && second === undefined) place.guesses.push(guess)
  }

  /**
   * Assumptions that contradict each other; undefined when an assignment was found, which `isTrue` reads; 'unknown'
   * when the contradiction needs clauses that are not proved (`suppose`).
   */
  contradiction(assumptions: readonly Literal[]): readonly Literal[] | 'unknown' | undefined {
    const core = this.#solver.solve([this.#supposed, ...assumptions])
    return core?.includes(this.#supposed) === true ? 'unknown' : core
  }

  /** Adds a clause that is assumed but not proved: `contradiction` returns 'unknown' when it needs the clause. */
  suppose(clause: readonly Literal[]): void {
    this.#solver.clause([-this.#supposed, ...clause])
  }
}

function kept<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}
