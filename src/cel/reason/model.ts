/**
 * Builds an example value, such as the claims of a caller, for which the boolean expressions in matchers have the
 * results that the SAT solver chose. If there is no such value, adds a lemma: a clause with which the solver chooses
 * other results.
 */

import { type Bound, isAbove, isTighter, numbersBetween } from './bounds.ts'
import { NUMBERS, numbersFrom, TEXTS, textsFrom } from './hints.ts'
import type { Literal } from './solver.ts'
import { findText, isText, passes, workOf } from './texts.ts'
import {
  type Count,
  type Form,
  FORMS,
  type FoundElement,
  type Guess,
  type KeyFact,
  type ListPlace,
  type ValuePlace,
  type ClaimsWorld,
} from './world.ts'

type Answer =
  | { readonly is: 'possible'; readonly value: unknown }
  /** It is proved that the assumptions in `because` contradict each other. */
  | { readonly is: 'impossible'; readonly because: readonly Literal[] }
  | { readonly is: 'unknown' }

/** The most values that one call of `solve` tries: a value can be wrong when results were only guessed (`Guess`). */
const MOST_TRIES = 60
/** The most keys that the search for an example adds to one map, besides the keys that matchers name. */
const MOST_FURTHER = 12

/**
 * Looks for a JSON value (such as the claims) for which all assumptions hold. `confirm` checks the value that was
 * found; by default it accepts all.
 */
export function solve(
  world: ClaimsWorld,
  assumptions: readonly Literal[],
  confirm: (value: unknown) => boolean = () => true,
): Answer {
  const model = new Model(world)
  for (let tries = 0; tries < MOST_TRIES;) {
    const core = world.contradiction(assumptions)
    if (core === 'unknown') return { is: 'unknown' }
    if (core !== undefined) return { is: 'impossible', because: core }
    const lemmas: Lemma[] = []
    const value = model.valueAt(world.root, lemmas)
    if (lemmas.length === 0) {
      const doubts = model.doubtsOf(value)
      if (doubts.length === 0 && confirm(value)) return { is: 'possible', value }
      lemmas.push(
        ...(doubts.length === 0 ? [{ clause: assumptions.map((each) => -each), proved: false }] : doubts),
      )
    }
    if (lemmas.some(({ proved }) => !proved)) tries++
    for (const { clause, proved } of lemmas) {
      if (proved) world.clause(clause)
      else world.suppose(clause)
    }
  }
  return { is: 'unknown' }
}

/** Turns the solver's assignment into a JSON value, or into lemmas: clauses that say why there is none. */
class Model {
  readonly #world: ClaimsWorld

  constructor(world: ClaimsWorld) {
    this.#world = world
  }

