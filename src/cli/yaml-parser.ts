/**
 * The tree of a YAML text: a port of parserc.go of go.yaml.in/yaml/v2 2.4.3 (libyaml), written as recursive
 * descent. Error texts are the library's, whose licence is at the top of yaml-scanner.ts.
 */
import { maxDepth, ReadError, tooDeep } from './nodes.ts'
import { Scanner } from './yaml-scanner.ts'
import type { Token, TokenType } from './yaml-scanner.ts'

export interface YamlScalar {
  readonly kind: 'scalar'
  readonly offset: number
  readonly anchor: string | undefined
  /** The tag in its long form, or empty. */
  readonly tag: string
  /** Whether its type is to be found out from its content: a plain scalar, or one with the tag "!". */
  readonly implicit: boolean
  readonly text: string
  /** Whether there are characters of it in the text. */
  readonly written: boolean
}
export interface YamlAlias {
  readonly kind: 'alias'
  readonly offset: number
  readonly name: string
}
export interface YamlSequence {
  readonly kind: 'sequence'
  readonly offset: number
  readonly anchor: string | undefined
  readonly items: readonly YamlTree[]
}
export interface YamlMapping {
  readonly kind: 'mapping'
  readonly offset: number
  readonly anchor: string | undefined
  readonly pairs: readonly YamlPair[]
}
export type YamlTree = YamlScalar | YamlAlias | YamlSequence | YamlMapping
export interface YamlPair {
  readonly key: YamlTree
  readonly value: YamlTree
}

/** What a text holds: its first document, and where something follows that no reader of one document sees. */
export interface YamlText {
  readonly root: YamlTree | undefined
  readonly unread: number | undefined
}

/** Parses the first document of a text. Throws ReadError with an offset into the text. */
export function parseYaml(text: string): YamlText {
  const scanner = new Scanner(text)
  const first = scanner.peek()
  if (first.type === 'stream-end') return { root: undefined, unread: undefined }
  if (first.type === 'directive')
    throw new ReadError('kubectl takes no directive: "---" ends its document at once', first.offset)
  const parser = new Parser(scanner)
  const root = parser.document()
  const end = scanner.peek()
  if (end.type === 'stream-end') return { root, unread: undefined }
  if (end.type !== 'document-end') return { root, unread: end.offset }
  scanner.skip()
  return { root, unread: contentAfter(scanner) }
}

/** Where content follows the end of a document: kubectl never looks, so an error there is content, too. */
function contentAfter(scanner: Scanner): number | undefined {
  try {
    const next = scanner.peek()
    return next.type === 'stream-end' ? undefined : next.offset
  } catch (error) {
    if (error instanceof ReadError) return error.offset
    throw error
  }
}

const flowStarts: ReadonlySet<TokenType> = new Set(['flow-sequence-start', 'flow-mapping-start'])
const blockStarts: ReadonlySet<TokenType> = new Set(['block-sequence-start', 'block-mapping-start'])

/** The anchor and the tag that stand before a node. */
interface Properties {
  readonly offset: number
  readonly anchor: string | undefined
  readonly tag: string
}

class Parser {
  readonly #scanner: Scanner

  constructor(scanner: Scanner) {
    this.#scanner = scanner
  }

  document(): YamlTree {
    if (this.#peek().type !== 'document-start') return this.#node(1, true, false)
    this.#skip()
    return this.#at('directive', 'document-start', 'document-end', 'stream-end')
      ? unwritten(this.#peek().offset)
      : this.#node(1, true, false)
  }

  #peek(): Token {
    return this.#scanner.peek()
  }

  #skip(): void {
    this.#scanner.skip()
  }

  #at(...types: TokenType[]): boolean {
    return types.includes(this.#peek().type)
  }

