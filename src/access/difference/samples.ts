import {
  type Guess,
  NUMBERS,
  numbersFrom,
  type ValuePlace,
  textsFrom,
  type ClaimsWorld,
} from '../../cel/index.ts'
import type { Claims } from '../role/claims.ts'
import { randomNumbers } from './random-numbers.ts'

/** The number of random sets of claims to try when the solver could not decide whether any caller meets a condition. */
const MOST_SAMPLES = 3_000

/** The first random caller's claims for which `holds` is true; undefined when there are none. Throws OutOfBudget. */
export function sampled(world: ClaimsWorld, holds: (claims: Claims) => boolean): Claims | undefined {
  for (const claims of samples(world, MOST_SAMPLES)) {
    world.budget.spend(20)
    if (holds(claims)) return claims
  }
  return undefined
}

/** The reason, as text, why the solver could not decide whether any caller meets a condition. */
export function whyNotDecided({ guesses }: ClaimsWorld): string {
  const [first] = guesses
  if (first === undefined) return 'the combination of its conditions is too large'
  const others = guesses.length === 1 ? '' : ` and ${guesses.length - 1} more`
  return `not every claim can be tried for ${first.text}${others}`
}

/** Yields `count` random sets of claims with values from the matchers; the same sequence for the same matchers. */
function* samples(world: ClaimsWorld, count: number): Iterable<Claims> {
  const random = randomNumbers(1)
  const guesses = guessesIn(world)
  const hints = guesses.flatMap((guess) => guess.hints)
  const unread = [...new Set(guesses.flatMap(({ claims }) => claims))].filter(
    (name) => !world.root.parts.has(name),
  )
  const texts = [...new Set(['x', '', '1', ...hints.flatMap(textsFrom)])]
  const constants = [...new Set(hints.flatMap(numbersFrom))]
  const products = constants.slice(0, 12).flatMap((one) => constants.slice(0, 12).map((other) => one * other))
  const numbers = [...new Set([...NUMBERS, ...constants, ...constants, ...products])].filter(Number.isFinite)
  const pick = <T>(values: readonly T[]): T | undefined => values[Math.floor(random() * values.length)]
  const used: unknown[] = []
  const valueAt = (place: ValuePlace): unknown => {
    const own = [...place.texts.values()].map(({ test }) => test.hint('x'))
    const bounds = [...place.bounds.values()].flatMap(({ bound }) => [bound, bound + 1, bound - 1])
    const chance = random()
    if (chance < 0.1) return pick(used)
    if (place.parts.size > 0 && chance < 0.7) return membersOf(place)
    const elements = place.list?.elements.root
    const isAsked = (place.list?.counts.size ?? 0) > 0
    if (elements !== undefined && chance < (isAsked ? 0.85 : 0.15))
      return Array.from({ length: Math.floor(random() * 4) }, () => valueAt(elements) ?? pick(texts))
    if (chance > 0.95) return pick([null, true, false, {}, []])
    const value = pick<unknown>([...own, ...bounds, ...own, ...bounds, pick(texts), pick(numbers)])
    used.push(value)
    if (used.length > 30) used.shift()
    return value
  }
  const membersOf = (place: ValuePlace): unknown => {
    const parts = [...place.parts].filter(() => random() < 0.8)
    if (parts.some(([key]) => typeof key === 'number')) return parts.map(([, part]) => valueAt(part) ?? null)
    const members = parts.map(([key, part]): [string, unknown] => [String(key), valueAt(part)])
    return Object.fromEntries(members.filter(([, value]) => value !== undefined))
  }
  for (let i = 0; i < count; i++) {
    const more = unread.map((name) => [name, random() < 0.5 ? [pick(texts), pick(texts)] : pick(texts)])
    yield { ...Object.fromEntries(more), ...(membersOf(world.root) as Claims) }
  }
}

/**
 * The boolean expressions in matchers that could not be translated to a formula for the solver, about any claim or
 * any value inside a claim.
 */
function guessesIn(world: ClaimsWorld): readonly Guess[] {
  const below = (place: ValuePlace): readonly Guess[] => [
    ...[place.list, place.keys].flatMap((many) => (many === undefined ? [] : guessesIn(many.elements))),
    ...[...place.parts.values()].flatMap(below),
  ]
  return [...world.guesses, ...below(world.root)]
}
