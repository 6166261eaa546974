import { type Instruction, plainPattern, programOf, type Range } from './pattern.ts'
import type { Budget } from '../../rule/index.ts'

/** The state of an automaton; equal strings or numbers are the same state. */
type State = string | number

/** A test of a text as a finite automaton that reads one code point at a time. */
export interface TextTest {
  readonly key: string
  /** The start or end that the test requires of a text. */
  readonly edge?: { readonly at: 'start' | 'end'; readonly text: string }
  /** The only text that passes, when there is exactly one. */
  readonly only?: string
  /** Changes a text so that it probably passes the test; the search for an example begins with this text. */
  readonly hint: (text: string) => string
  /** The first code point of each range of characters that the automaton treats alike. */
  readonly cuts: readonly number[]
  readonly start: State
  step(state: State, codePoint: number): State
  accepts(state: State): boolean
  /** Whether passing this test implies, is implied by, or excludes passing the other test; undefined when not known. */
  relation(other: TextTest): 'implies' | 'isImplied' | 'excludes' | undefined
  /** The result for a text in this state, when no further character can change it; otherwise undefined. */
  settled(state: State): boolean | undefined
}

function edgeRelation(one: TextTest, other: TextTest): ReturnType<TextTest['relation']> {
  const [a, b] = [one.edge, other.edge]
  if (a === undefined || a.at !== b?.at) return undefined
  const isWithin = (inner: string, outer: string) =>
    a.at === 'start' ? outer.startsWith(inner) : outer.endsWith(inner)
  if (isWithin(b.text, a.text)) return 'implies'
  return isWithin(a.text, b.text) ? 'isImplied' : 'excludes'
}

const unrelated = () => undefined

const codesOf = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0) ?? 0)
const cutsOf = (codes: readonly number[]): number[] => [...new Set(codes.flatMap((code) => [code, code + 1]))]
const DEAD = -1

export function isText(text: string): TextTest {
  const codes = codesOf(text)
  return {
    key: `= ${text}`,
    only: text,
    relation: unrelated,
    hint: () => text,
    cuts: cutsOf(codes),
    start: 0,
    step: (state, code) => (codes[Number(state)] === code ? Number(state) + 1 : DEAD),
    accepts: (state) => state === codes.length,
    settled: (state) => (state === DEAD ? false : undefined),
  }
}

export function startsWith(text: string): TextTest {
  const codes = codesOf(text)
  return {
    key: `starts ${text}`,
    edge: { at: 'start', text },
    relation(other) {
      return edgeRelation(this, other)
    },
    hint: (rest) => (rest.startsWith(text) ? rest : text + rest),
    cuts: cutsOf(codes),
    start: 0,
    step: (state, code) =>
      state === codes.length ? state : codes[Number(state)] === code ? Number(state) + 1 : DEAD,
    accepts: (state) => state === codes.length,
    settled: (state) => (state === DEAD ? false : state === codes.length ? true : undefined),
  }
}

/** The automaton of Knuth, Morris and Pratt: the state is the number of characters that match so far. */
function search(codes: readonly number[]): (state: number, code: number) => number {
  const borders = [0]
  for (let i = 1, length = 0; i < codes.length; i++) {
    while (length > 0 && codes[i] !== codes[length]) length = borders[length - 1] ?? 0
    if (codes[i] === codes[length]) length++
    borders.push(length)
  }
  return (state, code) => {
    let length = state === codes.length && state > 0 ? (borders[state - 1] ?? 0) : state
    while (length > 0 && codes[length] !== code) length = borders[length - 1] ?? 0
    return codes[length] === code ? length + 1 : 0
  }
}

export function endsWith(text: string): TextTest {
  const codes = codesOf(text)
  const next = search(codes)
  return {
    key: `ends ${text}`,
    edge: { at: 'end', text },
    relation(other) {
      return edgeRelation(this, other)
    },
    hint: (rest) => (rest.endsWith(text) ? rest : rest + text),
    cuts: cutsOf(codes),
    start: 0,
    step: (state, code) => (codes.length === 0 ? 0 : next(Number(state), code)),
    accepts: (state) => state === codes.length,
    settled: () => (codes.length === 0 ? true : undefined),
  }
}

export function contains(text: string): TextTest {
  const codes = codesOf(text)
  const next = search(codes)
  return {
    key: `contains ${text}`,
    relation: unrelated,
    hint: (rest) => (rest.includes(text) ? rest : rest + text),
    cuts: cutsOf(codes),
    start: 0,
    step: (state, code) => (state === codes.length ? state : next(Number(state), code)),
    accepts: (state) => state === codes.length,
    settled: (state) => (state === codes.length ? true : undefined),
  }
}

