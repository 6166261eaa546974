/**
 * The text of a file after a `Moving`: in block style whole lines are moved, with their comments. What comes out is a
 * guess, as every edit of a text is: the caller reads it again and compares.
 */
import { deepEqual, isObject, jsonKey, type Moving, valueAt } from '../../rule/index.ts'
import { edited } from '../../shape/index.ts'
import { flow } from './flow.ts'
import { quoteTemplates } from '../input/fill.ts'
import { loadDocuments, type TextPlace } from '../input/load.ts'

/** The text; undefined where the object is written in another way. `offset`: where the object begins. */
export const withMoves = (text: string, edit: Moving & TextPlace, offset: number): string | undefined =>
  text[offset] === '{' ? inBraces(text, edit, offset) : inLines(text, edit)

/** The whole object is written anew: as JSON where it was, else on one line. */
function inBraces(text: string, edit: Moving & TextPlace, offset: number): string | undefined {
  const value = readAt(text, edit)?.value
  const length = lengthOfBraces(text.slice(offset))
  if (!isObject(value) || length === undefined) return undefined
  const before = text.slice(offset, offset + length)
  const after = edited(value, { ...edit, at: [] })
  const [space = ''] = /^\s*/.exec(before.slice(1)) ?? []
  const isJson = before[1 + space.length] === '"'
  if (!isJson && before.includes('#')) return undefined
  const line = text.lastIndexOf('\n', offset - 1) + 1
  const indent = indentOf(text.slice(line, offset))
  const unit = space.includes('\n') ? Math.max(0, space.length - space.lastIndexOf('\n') - 1 - indent) : 0
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const written = isJson
    ? JSON.stringify(after, null, unit).replaceAll('\n', end + ' '.repeat(indent))
    : flow(after)
  return text.slice(0, offset) + written + text.slice(offset + length)
}

/** Characters up to the brace that ends the first one; undefined where there is none. */
function lengthOfBraces(text: string): number | undefined {
  let depth = 0
  let quote = ''
  for (let i = 0; i < text.length; i++) {
    const character = text[i] ?? ''
    if (quote !== '') {
      if (quote === '"' && character === '\\') i += 1
      else if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '{') depth += 1
    else if (character === '}') depth -= 1
    if (depth === 0) return i + 1
  }
  return undefined
}

/** In block style whole lines are moved. */
function inLines(text: string, edit: Moving & TextPlace): string | undefined {
  const lines = text.split(/\r?\n/)
  const before = readAt(text, edit)
  if (before === undefined) return undefined
  const after = edited(before.value as object, { ...edit, at: [] })
  const emptied = emptiedBy(
    before.value,
    edit.moves.map(({ from }) => from),
  )
  // Within braces and brackets the member around them that has a line of its own is written anew.
  const anew = new Map<string, Anew>()
  const write = (steps: readonly string[]): boolean => {
    const path = around(before, lines, steps)
    const extent = path && extentOf(before, lines, path)
    if (path === undefined || extent === undefined || extent.content.some((line) => line.includes('#')))
      return false
    anew.set(JSON.stringify(path), { extent, path, value: valueAt(after, numbered(path)) })
    return true
  }
  const isAnew = (steps: readonly string[]) =>
    steps.some((_, i) => anew.has(JSON.stringify(steps.slice(0, i + 1))))
  const extents: Extent[] = []
  const leaves: Leaf[] = edit.adds.map(({ at, value }) => ({
    to: at,
    lines: [`${at.at(-1) ?? ''}: ${flow(value)}`],
  }))
  for (const { from, to } of [...edit.moves, ...emptied.map((path) => ({ from: path, to: undefined }))]) {
    const extent = extentOf(before, lines, from)
    if (extent !== undefined) extents.push(extent)
    else if (!write(from)) return undefined
    const value = valueAt(before.value, numbered(from))
    if (to !== undefined)
      leaves.push({ to, lines: extent?.content ?? [`${to.at(-1) ?? ''}: ${flow(value)}`] })
  }
  for (const { to } of leaves) {
    const holder = to.slice(0, depthIn(before.value, to))
    const value = valueAt(before.value, numbered(holder))
    const last = isObject(value) ? Object.keys(value).at(-1) : undefined
    const isOpen =
      holder.length === 0 || (last !== undefined && extentOf(before, lines, [...holder, last]) !== undefined)
    if (!isOpen && !write(holder)) return undefined
  }
  const kept = withoutLines(lines, extents, [...anew.values()])
  const rest = leaves.filter(({ to }) => !isAnew(to))
  return kept && withLeaves(kept, edit, rest)?.join(text.includes('\r\n') ? '\r\n' : '\n')
}

