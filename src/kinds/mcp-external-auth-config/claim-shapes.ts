import { type Expr, subexpressions } from '../../cel/index.ts'
import { slipOf } from '../../rule/index.ts'

/** Claims that every identity provider issues as a string; not `scp` and `aud`, which some issue as a list. */
export const TEXT_CLAIMS: ReadonlySet<string> = new Set(
  (
    'scope sub iss azp client_id appid jti nonce sid email name preferred_username given_name family_name nickname ' +
    'upn unique_name oid tid hd locale'
  ).split(' '),
)
/** Claims that every identity provider issues as a list. */
export const LIST_CLAIMS: ReadonlySet<string> = new Set(['groups', 'roles', 'cognito:groups'])
/** Other claims that are never a bool: numbers, objects, and claims that only some providers issue as a list. */
const OTHER_CLAIMS: ReadonlySet<string> = new Set(
  'aud exp iat nbf auth_time scp cid act may_act cnf'.split(' '),
)
const KNOWN_CLAIMS: ReadonlySet<string> = new Set([...TEXT_CLAIMS, ...LIST_CLAIMS, ...OTHER_CLAIMS])

const TEXT_FUNCTIONS: ReadonlySet<string> = new Set(['contains', 'startsWith', 'endsWith', 'matches'])

/**
 * A claim that a matcher uses as a list although it is a string (`text`), or as a string although it is a list
 * (`list`): the evaluation of the matcher then fails.
 */
export interface Misfit {
  readonly claim: string
  readonly is: 'text' | 'list'
}

/** The message about a matcher that uses a claim with the wrong type; `consequence` says what its failure causes. */
export const misfitText = ({ claim, is }: Misfit, consequence: string): string =>
  is === 'text'
    ? `claims.${claim} is a string, not a list, so \`in\` and exists() fail at run time: ${consequence}; write == or matches()`
    : `claims.${claim} is a list, on which string functions fail at run time: ${consequence}; write '… in claims.${claim}'`

/** The claim, when the whole expression is one claim, such as `claims.sub`, that is never a bool; else undefined. */
export function claimThatIsNoBool(expr: Expr): string | undefined {
  const claim = claimOf(expr)
  return claim !== undefined && KNOWN_CLAIMS.has(claim) ? claim : undefined
}

/**
 * True if an expression is certainly true for all claims; false if it is never true, such as
 * `claims.a == "x" && claims.a == "y"`, which fails without the claim; else undefined.
 */
export function constantOf(expr: Expr): boolean | undefined {
  if (expr.kind === 'literal') return expr.type === 'bool' ? expr.value : undefined
  if (expr.kind !== 'call') return undefined
  const [first, second] = expr.args
  if (first === undefined) return undefined
  if (expr.name === '!_') {
    const value = constantOf(first)
    if (value === true) return false
    // Where the operand fails instead of being false, its negation fails too.
    return value === false && first.kind === 'literal' ? true : undefined
  }
  if (second === undefined) return undefined
  switch (expr.name) {
    case '_&&_':
      return constantOfTests(testsOf(expr, '_&&_'))
    case '_||_': {
      const tests = testsOf(expr, '_||_').map(constantOf)
      return tests.includes(true) ? true : tests.includes(undefined) ? undefined : false
    }
    case '_==_':
      return first.kind === 'literal' && first.type === 'string' && isText(second)
        ? first.value === second.value
        : undefined
    case '@in':
      return second.kind === 'list' && second.elements.length === 0 ? false : undefined
    default:
      return undefined
  }
}

/**
 * Whether some part of an expression requires a value of a claim, such as `claims.a == "x"`, and does not only
 * exclude values or test which claims exist. `refuses`: whether the expression is negated, by `!` or `== false`.
 */
export function demandsValue(expr: Expr, refuses = false): boolean {
  if (expr.kind === 'literal' || (expr.kind === 'select' && expr.testOnly)) return false
  if (expr.kind !== 'call') return !refuses
  const { name, args } = expr
  if (name === '!_' || (name === '_==_' && args.some(isFalse))) return demandsOneOf(args, 0, !refuses)
  if (name === '_&&_' || name === '_||_') return demandsOneOf(args, 0, refuses)
  if (name === '_?_:_') return demandsOneOf(args, 1, refuses)
  if (name === '@in' && args[1] !== undefined && isClaims(args[1])) return false
  return (name === '_!=_') === refuses
}

const isFalse = (expr: Expr): boolean => expr.kind === 'literal' && expr.value === false

function demandsOneOf(exprs: readonly Expr[], from: number, refuses: boolean): boolean {
  for (let i = from; i < exprs.length; i++) {
    const expr = exprs[i]
    if (expr !== undefined && demandsValue(expr, refuses)) return true
  }
  return false
}

