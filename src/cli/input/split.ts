/**
 * Splits a file into documents as kubectl does: a port of YAMLOrJSONDecoder and YAMLReader of k8s.io/apimachinery
 * (pkg/util/yaml). A file that begins with "{" is read as a sequence of JSON values; if this fails within the first
 * two values, the remaining text is read as YAML. Other files are YAML. In YAML, lines that begin with "---" separate
 * documents.
 */
import { JsonEndError, readJson, skipSpace } from './json-text.ts'
import type { JsonRead } from './json-text.ts'
import { ReadError } from './nodes.ts'

/** One document: a parsed JSON value, the text of a YAML document, or a problem. */
export type Chunk =
  | { readonly json: JsonRead }
  | { readonly yaml: string; readonly offset: number; readonly jsonError?: ReadError }
  | { readonly error: ReadError }

/** Number of bytes at the start of a file in which kubectl looks for JSON. */
const guessSize = 4096

/** Splits a file. `text` has no byte order mark, and its lines end in LF. */
export function splitDocuments(text: string): Chunk[] {
  const brace = notSpace.exec(text)?.index ?? 0
  if (text[brace] !== '{' || brace >= guessSize) return splitYaml(text, 0)
  const chunks: Chunk[] = []
  let position = 0
  for (;;) {
    if (skipSpace(text, position) === text.length) return chunks
    try {
      const json = readJson(text, position)
      chunks.push({ json })
      position = json.end
    } catch (error) {
      if (!(error instanceof ReadError)) throw error
      return [...chunks, ...afterJson(text, position, chunks.length, error)]
    }
  }
}

/**
 * The chunks of the remaining text when it is not JSON, after `count` JSON values. After two values kubectl gives up;
 * before that it reads the remaining text as YAML.
 */
function afterJson(text: string, position: number, count: number, error: ReadError): Chunk[] {
  if (count > 1) return [{ error: onlySeparator(text, error) ?? error }]
  const start = skipLineEnd(text, position)
  const chunks = start === undefined ? [] : splitYaml(text, start)
  const [first, ...rest] = chunks
  if (!first) return [{ error }]
  return 'yaml' in first ? [{ ...first, jsonError: error }, ...rest] : chunks
}

/** A clearer error when `---` follows two JSON values without a `---` between them; undefined for other errors. */
function onlySeparator(text: string, error: ReadError): ReadError | undefined {
  if (error instanceof JsonEndError || !text.startsWith('---', error.offset)) return undefined
  return new ReadError('"---" cannot follow two JSON values that have none between them', error.offset)
}

/**
 * Works as kubectl's consumeWhitespace: skips white space up to and including the first line end. Undefined when
 * fewer than four bytes remain: kubectl looks at four bytes at a time, and then gives up.
 */
function skipLineEnd(text: string, from: number): number | undefined {
  for (let position = from; ; position++) {
    if (bytesOf(text.slice(position, position + 4)) < 4) return undefined
    const character = text[position] ?? ''
    if (character === '\n') return position + 1
    if (!goSpace.test(character)) return position
  }
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

/** The characters of Go's unicode.IsSpace. */
const goSpace = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
const leadingSpace = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/
const notSpace = /[^\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/

/** The YAML documents in the text, beginning at `start`. */
function splitYaml(text: string, start: number): Chunk[] {
  const chunks: Chunk[] = []
  let begin = start
  const push = (end: number) => {
    if (end > begin) chunks.push({ yaml: endLine(text.slice(begin, end)), offset: begin })
  }
  for (let line = start; line < text.length;) {
    const end = lineEnd(text, line)
    if (text.startsWith('---', line)) {
      const rest = text.slice(line + 3, end).replace(leadingSpace, '')
      const valid = rest === '' || rest.startsWith('#')
      // A `---` line before all other lines belongs to the first document.
      if (line > begin || !valid) {
        push(line)
        begin = end
      }
      if (!valid) chunks.push({ error: new ReadError(badSeparator(rest), line) })
    }
    line = end
  }
  push(text.length)
  return chunks
}

/** kubectl adds a missing line end to a file, and a block scalar includes it. */
const endLine = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`)

const badSeparator = (rest: string): string =>
  `only a comment can follow "---" on its line, not ${JSON.stringify(rest.slice(0, 40).trimEnd())}`

function lineEnd(text: string, start: number): number {
  const feed = text.indexOf('\n', start)
  return feed < 0 ? text.length : feed + 1
}
