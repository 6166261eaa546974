/**
 * Computes the changes of a text for a fix that moves members (`Moving`). The source of each member moves with its
 * comments: complete lines in block style, or the text between two commas in braces. All other text is kept. As with
 * all edits of text, the result is a guess: the caller parses the new text and checks its values.
 */
import { isObject, type Moving, valueAt } from '../../rule/index.ts'
import { type BracedItem, type Braces, cutsOf } from './braces.ts'
import type { TextPlace } from '../input/load.ts'
import { additionsFor, type MovedLeaf } from './move-additions.ts'
import {
  type EditedSource,
  indentOf,
  isBlank,
  keyOf,
  type Member,
  memberAt,
  numbered,
  type OffsetOf,
  rangeOf,
  type MoveSource,
  sourceOf,
  type KeyPath,
} from './move-source.ts'
import { type Splice, spliced } from './splices.ts'

/** The changes of the text, sorted by offset; undefined when the YAML style does not allow moving the members. */
export function movesIn(
  read: EditedSource,
  edit: Moving & TextPlace,
  offsetOf: OffsetOf,
): readonly Splice[] | undefined {
  const source = sourceOf(read, edit, offsetOf)
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
  // The removed maps that are not inside another removed map.
  const whole = emptied
    .filter((path) => goneAround(path, gone) === undefined)
    .map((path) => ({ path, member: memberAt(source, path) }))
  const alone = taken.filter(({ around }) => around === undefined)
  const removed = [...whole, ...alone].map(({ member }) => member)
  const cuts = cutsFor(source, removed)
  if (cuts === undefined) return undefined
  const within = Map.groupBy(taken, ({ around }) => around)
  const leaves: MovedLeaf[] = edit.adds.map(({ at, value }) => ({ to: at, value, above: [] }))
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
  // Of several changes at the same offset, additions come before removals, and additions to deeper maps come first.
  return additions && [...additions, ...cuts].toSorted((a, b) => a.from - b.from || a.length - b.length)
}

/** The key (`keyOf`) of the outermost removed map that contains the value at a path; undefined when none does. */
function goneAround(path: KeyPath, gone: ReadonlySet<string>): string | undefined {
  for (let length = 1; length < path.length; length++) {
    const key = keyOf(path.slice(0, length))
    if (gone.has(key)) return key
  }
  return undefined
}

/** The paths of the maps that are empty after these members are removed. */
function emptiedBy(value: unknown, taken: readonly KeyPath[]): KeyPath[] {
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

/** The comments in a removed map that do not belong to a moved member. */
function commentsBeside(
  source: MoveSource,
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
 * The changes of the text that remove members. If a removed line began with the dash of a list item, the next member
 * gets the dash. Undefined when a member cannot be removed.
 */
function cutsFor(source: MoveSource, members: readonly (Member | undefined)[]): Splice[] | undefined {
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
