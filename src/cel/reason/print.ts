import type { Call, Comprehension, Expr } from '../ast.ts'
import { macroOf } from './macros.ts'

const OPERATORS: Readonly<Record<string, readonly [symbol: string, rank: number]>> = {
  '_||_': ['||', 1],
  '_&&_': ['&&', 2],
  '_==_': ['==', 3],
  '_!=_': ['!=', 3],
  '_<_': ['<', 3],
  '_<=_': ['<=', 3],
  '_>_': ['>', 3],
  '_>=_': ['>=', 3],
  '@in': ['in', 3],
  '_+_': ['+', 4],
  '_-_': ['-', 4],
  '_*_': ['*', 5],
  '_/_': ['/', 5],
  '_%_': ['%', 5],
}
const TERNARY = 0
const UNARY = 6
const ATOM = 7

/** Prints an expression as CEL source, with as few parentheses as possible. */
export function printed(expr: Expr): string {
  return print(expr, TERNARY)
}

function print(expr: Expr, rank: number): string {
  const own = rankOf(expr)
  const text = unwrapped(expr)
  return own < rank ? `(${text})` : text
}

function rankOf(expr: Expr): number {
  if (expr.kind !== 'call') return ATOM
  if (expr.name === '_?_:_') return TERNARY
  if (expr.name === '!_' || expr.name === '-_') return UNARY
  return OPERATORS[expr.name]?.[1] ?? ATOM
}

function unwrapped(expr: Expr): string {
  switch (expr.kind) {
    case 'literal':
      return literal(expr)
    case 'ident':
      return `${expr.absolute ? '.' : ''}${expr.name}`
    case 'select': {
      const { field, testOnly } = expr
      const operand = print(expr.operand, ATOM)
      const isPlain = /^[A-Za-z_]\w*$/.test(field)
      if (testOnly) return `has(${operand}.${isPlain ? field : `\`${field}\``})`
      return `${operand}${isPlain ? `.${field}` : `[${JSON.stringify(field)}]`}`
    }
    case 'call':
      return callText(expr)
    case 'list':
      return `[${expr.elements.map(printed).join(', ')}]`
    case 'map':
      return `{${expr.entries.map(({ key, value }) => `${printed(key)}: ${printed(value)}`).join(', ')}}`
    case 'message':
      return `${expr.name}{…}`
    case 'comprehension':
      return loopText(expr)
  }
}

function literal(expr: Expr & { readonly kind: 'literal' }): string {
  if (expr.type === 'string') return JSON.stringify(expr.value)
  if (expr.type === 'bytes') return 'b"…"'
  if (expr.type === 'uint') return `${expr.value}u`
  if (expr.type === 'double' && /^-?\d+$/.test(String(expr.value))) return `${expr.value}.0`
  return String(expr.value)
}

function callText({ name, target, args }: Call): string {
  const [first, second, third] = args
  const operator = OPERATORS[name]
  if (operator !== undefined && first !== undefined && second !== undefined) {
    const [symbol, rank] = operator
    return `${print(first, rank)} ${symbol} ${print(second, rank + 1)}`
  }
  if (name === '_?_:_' && first !== undefined && second !== undefined && third !== undefined)
    return `${print(first, 1)} ? ${print(second, 1)} : ${print(third, TERNARY)}`
  if ((name === '!_' || name === '-_') && first !== undefined)
    return `${name.charAt(0)}${print(first, UNARY)}`
  if (name === '_[_]' && first !== undefined && second !== undefined)
    return `${print(first, ATOM)}[${printed(second)}]`
  const call = `${name}(${args.map(printed).join(', ')})`
  return target === undefined ? call : `${print(target, ATOM)}.${call}`
}

function loopText(loop: Comprehension): string {
  const macro = macroOf(loop)
  if (macro === undefined) return '(…)'
  const range = print(loop.range, ATOM)
  if (macro.name !== 'map')
    return `${range}.${macro.name === 'one' ? 'exists_one' : macro.name}(${loop.iterVar}, ${printed(macro.test)})`
  if (macro.test === undefined) return `${range}.map(${loop.iterVar}, ${printed(macro.item)})`
  const isFilter = macro.item.kind === 'ident' && macro.item.name === loop.iterVar
  return isFilter
    ? `${range}.filter(${loop.iterVar}, ${printed(macro.test)})`
    : `${range}.map(${loop.iterVar}, ${printed(macro.test)}, ${printed(macro.item)})`
}
