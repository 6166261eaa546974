/**
 * Applies the edits of fixes to the text of a file. After an attempt the new text is parsed, and used only if exactly
 * the values that the edits change have changed. So comments and layout are kept, and text that YAML aliases or
 * merges share is never changed. Edits that do not overlap are tried together, and in smaller groups if one edit
 * fails, because trying each edit alone would parse the file once for each edit.
 */
import { deepEqual, type Edit, isObject, jsonKey, type Moving, withoutEnd } from '../../rule/index.ts'
import { edited } from '../../shape/index.ts'
import { flow } from './flow.ts'
import { type EditedSource, type OffsetOf, readSource } from './move-source.ts'
import { movesIn } from './moves.ts'
import { type Splice, spliced } from './splices.ts'
import {
  countBefore,
  lineStarts,
  type LoadedDocument,
  type TextPlace,
  surrogatePairs,
} from '../input/load.ts'

export type PlacedEdit = Edit & TextPlace
type Adding = Extract<PlacedEdit, { readonly value: unknown }>

/** The most characters that are parsed again for a file: in a malicious file, thousands of edits can all fail. */
const MOST_READ = 2 ** 21
const readLimit = (text: string): number => Math.max(MOST_READ, 8 * text.length)

interface EditedText {
  readonly text: string
  readonly done: ReadonlySet<PlacedEdit>
  /** Whether `withEdits` stopped trying edits, because it had parsed more text than `readLimit` allows. */
  readonly isCut: boolean
}

/** Applies the edits that have exactly the wanted effect, from the end of the text on, so that offsets stay valid. */
export function withEdits(given: string, edits: readonly PlacedEdit[]): EditedText {
  const done = new Set<PlacedEdit>()
  const offsetOf = offsetsIn(given)
  let text = given
  let left = readLimit(given)
  let known: EditedSource | undefined
  const load = (of: string): EditedSource => {
    left -= of.length
    return readSource(of)
  }
  const source = (): EditedSource => (known ??= load(text))
  /** The edits of `some` that lack the wanted effect in `written`; if none lacks it, sets `text` to `written`. */
  const misfits = (some: readonly PlacedEdit[], written: string | undefined): readonly PlacedEdit[] => {
    if (written === undefined || left < 0) return some
    const after = load(written)
    const place = (edit: PlacedEdit) => offsetOf(edit) ?? -1
    const [old, now] = [source(), after].map(({ documents }) => documents.map(loaded))
    const found = misfitsIn(old ?? [], now ?? [], some, (each) => offsetOf(each) ?? 0, place)
    if (found.length > 0) return found
    text = written
    known = after
    for (const edit of some) done.add(edit)
    return found
  }
  // The groups of edits to try; the last group is tried first. An added member is written before the first key of its
  // map, after other edits of that key.
  const isAddition = ({ op }: PlacedEdit) => Number(op === 'add')
  const open = [
    edits.toSorted((a, b) => b.line - a.line || b.column - a.column || isAddition(a) - isAddition(b)),
  ]
  for (let some = open.pop(); some !== undefined && left >= 0; some = open.pop()) {
    const [only, ...others] = some
    if (only === undefined) continue
    if (others.length === 0) {
      candidates(source, text, only, offsetOf).some((written) => misfits([only], written).length === 0)
      continue
    }
    const together = withAll(source, text, some, offsetOf, 0)
    if (typeof together === 'number') {
      open.push(some.slice(Math.max(1, together)), some.slice(0, Math.max(1, together)))
      continue
    }
    let unfit = misfits(some, together)
    // Only edits other than moves are written in a second way: there is just one way to write a move.
    if (unfit.some(({ op }) => op !== 'move')) {
      const another = withAll(source, text, some, offsetOf, 1)
      const found = typeof another === 'string' ? misfits(some, another) : unfit
      if (found.length < unfit.length) unfit = found
    }
    if (unfit.length > 0) open.push(...partsOf(some, unfit))
  }
  return { text, done, isCut: left < 0 }
}

