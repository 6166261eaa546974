/** The CEL parser: turns the tokens of an expression into a syntax tree, by recursive descent. */

import type { Expr, MapEntry } from './ast.ts'
import { SyntaxProblem, TreeBuilder, maxDepth, tooDeep } from './builder.ts'
import { expect, expected, failAt, noField, peek, take, takeIf, unexpected } from './cursor.ts'
import type { Parser } from './cursor.ts'
import { tokenize } from './lexer.ts'
import type { Token } from './lexer.ts'
import { expandGlobalMacro, expandReceiverMacro } from './macros.ts'

export type ParseResult =
  | { readonly ok: true; readonly expr: Expr }
  | { readonly ok: false; readonly offset: number; readonly message: string }

const maxInt = 9223372036854775807n
const maxUint = 18446744073709551615n

const reservedWords = new Set(
  (
    'as break const continue else for function if import let loop package namespace return var void ' +
    'while'
  ).split(' '),
)

/** The comparison operators, all left-associative, each with the name of its CEL function. */
const comparisonOperators = new Map(
  ['==', '!=', '<', '<=', '>', '>=', 'in'].map((kind) => [kind, kind === 'in' ? '@in' : `_${kind}_`]),
)

/** The arithmetic operators, all left-associative, each with the name of its CEL function and its precedence. */
const calculationOperators = new Map(
  [
    ['+', '-'],
    ['*', '/', '%'],
  ].flatMap((level, precedence) => level.map((kind) => [kind, { name: `_${kind}_`, precedence }] as const)),
)

/**
 * Parses a CEL expression and expands its macros (CEL language definition, "Syntax"). Accepts the same sources as
 * cel-go with default options. Never throws: returns the first syntax error with its UTF-16 offset.
 */
export function parse(source: string): ParseResult {
  const parser: Parser = {
    tokens: tokenize(source),
    build: new TreeBuilder(),
    index: 0,
    expressions: 0,
    comparisons: 0,
    calculations: 0,
  }
  try {
    const expr = parseExpr(parser)
    if (peek(parser).kind !== 'end') throw unexpected(parser)
    return { ok: true, expr }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    return { ok: false, offset: error.offset, message: error.message }
  }
}

// All recursion goes through this function, so it can limit the depth of the stack.
function parseExpr(parser: Parser): Expr {
  if (++parser.expressions > maxDepth) throw tooDeep(peek(parser).start)
  const condition = parseOr(parser)
  const expr = peek(parser).kind === '?' ? parseConditional(parser, condition) : condition
  parser.expressions--
  return expr
}

function parseConditional(parser: Parser, condition: Expr): Expr {
  const question = take(parser)
  const whenTrue = parseOr(parser)
  if (peek(parser).kind === '?') {
    throw failAt(peek(parser), "expected ':' but found '?' (put a nested condition in parentheses)")
  }
  expect(parser, ':', "':' of the conditional")
  const whenFalse = parseExpr(parser)
  return parser.build.call(question.start, '_?_:_', [condition, whenTrue, whenFalse])
}

function parseOr(parser: Parser): Expr {
  return parseLogical(parser, '||', '_||_', parseAnd)
}

function parseAnd(parser: Parser): Expr {
  return parseLogical(parser, '&&', '_&&_', parseRelation)
}

/** Parses a chain of && or || into a balanced tree: long chains are common and must not count as deep nesting. */
function parseLogical(
  parser: Parser,
  operator: string,
  name: string,
  parseTerm: (parser: Parser) => Expr,
): Expr {
  const first = parseTerm(parser)
  if (peek(parser).kind !== operator) return first
  const terms = [first]
  const offsets: number[] = []
  while (peek(parser).kind === operator) {
    offsets.push(take(parser).start)
    terms.push(parseTerm(parser))
  }
  return balance(parser, name, terms, offsets, 0, offsets.length)
}

/** Builds a balanced tree of terms[from] to terms[to]; offsets[i] is the offset of the operator after terms[i]. */
function balance(
  parser: Parser,
  name: string,
  terms: readonly Expr[],
  offsets: readonly number[],
  from: number,
  to: number,
): Expr {
  const single = terms[from]
  if (from === to && single !== undefined) return single
  const middle = (from + to) >> 1
  const left = balance(parser, name, terms, offsets, from, middle)
  const right = balance(parser, name, terms, offsets, middle + 1, to)
  return parser.build.flatCall(offsets[middle] ?? 0, name, [left, right])
}