/** The test whether a text is less than `text`, in the order of code points. */
export function isBefore(text: string): TextTest {
  const codes = codesOf(text)
  return {
    key: `< ${text}`,
    relation: unrelated,
    hint: (rest) => rest,
    cuts: cutsOf(codes),
    start: 0,
    step: (state, code) => {
      if (typeof state === 'string') return state
      const other = codes[state]
      if (other === code) return state + 1
      return other !== undefined && code < other ? 'before' : 'after'
    },
    accepts: (state) => state === 'before' || (typeof state === 'number' && state < codes.length),
    settled: (state) =>
      typeof state === 'string' ? state === 'before' : state === codes.length ? false : undefined,
  }
}

/** The test whether a text has at least `size` code points. */
export function isAtLeast(size: number): TextTest {
  return {
    key: `size ${size}`,
    relation: unrelated,
    hint: (rest) => rest.padEnd(size, 'x'),
    cuts: [],
    start: 0,
    step: (state) => Math.min(Number(state) + 1, size),
    accepts: (state) => state === size,
    settled: (state) => (state === size ? true : undefined),
  }
}

const FOUND = 'found'

/**
 * The test whether RE2 finds the pattern in a text; undefined when the pattern has syntax that `pattern.ts` does not
 * support.
 */
export function matches(pattern: string, budget: Budget): TextTest | undefined {
  const program = programOf(pattern, budget)
  if (program === undefined) return undefined
  const plain = plainPattern(program)
  if (plain !== undefined) {
    if (plain.atStart) return plain.atEnd ? isText(plain.text) : startsWith(plain.text)
    return plain.atEnd ? endsWith(plain.text) : contains(plain.text)
  }
  const sets = new Map<State, readonly number[]>()
  const stateOf = (from: readonly number[], atStart: boolean): State => {
    const closed = closure(program, from, { atStart, atEnd: false })
    budget.spend((from.length + closed.length) / 4)
    if (closed.some((place) => program[place]?.op === 'match')) return FOUND
    const state = `${atStart ? 'start ' : ''}${closed.join(' ')}`
    sets.set(state, closed)
    return state
  }
  const start = stateOf([0], true)
  budget.spend(program.reduce((sum, each) => sum + (each.op === 'char' ? each.ranges.length : 1), 0) / 4)
  return {
    key: `matches ${pattern}`,
    relation: unrelated,
    hint: (rest) => rest,
    cuts: program.flatMap((each) =>
      each.op === 'char' ? each.ranges.flatMap(([first, last]) => [first, last + 1]) : [],
    ),
    start,
    step: (state, code) => {
      if (state === FOUND) return state
      const next = [0]
      const places = sets.get(state) ?? []
      budget.spend(places.length / 8)
      for (const place of places) {
        const instruction = program[place]
        if (instruction?.op === 'char' && isWithin(code, instruction.ranges, budget))
          next.push(instruction.next)
      }
      return stateOf(next, false)
    },
    accepts: (state) => {
      if (state === FOUND) return true
      const atStart = String(state).startsWith('start ')
      const places = sets.get(state) ?? []
      budget.spend(places.length / 4)
      const closed = closure(program, places, { atStart, atEnd: true })
      return closed.some((place) => program[place]?.op === 'match')
    },
    settled: (state) => (state === FOUND ? true : undefined),
  }
}

function isWithin(code: number, ranges: readonly Range[], budget: Budget): boolean {
  if (ranges.length > 4) budget.spend(ranges.length / 64)
  return ranges.some(([first, last]) => first <= code && code <= last)
}

/** The instructions of a compiled pattern that can be reached from `from` without reading a character. */
function closure(
  program: readonly Instruction[],
  from: readonly number[],
  { atStart, atEnd }: { readonly atStart: boolean; readonly atEnd: boolean },
): number[] {
  const reached = new Set<number>()
  const open = [...from]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (reached.has(place)) continue
    reached.add(place)
    const instruction = program[place]
    if (instruction?.op === 'split') open.push(instruction.next, instruction.other)
    else if ((instruction?.op === 'begin' && atStart) || (instruction?.op === 'end' && atEnd))
      open.push(instruction.next)
  }
  return [...reached]
    .filter((place) => program[place]?.op !== 'split' && (atStart || program[place]?.op !== 'begin'))
    .toSorted((a, b) => a - b)
}

export function passes(test: TextTest, text: string): boolean {
  let { start: state } = test
  for (const character of text) state = test.step(state, character.codePointAt(0) ?? 0)
  return test.accepts(state)
}

/** Units of the budget for applying this many tests to a text. */
export const workOf = (tests: number, text: string): number => tests * (1 + text.length / 16)

interface Wanted {
  readonly test: TextTest
  readonly answer: boolean
}

export type TextResult =
  | { readonly text: string }
  /** Lists of wanted test results that contradict each other: no text gives all results of a list. */
  | { readonly conflicts: readonly (readonly Wanted[])[] }
  /** It is unknown whether a text with the wanted results exists, because the search reached its limit of states. */
  | undefined

/** The most states that the search for one text visits. */
const MOST_STATES = 20_000
const PLAIN = ['someone', 'x', 'a', '']

