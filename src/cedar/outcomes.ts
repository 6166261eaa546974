import type { Budget } from '../rule/index.ts'
import type { CedarExpr, CedarPolicy } from './ast.ts'
import { EXTENSIONS, isDecimal } from './extensions.ts'
import type { Fault, FaultNote } from './faults.ts'
import { ANY, JSON_TYPES, ORDERED, type Requests, TYPE } from './requests.ts'
import {
  anything,
  asBoolean,
  decided,
  either,
  failed,
  type KnownAttributes,
  joined,
  longOf,
  misfit,
  NOTHING,
  type EvaluatedExpr,
  summed,
  textOf,
  withFact,
} from './results.ts'

/**
 * Evaluates a Cedar policy for a family of requests, such as all calls of tools, as cedar-go 1.8 does: the policy can
 * be true, be false, or fail. Where a value is not known, every value is considered possible: a policy is reported as
 * never true only if no request of the family makes it true.
 */

/** The possible results of a Cedar policy for requests in its scope; only `fails` is set when it always fails. */
export interface PolicyOutcome {
  readonly isTrue: boolean
  readonly isFalse: boolean
  /** Whether the evaluation of the policy can fail. */
  readonly fails: boolean
  /** Whether all, some or no requests of the family are in the scope of the policy. */
  readonly scope: 'all' | 'some' | 'none'
}

/** The possible results of a Cedar policy for a family of requests; calls `note` for each fault found in the policy. */
export function outcomeOf(
  policy: CedarPolicy,
  requests: Requests,
  budget: Budget,
  note?: FaultNote,
): PolicyOutcome {
  const evaluation = new Evaluation(requests, budget, note)
  let facts: KnownAttributes | undefined = NOTHING
  let scope: PolicyOutcome['scope'] = 'all'
  for (const part of [policy.scope.principal, policy.scope.action, policy.scope.resource]) {
    if (part === undefined) continue
    const { whenTrue, whenFalse } = evaluation.boolean(part, facts)
    if (whenTrue === undefined) return { isTrue: false, isFalse: false, fails: false, scope: 'none' }
    if (whenFalse !== undefined) scope = 'some'
    facts = whenTrue
  }
  let isFalse = false
  let fails = false
  for (const { kind, expr } of policy.conditions) {
    const result: EvaluatedExpr = evaluation.boolean(expr, facts)
    const [held, other]: readonly (KnownAttributes | undefined)[] =
      kind === 'when' ? [result.whenTrue, result.whenFalse] : [result.whenFalse, result.whenTrue]
    fails ||= result.fails
    isFalse ||= other !== undefined
    facts = held
    if (facts === undefined) break
  }
  return { isTrue: facts !== undefined, isFalse, fails, scope }
}

type Access = Extract<CedarExpr, { name: string; of: CedarExpr }>

class Evaluation {
  readonly #requests: Requests
  readonly #budget: Budget
  readonly #tell: FaultNote | undefined

  constructor(requests: Requests, budget: Budget, note: FaultNote | undefined) {
    this.#requests = requests
    this.#budget = budget
    this.#tell = note
  }