function parseRelation(parser: Parser): Expr {
  let left = parseComparand(parser)
  let name = comparisonOperators.get(peek(parser).kind)
  if (name === undefined) return left
  if (++parser.comparisons > maxDepth) throw tooDeep(peek(parser).start)
  while (name !== undefined) {
    const offset = take(parser).start
    left = parser.build.call(offset, name, [left, parseComparand(parser)])
    name = comparisonOperators.get(peek(parser).kind)
  }
  parser.comparisons--
  return left
}

function parseComparand(parser: Parser): Expr {
  if (++parser.comparisons > maxDepth) throw tooDeep(peek(parser).start)
  const operand = parseCalculation(parser, 0)
  parser.comparisons--
  return operand
}

/** Parses an operand, and all following operators with at least the precedence `loosest`. */
function parseCalculation(parser: Parser, loosest: number): Expr {
  if (++parser.calculations > maxDepth) throw tooDeep(peek(parser).start)
  let left = parseUnary(parser)
  let operator = calculationOperators.get(peek(parser).kind)
  while (operator !== undefined && operator.precedence >= loosest) {
    const offset = take(parser).start
    const right = parseCalculation(parser, operator.precedence + 1)
    left = parser.build.call(offset, operator.name, [left, right])
    operator = calculationOperators.get(peek(parser).kind)
  }
  parser.calculations--
  return left
}

function parseUnary(parser: Parser): Expr {
  const first = peek(parser)
  if (first.kind !== '!' && first.kind !== '-') return parseMember(parser)
  let count = 0
  while (peek(parser).kind === first.kind) {
    take(parser)
    count++
  }
  const next = peek(parser)
  if (next.kind === '!') throw failAt(next, "'!' cannot follow '-', use parentheses")
  if (next.kind === '-' && !isSignedNumber(parser.tokens[parser.index + 1])) {
    throw failAt(next, "'-' cannot follow '!' here, use parentheses")
  }
  if (first.kind === '-' && count === 1 && isSignedNumber(next)) {
    // A single minus belongs to the number literal, so the parser steps back to it: -9223372036854775808 is a literal,
    // --9223372036854775808 is out of range.
    parser.index--
    return parseMember(parser)
  }
  const operand = parseMember(parser)
  return count % 2 === 0 ? operand : parser.build.flatCall(first.start, `${first.kind}_`, [operand])
}

function isSignedNumber(token: Token | undefined): boolean {
  return token?.kind === 'int' || token?.kind === 'double'
}

function parseMember(parser: Parser): Expr {
  let expr = parsePrimary(parser)
  for (;;) {
    const next = peek(parser)
    if (next.kind === '.') expr = parseSelection(parser, expr)
    else if (next.kind === '[') expr = parseIndex(parser, expr)
    else return expr
  }
}

function parseSelection(parser: Parser, operand: Expr): Expr {
  const dot = take(parser)
  const field = peek(parser)
  if (field.kind !== 'ident' && field.kind !== 'quoted') throw noField(dot, field)
  take(parser)
  if (field.kind === 'quoted' || peek(parser).kind !== '(') {
    return parser.build.select(dot.start, operand, field.text)
  }
  const open = take(parser)
  const args = parseArguments(parser)
  return (
    expandReceiverMacro(parser.build, open.start, field.text, operand, args) ??
    parser.build.call(open.start, field.text, args, operand)
  )
}

function parseIndex(parser: Parser, operand: Expr): Expr {
  const open = take(parser)
  if (peek(parser).kind === '?') throw failAt(open, "optional index '[?' is not available here")
  const index = parseExpr(parser)
  expect(parser, ']')
  return parser.build.call(open.start, '_[_]', [operand, index])
}

function parseArguments(parser: Parser): Expr[] {
  const args: Expr[] = []
  if (peek(parser).kind !== ')') {
    do args.push(parseExpr(parser))
    while (takeIf(parser, ','))
  }
  expect(parser, ')', args.length === 0 ? "')'" : "',' or ')'")
  return args
}

