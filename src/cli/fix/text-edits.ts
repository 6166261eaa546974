/**
 * Applies the steps of fixes to the text of a file. Each is tried at its place, and the file is parsed again: the new
 * text counts only where exactly these values of these documents have changed. So comments and layout stay, and text
 * that aliases or merges share is never changed. Steps are tried together, and in halves where one does not fit,
 * because one by one would parse the file for each.
 */
import { deepEqual, type Edit, isObject, jsonKey, withoutEnd } from '../../rule/index.ts'
import { edited } from '../../shape/index.ts'
import { quoteTemplates } from '../input/fill.ts'
import { flow } from './flow.ts'
import type { OffsetOf } from './move-source.ts'
import { withMoves } from './moves.ts'
import type { Splice } from './splices.ts'
import { countBefore, lineStarts, loadDocuments, type TextPlace, surrogatePairs } from '../input/load.ts'

export type PlacedEdit = Edit & TextPlace

/** Characters that may be parsed again for a file: a stranger can write thousands of steps that all fail. */
const MOST_READ = 2 ** 21
const readLimit = (text: string): number => Math.max(MOST_READ, 8 * text.length)

interface EditedText {
  readonly text: string
  readonly done: ReadonlySet<PlacedEdit>
  /** Whether `readLimit` ended the attempts. */
  readonly isCut: boolean
}

/**
 * Applies the edits that have exactly their effect, from the end of the text to its start, so that places stay right.
 */
export function withEdits(given: string, edits: readonly PlacedEdit[]): EditedText {
  const done = new Set<PlacedEdit>()
  const offsetOf = offsetsIn(given)
  let text = given
  let left = readLimit(given)
  let documents: readonly Loaded[] | undefined
  const load = (of: string): readonly Loaded[] => {
    left -= of.length
    return documentsIn(of)
  }
  const accept = (some: readonly PlacedEdit[], written: string | undefined): boolean => {
    if (written === undefined || left < 0) return false
    documents ??= load(text)
    const after = load(written)
    const place = (edit: PlacedEdit) => offsetOf(edit) ?? -1
    if (!isOnlyChange(documents, after, some, (each) => offsetOf(each) ?? 0, place)) return false
    text = written
    documents = after
    for (const edit of some) done.add(edit)
    return true
  }
  const tryAll = (some: readonly PlacedEdit[]): void => {
    const [only, ...others] = some
    if (only === undefined || left < 0) return
    if (others.length === 0) {
      // A move parses the text itself, before and after members are removed.
      if (only.op === 'move') left -= 2 * text.length
      candidates(text, only, offsetOf).some((written) => accept(some, written))
      return
    }
    if (accept(some, withAll(text, some, offsetOf, 0)) || accept(some, withAll(text, some, offsetOf, 1)))
      return
    const half = some.length >> 1
    tryAll(some.slice(0, half))
    tryAll(some.slice(half))
  }
  tryAll(edits.toSorted((a, b) => b.line - a.line || b.column - a.column))
  return { text, done, isCut: left < 0 }
}

interface Loaded {
  readonly value: unknown
  /** Where the document begins; undefined where it could not be parsed. */
  readonly place: TextPlace | undefined
}

const documentsIn = (text: string): Loaded[] =>
  loadDocuments(quoteTemplates(text)).map((document) =>
    'error' in document
      ? { value: document.error.message, place: undefined }
      : { value: document.value, place: document.locate([], 'value') },
  )

/**
 * Whether each document has changed exactly by its edits. An edit belongs to the last document that begins before it.
 */
