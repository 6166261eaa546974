/**
 * One YAML document as kubectl reads it. The package `yaml` parses, with every scalar left as text; what
 * the text means is decided here, as decode.go of go.yaml.in/yaml/v2 2.4.3 does: aliases, merge keys,
 * keys that are not strings, and how much may come out of aliases.
 */
import { Composer, isAlias, isMap, isPair, isScalar, isSeq, Parser } from 'yaml'
import type { CST, ParsedNode } from 'yaml'
import { duplicateKey } from './json-text.ts'
import { maxDepth, ReadError, tooDeep } from './nodes.ts'
import type { Entry, Node, Note } from './nodes.ts'
import { jsonKey, jsonScalar, resolveScalar } from './yaml-scalars.ts'
import type { Resolved } from './yaml-scalars.ts'

export type YamlRead = { readonly node: Node; readonly notes: readonly Note[] }

/**
 * Reads the first document of `text`, which stands at `offset` in its file: like kubectl, what follows its end
 * is left unread (a note says so). A document without content is null. Throws ReadError.
 */
export function readYaml(text: string, offset: number): YamlRead {
  const reader = new Reader(offset)
  const control = controlPattern.exec(text)
  const tree = compose(text, offset, reader.notes)
  if (control) throw new ReadError('a control character is not allowed', offset + control.index)
  const node: Node = tree ? reader.read(tree, 1).node : { kind: 'scalar', offset, value: null }
  return { node, notes: reader.notes }
}

/** What goyaml.v2 does not accept anywhere (yaml_parser_update_buffer). */
const controlPattern = /[^\t\n\r\x20-\x7e\x85\xa0-\ufffd]|\ufeff/

const options = { schema: 'failsafe', merge: false, uniqueKeys: false, strict: true } as const

/** The tree of the first document, or undefined when there is no content. */
function compose(text: string, offset: number, notes: Note[]): ParsedNode | undefined {
  const composer = new Composer({ ...options, resolveKnownTags: false, prettyErrors: false })
  let begun = false
  // A lone CR ends a line for goyaml.v2; the yaml package knows only LF and CR LF.
  for (const token of new Parser().parse(text.replace(/\r(?!\n)/g, '\n'))) {
    if (begun && token.type !== 'error') {
      if (token.type === 'document')
        notes.push({ message: 'kubectl does not read what follows the end of the document', offset })
      break
    }
    begun = token.type === 'document'
    if (token.type === 'document') checkDepth(token, offset)
    for (const _ of composer.next(token));
  }
  const [document] = composer.end(true, text.length)
  const error = document?.errors[0]
  if (error) throw new ReadError(lowerFirst(error.message), offset + error.pos[0])
  return (document?.contents as ParsedNode | null | undefined) ?? undefined
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1)

/** Throws where the tokens nest too deep: composing them would exhaust the stack. */
function checkDepth(document: CST.Document, offset: number): void {
  let level: CST.Token[] = document.value ? [document.value] : []
  for (let depth = 1; level.length > 0; depth++) {
    const next: CST.Token[] = []
    for (const token of level) {
      if (!('items' in token)) continue
      if (depth > maxDepth) throw tooDeep(offset + token.offset)
      for (const item of token.items) {
        if ('key' in item && item.key) next.push(item.key)
        if (item.value) next.push(item.value)
      }
    }
    level = next
  }
}

/**
 * A node that was read: with how many nodes Go decodes for it (`size`, aliases written out), how deep it
 * nests, and, for a scalar, its Go type (a key needs it).
 */
type Sized = {
  readonly node: Node
  readonly size: number
  readonly height: number
  readonly scalar?: Resolved
}

type MapEntry = Entry & { readonly merged: boolean }

/** The state of decoding one document. */
class Reader {
  readonly notes: Note[] = []
  readonly #offset: number
  /** What each anchor names; undefined while the anchored node is still being read. */
  readonly #anchors = new Map<string, Sized | undefined>()
  #decodeCount = 0
  #aliasCount = 0

  constructor(offset: number) {
    this.#offset = offset
  }

  read(tree: ParsedNode | null, depth: number): Sized {
    const offset = this.#offset + (tree?.range[0] ?? 0)
    if (isAlias(tree)) return this.#alias(tree.source, offset, depth)
    this.#count(1, 0, offset)
    const anchor = tree && 'anchor' in tree ? tree.anchor : undefined
    if (anchor !== undefined) this.#anchors.set(anchor, undefined)
    const sized = this.#content(tree, offset, depth)
    if (anchor !== undefined) this.#anchors.set(anchor, sized)
    return sized
  }