interface Loaded {
  readonly value: unknown
  /** The number of notes, such as one for each key that a map has twice. */
  readonly notes: number
  /** The line and column where the document begins; undefined when it could not be parsed. */
  readonly place: TextPlace | undefined
}

const loaded = (document: LoadedDocument): Loaded =>
  'error' in document
    ? { value: document.error.message, notes: 0, place: undefined }
    : { value: document.value, notes: document.notes.length, place: document.locate([], 'value') }

/**
 * Divides the edits, in order, into groups, each with only `misfits` (edits that lack the wanted effect) or only
 * other edits. When all edits are misfits, the groups are the two halves. The last group comes first.
 */
function partsOf(edits: readonly PlacedEdit[], misfits: readonly PlacedEdit[]): PlacedEdit[][] {
  const half = edits.length >> 1
  if (misfits.length === edits.length) return [edits.slice(half), edits.slice(0, half)]
  const unfit = new Set(misfits)
  const parts: PlacedEdit[][] = []
  for (const [i, edit] of edits.entries()) {
    const before = edits[i - 1]
    if (before !== undefined && unfit.has(before) === unfit.has(edit)) parts.at(-1)?.push(edit)
    else parts.push([edit])
  }
  return parts.toReversed()
}

/**
 * The edits whose document does not have the wanted content in `after`, or has a key twice there and not before; an
 * edit belongs to the last document that begins before the edit. If a document without edits has changed, all edits are returned.
 */
function misfitsIn(
  before: readonly Loaded[],
  after: readonly Loaded[],
  edits: readonly PlacedEdit[],
  startOf: (place: TextPlace) => number,
  placeOf: (edit: PlacedEdit) => number,
): readonly PlacedEdit[] {
  if (before.length !== after.length) return edits
  const starts = before.flatMap(({ place }, i) => (place === undefined ? [] : [{ at: startOf(place), i }]))
  const ascending = starts.toSorted((a, b) => a.at - b.at)
  const offsets = ascending.map(({ at }) => at)
  const own = Map.groupBy(edits, (edit) => ascending[countBefore(offsets, placeOf(edit) + 1) - 1]?.i)
  if (own.has(undefined)) return edits
  const found: PlacedEdit[] = []
  for (const [i, { value, notes }] of before.entries()) {
    const inIt = own.get(i) ?? []
    const wanted = inIt.reduce<unknown>((now, edit) => (isObject(now) ? edited(now, edit) : undefined), value)
    const isWanted = deepEqual(wanted, after[i]?.value) && (after[i]?.notes ?? 0) <= notes
    if (isWanted && (inIt.length === 0 || !deepEqual(value, wanted))) continue
    if (inIt.length === 0) return edits
    found.push(...inIt)
  }
  return found
}

/** The alternative texts of the file with one edit applied, the most natural one first. */
function candidates(
  source: () => EditedSource,
  text: string,
  edit: PlacedEdit,
  offsetOf: OffsetOf,
): (string | undefined)[] {
  const offset = insertionOffset(text, edit, offsetOf)
  if (offset === undefined) return []
  if (edit.op === 'move') {
    const moves = movesIn(source(), edit, offsetOf)
    return [moves && spliced(text, moves)]
  }
  const rest = text.slice(offset, offset + LONGEST)
  return splices(text, offset, rest, edit).map(
    ({ from, length, written }) =>
      text.slice(0, offset + from) + written + text.slice(offset + from + length),
  )
}

/**
 * The text after all edits. `rank` says which of the alternative texts of each edit is written: 0 is the most natural
 * one. Returns the index of the first edit that overlaps another edit or cannot be written, if there is one.
 */
