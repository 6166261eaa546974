import { type Finding, withoutUserInfo } from '../rule/index.ts'
import { findingAt, listText } from './findings.ts'
import type { Metadata } from './metadata.ts'
import { GRANTS, type Needs, type Target } from './target.ts'

/**
 * Findings about grant types, scopes, PKCE, client authentication and registration that a resource needs but the
 * metadata of its authorization server does not list. An absent list gives a finding only for PKCE.
 */
export function offerFindings(target: Target, needs: Needs, metadata: Metadata): Finding[] {
  return [
    ...grantFindings(target, needs, metadata),
    ...scopeFindings(target, needs, metadata),
    ...pkceFindings(target, needs, metadata),
    ...methodFindings(target, needs, metadata),
    ...registrationFindings(target, needs, metadata),
  ]
}

const listed = (list: readonly string[] | undefined): list is readonly string[] =>
  list !== undefined && list.length > 0

function grantFindings(target: Target, { grants }: Needs, metadata: Metadata): Finding[] {
  const { grant_types_supported: offered } = metadata
  if (!listed(offered)) return []
  return grants
    .filter((grant) => !offered.includes(grant))
    .map((grant) => {
      const what =
        grant === GRANTS.refresh ? ', so offline_access gives no refresh token' : ', so requests are refused'
      return findingAt(
        target,
        'probe-grant-supported',
        `the server does not list the grant type ${grant}${what}; it lists ${listText(offered)}`,
      )
    })
}

function scopeFindings(target: Target, { scopes }: Needs, metadata: Metadata): Finding[] {
  const { scopes_supported: offered } = metadata
  if (!listed(offered)) return []
  const missing = scopes.filter((scope) => !offered.includes(scope))
  if (missing.length === 0) return []
  const detail = `the server does not list the scope ${listText(missing)}, which it may leave out or refuse; it lists ${listText(offered)}`
  return [findingAt(target, 'probe-scope-supported', detail)]
}

function pkceFindings(target: Target, { pkce }: Needs, metadata: Metadata): Finding[] {
  if (pkce !== true || metadata.code_challenge_methods_supported?.includes('S256') === true) return []
  const detail =
    'the provider does not list the PKCE method S256 and may ignore it: then only a client secret protects logins; use one, or see its documentation for S256'
  return [findingAt(target, 'probe-pkce-supported', detail)]
}

/** How a client that registers itself authenticates, in the operator's order; `none` needs S256 in the metadata. */
const REGISTERED_METHODS = ['client_secret_basic', 'client_secret_post', 'none']

function methodFindings(target: Target, { registers, secretMethod }: Needs, metadata: Metadata): Finding[] {
  const { token_endpoint_auth_methods_supported: offered } = metadata
  if (!listed(offered)) return []
  const hasS256 = metadata.code_challenge_methods_supported?.includes('S256') === true
  const usable = REGISTERED_METHODS.filter((each) => each !== 'none' || hasS256)
  const wanted = registers === true ? usable : secretMethod === undefined ? [] : [secretMethod]
  if (wanted.length === 0 || wanted.some((each) => offered.includes(each))) return []
  const effect = registers === true ? 'the client is not registered' : 'token requests are refused'
  const detail = `the server does not list the client authentication ${listText(wanted)}, so ${effect}; it lists ${listText(offered)}`
  return [findingAt(target, 'probe-client-method-supported', detail)]
}

function registrationFindings(target: Target, { registers }: Needs, metadata: Metadata): Finding[] {
  if (registers !== true || metadata.registration_endpoint !== undefined) return []
  const guess = withoutUserInfo(`${(metadata.issuer ?? '').replace(/\/$/, '')}/register`)
  const detail = `the provider names no registration_endpoint, so the client is registered at ${guess}, and the authorization server does not start if that fails; write clientId instead of dcrConfig`
  return [findingAt(target, 'probe-registration-offered', detail)]
}
