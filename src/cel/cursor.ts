import { SyntaxProblem } from './builder.ts'
import type { TreeBuilder } from './builder.ts'
import type { Token } from './lexer.ts'

/** The state of the parser: the next token, and the depths of the expressions that are not yet complete. */
export interface Parser {
  readonly tokens: readonly Token[]
  readonly build: TreeBuilder
  index: number
  /**
   * The number of nested expressions around the next token. The whole source counts as one; so does each expression
   * in parentheses, in a list, map, argument or index, or after the ':' of `?:`.
   */
  expressions: number
  /**
   * The number of nested comparisons around the next token. Each expression around it counts as one, and the right
   * operand of a comparison as one more.
   */
  comparisons: number
  /**
   * The number of nested arithmetic operations around the next token. Each operand of a comparison around it counts
   * as one, and the right operand of an arithmetic operator as one more.
   */
  calculations: number
}

const operatorForWord = new Map([
  ['and', '&&'],
  ['or', '||'],
  ['not', '!'],
  ['is', '=='],
  ['equals', '=='],
])

/** Returns the next token without advancing. */
export function peek(parser: Parser): Token {
  const token = parser.tokens[parser.index] ?? parser.tokens.at(-1)
  if (token === undefined) throw new Error('the lexer always ends with an end token')
  return token
}

/** Returns the next token and advances. */
export function take(parser: Parser): Token {
  const token = peek(parser)
  if (token.kind !== 'end') parser.index++
  return token
}

/** Takes the next token if it is of this kind; returns whether it was. */
export function takeIf(parser: Parser, kind: string): boolean {
  if (peek(parser).kind !== kind) return false
  parser.index++
  return true
}

/** Takes the next token; throws SyntaxProblem when it is of another kind. */
export function expect(parser: Parser, kind: string, what = `'${kind}'`): void {
  if (!takeIf(parser, kind)) throw expected(peek(parser), what)
}

/** The syntax error at a token; when the lexer found an error there, with that message instead of `message`. */
export function failAt(token: Token, message: string): SyntaxProblem {
  return new SyntaxProblem(token.start, token.kind === 'error' ? token.text : message)
}

/** The syntax error at a token where the grammar expects `what`. */
export function expected(found: Token, what: string): SyntaxProblem {
  return failAt(found, `expected ${what} but found ${describe(found)}${wordHint(found)}`)
}

/** A syntax error: the grammar does not allow the next token here. */
export function unexpected(parser: Parser): SyntaxProblem {
  const found = peek(parser)
  if (found.kind === 'end') {
    const empty = parser.index === 0
    return failAt(found, empty ? 'the expression is empty' : 'the expression ends too early')
  }
  const before = parser.tokens[parser.index - 1]
  const hint = before?.kind === 'ident' ? wordHint(before) : ''
  return failAt(found, `unexpected ${describe(found)}${wordHint(found) || hint}`)
}

function wordHint(token: Token): string {
  const operator = token.kind === 'ident' ? operatorForWord.get(token.text.toLowerCase()) : undefined
  return operator === undefined ? '' : ` (use '${operator}')`
}

function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'end of expression'
    case 'ident':
    case 'quoted':
      return `'${token.text}'`
    case 'string':
    case 'bytes':
    case 'uint':
    case 'double':
      return `a ${token.kind} literal`
    case 'int':
      return 'an int literal'
    default:
      return `'${token.kind}'`
  }
}

/** A syntax error: a dot without a field name after it. */
export function noField(dot: Token, found: Token): SyntaxProblem {
  if (found.kind === '?') return failAt(dot, "optional access '.?' is not available here")
  if (['true', 'false', 'null', 'in'].includes(found.kind)) {
    return failAt(found, `'${found.kind}' is a keyword, use ["${found.kind}"]`)
  }
  return expected(found, "a field name after '.'")
}
