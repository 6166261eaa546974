/** For fixes that move or add fields of a manifest: writes the fields at their new place, in the style of the file. */
import { isObject, valueAt } from '../../rule/index.ts'
import { type BracedItem, type Braces, inBraces } from './braces.ts'
import { flow } from './flow.ts'
import { countBefore } from '../input/load.ts'
import {
  extentOf,
  indentOf,
  isIndex,
  keyOf,
  type Member,
  numbered,
  type MoveSource,
  type KeyPath,
} from './move-source.ts'
import type { Splice } from './splices.ts'

/** A field of a manifest to write at the path `to`: moved there (`member`), or added with a new value (`value`). */
export interface MovedLeaf {
  readonly to: KeyPath
  readonly member?: Member | undefined
  readonly value?: unknown
  /** Comments to write above the field, from a removed map that contained the field. */
  readonly above: readonly string[]
}

/** How many of the first steps of a path lead to maps or lists that exist and are not removed (not in `gone`). */
function depthIn(value: unknown, to: KeyPath, gone: ReadonlySet<string>): number {
  let depth = 0
  for (; depth < to.length - 1; depth++) {
    const path = to.slice(0, depth + 1)
    const found = valueAt(value, numbered(path))
    if (typeof found !== 'object' || found === null || gone.has(keyOf(path))) break
  }
  return depth
}

/** Adds each field at the end of the deepest existing map or list on its path; undefined when that is impossible. */
export function additionsFor(
  source: MoveSource,
  leaves: readonly MovedLeaf[],
  gone: ReadonlySet<string>,
  cut: ReadonlySet<BracedItem>,
): Splice[] | undefined {
  const byHolder = Map.groupBy(leaves, ({ to }) => keyOf(to.slice(0, depthIn(source.value, to, gone))))
  const additions = Array.from(byHolder, ([key, below]) => {
    const holder = JSON.parse(key) as string[]
    const tree = treeOf(below, holder.length)
    const braces = source.bracesOf(holder)
    return braces === undefined ? inBlock(source, holder, tree) : intoBraces(source, braces, tree, cut)
  })
  const known = additions.filter((addition) => addition !== undefined)
  if (known.length < additions.length) return undefined
  return known.toSorted((a, b) => b.depth - a.depth)
}

type Addition = Splice & { /** The indent of the object that gets the addition. */ readonly depth: number }

function inBlock(source: MoveSource, holder: KeyPath, tree: Tree): Addition | undefined {
  const value = valueAt(source.value, numbered(holder))
  const last = isObject(value) ? Object.keys(value).at(-1) : undefined
  const extent = last === undefined ? undefined : extentOf(source, [...holder, last])
  if (extent === undefined) return undefined
  const lines = rendered(source, tree).map((line) => (line === '' ? '' : ' '.repeat(extent.indent) + line))
  const from = source.starts[extent.end]
  const written =
    from === undefined
      ? lines.map((line) => source.end + line).join('')
      : lines.map((line) => line + source.end).join('')
  return { from: from ?? source.text.length, length: 0, written, depth: extent.indent }
}

type Tree = Map<string, Tree | MovedLeaf>

function treeOf(leaves: readonly MovedLeaf[], depth: number): Tree {
  const root: Tree = new Map()
  for (const leaf of leaves) {
    let node = root
    for (const step of leaf.to.slice(depth, -1)) {
      const next = node.get(step)
      const there = next instanceof Map ? next : new Map<string, never>()
      node.set(step, there)
      node = there
    }
    node.set(leaf.to.at(-1) ?? '', leaf)
  }
  return root
}

const isList = (tree: Tree): boolean => [...tree.keys()].every(isIndex)

/** Writes the members of a map in block style, as lines. */
function rendered(source: MoveSource, tree: Tree): string[] {
  return [...tree].flatMap(([key, below]) => {
    if (!(below instanceof Map)) return [...below.above, ...linesOf(source, below)]
    const lines = isList(below)
      ? [...below.values()].flatMap((each) => item(source, each))
      : rendered(source, below)
    return [`${key}:`, ...lines.map((line) => (line === '' ? '' : `  ${line}`))]
  })
}

/** Writes an item of a list as lines, with comments before its dash. */
function item(source: MoveSource, below: Tree | MovedLeaf): string[] {
  const lines = rendered(source, below instanceof Map ? below : new Map([['', below]]))
  const first = lines.findIndex((line) => !line.startsWith('#'))
  return lines.map((line, i) => (i < first || line === '' ? line : i === first ? `- ${line}` : `  ${line}`))
}

