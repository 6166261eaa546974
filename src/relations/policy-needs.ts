import { type CedarExpr, type CedarPolicy, partsOf, type Requests } from '../cedar/index.ts'
import { type Budget, fitsGlob } from '../rule/index.ts'

/**
 * Finds conditions that a request must meet for a Cedar policy to apply, or for its evaluation to reach an expression.
 * Only comparisons with literals are analysed; other expressions set no condition.
 */

/** A condition on one value of a request: the value is in `values` or matches `patterns`; with `isNot`, neither. */
interface Test {
  readonly isNot: boolean
  readonly values: ReadonlySet<Value>
  /** Patterns of Cedar's `like` operator: a value that matches one of them counts as one of `values`. */
  readonly patterns: readonly string[]
}

type Value = string | bigint | boolean

/**
 * The conditions on a request, by the tested value. The key is `principal` or `resource` for an entity's id, else the
 * name of an attribute, or a test such as `has x`.
 */
type Needs = ReadonlyMap<string, readonly Test[]>

interface Within {
  readonly requests: Requests
  readonly budget: Budget
}

/** An expression, and the boolean value that it must have. */
type Part = readonly [expr: CedarExpr, holds: boolean]

/** The conditions that a request must meet for the policy to apply. */
export const needsOfPolicy = (policy: CedarPolicy, requests: Requests, budget: Budget): Needs =>
  needsOfAll(partsOfPolicy(policy), { requests, budget })

/** The conditions that a request must meet for the evaluation of the policy to reach the expression `place`. */
export const needsWhereReached = (
  policy: CedarPolicy,
  place: CedarExpr,
  requests: Requests,
  budget: Budget,
): Needs => needsOfAll(partsBefore(partsOfPolicy(policy), place, budget) ?? [], { requests, budget })

/** Whether no request can meet both sets of conditions. */
export function excludesEachOther(one: Needs, other: Needs, budget: Budget): boolean {
  budget.spend(1 / 8 + one.size / 16)
  for (const [what, tests] of one)
    for (const second of other.get(what) ?? [])
      if (tests.some((first) => clash(first, second, budget))) return true
  return false
}

const partsOfPolicy = ({ scope, conditions }: CedarPolicy): Part[] => [
  ...[scope.principal, scope.action, scope.resource].flatMap((expr): Part[] => (expr ? [[expr, true]] : [])),
  ...conditions.map(({ kind, expr }): Part => [expr, kind === 'when']),
]

/**
 * The expressions evaluated before `place`, with the values that they must have for `place` to be reached; undefined
 * when none of `parts` contains `place`.
 */
function partsBefore(parts: readonly Part[], place: CedarExpr, budget: Budget): Part[] | undefined {
  for (const [i, [expr]] of parts.entries()) {
    const within = partsBeforeIn(expr, place, budget)
    if (within !== undefined) return [...parts.slice(0, i), ...within]
  }
  return undefined
}

function partsBeforeIn(expr: CedarExpr, place: CedarExpr, budget: Budget): Part[] | undefined {
  budget.spend(1 / 16)
  if (expr === place) return []
  const before = (parts: readonly Part[]) => partsBefore(parts, place, budget)
  if (expr.kind === 'and' || expr.kind === 'or')
    return before(expr.items.map((item) => [item, expr.kind === 'and']))
  if (expr.kind === 'if')
    return (
      before([
        [expr.test, true],
        [expr.then, true],
      ]) ??
      before([
        [expr.test, false],
        [expr.else, true],
      ])
    )
  for (const part of partsOf(expr)) {
    const found = partsBeforeIn(part, place, budget)
    if (found !== undefined) return found
  }
  return undefined
}

function needsOfAll(parts: readonly Part[], within: Within): Needs {
  const all = new Map<string, Test[]>()
  for (const part of parts)
    for (const [what, tests] of needsOf(part, within)) {
      const known = all.get(what)
      if (known === undefined) all.set(what, [...tests])
      else known.push(...tests)
    }
  return all
}

/**
 * The conditions when at least one of `parts` holds: for each value that all parts test, the union of the values that
 * the parts allow.
 */