  /** Spends budget for loops over these numbers of items. */
  #spend(...counts: readonly number[]): void {
    this.#world.budget.spend(1 + counts.reduce((sum, count) => sum + count, 0) / 8)
  }

  /** Candidate values from the constants in `guesses` (expressions that were not translated to a formula). */
  #hinted<T>(guesses: readonly Guess[], from: (hint: unknown) => readonly T[]): T[] {
    const hints = guesses.flatMap((guess) => guess.hints.flatMap(from))
    this.#spend(hints.length)
    return hints
  }

  /**
   * Evaluates each guess (a boolean expression that was not translated to a formula) for the value. If its result
   * differs from the one that the solver chose, returns a clause that excludes this choice for this value.
   */
  doubtsOf(value: unknown): Lemma[] {
    return this.#world.guesses.flatMap((guess) => {
      if (!this.#counts(guess) || this.#agrees(guess, guess.evaluate(value))) return []
      const clause = [guess.yes, guess.no].map((each) => this.#against(each))
      return [
        { clause: [...clause, ...guess.places.flatMap((place) => this.#differs(place))], proved: false },
      ]
    })
  }

  #counts(guess: Guess): boolean {
    return guess.guards.some((guard) => this.#world.isTrue(guard))
  }

  #agrees({ yes, no }: Guess, result: boolean | undefined | 'unknown'): boolean {
    if (result === 'unknown') return true
    return this.#world.isTrue(yes) === (result === true) && this.#world.isTrue(no) === (result === false)
  }

  /** Returns `literal` or its negation: the one that is false in the solver's current assignment. */
  #against(literal: Literal): Literal {
    return this.#world.isTrue(literal) ? -literal : literal
  }

  /**
   * Literals that are all false in the current assignment; one of them is true when the value at `place` has another
   * type, or gives another result for a condition on it.
   */
  #differs(place: ValuePlace): Literal[] {
    const form = this.#formOf(place)
    const own: Literal[] = [-place.forms[form]]
    this.#spend(place.texts.size, place.bounds.size, place.parts.size)
    if (form === 'string') for (const { literal } of place.texts.values()) own.push(this.#against(literal))
    if (form === 'number') for (const { literal } of place.bounds.values()) own.push(this.#against(literal))
    if (form === 'list')
      for (const { literal } of place.list?.counts.values() ?? []) own.push(this.#against(literal))
    if (form === 'map')
      for (const { literal } of place.keys?.counts.values() ?? []) own.push(this.#against(literal))
    for (const part of place.parts.values()) own.push(...this.#differs(part))
    return own
  }

  #formOf(place: ValuePlace): Form {
    return FORMS.find((form) => this.#world.isTrue(place.forms[form])) ?? 'absent'
  }

  /** A JSON value for `place` that fits the current assignment; when there is none, adds lemmas that say why. */
  valueAt(place: ValuePlace, lemmas: Lemma[]): unknown {
    this.#spend(place.texts.size, place.bounds.size, place.parts.size, place.guesses.length)
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

  /**
   * The boolean expressions that were not translated to a formula, read only this place in the claims, and have a
   * result that matters in the current assignment.
   */
  #guessesAt(place: ValuePlace): Guess[] {
    return place.guesses.filter((guess) => this.#counts(guess))
  }

  /**
   * The first of `values` for which all expressions in `guesses` have the results that the solver chose; if there is
   * none, adds a lemma that excludes these results.
   */
  #fitting(
    place: ValuePlace,
    values: Iterable<unknown>,
    guesses: readonly Guess[],
    lemmas: Lemma[],
  ): unknown {
    for (const value of values) {
      const root = around(place, value)
      this.#world.budget.spend(5 * guesses.length)
      if (guesses.every((guess) => this.#agrees(guess, guess.evaluate(root)))) return value
    }
    const clause = guesses.flatMap(({ yes, no }) => [this.#against(yes), this.#against(no)])
    lemmas.push({ clause: [...clause, ...this.#differs(place)], proved: false })
    return undefined
  }

  #textAt(place: ValuePlace, lemmas: Lemma[]): unknown {
    const atoms = [...place.texts.values()]
    const wanted = atoms.map(({ literal, test }) => ({ literal, test, answer: this.#world.isTrue(literal) }))
    const result = findText(wanted, this.#world.budget)
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
    const hints = this.#hinted(guesses, textsFrom)
    const fitting = [result.text, ...new Set([...hints, ...TEXTS])].filter((text) => {
      this.#world.budget.spend(workOf(wanted.length, text))
      return wanted.every(({ test, answer }) => passes(test, text) === answer)
    })
    return this.#fitting(place, fitting, guesses, lemmas)
  }

  #numberAt(place: ValuePlace, lemmas: Lemma[]): unknown {
    let [low, high]: [Bound | undefined, Bound | undefined] = [undefined, undefined]
    for (const bound of place.bounds.values()) {
      if (this.#world.isTrue(bound.literal)) low = low === undefined || isTighter(bound, low) ? bound : low
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
    const hints = this.#hinted(guesses, numbersFrom)
    return this.#fitting(
      place,
      new Set([...candidates, ...[...hints, ...NUMBERS].filter(within)]),
      guesses,
      lemmas,
    )
  }

  #mapAt(place: ValuePlace, lemmas: Lemma[]): unknown {
    const members: [string, unknown][] = []
    for (const [key, part] of place.parts) {
      if (typeof key !== 'string' || this.#formOf(part) === 'absent') continue
      members.push([key, this.valueAt(part, lemmas)])
    }
    for (const key of this.#furtherKeys(place, lemmas)) members.push([key, 'x'])
    const value = objectOf(members)
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0 || lemmas.length > 0) return value
    const hints = this.#hinted(guesses, textsFrom)
    this.#spend(hints.length * members.length)
    const keys = [...new Set([...hints, ...FILLERS])].filter((key) => !place.parts.has(key))
    const larger = keys.map((key) => objectOf([...members, [key, 'x']]))
    const fillers = FILLERS.map((_, i) =>
      objectOf([...members, ...FILLERS.slice(0, i + 1).map((key): [string, unknown] => [key, 'x'])]),
    )
    return this.#fitting(place, [value, ...larger, ...fillers], guesses, lemmas)
  }

  /** Keys that no matcher names, added so that the map has as many keys as the assignment requires. */
  #furtherKeys(place: ValuePlace, lemmas: Lemma[]): string[] {
    const { keys } = place
    if (keys === undefined) return []
    this.#spend(keys.counts.size * (1 + place.parts.size))
    const counts = [...keys.counts.values()]
    const named = [...place.parts].flatMap(([key, part]) => (typeof key === 'string' ? [{ key, part }] : []))
    const present = named.filter(({ part }) => this.#formOf(part) !== 'absent')
    const none = counts.filter(({ literal, least }) => least === 1 && !this.#world.isTrue(literal))
    for (const { key, part } of present) {
      for (const { literal } of none.filter(({ of }) => this.#factOf(keys, key, of) === 'always')) {
        lemmas.push({ clause: [-place.forms.map, literal, part.forms.absent], proved: true })
      }
    }
    if (lemmas.length > 0) return []
    if (counts.every(({ of }) => of === keys.elements.true))
      return this.#anyKeys(place, counts, present.length, lemmas)
    const further: FoundElement[] = []
    const mayHold = (key: string, of: Literal) => this.#factOf(keys, key, of) !== 'never'
    const countOf = (of: Literal) =>
      present.filter(({ key }) => mayHold(key, of)).length +
      further.filter(({ satisfies }) => satisfies.has(of)).length
    const is = (key: string) => keys.elements.text(keys.elements.root, isText(key))
    for (const { literal, least, of } of counts) {
      while (this.#world.isTrue(literal) && countOf(of) < least) {
        this.#spend(present.length)
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
        const absent = named.filter((each) => !present.includes(each) && mayHold(each.key, of))
        const clause = isProved
          ? [-place.forms.map, -literal, ...found.clause, ...absent.map(({ part }) => -part.forms.absent)]
          : this.#differs(place)
        lemmas.push({ clause, proved: isProved })
        return []
      }
    }
    const holding = (of: Literal) => present.filter(({ key }) => this.#factOf(keys, key, of) === 'always')
    const tooMany = counts.find(
      ({ literal, least, of }) =>
        !this.#world.isTrue(literal) &&
        holding(of).length + further.filter(({ satisfies }) => satisfies.has(of)).length >= least,
    )
    if (tooMany !== undefined) {
      const those = holding(tooMany.of)
      const isProved = those.length >= tooMany.least
      const clause = isProved
        ? [-place.forms.map, tooMany.literal, ...those.map(({ part }) => part.forms.absent)]
        : this.#differs(place)
      lemmas.push({ clause, proved: isProved })
    }
    return further.map(({ value }) => String(value))
  }

  /** Keys with arbitrary names, added so that the map has as many keys as the assignment requires. */
  #anyKeys(place: ValuePlace, counts: readonly Count[], present: number, lemmas: Lemma[]): string[] {
    const wanted = counts.filter(({ literal }) => this.#world.isTrue(literal)).map(({ least }) => least)
    const most = counts.filter(({ literal }) => !this.#world.isTrue(literal)).map(({ least }) => least - 1)
    if (present > Math.min(...most)) lemmas.push({ clause: this.#differs(place), proved: true })
    const names = Array.from(
      { length: Math.max(present, ...wanted) + place.parts.size },
      (_, i) => `member${i}`,
    )
    return names
      .filter((name) => !place.parts.has(name))
      .slice(0, Math.max(0, Math.max(0, ...wanted) - present))
  }

  /** Whether the literal holds for a map key that equals `key`: always, never, or `open` when neither is proved. */
  #factOf({ elements, facts }: ListPlace, key: string, of: Literal): KeyFact {
    if (of === elements.true) return 'always'
    const asked = `${of} ${key}`
    const known = facts.get(asked)
    if (known !== undefined) return known
    const isKey = elements.text(elements.root, isText(key))
    const fact =
      solve(elements, [isKey, of]).is === 'impossible'
        ? 'never'
        : solve(elements, [isKey, -of]).is === 'impossible'
          ? 'always'
          : 'open'
    facts.set(asked, fact)
    return fact
  }

  #itemsAt(place: ValuePlace, lemmas: Lemma[]): unknown {
    const value = this.#countedItems(place, lemmas)
    const guesses = this.#guessesAt(place)
    if (guesses.length === 0 || lemmas.length > 0) return value
    return this.#fitting(place, [value], guesses, lemmas)
  }

  #countedItems(place: ValuePlace, lemmas: Lemma[]): unknown[] {
    const list = place.list
    if (list === undefined) return []
    this.#spend(list.counts.size)
    const counts = [...list.counts.values()]
    const { elements } = list
    const model: ListModel = {
      list,
      counts,
      none: counts.filter(({ literal, least }) => least === 1 && !this.#world.isTrue(literal)),
      placed: this.#placedItems(place, list, lemmas),
      items: [],
    }
    if (lemmas.length > 0) return []
    for (const { literal, least, of } of counts) {
      if (of === elements.true) continue
      while (this.#world.isTrue(literal) && countIn(model, of) < least) {
        this.#spend(model.placed.size, model.items.length)
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
        !this.#world.isTrue(literal) && (of === elements.true ? values.length : countIn(model, of)) >= least,
    )
    return isOver && lemmas.length === 0 ? this.#single(place, model, lemmas) : values
  }

  /** The elements at the indexes that matchers name, with the literals that each of them satisfies. */
  #placedItems(place: ValuePlace, list: ListPlace, lemmas: Lemma[]): ReadonlyMap<number, FoundElement> {
    const { elements, counts } = list
    const placed = new Map<number, FoundElement>()
    for (const [key, part] of place.parts) {
      if (typeof key !== 'number' || this.#formOf(part) === 'absent') continue
      const value = this.valueAt(part, lemmas)
      const pins = pinsOf(elements, elements.root, value)
      if (lemmas.length > 0 || pins === undefined || solve(elements, pins).is !== 'possible') {
        placed.set(key, { value, satisfies: new Set([elements.true]) })
        continue
      }
      const held = [...counts.values()].filter(({ of }) => elements.isTrue(of))
      placed.set(key, { value, satisfies: new Set([elements.true, ...held.map(({ of }) => of)]) })
      for (const { literal, least, of } of held) {
        if (least > 1 || this.#world.isTrue(literal) || solve(elements, [...pins, -of]).is !== 'impossible')
          continue
        const own = pinsOf(this.#world, part, value) ?? []
        lemmas.push({ clause: [-place.forms.list, literal, ...own.map((pin) => -pin)], proved: true })
      }
    }
    return placed
  }

  /** Builds the complete list from `placed` and `items`, with as few further elements as possible. */
  #filled(place: ValuePlace, { list, counts, none, placed, items }: ListModel, lemmas: Lemma[]): unknown[] {
    const { elements } = list
    const long = counts.filter(({ literal, of }) => of === elements.true && this.#world.isTrue(literal))
    const [longest] = long.toSorted((a, b) => b.least - a.least)
    const last = Math.max(-1, ...placed.keys())
    const rest = [...items]
    const values: unknown[] = []
    for (let i = 0; i <= last || i < (longest?.least ?? 0) || rest.length > 0; i++) {
      this.#spend()
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

  /** Tries a list whose only element meets all conditions, when one element for each condition would be too many. */
  #single(place: ValuePlace, { list, counts, none, placed }: ListModel, lemmas: Lemma[]): unknown[] {
    const short = counts.find(
      ({ literal, least, of }) => of === list.elements.true && least === 2 && !this.#world.isTrue(literal),
    )
    if (short !== undefined && placed.size === 0) {
      const wanted = counts.filter(({ literal }) => this.#world.isTrue(literal))
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
    // A list of several elements that each meet some of the conditions could exist; the search does not try it.
    lemmas.push({ clause: this.#differs(place), proved: false })
    return []
  }

  /** An element that meets all conditions in `of` and none in `none`; or a clause that says why no element does. */
  #element(
    list: ListPlace,
    none: readonly Count[],
    of: readonly Literal[],
  ): FoundElement | { readonly clause: readonly Literal[] } | undefined {
    const { elements } = list
    const forbidden = none.map((count) => count.of)
    const known = list.found.find(
      ({ satisfies }) =>
        of.every((literal) => satisfies.has(literal)) && !forbidden.some((literal) => satisfies.has(literal)),
    )
    this.#spend(none.length, list.found.length, list.counts.size)
    if (known !== undefined) return known
    const answer = solve(elements, [...of, ...forbidden.map((literal) => -literal)])
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

/** The elements of a list that is being built: at indexes that matchers name (`placed`), and others (`items`). */
interface ListModel {
  readonly list: ListPlace
  readonly counts: readonly Count[]
  /** Counts of elements that must be zero: no element may satisfy their literal. */
  readonly none: readonly Count[]
  readonly placed: ReadonlyMap<number, FoundElement>
  readonly items: FoundElement[]
}

const countIn = ({ placed, items }: ListModel, of: Literal): number =>
  [...placed.values(), ...items].filter(({ satisfies }) => satisfies.has(of)).length

/** Literals that together mean that `place` has exactly this value; undefined when the value is a list or a map. */
function pinsOf(world: ClaimsWorld, place: ValuePlace, value: unknown): Literal[] | undefined {
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

/** A JSON value (such as the claims) that contains nothing except `value` at `place`. */
function around(place: ValuePlace, value: unknown): unknown {
  if (place.parent === undefined) return value
  const { key } = place
  if (typeof key === 'string')
    return around(place.parent, value === undefined ? {} : objectOf([[key, value]]))
  const items: unknown[] = Array.from({ length: key }, () => null)
  return around(place.parent, value === undefined ? items : [...items, value])
}

/** An object from its members; any key is allowed, even `__proto__`. */
function objectOf(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  return Object.fromEntries(members)
}

const FILLERS = ['other', 'another', 'third', 'fourth', 'fifth', 'sixth']