/** A member that is written anew on one line; undefined where it goes. */
interface Anew {
  readonly extent: Extent
  readonly path: readonly string[]
  readonly value: unknown
}

/** The innermost member around a place that has a line of its own. */
function around(
  located: Located,
  lines: readonly string[],
  steps: readonly string[],
): readonly string[] | undefined {
  for (let length = steps.length; length > 0; length--) {
    const path = steps.slice(0, length)
    if (extentOf(located, lines, path) !== undefined) return path
  }
  return undefined
}

/** How many steps of a path lead to objects that are there. */
function depthIn(value: unknown, to: readonly string[]): number {
  let depth = 0
  for (; depth < to.length - 1; depth++) {
    const found = valueAt(value, numbered(to.slice(0, depth + 1)))
    if (typeof found !== 'object' || found === null) break
  }
  return depth
}

/** The paths of the objects that have no member left once these members are away. */
function emptiedBy(value: unknown, taken: readonly (readonly string[])[]): (readonly string[])[] {
  const holders = new Map(
    taken
      .filter((from) => from.length > 1)
      .map((from) => [JSON.stringify(from.slice(0, -1)), from.slice(0, -1)]),
  )
  const found = [...holders.values()].filter((path) => {
    const holder = valueAt(value, numbered(path))
    const isTaken = (key: string) => taken.some((from) => deepEqual(from, [...path, key]))
    return isObject(holder) && Object.keys(holder).every(isTaken)
  })
  return found.length === 0 ? [] : [...found, ...emptiedBy(value, found)]
}

interface Extent {
  /** The first line of the member, with comments above it, and the one behind its last. */
  readonly start: number
  readonly key: number
  readonly end: number
  /** Characters before the key. */
  readonly indent: number
  /** Whether the key is on the line of the dash of its item. */
  readonly isFirst: boolean
  /** The lines without the indent. */
  readonly content: readonly string[]
}

/** The object of an edit in a text. */
interface Located {
  readonly value: unknown
  /** The place of the key of a member, by its path from the object. */
  readonly keyAt: (steps: readonly string[]) => TextPlace
}

/** Reads the text: the object is at the place of the edit. */
function readAt(text: string, { at, line, column }: Moving & TextPlace): Located | undefined {
  for (const document of loadDocuments(quoteTemplates(text))) {
    if ('error' in document) continue
    const place = document.locate(at.map(jsonKey), 'value')
    if (place.line !== line || place.column !== column) continue
    return {
      value: valueAt(document.value, at),
      keyAt: (steps) => document.locate([...at.map(jsonKey), ...numbered(steps)], 'key'),
    }
  }
  return undefined
}

const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0
const isBlank = (line: string): boolean => /^\s*(?:#.*)?$/.test(line)
const numbered = (steps: readonly string[]) => steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step))

/** The lines of the member at a path from the object; undefined where it shares a line with another. */
function extentOf(located: Located, lines: readonly string[], from: readonly string[]): Extent | undefined {
  const place = located.keyAt(from)
  const key = place.line - 1
  const indent = place.column - 1
  const before = lines[key]?.slice(0, indent)
  if (before === undefined || !/^ *(?:- +)*$/.test(before)) return undefined
  const isFirst = before.includes('-')
  let start = key
  const isComment = (line: string) => line.trimStart().startsWith('#') && indentOf(line) === indent
  while (!isFirst && start > 0 && isComment(lines[start - 1] ?? '')) start -= 1
  let end = key + 1
  for (let i = key + 1; i < lines.length; i++) {
    const line = lines[i] ?? ''
    if (isBlank(line)) continue
    const isOwn = indentOf(line) > indent || (indentOf(line) === indent && /^ *- /.test(line))
    if (!isOwn) break
    end = i + 1
  }
  const content = lines
    .slice(start, end)
    .map((line, i) => (start + i === key ? line.slice(indent) : unindented(line, indent)))
  return { start, key, end, indent, isFirst, content }
}

