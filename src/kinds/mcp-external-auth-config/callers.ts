import { evaluate, type Expr, fromJson, type Program, spendingFrom } from '../../cel/index.ts'
import { type Budget, isObject } from '../../rule/index.ts'
import { claimOf, isHasClaim, LIST_CLAIMS } from './claim-shapes.ts'

/** The claims of a caller that is made up to satisfy a condition, as JSON. */
type Invented = Record<string, unknown>

/** Requirements on the text of a claim: how it starts and ends, and a text that it contains. */
interface Text {
  start: string
  within: string
  end: string
}

/** The condition of a role mapping: a value that the role claim contains, or a matcher. */
export type MappingCondition = { readonly claim: string } | { readonly program: Program }

/**
 * Whether a made-up caller was found for each of these role mappings: one who meets its condition, but none of the
 * earlier conditions. False proves nothing, because for each condition only one caller is tried, whose claims come
 * from the comparisons in the condition. Throws OutOfBudget.
 */
export function eachIsReached(
  conditions: readonly MappingCondition[],
  roleClaim: string,
  budget: Budget,
): boolean {
  return conditions.every((condition, i) => {
    const caller = callerOf(condition, roleClaim)
    if (caller === undefined) return false
    const claims = fromJson(caller)
    const meets = (each: MappingCondition) => {
      if ('claim' in each) return lists(caller[roleClaim], each.claim, budget)
      const { program } = each
      return evaluate(program.expr, { ...program, claims, spend: spendingFrom(budget) })
    }
    if (meets(condition) !== true) return false
    for (let j = 0; j < i; j++) if (isMet(conditions[j], meets)) return false
    return true
  })
}

const isMet = (
  condition: MappingCondition | undefined,
  meets: (condition: MappingCondition) => unknown,
): boolean => condition !== undefined && meets(condition) === true

function lists(value: unknown, claim: string, budget: Budget): boolean {
  budget.spend(1 / 8)
  return Array.isArray(value) ? value.includes(claim) : value === claim
}

/**
 * A made-up caller who probably meets the condition; undefined when a claim that every provider issues as a list,
 * such as `groups`, would have to be a text.
 */
function callerOf(condition: MappingCondition, roleClaim: string): Invented | undefined {
  const caller = Object.create(null) as Invented
  const texts = new Map<string, Text>()
  if ('claim' in condition) caller[roleClaim] = [condition.claim]
  else invent(condition.program.expr, true, caller, texts)
  for (const [claim, { start, within, end }] of texts) put(caller, claim, `${start}${within}${end}`)
  for (const claim of LIST_CLAIMS) if (caller[claim] === '') caller[claim] = []
  const isIssued = [...LIST_CLAIMS].every((claim) => Array.isArray(caller[claim] ?? []))
  return isIssued ? caller : undefined
}

function put(caller: Invented, claim: string, value: unknown): void {
  if (value !== undefined) caller[claim] ??= value
}

/** Adds claims to `caller` that should give the expression this value, judging by the expression's comparisons. */
function invent(expr: Expr, value: boolean, caller: Invented, texts: Map<string, Text>): void {
  const own = claimOf(expr)
  if (own !== undefined) put(caller, own, value)
  else if (isHasClaim(expr)) {
    if (value && !texts.has(expr.field)) texts.set(expr.field, { start: '', within: '', end: '' })
  } else if (expr.kind === 'call') {
    const { name, args } = expr
    const [first, second] = args
    if (first === undefined) return
    if (name === '!_') invent(first, !value, caller, texts)
    else if (name === '_&&_' || name === '_||_') {
      // A true `&&` or a false `||` needs all operands; otherwise one operand is enough.
      for (const each of (name === '_&&_') === value ? args : [first]) invent(each, value, caller, texts)
    } else if (name === '_?_:_' && second !== undefined) {
      invent(first, true, caller, texts)
      invent(second, value, caller, texts)
    } else if (expr.target !== undefined) inventText(expr.target, { name, first, value, texts })
    else if (second !== undefined) inventFor(name, [first, second], value, caller)
  }
}

function inventFor(name: string, [first, second]: readonly [Expr, Expr], value: boolean, caller: Invented) {
  if (name === '@in') {
    const [holder, element] = [claimOf(second), claimOf(first)]
    if (holder !== undefined) {
      put(caller, holder, [])
      const [list, wanted] = [caller[holder], value ? jsonOf(first) : undefined]
      if (wanted !== undefined && Array.isArray(list)) list.push(wanted)
    } else if (element !== undefined && second.kind === 'list')
      put(caller, element, value ? second.elements[0] && jsonOf(second.elements[0]) : OTHER)
  } else if (name === '_==_' || name === '_!=_') {
    const claim = claimOf(first) ?? claimOf(second)
    if (claim === undefined) return
    put(
      caller,
      claim,
      (name === '_==_') === value ? jsonOf(claimOf(first) === undefined ? first : second) : OTHER,
    )
  }
}

/** A claim value that matchers are unlikely to test for. */
const OTHER = ' '

function inventText(
  target: Expr,
  { name, first, value, texts }: { name: string; first: Expr; value: boolean; texts: Map<string, Text> },
): void {
  const claim = claimOf(target)
  const part = jsonOf(first)
  if (claim === undefined || typeof part !== 'string') return
  const text = texts.get(claim) ?? { start: '', within: '', end: '' }
  texts.set(claim, text)
  if (!value) return
  if (name === 'startsWith') text.start ||= part
  if (name === 'contains') text.within ||= part
  if (name === 'endsWith') text.end ||= part
}

function jsonOf(expr: Expr): unknown {
  if (expr.kind !== 'literal') return undefined
  const { value } = expr
  if (typeof value === 'bigint') return Number(value)
  return isObject(value) ? undefined : value
}