function isOnlyChange(
  before: readonly Loaded[],
  after: readonly Loaded[],
  edits: readonly PlacedEdit[],
  startOf: (place: TextPlace) => number,
  placeOf: (edit: PlacedEdit) => number,
): boolean {
  if (before.length !== after.length) return false
  const starts = before.flatMap(({ place }, i) => (place === undefined ? [] : [{ at: startOf(place), i }]))
  const ascending = starts.toSorted((a, b) => a.at - b.at)
  const offsets = ascending.map(({ at }) => at)
  const own = Map.groupBy(edits, (edit) => ascending[countBefore(offsets, placeOf(edit) + 1) - 1]?.i)
  if (own.has(undefined)) return false
  return before.every(({ value }, i) => {
    const wanted = (own.get(i) ?? []).reduce<unknown>(
      (now, edit) => (isObject(now) ? edited(now, edit) : undefined),
      value,
    )
    return deepEqual(wanted, after[i]?.value) && (!own.has(i) || !deepEqual(value, wanted))
  })
}

/** The texts to try for one edit, the most natural one first. */
function candidates(text: string, edit: PlacedEdit, offsetOf: OffsetOf): string[] {
  const offset = offsetOf(edit)
  if (offset === undefined) return []
  if (edit.op === 'move') return [withMoves(text, edit, offsetOf) ?? []].flat()
  const rest = text.slice(offset, offset + LONGEST)
  return splices(text, offset, rest, edit).map(
    ({ from, length, written }) =>
      text.slice(0, offset + from) + written + text.slice(offset + from + length),
  )
}

/**
 * The text after the change of this rank for each edit, made from the end to the start; undefined where two overlap.
 */
function withAll(
  text: string,
  edits: readonly PlacedEdit[],
  offsetOf: OffsetOf,
  rank: number,
): string | undefined {
  /** The text after the current edit, in reverse order: the last part begins at the place of the edit before. */
  const parts: string[] = []
  let at = text.length
  for (const edit of edits) {
    const offset = offsetOf(edit)
    if (offset === undefined || offset > at) return undefined
    const part = offset === at ? (parts.pop() ?? '') : text.slice(offset, at)
    let rest = part.slice(0, LONGEST)
    for (let i = parts.length - 1; i >= 0 && rest.length < LONGEST; i--)
      rest += parts[i]?.slice(0, LONGEST) ?? ''
    const ranked = splices(text, offset, rest, edit)
    const splice = ranked[Math.min(rank, ranked.length - 1)]
    if (splice === undefined || splice.from + splice.length > part.length) return undefined
    const { from, length, written } = splice
    parts.push(part.slice(0, from) + written + part.slice(from + length))
    at = offset
  }
  return [...parts, text.slice(0, at)].toReversed().join('')
}

/** The most characters of a key or a value that is changed. */
const LONGEST = 4096

/** The changes to try for an edit; offsets count from its place, and `rest` is the text from there on. */
function splices(text: string, offset: number, rest: string, edit: PlacedEdit): Splice[] {
  // A move changes several places of the text, so it is tried alone.
  if (edit.op === 'move') return []
  if (edit.op === 'rename')
    return lengthsAt(rest, KEYS).map((length) => ({
      from: 0,
      length,
      written: inStyleOf(rest, edit.to)[0] ?? '',
    }))
  if (edit.op === 'set')
    return lengthsAt(rest, isInBrackets(text, offset) ? FLOW_VALUES : VALUES).flatMap((length) =>
      inStyleOf(rest, edit.value).map((written) => ({ from: 0, length, written })),
    )
  return additions(text, offset, rest, String(jsonKey(edit.at.at(-1) ?? '')), edit.value).map(
    ([from, written]) => ({ from, length: 0, written }),
  )
}

/** A text in quotes. */
const QUOTED = /^(?:"(?:\\.|[^"\\\n])*"|'(?:''|[^'\n])*')/
/** Returns the start of a text that has a certain form, such as a quoted text. */
type Form = (rest: string) => string | undefined

