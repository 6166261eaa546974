/**
 * One YAML document as kubectl reads it: a port of decode.go of go.yaml.in/yaml/v2 2.4.3 (aliases, merge keys,
 * keys that are not strings, how much may come out of aliases) with the conversion of keys to JSON.
 */
import { duplicateKey } from './json-text.ts'
import { maxDepth, ReadError, tooDeep } from './nodes.ts'
import type { Entry, Node, Note } from './nodes.ts'
import { jsonKey, jsonScalar, resolveScalar } from './yaml-scalars.ts'
import type { Resolved } from './yaml-scalars.ts'
import { parseYaml } from './yaml-parser.ts'
import type { YamlPair, YamlScalar, YamlText, YamlTree } from './yaml-parser.ts'

export interface YamlRead {
  readonly node: Node
  readonly notes: readonly Note[]
}

/**
 * Reads the first document of `text`, which stands at `offset` in its file: like kubectl, what follows its end
 * is left unread (a note says so). A document without content is null. Throws ReadError.
 */
export function readYaml(text: string, offset: number): YamlRead {
  if (text.startsWith('\ufeff')) return readYaml(text.slice(1), offset + 1)
  const control = controlPattern.exec(text)
  if (control) throw new ReadError('control characters are not allowed', offset + control.index)
  const { root, unread } = parse(text, offset)
  const reader = new Reader(offset)
  const node: Node = root ? reader.read(root, 1).node : { kind: 'scalar', offset, value: null }
  const more = unread === undefined ? [] : [{ message: unreadText, offset: offset + unread }]
  return { node, notes: [...reader.notes, ...more] }
}

const unreadText = 'kubectl does not read what follows the end of the document'

/** What the library does not accept anywhere (readerc.go). */
const controlPattern = /[^\t\n\r\x20-\x7e\x85\xa0-\ufffd]/

/** parseYaml, with the offsets of its errors in the file. */
function parse(text: string, offset: number): YamlText {
  try {
    return parseYaml(text)
  } catch (error) {
    if (error instanceof ReadError) throw new ReadError(error.message, offset + error.offset)
    throw error
  }
}

/**
 * A node that was read: with how many nodes Go decodes for it (`size`, aliases written out), how deep it
 * nests, and, for a scalar, its Go type (a key needs it).
 */
interface Sized {
  readonly node: Node
  readonly size: number
  readonly height: number
  readonly scalar?: Resolved
}

type MapEntry = Entry & { readonly merged: boolean }

/** What an anchor names: nothing while the anchored node is still being read. */
interface Anchor {
  sized?: Sized
}

/** The state of decoding one document. */
class Reader {
  readonly notes: Note[] = []
  readonly #offset: number
  readonly #anchors = new Map<string, Anchor>()
  #decodeCount = 0
  #aliasCount = 0

  constructor(offset: number) {
    this.#offset = offset
  }

  /** Reads a node at a depth (the root is 1). Throws ReadError. */
  read(tree: YamlTree, depth: number): Sized {
    const offset = this.#offset + tree.offset
    if (tree.kind === 'alias') return this.#alias(tree.name, offset, depth)
    this.#count(1, 0, offset)
    if (tree.anchor === undefined) return this.#content(tree, offset, depth)
    const anchor: Anchor = {}
    this.#anchors.set(tree.anchor, anchor)
    return (anchor.sized = this.#content(tree, offset, depth))
  }

  #content(tree: Exclude<YamlTree, { kind: 'alias' }>, offset: number, depth: number): Sized {
    if (tree.kind === 'scalar') return scalarNode(tree, offset)
    if (tree.kind === 'mapping') return this.#map(tree.pairs, offset, depth)
    const items = tree.items.map((item) => this.read(item, depth + 1))
    const node = { kind: 'list', offset, items: items.map((item) => item.node) } as const
    return { node, size: sum(items), height: 1 + highest(items) }
  }

