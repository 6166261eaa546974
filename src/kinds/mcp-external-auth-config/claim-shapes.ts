import type { Expr } from '../../cel/index.ts'

/** Claims that every identity provider issues as one text. `scp` and `aud` are a text at some and a list at others. */
export const TEXT_CLAIMS: ReadonlySet<string> = new Set(
  (
    'scope sub iss azp client_id appid jti nonce sid email name preferred_username given_name family_name nickname ' +
    'upn unique_name oid tid hd locale'
  ).split(' '),
)
/** Claims that every identity provider issues as a list. */
const LIST_CLAIMS: ReadonlySet<string> = new Set(['groups', 'roles', 'cognito:groups'])

const TEXT_FUNCTIONS: ReadonlySet<string> = new Set(['contains', 'startsWith', 'endsWith', 'matches'])

/** A claim that a matcher takes for what it is not: the evaluation fails, and the mapping is skipped. */
export interface Misfit {
  readonly claim: string
  readonly is: 'text' | 'list'
}

/** The first misfit of an expression that compiles; none where it asks for the type of something itself. */
export const misfitIn = (expr: Expr): Misfit | undefined => (asksForType(expr) ? undefined : search(expr))

const asksForType = (expr: Expr): boolean =>
  (expr.kind === 'call' && expr.name === 'type') || partsOf(expr).some(asksForType)

function search(expr: Expr): Misfit | undefined {
  const found = misfitAt(expr)
  if (found !== undefined) return found
  for (const part of partsOf(expr)) {
    const within = search(part)
    if (within !== undefined) return within
  }
  return undefined
}

function misfitAt(expr: Expr): Misfit | undefined {
  if (expr.kind === 'comprehension') return asList(expr.range)
  if (expr.kind !== 'call') return undefined
  if (expr.name === '@in') return asList(expr.args[1])
  const claim = expr.target && TEXT_FUNCTIONS.has(expr.name) ? claimOf(expr.target) : undefined
  return claim !== undefined && LIST_CLAIMS.has(claim) ? { claim, is: 'list' } : undefined
}

function asList(expr: Expr | undefined): Misfit | undefined {
  const claim = expr && claimOf(expr)
  return claim !== undefined && TEXT_CLAIMS.has(claim) ? { claim, is: 'text' } : undefined
}

/** The name in `claims.name` or `claims["name"]`. */
function claimOf(expr: Expr): string | undefined {
  if (expr.kind === 'select') return isClaims(expr.operand) && !expr.testOnly ? expr.field : undefined
  if (expr.kind !== 'call' || expr.name !== '_[_]') return undefined
  const [operand, key] = expr.args
  if (operand === undefined || key?.kind !== 'literal' || key.type !== 'string') return undefined
  return isClaims(operand) ? key.value : undefined
}

const isClaims = (expr: Expr): boolean => expr.kind === 'ident' && expr.name === 'claims'

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'select':
      return [expr.operand]
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args]
    case 'list':
      return expr.elements
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value])
    case 'message':
      return expr.fields.map(({ value }) => value)
    case 'comprehension':
      return [expr.range, expr.init, expr.condition, expr.step, expr.result]
    default:
      return []
  }
}
