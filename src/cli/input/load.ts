/**
 * Reads the documents of a file exactly as kubectl does, with lines and columns. kubectl uses cli-runtime, with
 * pkg/util/yaml of k8s.io/apimachinery and sigs.k8s.io/yaml; each module in this folder says which part it ports.
 */
import { type IgnoreComment, ignoreComments } from './ignore-comments.ts'
import { child, locateNode, ReadError, tooDeep, toValue } from './nodes.ts'
import type { TextNode, Note, NodeKey } from './nodes.ts'
import { splitDocuments } from './split.ts'
import type { Chunk } from './split.ts'
import { readYaml } from './yaml-nodes.ts'

/** A place in a file. Line and column count from 1; columns are characters, not bytes. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** A document, or an item of a list, that could be read. */
export interface ReadDocument {
  /** Plain JSON data that is not shared with other documents. May be a single scalar, but not null. */
  readonly value: unknown
  /** The line on which the document or the item begins. */
  readonly line: number
  /** For an item of a list, its path in the document (`['items', 2]`); otherwise empty. */
  readonly within: readonly NodeKey[]
  /**
   * Notes about mistakes that kubectl accepts silently: duplicate keys, keys read as booleans, text after the end of
   * the document.
   */
  readonly notes: readonly (TextPlace & { readonly message: string })[]
  /**
   * The line and column of the key or the value at this path. An item of a list has the same place for both; a value
   * that is not written (`key:`) has the place of its key. For aliases and merges, the place of the text that they
   * repeat. When the path does not exist, the place of the key of the nearest existing parent.
   */
  readonly locate: (segments: readonly NodeKey[], target: 'key' | 'value') => TextPlace
  /** The ignore comments for lines of the document. */
  readonly ignores?: readonly IgnoreComment[]
}

/** A document that could not be read, and why. */
export interface UnreadDocument {
  readonly error: TextPlace & { readonly message: string }
}

/** A document and the name of its file. */
export interface FileDocument {
  readonly file: string
  readonly document: ReadDocument
}

export type LoadedDocument = ReadDocument | UnreadDocument

export interface LoadOptions {
  /** Whether an object with `items` is replaced by its items, as in kubectl; true by default. */
  readonly expandLists?: boolean
}

/**
 * Reads the text of one file. Skips empty documents, as kubectl does. Never throws: a document that cannot be read has
 * an `error`, and the others are returned.
 */
export function loadDocuments(text: string, options: LoadOptions = {}): LoadedDocument[] {
  const normal = text
    .toWellFormed()
    .replace(/^\ufeff/, '')
    .replace(/\r\n/g, '\n')
  const places = placesOf(normal)
  const unread = (error: ReadError): UnreadDocument => ({
    error: { message: error.message, ...places(error.offset) },
  })
  const loaded = splitDocuments(normal).flatMap((chunk): LoadedDocument[] => {
    try {
      const { node, notes } = readChunk(chunk)
      if (node.kind === 'scalar' && node.value === null) return []
      const parts = options.expandLists === false ? [whole(node)] : expandLists(node)
      // Notes about the whole list are attached to its first readable item.
      const first = parts.find((part) => !(part instanceof ReadError))
      return parts.map((part) =>
        part instanceof ReadError ? unread(part) : readDocument(part, part === first ? notes : [], places),
      )
    } catch (error) {
      if (error instanceof ReadError) return [unread(error)]
      if (error instanceof RangeError) return [unread(tooDeep(start(chunk)))]
      throw error
    }
  })
  return withComments(loaded, ignoreComments(normal))
}

/** Adds to each document the ignore comments for its lines, up to the start of the next document. */
function withComments(
  loaded: readonly LoadedDocument[],
  comments: readonly IgnoreComment[],
): LoadedDocument[] {
  if (comments.length === 0) return [...loaded]
  const ordered = comments.toSorted((a, b) => a.target - b.target)
  const targets = ordered.map(({ target }) => target)
  const documents = [...loaded]
  let until = Infinity
  for (let i = loaded.length - 1; i >= 0; i--) {
    const document = loaded[i]
    if (document === undefined) continue
    const line = 'error' in document ? document.error.line : document.line
    const ignores = ordered.slice(countBefore(targets, i === 0 ? 0 : line), countBefore(targets, until))
    if (!('error' in document) && ignores.length > 0) documents[i] = { ...document, ignores }
    until = Math.min(until, line)
  }
  return documents
}

