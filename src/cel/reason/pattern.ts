/** Compiles regular expressions in RE2's syntax to automata, in which `texts.ts` searches for an accepted text. */

import type { Budget } from '../../rule/index.ts'

/** A range of code points; both ends belong to it. */
export type Range = readonly [first: number, last: number]

export type Instruction =
  | { readonly op: 'char'; readonly ranges: readonly Range[]; readonly next: number }
  | { readonly op: 'split'; readonly next: number; readonly other: number }
  | { readonly op: 'begin' | 'end'; readonly next: number }
  | { readonly op: 'match' }

/** The most instructions of a compiled regular expression; counted repetitions such as `a{9}` are expanded. */
const MOST_INSTRUCTIONS = 2_000

const LAST = 0x10ffff
const DIGITS: readonly Range[] = [[48, 57]]
const WORDS: readonly Range[] = [
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]
const SPACES: readonly Range[] = [
  [9, 10],
  [12, 13],
  [32, 32],
]
const CLASSES: Readonly<Record<string, readonly Range[]>> = { d: DIGITS, w: WORDS, s: SPACES }
const CONTROLS: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 }

type Tree =
  | { readonly op: 'char'; readonly ranges: readonly Range[] }
  | { readonly op: 'begin' | 'end' }
  | { readonly op: 'all' | 'any'; readonly parts: readonly Tree[] }
  | { readonly op: 'repeat'; readonly part: Tree; readonly least: number; readonly most: number }

/**
 * Thrown for syntax of regular expressions that this parser does not support, such as `\b` and `\pL`; RE2 may accept
 * it.
 */
class Unread extends Error {}

/** Compiles a regular expression; undefined when it is too large, or has syntax that this parser does not support. */
export function programOf(pattern: string, budget: Budget): readonly Instruction[] | undefined {
  try {
    budget.spend(pattern.length / 4)
    const tree = new PatternReader(pattern).read()
    const program: Program = { instructions: [], budget }
    emit(program, tree)
    program.instructions.push({ op: 'match' })
    return program.instructions
  } catch (error) {
    if (error instanceof Unread) return undefined
    throw error
  }
}

/**
 * The text and the anchors of a pattern that only searches for a plain text, such as `^abc`; undefined for other
 * patterns.
 */
export function plainPattern(
  program: readonly Instruction[],
): { readonly text: string; readonly atStart: boolean; readonly atEnd: boolean } | undefined {
  const last = program.length - 1
  const atStart = program[0]?.op === 'begin'
  const atEnd = program[last - 1]?.op === 'end'
  const letters = program.slice(atStart ? 1 : 0, atEnd ? last - 1 : last)
  let text = ''
  for (const letter of letters) {
    const [range] = letter.op === 'char' && letter.ranges.length === 1 ? letter.ranges : []
    if (range === undefined || range[0] !== range[1]) return undefined
    text += String.fromCodePoint(range[0])
  }
  return { text, atStart, atEnd }
}

/** The program of a regular expression while it is compiled. */
interface Program {
  readonly instructions: Instruction[]
  readonly budget: Budget
}

function push({ instructions }: Program, instruction: Instruction): void {
  if (instructions.length >= MOST_INSTRUCTIONS) throw new Unread('the pattern is too large')
  instructions.push(instruction)
}

/** Appends the instructions for a part of the pattern; execution then continues with the instruction after them. */
function emit(program: Program, tree: Tree): void {
  const { instructions, budget } = program
  budget.spend(1 / 4)
  switch (tree.op) {
    case 'char':
      push(program, { ...tree, next: instructions.length + 1 })
      break
    case 'begin':
    case 'end':
      push(program, { op: tree.op, next: instructions.length + 1 })
      break
    case 'all':
      for (const part of tree.parts) emit(program, part)
      break
    case 'any':
      emitAny(program, tree.parts)
      break
    case 'repeat':
      emitRepeat(program, tree)
  }
}

function emitAny(program: Program, parts: readonly Tree[]): void {
  const { instructions } = program
  const jumps: number[] = []
  parts.forEach((part, i) => {
    const isLast = i === parts.length - 1
    const split = instructions.length
    if (!isLast) push(program, { op: 'split', next: split + 1, other: 0 })
    emit(program, part)
    if (isLast) return
    jumps.push(instructions.length)
    push(program, { op: 'split', next: 0, other: 0 })
    instructions[split] = { op: 'split', next: split + 1, other: instructions.length }
  })
  for (const jump of jumps)
    instructions[jump] = { op: 'split', next: instructions.length, other: instructions.length }
}

