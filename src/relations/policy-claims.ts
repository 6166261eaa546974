import { type CedarExpr, outcomeOf, partsOf, type CedarPolicy, type Variable } from '../cedar/index.ts'
import type { Budget } from '../rule/index.ts'
import type { ListedPolicy, PolicyList } from './policy-lists.ts'
import { ANYBODY, type Callers, GROUP_CLAIMS, KnownRequests, type Setting } from './policy-requests.ts'

/** Callers whose tokens have no claims but these. */
export const havingOnly = (claims: ReadonlySet<string>): Callers => ({
  ...ANYBODY,
  canHave: (claim) => claims.has(claim),
})

/** Callers whose tokens have no claim from which groups or roles are read. */
export const lackingGroups = ({ setting }: PolicyList): Callers => {
  const claims = new Set([...GROUP_CLAIMS, ...(setting.groupClaims ?? [])])
  return { ...ANYBODY, canHave: (claim) => !claims.has(claim) }
}

const ANONYMOUS_CLAIMS = new Set(['sub', 'iss', 'aud', 'exp', 'iat', 'nbf', 'email', 'name'])

/**
 * Callers without a token, for whom releases invent claims. The subject is not known: at a workload it is the user of
 * its process.
 */
export const ANONYMOUS: Callers = {
  canHave: (claim) => ANONYMOUS_CLAIMS.has(claim),
  always: ANONYMOUS_CLAIMS,
  subject: undefined,
}

/** The claims that policies name and that the callers cannot have, each once. */
export function foreignClaims(list: PolicyList, { canHave }: Callers): string[] {
  const found = list.policies.flatMap((policy) => claimsIn(policy, list.setting))
  return [...new Set(found)].filter((claim) => !canHave(claim))
}

/** What policies deny to callers because of the claims that they lack. */
export interface Denial {
  /** The claims that the policies need and the callers cannot have. */
  readonly claims: readonly string[]
  /** Whether policies deny these callers everything that they permit to others. */
  readonly isWhole: boolean
}

/**
 * What policies deny to these callers and permit to others: everything, when no permit can hold, an evaluation fails or
 * a forbid always holds; else what a permit is for that cannot hold. Undefined where they deny nothing.
 */
export function deniedBy(list: PolicyList, callers: Callers, budget: Budget): Denial | undefined {
  const [first] = list.policies
  if (first === undefined || list.policies.some(({ parsed }) => parsed?.kind !== 'policy')) return undefined
  return budget.decide(first.at, () => deniedWithin(list, callers, budget))
}

function deniedWithin(list: PolicyList, callers: Callers, budget: Budget): Denial | undefined {
  const { setting } = list
  // Groups that are not known may be the ones that a policy permits.
  if (setting.groupType === undefined || setting.groupClaims === undefined) return undefined
  const theirs: Setting = { ...setting, callers }
  const idle = new Set<ListedPolicy>()
  let permitted = 0
  let denied = 0
  for (const kind of setting.kinds) {
    const all = effectsOf(list, new KnownRequests(kind, setting), budget)
    const own = effectsOf(list, new KnownRequests(kind, theirs), budget)
    for (const policy of all.active) if (!own.active.has(policy)) idle.add(policy)
    for (const policy of own.denying) if (!all.denying.has(policy)) idle.add(policy)
    if (all.denying.size > 0 || all.permitting === 0) continue
    permitted++
    if (own.denying.size > 0 || own.permitting === 0) denied++
  }
  if (permitted === 0 || idle.size === 0) return undefined
  const claims = [...idle]
    .flatMap((policy) => claimsIn(policy, setting))
    .filter((claim) => !callers.canHave(claim))
  return { claims: [...new Set(claims)], isWhole: denied === permitted }
}

interface Effects {
  /** The policies that can hold. */
  readonly active: ReadonlySet<ListedPolicy>
  /** The policies that deny every request: they always fail, or always forbid. */
  readonly denying: ReadonlySet<ListedPolicy>
  /** How many permits can hold. */
  readonly permitting: number
}

function effectsOf({ policies }: PolicyList, requests: KnownRequests, budget: Budget): Effects {
  const active = new Set<ListedPolicy>()
  const denying = new Set<ListedPolicy>()
  let permitting = 0
  for (const listed of policies) {
    if (listed.parsed?.kind !== 'policy') continue
    const { policy } = listed.parsed
    const { isTrue, isFalse, fails, scope } = outcomeOf(policy, requests, budget)
    if (scope === 'none') continue
    if (isTrue) active.add(listed)
    if (isTrue && policy.effect === 'permit') permitting++
    const alwaysFails = !isTrue && !isFalse
    const alwaysForbids = policy.effect === 'forbid' && isTrue && !isFalse && !fails
    if (scope === 'all' && (alwaysFails || alwaysForbids)) denying.add(listed)
  }
  return { active, denying, permitting }
}

/** A claim, or a group in which a principal may be. */
type Mention = { readonly claim: string } | { readonly type: string }

/** The claims that a policy reads or tests, and those from which its groups are made. */
function claimsIn({ parsed }: ListedPolicy, { groupType, groupClaims = [] }: Setting): string[] {
  if (parsed?.kind !== 'policy') return []
  const { policy } = parsed
  return mentionsIn(policy).flatMap((mention) => {
    if ('claim' in mention) return [mention.claim]
    const isGroup = mention.type === groupType || mention.type !== 'Client'
    return isGroup ? [groupClaims[0] ?? 'groups'] : []
  })
}

function mentionsIn({ scope, conditions }: CedarPolicy): Mention[] {
  const mentions: Mention[] = []
  const todo: CedarExpr[] = [
    scope.principal,
    scope.action,
    scope.resource,
    ...conditions.map(({ expr }) => expr),
  ]
    .filter((expr) => expr !== undefined)
    .toReversed()
  for (let expr = todo.pop(); expr !== undefined; expr = todo.pop()) {
    if (expr.kind === 'has' || expr.kind === 'attribute') {
      const claim = expr.of.kind === 'variable' && isOfToken(expr.of.name) ? claimOf(expr.name) : undefined
      if (claim !== undefined) mentions.push({ claim })
    }
    const group = groupIn(expr)
    if (group !== undefined) mentions.push(...group.map(({ type }) => ({ type })))
    todo.push(...partsOf(expr).toReversed())
  }
  return mentions
}

const isOfToken = (variable: Variable): boolean => variable === 'principal' || variable === 'context'
const claimOf = (name: string): string | undefined => /^claim(?:set)?_([^]+)$/.exec(name)?.[1]

/** The entities of which an expression tests whether the principal is in them; undefined for other expressions. */
function groupIn(expr: CedarExpr) {
  const [of, within] =
    expr.kind === 'in' ? [expr.left, expr.right] : expr.kind === 'is' ? [expr.of, expr.in] : []
  if (of?.kind !== 'variable' || of.name !== 'principal' || within === undefined) return undefined
  const items = within.kind === 'set' ? within.items : [within]
  return items.flatMap((item) => (item.kind === 'entity' ? [item.entity] : []))
}
