/** Finds the members between braces or brackets, and their offsets, with the parser of the package `yaml`. */
import { CST, Lexer, Parser } from 'yaml'
import type { Splice } from './splices.ts'

/** A map or list in braces or brackets. */
export interface Braces {
  readonly items: readonly BracedItem[]
  /** The items by key or index; undefined for a key that occurs twice. */
  readonly itemOf: ReadonlyMap<string, BracedItem | undefined>
  /** The offset after the opening brace. */
  readonly start: number
  /** The offset of a comma after the last item; undefined when there is none. */
  readonly comma: number | undefined
}

/** The offsets of a member of a map, or an item of a list, without the comma before it and the comments around it. */
export interface BracedItem {
  readonly from: number
  readonly to: number
  /** The text of the key and of the value; undefined when more than a colon and spaces are between them. */
  readonly source: readonly [key: string, value: string] | undefined
  /** The offset of the comma before the item; undefined for the first item. */
  readonly comma: number | undefined
  readonly hasCommentBefore: boolean
  readonly below: Braces | undefined
}

/** The map or list whose brace or bracket is at this offset; undefined when it is never closed. */
export function bracesAt(text: string, offset: number): Braces | undefined {
  const length = lengthOf(text, offset)
  if (length === undefined) return undefined
  const [document] = new Parser().parse(text.slice(offset, offset + length))
  const token = document?.type === 'document' ? document.value : undefined
  return token?.type === 'flow-collection' ? bracesOf(token, { text, offset }) : undefined
}

/** A text, and the offset at which the parsed part of it begins: the offsets of parser tokens count from there. */
interface Around {
  readonly text: string
  readonly offset: number
}

function lengthOf(text: string, offset: number): number | undefined {
  let depth = 0
  let length = 0
  for (const lexeme of new Lexer().lex(text.slice(offset))) {
    if (lexeme === CST.DOCUMENT || lexeme === CST.SCALAR || lexeme === CST.FLOW_END) continue
    length += lexeme.length
    if (lexeme === '{' || lexeme === '[') depth += 1
    if (lexeme === '}' || lexeme === ']') depth -= 1
    if (depth === 0 && length > 0) return lexeme === '}' || lexeme === ']' ? length : undefined
  }
  return undefined
}

function bracesOf(token: CST.FlowCollection, around: Around): Braces | undefined {
  const { offset } = around
  const isMap = token.start.source === '{'
  const items: BracedItem[] = []
  const known = new Map<string, BracedItem | undefined>()
  let last: number | undefined
  for (const each of token.items) {
    const comma = each.start.find(({ type }) => type === 'comma')
    if (each.key === undefined && each.value === undefined) {
      if (comma !== undefined) last = offset + comma.offset
      continue
    }
    const read = itemFrom(each, around)
    const name = isMap ? each.key && CST.resolveAsScalar(each.key)?.value : String(items.length)
    if (read === undefined || typeof name !== 'string') return undefined
    const item = { ...read, comma: comma && offset + comma.offset }
    items.push(item)
    known.set(name, known.has(name) ? undefined : item)
  }
  return { items, itemOf: known, start: offset + token.offset + 1, comma: last }
}

function itemFrom(
  { start, key, sep = [], value }: CST.CollectionItem,
  around: Around,
): BracedItem | undefined {
  const { text, offset } = around
  const written = (token: CST.Token) => text.slice(offset + token.offset, offset + (endOf(token) ?? 0))
  const head = start.find(({ type }) => !APART.has(type)) ?? key ?? value
  const behind = value ?? sep.findLast(({ type }) => !APART.has(type)) ?? key
  const to = behind && endOf(behind)
  if (head === undefined || typeof to !== 'number') return undefined
  const isColonAlone = sep.every(({ type }) => type === 'space' || type === 'map-value-ind')
  return {
    from: offset + head.offset,
    to: offset + to,
    source: head === key && value && isColonAlone ? [written(key), written(value)] : undefined,
    comma: undefined,
    hasCommentBefore: start.some(({ type }) => type === 'comment'),
    below: value?.type === 'flow-collection' ? bracesOf(value, around) : undefined,
  }
}

