import type { Static } from 'typebox'
import { isAbsent, type Path, pathTo, segmentsOf } from '../../rule/index.ts'
import type { Server } from './effective.ts'
import type { EmbeddedAuthServer } from './schema.ts'

type Fields = Static<typeof EmbeddedAuthServer>
type ServerPath = Path<Fields>
type IssuerFields = NonNullable<Fields['trustedIssuers']>[number]

export type TrustedIssuer = NonNullable<NonNullable<Server['trustedIssuers']>[number]>

/** The fields of a policy for token exchange (RFC 8693): which clients and actors may exchange an issuer's tokens. */
const DELEGATION = [
  'expectedAudience',
  'allowedDelegateClients',
  'actorClaim',
  'allowedActors',
  'actorMatcher',
  'allowMayAct',
] as const
type DelegationPolicy = Pick<TrustedIssuer, (typeof DELEGATION)[number]>
type DelegationFields = Pick<IssuerFields, (typeof DELEGATION)[number]>

/** The policy of a trusted issuer for JWT assertions (RFC 7523): which assertions the authorization server accepts. */
type AssertionPolicy = NonNullable<TrustedIssuer['jwtBearerGrant']>
type AssertionFields = NonNullable<IssuerFields['jwtBearerGrant']>

type DelegateClient = NonNullable<NonNullable<Server['delegateClients']>[number]>
type SpiffeClient = NonNullable<NonNullable<NonNullable<Server['inboundGrants']>['spiffeClientAuth']>[number]>
type SpiffeFields = NonNullable<NonNullable<Fields['inboundGrants']>['spiffeClientAuth']>[number]
type ClientFields = NonNullable<Fields['delegateClients']>[number]

/** A setting of the authorization server. `place` computes its path, which only a finding needs. */
interface Placed<Value, Fields> {
  readonly value: Value
  readonly place: () => Path<Fields>
}

/** Whether a trusted issuer contains a policy for token exchange, which newer releases have in `inboundGrants`. */
export const hasDelegationPolicy = (issuer: DelegationPolicy): boolean =>
  DELEGATION.some((field) => issuer[field] !== undefined && issuer[field] !== '' && issuer[field] !== false)

/** Whether a trusted issuer has a policy for token exchange, or may have one: a field has a wrong JSON type. */
export const mayHaveDelegationPolicy = (issuer: DelegationPolicy): boolean =>
  DELEGATION.some((field) => !isAbsent(issuer, field) && issuer[field] !== '' && issuer[field] !== false)

/** All policies for token exchange (RFC 8693): those in the trusted issuers, then those in `inboundGrants`. */
export function delegationPolicies(
  { trustedIssuers, inboundGrants }: Server,
  path: ServerPath,
): Placed<DelegationPolicy, DelegationFields>[] {
  return [
    ...placed<DelegationPolicy, DelegationFields>(trustedIssuers, (i) => path.trustedIssuers.at(i)).filter(
      ({ value }) => hasDelegationPolicy(value),
    ),
    ...placed<DelegationPolicy, DelegationFields>(inboundGrants?.tokenExchange?.issuerPolicies, (i) =>
      path.inboundGrants.tokenExchange.issuerPolicies.at(i),
    ),
  ]
}

/** All policies for JWT assertions (RFC 7523): those in the trusted issuers, then those in `inboundGrants`. */
export function assertionPolicies(
  { trustedIssuers, inboundGrants }: Server,
  path: ServerPath,
): Placed<AssertionPolicy, AssertionFields>[] {
  const grants = trustedIssuers?.map((issuer) => issuer?.jwtBearerGrant)
  return [
    ...placed<AssertionPolicy, AssertionFields>(grants, (i) => path.trustedIssuers.at(i).jwtBearerGrant),
    ...placed<AssertionPolicy, AssertionFields>(inboundGrants?.jwtBearer?.issuerPolicies, (i) =>
      path.inboundGrants.jwtBearer.issuerPolicies.at(i),
    ),
  ]
}

/** The OAuth clients that are registered in advance, in the older `delegateClients` and newer `inboundGrants`. */
export function delegateClients(
  { delegateClients, inboundGrants }: Server,
  path: ServerPath,
): Placed<DelegateClient, ClientFields>[] {
  return [
    ...placed<DelegateClient, ClientFields>(delegateClients, (i) => path.delegateClients.at(i)),
    ...placed<DelegateClient, ClientFields>(inboundGrants?.tokenExchange?.delegateClients, (i) =>
      path.inboundGrants.tokenExchange.delegateClients.at(i),
    ),
  ]
}

/** The OAuth clients that authenticate to the authorization server with a SPIFFE ID. */
export const spiffeClients = (
  { inboundGrants }: Server,
  path: ServerPath,
): Placed<SpiffeClient, SpiffeFields>[] =>
  placed<SpiffeClient, SpiffeFields>(inboundGrants?.spiffeClientAuth, (i) =>
    path.inboundGrants.spiffeClientAuth.at(i),
  )

/** The issuer policies of a grant type in `inboundGrants`; undefined for a policy with a wrong JSON type. */
export const policiesOf = (
  { inboundGrants }: Server,
  grant: 'tokenExchange' | 'jwtBearer',
): readonly ({ readonly issuerRef?: string | undefined } | undefined)[] =>
  inboundGrants?.[grant]?.issuerPolicies ?? []

/**
 * The items of a list without the undefined ones, each with the path that `at` returns for its index. The caller
 * chooses the type of the path.
 */
function placed<Value, Fields>(
  items: readonly (Value | undefined)[] | undefined,
  at: (i: number) => Path<unknown>,
): Placed<Value, Fields>[] {
  return (items ?? []).flatMap((value, i) =>
    value === undefined ? [] : [{ value, place: () => pathTo<Fields>(segmentsOf(at(i))) }],
  )
}