const unindented = (line: string, indent: number): string => line.slice(Math.min(indent, indentOf(line)))

/**
 * Takes the lines away, and writes others anew. Where lines began with the dash of an item, the first member that is left
 * gets the dash.
 */
function withoutLines(
  lines: readonly string[],
  extents: readonly Extent[],
  anew: readonly Anew[],
): string[] | undefined {
  const kept: (string | undefined)[] = [...lines]
  for (const { start, end } of extents) kept.fill(undefined, start, end)
  for (const { extent, path, value } of anew) {
    const { key, end, indent } = extent
    kept.fill(undefined, key, end)
    const step = path.at(-1) ?? ''
    const name = /^\d+$/.test(step) ? '' : `${step}: `
    if (value !== undefined) kept[key] = `${lines[key]?.slice(0, indent) ?? ''}${name}${flow(value)}`
  }
  for (const { key, end, indent, isFirst } of extents) {
    if (!isFirst) continue
    const next = kept.findIndex((line, i) => i >= end && line !== undefined && !isBlank(line))
    const line = kept[next] ?? ''
    if (next < 0 || indentOf(line) !== indent) return undefined
    kept[next] = (lines[key]?.slice(0, indent) ?? '') + line.slice(indent)
  }
  return kept.filter((line) => line !== undefined)
}

interface Leaf {
  readonly to: readonly string[]
  readonly lines: readonly string[]
}

/** The lines with the new members, each at the end of the deepest object around it that is there. */
function withLeaves(
  lines: readonly string[],
  edit: Moving & TextPlace,
  leaves: readonly Leaf[],
): string[] | undefined {
  const located = readAt(lines.join('\n'), edit)
  if (located === undefined) return undefined
  const byHolder = Map.groupBy(leaves, ({ to }) => JSON.stringify(to.slice(0, depthIn(located.value, to))))
  const insertions = Array.from(byHolder, ([holder, below]) => {
    const steps = JSON.parse(holder) as string[]
    const value = valueAt(located.value, numbered(steps))
    const last = isObject(value) ? Object.keys(value).at(-1) : undefined
    const extent = last === undefined ? undefined : extentOf(located, lines, [...steps, last])
    return extent && { ...extent, written: rendered(treeOf(below, steps.length)) }
  })
  const known = insertions.filter((insertion) => insertion !== undefined)
  if (known.length < insertions.length) return undefined
  // From the end to the start; what ends on one line, the outer object first, so that the inner one comes before it.
  const found = [...lines]
  for (const { end, indent, written } of known.toSorted((x, y) => y.end - x.end || x.indent - y.indent))
    found.splice(end, 0, ...written.map((line) => ' '.repeat(indent) + line))
  return found
}

type Tree = Map<string, Tree | readonly string[]>

function treeOf(leaves: readonly Leaf[], depth: number): Tree {
  const root: Tree = new Map()
  for (const { to, lines } of leaves) {
    let node = root
    for (const step of to.slice(depth, -1)) {
      const next = node.get(step)
      const there = next instanceof Map ? next : new Map<string, never>()
      node.set(step, there)
      node = there
    }
    node.set(to.at(-1) ?? '', lines)
  }
  return root
}

/** The members of an object, each on lines of its own. */
function rendered(tree: Tree): string[] {
  return [...tree].flatMap(([key, below]) => {
    if (!(below instanceof Map)) return [...below]
    const isList = [...below.keys()].every((step) => /^\d+$/.test(step))
    return [
      `${key}:`,
      ...(isList ? [...below.values()].flatMap(item) : rendered(below)).map((line) => `  ${line}`),
    ]
  })
}

/** An item of a list: comments stand before its dash. */
function item(below: Tree | readonly string[]): string[] {
  const lines = below instanceof Map ? rendered(below) : [...below]
  const first = lines.findIndex((line) => !line.startsWith('#'))
  return lines.map((line, i) => (i < first ? line : i === first ? `- ${line}` : `  ${line}`))
}