function emitRepeat(program: Program, { part, least, most }: Tree & { readonly op: 'repeat' }): void {
  const { instructions } = program
  for (let i = 0; i < least; i++) emit(program, part)
  const loop = instructions.length
  if (most === Infinity) {
    push(program, { op: 'split', next: loop + 1, other: 0 })
    emit(program, part)
    push(program, { op: 'split', next: loop, other: loop })
    instructions[loop] = { op: 'split', next: loop + 1, other: instructions.length }
    return
  }
  const skips: number[] = []
  for (let i = least; i < most; i++) {
    skips.push(instructions.length)
    push(program, { op: 'split', next: instructions.length + 1, other: 0 })
    emit(program, part)
  }
  for (const skip of skips) instructions[skip] = { op: 'split', next: skip + 1, other: instructions.length }
}

interface Flags {
  readonly ignoreCase: boolean
  readonly dotAll: boolean
}

class PatternReader {
  readonly #characters: readonly string[]
  #at = 0
  #flags: Flags = { ignoreCase: false, dotAll: false }

  constructor(pattern: string) {
    this.#characters = Array.from(pattern)
  }

  read(): Tree {
    const tree = this.#alternatives()
    if (this.#at < this.#characters.length) throw new Unread('a parenthesis too many')
    return tree
  }

  #peek(ahead = 0): string {
    return this.#characters[this.#at + ahead] ?? ''
  }

