import type { Budget } from '../../rule/index.ts'
import { type Expr, subexpressions } from '../ast.ts'
import { CelMap, Instant, isList, Span, TypeName, Uint, type Value } from '../evaluate/values.ts'
import type { SettledCalls } from '../checker.ts'
import type { Scope } from './parts.ts'

/** A canonical text of an expression, with the values of variables: equal texts mean that the results are equal. */
export function shown(expr: Expr, scope: Scope, settled: SettledCalls): string {
  const part = (each: Expr) => shown(each, scope, settled)
  switch (expr.kind) {
    case 'literal':
      return shownValue(expr.type === 'uint' ? new Uint(expr.value) : expr.value)
    case 'ident': {
      const binding = expr.absolute ? undefined : scope.get(expr.name)
      if (binding?.is === 'value') return shownValue(binding.value)
      if (binding?.is === 'place') return `@${binding.world.id}`
      return binding?.is === 'cases' ? `@@${binding.id}` : `${expr.absolute ? '.' : ''}${expr.name}`
    }
    case 'select':
      return `${expr.testOnly ? 'has ' : ''}${part(expr.operand)}.${JSON.stringify(expr.field)}`
    case 'call': {
      const types = settled.get(expr)
      const args = [...(expr.target === undefined ? [] : [expr.target]), ...expr.args].map(part)
      return `${expr.name}(${args.join(', ')})${types === undefined ? '' : ` as ${types.join()}`}`
    }
    case 'list':
      return `[${expr.elements.map(part).join(', ')}]`
    case 'map':
      return `{${expr.entries.map(({ key, value }) => `${part(key)}: ${part(value)}`).join(', ')}}`
    case 'message':
      return `${expr.name}{}`
    case 'comprehension': {
      const inner = new Map(scope)
      inner.delete(expr.iterVar)
      inner.delete(expr.accuVar)
      const within = [expr.init, expr.step, expr.result].map((each) => shown(each, inner, settled))
      return `loop ${expr.iterVar} of ${part(expr.range)}: ${within.join('; ')}`
    }
  }
}

function shownValue(value: Value): string {
  if (isList(value)) return `[${value.map(shownValue).join(', ')}]`
  if (value instanceof CelMap)
    return `{${Array.from(value.entries(), ([key, item]) => `${shownValue(key)}: ${shownValue(item)}`).join(', ')}}`
  if (value instanceof Uint) return `${value.value}u`
  if (value instanceof Uint8Array) return `b[${value.join()}]`
  if (value instanceof Instant) return `timestamp(${value.nanoseconds}, ${value.offset})`
  if (value instanceof Span) return `duration(${value.nanoseconds})`
  if (value instanceof TypeName) return `type(${value.name})`
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'number' ? `${Object.is(value, -0) ? '-0' : value}d` : String(value)
}

/** The names of all identifiers in an expression. */
export function namesIn(expr: Expr, budget: Budget, names = new Set<string>()): Set<string> {
  budget.spend(1 / 8)
  if (expr.kind === 'ident') names.add(expr.name)
  for (const part of subexpressions(expr)) namesIn(part, budget, names)
  return names
}

/** The constants in an expression, as candidate JSON values for a claim. */
export function constantsIn(expr: Expr): unknown[] {
  if (expr.kind !== 'literal') return subexpressions(expr).flatMap(constantsIn)
  return expr.value instanceof Uint8Array || expr.value === null ? [] : [expr.value]
}

/** The names of the claims that an expression reads. */
export function claimsIn(expr: Expr): string[] {
  const own =
    expr.kind === 'select' && expr.operand.kind === 'ident' && expr.operand.name === 'claims'
      ? [expr.field]
      : []
  return [...own, ...subexpressions(expr).flatMap(claimsIn)]
}
