import { type Bound, isAbove, isTighter, numbersBetween } from './bounds.ts'
import { NUMBERS, numbersFrom, TEXTS, textsFrom } from './hints.ts'
import { type Budget, type Literal, Solver } from './solver.ts'
import { findText, isText, passes, type TextTest } from './texts.ts'

/** The forms that a claim can have; a boolean is two of them. */
export const FORMS = ['absent', 'null', 'false', 'true', 'number', 'string', 'list', 'map'] as const
export type Form = (typeof FORMS)[number]

/** The forms as examples avoid them: the last is the most plain. */
const EXAMPLES: readonly Form[] = ['absent', 'map', 'null', 'false', 'true', 'number', 'list', 'string']

/** A claim, a member of one, or an element of a list: a place in a JSON value that a matcher reads. */
export interface Place {
  readonly above: Place | undefined
  readonly key: string | number
  readonly forms: Readonly<Record<Form, Literal>>
  readonly parts: Map<string | number, Place>
  readonly texts: Map<string, { readonly literal: Literal; readonly test: TextTest }>
  readonly bounds: Map<string, Bound>
  readonly guesses: Guess[]
  list: ListPlace | undefined
  /** What is said of the names of the members of a map. */
  keys: ListPlace | undefined
  /** Whether the text is one of those that tests ask for. */
  taken: Literal | undefined
}

/** What is said of the elements of a list: at least so many satisfy a literal of the world of its elements. */
interface ListPlace {
  readonly elements: World
  readonly counts: Map<string, Count>
  found: Found[]
  /** Whether a literal holds for a key. */
  readonly held: Map<string, boolean>
}

interface Count {
  readonly literal: Literal
  readonly least: number
  readonly of: Literal
}

/** The elements of a list, or the keys of a map. */
export type Over = 'list' | 'keys'

/** An element that was found, and which literals it satisfies. */
interface Found {
  readonly value: unknown
  readonly satisfies: ReadonlySet<Literal>
}

/** A part of a matcher whose value is known for whole claims only: no structure of it is understood. */
export interface Guess {
  /** It is true; it is false. Neither where it fails or is not a bool. */
  readonly yes: Literal
  readonly no: Literal
  /** It counts where one of these holds. */
  readonly guards: Literal[]
  readonly places: readonly Place[]
  readonly text: string
  /** Values to try. */
  readonly hints: readonly unknown[]
  /** The names of the claims that it reads. */
  readonly claims: readonly string[]
  /** Undefined for no boolean; 'unknown' where it cannot be evaluated alone. */
  evaluate(root: unknown): boolean | undefined | 'unknown'
}

export type Answer =
  | { readonly is: 'possible'; readonly value: unknown }
  /** Proved: these assumptions contradict each other. */
  | { readonly is: 'impossible'; readonly because: readonly Literal[] }
  | { readonly is: 'unknown' }

/** Most values that are tried for one question whose parts are not all understood. */
const MOST_TRIES = 60
/** Most keys that are looked for one after the other. */
const MOST_FURTHER = 12

let worlds = 0

/** All JSON values that the places of it can have, as a formula that grows with each question about them. */
export class World {
  readonly budget: Budget
  readonly id = worlds++
  readonly root: Place
  readonly guesses: Guess[] = []
  readonly true: Literal
  readonly #solver: Solver
  readonly #gates = new Map<string, Literal>()
  /** Assumed in every question; what is only supposed, and not proved, holds under it alone. */
  readonly #supposed: Literal

  /** `forms` are those that the root may have. */
  constructor(budget: Budget, forms: readonly Form[]) {
    this.budget = budget
    this.#solver = new Solver(budget)
    this.true = this.#solver.variable(true)
    this.#solver.clause([this.true])
    this.#supposed = this.#solver.variable(true)
    this.root = this.#place(undefined, '', forms)
  }

  get false(): Literal {
    return -this.true
  }