function withAll(
  source: () => EditedSource,
  text: string,
  edits: readonly PlacedEdit[],
  offsetOf: OffsetOf,
  rank: number,
): string | number {
  /** The new text from the current edit to the end, in parts; the part at the end of the text comes first. */
  const parts: string[] = []
  let at = text.length
  for (const [index, edit] of edits.entries()) {
    const offset = insertionOffset(text, edit, offsetOf)
    if (offset === undefined || offset > at) return index
    if (edit.op === 'move') {
      const moves = movesIn(source(), edit, offsetOf)
      const [begin, end] = [Math.min(offset, moves?.[0]?.from ?? offset), at]
      const isApart = moves?.every(({ from, length }) => from + length <= end) === true
      const part = isApart
        ? spliced(
            text.slice(begin, end),
            moves.map((each) => ({ ...each, from: each.from - begin })),
          )
        : undefined
      if (part === undefined) return index
      parts.push(part)
      at = begin
      continue
    }
    const part = offset === at ? (parts.pop() ?? '') : text.slice(offset, at)
    let rest = part.slice(0, LONGEST)
    for (let i = parts.length - 1; i >= 0 && rest.length < LONGEST; i--)
      rest += parts[i]?.slice(0, LONGEST) ?? ''
    const ranked = splices(text, offset, rest, edit)
    const splice = ranked[Math.min(rank, ranked.length - 1)]
    if (splice === undefined || splice.from + splice.length > part.length) return index
    const { from, length, written } = splice
    parts.push(part.slice(0, from) + written + part.slice(from + length))
    at = offset
  }
  return [...parts, text.slice(0, at)].toReversed().join('')
}

/** The longest key or value that is changed, in characters. */
const LONGEST = 4096

/**
 * The alternative changes of the text for one edit, the most natural one first. The offsets of the changes count from
 * `offset`, where `rest` begins.
 */
function splices(text: string, offset: number, rest: string, edit: Exclude<PlacedEdit, Moving>): Splice[] {
  if (edit.op === 'rename')
    return lengthsAt(rest, KEYS).map((length) => ({
      from: 0,
      length,
      written: inStyleOf(rest, edit.to, false)[0] ?? '',
    }))
  if (edit.op === 'set') {
    const isJson = isAfterQuotedKey(text, offset)
    const styles = inStyleOf(rest, edit.value, isJson)
    // A value that is not written has the place of its key.
    const [key] = lengthsAt(rest, KEYS).filter((length) => /^:(?:\s|$)/.test(rest.slice(length, length + 2)))
    if (key !== undefined)
      return styles.map((written) => ({ from: key + 1, length: 0, written: ` ${written}` }))
    return lengthsAt(rest, isJson || isInBrackets(text, offset) ? FLOW_VALUES : VALUES).flatMap((length) =>
      styles.map((written) => ({ from: 0, length, written })),
    )
  }
  return additions(text, offset, rest, edit).map(([from, written]) => ({ from, length: 0, written }))
}

/** A text in quotes. */
const QUOTED = /^(?:"(?:\\.|[^"\\\n])*"|'(?:''|[^'\n])*')/
/** Returns the beginning of a text if it has a certain form, such as a quoted text. */
type Form = (rest: string) => string | undefined

