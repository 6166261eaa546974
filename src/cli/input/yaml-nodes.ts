/**
 * Parses one YAML document as kubectl does. The package `yaml` composes a tree with every scalar as text
 * (`yaml-tree.ts`); this module interprets the tree as kubectl's library (go.yaml.in/yaml/v2) does, with aliases,
 * merge keys and keys that are not strings. Where the package parses differently from the library, this module
 * corrects the result; test/golden/yaml-scalars.json has the cases, and docs/parity.md says what is not corrected.
 */
import { isAlias, isMap, isScalar, isSeq, Scalar } from 'yaml'
import type { Alias, ParsedNode, YAMLMap } from 'yaml'
import { duplicateKey } from './json-text.ts'
import { ReadError, toValue } from './nodes.ts'
import type { NodeEntry, TextNode, Note } from './nodes.ts'
import { jsonKey, jsonScalar, resolveScalar } from './yaml-scalars.ts'
import type { Resolved } from './yaml-scalars.ts'
import { composed, keyOnOneLine, tabIndents } from './yaml-tree.ts'

export interface YamlRead {
  readonly node: TextNode
  readonly notes: readonly Note[]
}

/**
 * Parses the first document of `text`, which begins at `offset` in its file. As in kubectl, text after the end of the
 * document is dropped, with a note. A document without content is null. Throws ReadError.
 */
export function readYaml(text: string, offset: number): YamlRead {
  if (text.startsWith('\ufeff')) return readYaml(text.slice(1), offset + 1)
  const control = controlPattern.exec(text)
  if (control) throw new ReadError('control characters are not allowed; is it UTF-8?', offset + control.index)
  // As in kubectl's library, a lone CR and NEL become line breaks, but the Unicode line separators do not.
  const lines = text.replace(/\r(?!\n)|\x85/g, '\n')
  const { root, unread } = composed(lines, offset)
  const reader = new Reader(lines, offset)
  const node: TextNode = root ? reader.read(root).node : { kind: 'scalar', offset, value: null }
  const more = unread === undefined ? [] : [{ message: unreadText, offset: offset + unread }]
  return { node, notes: [...reader.notes, ...more] }
}

/** The value of a YAML text, parsed as the operator parses it. Throws ReadError. */
export const yamlValue = (text: string): unknown => toValue(readYaml(text, 0).node)

const unreadText = 'kubectl does not read what follows the end of the document'

/** Characters that kubectl's library refuses anywhere in YAML. */
const controlPattern = /[^\t\n\r\x20-\x7e\x85\xa0-\ufffd]/

/** A parsed node; a scalar also has its Go type, which determines its name in JSON when the scalar is a key. */
interface Sized {
  readonly node: TextNode
  /** The number of nodes in the parsed node, after the expansion of aliases. */
  readonly size: number
  readonly scalar?: Resolved
}

type MapEntry = NodeEntry & { readonly merged: boolean }

/** The most nodes that a document may have after the expansion of aliases; kubectl has a limit too. */
const maxAliased = 1_000_000

/** Decodes the tree of one YAML document. */
class Reader {
  readonly notes: Note[] = []
  readonly #text: string
  readonly #hasTabs: boolean
  readonly #offset: number
  /** The nodes with anchors, by name; undefined while such a node is being parsed. */
  readonly #anchors = new Map<string, Sized | undefined>()
  #aliased = 0
  /** The column, from 0, of the innermost block collection that contains the current node; -1 outside of all. */
  #indent = -1
  /** Whether the current node is inside a flow collection (`[…]` or `{…}`) in the innermost block collection. */
  #inFlow = false

  constructor(text: string, offset: number) {
    this.#text = text
    this.#hasTabs = text.includes('\t')
    this.#offset = offset
  }

  /** Reads a node. Throws ReadError. */
  read(tree: ParsedNode): Sized {
    const offset = this.#offset + tree.range[0]
    if (isAlias(tree)) return this.#alias(tree.source, offset)
    const { anchor } = tree
    if (anchor === undefined) return this.#content(tree, offset)
    if (!namePattern.test(anchor))
      throw new ReadError('an anchor needs a name of letters, digits, "-" and "_"', offset)
    this.#anchors.set(anchor, undefined)
    const sized = this.#content(tree, offset)
    this.#anchors.set(anchor, sized)
    return sized
  }

  #content(tree: Exclude<ParsedNode, Alias.Parsed>, offset: number): Sized {
    if (isScalar(tree)) return this.#scalar(tree, offset)
    const around = [this.#indent, this.#inFlow] as const
    const [start] = tree.range
    if (!tree.flow) this.#indent = start - 1 - this.#text.lastIndexOf('\n', start - 1)
    this.#inFlow = tree.flow === true
    const sized = isMap(tree) ? this.#map(tree, offset) : this.#list(tree.items, offset)
    ;[this.#indent, this.#inFlow] = around
    return sized
  }

  #list(trees: readonly ParsedNode[], offset: number): Sized {
    const items = trees.map((item) => this.read(item))
    return { node: { kind: 'list', offset, items: items.map((item) => item.node) }, size: sum(items) }
  }

