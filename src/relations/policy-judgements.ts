import {
  type CedarExpr,
  type Fault,
  partsOf,
  type PolicyOutcome,
  outcomeOf,
  type CedarPolicy,
} from '../cedar/index.ts'
import { type Budget, type Context, oncePerReview } from '../rule/index.ts'
import { excludesEachOther, needsOfPolicy, needsWhereReached } from './policy-needs.ts'
import { KnownRequests, LISTS, type RequestKind, type Setting } from './policy-requests.ts'
import type { ListedPolicy, PolicyList } from './policy-lists.ts'
import { faultText, quoted } from './policy-texts.ts'

/** A finding about a single policy. */
export interface PolicyJudgement {
  readonly policy: ListedPolicy
  /** Whether evaluating the policy fails: then the request is denied, even if other policies permit it. */
  readonly isFailure: boolean
  readonly text: string
}

/** A policy with the results of its evaluation for each kind of request: outcomes and faults. */
interface Read {
  readonly listed: ListedPolicy
  readonly policy: CedarPolicy
  readonly outcomes: readonly PolicyOutcome[]
  readonly faults: readonly FoundFault[]
}

interface FoundFault {
  readonly fault: Fault
  readonly at: CedarExpr
}

/** The most faults that are reported for one policy. */
const MOST_FAULTS = 3
/** The most attributes in a list of policies for which the effect of their absence is evaluated. */
const MOST_ATTRIBUTES = 8

/** Finds mistakes in a list of Cedar policies, but only mistakes whose effect is certain. */
export const judgementsOf = (list: PolicyList, context: Pick<Context<unknown>, 'budget' | 'memo'>) =>
  judged(list, context)

const judged = oncePerReview(
  (list: PolicyList, { budget }: Pick<Context<unknown>, 'budget' | 'memo'>): readonly PolicyJudgement[] => {
    const [first] = list.policies
    if (first === undefined) return []
    const families = list.setting.kinds.map((kind) => new KnownRequests(kind, list.setting))
    const reads: Read[] = []
    for (const listed of list.policies) {
      const { at, parsed } = listed
      if (parsed?.kind !== 'policy') continue
      const read = budget.decide(at, () => readOf(listed, parsed.policy, { families, list, budget }))
      if (read === undefined) break
      reads.push(read)
    }
    const certain = reads.flatMap((read) => certainOf(read, list.setting))
    if (certain.some(({ isFailure }) => isFailure)) return certain
    return [...certain, ...(budget.decide(first.at, () => absencesOf(reads, list, budget)) ?? [])]
  },
)

function readOf(
  listed: ListedPolicy,
  policy: CedarPolicy,
  { families, list, budget }: { families: readonly KnownRequests[]; list: PolicyList; budget: Budget },
): Read {
  const faults = new Map<string, FoundFault>()
  const ids = new Map<CedarExpr, number>()
  const outcomes = families.map((family) =>
    outcomeOf(policy, family, budget, (fault, at) => {
      budget.spend(1)
      const id = ids.get(at) ?? ids.size
      ids.set(at, id)
      const key = `${id} ${faultText(fault, list.setting)}`
      if (!faults.has(key)) faults.set(key, { fault, at })
    }),
  )
  return { listed, policy, outcomes, faults: [...faults.values()] }
}

/** Whether the fault occurs for every kind of request, not only for some kinds. */
function isOfAllRequests(fault: Fault, setting: Setting): boolean {
  const families = setting.kinds.map((kind) => new KnownRequests(kind, setting))
  switch (fault.kind) {
    case 'entity':
      return families.every(
        (family) =>
          (fault.relation === '==' ? family.is : family.isIn).call(family, fault.variable, fault.entity) ===
          'never',
      )
    case 'type':
      return families.every((family) => family.typeOf(fault.variable) !== fault.type)
    case 'missing':
      return families.every(
        (family) => family.attribute(fault.origin.of, fault.origin.name).presence === 'never',
      )
    case 'unguarded':
      return false
    default:
      return true
  }
}

/** Whether evaluating the faulty expression fails, and with it the policy. */
const isFailing = (fault: Fault): boolean =>
  fault.kind === 'missing'
    ? fault.isRead
    : fault.kind === 'number'
      ? !['==', '!=', 'contains'].includes(fault.operator)
      : fault.kind === 'literal' || (fault.kind === 'value' && !fault.isCompared)

const doesNothing = ({ outcomes }: Read): boolean => outcomes.every(({ isTrue }) => !isTrue)
const failsAlways = ({ isTrue, isFalse, scope }: PolicyOutcome): boolean =>
  scope !== 'none' && !isTrue && !isFalse