const quoted: Form = (rest) => QUOTED.exec(rest)?.[0]
const KEYS: readonly Form[] = [quoted, (rest) => /^[^\s:#,{}[\]"'&*!|>]+/.exec(rest)?.[0]]
const VALUES: readonly Form[] = [quoted, plainInBlock, plainInBrackets]

/** A plain text up to a comment or the end of the line. */
function plainInBlock(rest: string): string | undefined {
  const [line] = /^[^\s"'&*!|>{[].*/.exec(rest) ?? []
  if (line === undefined) return undefined
  const comment = line.search(/[ \t]#/)
  const isToEnd = /^\r?(?:\n|$)/.test(rest.slice(line.length, line.length + 2))
  return comment < 0 && !isToEnd
    ? undefined
    : withoutEnd(line.slice(0, comment < 0 ? undefined : comment), ' \t')
}

/** A plain text up to the end of an item in brackets or braces. */
function plainInBrackets(rest: string): string | undefined {
  const [item = '', end] = /^[^\s"'&*!|>{[,][^,\]}\r\n]*([,\]}])/.exec(rest) ?? []
  return end === undefined ? undefined : withoutEnd(item.slice(0, -1), ' \t')
}

const FLOW_VALUES: readonly Form[] = [quoted, plainInBrackets, plainInBlock]

/** Whether a bracket is open on the line before the offset. This may be wrong: the result of the edit is checked. */
function isInBrackets(text: string, offset: number): boolean {
  const line = Math.max(text.lastIndexOf('\n', offset - 1) + 1, offset - LONGEST)
  let depth = 0
  for (const character of text.slice(line, offset)) {
    if (character === '[' || character === '{') depth += 1
    if (character === ']' || character === '}') depth -= 1
  }
  return depth > 0
}

const lengthsAt = (rest: string, forms: readonly Form[]): number[] =>
  forms.flatMap((form) => form(rest)?.length ?? [])

/** The ways to write a value, first in the quotes of the text that it replaces. */
function inStyleOf(rest: string, value: unknown): string[] {
  if (typeof value !== 'string') return [flow(value), JSON.stringify(value)]
  if (rest.startsWith('"')) return [JSON.stringify(value)]
  if (rest.startsWith("'")) return [`'${value.replaceAll("'", "''")}'`]
  return [value, JSON.stringify(value)]
}

/**
 * The ways to write a new member of the map at the offset (block, braces, JSON): an offset from there, and the text.
 */
function additions(
  text: string,
  offset: number,
  rest: string,
  key: string,
  value: unknown,
): (readonly [number, string])[] {
  const written = [`${key}: ${flow(value)}`, `${JSON.stringify(key)}: ${JSON.stringify(value)}`]
  if (rest.startsWith('{')) {
    const space = /^\{(\s*)/.exec(rest)?.[1] ?? ''
    const isEmpty = rest[1 + space.length] === '}'
    const isJson = rest[1 + space.length] === '"'
    const inBraces = (isJson ? written.toReversed() : written).map((member) =>
      isEmpty ? member : space === '' ? `${member}, ` : `${space}${member},`,
    )
    return inBraces.map((member) => [1, member] as const)
  }
  const line = text.lastIndexOf('\n', offset - 1) + 1
  const end = text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n'
  const indent = ' '.repeat(offset - line)
  return written.map((member) => [0, `${member}${end}${indent}`] as const)
}

/**
 * Converts places to offsets. Lines and columns count from 1, columns in characters; a byte order mark has no column.
 */
function offsetsIn(text: string): OffsetOf {
  const starts = lineStarts(text)
  const pairs = surrogatePairs(text)
  if (text.startsWith('\ufeff')) starts[0] = 1
  return ({ line, column }) => {
    const start = starts[line - 1]
    if (start === undefined) return undefined
    const before = countBefore(pairs, start)
    let offset = start + column - 1
    // Each surrogate pair before the place moves it by one, perhaps past the next pair.
    for (let twice = 0; ;) {
      const passed = countBefore(pairs, offset) - before
      if (passed === twice) return offset
      offset += passed - twice
      twice = passed
    }
  }
}
