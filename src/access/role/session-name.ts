import { type Claims, claimPath, filledOr } from './claims.ts'
import { described, fromJson } from '../../cel/index.ts'

/** The name of the role session, which CloudTrail shows. */
export interface SessionName {
  readonly claim: string
  /** The text of the session name claim, even if AWS does not accept it. */
  readonly value?: string
  /** Why the gateway answers 401 instead of assuming the role. */
  readonly problem?: string
}

/** The texts that AWS accepts as RoleSessionName; AWS checks them at run time. */
const SESSION_NAME = /^[A-Za-z0-9_+=,.@-]*$/

/** The session name from the claim in sessionNameClaim (specification 2.4.1), or why there is none. */
export function sessionNameFrom(claims: Claims, sessionNameClaim: string | undefined): SessionName {
  const claim = filledOr(sessionNameClaim, 'sub')
  const path = claimPath(claim)
  if (!Object.hasOwn(claims, claim)) return { claim, problem: `there is no ${path}` }
  const value = claims[claim]
  if (typeof value !== 'string')
    return { claim, problem: `${path} is ${described(fromJson(value))}, and must be a string` }
  const { length } = [...value]
  if (length < 2 || length > 64)
    return { claim, value, problem: `must be 2 to 64 characters long, not ${length}` }
  if (!SESSION_NAME.test(value))
    return { claim, value, problem: 'may hold only letters, digits and _+=,.@- without accents and spaces' }
  return { claim, value }
}
