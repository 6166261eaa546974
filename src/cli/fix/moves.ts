/**
 * The text of a file after a `Moving`. The source of a member moves, with its comments: whole lines in block style, what
 * stands between two commas in braces. Nothing else of the text changes. What comes out is a guess, as every edit of a
 * text is: the caller reads it again and compares.
 */
import { isObject, jsonKey, type Moving, valueAt } from '../../rule/index.ts'
import { type Braces, bracesAt, cutsOf, inBraces, type BracedItem } from './braces.ts'
import { flow } from './flow.ts'
import { quoteTemplates } from '../input/fill.ts'
import { countBefore, lineStarts, loadDocuments, type TextPlace } from '../input/load.ts'
import { type Splice, spliced } from './splices.ts'

type OffsetOf = (place: TextPlace) => number | undefined
type Steps = readonly string[]

/** The text; undefined where the members, or the objects that they belong to, are written in a way that cannot be moved. */
export function withMoves(text: string, edit: Moving & TextPlace, offsetOf: OffsetOf): string | undefined {
  const source = sourceOf(text, edit, offsetOf)
  if (source === undefined) return undefined
  const emptied = emptiedBy(
    source.value,
    edit.moves.map(({ from }) => from),
  )
  const gone = new Set(emptied.map(keyOf))
  const taken = edit.moves.map((move) => ({
    ...move,
    member: memberAt(source, move.from),
    around: goneAround(move.from, gone),
  }))
  // What an object that goes has within goes with it.
  const whole = emptied
    .filter((path) => goneAround(path, gone) === undefined)
    .map((path) => ({ path, member: memberAt(source, path) }))
  const alone = taken.filter(({ around }) => around === undefined)
  const removed = [...whole, ...alone].map(({ member }) => member)
  const cuts = cutsFor(source, removed)
  if (cuts === undefined) return undefined
  const within = Map.groupBy(taken, ({ around }) => around)
  const leaves: Leaf[] = edit.adds.map(({ at, value }) => ({ to: at, value, above: [] }))
  const above = new Map<unknown, readonly string[]>()
  for (const { path, member } of whole) {
    const inner = within.get(keyOf(path)) ?? []
    const comments = commentsBeside(
      source,
      member,
      inner.map((each) => each.member),
    )
    const first = inner.find(({ to }) => to !== undefined)
    if (comments.length > 0 && first === undefined) return undefined
    above.set(first, comments)
  }
  for (const each of taken)
    if (each.to !== undefined) leaves.push({ to: each.to, member: each.member, above: above.get(each) ?? [] })
  const cut = new Set(removed.flatMap((member) => member?.item ?? []))
  const additions = additionsFor(source, leaves, gone, cut)
  // At one offset an addition comes before a cut, and the inner one of two first.
  return (
    additions &&
    spliced(
      text,
      [...additions, ...cuts].toSorted((a, b) => a.from - b.from || a.length - b.length),
    )
  )
}

const keyOf = (path: Steps): string => JSON.stringify(path)
const numbered = (steps: Steps) => steps.map((step) => (isIndex(step) ? Number(step) : step))

/** The outermost object around a place that goes. */
function goneAround(path: Steps, gone: ReadonlySet<string>): string | undefined {
  for (let length = 1; length < path.length; length++) {
    const key = keyOf(path.slice(0, length))
    if (gone.has(key)) return key
  }
  return undefined
}

/** The object of an edit in a text. */
interface Source {
  readonly text: string
  readonly value: unknown
  /** The lines without what ends them, and where they begin. */
  readonly lines: readonly string[]
  readonly starts: readonly number[]
  readonly end: '\n' | '\r\n'
  /** The place of the key of a member, by its path from the object. */
  readonly keyAt: (steps: Steps) => TextPlace
  /** The braces or brackets that are the value of a member; undefined where it is in block style. */
  readonly bracesOf: (steps: Steps) => Braces | undefined
}

