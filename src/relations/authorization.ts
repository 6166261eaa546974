import { OKTA } from '../kinds/known-issuers.ts'
import type { Static } from 'typebox'
import { type Given, isAbsent, parseUrl, type Path, pathTo, shortQuote, shortText } from '../rule/index.ts'
import { type Provider, requestedScopes, type Server } from '../kinds/embedded-auth-server/effective.ts'
import type { MCPRemoteProxy, MCPServer } from '../kinds/schemas.ts'
import type { Gateway } from './related-resources.ts'

type Proxy = Given<Static<typeof MCPServer>> | Given<Static<typeof MCPRemoteProxy>>
type Holder = Pick<NonNullable<Proxy['spec']>, 'authzConfig' | 'authzConfigRef'>

/** The `authzConfig` of a resource: Cedar policies, or the name of a ConfigMap with policies. */
export type AuthzConfig = NonNullable<Holder['authzConfig']>

/** The `authzConfigRef` of a resource: the name of an MCPAuthzConfig, which contains policies. */
export type AuthzConfigRef = NonNullable<Holder['authzConfigRef']>

/** The part of a resource that may contain `authzConfig` or `authzConfigRef`, and its path. */
export interface Authorization {
  readonly holder: Holder
  readonly path: Path<Holder>
}

/** The authorization of a resource: in `incomingAuth` of a VirtualMCPServer, in the spec of a workload. */
export function authorizationOf(kind: string, resource: Gateway | Proxy): Authorization | undefined {
  const isGateway = kind === 'VirtualMCPServer'
  const holder = isGateway ? (resource as Gateway).spec?.incomingAuth : (resource.spec as Holder | undefined)
  return holder && { holder, path: pathTo(isGateway ? ['spec', 'incomingAuth'] : ['spec']) }
}

/** The first three claims, in quotes, for a message. */
export const claimsText = (claims: readonly string[]): string =>
  claims
    .slice(0, 3)
    .map((claim) => shortQuote(shortText(claim, 40)))
    .join(', ')

/** The provider from which policies get claims: `chosen`, by default the first; undefined if `chosen` has no name. */
export function providerOfClaims(server: Server, chosen: Chosen | undefined): Provider | undefined {
  const providers = server.upstreamProviders ?? []
  if (chosen === undefined) return providers[0]
  return chosen.name === undefined ? undefined : providers.find((provider) => provider?.name === chosen.name)
}

/** Providers whose access tokens are not JWTs: the name of each, and its hosts. */
const OPAQUE: readonly (readonly [string, RegExp])[] = [
  ['Google', /^(accounts\.google\.com|(oauth2|www)\.googleapis\.com)$/i],
  ['GitHub', /^((www|api)\.)?github\.com$|\.ghe\.com$/i],
  ['GitLab', /^gitlab\.com$/i],
  ['Bitbucket', /^bitbucket\.org$/i],
  ['Slack', /^slack\.com$/i],
  ['Discord', /^discord\.com$/i],
  ['Notion', /^api\.notion\.com$/i],
  ['Linear', /^api\.linear\.app$/i],
]
/** The path of the token endpoint of GitHub and of GitHub Enterprise Server. */
const GITHUB_PATH = '/login/oauth/access_token'

/** The name of a provider whose access tokens are opaque, so that no policy can read them; undefined for others. */
export function opaqueIssuer({ oidcConfig, oauth2Config }: Provider): string | undefined {
  const text = oidcConfig?.issuerUrl ?? oauth2Config?.tokenEndpoint ?? ''
  const host = parseUrl(text)?.host ?? ''
  return (
    OPAQUE.find(([, hosts]) => hosts.test(host))?.[0] ?? (text.endsWith(GITHUB_PATH) ? 'GitHub' : undefined)
  )
}

/** Texts that say which tokens lack groups or roles, and how to get them. */
interface Groupless {
  readonly lacks: string
  readonly remedy: string
}

const ENTRA = /^(?:login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)|sts\.windows\.net)$/i

/** Says that access tokens of a provider have no groups or roles; undefined when they may have them. */
export function grouplessProvider(provider: Provider): Groupless | undefined {
  const { oidcConfig, oauth2Config } = provider
  const url = oidcConfig?.issuerUrl ?? oauth2Config?.tokenEndpoint ?? ''
  const host = parseUrl(url)?.host ?? ''
  const rest = url.replace(/^https?:\/\/[^/]*/i, '')
  const isOrgServer = oidcConfig === undefined ? rest.startsWith('/oauth2/v1/') : !rest.startsWith('/oauth2/')
  if (OKTA.test(host) && isOrgServer)
    return {
      lacks: "tokens of Okta's org server lack",
      remedy: 'use an issuer such as https://…/oauth2/default',
    }
  if (!ENTRA.test(host)) return undefined
  const scopes = requestedScopes(provider, oidcConfig === undefined ? 'oauth2Config' : 'oidcConfig') ?? []
  if (scopes.some((scope) => scope === undefined || isOfApp(scope))) return undefined
  return {
    lacks: "Entra's tokens for Microsoft Graph lack",
    remedy: 'request a scope such as api://<client id>/access',
  }
}

/** Whether a scope of Entra is for an app rather than for Microsoft Graph: it begins with the URI or id of the app. */
const isOfApp = (scope: string): boolean =>
  scope.includes('/') && !/^https:\/\/graph\.microsoft\.(?:com|us)\//i.test(scope)

/**
 * The provider that `primaryUpstreamProvider` of a VirtualMCPServer chooses for its policies; `name` is undefined when
 * the field is unreadable.
 */
export interface Chosen {
  readonly name: string | undefined
  readonly at: Path<unknown>
}

/**
 * Reads `primaryUpstreamProvider`. Releases before 0.28 read it in `authzConfig.inline`, later releases do so only
 * when `authServerConfig` is absent.
 */
export function chosenProvider({ spec = {} }: Gateway): Chosen | undefined {
  const path = pathTo<Gateway>([]).spec
  const { authServerConfig: server, incomingAuth } = spec
  const { authzConfig } = incomingAuth ?? {}
  const inline = authzConfig?.inline
  const at = path.authServerConfig.primaryUpstreamProvider
  if (server !== undefined && isGiven(server)) return { name: server.primaryUpstreamProvider, at }
  if (isUnreadable(spec, 'authServerConfig')) return { name: undefined, at }
  if (isUnreadable(incomingAuth, 'authzConfig') || isUnreadable(authzConfig, 'inline'))
    return { name: undefined, at }
  return inline === undefined || !isGiven(inline)
    ? undefined
    : {
        name: inline.primaryUpstreamProvider,
        at: path.incomingAuth.authzConfig.inline.primaryUpstreamProvider,
      }
}

const isUnreadable = <T extends object>(holder: T | undefined, field: keyof T): boolean =>
  holder !== undefined && holder[field] === undefined && !isAbsent(holder, field)

const isGiven = (holder: { readonly primaryUpstreamProvider?: string | undefined }): boolean =>
  !isAbsent(holder, 'primaryUpstreamProvider') && holder.primaryUpstreamProvider !== ''