/** Finds a text for which all tests give the wanted results, or lists of results that contradict each other. */
export function findText(wanted: readonly Wanted[], budget: Budget): TextResult {
  const pinned = wanted.find(({ test, answer }) => answer && test.only !== undefined)
  if (pinned?.test.only !== undefined) {
    const { only } = pinned.test
    budget.spend(workOf(wanted.length, only))
    const others = wanted.filter(({ test, answer }) => passes(test, only) !== answer)
    return others.length === 0 ? { text: only } : { conflicts: others.map((other) => [pinned, other]) }
  }
  const positive = wanted.filter(({ answer }) => answer)
  for (const plain of PLAIN) {
    const text = positive.reduce((rest, { test }) => test.hint(rest), plain)
    budget.spend(workOf(wanted.length, text))
    if (wanted.every(({ test, answer }) => passes(test, text) === answer)) return { text }
  }
  const used = [...positive]
  for (;;) {
    const text = shortest(used, budget)
    if (text === null) return { conflicts: [leastConflict(used, budget)] }
    if (text === undefined) return undefined
    budget.spend(workOf(wanted.length, text))
    const violated = wanted.filter(({ test, answer }) => passes(test, text) !== answer)
    if (violated.length === 0) return { text }
    used.push(...violated.slice(0, 4))
  }
}

/** Removes wanted results without which the others still contradict each other: no text gives all that remain. */
function leastConflict(all: readonly Wanted[], budget: Budget): readonly Wanted[] {
  let needed = all
  for (const each of all) {
    const rest = needed.filter((other) => other !== each)
    if (shortest(rest, budget) === null) needed = rest
  }
  return needed
}

/** The shortest text with these test results; null if none exists, undefined if the search reaches its limit. */
function shortest(wanted: readonly Wanted[], budget: Budget): string | null | undefined {
  budget.spend(wanted.reduce((sum, { test }) => sum + test.cuts.length, wanted.length) / 4)
  const letters = alphabetOf(wanted)
  const start = wanted.map(({ test }) => test.start)
  const places: { readonly states: readonly State[]; readonly before: number; readonly letter: number }[] = []
  const known = new Set<string>()
  const visit = (states: readonly State[], before: number, letter: number) => {
    if (wanted.some(({ test, answer }, i) => test.settled(states[i] ?? 0) === !answer)) return
    const key = states.join(';')
    if (known.has(key)) return
    known.add(key)
    places.push({ states, before, letter })
  }
  visit(start, -1, -1)
  for (let at = 0; at < places.length; at++) {
    if (at > MOST_STATES) return undefined
    const { states = [] } = places[at] ?? {}
    if (wanted.every(({ test, answer }, i) => test.accepts(states[i] ?? 0) === answer)) {
      let text = ''
      for (let place = places[at]; place !== undefined && place.letter >= 0; place = places[place.before])
        text = String.fromCodePoint(place.letter) + text
      return text
    }
    budget.spend(letters.length * (1 + wanted.length / 4))
    for (const letter of letters) {
      visit(
        wanted.map(({ test }, i) => test.step(states[i] ?? 0, letter)),
        at,
        letter,
      )
    }
  }
  return null
}

const SURROGATES = 0xd800
const AFTER_SURROGATES = 0xe000
const END = 0x110000
/** The characters that example texts consist of, unless a test needs another one. */
const PLAIN_LETTERS = codesOf('xaA0-.')

/** One code point of each range of characters that every `test` of `wanted` treats alike, printable ASCII first. */
function alphabetOf(wanted: readonly Wanted[]): number[] {
  const cuts = new Set([0, SURROGATES, AFTER_SURROGATES, END])
  for (const { test } of wanted) for (const cut of test.cuts) cuts.add(cut)
  const sorted = [...cuts].filter((cut) => cut <= END).toSorted((a, b) => a - b)
  const letters: number[] = []
  for (let i = 0; i + 1 < sorted.length; i++) {
    const [first = 0, end = 0] = [sorted[i], sorted[i + 1]]
    if (first >= SURROGATES && end <= AFTER_SURROGATES) continue
    letters.push(PLAIN_LETTERS.find((letter) => first <= letter && letter < end) ?? first)
  }
  return letters.toSorted((a, b) => Number(isOdd(a)) - Number(isOdd(b)))
}

/** Whether a character is hard to read in an example: not printable ASCII. */
const isOdd = (letter: number): boolean => letter < 32 || letter > 126

const LONGEST_HOLDER = 40

/**
 * All texts for which the named function is true of `text`: its prefixes, its suffixes, or its substrings. Undefined
 * when `text` is long.
 */
export function partsOf(name: 'startsWith' | 'endsWith' | 'contains', text: string): string[] | undefined {
  const characters = Array.from(text)
  const { length } = characters
  if (length > (name === 'contains' ? 16 : LONGEST_HOLDER)) return undefined
  const parts = new Set<string>()
  for (let first = 0; first <= length; first++) {
    for (let end = first; end <= length; end++) {
      if ((name === 'startsWith' && first > 0) || (name === 'endsWith' && end < length)) continue
      parts.add(characters.slice(first, end).join(''))
    }
  }
  return [...parts]
}