const unindented = (line: string, indent: number): string => line.slice(Math.min(indent, indentOf(line)))

/** Writes a member in block style as lines, without its indent. */
function linesOf(source: MoveSource, { to, member, value }: MovedLeaf): string[] {
  const { lines } = source
  if (member === undefined) return [`${to.at(-1) ?? ''}: ${flow(value)}`]
  const { extent } = member
  if (extent === undefined) return braceLines(source, member.item, ': ')
  return lines
    .slice(extent.start, extent.end)
    .map((line, i) =>
      extent.start + i === extent.key ? line.slice(extent.indent) : unindented(line, extent.indent),
    )
}

/** Writes a member in braces as lines, without an indent in the first line. */
function braceLines(
  { text, lines, starts }: MoveSource,
  { from, to, source }: BracedItem,
  colon: string,
): string[] {
  const indent = indentOf(lines[countBefore(starts, from + 1) - 1] ?? '')
  const [first = '', ...others] = (source?.join(colon) ?? text.slice(from, to)).split(/\r?\n/)
  return [first, ...others.map((line) => unindented(line, indent))]
}

/** The style of a map in braces. */
interface Style {
  readonly isJson: boolean
  readonly colon: string
  /** The indent of members, and the added indent of each level, in spaces; undefined for a map on one line. */
  readonly own: { readonly indent: number; readonly unit: number } | undefined
}

function styleOf({ text, lines, starts, bracesOf }: MoveSource, braces: Braces): Style {
  const first = braces.items[0] ?? bracesOf([])?.items[0]
  const isJson = first !== undefined && text[first.from] === '"'
  const isTight = isJson && /^"[^"]*":\S/.test(text.slice(first.from, first.from + 100))
  const [here, around] = [braces.items[0]?.from ?? braces.start, braces.start].map(
    (offset) => countBefore(starts, offset + 1) - 1,
  )
  const indent = indentOf(lines[here ?? 0] ?? '')
  const unit = Math.max(0, indent - indentOf(lines[around ?? 0] ?? ''))
  return { isJson, colon: isTight ? ':' : ': ', own: here === around ? undefined : { indent, unit } }
}

function intoBraces(
  source: MoveSource,
  braces: Braces,
  tree: Tree,
  cut: ReadonlySet<BracedItem>,
): Addition | undefined {
  const style = styleOf(source, braces)
  const members = membersIn(source, tree, style)
  if (members === undefined) return undefined
  const between = separator(source, style)
  const last = braces.items.findLast((item) => !cut.has(item))
  const from = last?.to ?? braces.items[0]?.from ?? braces.start
  return { from, length: 0, written: (last === undefined ? '' : between) + members.join(between), depth: 0 }
}

const separator = ({ end }: MoveSource, { own, colon }: Style): string =>
  own === undefined ? (colon === ':' ? ',' : ', ') : `,${end}${' '.repeat(own.indent)}`

/** Writes members for JSON or YAML braces, without commas; undefined when braces cannot contain one of them. */
function membersIn(source: MoveSource, tree: Tree, style: Style): string[] | undefined {
  const { own } = style
  const within = own && { ...style, own: { ...own, indent: own.indent + own.unit } }
  const members = [...tree].map(([key, below]) => {
    if (!(below instanceof Map)) return leafIn(source, below, style)
    const name = isIndex(key) ? '' : (style.isJson ? JSON.stringify(key) : key) + style.colon
    const inner = membersIn(source, below, within ?? style)
    const written = inner?.join(separator(source, within ?? style))
    const [open, close] = isList(below) ? '[]' : '{}'
    const [before, after] =
      own === undefined
        ? ['', '']
        : [own.indent + own.unit, own.indent].map((n) => source.end + ' '.repeat(n))
    return written === undefined ? undefined : [name, open, before, written, after, close].join('')
  })
  return members.every((member) => member !== undefined) ? members : undefined
}

function leafIn(source: MoveSource, leaf: MovedLeaf, { isJson, colon, own }: Style): string | undefined {
  const { to, member, value, above } = leaf
  const key = to.at(-1) ?? ''
  if (member === undefined)
    return isJson ? `${JSON.stringify(key)}${colon}${JSON.stringify(value)}` : `${key}: ${flow(value)}`
  if (above.length > 0) return undefined
  return member.item === undefined
    ? inBraces(linesOf(source, leaf).join('\n'))
    : braceLines(source, member.item, colon).join(source.end + ' '.repeat(own?.indent ?? 0))
}
