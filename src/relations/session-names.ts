/** The claim that names a session at AWS: which tokens lack it, and which values AWS refuses. */

import { type Cluster, isAbsent, type Path, pathTo } from '../rule/index.ts'
import type { Server } from '../kinds/embedded-auth-server/effective.ts'
import { isStructuredClaim } from '../kinds/embedded-auth-server/own-claims.ts'
import { type RefusedSubject, SERVICE_ACCOUNT, subjectRefusedByAws } from '../kinds/known-issuers.ts'
import { type AwsSts, awsStsOf, isForClientsOnly, mayHaveClaim, stsReached } from './aws-callers.ts'
import { GATEWAY, WORKLOAD } from './ends.ts'
import { oidcReferenceOf, validatesWith } from './oidc-reference.ts'
import { type Gateway, getAuthConfig, getOidcConfig, type Workload } from './related-resources.ts'
import { authServersOf } from './workload-auth-server.ts'

/** A claim that cannot be the AWS session name: the authorization server's tokens lack it, or it is not a string. */
export interface UnfitSessionName {
  readonly claim: string
  readonly isLacking: boolean
}

/**
 * The configured claim for the AWS session name, if the server's tokens lack it or it is not a string; else undefined.
 */
export function unfitSessionName({ sessionNameClaim }: AwsSts, server: Server): UnfitSessionName | undefined {
  if (!sessionNameClaim) return undefined
  const isLacking = !mayHaveClaim(server, sessionNameClaim)
  return isLacking || isStructuredClaim(sessionNameClaim) ? { claim: sessionNameClaim, isLacking } : undefined
}

/** The claim for the AWS session name, by default `sub`; undefined when it is unreadable. */
export const sessionNameClaimOf = (awsSts: AwsSts): string | undefined =>
  isAbsent(awsSts, 'sessionNameClaim') || awsSts.sessionNameClaim === '' ? 'sub' : awsSts.sessionNameClaim

/**
 * The `sub` in tokens that callers of a VirtualMCPServer or a proxy bring from another issuer, if AWS refuses it as the
 * name of a session; undefined if it may accept it, or the resource has an authorization server of its own.
 */
export function refusedSubject(
  kind: string,
  resource: Gateway | Workload,
  cluster: Cluster,
): RefusedSubject | undefined {
  const isGateway = kind === 'VirtualMCPServer'
  if (isGateway && validatesWith(resource as Gateway) === undefined) return undefined
  const name = oidcReferenceOf(resource, kind)?.name
  const spec = name === undefined ? undefined : getOidcConfig(cluster, name)?.spec
  const subject =
    spec?.type === 'kubernetesServiceAccount'
      ? SERVICE_ACCOUNT
      : subjectRefusedByAws(spec?.inline?.issuer ?? '')
  const hasOwnServer =
    !isGateway && subject !== undefined && authServersOf(kind, resource, cluster).length > 0
  return hasOwnServer ? undefined : subject
}

/** The MCPExternalAuthConfigs by which a VirtualMCPServer or a proxy signs requests to AWS, and where it names them. */
export function signingConfigs(
  kind: string,
  resource: Gateway | Workload,
  cluster: Cluster,
): { readonly config: string; readonly awsSts: AwsSts; readonly at: Path<unknown> }[] {
  if (kind === 'VirtualMCPServer')
    return stsReached(resource as Gateway, cluster).flatMap(({ config, auth, at }) => {
      const awsSts = awsStsOf(auth)
      const place = at === undefined ? GATEWAY.spec.incomingAuth.oidcConfigRef : pathTo<unknown>(at())
      return awsSts === undefined ? [] : [{ config, awsSts, at: place }]
    })
  const workload: Workload = resource
  const config = workload.spec?.externalAuthConfigRef?.name
  const awsSts = config === undefined ? undefined : awsStsOf(getAuthConfig(cluster, config))
  return config === undefined || awsSts === undefined
    ? []
    : [{ config, awsSts, at: WORKLOAD.spec.externalAuthConfigRef.name }]
}

/** Says which claim to use as the AWS session name: STS refuses the spaces in `name` and the slashes in `iss`. */
export const sessionRemedy = (server: Server): string =>
  isForClientsOnly(server) ? 'use client_id' : 'use sub or email'