const quoted: Form = (rest) => QUOTED.exec(rest)?.[0]
const KEYS: readonly Form[] = [quoted, (rest) => /^[^\s:#,{}[\]"'&*!|>]+/.exec(rest)?.[0]]
const VALUES: readonly Form[] = [quoted, plainInBlock, plainInBrackets]

/** An unquoted value up to a comment or the end of the line. */
function plainInBlock(rest: string): string | undefined {
  const [line] = /^[^\s"'&*!|>{[].*/.exec(rest) ?? []
  if (line === undefined) return undefined
  const comment = line.search(/[ \t]#/)
  const isToEnd = /^\r?(?:\n|$)/.test(rest.slice(line.length, line.length + 2))
  return comment < 0 && !isToEnd
    ? undefined
    : withoutEnd(line.slice(0, comment < 0 ? undefined : comment), ' \t')
}

/** An unquoted value up to the end of an item in brackets or braces. */
function plainInBrackets(rest: string): string | undefined {
  const [item = '', end] = /^[^\s"'&*!|>{[,][^,\]}\r\n]*([,\]}])/.exec(rest) ?? []
  return end === undefined ? undefined : withoutEnd(item.slice(0, -1), ' \t')
}

const FLOW_VALUES: readonly Form[] = [quoted, plainInBrackets, plainInBlock]

/**
 * Whether a bracket is open on the line before the offset. A wrong result is harmless: `withEdits` parses the new
 * text, and uses it only if exactly the wanted values have changed.
 */
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

/** Whether the value at the offset is after a key in double quotes, as in JSON. */
function isAfterQuotedKey(text: string, offset: number): boolean {
  const before = text.slice(0, offset).trimEnd()
  return before.endsWith(':') && before.slice(0, -1).trimEnd().endsWith('"')
}

/** The alternatives for writing a value, the quotes of the replaced text first. After a key in double quotes, only JSON. */
function inStyleOf(rest: string, value: unknown, isJson: boolean): string[] {
  const isText = typeof value === 'string'
  if (isText && rest.startsWith("'")) return [`'${value.replaceAll("'", "''")}'`]
  if (isJson || (isText && rest.startsWith('"'))) return [JSON.stringify(value)]
  return [isText ? value : flow(value), JSON.stringify(value)]
}

/**
 * The ways to write a new member of the map at the offset (block, braces, JSON), each with its distance from the
 * offset.
 */
function additions(
  text: string,
  offset: number,
  rest: string,
  { at, value, column }: Adding,
): (readonly [number, string])[] {
  const key = String(jsonKey(at.at(-1) ?? ''))
  const written = [`${key}: ${flow(value)}`, `${JSON.stringify(key)}: ${JSON.stringify(value)}`]
  if (rest.startsWith('{')) {
    const space = /^\{(\s*)/.exec(rest)?.[1] ?? ''
    const isEmpty = rest[1 + space.length] === '}'
    const isJson = rest[1 + space.length] === '"'
    const inBraces = (isJson ? written.slice(1) : written).map((member) =>
      isEmpty ? member : space === '' ? `${member}, ` : `${space}${member},`,
    )
    return inBraces.map((member) => [1, member] as const)
  }
  const end = text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n'
  const indent = ' '.repeat(column - 1)
  // At the start of a line, the member is written above a key or its comments, otherwise behind the dash of an item.
  const isLine = offset === lineOf(text, offset)
  return written.map(
    (member) => [0, isLine ? `${indent}${member}${end}` : `${member}${end}${indent}`] as const,
  )
}

const lineOf = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

/**
 * The offset at which an edit changes the text. A member is added in block style above the first key of its map, and
 * above the comments of that key; in braces, and behind the dash of an item, at the place of the edit.
 */
function insertionOffset(text: string, edit: PlacedEdit, offsetOf: OffsetOf): number | undefined {
  const offset = offsetOf(edit)
  if (offset === undefined || edit.op !== 'add' || text[offset] === '{') return offset
  let line = lineOf(text, offset)
  if (text.slice(line, offset).trim() !== '') return offset
  let top = line
  while (line > 1) {
    const above = lineOf(text, line - 1)
    const written = text.slice(above, line).trim()
    if (written !== '' && !written.startsWith('#')) break
    if (written !== '') top = above
    line = above
  }
  return top
}

/**
 * Returns a function that converts lines and columns to offsets. Both count from 1; columns are characters, and a byte
 * order mark has no column.
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
    // Each surrogate pair before the offset moves the offset by one code unit, perhaps past the next pair.
    for (let twice = 0; ;) {
      const passed = countBefore(pairs, offset) - before
      if (passed === twice) return offset
      offset += passed - twice
      twice = passed
    }
  }
}
