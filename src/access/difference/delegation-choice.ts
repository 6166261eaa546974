import { fromJson, isText, programOf, type ClaimsWorld } from '../../cel/index.ts'
import { type Claims, claimPath, filledOr } from '../role/claims.ts'
import type { Budget } from '../../rule/index.ts'
import type { RoleSelection } from '../../kinds/mcp-external-auth-config/generations.ts'
import { type Choice, everyone, NOTHING, type Alternative, indivisible } from './choice.ts'
import { isTrue } from './condition.ts'
import { isTrueFor } from './role-choice.ts'

/** The fields of a trusted issuer that determine which tokens may be exchanged. */
export interface DelegationPolicy {
  readonly issuer: string
  readonly actorClaim?: unknown
  readonly allowedActors?: unknown
  readonly actorMatcher?: unknown
  readonly allowMayAct?: unknown
}

/**
 * Which tokens of a trusted issuer the embedded authorization server exchanges (toolhive: multi_issuer_validator.go).
 * The server exchanges a token with the claim may_act, which names the client that may exchange the token, only if
 * `allowMayAct` is true, and any other token only if `allowedActors` lists its actor, or `actorMatcher` is true.
 */
export function delegationChoice(policy: DelegationPolicy, { celGo }: RoleSelection): Choice {
  const { issuer, actorClaim, allowedActors, actorMatcher, allowMayAct } = policy
  const name = filledOr(typeof actorClaim === 'string' ? actorClaim : undefined, 'azp')
  const actors = Array.isArray(allowedActors)
    ? allowedActors.filter((actor): actor is string => typeof actor === 'string' && actor !== '')
    : []
  const hasMatcher = typeof actorMatcher === 'string' && actorMatcher !== ''
  const program = hasMatcher ? programOf(actorMatcher, celGo) : undefined
  if (typeof program === 'string') return NOTHING
  const exchange = `exchange of tokens of ${issuer}`
  const named = `${exchange} by the client that may_act names`
  const alternatives = (world: ClaimsWorld): readonly Alternative[] => {
    const mayAct = world.memberAt(world.root, 'may_act').forms
    const isNamed = indivisible(-world.or(mayAct.absent, mayAct.null), 'has(claims.may_act)')
    const actor = world.memberAt(world.root, name)
    const isListed = world.and(
      actor.forms.string,
      world.or(...actors.map((each) => world.text(actor, isText(each)))),
    )
    return [
      allowMayAct === true
        ? { access: named, by: 'allowMayAct', condition: isNamed }
        : { by: 'allowMayAct is not true', condition: isNamed },
      {
        access: exchange,
        by: 'allowedActors',
        condition: indivisible(isListed, `${claimPath(name)} in ${JSON.stringify(actors)}`),
      },
      ...(program === undefined
        ? []
        : [{ access: exchange, by: 'actorMatcher', condition: isTrue(world, program) }]),
      { by: 'neither allowedActors nor actorMatcher', condition: everyone(world) },
    ]
  }
  const decide = (claims: Claims, budget?: Budget) => {
    if (claims.may_act !== undefined && claims.may_act !== null)
      return allowMayAct === true ? { access: named, by: 'allowMayAct' } : { by: 'allowMayAct is not true' }
    const actor = Object.hasOwn(claims, name) ? claims[name] : undefined
    if (typeof actor === 'string' && actors.includes(actor)) return { access: exchange, by: 'allowedActors' }
    return program !== undefined && isTrueFor(program, fromJson(claims), budget)
      ? { access: exchange, by: 'actorMatcher' }
      : { by: 'neither allowedActors nor actorMatcher' }
  }
  return { alternatives, decide }
}
