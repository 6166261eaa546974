import { end, type Related, shortQuote, type ErrorSubject } from '../rule/index.ts'
import { type Gateway, type OidcConfig, oidcConfigNamed } from './related-resources.ts'
import { OIDC_CONFIG } from './ends.ts'

/** Why an MCPOIDCConfig does not accept tokens of an authorization server. */
export type Refusal =
  | { readonly reason: 'type' }
  | { readonly reason: 'issuer'; readonly issued: string; readonly accepted: string }

/**
 * Why the MCPOIDCConfig of a VirtualMCPServer refuses tokens of the embedded authorization server; undefined when it
 * accepts them, or a field is unreadable. Issuers are compared as text (section 5.1 of the specification).
 */
export function refusalOf(gateway: Gateway, config: OidcConfig): Refusal | undefined {
  const { authServerConfig, incomingAuth } = gateway.spec ?? {}
  if (authServerConfig === undefined || incomingAuth?.type !== 'oidc') return undefined
  return refusalBy(config, authServerConfig.issuer)
}

/**
 * Why an MCPOIDCConfig refuses tokens of the issuer `issued`, in any process that validates them; undefined when it
 * accepts them, or when `issued` or a field is unreadable.
 */
export function refusalBy({ spec }: OidcConfig, issued: string | undefined): Refusal | undefined {
  const { type, inline } = spec ?? {}
  if (type === 'kubernetesServiceAccount') return { reason: 'type' }
  const accepted = inline?.issuer
  if (type !== 'inline' || issued === undefined || accepted === undefined || issued === accepted)
    return undefined
  return { reason: 'issuer', issued, accepted }
}

/** The field of an MCPOIDCConfig that limits the tokens it accepts, with a phrase that says which tokens these are. */
export const acceptingEnd = (name: string, { reason }: Refusal): Related =>
  reason === 'type'
    ? end(oidcConfigNamed(name), OIDC_CONFIG.spec.type, 'accepts only tokens of the cluster')
    : end(oidcConfigNamed(name), OIDC_CONFIG.spec.inline.issuer, 'accepts only this issuer')

/** The common cause of findings that an MCPOIDCConfig refuses the tokens of a VirtualMCPServer. */
export const refusedCause = (config: string): ErrorSubject => ['refused tokens', config]

/** Describes the difference between two issuers that look alike, as the end of a sentence; empty if they do not. */
export function differenceText(one: string, other: string): string {
  if (`${one}/` === other || `${other}/` === one) return ', which differs by the slash at its end'
  return one.toLowerCase() === other.toLowerCase() ? ', which differs by case' : ''
}

/** An issuer in quotes and, if the issuer `unlike` looks alike, the difference between the two. */
export const issuerText = (issuer: string, unlike: string): string =>
  shortQuote(issuer) + differenceText(issuer, unlike)