  not(literal: Literal): Literal {
    return -literal
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
    const parts = [...new Set(literals)].filter((each) => each !== this.true).toSorted((a, b) => a - b)
    const set = new Set(parts)
    if (parts.some((each) => each === this.false || set.has(-each))) return this.false
    const [first] = parts
    if (first === undefined) return this.true
    if (parts.length === 1) return first
    const key = parts.join()
    const known = this.#gates.get(key)
    if (known !== undefined) return known
    const gate = this.#solver.variable()
    for (const part of parts) this.#solver.clause([-gate, part])
    this.#solver.clause([gate, ...parts.map((part) => -part)])
    this.#gates.set(key, gate)
    return gate
  }

  or(...literals: readonly Literal[]): Literal {
    return -this.and(...literals.map((each) => -each))
  }

  /** The member of that name of a map, or the element at that index of a list. */
  part(place: Place, key: string | number): Place {
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

  #place(above: Place | undefined, key: string | number, allowed: readonly Form[]): Place {
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
      above,
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

  /** What a text at the place satisfies; it says nothing where there is no text. */
  text(place: Place, test: TextTest): Literal {
    const known = place.texts.get(test.key)
    if (known !== undefined) return known.literal
    const literal = this.#solver.variable()
    for (const other of place.texts.values()) this.#relate(literal, test, other)
    if (test.only !== undefined) this.#only(place, literal)
    place.texts.set(test.key, { literal, test })
    return literal
  }

  /** Clauses about two tests of one text that would otherwise be found one by one. */
  #relate(
    literal: Literal,
    test: TextTest,
    other: { readonly literal: Literal; readonly test: TextTest },
  ): void {
    this.budget.spend(1)
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

  /** At most one text is the one at the place: a chain of variables that say whether an earlier one is. */
  #only(place: Place, literal: Literal): void {
    const { taken } = place
    const next = this.#solver.variable()
    this.#solver.clause([-literal, next])
    if (taken !== undefined) {
      this.#solver.clause([-taken, next])
      this.#solver.clause([-taken, -literal])
    }
    place.taken = next
  }

