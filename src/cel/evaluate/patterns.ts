/** Regular expressions in the syntax of Go's regexp (RE2), with a limit on the size of the compiled programs. */

import { RE2JS } from '@bufbuild/re2'
import { BoundedCache, OutOfBudget } from '../../rule/index.ts'
import { Failure } from './values.ts'

interface Pattern {
  /** An upper bound of the number of instructions in the compiled pattern. */
  readonly size: number
  /** The compiled pattern; undefined when RE2 refuses the pattern. */
  readonly program: RE2JS | undefined
}

/** The most instructions of a compiled pattern: this many take 1.5 MB. A larger pattern is not compiled. */
const LARGEST = 10_000
const BYTES_PER_INSTRUCTION = 150
/**
 * RE2JS copies a sequence of literal characters each time it appends a character: copying this many characters counts
 * as one instruction.
 */
const LITERALS_PER_INSTRUCTION = 8_000

/** Caches compiled patterns, because a matcher uses the same pattern for each element of a loop. */
const known = new BoundedCache<Pattern>('compiled patterns', 4 * 2 ** 20)

/** Compiles a pattern; first calls `spend` with the work. Throws OutOfBudget when the program would be too large. */
export function compiledPattern(pattern: string, spend: (instructions: number) => void): Pattern {
  const { size, text } = read(pattern)
  if (size > LARGEST) throw new OutOfBudget('a regular expression that is too large')
  spend(size + pattern.length / 16 + pattern.length ** 2 / LITERALS_PER_INSTRUCTION)
  const before = known.get(pattern)
  if (before !== undefined) return before
  const compiled = { size, program: compile(text) }
  known.set(pattern, compiled, pattern.length + size * BYTES_PER_INSTRUCTION)
  return compiled
}

/** Whether the pattern matches part of the text; a Failure when RE2 refuses it. Calls `spend` with the work first. */
export function isFound(pattern: string, text: string, spend: (work: number) => void): boolean | Failure {
  const { size, program } = compiledPattern(pattern, spend)
  if (program === undefined) return new Failure('the regular expression is none that RE2 takes')
  spend((text.length * size) / 64)
  return program.test(text)
}

function compile(text: string): RE2JS | undefined {
  try {
    return RE2JS.compile(text)
  } catch {
    return undefined
  }
}

/** Instructions for a Unicode class (`\pL`), one for each of its ranges. */
const UNICODE_CLASS = 300

interface Group {
  size: number
  /** The size of the last item in the group, in instructions: a repetition after the item multiplies it. */
  last: number
}

/**
 * The size of a pattern's program, and the pattern rewritten for RE2JS, which refuses two constructs that Go accepts:
 * two groups with the same name, and the repetition of a literal `{`. Accepts any text.
 */
function read(pattern: string): { readonly size: number; readonly text: string } {
  const groups: Group[] = [{ size: 1, last: 0 }]
  let text = ''
  const add = (size: number) => {
    const group = groups.at(-1)
    if (group === undefined) return
    group.size = Math.min(group.size + size, 1e9)
    group.last = size
  }
  for (let at = 0; at < pattern.length;) {
    const { length, size = 1, as, is } = tokenAt(pattern, at)
    text += as ?? pattern.slice(at, at + length)
    at += length
    if (is === 'open') groups.push({ size: 2, last: 0 })
    else if (is === 'close' && groups.length > 1) add(groups.pop()?.size ?? 0)
    else if (is === 'repeat') {
      const { last = 0 } = groups.at(-1) ?? {}
      add(2 + last * (size - 1))
      const group = groups.at(-1)
      if (group !== undefined) group.last = Math.min(2 + last * size, 1e9)
    } else add(size)
  }
  return { size: groups.reduce((sum, { size }) => sum + size, 0), text }
}

interface Token {
  readonly length: number
  /** Number of instructions for this token; for a repetition, such as `{3}`, the number of repeats. */
  readonly size?: number
  /** The text to pass to RE2JS in place of this token. */
  readonly as?: string
  readonly is?: 'open' | 'close' | 'repeat'
}

function tokenAt(pattern: string, at: number): Token {
  switch (pattern[at]) {
    case '(': {
      const [name] = /^\(\?P?<\w{1,200}>/.exec(pattern.slice(at, at + 210)) ?? []
      return name === undefined ? { length: 1, is: 'open' } : { length: name.length, as: '(', is: 'open' }
    }
    case ')':
      return { length: 1, is: 'close' }
    case '|':
      return { length: 1, size: 2 }
    case '.':
      return { length: 1, size: 2 }
    case '*':
    case '+':
    case '?':
      return { length: 1, size: 1, is: 'repeat' }
    case '{':
      return braceAt(pattern, at)
    case '\\':
      return escapeAt(pattern, at)
    case '[':
      return classAt(pattern, at)
    default:
      return { length: 1 }
  }
}

function braceAt(pattern: string, at: number): Token {
  const [whole, least = '', most = ''] =
    /^\{(\d{1,9})(?:,(\d{0,9}))?\}/.exec(pattern.slice(at, at + 21)) ?? []
  if (whole !== undefined)
    return { length: whole.length, size: Math.max(Number(least) + 1, Number(most)), is: 'repeat' }
  return /^[*+?{]/.test(pattern.slice(at + 1, at + 2)) ? { length: 1, as: '\\{' } : { length: 1 }
}

function escapeAt(pattern: string, at: number): Token {
  const next = pattern.charAt(at + 1)
  if (next === 'Q') {
    const end = pattern.indexOf('\\E', at + 2)
    const length = (end < 0 ? pattern.length : end + 2) - at
    return { length, size: length }
  }
  const size = next === 'p' || next === 'P' ? UNICODE_CLASS : /[dDsSwW]/.test(next) ? 4 : 1
  return { length: Math.min(2, pattern.length - at), size }
}

/**
 * The token of a character class, with its brackets. RE2 refuses a class that is not closed; its token is the rest of
 * the pattern.
 */
function classAt(pattern: string, at: number): Token {
  let end = at + 1
  let size = 1
  if (pattern[end] === '^') end++
  if (pattern[end] === ']') end++
  for (; end < pattern.length && pattern[end] !== ']'; size++) {
    const [posix] =
      pattern[end] === '[' ? (/^\[:\^?\w{1,10}:\]/.exec(pattern.slice(end, end + 16)) ?? []) : []
    if (pattern[end] === '\\') {
      const { length, size: ranges = 1 } = escapeAt(pattern, end)
      size += ranges
      end += length
    } else end += posix?.length ?? 1
  }
  return { length: Math.min(end + 1, pattern.length) - at, size }
}