function needsOfAny(parts: readonly Part[], within: Within): Needs {
  const each = parts.map((part) => needsOf(part, within))
  const any = new Map<string, Test[]>()
  for (const what of each[0]?.keys() ?? []) {
    const tests = each.flatMap((needs) => needs.get(what)?.find(({ isNot }) => !isNot) ?? [])
    if (tests.length < each.length) continue
    any.set(what, [
      {
        isNot: false,
        values: new Set(tests.flatMap(({ values }) => [...values])),
        patterns: tests.flatMap(({ patterns }) => patterns),
      },
    ])
  }
  return any
}

const nothing = (): Needs => new Map()

function needsOf([expr, holds]: Part, within: Within): Needs {
  const { requests, budget } = within
  budget.spend(1 / 8)
  switch (expr.kind) {
    case 'and':
    case 'or': {
      const parts = expr.items.map((item): Part => [item, holds])
      return (expr.kind === 'and') === holds ? needsOfAll(parts, within) : needsOfAny(parts, within)
    }
    case 'not':
      return needsOf([expr.of, !holds], within)
    case 'comparison':
      return expr.operator === '==' || expr.operator === '!='
        ? needOf(whatOf(expr.left, requests) ?? whatOf(expr.right, requests), {
            isNot: (expr.operator === '==') !== holds,
            values: valuesOf([expr.left, expr.right], requests),
          })
        : nothing()
    case 'in':
      return needsOfMembership(expr.left, expr.right, holds, within)
    case 'is':
      return expr.in === undefined || !holds ? nothing() : needsOfMembership(expr.of, expr.in, holds, within)
    case 'has': {
      const what = attributeOf(expr, requests)
      return needOf(what && `has ${what}`, { values: new Set([holds]) })
    }
    case 'attribute':
      return needOf(whatOf(expr, requests), { values: new Set([holds]) })
    case 'like':
      // A pattern with a backslash is not analysed, because the backslash may escape a star.
      return expr.pattern.includes('\\')
        ? nothing()
        : needOf(whatOf(expr.of, requests), { isNot: !holds, patterns: [expr.pattern] })
    case 'call':
      return expr.name === 'contains' ? needsOfContains(expr.args, holds, within) : nothing()
    default:
      return nothing()
  }
}

/** A map with a single condition; empty when the tested value (`what`) or its allowed values are unknown. */
function needOf(
  what: string | undefined,
  { isNot = false, values = new Set(), patterns = [] }: Partial<{ [K in keyof Test]: Test[K] | undefined }>,
): Needs {
  return what === undefined || values.size + patterns.length === 0
    ? nothing()
    : new Map([[what, [{ isNot, values, patterns }]]])
}

/** The condition of `["a", "b"].contains(resource.name)`, or of `principal.claim_groups.contains("a")`. */
function needsOfContains([set, item]: readonly CedarExpr[], holds: boolean, { requests }: Within): Needs {
  if (set === undefined || item === undefined) return nothing()
  if (set.kind === 'set') {
    const values = valuesOf(set.items, requests)
    // A set with an element that is not a literal may contain any value: a `contains` that must be true then sets no
    // condition.
    const isWhole = !holds || set.items.every(({ kind }) => LITERALS.has(kind))
    return isWhole ? needOf(whatOf(item, requests), { isNot: !holds, values }) : nothing()
  }
  const what = whatOf(set, requests)
  const value = valueOf(item, requests)
  return typeof value === 'string' && what !== undefined
    ? needOf(`${value} in ${what}`, { values: new Set([holds]) })
    : nothing()
}