  #scalar(tree: Scalar.Parsed, offset: number): Sized {
    const [start, end] = tree.range
    const written = this.#text.slice(start, end)
    if (tree.type === 'QUOTE_DOUBLE' && badEscape.test(written))
      throw new ReadError('found an escape that kubectl does not know', offset)
    if (tree.type === 'QUOTE_DOUBLE' && escapedLineEnd.test(written))
      throw new ReadError('an empty line behind a "\\" at the end of a line: write \\n', offset)
    if (tree.type === 'BLOCK_LITERAL' || tree.type === 'BLOCK_FOLDED') this.#checkBlockTabs(start, written)
    if (tree.type === 'PLAIN' && written !== '') {
      if (this.#inFlow && written.includes('?')) throw new ReadError(flowQuestion, offset)
      if (this.#inFlow && written.startsWith(':')) throw new ReadError(flowColonFirst, offset)
      this.#checkLineStarts(start, end, this.#indent + 1)
    }
    return scalarNode(tree, offset)
  }

  /** Whether the sticky pattern matches the text at this offset. */
  #isBefore(pattern: RegExp, from: number): boolean {
    pattern.lastIndex = from
    return pattern.test(this.#text)
  }

  /** Throws where a tab is in the indentation of a block scalar, or before its first text. */
  #checkBlockTabs(start: number, written: string): void {
    const [header = '', digit = ''] = /^[|>][+-]?(\d?)[^\n]*/.exec(written) ?? []
    blankLines.lastIndex = start + header.length + 1
    const first = blankLines.lastIndex + (blankLines.exec(this.#text)?.[0].length ?? 0)
    if (digit === '' && this.#text[first] === '\t') throw new ReadError(tabIndents, this.#offset + first)
    const indent =
      digit === ''
        ? first - 1 - this.#text.lastIndexOf('\n', first - 1)
        : Math.max(this.#indent, 0) + Number(digit)
    this.#checkLineStarts(start, start + written.length, Math.max(indent, this.#indent + 1))
  }

  /** Throws where a line that begins between `start` and the first text after `end` has a tab before column `least`. */
  #checkLineStarts(start: number, end: number, least: number): void {
    if (!this.#hasTabs) return
    const behind = /[^ \t\n]/g
    behind.lastIndex = end
    const until = behind.exec(this.#text)?.index ?? this.#text.length
    for (const { 0: lineStart, index } of this.#text.slice(start, until).matchAll(/\n *\t/g)) {
      if (lineStart.length - 2 < least)
        throw new ReadError(tabIndents, this.#offset + start + index + lineStart.length - 1)
    }
  }

  #alias(name: string, offset: number): Sized {
    const sized = this.#anchors.get(name)
    if (!sized && this.#anchors.has(name))
      throw new ReadError(`anchor '${name}' value contains itself`, offset)
    if (!sized) throw new ReadError(`unknown anchor '${name}' referenced`, offset)
    this.#aliased += sized.size
    if (this.#aliased > maxAliased) throw new ReadError('document contains excessive aliasing', offset)
    return { ...sized, node: { ...sized.node, offset } }
  }

  #map(tree: YAMLMap.Parsed, offset: number): Sized {
    const entries = new Map<string, MapEntry>()
    let size = 1
    for (const { key, value } of tree.items)
      size += isMergeKey(key) ? this.#merge(key, value, entries) : this.#member(key, value, entries)
    return { node: { kind: 'map', offset, entries }, size }
  }

  /** Adds a key and its value to the entries of a map; returns the number of nodes in both. */
  #member(keyTree: ParsedNode, valueTree: ParsedNode | null, entries: Map<string, MapEntry>): number {
    const keyOffset = this.#offset + keyTree.range[0]
    if (isScalar(keyTree) && keyTree.type === 'PLAIN' && this.#isBefore(flowColon, keyTree.range[1]))
      throw new ReadError('kubectl takes the ":" for a part of the key: put a space behind it', keyOffset)
    if (this.#inFlow && isScalar(keyTree)) this.#checkKeyLine(keyTree)
    const key = this.read(keyTree)
    const name = keyName(key, keyOffset)
    if (key.scalar?.type === 'bool') this.notes.push({ message: boolKey(keyTree, name), offset: keyOffset })
    const value = valueTree ? this.read(valueTree) : scalarNode(new Scalar(null), keyOffset)
    const previous = entries.get(name)
    if (previous && !previous.merged)
      this.notes.push({ message: duplicateKey(name) + separatorHint(name), offset: keyOffset })
    const unwritten = valueTree?.range[0] === valueTree?.range[1]
    const node = unwritten ? { ...value.node, offset: keyOffset } : value.node
    entries.set(name, { keyOffset, node, merged: false })
    return key.size + value.size
  }

  /**
   * Throws when a key in a flow collection, without "?", is too long or not on one line with its anchor, tag and ":".
   */
  #checkKeyLine({ anchor, tag, range: [start, end] }: Scalar.Parsed): void {
    blankOrComments.lastIndex = end
    const colon = end + (blankOrComments.exec(this.#text)?.[0].length ?? 0)
    const begin = Math.min(
      anchor === undefined ? start : this.#text.lastIndexOf('&', start),
      tag === undefined ? start : startOfTag(this.#text, start),
    )
    if (this.#text[colon] !== ':' || this.#text.slice(0, begin).trimEnd().endsWith('?')) return
    if (colon - begin > longestKey) throw new ReadError(keyTooLong, this.#offset + start)
    if (this.#text.slice(begin, colon).includes('\n')) throw new ReadError(keyOnOneLine, this.#offset + start)
  }

  /**
   * Adds the entries of a merge key `<<` at its position, as kubectl's library does, so that they override earlier
   * keys. If `<<` names several maps, the first map takes precedence.
   */
  #merge(keyTree: ParsedNode, tree: ParsedNode | null, entries: Map<string, MapEntry>): number {
    const offset = this.#offset + keyTree.range[0]
    const maps = (isSeq(tree) ? tree.items : [tree]).map((item) => {
      const merged = isMap(item) || isAlias(item) ? this.read(item) : undefined
      if (merged?.node.kind !== 'map') throw new ReadError(mergeError, offset)
      return { size: merged.size, node: merged.node }
    })
    for (const { node } of maps.toReversed())
      for (const [name, entry] of node.entries) {
        const previous = entries.get(name)
        if (previous && !previous.merged) this.notes.push({ message: mergeWins(name), offset })
        entries.set(name, { ...entry, merged: true })
      }
    return sum(maps)
  }
}

const sum = (parts: readonly { readonly size: number }[]): number =>
  parts.reduce((total, part) => total + part.size, 1)

/** A hint for a second resource that begins without a separator, and so overrides the keys of the first. */
const separatorHint = (key: string): string =>
  key === 'apiVersion' ? '; is a line with --- missing before it?' : ''

/** The offset of the last tag before `end`, which begins with "!" or "!!". */
function startOfTag(text: string, end: number): number {
  const last = text.lastIndexOf('!', end)
  return text[last - 1] === '!' ? last - 1 : last
}

const namePattern = /^[-\w]+$/

/** A ":" after a plain key in a flow collection; the package `yaml` ends the key there, kubectl's library does not. */
const flowColon = /[ \t\n]*:[,[\]{}]/y

const blankLines = /(?: *\n)* */y
const blankOrComments = /(?:[ \t\n]|#[^\n]*(?:\n|$))*/y

/** The most characters of a key in a flow collection, as in the library of kubectl. */
const longestKey = 1024
const keyTooLong = `a key has at most ${longestKey} characters`

const flowColonFirst = 'kubectl takes a ":" between brackets for the end of a key: quote the text'

const flowQuestion = 'kubectl takes a "?" between brackets for the start of a key: quote the text'

/** Escapes in JSON that YAML 1.1 does not have. */
const badEscape = /(?:^|[^\\])(?:\\\\)*\\(?:\/|(?:u|U0000)[dD][89a-fA-F])/

/** An escaped line end followed by an empty line; the package `yaml` drops the empty line. */
const escapedLineEnd = /(?:^|[^\\])(?:\\\\)*\\\n[ \t]*\n/

const boolKey = (key: ParsedNode, name: string): string =>
  `kubectl takes the key ${isScalar(key) ? key.source : ''} for a boolean, and names it "${name}": quote it`

const mergeError = 'map merge requires map or sequence of maps as the value'

const mergeWins = (name: string): string =>
  `the merge sets ${JSON.stringify(name)} again: kubectl lets it win over the key before it`

/** Whether a key is a merge key: plain, or with the tag of merge keys. A quoted "<<" is an ordinary key. */
const isMergeKey = (key: ParsedNode): boolean =>
  isScalar(key) && key.source === '<<' && (isImplicit(key) || key.tag === 'tag:yaml.org,2002:merge')

/** Whether the content of a scalar determines its type: when the scalar is plain, or has the tag "!". */
const isImplicit = ({ tag, type }: Scalar): boolean =>
  tag === '!' || (tag === undefined && (type ?? 'PLAIN') === 'PLAIN')

/** Parses a scalar. Throws ReadError when its content does not match its tag. */
function scalarNode(tree: Scalar, offset: number): Sized {
  const text = { tag: tree.tag ?? '', implicit: isImplicit(tree), text: tree.source ?? '' }
  const scalar = errorsAt(offset, () => resolveScalar(text))
  return { node: { kind: 'scalar', offset, value: jsonScalar(scalar) }, size: 1, scalar }
}

/** The JSON name of a key. Throws ReadError for a key that JSON cannot have. */
function keyName({ scalar }: Sized, offset: number): string {
  if (!scalar) throw new ReadError('a key cannot be a map or a list', offset)
  return errorsAt(offset, () => jsonKey(scalar))
}

function errorsAt<T>(offset: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new ReadError((error as Error).message, offset)
  }
}