/** Whether a caller lacks the claim with this name. */
type Lacks = (claim: string) => boolean

/** The set of boolean values that an expression may have, as bits; no bit when its evaluation certainly fails. */
type Values = number
const TRUE = 1
const FALSE = 2
const BOTH = TRUE | FALSE

/**
 * Whether an expression may be true for a caller who lacks some claims. The answer false is certain: a missing claim
 * makes every CEL function and operator that reads it fail, except logical operators.
 */
export const mayBeTrueLacking = (expr: Expr, lacks: Lacks): boolean =>
  (valuesLacking(expr, lacks) & TRUE) !== 0

/**
 * The values (true, false) that an expression may have for a caller who lacks some claims. Finds both values in one
 * visit of each subexpression: with a visit for each value, every nested conditional would double the time.
 */
function valuesLacking(expr: Expr, lacks: Lacks): Values {
  if (expr.kind === 'literal') return expr.type !== 'bool' ? BOTH : expr.value ? TRUE : FALSE
  const asked = claimAskedFor(expr)
  if (asked !== undefined) return lacks(asked) ? FALSE : BOTH
  if (expr.kind === 'comprehension' && isExists(expr) && expr.iterVar !== 'claims') {
    if (failsLacking(expr.range, lacks)) return 0
    return expr.step.args.slice(1).some((each) => mayBeTrueLacking(each, lacks)) ? BOTH : FALSE
  }
  const [first, second, third] = expr.kind === 'call' ? expr.args : []
  if (expr.kind !== 'call' || first === undefined) return failsLacking(expr, lacks) ? 0 : BOTH
  if (expr.name === '!_') return opposite(valuesLacking(first, lacks))
  if (expr.name === '_&&_') return valuesOfTests(expr.args, FALSE, lacks)
  if (expr.name === '_||_') return valuesOfTests(expr.args, TRUE, lacks)
  if (expr.name === '_?_:_' && second !== undefined && third !== undefined) {
    const condition = valuesLacking(first, lacks)
    return (
      (condition & TRUE ? valuesLacking(second, lacks) : 0) |
      (condition & FALSE ? valuesLacking(third, lacks) : 0)
    )
  }
  return failsLacking(expr, lacks) ? 0 : BOTH
}

const opposite = (values: Values): Values => (values & TRUE ? FALSE : 0) | (values & FALSE ? TRUE : 0)

/**
 * The values that `&&` or `||` with the operands `tests` may have. The value `decisive` (false for `&&`) is possible
 * if at least one operand may have it, the opposite value only if all operands may have it.
 */
function valuesOfTests(tests: readonly Expr[], decisive: Values, lacks: Lacks): Values {
  let some = 0
  let every = BOTH
  for (const test of tests) {
    const values = valuesLacking(test, lacks)
    some |= values
    every &= values
  }
  return (some & decisive) | (every & opposite(decisive))
}

/** Whether the comprehension is the expanded macro `range.exists(x, test)`. */
const isExists = (expr: Expr & { readonly kind: 'comprehension' }): expr is typeof expr & Exists =>
  expr.step.kind === 'call' && expr.step.name === '_||_'

interface Exists {
  readonly step: Expr & { readonly kind: 'call' }
}

/** Whether the evaluation of an expression certainly fails for a caller who lacks these claims. */
function failsLacking(expr: Expr, lacks: Lacks): boolean {
  if (expr.kind === 'select')
    return (
      (isClaims(expr.operand) && !expr.testOnly && lacks(expr.field)) || failsLacking(expr.operand, lacks)
    )
  if (expr.kind === 'comprehension') return failsLacking(expr.range, lacks)
  if (expr.kind !== 'call' || LOGIC.has(expr.name)) return false
  const claim = claimOf(expr)
  if (claim !== undefined) return lacks(claim)
  return (
    (expr.target !== undefined && failsLacking(expr.target, lacks)) ||
    expr.args.some((each) => failsLacking(each, lacks))
  )
}

/** The most claims of one expression that a message names. */
const MOST_NAMED = 3

/**
 * Names of claims that a caller lacks and without which the expression is never true; undefined when it may be true, or
 * when the caller lacks none of `claims`.
 */
export function neededClaims(expr: Expr, claims: ReadonlySet<string>, lacks: Lacks): string[] | undefined {
  const lacking: string[] = []
  for (const claim of claims) if (lacking.length < MOST_NAMED && lacks(claim)) lacking.push(claim)
  return lacking.length === 0 || mayBeTrueLacking(expr, lacks) ? undefined : lacking
}

const LOGIC: ReadonlySet<string> = new Set(['_&&_', '_||_', '_?_:_'])

