import { OKTA } from '../kinds/known-issuers.ts'
import type { Static } from 'typebox'
import { type Given, isAbsent, parseUrl, type Path, pathTo, shortQuote, shortText } from '../rule/index.ts'
import { type Provider, requestedScopes, type Server } from '../kinds/embedded-auth-server/effective.ts'
import type { MCPRemoteProxy, MCPServer } from '../kinds/schemas.ts'
import type { Gateway } from './related-resources.ts'

type Proxy = Given<Static<typeof MCPServer>> | Given<Static<typeof MCPRemoteProxy>>
type Holder = Pick<NonNullable<Proxy['spec']>, 'authzConfig' | 'authzConfigRef'>

/** The authorization of a resource: its Cedar policies, or the ConfigMap that has them. */
export type AuthzConfig = NonNullable<Holder['authzConfig']>

/** The name of the object that has them. */
export type AuthzConfigRef = NonNullable<Holder['authzConfigRef']>

/** The object in which a resource configures authorization, and its path. */
export interface Authorization {
  readonly holder: Holder
  readonly path: Path<Holder>
}

/** A VirtualMCPServer has its authorization in `incomingAuth`, a workload in its spec. */
export function authorizationOf(kind: string, resource: Gateway | Proxy): Authorization | undefined {
  const isGateway = kind === 'VirtualMCPServer'
  const holder = isGateway ? (resource as Gateway).spec?.incomingAuth : (resource.spec as Holder | undefined)
  return holder && { holder, path: pathTo(isGateway ? ['spec', 'incomingAuth'] : ['spec']) }
}

/** The first three claims, in quotes. */
export const claimsText = (claims: readonly string[]): string =>
  claims
    .slice(0, 3)
    .map((claim) => shortQuote(shortText(claim, 40)))
    .join(', ')

/** The provider whose claims policies see: the chosen one, or else the first. Undefined where that cannot be read. */
export function providerOfClaims(server: Server, chosen: Chosen | undefined): Provider | undefined {
  const providers = server.upstreamProviders ?? []
  if (chosen === undefined) return providers[0]
  return chosen.name === undefined ? undefined : providers.find((provider) => provider?.name === chosen.name)
}

/** Hosts of providers whose access tokens are not JWTs, each after the name of the provider. */
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
/** The path of GitHub's token endpoint, also on a GitHub Enterprise Server. */
const GITHUB_PATH = '/login/oauth/access_token'

/** The name of a provider whose access tokens no policy can read; undefined for others. */
export function opaqueIssuer({ oidcConfig, oauth2Config }: Provider): string | undefined {
  const text = oidcConfig?.issuerUrl ?? oauth2Config?.tokenEndpoint ?? ''
  const host = parseUrl(text)?.host ?? ''
  return (
    OPAQUE.find(([, hosts]) => hosts.test(host))?.[0] ?? (text.endsWith(GITHUB_PATH) ? 'GitHub' : undefined)
  )
}

/** The groups or roles that access tokens of a provider lack, as text, and what to do about it. */
interface Groupless {
  readonly lacks: string
  readonly remedy: string
}

const ENTRA = /^(?:login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)|sts\.windows\.net)$/i

/** Why access tokens of a provider have no groups or roles, where that is known. */
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

/** Whether a scope of Entra belongs to an app: before the last slash it has the app's URI or id. */
const isOfApp = (scope: string): boolean =>
  scope.includes('/') && !/^https:\/\/graph\.microsoft\.(?:com|us)\//i.test(scope)

/**
 * The provider that a VirtualMCPServer chooses for its policies, by `primaryUpstreamProvider`; `name` is undefined
 * where that cannot be read.
 */
export interface Chosen {
  readonly name: string | undefined
  readonly at: Path<unknown>
}

/**
 * The chosen provider. Releases before 0.28 read `primaryUpstreamProvider` in `authzConfig.inline`, later ones only
 * where `authServerConfig` has none.
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
