import type { Kind } from '../kinds/kind.ts'
import { mcpExternalAuthConfig } from '../kinds/mcp-external-auth-config/index.ts'
import { compileMatchers } from '../kinds/mcp-external-auth-config/role-mappings.ts'
import { rulePlacesOf } from '../kinds/places.ts'
import {
  andMore,
  Budget,
  type Cluster,
  type Context,
  type FieldError,
  type Finding,
  isObject,
  type Memo,
  MOST_FINDINGS,
  notDecided,
  type ObjectName,
  OutOfBudget,
  pathTo,
  type Resource,
  type Rule,
  type Segment,
  type Severity,
  type Steps,
  valueAt,
} from '../rule/index.ts'

/** The rules of one schema, and the path `at` in a resource that leads to the value with this schema. */
export interface RulesAt {
  readonly at: readonly Segment[]
  readonly rules: readonly Rule[]
}

/** The context in which rules check a resource. */
export interface Surroundings {
  /** The other objects; undefined when none are known. */
  readonly cluster: Cluster | undefined
  /** Whether `cluster` already contains the checked resource, in its stored form. */
  readonly isStored?: boolean
  readonly self: ObjectName
  /** The stored resource, for an update; without parts of a wrong JSON type. */
  readonly old?: () => Resource | undefined
  /**
   * Which of the warnings that announce a certain failure of the operator (`isOutage`) become errors: all of them, or
   * only those that do not depend on other objects. Absent when no release is known: then they stay warnings.
   */
  readonly outages?: 'all' | 'of the object alone' | undefined
  /** Returns the severity of a finding according to the settings; when absent, the rule determines the severity. */
  readonly severityOf?: ((finding: Finding) => Severity) | undefined
  /** Whether the resource is large: the judgement yields after each rule, so that other requests are answered. */
  readonly isLarge?: boolean
  /** The budget that all rules share; a new one when absent. */
  readonly budget?: Budget
  /** The rules to run for a kind; all of them when absent. */
  readonly rulesOf?: typeof rulesOf
}

/** The budget of one judgement, in units. An ordinary object spends a few hundred units. */
export const JUDGEMENT = 20_000

/** The surroundings of a resource that is judged without any other object. */
export const ALONE: Surroundings = { cluster: undefined, self: { kind: '', name: '' } }

/** Which rules run: the rules for a write, or the rules for a deletion. */
export type Selection = 'write' | 'delete'

const selected = { write: new Map<Kind, readonly RulesAt[]>(), delete: new Map<Kind, readonly RulesAt[]>() }

/** The rules of a kind, by the path of the value that they check; computed at the first resource of the kind. */
export function rulesOf(kind: Kind, selection: Selection): readonly RulesAt[] {
  let found = selected[selection].get(kind)
  if (found === undefined) {
    const places = Map.groupBy(rulePlacesOf(kind), ({ at }) => at)
    found = Array.from(places, ([at, here]) => ({
      at,
      rules: here
        .map(({ rule }) => rule)
        .filter(({ when }) => (when === 'delete') === (selection === 'delete')),
    }))
    selected[selection].set(kind, found)
  }
  return found
}

/**
 * Runs the rules of the kind on a resource without parts of a wrong JSON type; `cluster` contains the resource too.
 * Returns the findings in `before` and the findings of the rules.
 */
export function* check(
  kind: Kind,
  resource: Resource,
  cluster: Cluster,
  around: Surroundings,
  before: readonly Finding[] = [],
  selection: Selection = 'write',
): Steps<readonly Finding[]> {
  const rules = (around.rulesOf ?? rulesOf)(kind, selection)
  return [...before, ...(yield* runRules(rules, resource, cluster, around))]
}

/** After this many units of budget a judgement yields, so that a server can answer other requests. */
const STEP = 1_000

/**
 * The findings of the rules in a resource. A rule that throws becomes a warning with the exception in `failure`
 * (decision 20).
 */
export function* runRules(
  places: readonly RulesAt[],
  resource: Resource,
  cluster: Cluster,
  around: Surroundings,
): Steps<readonly Finding[]> {
  const { self, old, isLarge = false, budget = new Budget(JUDGEMENT) } = around
  const findings: Finding[] = []
  const memo: Memo = new Map()
  let next = STEP
  // Matchers are compiled first: otherwise, in a large object, other rules would leave less of the budget for them.
  if (self.kind === mcpExternalAuthConfig.kind) yield* compileMatchers(resource, { memo, budget })
  for (const { at, rules } of places) {
    const value = at.length === 0 ? resource : valueAt(resource, at)
    if (!isObject(value)) continue
    const context = {
      path: pathTo<unknown>(at),
      cluster,
      self,
      old: () => valueAt(old?.(), at),
      memo,
      budget,
    }
    const holder = at.length === 0 ? (value as Resource).spec : value
    for (const rule of rules) {
      if (rule.needs !== undefined && !hasOneOf(holder, rule.needs)) continue
      runRule(rule, value, context, findings, around)
      if (!isLarge && budget.spent < next) continue
      next = budget.spent + STEP
      yield
    }
  }
  if (budget.undecided !== undefined) findings.push(notDecided(budget.undecided))
  return findings
}

function hasOneOf(holder: unknown, fields: readonly string[]): boolean {
  if (!isObject(holder)) return false
  for (let i = 0; i < fields.length; i++) if (Object.hasOwn(holder, fields[i] ?? '')) return true
  return false
}

function isErrorIn(outages: Surroundings['outages'], error: FieldError): boolean {
  if (outages === undefined || error.isOutage !== true) return false
  return outages === 'all' || (error.dependsOn ?? error.dependsOnAsError) === undefined
}

function runRule(
  { id, severity: usual, constraint, check: run }: Rule,
  value: object,
  context: Context<unknown>,
  findings: Finding[],
  { severityOf, outages }: Surroundings,
): void {
  try {
    // Made at the first finding, because most rules find nothing.
    let counts: Map<Severity, number> | undefined
    for (const error of run(value, context)) {
      counts ??= new Map()
      const severity = isErrorIn(outages, error) ? 'error' : usual
      const finding = { id, severity, error, ...(constraint && { constraint }) }
      const weight = severityOf?.(finding) ?? severity
      const count = (counts.get(weight) ?? 0) + 1
      counts.set(weight, count)
      if (count <= MOST_FINDINGS) findings.push(finding)
      else if (count === MOST_FINDINGS + 1) findings.push(andMore(finding))
      // While a setting for a path may still make a later finding an error, too many warnings do not end the loop.
      if (count > MOST_FINDINGS && (severityOf === undefined || weight === 'error')) break
    }
  } catch (failure) {
    if (failure instanceof OutOfBudget) {
      context.budget.leaveUndecided(context.path)
      return
    }
    const error = {
      type: 'advice',
      at: [],
      detail: 'internal error: this check did not run, please report it',
    } as const
    findings.push({ id, severity: 'warning', error, failure })
  }
}
