import { type CedarExpr, outcomeOf, partsOf, type CedarPolicy, type Variable } from '../cedar/index.ts'
import type { Budget } from '../rule/index.ts'
import type { ListedPolicy, PolicyList } from './policy-lists.ts'
import { ANYBODY, type Callers, GROUP_CLAIMS, KnownRequests, type Setting } from './policy-requests.ts'

/** Callers whose tokens can have only these claims. */
export const havingOnly = (claims: ReadonlySet<string>): Callers => ({
  ...ANYBODY,
  canHave: (claim) => claims.has(claim),
})

/** Callers whose tokens have none of the claims that groups or roles are read from. */
export const lackingGroups = ({ setting }: PolicyList): Callers => {
  const claims = new Set([...GROUP_CLAIMS, ...(setting.groupClaims ?? [])])
  return { ...ANYBODY, canHave: (claim) => !claims.has(claim) }
}

const ANONYMOUS_CLAIMS = new Set(['sub', 'iss', 'aud', 'exp', 'iat', 'nbf', 'email', 'name'])

/**
 * Callers without a token: operator releases make up claims for them. The value of `sub` is not known: in a workload it
 * is the local user that runs its process.
 */
export const ANONYMOUS: Callers = {
  canHave: (claim) => ANONYMOUS_CLAIMS.has(claim),
  always: ANONYMOUS_CLAIMS,
  subject: undefined,
}

/** The claims that policies use and that the callers' tokens cannot have, without repeats. */
export function foreignClaims(list: PolicyList, { canHave }: Callers): string[] {
  const found = list.policies.flatMap((policy) => claimsIn(policy, list.setting))
  return [...new Set(found)].filter((claim) => !canHave(claim))
}

/** The effect of policies that deny requests of callers because their tokens lack claims. */
export interface Denial {
  /** The claims that the policies use and the callers cannot have. */
  readonly claims: readonly string[]
  /** Whether policies deny everything to callers who lack the claims, although they permit something to others. */
  readonly isWhole: boolean
}

/**
 * The claims whose absence makes policies deny requests of these callers, although they permit the same requests of
 * others. `isWhole`: all requests are denied, because no permit can apply, an evaluation fails or a forbid always
 * applies. Undefined when no request is denied.
 */
export function deniedBy(list: PolicyList, callers: Callers, budget: Budget): Denial | undefined {
  const [first] = list.policies
  if (first === undefined || list.policies.some(({ parsed }) => parsed?.kind !== 'policy')) return undefined
  return budget.decide(first.at, () => deniedWithin(list, callers, budget))
}

function deniedWithin(list: PolicyList, callers: Callers, budget: Budget): Denial | undefined {
  const { setting } = list
  // When the settings for groups are not known, these callers may be in any group that a policy permits.
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
  /** The policies that can apply to a request. */
  readonly active: ReadonlySet<ListedPolicy>
  /** The policies that deny every request: they always fail, or always forbid. */
  readonly denying: ReadonlySet<ListedPolicy>
  /** Number of `permit` policies that can apply to a request. */
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

/** A claim that a policy uses, or the entity type of a group that it names. */
type Mention = { readonly claim: string } | { readonly type: string }

/** The claims that a policy reads or tests, and the claim from which the groups that it names are made. */
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

/** The entities that an expression such as `principal in Group::"a"` names; undefined for other expressions. */
function groupIn(expr: CedarExpr) {
  const [of, within] =
    expr.kind === 'in' ? [expr.left, expr.right] : expr.kind === 'is' ? [expr.of, expr.in] : []
  if (of?.kind !== 'variable' || of.name !== 'principal' || within === undefined) return undefined
  const items = within.kind === 'set' ? within.items : [within]
  return items.flatMap((item) => (item.kind === 'entity' ? [item.entity] : []))
}