/** The faults of a policy that are mistakes regardless of the other policies. */
function certainOf(read: Read, setting: Setting): PolicyJudgement[] {
  const { listed, faults } = read
  const isIdle = doesNothing(read)
  // An action such as `list_tools`, which older documentation used, is harmless in a set with other actions.
  const found = faults.filter(
    ({ fault, at }) => isOfAllRequests(fault, setting) && !isHarmless(fault, at, isIdle),
  )
  const told = found.length > 0 || !isIdle ? found : faults.filter(({ fault }) => isOfRequest(fault))
  return distinct(
    told.map(({ fault }) => fault),
    setting,
  ).map((fault) => ({
    policy: listed,
    isFailure: isFailing(fault),
    text: `${isFailing(fault) ? failureOf(read, setting) : effectOf(read, fault, setting)}: ${faultText(fault, setting)}`,
  }))
}

/** Whether a fault that occurs only for some kinds of requests may be the reason why a policy never applies. */
const isOfRequest = (fault: Fault): boolean =>
  fault.kind !== 'unguarded' && !('variable' in fault && fault.variable === 'action')

/** Whether the fault has no effect: an unused action such as `list_tools` in a set with other actions. */
const isHarmless = (fault: Fault, at: CedarExpr, isIdle: boolean): boolean =>
  !isIdle &&
  fault.kind === 'entity' &&
  fault.variable === 'action' &&
  LISTS.has(fault.entity.id) &&
  at.kind === 'in'

/** The faults to report, at most MOST_FAULTS: one for each attribute with a wrong type, else one for each text. */
function distinct(faults: readonly Fault[], setting: Setting): Fault[] {
  const seen = new Set<string>()
  const others = faults.filter((fault) => {
    const isOfValue = (fault.kind === 'number' || fault.kind === 'value') && fault.origin !== undefined
    const key = isOfValue
      ? `${fault.kind} ${fault.origin.of} ${fault.origin.name}`
      : faultText(fault, setting)
    return !seen.has(key) && seen.add(key)
  })
  return others.slice(0, MOST_FAULTS)
}

/** The requests that a policy denies because its evaluation fails, as text for a message. */
function failureOf({ outcomes }: Read, { kinds }: Setting): string {
  const failing = outcomes.flatMap((outcome, i) => (failsAlways(outcome) ? [i] : []))
  const isWhole = failing.every((i) => outcomes[i]?.scope === 'all')
  const whom =
    failing.length === 0
      ? 'requests that reach it'
      : !isWhole
        ? 'each request in its scope'
        : failing.length === kinds.length
          ? 'every request'
          : `every ${failing.map((i) => kinds[i]?.what ?? '').join(' and ')}`
  return `denies ${whom}, ${WHATEVER}`
}

const WHATEVER = 'whatever others permit'

/** What a policy does because of a fault that does not make its evaluation fail, as text for a message. */
function effectOf(read: Read, fault: Fault, { kinds }: Setting): string {
  const { policy, outcomes } = read
  if (doesNothing(read)) return policy.effect === 'permit' ? 'permits nothing' : 'forbids nothing'
  const about = outcomes.filter(({ scope }) => scope !== 'none')
  const isAlways =
    policy.conditions.length > 0 && about.every(({ isTrue, isFalse, fails }) => isTrue && !isFalse && !fails)
  if (isAlways && policy.effect === 'forbid')
    return about.length === kinds.length && about.every(({ scope }) => scope === 'all')
      ? 'forbids every request'
      : 'forbids each request in its scope'
  if (isAlways) return 'permits more than it says'
  return fault.kind === 'number' && fault.operator === '!='
    ? 'has a part that always holds'
    : 'has a part that never holds'
}

/** Findings about policies whose evaluation fails without an attribute, for requests that another policy permits. */
function absencesOf(
  reads: readonly Read[],
  { policies, setting }: PolicyList,
  budget: Budget,
): PolicyJudgement[] {
  // If one policy could not be evaluated, it is not known what it permits.
  if (reads.length < policies.length) return []
  const keys = new Map<string, Fault>()
  for (const { faults } of reads)
    for (const { fault } of faults) {
      const key = absenceOf(fault, setting)
      if (key !== undefined && !keys.has(key)) keys.set(key, fault)
    }
  const told = new Map<ListedPolicy, PolicyJudgement>()
  for (const key of [...keys.keys()].slice(0, MOST_ATTRIBUTES))
    for (const request of setting.kinds)
      for (const judgement of absencesIn(reads, { key, request, setting, budget }))
        if (!told.has(judgement.policy)) told.set(judgement.policy, judgement)
  return [...told.values()]
}

