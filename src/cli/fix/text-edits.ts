/**
 * The text of a file after one step of a fix. The step is tried at its place in the text, and the file is read again: the
 * text counts only where it changes this one value of this one document. So comments and layout stay, and what an alias
 * or a merge shares is never changed.
 */
import { withoutEnd } from '../../rule/text-end.ts'
import type { Edit } from '../../rule/field-error.ts'
import { jsonKey } from '../../rule/path.ts'
import { deepEqual } from '../../review/deep-equal.ts'
import { edited } from '../../review/fixes.ts'
import { isObject } from '../../rule/resource.ts'
import { quoteTemplates } from '../input/fill.ts'
import { loadDocuments, type Place } from '../input/load.ts'

export type PlacedEdit = Edit & Place

/** Undefined where no text has this effect and no other. */
export function withEdit(text: string, edit: PlacedEdit): string | undefined {
  const before = valuesOf(text)
  return candidates(text, edit).find((candidate) => isOnlyChange(before, valuesOf(candidate), edit))
}

const valuesOf = (text: string): unknown[] =>
  loadDocuments(quoteTemplates(text)).map((document) =>
    'error' in document ? document.error.message : document.value,
  )

function isOnlyChange(before: readonly unknown[], after: readonly unknown[], edit: Edit): boolean {
  if (before.length !== after.length) return false
  const changed = before.flatMap((value, i) => (deepEqual(value, after[i]) ? [] : [i]))
  const [only, ...others] = changed
  if (only === undefined || others.length > 0) return false
  const value = before[only]
  return isObject(value) && deepEqual(edited(value, edit), after[only])
}

/** The texts to try, the most natural first. */
function candidates(text: string, edit: PlacedEdit): string[] {
  const offset = offsetOf(text, edit)
  if (offset === undefined) return []
  const rest = text.slice(offset)
  const put = (length: number, written: string) => text.slice(0, offset) + written + rest.slice(length)
  if (edit.op === 'rename')
    return lengthsAt(rest, KEYS).map((length) => put(length, inStyleOf(rest, edit.to)[0] ?? ''))
  if (edit.op === 'set')
    return lengthsAt(rest, VALUES).flatMap((length) =>
      inStyleOf(rest, edit.value).map((written) => put(length, written)),
    )
  return additions(text, offset, String(jsonKey(edit.at.at(-1) ?? '')), edit.value).map(([at, written]) => {
    const start = offset + at
    return text.slice(0, start) + written + text.slice(start)
  })
}

/** A quoted text, or a plain one as far as it goes. */
const QUOTED = /^(?:"(?:\\.|[^"\\\n])*"|'(?:''|[^'\n])*')/
/** What begins a text, where it is of a form. */
type Form = (rest: string) => string | undefined

const quoted: Form = (rest) => QUOTED.exec(rest)?.[0]
const KEYS: readonly Form[] = [quoted, (rest) => /^[^\s:#,{}[\]"'&*!|>]+/.exec(rest)?.[0]]
const VALUES: readonly Form[] = [quoted, plainInBlock, plainInBrackets]

/** Up to a comment or the end of the line. */
function plainInBlock(rest: string): string | undefined {
  const [line] = /^[^\s"'&*!|>{[].*/.exec(rest) ?? []
  if (line === undefined) return undefined
  const comment = line.search(/[ \t]#/)
  const isToEnd = /^\r?(?:\n|$)/.test(rest.slice(line.length, line.length + 2))
  return comment < 0 && !isToEnd
    ? undefined
    : withoutEnd(line.slice(0, comment < 0 ? undefined : comment), ' \t')
}

/** Up to the end of an item in brackets or braces. */
function plainInBrackets(rest: string): string | undefined {
  const [item = '', end] = /^[^\s"'&*!|>{[,][^,\]}\r\n]*([,\]}])/.exec(rest) ?? []
  return end === undefined ? undefined : withoutEnd(item.slice(0, -1), ' \t')
}

const lengthsAt = (rest: string, forms: readonly Form[]): number[] =>
  forms.flatMap((form) => form(rest)?.length ?? [])

/** A value in the quotes of what stands there; other ways to write it behind that. */
function inStyleOf(rest: string, value: unknown): string[] {
  if (typeof value !== 'string') return [flow(value), JSON.stringify(value)]
  if (rest.startsWith('"')) return [JSON.stringify(value)]
  if (rest.startsWith("'")) return [`'${value.replaceAll("'", "''")}'`]
  return [value, JSON.stringify(value)]
}

/** A new member of the map at the offset, as the place from there and the text: in a block, in braces, in JSON. */
function additions(text: string, offset: number, key: string, value: unknown): (readonly [number, string])[] {
  const written = [`${key}: ${flow(value)}`, `${JSON.stringify(key)}: ${JSON.stringify(value)}`]
  if (text[offset] === '{') {
    const space = /^\{(\s*)/.exec(text.slice(offset))?.[1] ?? ''
    const isEmpty = text[offset + 1 + space.length] === '}'
    const isJson = text[offset + 1 + space.length] === '"'
    const inBraces = (isJson ? written.toReversed() : written).map((member) =>
      isEmpty ? member : space === '' ? `${member}, ` : `${space}${member},`,
    )
    return inBraces.map((member) => [1, member] as const)
  }
  const line = text.lastIndexOf('\n', offset - 1) + 1
  const end = text[text.indexOf('\n') - 1] === '\r' ? '\r\n' : '\n'
  const indent = ' '.repeat(offset - line)
  return written.map((member) => [0, `${member}${end}${indent}`] as const)
}

/** A value on one line, with quotes only where YAML needs them. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, member]) => `${key}: ${flow(member)}`)
      .join(', ')}}`
  return typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value)
}

/** Letters first, and no word that YAML 1.1 reads as something else. */
const isPlain = (text: string): boolean =>
  (/^\d+[hms]$/.test(text) || /^[A-Za-z][\w./-]*$/.test(text)) &&
  !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(text)

/** Lines and columns count from 1, columns in characters; a byte order mark has no column. */
function offsetOf(text: string, { line, column }: Place): number | undefined {
  let start = text.startsWith('\ufeff') ? 1 : 0
  for (let left = line; left > 1; left--) {
    const feed = text.indexOf('\n', start)
    if (feed < 0) return undefined
    start = feed + 1
  }
  const before = [...text.slice(start, start + 2 * column)].slice(0, column - 1)
  return start + before.join('').length
}
