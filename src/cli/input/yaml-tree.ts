/**
 * The tree of a YAML document, composed by the package `yaml`. As in kubectl's library, brackets may have any indent,
 * and tabs cannot indent. This module also limits the depth of nesting, and adds advice to errors.
 */
import { Composer, CST, Lexer, Parser, type ParsedNode } from 'yaml'
import { maxDepth, ReadError, tooDeep } from './nodes.ts'

/**
 * The tree of the first document. When the text cannot be parsed, it is parsed again without our changes to the lexer,
 * because the second error explains insufficient indent better. Throws ReadError.
 */
export function composed(text: string, offset: number): Composed {
  try {
    return compose(text, offset, lexemesAsKubectl)
  } catch (error) {
    if (error instanceof ReadError) compose(text, offset, indentedLexemes)
    throw error
  }
}

type Lexemes = (text: string) => Iterable<string>

interface Composed {
  readonly root: ParsedNode | null
  /** The offset of text after the document, which kubectl drops; undefined when there is none. */
  readonly unread: number | undefined
}

/**
 * Throws for a tab at the start of a line, or between a "-" and the text after it: kubectl's library allows such tabs
 * only in scalars and flow collections, the package `yaml` in more places. After a plain scalar the library skips
 * spaces and tabs.
 */
function checkTabs(text: string, offset: number, lexemesOf: Lexemes): void {
  if (!text.includes('\t')) return
  let flowLevel = 0
  let position = 0
  let last = '\n'
  let isBehindScalar = false
  let isFirstInLine = true
  for (const lexeme of lexemesOf(text)) {
    const startsWithTab = (isBehindScalar ? /^\t/ : /^ *\t/).test(lexeme)
    const afterDash = (last === '-' || last === '?') && /^ *\t/.test(lexeme)
    if (flowLevel === 0 && (afterDash || (last.endsWith('\n') && startsWithTab)))
      throw new ReadError(tabIndents, offset + position)
    if (lexeme === '[' || lexeme === '{') flowLevel++
    if (lexeme === ']' || lexeme === '}') flowLevel--
    if (lexeme === CST.DOCUMENT) continue
    if (lexeme !== CST.SCALAR && lexeme !== CST.FLOW_END) position += lexeme.length
    const isBlank = /^[ \t\n]*$/.test(lexeme)
    const isIndentation = isBlank && last.endsWith('\n') && !lexeme.includes('\n') && !isBehindScalar
    if (last === CST.SCALAR) isBehindScalar = true
    else if (!isBlank) isBehindScalar = false
    // A ":" that begins a line follows a complex key: a tab after it counts as indentation, as after a "?".
    if (!isIndentation) last = lexeme === ':' && isFirstInLine ? '?' : lexeme
    if (!isBlank || lexeme.endsWith('\n')) isFirstInLine = isBlank
  }
}

export const tabIndents = 'found a tab where only spaces can indent'

/** Options with which the package `yaml` keeps every scalar as text, and every key, even if it occurs twice. */
const options = {
  schema: 'failsafe',
  merge: false,
  uniqueKeys: false,
  resolveKnownTags: false,
  prettyErrors: false,
} as const

/**
 * The error of the package `yaml` about a "#" without a space before it, as in `{}#c`. It is ignored, because in
 * kubectl's library a comment may begin wherever a token may.
 */
const noSpaceBeforeComment = 'Comments must be separated from other tokens by white space characters'

/** Private fields of the lexer of `yaml`. Its version is pinned, and golden tests fail if these fields change. */
interface LexerState {
  /** The smallest indent of a line that belongs to the current value. */
  indentNext: number
  parseFlowCollection(): Generator<string, unknown>
  parseQuotedScalar(): Generator<string, unknown>
}

const indentedLexemes: Lexemes = (text) => new Lexer().lex(text)

/**
 * The lexemes of a text. As in kubectl's library, lines between brackets and quotes may have any indent; the package
 * `yaml` would require more than the indent of the key.
 */
function lexemesAsKubectl(text: string): Iterable<string> {
  const lexer = new Lexer()
  const state = lexer as unknown as LexerState
  for (const name of ['parseFlowCollection', 'parseQuotedScalar'] as const) {
    const parse = state[name].bind(lexer)
    state[name] = function* () {
      const { indentNext } = state
      state.indentNext = 0
      const next = yield* parse()
      state.indentNext = indentNext
      return next
    }
  }
  return lexer.lex(text)
}

/** The tokens of lexemes. Throws ReadError at the offset when brackets nest too deep, before parsing them. */
function* tokensOf(lexemes: Iterable<string>, offset: number): Iterable<CST.Token> {
  const parser = new Parser()
  let depth = 0
  for (const lexeme of lexemes) {
    if (lexeme === '[' || lexeme === '{') depth += 1
    if (lexeme === ']' || lexeme === '}') depth -= 1
    if (depth > maxDepth) throw tooDeep(offset)
    yield* parser.next(lexeme)
  }
  yield* parser.end()
}

/** Builds a tree. Errors get no stack trace, because `yaml` makes an Error for each of perhaps a million mistakes. */
function compose(text: string, offset: number, lexemesOf: Lexemes): Composed {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return composedBy(text, offset, lexemesOf)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Builds a tree from the tokens. Throws ReadError. */
function composedBy(text: string, offset: number, lexemesOf: Lexemes): Composed {
  checkTabs(text, offset, lexemesOf)
  const composer = new Composer(options)
  let begun = false
  let ended = false
  let unread: number | undefined
  for (const token of tokensOf(lexemesOf(text), offset)) {
    if (token.type === 'directive' && !begun) throw new ReadError(directive, offset + token.offset)
    if (begun && (token.type === 'document' || (ended && !blank.has(token.type)))) {
      unread = token.offset
      break
    }
    begun ||= token.type === 'document'
    ended ||= token.type === 'doc-end'
    composer.next(token).next()
  }
  const [document] = composer.end()
  const errors = document?.errors ?? []
  if (errors.some(({ code }) => code === 'RESOURCE_EXHAUSTION')) throw tooDeep(offset)
  for (const { message, pos } of errors)
    if (message !== noSpaceBeforeComment) throw new ReadError(advised(lowerFirst(message)), offset + pos[0])
  return { root: document?.contents ?? null, unread }
}

const directive = 'kubectl takes no directive: "---" ends its document at once'

const blank: ReadonlySet<string> = new Set(['space', 'comment', 'newline'])

export const keyOnOneLine =
  'a key needs ": " behind it on the same line; or a line stands at the wrong indentation'

/** Messages of the package `yaml` about its parser, and the advice for the user that replaces each. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  [
    'nested mappings are not allowed in compact mappings',
    'a second ": " on the line, or a line too deep: quote the value, or mend the indentation',
  ],
  ...['implicit keys need to be on a single line', 'implicit map keys need to be followed by map values'].map(
    (message): [string, string] => [message, keyOnOneLine],
  ),
  ['unexpected scalar at node end', 'there is more text behind the value: quote all of it'],
  ['unexpected block-seq-ind on same line with key', 'a list begins on a line of its own, or is written [b]'],
])
const advised = (message: string): string => ADVICE.get(message) ?? message

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1)