  #content(tree: ParsedNode | null, offset: number, depth: number): Sized {
    if (isScalar(tree) || tree === null) return scalarNode(tree, offset)
    if (depth > maxDepth) throw tooDeep(offset)
    if (isSeq(tree)) return this.#list(tree.items as readonly (ParsedNode | null)[], offset, depth)
    if (isMap(tree)) return this.#map(tree.items as unknown as readonly PairTree[], offset, depth)
    throw new ReadError('this cannot stand here', offset)
  }

  #alias(name: string, offset: number, depth: number): Sized {
    const target = this.#anchors.get(name)
    if (!target)
      throw new ReadError(
        this.#anchors.has(name)
          ? `the anchor &${name} contains itself`
          : `there is no anchor &${name} before this`,
        offset,
      )
    if (depth + target.height > maxDepth + 1) throw tooDeep(offset)
    this.#count(1 + target.size, target.size, offset)
    return { ...target, node: { ...target.node, offset }, size: target.size + 1 }
  }

  /** Go's guard against texts that are small only because of their aliases ("excessive aliasing"). */
  #count(decoded: number, aliased: number, offset: number): void {
    this.#decodeCount += decoded
    this.#aliasCount += aliased
    if (this.#aliasCount <= 100 || this.#decodeCount <= 1000) return
    if (this.#aliasCount / this.#decodeCount > allowedAliasRatio(this.#decodeCount))
      throw new ReadError('aliases make up too much of the document', offset)
  }

  #list(trees: readonly (ParsedNode | null)[], offset: number, depth: number): Sized {
    const items: Node[] = []
    let size = 1
    let height = 0
    for (const tree of trees) {
      // A pair in a list (`[a: b]`) is a map of one member.
      const item = isPair(tree)
        ? this.#map(
            [tree as unknown as PairTree],
            this.#pairOffset(tree as unknown as PairTree, offset),
            depth + 1,
          )
        : this.read(tree, depth + 1)
      items.push(item.node)
      size += item.size
      height = Math.max(height, item.height)
    }
    return { node: { kind: 'list', offset, items }, size, height: height + 1 }
  }

  #pairOffset(pair: PairTree, otherwise: number): number {
    const start = pair.key?.range[0]
    return start === undefined ? otherwise : this.#offset + start
  }

  #map(pairs: readonly PairTree[], offset: number, depth: number): Sized {
    const entries = new Map<string, MapEntry>()
    let size = 1
    let height = 0
    for (const pair of pairs) {
      const keyOffset = this.#pairOffset(pair, offset)
      if (isMergeKey(pair.key)) {
        const merged = this.#merge(pair.value, entries, keyOffset, depth)
        size += merged.size
        height = Math.max(height, merged.height)
        continue
      }
      const key = this.read(pair.key, depth + 1)
      const name = keyName(key, keyOffset)
      const value = this.read(pair.value, depth + 1)
      const previous = entries.get(name)
      if (previous && !previous.merged) this.notes.push({ message: duplicateKey(name), offset: keyOffset })
      const node = isUnwritten(pair.value) ? { ...value.node, offset: keyOffset } : value.node
      entries.set(name, { keyOffset, node, merged: false })
      size += key.size + value.size
      height = Math.max(height, value.height)
    }
    return { node: { kind: 'map', offset, entries }, size, height: height + 1 }
  }

  /**
   * Puts what `<<` names among the entries, as Go does: at its place, so that it wins over keys before it. Of
   * several maps the first wins.
   */
  #merge(
    tree: ParsedNode | null,
    entries: Map<string, MapEntry>,
    keyOffset: number,
    depth: number,
  ): { size: number; height: number } {
    const trees = isSeq(tree) ? (tree.items as readonly (ParsedNode | null)[]) : [tree]
    let size = 0
    let height = 0
    const maps = trees.map((item) => {
      if (!isMap(item) && !isAlias(item)) throw new ReadError(mergeError, keyOffset)
      const merged = this.read(item as ParsedNode, depth)
      if (merged.node.kind !== 'map') throw new ReadError(mergeError, keyOffset)
      size += merged.size
      height = Math.max(height, merged.height - 1)
      return merged.node
    })
    for (const map of maps.toReversed())
      for (const [name, entry] of map.entries) {
        const previous = entries.get(name)
        if (previous && !previous.merged) this.notes.push({ message: mergeWins(name), offset: keyOffset })
        entries.set(name, { ...entry, merged: true })
      }
    return { size, height }
  }
}

/** The two sides of a pair as the composer leaves them. */
type PairTree = { readonly key: ParsedNode | null; readonly value: ParsedNode | null }

const mergeError = 'a merge ("<<") needs a map, or a list of maps'

const mergeWins = (name: string): string =>
  `the merge sets ${JSON.stringify(name)} again, and with kubectl it wins over the key before it`

/** A merge key is plain or tagged; a quoted "<<" is a key like any other. */
function isMergeKey(key: ParsedNode | null): boolean {
  if (!isScalar(key) || key.value !== '<<') return false
  return key.type === 'PLAIN' || key.tag !== undefined
}

/** Whether a value has no characters of its own: `key:` and nothing behind it. */
const isUnwritten = (tree: ParsedNode | null): boolean =>
  tree === null || (isScalar(tree) && tree.range[0] === tree.range[1])

/** Reads a scalar. Throws ReadError when its tag and its content do not go together. */
function scalarNode(tree: ParsedNode | null, offset: number): Sized {
  try {
    const text = isScalar(tree) ? String(tree.value ?? '') : ''
    const plain = !isScalar(tree) || tree.type === undefined || tree.type === 'PLAIN'
    const scalar = resolveScalar({ tag: tree?.tag ?? '', plain, text })
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