  #take(type: TokenType): Token | undefined {
    const token = this.#peek()
    if (token.type !== type) return undefined
    this.#skip()
    return token
  }

  /** A node: in a block or in a flow, and perhaps a list that is not indented (`key:` above `- item`). */
  #node(depth: number, block: boolean, indentless: boolean): YamlTree {
    const alias = this.#take('alias')
    if (alias) return { kind: 'alias', offset: alias.offset, name: alias.value }
    const properties = this.#properties()
    const token = this.#peek()
    const { type, offset } = token
    const { anchor, tag } = properties
    if (type === 'scalar') {
      this.#skip()
      const implicit = (tag === '' && token.plain) || tag === '!'
      return { kind: 'scalar', offset, anchor, tag, implicit, text: token.value, written: true }
    }
    if (flowStarts.has(type) || (block && blockStarts.has(type)) || (indentless && type === 'block-entry')) {
      if (depth > maxDepth) throw tooDeep(offset)
      return this.#collection(type, offset, anchor, depth)
    }
    if (anchor === undefined && tag === '') throw new ReadError('did not find expected node content', offset)
    return { ...unwritten(properties.offset), anchor, tag, implicit: tag === '' }
  }

  #collection(type: TokenType, offset: number, anchor: string | undefined, depth: number): YamlTree {
    switch (type) {
      case 'flow-sequence-start':
        return { kind: 'sequence', offset, anchor, items: this.#flowSequence(offset, depth) }
      case 'flow-mapping-start':
        return { kind: 'mapping', offset, anchor, pairs: this.#flowMapping(offset, depth) }
      case 'block-mapping-start':
        return { kind: 'mapping', offset, anchor, pairs: this.#blockMapping(depth) }
      case 'block-sequence-start':
        return { kind: 'sequence', offset, anchor, items: this.#blockSequence(depth) }
      default:
        return { kind: 'sequence', offset, anchor, items: this.#indentlessSequence(depth) }
    }
  }

  #properties(): Properties {
    const { offset } = this.#peek()
    let anchor = this.#take('anchor')
    const tag = this.#take('tag')
    if (!anchor && tag) anchor = this.#take('anchor')
    return { offset, anchor: anchor?.value, tag: tag ? longTag(tag) : '' }
  }

  #blockSequence(depth: number): YamlTree[] {
    this.#skip()
    const items: YamlTree[] = []
    for (;;) {
      const entry = this.#take('block-entry')
      if (!entry) break
      const empty = this.#at('block-entry', 'block-end')
      items.push(empty ? unwritten(entry.offset) : this.#node(depth + 1, true, false))
    }
    this.#expect('block-end', "did not find expected '-' indicator")
    return items
  }

  #indentlessSequence(depth: number): YamlTree[] {
    const items: YamlTree[] = []
    for (;;) {
      const entry = this.#take('block-entry')
      if (!entry) return items
      const empty = this.#at('block-entry', 'key', 'value', 'block-end')
      items.push(empty ? unwritten(entry.offset) : this.#node(depth + 1, true, false))
    }
  }

  #blockMapping(depth: number): YamlPair[] {
    this.#skip()
    const pairs: YamlPair[] = []
    for (;;) {
      const start = this.#take('key')
      if (!start) break
      const key = this.#blockPart(start.offset, depth)
      const colon = this.#take('value')
      pairs.push({
        key,
        value: colon ? this.#blockPart(colon.offset, depth) : unwritten(this.#peek().offset),
      })
    }
    this.#expect('block-end', 'did not find expected key')
    return pairs
  }

  /** A key or a value of a block mapping. */
  #blockPart(offset: number, depth: number): YamlTree {
    return this.#at('key', 'value', 'block-end') ? unwritten(offset) : this.#node(depth + 1, true, true)
  }

  #flowSequence(offset: number, depth: number): YamlTree[] {
    this.#skip()
    const items: YamlTree[] = []
    for (;;) {
      if (this.#take('flow-sequence-end')) return items
      if (items.length > 0) {
        this.#expectMore('[', offset)
        this.#expect('flow-entry', "did not find expected ',' or ']'")
        if (this.#take('flow-sequence-end')) return items
      }
      this.#expectMore('[', offset)
      const start = this.#take('key')
      items.push(start ? this.#flowPair(start.offset, depth + 1) : this.#node(depth + 1, false, false))
    }
  }

  /** A mapping of one pair in a flow sequence: `[a: b]`. */
  #flowPair(offset: number, depth: number): YamlTree {
    if (depth > maxDepth) throw tooDeep(offset)
    let key: YamlTree
    if (this.#at('value', 'flow-entry', 'flow-sequence-end')) {
      key = unwritten(offset)
      // As in the library, which skips whatever stands here.
      this.#skip()
    } else key = this.#node(depth + 1, false, false)
    const colon = this.#take('value')
    const empty = !colon || this.#at('flow-entry', 'flow-sequence-end')
    const value = empty ? unwritten(this.#peek().offset) : this.#node(depth + 1, false, false)
    return { kind: 'mapping', offset: key.offset, anchor: undefined, pairs: [{ key, value }] }
  }

  #flowMapping(offset: number, depth: number): YamlPair[] {
    this.#skip()
    const pairs: YamlPair[] = []
    for (;;) {
      if (this.#take('flow-mapping-end')) return pairs
      if (pairs.length > 0) {
        this.#expectMore('{', offset)
        this.#expect('flow-entry', "did not find expected ',' or '}'")
        if (this.#take('flow-mapping-end')) return pairs
      }
      this.#expectMore('{', offset)
      const start = this.#take('key')
      if (!start) {
        const key = this.#node(depth + 1, false, false)
        pairs.push({ key, value: unwritten(key.offset) })
        continue
      }
      const noKey = this.#at('value', 'flow-entry', 'flow-mapping-end')
      const key = noKey ? unwritten(start.offset) : this.#node(depth + 1, false, false)
      const colon = this.#take('value')
      const noValue = !colon || this.#at('flow-entry', 'flow-mapping-end')
      const value = noValue ? unwritten(this.#peek().offset) : this.#node(depth + 1, false, false)
      pairs.push({ key, value })
    }
  }

  /** Says where a flow collection began that the text does not end. */
  #expectMore(start: string, offset: number): void {
    if (this.#at('stream-end'))
      throw new ReadError(`found no end of what begins with "${start}" here`, offset)
  }

  #expect(type: TokenType, message: string): void {
    if (!this.#take(type)) throw new ReadError(message, this.#peek().offset)
  }
}

/** A scalar of which nothing is in the text: null. */
function unwritten(offset: number): YamlScalar {
  return { kind: 'scalar', offset, anchor: undefined, tag: '', implicit: true, text: '', written: false }
}

const yamlTag = 'tag:yaml.org,2002:'

/** The tag that a token means. Throws ReadError for a handle that is not declared (none can be). */
function longTag(token: Token): string {
  if (token.value === '') return token.suffix
  if (token.value === '!') return `!${token.suffix}`
  if (token.value === '!!') return yamlTag + token.suffix
  throw new ReadError(`found undefined tag handle ${token.value}`, token.offset)
}