const APART: ReadonlySet<string> = new Set(['space', 'newline', 'comment', 'comma'])

function endOf(token: CST.Token): number | undefined {
  if (token.type === 'flow-collection') {
    const close = token.end.find(({ type }) => type === 'flow-map-end' || type === 'flow-seq-end')
    return close && close.offset + 1
  }
  return 'source' in token ? token.offset + token.source.length : undefined
}

/**
 * The changes of the text that remove items. Of the commas between two remaining items, the first one is kept; comments
 * between items are kept too.
 */
export function cutsOf({ items, comma: last }: Braces, removed: ReadonlySet<BracedItem>): Splice[] {
  const stays = items.map((item) => !removed.has(item))
  const found = stays.indexOf(true)
  const [first, final] = [found < 0 ? items.length : found, stays.lastIndexOf(true)]
  const keepsComma = (i: number) =>
    i > first && (i <= final || (i === final + 1 && last !== undefined)) && stays[i - 1] === true
  const cuts = items.flatMap((item, i): Splice[] => {
    const { comma, from, to, hasCommentBefore } = item
    const next = items[i + 1]
    // Commas before the first remaining item are removed too.
    const isCut = comma !== undefined && !keepsComma(i) && (i > first || hasCommentBefore)
    const commaCut = isCut ? [cut(comma, comma + 1)] : []
    if (stays[i] === true) return commaCut
    if (i < first)
      return [...commaCut, cut(from, next === undefined || next.hasCommentBefore ? to : next.from)]
    if (hasCommentBefore || comma === undefined) return [...commaCut, cut(from, to)]
    return [cut(isCut ? comma : comma + 1, to)]
  })
  return last !== undefined && final < items.length - 1 ? [...cuts, cut(last, last + 1)] : cuts
}

const cut = (from: number, to: number): Splice => ({ from, length: to - from, written: '' })

/** Rewrites a member in block style for use in braces; undefined when braces cannot contain it, as with comments. */
export function inBraces(block: string): string | undefined {
  if (/(?:^|\s)#/.test(block)) return undefined
  const [document] = new Parser().parse(block)
  const map = document?.type === 'document' ? document.value : undefined
  return map?.type === 'block-map' ? membersOf(map, block)?.join(', ') : undefined
}

function valueOf(token: CST.Token | null | undefined, block: string): string | undefined {
  if (token?.type === 'block-map') {
    const members = membersOf(token, block)
    return members && `{${members.join(', ')}}`
  }
  if (token?.type === 'block-seq') {
    const items = token.items.map(({ start, value }) =>
      start.every(isPlainToken) ? valueOf(value, block) : undefined,
    )
    return items.every((item) => item !== undefined) ? `[${items.join(', ')}]` : undefined
  }
  const end = token && token.type !== 'block-scalar' ? endOf(token) : undefined
  const written = token && block.slice(token.offset, end)
  return end === undefined || written?.includes('\n') ? undefined : (written ?? undefined)
}

function membersOf({ items }: CST.BlockMap, block: string): string[] | undefined {
  const members = items.map(({ start, key, sep = [], value }) => {
    const [name, written] = [valueOf(key, block), valueOf(value, block)]
    const isPlain = [...start, ...sep].every(isPlainToken)
    return isPlain && name !== undefined && written !== undefined ? `${name}: ${written}` : undefined
  })
  return members.every((member) => member !== undefined) ? members : undefined
}

const isPlainToken = ({ type }: CST.SourceToken): boolean => PLAIN.has(type)
const PLAIN: ReadonlySet<string> = new Set(['space', 'newline', 'map-value-ind', 'seq-item-ind'])
