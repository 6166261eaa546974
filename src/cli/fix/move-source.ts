/** Finds the text of a member of a YAML map: whole lines in block style, or the text between two commas in braces. */
import { jsonKey, type Moving, valueAt } from '../../rule/index.ts'
import { type BracedItem, type Braces, bracesAt } from './braces.ts'
import { quoteTemplates } from '../input/fill.ts'
import {
  countBefore,
  lineStarts,
  type LoadedDocument,
  loadDocuments,
  type ReadDocument,
  type TextPlace,
} from '../input/load.ts'
import type { Splice } from './splices.ts'

export type OffsetOf = (place: TextPlace) => number | undefined
export type KeyPath = readonly string[]

export const keyOf = (path: KeyPath): string => JSON.stringify(path)
export const numbered = (steps: KeyPath) => steps.map((step) => (isIndex(step) ? Number(step) : step))

export const isIndex = (step: string): boolean => /^\d+$/.test(step)

/** The YAML map to edit, and the text that contains the map. */
export interface MoveSource {
  readonly text: string
  readonly value: unknown
  /** The lines of the text, without line ends; `starts` contains the offset of each line. */
  readonly lines: readonly string[]
  readonly starts: readonly number[]
  readonly end: '\n' | '\r\n'
  /** The line and column of a member's key; `steps` is the path from the map to the member. */
  readonly keyAt: (steps: KeyPath) => TextPlace
  /** The braces or brackets around the value of a member; undefined when the value is in block style. */
  readonly bracesOf: (steps: KeyPath) => Braces | undefined
}

/** A parsed YAML text, shared by all edits of the text. */
export interface EditedSource extends Pick<MoveSource, 'text' | 'lines' | 'starts' | 'end'> {
  readonly documents: readonly LoadedDocument[]
  /** The lines of the text with templates in quotes (`quoteTemplates`), from which the documents were parsed. */
  readonly readable: readonly string[]
  /** The line, from 1, at which each document without an error begins, in the order of the text. */
  readonly begins: readonly number[]
  readonly begun: readonly ReadDocument[]
}

export function readSource(text: string): EditedSource {
  const quoted = quoteTemplates(text)
  const documents = loadDocuments(quoted)
  const begins = documents.flatMap((document) =>
    'error' in document ? [] : [{ line: document.locate([], 'value').line, document }],
  )
  begins.sort((a, b) => a.line - b.line)
  return {
    text,
    documents,
    begins: begins.map(({ line }) => line),
    begun: begins.map(({ document }) => document),
    lines: text.split(/\r?\n/),
    readable: quoted.split(/\r?\n/),
    starts: lineStarts(text),
    end: text.includes('\r\n') ? '\r\n' : '\n',
  }
}

/** The YAML map that an edit changes, at the edit's path, line and column; undefined when no map begins there. */
export function sourceOf(
  { begins, begun, readable, ...read }: EditedSource,
  edit: Moving & TextPlace,
  offsetOf: OffsetOf,
): MoveSource | undefined {
  const { text, lines } = read
  const at = edit.at.map(jsonKey)
  const last = countBefore(begins, edit.line + 1) - 1
  // Tries every document that begins on this line: each item of a `List` is a document, and in JSON one line can have
  // several items.
  for (let i = last; i >= 0 && begins[i] === begins[last]; i--) {
    const document = begun[i]
    if (document === undefined) continue
    const place = document.locate(at, 'value')
    if (place.line !== edit.line || place.column !== edit.column) continue
    // The outermost braces of a value. A template such as `{{ .x }}` begins with braces too, but it is not a map.
    const outermost = (steps: KeyPath): Braces | undefined => {
      const value = document.locate([...at, ...numbered(steps)], 'value')
      const offset = offsetOf(value)
      const isTemplate = lines[value.line - 1] !== readable[value.line - 1]
      if (offset === undefined || isTemplate || !/[{[]/.test(text[offset] ?? '')) return undefined
      return bracesAt(text, offset)
    }
    const known = new Map<string, Braces | undefined>()
    const bracesOf = (steps: KeyPath): Braces | undefined => {
      const key = keyOf(steps)
      if (known.has(key)) return known.get(key)
      const around = steps.length === 0 ? undefined : bracesOf(steps.slice(0, -1))
      const found = around === undefined ? outermost(steps) : around.itemOf.get(steps.at(-1) ?? '')?.below
      known.set(key, found)
      return found
    }
    return {
      ...read,
      value: valueAt(document.value, edit.at),
      keyAt: (steps) => document.locate([...at, ...numbered(steps)], 'key'),
      bracesOf,
    }
  }
  return undefined
}

/** The lines that a member of a map takes in block style, as indexes into the lines of the text. */
export interface LineExtent {
  /** The member's first line, which may be a comment; `key`: the line of its key; `end`: the line after the member. */
  readonly start: number
  readonly key: number
  readonly end: number
  /** Number of characters before the key on its line. */
  readonly indent: number
  /** Whether the key is on the line of the dash of a list item, as in `- name: x`. */
  readonly isFirst: boolean
}

export type Member =
  | { readonly extent: LineExtent; readonly item?: undefined }
  | { readonly item: BracedItem; readonly holder: Braces; readonly extent?: undefined }

/** The text of the member at a path; undefined when it is written in a style that does not allow moving it. */
export function memberAt(source: MoveSource, path: KeyPath): Member | undefined {
  const holder = source.bracesOf(path.slice(0, -1))
  if (holder === undefined) {
    const extent = extentOf(source, path)
    return extent && { extent }
  }
  const item = holder.itemOf.get(path.at(-1) ?? '')
  return item && { item, holder }
}

export const indentOf = (line: string): number => /^ */.exec(line)?.[0].length ?? 0
export const isBlank = (line: string): boolean => /^\s*(?:#.*)?$/.test(line)

/** The lines of the member at a path; undefined when other text precedes its key on the line. */
export function extentOf({ lines, keyAt }: MoveSource, path: KeyPath): LineExtent | undefined {
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

export const rangeOf = ({ starts, text }: MoveSource, { extent, item }: Member): Splice => {
  const from = item?.from ?? starts[extent?.start ?? 0] ?? 0
  const to = item?.to ?? starts[extent?.end ?? 0] ?? text.length
  return { from, length: to - from, written: '' }
}