function parsePrimary(parser: Parser): Expr {
  const token = peek(parser)
  switch (token.kind) {
    case '-':
    case 'int':
    case 'uint':
    case 'double':
      return parseNumber(parser)
    case 'string':
      return parser.build.literal(take(parser).start, { type: 'string', value: token.text })
    case 'bytes':
      return parser.build.literal(take(parser).start, { type: 'bytes', value: bytesOf(token.text) })
    case 'true':
    case 'false':
      return parser.build.literal(take(parser).start, { type: 'bool', value: token.kind === 'true' })
    case 'null':
      return parser.build.literal(take(parser).start, { type: 'null_type', value: null })
    case '(':
      return parseParenthesized(parser)
    case '[':
      return parseList(parser)
    case '{':
      return parseMap(parser)
    case '.':
    case 'ident':
      return parseName(parser)
    default:
      throw unexpected(parser)
  }
}

function parseNumber(parser: Parser): Expr {
  const first = take(parser)
  const token = first.kind === '-' ? take(parser) : first
  const sign = token === first ? '' : '-'
  if (token.kind === 'double') {
    const value = Number(sign + token.text)
    if (!Number.isFinite(value)) throw failAt(token, 'invalid double literal: out of range')
    return parser.build.literal(first.start, { type: 'double', value })
  }
  const magnitude = BigInt(token.text)
  if (token.kind === 'uint') {
    if (magnitude > maxUint) throw failAt(token, 'invalid uint literal: out of range')
    return parser.build.literal(first.start, { type: 'uint', value: magnitude })
  }
  const value = sign === '-' ? -magnitude : magnitude
  if (value > maxInt || value < -maxInt - 1n) throw failAt(token, 'invalid int literal: out of range')
  return parser.build.literal(first.start, { type: 'int', value })
}

function bytesOf(characters: string): Uint8Array {
  return Uint8Array.from(characters, (character) => character.charCodeAt(0))
}

function parseParenthesized(parser: Parser): Expr {
  take(parser)
  const expr = parseExpr(parser)
  expect(parser, ')')
  return expr
}

function parseList(parser: Parser): Expr {
  const open = take(parser)
  const elements: Expr[] = []
  parseItems(parser, ']', () => elements.push(parseExpr(parser)))
  return parser.build.list(open.start, elements)
}

function parseMap(parser: Parser): Expr {
  const open = take(parser)
  const entries: MapEntry[] = []
  parseItems(parser, '}', () => {
    const key = parseExpr(parser)
    expect(parser, ':', "':' between map key and value")
    entries.push({ key, value: parseExpr(parser) })
  })
  return parser.build.map(open.start, entries)
}

/** Parses list elements, map entries or fields until `close`; one trailing comma is allowed, even without an item. */
function parseItems(parser: Parser, close: string, parseItem: () => void): void {
  let empty = true
  while (peek(parser).kind !== close && peek(parser).kind !== ',') {
    parseItem()
    empty = false
    if (!takeIf(parser, ',')) break
  }
  if (empty) takeIf(parser, ',')
  expect(parser, close, `',' or '${close}'`)
}

function parseName(parser: Parser): Expr {
  const absolute = takeIf(parser, '.')
  const name = peek(parser)
  if (name.kind !== 'ident')
    throw absolute ? noField(parser.tokens[parser.index - 1] ?? name, name) : expected(name, 'a name')
  if (messageBrace(parser) !== undefined) return parseMessage(parser)
  if (reservedWords.has(name.text)) throw failAt(name, `'${name.text}' is a reserved word`)
  take(parser)
  if (peek(parser).kind !== '(') return parser.build.ident(name.start, name.text, absolute)
  const open = take(parser)
  const args = parseArguments(parser)
  const macro = absolute ? undefined : expandGlobalMacro(parser.build, open.start, name.text, args)
  return macro ?? parser.build.flatCall(open.start, name.text, args)
}

/** The index of the '{' token that makes a dotted name a message, as in `a.B{}`; undefined when no '{' follows. */
function messageBrace(parser: Parser): number | undefined {
  let index = parser.index + 1
  while (parser.tokens[index]?.kind === '.' && parser.tokens[index + 1]?.kind === 'ident') index += 2
  return parser.tokens[index]?.kind === '{' ? index : undefined
}

function parseMessage(parser: Parser): Expr {
  let name = ''
  while (peek(parser).kind !== '{') name += take(parser).text
  const open = take(parser)
  const fields: { name: string; value: Expr }[] = []
  parseItems(parser, '}', () => {
    const field = take(parser)
    if (field.kind !== 'ident' && field.kind !== 'quoted') throw expected(field, 'a field name')
    expect(parser, ':', "':' between field and value")
    fields.push({ name: field.text, value: parseExpr(parser) })
  })
  return parser.build.message(open.start, name, fields)
}