/** Reads the text: the object is at the place of the edit. */
function sourceOf(text: string, edit: Moving & TextPlace, offsetOf: OffsetOf): Source | undefined {
  const quoted = quoteTemplates(text)
  const lines = text.split(/\r?\n/)
  const readable = quoted.split(/\r?\n/)
  const at = edit.at.map(jsonKey)
  for (const document of loadDocuments(quoted)) {
    if ('error' in document) continue
    const place = document.locate(at, 'value')
    if (place.line !== edit.line || place.column !== edit.column) continue
    // A template begins with braces, too.
    const outermost = (steps: Steps): Braces | undefined => {
      const value = document.locate([...at, ...numbered(steps)], 'value')
      const offset = offsetOf(value)
      const isTemplate = lines[value.line - 1] !== readable[value.line - 1]
      if (offset === undefined || isTemplate || !/[{[]/.test(text[offset] ?? '')) return undefined
      return bracesAt(text, offset)
    }
    const known = new Map<string, Braces | undefined>()
    const bracesOf = (steps: Steps): Braces | undefined => {
      const key = keyOf(steps)
      if (known.has(key)) return known.get(key)
      const around = steps.length === 0 ? undefined : bracesOf(steps.slice(0, -1))
      const found = around === undefined ? outermost(steps) : around.itemOf.get(steps.at(-1) ?? '')?.below
      known.set(key, found)
      return found
    }
    return {
      text,
      value: valueAt(document.value, edit.at),
      lines,
      starts: lineStarts(text),
      end: text.includes('\r\n') ? '\r\n' : '\n',
      keyAt: (steps) => document.locate([...at, ...numbered(steps)], 'key'),
      bracesOf,
    }
  }
  return undefined
}

/** The paths of the objects that have no member left once these members are away. */
function emptiedBy(value: unknown, taken: readonly Steps[]): Steps[] {
  const keys = new Set(taken.map(keyOf))
  const holders = new Map(
    taken.filter((from) => from.length > 1).map((from) => [keyOf(from.slice(0, -1)), from.slice(0, -1)]),
  )
  const found = [...holders.values()].filter((path) => {
    const holder = valueAt(value, numbered(path))
    return isObject(holder) && Object.keys(holder).every((key) => keys.has(keyOf([...path, key])))
  })
  return found.length === 0 ? [] : [...found, ...emptiedBy(value, found)]
}

/** A member in block style. */
interface Extent {
  /** The first line of the member, with comments above it, and the one behind its last. */
  readonly start: number
  readonly key: number
  readonly end: number
  /** Characters before the key. */
  readonly indent: number
  /** Whether the key is on the line of the dash of its item. */
  readonly isFirst: boolean
}

type Member =
  | { readonly extent: Extent; readonly item?: undefined }
  | { readonly item: BracedItem; readonly holder: Braces; readonly extent?: undefined }

/** Undefined for a member that is written in another way. */
function memberAt(source: Source, path: Steps): Member | undefined {
  const holder = source.bracesOf(path.slice(0, -1))
  if (holder === undefined) {
    const extent = extentOf(source, path)
    return extent && { extent }
  }
  const item = holder.itemOf.get(path.at(-1) ?? '')
  return item && { item, holder }
}

const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0
const isBlank = (line: string): boolean => /^\s*(?:#.*)?$/.test(line)

/** The lines of the member at a path from the object; undefined where it shares a line with another. */
function extentOf({ lines, keyAt }: Source, path: Steps): Extent | undefined {
  const place = keyAt(path)
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
    const isDeeper = indentOf(line) > indent
    if (isBlank(line) && !(isDeeper && line.includes('#'))) continue
    if (!isDeeper && !(indentOf(line) === indent && /^ *- /.test(line))) break
    end = i + 1
  }
  return { start, key, end, indent, isFirst }
}

const rangeOf = ({ starts, text }: Source, { extent, item }: Member): Splice => {
  const from = item?.from ?? starts[extent?.start ?? 0] ?? 0
  const to = item?.to ?? starts[extent?.end ?? 0] ?? text.length
  return { from, length: to - from, written: '' }
}

/** The comments of an object that goes, outside of the members that are moved out of it. */
function commentsBeside(
  source: Source,
  member: Member | undefined,
  moved: readonly (Member | undefined)[],
): string[] {
  if (member === undefined) return []
  const { from, length } = rangeOf(source, member)
  const ranges = moved
    .flatMap((each) => (each === undefined ? [] : [rangeOf(source, each)]))
    .map((range) => ({ ...range, from: range.from - from }))
    .toSorted((a, b) => a.from - b.from)
  const rest = spliced(source.text.slice(from, from + length), ranges) ?? ''
  return Array.from(rest.matchAll(/(?:^|[ \t])(#.*)/gm), ([, comment = '']) => comment.trimEnd())
}

/**
 * Takes members away. Where their lines began with the dash of an item, the first member that is left gets the dash.
 * Undefined where one cannot be taken away.
 */
function cutsFor(source: Source, members: readonly (Member | undefined)[]): Splice[] | undefined {
  const { lines, starts } = source
  const cuts: Splice[] = []
  const cutLines = new Uint8Array(lines.length)
  const items = new Map<Braces, Set<BracedItem>>()
  for (const member of members) {
    if (member === undefined) return undefined
    if (member.extent === undefined) {
      const { holder, item } = member
      items.set(holder, (items.get(holder) ?? new Set()).add(item))
    } else {
      cuts.push(rangeOf(source, member))
      cutLines.fill(1, member.extent.start, member.extent.end)
    }
  }
  for (const [holder, removed] of items) cuts.push(...cutsOf(holder, removed))
  for (const member of members) {
    if (member?.extent?.isFirst !== true) continue
    const { key, end, indent } = member.extent
    let next = end
    while (next < lines.length && (cutLines[next] === 1 || isBlank(lines[next] ?? ''))) next += 1
    if (indentOf(lines[next] ?? '') !== indent) return undefined
    cuts.push({ from: starts[next] ?? 0, length: indent, written: lines[key]?.slice(0, indent) ?? '' })
  }
  return cuts
}

/** A member at its new place: one that is moved, or a value that is added. */
interface Leaf {
  readonly to: Steps
  readonly member?: Member | undefined
  readonly value?: unknown
  /** Comments of the object around it that goes. */
  readonly above: readonly string[]
}

/** How many steps of a path lead to objects that are there, and stay. */
function depthIn(value: unknown, to: Steps, gone: ReadonlySet<string>): number {
  let depth = 0
  for (; depth < to.length - 1; depth++) {
    const path = to.slice(0, depth + 1)
    const found = valueAt(value, numbered(path))
    if (typeof found !== 'object' || found === null || gone.has(keyOf(path))) break
  }
  return depth
}

/** Puts each member at the end of the deepest object around it that is there; undefined where it does not fit in. */
function additionsFor(
  source: Source,
  leaves: readonly Leaf[],
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

type Addition = Splice & { /** Characters before it. */ readonly depth: number }

function inBlock(source: Source, holder: Steps, tree: Tree): Addition | undefined {
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

type Tree = Map<string, Tree | Leaf>

function treeOf(leaves: readonly Leaf[], depth: number): Tree {
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

const isIndex = (step: string): boolean => /^\d+$/.test(step)
const isList = (tree: Tree): boolean => [...tree.keys()].every(isIndex)

/** The members of an object, each on lines of its own. */
function rendered(source: Source, tree: Tree): string[] {
  return [...tree].flatMap(([key, below]) => {
    if (!(below instanceof Map)) return [...below.above, ...linesOf(source, below)]
    const lines = isList(below)
      ? [...below.values()].flatMap((each) => item(source, each))
      : rendered(source, below)
    return [`${key}:`, ...lines.map((line) => (line === '' ? '' : `  ${line}`))]
  })
}

/** An item of a list: comments stand before its dash. */
function item(source: Source, below: Tree | Leaf): string[] {
  const lines = rendered(source, below instanceof Map ? below : new Map([['', below]]))
  const first = lines.findIndex((line) => !line.startsWith('#'))
  return lines.map((line, i) => (i < first || line === '' ? line : i === first ? `- ${line}` : `  ${line}`))
}

const unindented = (line: string, indent: number): string => line.slice(Math.min(indent, indentOf(line)))

/** The lines of a member, without its indent. */
function linesOf(source: Source, { to, member, value }: Leaf): string[] {
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

/** The lines of a member in braces, without the indent of the first one. */
function braceLines(
  { text, lines, starts }: Source,
  { from, to, source }: BracedItem,
  colon: string,
): string[] {
  const indent = indentOf(lines[countBefore(starts, from + 1) - 1] ?? '')
  const [first = '', ...others] = (source?.join(colon) ?? text.slice(from, to)).split(/\r?\n/)
  return [first, ...others.map((line) => unindented(line, indent))]
}

/** How members are written in braces. */
interface Style {
  readonly isJson: boolean
  readonly colon: string
  /** Where each member has a line of its own: the characters before it, and how many more before those within. */
  readonly own: { readonly indent: number; readonly unit: number } | undefined
}

function styleOf({ text, lines, starts, bracesOf }: Source, braces: Braces): Style {
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
  source: Source,
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

const separator = ({ end }: Source, { own, colon }: Style): string =>
  own === undefined ? (colon === ':' ? ',' : ', ') : `,${end}${' '.repeat(own.indent)}`

/** Members as they are written in braces, without commas; undefined for one that only a block can hold. */
function membersIn(source: Source, tree: Tree, style: Style): string[] | undefined {
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

function leafIn(source: Source, leaf: Leaf, { isJson, colon, own }: Style): string | undefined {
  const { to, member, value, above } = leaf
  const key = to.at(-1) ?? ''
  if (member === undefined)
    return isJson ? `${JSON.stringify(key)}${colon}${JSON.stringify(value)}` : `${key}: ${flow(value)}`
  if (above.length > 0) return undefined
  return member.item === undefined
    ? inBraces(linesOf(source, leaf).join('\n'))
    : braceLines(source, member.item, colon).join(source.end + ' '.repeat(own?.indent ?? 0))
}