/**
 * The key that groups faults about attributes that requests may lack: `arg_` for all arguments of tools, '' for all
 * attributes that only some kinds of requests have, else the attribute's name. Undefined for other faults.
 */
function absenceOf(fault: Fault, setting: Setting): string | undefined {
  if (fault.kind === 'unguarded') return fault.key.startsWith('arg_') ? 'arg_' : fault.key
  return fault.kind === 'missing' && fault.isRead && !isOfAllRequests(fault, setting) ? '' : undefined
}

interface Absence {
  readonly key: string
  readonly request: RequestKind
  readonly setting: Setting
  readonly budget: Budget
}

function* absencesIn(
  reads: readonly Read[],
  { key, request, setting, budget }: Absence,
): Iterable<PolicyJudgement> {
  const lacks = (each: string) => (key === 'arg_' ? each.startsWith(key) : each === key)
  const without = new KnownRequests(request, setting, lacks)
  const failing: { readonly read: Read; readonly found: readonly FoundFault[] }[] = []
  const permitting: Read[] = []
  for (const read of reads) {
    const seen: FoundFault[] = []
    const outcome = outcomeOf(read.policy, without, budget, (fault, at) => seen.push({ fault, at }))
    const { effect } = read.policy
    // A forbid policy that certainly applies denies these requests anyway, so a failing policy changes nothing.
    if (effect === 'forbid' && isCertain(outcome)) return
    if (outcome.scope === 'none') continue
    const found = seen.filter(
      ({ fault, at }) =>
        fault.kind === 'missing' &&
        fault.isRead &&
        absentBy(fault, { key, request, setting }) &&
        !forbidsAnyway(read.policy, at, budget),
    )
    if (found.length > 0 && outcome.fails) failing.push({ read, found })
    else if (effect === 'permit' && outcome.isTrue) permitting.push(read)
  }
  if (failing.length === 0) return
  const permitted = permitting.map(({ policy }) => needsOfPolicy(policy, without, budget))
  for (const { read, found } of failing) {
    const reached = found.find(({ at }) => {
      const needs = needsWhereReached(read.policy, at, without, budget)
      return permitted.some((each) => !excludesEachOther(needs, each, budget))
    })
    if (reached?.fault.kind !== 'missing') continue
    yield { policy: read.listed, isFailure: true, text: absenceText(reached.fault.origin, key, request) }
  }
}

/** Whether a policy that fails at the read `place` forbids the same requests once `has` guards the read. */
function forbidsAnyway({ effect, conditions }: CedarPolicy, place: CedarExpr, budget: Budget): boolean {
  const last = conditions.at(-1)
  return effect === 'forbid' && last?.kind === 'unless' && isFalseGuarded(last.expr, place, budget)
}

/**
 * Whether a condition whose evaluation reaches the read `place` of an absent attribute is false once `has` guards the
 * read. False where that is not certain.
 */
function isFalseGuarded(expr: CedarExpr, place: CedarExpr, budget: Budget): boolean {
  budget.spend(1 / 16)
  if (expr === place) return true
  switch (expr.kind) {
    case 'and':
      return expr.items.some((item) => isFalseGuarded(item, place, budget))
    case 'or': {
      const last = expr.items.at(-1)
      return last !== undefined && isFalseGuarded(last, place, budget)
    }
    case 'not':
    case 'if':
      return false
    default:
      return partsOf(expr).includes(place)
  }
}

const isCertain = ({ isTrue, isFalse, fails, scope }: PolicyOutcome): boolean =>
  scope === 'all' && isTrue && !isFalse && !fails

/** Whether the fault is caused by the assumed absence of the attribute with this key. */
function absentBy(fault: Fault, { key, request, setting }: Omit<Absence, 'budget'>): boolean {
  if (fault.kind !== 'missing') return false
  const whole = new KnownRequests(request, setting).attribute(fault.origin.of, fault.origin.name)
  if (key === '') return whole.presence === 'never' && !isOfAllRequests(fault, setting)
  return whole.presence !== 'never' && (key === 'arg_' ? whole.key.startsWith(key) : whole.key === key)
}

function absenceText(
  { of, name }: { readonly of: string; readonly name: string },
  key: string,
  request: RequestKind,
): string {
  const ask = /^[A-Za-z_]\w{0,60}$/.test(name) ? name : quoted(name)
  const guard = `write ${of} has ${ask} && …`
  if (key === '') return `denies every ${request.what}, ${WHATEVER}: it has no ${of}.${ask}; ${guard}`
  if (key === 'arg_') return `denies calls without ${ask}, and hides tools from lists, ${WHATEVER}; ${guard}`
  return `denies ${key.startsWith('claim') ? 'callers' : 'tools'} without ${ask}, ${WHATEVER}; ${guard}`
}