/** As `constantOf`, for `&&` of these tests. */
function constantOfTests(tests: readonly Expr[]): boolean | undefined {
  const values = tests.map(constantOf)
  if (values.includes(false) || contradict(tests)) return false
  return values.includes(undefined) ? undefined : true
}

/** Whether two of the tests require that the same claim equals different strings. */
function contradict(tests: readonly Expr[]): boolean {
  let wanted: Map<string, string> | undefined
  for (const test of tests) {
    if (test.kind !== 'call' || test.name !== '_==_') continue
    const [first, second] = test.args
    if (first === undefined || second === undefined) continue
    const claim = claimOf(first) ?? claimOf(second)
    const text = isText(first) ? first : second
    if (claim === undefined || !isText(text)) continue
    wanted ??= new Map()
    const before = wanted.get(claim)
    if (before !== undefined && before !== text.value) return true
    wanted.set(claim, text.value)
  }
  return false
}

/** The operands of nested calls of one operator, such as `a && b && c`; any other expression is returned alone. */
function testsOf(expr: Expr, operator: string, to: Expr[] = []): readonly Expr[] {
  if (expr.kind !== 'call' || expr.name !== operator) to.push(expr)
  else for (const each of expr.args) testsOf(each, operator, to)
  return to
}

const isText = (expr: Expr): expr is Expr & { readonly kind: 'literal'; readonly type: 'string' } =>
  expr.kind === 'literal' && expr.type === 'string'

/**
 * The first claim that a valid expression uses with the wrong type; undefined for none, or when the expression itself
 * tests types.
 */
export function misfitIn(expr: Expr): Misfit | undefined {
  const found = search(expr)
  return found === undefined || asksForType(expr) ? undefined : found
}

const asksForType = (expr: Expr): boolean =>
  (expr.kind === 'call' && expr.name === 'type') || subexpressions(expr).some(asksForType)

function search(expr: Expr): Misfit | undefined {
  const found = misfitAt(expr)
  if (found !== undefined) return found
  for (const part of subexpressions(expr)) {
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

/** A claim with a misspelt name, and the known claim that is probably meant. */
export interface Slip {
  readonly claim: string
  readonly meant: string
}

/** The claims that an expression mentions. */
export function claimsOf(expr: Expr): ReadonlySet<string> {
  const claims = new Set<string>()
  addClaims(expr, claims)
  return claims
}

/** The first claim with a misspelt name, unless the claims also contain the correct name. */
export function slipAmong(claims: ReadonlySet<string>): Slip | undefined {
  for (const claim of claims) {
    const meant = meantClaim(claim)
    if (meant !== undefined && !claims.has(meant)) return { claim, meant }
  }
  return undefined
}

/**
 * The known claim that a misspelt name means; undefined when the name is not misspelt. A name that differs from that
 * of a known claim only by underscores is not misspelt, because some providers use such names.
 */
export function meantClaim(name: string): string | undefined {
  const meant = KNOWN_CLAIMS.has(name) ? undefined : slipOf(name, KNOWN_CLAIMS)
  if (meant === undefined) return undefined
  return meant.replaceAll('_', '') === name.replaceAll('_', '') ? undefined : meant
}

function addClaims(expr: Expr, to: Set<string>): void {
  const claim = expr.kind === 'select' && isClaims(expr.operand) ? expr.field : claimOf(expr)
  if (claim !== undefined) to.add(claim)
  else for (const part of subexpressions(expr)) addClaims(part, to)
}

/** The name in `claims.name` or `claims["name"]`; undefined for other expressions. */
export function claimOf(expr: Expr): string | undefined {
  if (expr.kind === 'select') return isClaims(expr.operand) && !expr.testOnly ? expr.field : undefined
  if (expr.kind !== 'call' || expr.name !== '_[_]') return undefined
  const [operand, key] = expr.args
  if (operand === undefined || key?.kind !== 'literal' || key.type !== 'string') return undefined
  return isClaims(operand) ? key.value : undefined
}

/** The claim whose presence `has(claims.name)` or `"name" in claims` tests. */
function claimAskedFor(expr: Expr): string | undefined {
  if (isHasClaim(expr)) return expr.field
  if (expr.kind !== 'call' || expr.name !== '@in') return undefined
  const [name, claims] = expr.args
  return name !== undefined && isText(name) && claims !== undefined && isClaims(claims)
    ? name.value
    : undefined
}

/** Whether an expression is `has(claims.name)`. */
export const isHasClaim = (expr: Expr): expr is Expr & { readonly kind: 'select' } =>
  expr.kind === 'select' && expr.testOnly && isClaims(expr.operand)

const isClaims = (expr: Expr): boolean => expr.kind === 'ident' && expr.name === 'claims'