  /** `value > bound`, or `value >= bound`, of a number at the place. */
  above(place: Place, bound: number, strict: boolean): Literal {
    if (Number.isNaN(bound) || bound === Infinity) return this.false
    if (bound === -Infinity) return this.true
    const key = `${strict ? '>' : '>='} ${bound}`
    return kept(place.bounds, key, () => ({ literal: this.#solver.variable(), bound, strict })).literal
  }

  #manyAt(place: Place, over: Over): ListPlace {
    const forms = over === 'keys' ? (['string'] as const) : FORMS.filter((form) => form !== 'absent')
    place[over] ??= { elements: new World(this.budget, forms), counts: new Map(), found: [], held: new Map() }
    return place[over]
  }

  /** The world of the elements of a list at the place, or of the keys of a map. */
  elements(place: Place, over: Over = 'list'): World {
    return this.#manyAt(place, over).elements
  }

  /** Whether at least so many elements of the list at the place, or keys of the map, satisfy a literal of their world. */
  atLeast(place: Place, least: number, of: Literal, over: Over = 'list'): Literal {
    const { elements, counts, held } = this.#manyAt(place, over)
    if (least <= 0) return this.true
    if (of === elements.false) return this.false
    const known = counts.get(`${least} ${of}`)
    if (known !== undefined) return known.literal
    const literal = this.#solver.variable()
    for (const other of counts.values()) {
      if (other.of !== of && of !== elements.true && other.of !== elements.true) continue
      if (other.least >= least && (other.of === of || of === elements.true))
        this.#solver.clause([-other.literal, literal])
      if (least >= other.least && (other.of === of || other.of === elements.true))
        this.#solver.clause([-literal, other.literal])
    }
    counts.set(`${least} ${of}`, { literal, least, of })
    place[over] = { elements, counts, found: [], held }
    return literal
  }

  /** Registers a part that is not understood. */
  guess(guess: Guess): void {
    this.guesses.push(guess)
    this.#solver.clause([-guess.yes, -guess.no])
    const [place, second] = guess.places
    if (place !== undefined && second === undefined) place.guesses.push(guess)
  }

  /**
   * Looks for a value for which all assumptions hold. `confirm` says whether a value that was found really is one;
   * without parts that are not understood, it is.
   */
  solve(assumptions: readonly Literal[], confirm: (value: unknown) => boolean = () => true): Answer {
    for (let tries = 0; tries < MOST_TRIES;) {
      const core = this.#solver.solve([this.#supposed, ...assumptions])
      if (core !== undefined) {
        if (core.includes(this.#supposed)) return { is: 'unknown' }
        return { is: 'impossible', because: core }
      }
      const lemmas: Lemma[] = []
      const value = this.#valueAt(this.root, lemmas)
      if (lemmas.length === 0) {
        const doubts = this.#doubtsOf(value)
        if (doubts.length === 0 && confirm(value)) return { is: 'possible', value }
        lemmas.push(
          ...(doubts.length === 0 ? [{ clause: assumptions.map((each) => -each), proved: false }] : doubts),
        )
      }
      if (lemmas.some(({ proved }) => !proved)) tries++
      for (const { clause, proved } of lemmas)
        this.#solver.clause(proved ? clause : [-this.#supposed, ...clause])
    }
    return { is: 'unknown' }
  }

  /** Clauses against what the guesses say of the value and is not so. */
  #doubtsOf(value: unknown): Lemma[] {
    return this.guesses.flatMap((guess) => {
      if (!this.#counts(guess) || this.#agrees(guess, guess.evaluate(value))) return []
      const clause = [guess.yes, guess.no].map((each) => this.#against(each))
      return [
        { clause: [...clause, ...guess.places.flatMap((place) => this.#differs(place))], proved: false },
      ]
    })
  }

  #counts(guess: Guess): boolean {
    return guess.guards.some((guard) => this.isTrue(guard))
  }

  #agrees({ yes, no }: Guess, result: boolean | undefined | 'unknown'): boolean {
    if (result === 'unknown') return true
    return this.isTrue(yes) === (result === true) && this.isTrue(no) === (result === false)
  }

  /** The literal or its opposite: what the model does not make true. */
  #against(literal: Literal): Literal {
    return this.isTrue(literal) ? -literal : literal
  }

  /** The literals of which one is true where the value at the place is another one. */
  #differs(place: Place): Literal[] {
    const form = this.#formOf(place)
    const own: Literal[] = [-place.forms[form]]
    if (form === 'string') for (const { literal } of place.texts.values()) own.push(this.#against(literal))
    if (form === 'number') for (const { literal } of place.bounds.values()) own.push(this.#against(literal))
    if (form === 'list')
      for (const { literal } of place.list?.counts.values() ?? []) own.push(this.#against(literal))
    if (form === 'map')
      for (const { literal } of place.keys?.counts.values() ?? []) own.push(this.#against(literal))
    for (const part of place.parts.values()) own.push(...this.#differs(part))
    return own
  }

  #formOf(place: Place): Form {
    return FORMS.find((form) => this.isTrue(place.forms[form])) ?? 'absent'
  }

  /** A value for the place as the model has it; adds lemmas where there is none. */
  #valueAt(place: Place, lemmas: Lemma[]): unknown {
    switch (this.#formOf(place)) {
      case 'absent':
        return undefined
      case 'null':
        return null
      case 'false':
        return false
      case 'true':
        return true
      case 'number':
        return this.#numberAt(place, lemmas)
      case 'string':
        return this.#textAt(place, lemmas)
      case 'list':
        return this.#itemsAt(place, lemmas)
      case 'map':
        return this.#mapAt(place, lemmas)
    }
  }

  /** The guesses about the place alone that count. */
  #guessesAt(place: Place): Guess[] {
    return place.guesses.filter((guess) => this.#counts(guess))
  }

  /** The first value of which the guesses say what the model has; a lemma when there is none. */
  #fitting(place: Place, values: Iterable<unknown>, guesses: readonly Guess[], lemmas: Lemma[]): unknown {
    for (const value of values) {
      const root = around(place, value)
      this.budget.spend(5 * guesses.length)
      if (guesses.every((guess) => this.#agrees(guess, guess.evaluate(root)))) return value
    }
    const clause = guesses.flatMap(({ yes, no }) => [this.#against(yes), this.#against(no)])
    lemmas.push({ clause: [...clause, ...this.#differs(place)], proved: false })
    return undefined
  }

  #textAt(place: Place, lemmas: Lemma[]): unknown {
    const atoms = [...place.texts.values()]
    const wanted = atoms.map(({ literal, test }) => ({ literal, test, answer: this.isTrue(literal) }))
    const result = findText(wanted, this.budget)
    if (result === undefined) {
      lemmas.push({ clause: this.#differs(place), proved: false })
      return undefined
    }
    if ('conflicts' in result) {
      for (const conflict of result.conflicts) {
        const against = conflict.map((each) => this.#against((each as (typeof wanted)[number]).literal))
        lemmas.push({ clause: [-place.forms.string, ...against], proved: true })
      }
      return undefined
    }
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0) return result.text
    const hints = guesses.flatMap(({ hints: all }) => all.flatMap(textsFrom))
    const fitting = [result.text, ...new Set([...hints, ...TEXTS])].filter((text) =>
      wanted.every(({ test, answer }) => passes(test, text) === answer),
    )
    return this.#fitting(place, fitting, guesses, lemmas)
  }

  #numberAt(place: Place, lemmas: Lemma[]): unknown {
    let [low, high]: [Bound | undefined, Bound | undefined] = [undefined, undefined]
    for (const bound of place.bounds.values()) {
      if (this.isTrue(bound.literal)) low = low === undefined || isTighter(bound, low) ? bound : low
      else high = high === undefined || isTighter(high, bound) ? bound : high
    }
    const within = (value: number) =>
      Number.isFinite(value) &&
      (low === undefined || isAbove(value, low)) &&
      (high === undefined || !isAbove(value, high))
    const candidates = numbersBetween(low?.bound, high?.bound).filter(within)
    const [first] = candidates
    if (first === undefined) {
      const against = [low, high].flatMap((bound) =>
        bound === undefined ? [] : [this.#against(bound.literal)],
      )
      lemmas.push({ clause: [-place.forms.number, ...against], proved: true })
      return undefined
    }
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0) return first
    const hints = guesses.flatMap(({ hints: all }) => all.flatMap(numbersFrom))
    return this.#fitting(
      place,
      new Set([...candidates, ...[...hints, ...NUMBERS].filter(within)]),
      guesses,
      lemmas,
    )
  }

  #mapAt(place: Place, lemmas: Lemma[]): unknown {
    const members: [string, unknown][] = []
    for (const [key, part] of place.parts) {
      if (typeof key !== 'string' || this.#formOf(part) === 'absent') continue
      members.push([key, this.#valueAt(part, lemmas)])
    }
    for (const key of this.#furtherKeys(place, lemmas)) members.push([key, 'x'])
    const value = objectOf(members)
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0 || lemmas.length > 0) return value
    const hints = guesses.flatMap(({ hints: all }) => all.flatMap(textsFrom))
    const keys = [...new Set([...hints, ...FILLERS])].filter((key) => !place.parts.has(key))
    const larger = keys.map((key) => objectOf([...members, [key, 'x']]))
    const fillers = FILLERS.map((_, i) =>
      objectOf([...members, ...FILLERS.slice(0, i + 1).map((key): [string, unknown] => [key, 'x'])]),
    )
    return this.#fitting(place, [value, ...larger, ...fillers], guesses, lemmas)
  }

  /** The keys that the map needs beside those that matchers name. */
  #furtherKeys(place: Place, lemmas: Lemma[]): string[] {
    const { keys } = place
    if (keys === undefined) return []
    const counts = [...keys.counts.values()]
    const named = [...place.parts].flatMap(([key, part]) => (typeof key === 'string' ? [{ key, part }] : []))
    const present = named.filter(({ part }) => this.#formOf(part) !== 'absent')
    const none = counts.filter(({ literal, least }) => least === 1 && !this.isTrue(literal))
    for (const { key, part } of present) {
      for (const { literal } of none.filter(({ of }) => this.#holdsFor(keys, key, of))) {
        lemmas.push({ clause: [-place.forms.map, literal, part.forms.absent], proved: true })
      }
    }
    if (lemmas.length > 0) return []
    if (counts.every(({ of }) => of === keys.elements.true))
      return this.#anyKeys(place, counts, present.length, lemmas)
    const further: Found[] = []
    const countOf = (of: Literal) =>
      present.filter(({ key }) => this.#holdsFor(keys, key, of)).length +
      further.filter(({ satisfies }) => satisfies.has(of)).length
    const is = (key: string) => keys.elements.text(keys.elements.root, isText(key))
    for (const { literal, least, of } of counts) {
      while (this.isTrue(literal) && countOf(of) < least) {
        if (further.length >= MOST_FURTHER) {
          lemmas.push({ clause: this.#differs(place), proved: false })
          return []
        }
        const others = [...named.map(({ key }) => key), ...further.map(({ value }) => String(value))].map(is)
        const found = this.#element(keys, none, [of, ...others.map((other) => -other)])
        if (found !== undefined && 'value' in found) {
          further.push(found)
          continue
        }
        const isProved = found !== undefined && least === 1 && further.length === 0
        const absent = named.filter((each) => !present.includes(each) && this.#holdsFor(keys, each.key, of))
        const clause = isProved
          ? [-place.forms.map, -literal, ...found.clause, ...absent.map(({ part }) => -part.forms.absent)]
          : this.#differs(place)
        lemmas.push({ clause, proved: isProved })
        return []
      }
    }
    const tooMany = counts.find(({ literal, least, of }) => !this.isTrue(literal) && countOf(of) >= least)
    if (tooMany !== undefined) {
      const those = present.filter(({ key }) => this.#holdsFor(keys, key, tooMany.of))
      const isProved = those.length >= tooMany.least
      const clause = isProved
        ? [-place.forms.map, tooMany.literal, ...those.map(({ part }) => part.forms.absent)]
        : this.#differs(place)
      lemmas.push({ clause, proved: isProved })
    }
    return further.map(({ value }) => String(value))
  }

  /** As many keys as the map needs, of any names. */
  #anyKeys(place: Place, counts: readonly Count[], present: number, lemmas: Lemma[]): string[] {
    const wanted = counts.filter(({ literal }) => this.isTrue(literal)).map(({ least }) => least)
    const most = counts.filter(({ literal }) => !this.isTrue(literal)).map(({ least }) => least - 1)
    if (present > Math.min(...most)) lemmas.push({ clause: this.#differs(place), proved: true })
    const names = Array.from(
      { length: Math.max(present, ...wanted) + place.parts.size },
      (_, i) => `member${i}`,
    )
    return names
      .filter((name) => !place.parts.has(name))
      .slice(0, Math.max(0, Math.max(0, ...wanted) - present))
  }

  /** Whether a literal about a key holds for this one. */
  #holdsFor({ elements, held }: ListPlace, key: string, of: Literal): boolean {
    if (of === elements.true) return true
    const asked = `${of} ${key}`
    const known = held.get(asked)
    if (known !== undefined) return known
    const answer = elements.solve([elements.text(elements.root, isText(key)), of])
    held.set(asked, answer.is === 'possible')
    return answer.is === 'possible'
  }

  #itemsAt(place: Place, lemmas: Lemma[]): unknown {
    const value = this.#countedItems(place, lemmas)
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0 || lemmas.length > 0) return value
    return this.#fitting(place, [value], guesses, lemmas)
  }

  #countedItems(place: Place, lemmas: Lemma[]): unknown[] {
    const list = place.list
    if (list === undefined) return []
    const counts = [...list.counts.values()]
    const { elements } = list
    const model: ListModel = {
      list,
      counts,
      none: counts.filter(({ literal, least }) => least === 1 && !this.isTrue(literal)),
      placed: this.#placedItems(place, list, lemmas),
      items: [],
    }
    if (lemmas.length > 0) return []
    for (const { literal, least, of } of counts) {
      if (of === elements.true) continue
      while (this.isTrue(literal) && countIn(model, of) < least) {
        const found = this.#element(list, model.none, [of])
        if (found === undefined || 'clause' in found) {
          const proved = [-place.forms.list, -literal, ...(found?.clause ?? [])]
          lemmas.push({
            clause: found === undefined ? this.#differs(place) : proved,
            proved: found !== undefined,
          })
          return []
        }
        model.items.push(found)
      }
    }
    const values = this.#filled(place, model, lemmas)
    const isOver = counts.some(
      ({ literal, least, of }) =>
        !this.isTrue(literal) && (of === elements.true ? values.length : countIn(model, of)) >= least,
    )
    return isOver && lemmas.length === 0 ? this.#single(place, model, lemmas) : values
  }

  /** The elements at indexes that matchers ask for, with what they satisfy as far as that is known. */
  #placedItems(place: Place, list: ListPlace, lemmas: Lemma[]): ReadonlyMap<number, Found> {
    const { elements, counts } = list
    const placed = new Map<number, Found>()
    for (const [key, part] of place.parts) {
      if (typeof key !== 'number' || this.#formOf(part) === 'absent') continue
      const value = this.#valueAt(part, lemmas)
      const pins = pinsOf(elements, elements.root, value)
      if (lemmas.length > 0 || pins === undefined || elements.solve(pins).is !== 'possible') {
        placed.set(key, { value, satisfies: new Set([elements.true]) })
        continue
      }
      const held = [...counts.values()].filter(({ of }) => elements.isTrue(of))
      placed.set(key, { value, satisfies: new Set([elements.true, ...held.map(({ of }) => of)]) })
      for (const { literal, least, of } of held) {
        if (least > 1 || this.isTrue(literal) || elements.solve([...pins, -of]).is !== 'impossible') continue
        const own = pinsOf(this, part, value) ?? []
        lemmas.push({ clause: [-place.forms.list, literal, ...own.map((pin) => -pin)], proved: true })
      }
    }
    return placed
  }

  /** The list with all its elements, as long as it must be. */
  #filled(place: Place, { list, counts, none, placed, items }: ListModel, lemmas: Lemma[]): unknown[] {
    const { elements } = list
    const long = counts.filter(({ literal, of }) => of === elements.true && this.isTrue(literal))
    const [longest] = long.toSorted((a, b) => b.least - a.least)
    const last = Math.max(-1, ...placed.keys())
    const rest = [...items]
    const values: unknown[] = []
    for (let i = 0; i <= last || i < (longest?.least ?? 0) || rest.length > 0; i++) {
      const next = placed.get(i) ?? rest.shift() ?? this.#element(list, none, [elements.true])
      if (next === undefined || 'clause' in next) {
        const isProved = next !== undefined && longest !== undefined
        const proved = [-place.forms.list, -(longest?.literal ?? 0), ...(next?.clause ?? [])]
        lemmas.push({ clause: isProved ? proved : this.#differs(place), proved: isProved })
        return []
      }
      values.push(next.value)
    }
    return values
  }

  /** A list that is too long made of one element that does what all must do together. */
  #single(place: Place, { list, counts, none, placed }: ListModel, lemmas: Lemma[]): unknown[] {
    const short = counts.find(
      ({ literal, least, of }) => of === list.elements.true && least === 2 && !this.isTrue(literal),
    )
    if (short !== undefined && placed.size === 0) {
      const wanted = counts.filter(({ literal }) => this.isTrue(literal))
      const needed = wanted.map(({ of }) => of)
      const found = this.#element(list, none, needed)
      if (found !== undefined && 'value' in found) return [found.value]
      if (found !== undefined) {
        const against = wanted.map(({ literal }) => -literal)
        const clause = [-place.forms.list, ...against, short.literal, ...found.clause]
        lemmas.push({ clause, proved: true })
        return []
      }
    }
    // Several elements could be one in other ways, which are not tried.
    lemmas.push({ clause: this.#differs(place), proved: false })
    return []
  }

  /** An element that satisfies the literals and none of the others; a clause of what contradicts it. */
  #element(
    list: ListPlace,
    none: readonly Count[],
    of: readonly Literal[],
  ): Found | { readonly clause: readonly Literal[] } | undefined {
    const { elements } = list
    const forbidden = none.map((count) => count.of)
    const known = list.found.find(
      ({ satisfies }) =>
        of.every((literal) => satisfies.has(literal)) && !forbidden.some((literal) => satisfies.has(literal)),
    )
    this.budget.spend(none.length / 4)
    if (known !== undefined) return known
    const answer = elements.solve([...of, ...forbidden.map((literal) => -literal)])
    if (answer.is === 'unknown') return undefined
    if (answer.is === 'impossible') {
      const needed = new Set(answer.because)
      return { clause: none.filter((count) => needed.has(-count.of)).map(({ literal }) => literal) }
    }
    const satisfied = [...list.counts.values()].filter((count) => elements.isTrue(count.of))
    const found = {
      value: answer.value,
      satisfies: new Set([elements.true, ...satisfied.map((count) => count.of)]),
    }
    list.found.push(found)
    return found
  }
}

/** A list as the model has it: elements at indexes, and further ones. */
interface ListModel {
  readonly list: ListPlace
  readonly counts: readonly Count[]
  /** What no element satisfies. */
  readonly none: readonly Count[]
  readonly placed: ReadonlyMap<number, Found>
  readonly items: Found[]
}

const countIn = ({ placed, items }: ListModel, of: Literal): number =>
  [...placed.values(), ...items].filter(({ satisfies }) => satisfies.has(of)).length

/** The literals that say that the place has this value; undefined for a list and a map. */
function pinsOf(world: World, place: Place, value: unknown): Literal[] | undefined {
  const { forms } = place
  if (typeof value === 'string') return [forms.string, world.text(place, isText(value))]
  if (typeof value === 'number')
    return [forms.number, world.above(place, value, false), -world.above(place, value, true)]
  if (typeof value === 'boolean') return [value ? forms.true : forms.false]
  return value === null ? [forms.null] : undefined
}

interface Lemma {
  readonly clause: readonly Literal[]
  readonly proved: boolean
}

function kept<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The value where the place is, with nothing else around it. */
export function around(place: Place, value: unknown): unknown {
  if (place.above === undefined) return value
  const { key } = place
  if (typeof key === 'string') return around(place.above, value === undefined ? {} : objectOf([[key, value]]))
  const items: unknown[] = Array.from({ length: key }, () => null)
  return around(place.above, value === undefined ? items : [...items, value])
}

/** An object of any keys, `__proto__` too. */
function objectOf(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(members)
}

const FILLERS = ['other', 'another', 'third', 'fourth', 'fifth', 'sixth']