  #take(): string {
    const character = this.#peek()
    if (character === '') throw new Unread('the pattern ends early')
    this.#at++
    return character
  }

  #skip(text: string): boolean {
    if (
      !this.#characters
        .slice(this.#at, this.#at + text.length)
        .join('')
        .startsWith(text)
    )
      return false
    this.#at += text.length
    return true
  }

  /** Parses alternatives such as `a|b`; flags that are set inside a group end with the group. */
  #alternatives(): Tree {
    const flags = this.#flags
    const parts: Tree[] = []
    do parts.push(this.#sequence())
    while (this.#skip('|'))
    this.#flags = flags
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { op: 'any', parts }
  }

  #sequence(): Tree {
    const parts: Tree[] = []
    while (!['', '|', ')'].includes(this.#peek())) {
      // RE2 applies a repetition after flags, as in `a(?i)*`, to the item before the flags; this parser refuses it.
      if (this.#bounds() !== undefined) throw new Unread('a repetition of nothing')
      const part = this.#part()
      if (part !== undefined) parts.push(this.#repeated(part))
    }
    return { op: 'all', parts }
  }

  #repeated(part: Tree): Tree {
    const bounds = this.#bounds()
    if (bounds === undefined) return part
    this.#skip('?')
    if (this.#bounds() !== undefined) throw new Unread('a repetition of a repetition')
    return { op: 'repeat', part, ...bounds }
  }

  #bounds(): { readonly least: number; readonly most: number } | undefined {
    if (this.#skip('*')) return { least: 0, most: Infinity }
    if (this.#skip('+')) return { least: 1, most: Infinity }
    if (this.#skip('?')) return { least: 0, most: 1 }
    const rest = this.#characters.slice(this.#at, this.#at + 12).join('')
    // RE2 reads a number with a leading zero, as in `{08}`, as plain text.
    const [whole, least, comma, most] = /^\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*|))?\}/.exec(rest) ?? []
    if (whole === undefined) return undefined
    this.#at += whole.length
    const from = Number(least)
    return { least: from, most: comma === undefined ? from : most === '' ? Infinity : Number(most) }
  }

  #part(): Tree | undefined {
    const character = this.#take()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return this.#class()
      case '.':
        return this.#dot()
      case '^':
        return { op: 'begin' }
      case '$':
        return { op: 'end' }
      case '\\':
        return this.#escape()
      default:
        return this.#char([[code(character), code(character)]])
    }
  }

  #dot(): Tree {
    if (this.#flags.dotAll) return { op: 'char', ranges: [[0, LAST]] }
    return { op: 'char', ranges: negated([[10, 10]]) }
  }

  #escape(): Tree {
    if (this.#skip('A')) return { op: 'begin' }
    if (this.#skip('z')) return { op: 'end' }
    return this.#char(this.#escapedRanges())
  }

  #escapedRanges(): readonly Range[] {
    const character = this.#take()
    const named = CLASSES[character.toLowerCase()]
    if (named !== undefined) return character === character.toLowerCase() ? named : negated(named)
    const control = CONTROLS[character]
    if (control !== undefined) return [[control, control]]
    if (/[\dA-Za-z]/.test(character) || code(character) > 127)
      throw new Unread(`\\${character} is not read here`)
    return [[code(character), code(character)]]
  }

  #char(ranges: readonly Range[]): Tree {
    return { op: 'char', ranges: this.#flags.ignoreCase ? folded(ranges) : ranges }
  }

  #class(): Tree {
    const isNegated = this.#skip('^')
    const ranges: Range[] = []
    do ranges.push(...this.#member())
    while (!this.#skip(']'))
    const all = this.#flags.ignoreCase ? folded(ranges) : ranges
    return { op: 'char', ranges: isNegated ? negated(all) : all }
  }

  #member(): readonly Range[] {
    if (this.#peek() === '[' && this.#peek(1) === ':') throw new Unread('[: :] is not read here')
    const first = this.#take()
    const from = first === '\\' ? this.#escapedRanges() : ([[code(first), code(first)]] as const)
    if (this.#peek() !== '-' || this.#peek(1) === ']') return from
    this.#at++
    const last = this.#take()
    const to = last === '\\' ? this.#escapedRanges() : ([[code(last), code(last)]] as const)
    const [[low, isLow]] = from as readonly [Range]
    const [[high, isHigh]] = to as readonly [Range]
    if (from.length > 1 || to.length > 1 || low !== isLow || high !== isHigh || low > high)
      throw new Unread('this range is not read here')
    return [[low, high]]
  }

  #group(): Tree | undefined {
    const outer = this.#flags
    if (this.#skip('?') && this.#groupFlags() === 'rest') return undefined
    const tree = this.#alternatives()
    this.#flags = outer
    if (!this.#skip(')')) throw new Unread('a group does not end')
    return tree
  }

  /** Reads flags after `(?`: either for a group, or for the rest of the group that contains them (`rest`). */
  #groupFlags(): 'group' | 'rest' {
    const rest = this.#characters.slice(this.#at, this.#at + 200).join('')
    const [name] = /^P?<\w+>/.exec(rest) ?? []
    if (name !== undefined) {
      this.#at += name.length
      return 'group'
    }
    const [written, flags = '', end] = /^([is]*)([:)])/.exec(rest) ?? []
    if (written === undefined) throw new Unread('these flags are not read here')
    this.#at += written.length
    this.#flags = {
      ignoreCase: this.#flags.ignoreCase || flags.includes('i'),
      dotAll: this.#flags.dotAll || flags.includes('s'),
    }
    return end === ':' ? 'group' : 'rest'
  }
}

const code = (character: string): number => character.codePointAt(0) ?? 0

function negated(ranges: readonly Range[]): readonly Range[] {
  const rest: Range[] = []
  let from = 0
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (first > from) rest.push([from, first - 1])
    from = Math.max(from, last + 1)
  }
  if (from <= LAST) rest.push([from, LAST])
  return rest
}

/** The ranges with both cases of their letters, as RE2 folds them: the Kelvin sign is a k, and the long s is an s. */
function folded(ranges: readonly Range[]): readonly Range[] {
  if (ranges.some(([, last]) => last > 127))
    throw new Unread('letters beyond ASCII in any case are not read here')
  const more: Range[] = []
  const shared = ([first, last]: Range, low: number, high: number, by: number) => {
    const [from, to] = [Math.max(first, low), Math.min(last, high)]
    if (from > to) return
    more.push([from + by, to + by])
    for (const [letter, special] of [
      [107, 0x212a],
      [115, 0x17f],
    ] as const) {
      const plain = by < 0 ? letter : letter - 32
      if (from <= plain && plain <= to) more.push([special, special])
    }
  }
  for (const range of ranges) {
    shared(range, 97, 122, -32)
    shared(range, 65, 90, 32)
  }
  return [...ranges, ...more]
}
