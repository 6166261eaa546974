/**
 * A parsed document: data, with the place in the text of every part. Aliases share parts, so that a tree can be small
 * where its value is large.
 */
import { setOwn } from '../../rule/index.ts'

export type NodeKey = string | number

export type ScalarValue = null | boolean | number | string

export interface ScalarNode {
  readonly kind: 'scalar'
  readonly offset: number
  readonly value: ScalarValue
}
export interface ListNode {
  readonly kind: 'list'
  readonly offset: number
  readonly items: readonly TextNode[]
}
export interface MapNode {
  readonly kind: 'map'
  readonly offset: number
  readonly entries: ReadonlyMap<string, NodeEntry>
}
export type TextNode = ScalarNode | ListNode | MapNode

/** A member of a map: the place of its key, and its value. */
export interface NodeEntry {
  readonly keyOffset: number
  readonly node: TextNode
}

/** A note on something that kubectl accepts silently, and that is probably a mistake. */
export interface Note {
  readonly message: string
  readonly offset: number
}

/** Thrown for text that cannot be read; the offset counts in the whole (normalised) text of the file. */
export class ReadError extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/**
 * How deep lists and maps may nest: the outermost is 1. The YAML package calls itself for each level, at over 1 KB of
 * stack before it is compiled, and Node gives it just under 1 MB.
 */
export const maxDepth = 500

export const tooDeep = (offset: number): ReadError =>
  new ReadError(`lists and maps nest deeper than ${maxDepth} levels`, offset)

/**
 * The data of a node; `depth` is that of its nesting. Parts that aliases share are copied. Throws ReadError for a
 * number that JSON cannot hold, and for a value that nests too deep.
 */
export function toValue(node: TextNode, depth = 1): unknown {
  if (depth > maxDepth && node.kind !== 'scalar') throw tooDeep(node.offset)
  switch (node.kind) {
    case 'scalar':
      if (typeof node.value === 'number' && !Number.isFinite(node.value))
        throw new ReadError(
          'the number is infinite, too large or not a number: JSON has no word for it',
          node.offset,
        )
      return node.value
    case 'list':
      return node.items.map((item) => toValue(item, depth + 1))
    case 'map': {
      const object: Record<string, unknown> = {}
      for (const [key, entry] of node.entries) setOwn(object, key, toValue(entry.node, depth + 1))
      return object
    }
  }
}

/** The node of a member or an item; undefined where there is none. */
export function child(node: TextNode, segment: NodeKey): NodeEntry | undefined {
  if (node.kind === 'map') return node.entries.get(String(segment))
  if (node.kind !== 'list' || typeof segment !== 'number') return undefined
  const item = node.items[segment]
  return item && { keyOffset: item.offset, node: item }
}

/**
 * The offset of the part of `root` that the segments name: of its key, or of its value. An item of a list is its own
 * key, and a value that is not written (`key:`) has the place of its key. A part that does not exist has the place of
 * the nearest parent that does: its key, or the start of the document.
 */
export function locateNode(root: TextNode, segments: readonly NodeKey[], target: 'key' | 'value'): number {
  let keyOffset = root.offset
  let node = root
  for (const segment of segments) {
    const next = child(node, segment)
    if (!next) return keyOffset
    keyOffset = next.keyOffset
    node = next.node
  }
  return target === 'key' ? keyOffset : node.offset
}