const start = (chunk: Chunk): number => ('yaml' in chunk ? chunk.offset : 0)

/** Parses one document of a file. Throws ReadError. */
function readChunk(chunk: Chunk): { node: TextNode; notes: readonly Note[] } {
  if ('error' in chunk) throw chunk.error
  if ('json' in chunk) return chunk.json
  try {
    return readYaml(chunk.yaml, chunk.offset)
  } catch (error) {
    // When the file was meant to be JSON, the message of the JSON parser is clearer.
    if (chunk.jsonError && /^\s*\{\s*["}]/.test(chunk.yaml)) throw chunk.jsonError
    throw error
  }
}

/** A document or an item of a list, with its path in the document, and the kind and version that the list implies. */
interface Part {
  readonly node: TextNode
  readonly within: readonly NodeKey[]
  readonly inherited: TypeMeta | undefined
}

interface TypeMeta {
  readonly kind: string | undefined
  readonly apiVersion: string | undefined
}

const whole = (node: TextNode): Part => ({ node, within: [], inherited: undefined })

/**
 * The objects that kubectl reads from an object: the object itself or, if it has `items`, the items. A typed list
 * implies the kind and version of items that have neither.
 */
function expandLists(root: TextNode): (Part | ReadError)[] {
  const items = root.kind === 'map' ? root.entries.get('items')?.node : undefined
  if (!items) return [whole(root)]
  if (items.kind === 'scalar' && items.value === null) return []
  if (items.kind !== 'list')
    return [new ReadError('"items" makes this a list for kubectl, and needs to be an array', items.offset)]
  const inherited = listMeta(root)
  return items.items.map((node, index) => {
    if (node.kind !== 'map') return new ReadError('an item of a list needs to be an object', node.offset)
    if (node.entries.get('items')?.node.kind === 'list')
      return new ReadError('kubectl takes no list in a list', node.offset)
    return { node, within: ['items', index], inherited }
  })
}

/** The kind and version that a list implies for its items: its own kind without `List`, and its own version. */
function listMeta(list: TextNode): TypeMeta {
  return { kind: text(list, 'kind')?.replace(/List$/, ''), apiVersion: text(list, 'apiVersion') }
}

function text(node: TextNode, name: string): string | undefined {
  const member = child(node, name)?.node
  return member?.kind === 'scalar' && typeof member.value === 'string' && member.value !== ''
    ? member.value
    : undefined
}

function readDocument(
  part: Part,
  notes: readonly Note[],
  places: (offset: number) => TextPlace,
): LoadedDocument {
  const { node, within, inherited } = part
  const value = toValue(node)
  if (inherited && !text(node, 'kind') && !text(node, 'apiVersion'))
    Object.assign(value as object, withoutUndefined(inherited))
  return {
    value,
    line: places(node.offset).line,
    within,
    notes: notes.slice(0, maxNotes).map(({ message, offset }) => ({ message, ...places(offset) })),
    locate: (segments, target) => places(locateNode(node, segments, target)),
  }
}

/** The most notes that are kept for a document. */
const maxNotes = 20

const withoutUndefined = (object: object): object =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== ''))

/** Returns a function from an offset in the text to its line and column; the first call scans the text. */
function placesOf(text: string): (offset: number) => TextPlace {
  let starts: number[] | undefined
  let pairs: number[] | undefined
  return (offset) => {
    starts ??= lineStarts(text)
    pairs ??= surrogatePairs(text)
    const line = countBefore(starts, offset + 1)
    const start = starts[line - 1] ?? 0
    // A character beyond U+FFFF has two code units, but counts as one column.
    const twice = countBefore(pairs, offset) - countBefore(pairs, start)
    return { line, column: offset - start - twice + 1 }
  }
}

export function lineStarts(text: string): number[] {
  const starts = [0]
  for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', feed + 1)) starts.push(feed + 1)
  return starts
}

export const surrogatePairs = (text: string): number[] =>
  Array.from(text.matchAll(/[\ud800-\udbff]/g), (match) => match.index)

/** How many of the ascending numbers are less than the limit. */
export function countBefore(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] ?? 0) < limit) low = middle + 1
    else high = middle
  }
  return low
}