  #alias(name: string, offset: number, depth: number): Sized {
    const anchor = this.#anchors.get(name)
    if (!anchor) throw new ReadError(`unknown anchor '${name}' referenced`, offset)
    const { sized } = anchor
    if (!sized) throw new ReadError(`anchor '${name}' value contains itself`, offset)
    if (depth + sized.height > maxDepth + 1) throw tooDeep(offset)
    this.#count(1 + sized.size, sized.size, offset)
    return { ...sized, node: { ...sized.node, offset }, size: sized.size + 1 }
  }

  /** The library's guard against texts that are small only because of their aliases. */
  #count(decoded: number, aliased: number, offset: number): void {
    this.#decodeCount += decoded
    this.#aliasCount += aliased
    if (this.#aliasCount <= 100 || this.#decodeCount <= 1000) return
    if (this.#aliasCount / this.#decodeCount > allowedAliasRatio(this.#decodeCount))
      throw new ReadError('document contains excessive aliasing', offset)
  }

  #map(pairs: readonly YamlPair[], offset: number, depth: number): Sized {
    const entries = new Map<string, MapEntry>()
    let size = 1
    let height = 0
    for (const { key, value } of pairs) {
      const keyOffset = this.#offset + key.offset
      const isMerge = isMergeKey(key)
      const read = isMerge
        ? this.#merge(value, entries, keyOffset, depth)
        : this.#member(key, value, entries, keyOffset, depth)
      size += read.size
      height = Math.max(height, read.height)
    }
    return { node: { kind: 'map', offset, entries }, size, height: height + 1 }
  }

  #member(
    keyTree: YamlTree,
    valueTree: YamlTree,
    entries: Map<string, MapEntry>,
    keyOffset: number,
    depth: number,
  ): Extent {
    const key = this.read(keyTree, depth + 1)
    const name = keyName(key, keyOffset)
    if (key.scalar?.type === 'bool') this.notes.push({ message: boolKey(keyTree, name), offset: keyOffset })
    const value = this.read(valueTree, depth + 1)
    const previous = entries.get(name)
    if (previous && !previous.merged) this.notes.push({ message: duplicateKey(name), offset: keyOffset })
    const unwritten = valueTree.kind === 'scalar' && !valueTree.written
    const node = unwritten ? { ...value.node, offset: keyOffset } : value.node
    entries.set(name, { keyOffset, node, merged: false })
    return { size: key.size + value.size, height: value.height }
  }

  /**
   * Puts what `<<` names among the entries, as the library does: at its place, so that it wins over the keys
   * before it. Of several maps the first wins.
   */
  #merge(tree: YamlTree, entries: Map<string, MapEntry>, keyOffset: number, depth: number): Extent {
    const trees = tree.kind === 'sequence' ? tree.items : [tree]
    const maps = trees.map((item) => {
      const merged = item.kind === 'mapping' || item.kind === 'alias' ? this.read(item, depth) : undefined
      if (merged?.node.kind !== 'map') throw new ReadError(mergeError, keyOffset)
      return { size: merged.size, height: merged.height - 1, node: merged.node }
    })
    for (const { node } of maps.toReversed())
      for (const [name, entry] of node.entries) {
        const previous = entries.get(name)
        if (previous && !previous.merged) this.notes.push({ message: mergeWins(name), offset: keyOffset })
        entries.set(name, { ...entry, merged: true })
      }
    return { size: sum(maps) - 1, height: highest(maps) }
  }
}

/** How many nodes are decoded for something, and how deep it nests. */
interface Extent {
  readonly size: number
  readonly height: number
}

const sum = (parts: readonly Extent[]): number => parts.reduce((total, part) => total + part.size, 1)
const highest = (parts: readonly Extent[]): number =>
  parts.reduce((height, part) => Math.max(height, part.height), 0)

const boolKey = (key: YamlTree, name: string): string =>
  `kubectl takes the key ${key.kind === 'scalar' ? key.text : ''} for a boolean, and names it "${name}": quote it`

const mergeError = 'map merge requires map or sequence of maps as the value'

const mergeWins = (name: string): string =>
  `the merge sets ${JSON.stringify(name)} again: kubectl lets it win over the key before it`

/** A merge key is plain, or tagged as one; a quoted "<<" is a key like any other. */
const isMergeKey = (key: YamlTree): boolean =>
  key.kind === 'scalar' && key.text === '<<' && (key.implicit || key.tag === 'tag:yaml.org,2002:merge')

/** Reads a scalar. Throws ReadError when its tag and its content do not go together. */
function scalarNode(tree: YamlScalar, offset: number): Sized {
  try {
    const scalar = resolveScalar(tree)
    return { node: { kind: 'scalar', offset, value: jsonScalar(scalar) }, size: 1, height: 0, scalar }
  } catch (error) {
    throw new ReadError((error as Error).message, offset)
  }
}

/** The JSON name of a key. Throws ReadError for a key that JSON cannot have. */
function keyName(key: Sized, offset: number): string {
  if (!key.scalar) throw new ReadError('a key cannot be a map or a list', offset)
  try {
    return jsonKey(key.scalar)
  } catch (error) {
    throw new ReadError((error as Error).message, offset)
  }
}

const ratioLow = 400_000
const ratioHigh = 4_000_000

/** How much of what is decoded may come from aliases: 99 % of small documents, 10 % of huge ones. */
function allowedAliasRatio(decodeCount: number): number {
  if (decodeCount <= ratioLow) return 0.99
  if (decodeCount >= ratioHigh) return 0.1
  return 0.99 - 0.89 * ((decodeCount - ratioLow) / (ratioHigh - ratioLow))
}