  #note(fault: Fault, at: CedarExpr): void {
    this.#tell?.(fault, at)
  }

  /** Evaluates a condition of a policy; the evaluation fails when the value of the condition cannot be a boolean. */
  boolean(expr: CedarExpr, facts: KnownAttributes): EvaluatedExpr {
    const result = this.value(expr, facts)
    if (result.types === 0 || this.#takes(result, TYPE.boolean, 'a condition', expr)) return asBoolean(result)
    return failed(result.facts)
  }

  value(expr: CedarExpr, facts: KnownAttributes): EvaluatedExpr {
    this.#budget.spend(1 / 2 + facts.size / 16)
    switch (expr.kind) {
      case 'boolean':
        return {
          types: TYPE.boolean,
          fails: false,
          facts,
          literal: expr.value,
          whenTrue: expr.value ? facts : undefined,
          whenFalse: expr.value ? undefined : facts,
        }
      case 'long':
        return { types: TYPE.long, fails: false, facts, literal: expr.value }
      case 'string':
        return { types: TYPE.string, fails: false, facts, literal: expr.value }
      case 'entity':
        return { types: TYPE.entity, fails: false, facts, entity: expr.entity }
      case 'variable':
        return {
          types: expr.name === 'context' ? TYPE.record : TYPE.entity,
          fails: false,
          facts,
          variable: expr.name,
        }
      case 'set': {
        const items = this.#each(expr.items, facts)
        return { ...summed(items, facts, TYPE.set), items }
      }
      case 'record': {
        const values = this.#each(
          expr.entries.map(([, value]) => value),
          facts,
        )
        const entries = new Map(
          expr.entries.map(([name], i) => [name, values[i] ?? anything(facts)] as const),
        )
        return { ...summed(values, facts, TYPE.record), entries }
      }
      case 'and':
      case 'or':
        return this.#chain(expr.kind, expr.items, facts)
      case 'not': {
        const of = this.boolean(expr.of, facts)
        return decided([of.whenFalse, of.whenTrue], of.fails)
      }
      case 'negate':
        return this.#arithmetic([expr.of], facts, expr)
      case 'arithmetic':
        return this.#arithmetic(expr.items, facts, expr)
      case 'comparison':
        return this.#comparison(expr, facts)
      case 'in':
        return this.#in(expr, this.value(expr.left, facts), expr.right)
      case 'is':
        return this.#is(expr, facts)
      case 'if':
        return this.#if(expr, facts)
      case 'has':
        return this.#has(expr, this.value(expr.of, facts))
      case 'attribute':
        return this.#attribute(expr, this.value(expr.of, facts))
      case 'like': {
        const of = this.value(expr.of, facts)
        if (of.types === 0 || !this.#takes(of, TYPE.string, 'like', expr, expr.pattern))
          return failed(of.facts)
        return either(of.facts, of.fails || of.types !== TYPE.string)
      }
      case 'call':
        return this.#call(expr, facts)
    }
  }

  /** Evaluates expressions in order; attributes that an expression proves present are known in the next expressions. */
  #each(exprs: readonly CedarExpr[], facts: KnownAttributes): EvaluatedExpr[] {
    const results: EvaluatedExpr[] = []
    for (const expr of exprs) results.push(this.value(expr, results.at(-1)?.facts ?? facts))
    return results
  }

  /** Evaluates operands joined by `&&` or `||`: for `&&` until one is false, for `||` until one is true. */
  #chain(kind: 'and' | 'or', items: readonly CedarExpr[], facts: KnownAttributes): EvaluatedExpr {
    let on: KnownAttributes | undefined = facts
    let off: KnownAttributes | undefined
    let fails = false
    for (const item of items) {
      const result: EvaluatedExpr = this.boolean(item, on)
      fails ||= result.fails
      const [next, end]: readonly (KnownAttributes | undefined)[] =
        kind === 'and' ? [result.whenTrue, result.whenFalse] : [result.whenFalse, result.whenTrue]
      off = joined(off, end)
      on = next
      if (on === undefined) break
    }
    return decided(kind === 'and' ? [on, off] : [off, on], fails)
  }

  #arithmetic(items: readonly CedarExpr[], facts: KnownAttributes, at: CedarExpr): EvaluatedExpr {
    const results = this.#each(items, facts)
    const isFailed = results.some(
      (each) => each.types === 0 || !this.#takes(each, TYPE.long, 'arithmetic', at),
    )
    const last = results.at(-1)?.facts ?? facts
    // `fails` is true, because arithmetic can overflow, which makes the evaluation fail.
    return isFailed ? failed(last) : { types: TYPE.long, fails: true, facts: last }
  }

  #comparison(expr: Extract<CedarExpr, { kind: 'comparison' }>, facts: KnownAttributes): EvaluatedExpr {
    const left = this.value(expr.left, facts)
    const right = this.value(expr.right, left.facts)
    if (left.types === 0 || right.types === 0) return failed(right.facts)
    const fails = left.fails || right.fails
    const { operator } = expr
    if (operator === '==' || operator === '!=') {
      const equal = this.#equal(left, right, operator, expr)
      const whenEqual = equal === 'never' ? undefined : right.facts
      const whenOther = equal === 'always' ? undefined : right.facts
      return decided(operator === '==' ? [whenEqual, whenOther] : [whenOther, whenEqual], fails)
    }
    const common = left.types & right.types & ORDERED
    if (common !== 0) return either(right.facts, fails || left.types !== right.types || left.types !== common)
    const [value, other] = left.types & ORDERED ? [right, left] : [left, right]
    if ((value.types & TYPE.decimal) !== 0)
      this.#note({ kind: 'number', origin: value.origin, operator, value: longOf(other) }, expr)
    else this.#note(misfit(value, operator, false, other), expr)
    return failed(right.facts)
  }

  /** Whether two values are always, never or maybe equal; notes a fault when they are never equal. */
  #equal(
    left: EvaluatedExpr,
    right: EvaluatedExpr,
    operator: '==' | '!=' | 'contains',
    at: CedarExpr,
  ): 'always' | 'maybe' | 'never' {
    for (const [one, other] of [
      [left, right],
      [right, left],
    ] as const) {
      const { entity } = other
      if (one.variable === undefined || entity === undefined) continue
      const { variable } = one
      const found = this.#requests.is(variable, entity)
      if (found === 'never') this.#note({ kind: 'entity', variable, relation: '==', entity }, at)
      return found
    }
    if (left.literal !== undefined && right.literal !== undefined)
      return left.literal === right.literal ? 'always' : 'never'
    if (left.entity !== undefined && right.entity !== undefined) {
      const isSame = left.entity.type === right.entity.type && left.entity.id === right.entity.id
      return isSame ? 'always' : 'never'
    }
    if ((left.types & right.types) !== 0) return 'maybe'
    const isKnown = left.origin !== undefined || left.variable !== undefined
    const [value, other] = isKnown ? [left, right] : [right, left]
    const number = longOf(other)
    if (number !== undefined && (value.types & TYPE.decimal) !== 0)
      this.#note({ kind: 'number', origin: value.origin, operator, value: number }, at)
    else this.#note(misfit(value, operator, true, other), at)
    return 'never'
  }

  #in(at: CedarExpr, left: EvaluatedExpr, rightExpr: CedarExpr): EvaluatedExpr {
    if (left.types === 0 || !this.#takes(left, TYPE.entity, 'in', at)) return failed(left.facts)
    const right = this.value(rightExpr, left.facts)
    if (right.types === 0 || !this.#takes(right, TYPE.entity | TYPE.set, 'in', at)) return failed(right.facts)
    const fails = left.fails || right.fails
    // A set whose items are not known may hold entities, unless it is read from a claim (`origin`).
    if (right.items === undefined && right.origin === undefined && (right.types & TYPE.set) !== 0)
      return either(right.facts, true)
    const entities = right.items ?? [right]
    if (entities.some(({ types }) => types !== 0 && (types & TYPE.entity) === 0)) {
      for (const each of entities) this.#takes(each, TYPE.entity, 'in', at)
      return failed(right.facts)
    }
    const { variable } = left
    if (variable === undefined || entities.some(({ entity }) => entity === undefined))
      return entities.length === 0 ? decided([undefined, right.facts], fails) : either(right.facts, fails)
    let isMaybe = false
    let isAlways = false
    for (const { entity } of entities) {
      if (entity === undefined) continue
      const found = this.#requests.isIn(variable, entity)
      if (found === 'never') this.#note({ kind: 'entity', variable, relation: 'in', entity }, at)
      isMaybe ||= found === 'maybe'
      isAlways ||= found === 'always'
    }
    return decided([isMaybe || isAlways ? right.facts : undefined, isAlways ? undefined : right.facts], fails)
  }

  #is(expr: Extract<CedarExpr, { kind: 'is' }>, facts: KnownAttributes): EvaluatedExpr {
    const of = this.value(expr.of, facts)
    if (of.types === 0 || !this.#takes(of, TYPE.entity, 'is', expr)) return failed(of.facts)
    const { variable, entity } = of
    const type = variable === undefined ? entity?.type : this.#requests.typeOf(variable)
    if (type !== undefined && type !== expr.type) {
      if (variable !== undefined) this.#note({ kind: 'type', variable, type: expr.type }, expr)
      return decided([undefined, of.facts], of.fails)
    }
    if (expr.in !== undefined) return this.#in(expr, of, expr.in)
    return type === undefined ? either(of.facts, of.fails) : decided([of.facts, undefined], of.fails)
  }

  #if(expr: Extract<CedarExpr, { kind: 'if' }>, facts: KnownAttributes): EvaluatedExpr {
    const test = this.boolean(expr.test, facts)
    const branches = [
      ...(test.whenTrue ? [this.value(expr.then, test.whenTrue)] : []),
      ...(test.whenFalse ? [this.value(expr.else, test.whenFalse)] : []),
    ]
    const reached = branches.filter(({ types }) => types !== 0)
    const [first, second] = reached
    const fails = test.fails || branches.some((each) => each.fails || each.types === 0)
    if (first === undefined) return failed(test.facts)
    if (second === undefined) return { ...first, fails }
    return {
      types: first.types | second.types,
      fails,
      facts: joined(first.facts, second.facts) ?? NOTHING,
      whenTrue: joined(asBoolean(first).whenTrue, asBoolean(second).whenTrue),
      whenFalse: joined(asBoolean(first).whenFalse, asBoolean(second).whenFalse),
    }
  }

  #has(expr: Access, of: EvaluatedExpr): EvaluatedExpr {
    if (of.types === 0 || !this.#takes(of, TYPE.record | TYPE.entity, 'has', expr)) return failed(of.facts)
    const { facts, fails, entries, variable } = of
    if (entries !== undefined) {
      const isThere = entries.has(expr.name)
      return decided([isThere ? facts : undefined, isThere ? undefined : facts], fails)
    }
    if (variable === undefined) return either(facts, true)
    const { presence, key } = this.#requests.attribute(variable, expr.name)
    const known = presence === 'maybe' ? facts.get(key) : presence === 'always'
    if (presence === 'never')
      this.#note({ kind: 'missing', origin: { of: variable, name: expr.name }, isRead: false }, expr)
    return decided(
      [
        known === false ? undefined : withFact(facts, key, true),
        known ? undefined : withFact(facts, key, false),
      ],
      fails,
    )
  }

  #attribute(expr: Access, of: EvaluatedExpr): EvaluatedExpr {
    if (of.types === 0 || !this.#takes(of, TYPE.record | TYPE.entity, `.${expr.name}`, expr))
      return failed(of.facts)
    const { facts, fails, entries, variable } = of
    if (entries !== undefined) return entries.get(expr.name) ?? failed(facts)
    if (variable === undefined) return { ...anything(facts), origin: of.origin }
    const { presence, types, key } = this.#requests.attribute(variable, expr.name)
    const origin = { of: variable, name: expr.name }
    const known = presence === 'maybe' ? facts.get(key) : presence === 'always'
    if (presence === 'never') this.#note({ kind: 'missing', origin, isRead: true }, expr)
    else if (known !== true) this.#note({ kind: 'unguarded', origin, key }, expr)
    if (known === false) return failed(facts)
    const after = presence === 'maybe' ? withFact(facts, key, true) : facts
    return { types, fails: fails || known !== true, facts: after, origin }
  }

  #call(at: Extract<CedarExpr, { kind: 'call' }>, facts: KnownAttributes): EvaluatedExpr {
    const { name, args } = at
    const [first = failed(facts), second] = this.#each(args, facts)
    const results = second === undefined ? [first] : [first, second]
    const last = results.at(-1)?.facts ?? facts
    if (args.length === 0 || results.some(({ types }) => types === 0)) return failed(last)
    const fails = results.some((each) => each.fails)
    switch (name) {
      case 'contains':
        if (!this.#takes(first, TYPE.set, '.contains', at, textOf(second))) return failed(last)
        return this.#contains(first, second ?? first, { at, facts: last, fails })
      case 'containsAll':
      case 'containsAny': {
        const sets = [first, second ?? first]
        if (!sets.every((each) => this.#takes(each, TYPE.set, `.${name}`, at))) return failed(last)
        return either(last, fails || sets.some(({ types }) => types !== TYPE.set))
      }
      case 'isEmpty':
        if (!this.#takes(first, TYPE.set, '.isEmpty', at)) return failed(last)
        return either(last, fails || first.types !== TYPE.set)
      case 'hasTag':
        if (!this.#takes(first, TYPE.entity, '.hasTag', at)) return failed(last)
        return first.variable === undefined ? either(last, true) : decided([undefined, last], fails)
      case 'getTag':
        return first.variable === undefined ? anything(last) : failed(last)
      default:
        return this.#extension(name, results, args.length, { at, facts: last, fails })
    }
  }

  #contains(
    set: EvaluatedExpr,
    item: EvaluatedExpr,
    { at, facts, fails: before }: { at: CedarExpr; facts: KnownAttributes; fails: boolean },
  ): EvaluatedExpr {
    const fails = before || set.types !== TYPE.set
    const { items } = set
    if (items === undefined) {
      // A set that is read from a claim (`origin`) has only items of JSON types: it contains no item of another type.
      if (set.origin === undefined || (item.types & JSON_TYPES) !== 0) return either(facts, fails)
      const value = longOf(item)
      if (value !== undefined)
        this.#note({ kind: 'number', origin: set.origin, operator: 'contains', value }, at)
      else this.#note({ ...misfit(set, '.contains', true, item), types: TYPE.set }, at)
      return decided([undefined, facts], fails)
    }
    const equal = items.map((each) => this.#equal(item, each, 'contains', at))
    if (equal.includes('always')) return decided([facts, undefined], fails)
    return decided([equal.includes('maybe') ? facts : undefined, facts], fails)
  }

  #extension(
    name: string,
    args: readonly EvaluatedExpr[],
    count: number,
    { at, facts, fails }: { at: CedarExpr; facts: KnownAttributes; fails: boolean },
  ): EvaluatedExpr {
    const [takes, gives] = EXTENSIONS.get(name) ?? [[], ANY]
    const isMethod = takes[0] !== TYPE.string
    const operation = isMethod ? `.${name}` : name
    if (count !== takes.length) {
      this.#note({ kind: 'literal', name: operation, text: '' }, at)
      return failed(facts)
    }
    for (const [i, arg] of args.entries())
      if (!this.#takes(arg, takes[i] ?? ANY, operation, at)) return failed(facts)
    const text = textOf(args[0])
    if (name === 'decimal' && text !== undefined && !isDecimal(text)) {
      this.#note({ kind: 'literal', name, text }, at)
      return failed(facts)
    }
    const isExact = args.every(({ types }, i) => types === takes[i])
    const isLiteral = isMethod ? isExact : name === 'decimal' && text !== undefined
    if (gives === TYPE.boolean) return either(facts, fails || !isLiteral)
    return { types: gives, fails: fails || !isLiteral, facts }
  }

  /** Whether the value can have one of these types (bits of `TYPE`); notes a fault when it cannot. */
  #takes(value: EvaluatedExpr, types: number, operation: string, at: CedarExpr, text?: string): boolean {
    if ((value.types & types) !== 0) return true
    if (value.types === 0) return false
    const { origin, variable } = value
    this.#note(
      { kind: 'value', origin, variable, operation, types: value.types, isCompared: false, text },
      at,
    )
    return false
  }
}