function needsOfMembership(
  of: CedarExpr,
  right: CedarExpr,
  holds: boolean,
  { requests, budget }: Within,
): Needs {
  if (of.kind !== 'variable') return nothing()
  const items = right.kind === 'set' ? right.items : [right]
  const entities = items.flatMap((item) => (item.kind === 'entity' ? [item.entity] : []))
  if (entities.length < items.length) return nothing()
  budget.spend(items.length / 8)
  const possible = entities.filter((entity) => requests.isIn(of.name, entity) !== 'never')
  const own = possible.filter((entity) => requests.is(of.name, entity) !== 'never')
  const others = possible.filter((entity) => !own.includes(entity))
  const isOne = possible.length === 1
  const needs = new Map<string, Test[]>()
  if (!holds || others.length === 0)
    for (const [what, tests] of needOf(of.name, { isNot: !holds, values: new Set(own.map(({ id }) => id)) }))
      needs.set(what, [...tests])
  if (!holds || isOne)
    for (const { type, id } of others)
      needs.set(`${of.name} in ${type}::${id}`, [{ isNot: false, values: new Set([holds]), patterns: [] }])
  return needs
}

/**
 * The key in `Needs` of a compared value: `principal` also for `claim_sub`, `resource` also for the resource's name and
 * URI.
 */
function whatOf(expr: CedarExpr, requests: Requests): string | undefined {
  if (expr.kind === 'variable') return expr.name
  return expr.kind === 'attribute' ? attributeOf(expr, requests) : undefined
}

/** Attributes that equal an id. Up to release 0.42, that of a Resource had `_` in place of `:`, `/`, `.` and others. */
const IDS: Readonly<Record<string, string>> = {
  claim_sub: 'principal',
  'resource.name': 'resource',
  'resource.uri': 'resource',
}

function attributeOf({ of, name }: Extract<CedarExpr, { kind: 'has' | 'attribute' }>, requests: Requests) {
  if (of.kind !== 'variable') return undefined
  const { key } = requests.attribute(of.name, name)
  return key === '' ? undefined : (IDS[key] ?? key)
}

const valuesOf = (exprs: readonly CedarExpr[], requests: Requests): Set<Value> =>
  new Set(exprs.flatMap((expr) => valueOf(expr, requests) ?? []))

const LITERALS: ReadonlySet<string> = new Set<CedarExpr['kind']>(['string', 'long', 'boolean', 'entity'])

/** The value of a literal, or the id of an entity whose type occurs in requests; undefined for other expressions. */
function valueOf(expr: CedarExpr, requests: Requests): Value | undefined {
  switch (expr.kind) {
    case 'string':
    case 'long':
    case 'boolean':
      return expr.value
    case 'entity': {
      const { type, id } = expr.entity
      return type === requests.typeOf('principal') || type === requests.typeOf('resource') ? id : undefined
    }
    default:
      return undefined
  }
}

/** Whether no value can meet both conditions. */
function clash(one: Test, other: Test, budget: Budget): boolean {
  if (one.isNot) return !other.isNot && clash(other, one, budget)
  const { isNot, values, patterns } = other
  budget.spend((one.values.size + one.patterns.length * (values.size + patterns.length)) / 32)
  const isAmong = (value: Value) =>
    values.has(value) ||
    (typeof value === 'string' && patterns.some((pattern) => fits(pattern, value, budget)))
  return (
    [...one.values].every((value) => isAmong(value) === isNot) &&
    one.patterns.every((pattern) =>
      isNot
        ? patterns.includes(pattern)
        : [...values].every((value) => typeof value !== 'string' || !fits(pattern, value, budget)) &&
          patterns.every((second) => areApart(pattern, second)),
    )
  )
}

function fits(pattern: string, value: string, budget: Budget): boolean {
  budget.spend((pattern.length * value.length) / 128)
  return fitsGlob(pattern, value)
}

/** Whether no text matches both patterns, judged by the texts before the first and after the last star of each. */
function areApart(one: string, other: string): boolean {
  const [start, otherStart] = [startOf(one), startOf(other)]
  const [end, otherEnd] = [endOf(one), endOf(other)]
  return !(
    (start.startsWith(otherStart) || otherStart.startsWith(start)) &&
    (end.endsWith(otherEnd) || otherEnd.endsWith(end))
  )
}

const startOf = (pattern: string): string => pattern.split('*', 1)[0] ?? ''
const endOf = (pattern: string): string => pattern.slice(pattern.lastIndexOf('*') + 1)
