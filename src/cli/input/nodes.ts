/**
 * A parsed document: its data, with the offset of every key and value in the text. YAML aliases share nodes, so a small
 * tree may represent a large value.
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

/** A member of a map: the offset of its key, and the node of its value. */
export interface NodeEntry {
  readonly keyOffset: number
  readonly node: TextNode
}

/** A note about something that kubectl accepts silently, but that is probably a mistake. */
export interface Note {
  readonly message: string
  readonly offset: number
}

/** Thrown for text that cannot be read; the offset is in the complete (normalised) text of the file. */
export class ReadError extends Error {
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/**
 * The deepest nesting of lists and maps; the outermost has depth 1. The package `yaml` recurses for each level. Until
 * V8 has compiled the package, a level takes over 1 KB of Node's stack, which is just under 1 MB.
 */
export const maxDepth = 500

export const tooDeep = (offset: number): ReadError =>
  new ReadError(`lists and maps nest deeper than ${maxDepth} levels`, offset)

/**
 * The JSON data of a node; `depth` is its nesting depth. Nodes that YAML aliases share are copied. Throws ReadError for
 * a number that JSON cannot represent, and for too deep nesting.
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

/** The member of a map with this key, or the item of a list with this index; undefined when it does not exist. */
export function child(node: TextNode, segment: NodeKey): NodeEntry | undefined {
  if (node.kind === 'map') return node.entries.get(String(segment))
  if (node.kind !== 'list' || typeof segment !== 'number') return undefined
  const item = node.items[segment]
  return item && { keyOffset: item.offset, node: item }
}

/**
 * The offset in the text of the key or the value at this path in `root`. An item of a list has the same offset for
 * both; a value that is not written (`key:`) has the offset of its key. If the path does not exist: the offset of the
 * key of the nearest existing parent, or the start of the document.
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
