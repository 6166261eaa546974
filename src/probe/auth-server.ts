import { type Gateway, requestedScopes } from '../relations/index.ts'
import { type Given, isLoopback, parseUrl, type Path, pathTo, segmentsOf } from '../rule/index.ts'
import {
  bundleOf,
  type Connecting,
  fieldAt,
  type FoundTarget,
  GRANTS,
  isGiven,
  type Needs,
  NO_NEEDS,
  type Skipped,
  texts,
  TOKEN_REQUESTS,
} from './target.ts'

export type ProbedAuthServer = NonNullable<NonNullable<Gateway['spec']>['authServerConfig']>
type Provider = NonNullable<NonNullable<ProbedAuthServer['upstreamProviders']>[number]>
/** Whether a provider runs on the same machine as the server, which may always connect to it. */
const isLocal = (url = ''): boolean => isLoopback(parseUrl(url)?.host ?? '')

/** The addresses to check in an embedded authorization server. */
export function* inAuthServer(
  server: Given<ProbedAuthServer>,
  path: Path<ProbedAuthServer>,
): Iterable<FoundTarget | Skipped> {
  const http = server.insecureAllowHTTP === true
  for (const [i, provider] of (server.upstreamProviders ?? []).entries()) {
    const at = pathTo<unknown>([...segmentsOf(path.upstreamProviders), i])
    if (provider?.type === 'oidc') yield* inOidcProvider(provider, at, http)
    if (provider?.type === 'oauth2') yield* inOAuth2Provider(provider, at, http)
  }
  for (const [i, trusted] of (server.trustedIssuers ?? []).entries()) {
    if (trusted === undefined) continue
    const at = pathTo<unknown>([...segmentsOf(path), 'trustedIssuers', i])
    const { issuerUrl, jwksUrl, insecureAllowHTTP, allowPrivateIPs, caBundleRef } = trusted
    const connecting: Connecting = {
      http: insecureAllowHTTP === true,
      privateField: 'allowPrivateIPs',
      allowsPrivate: allowPrivateIPs === true,
      bundle: bundleOf(caBundleRef, false),
      redirects: 'to the same host',
    }
    const reader = 'trusted' as const
    if (isGiven(issuerUrl))
      yield {
        at: fieldAt(at, 'issuerUrl'),
        url: issuerUrl,
        use: { is: 'issuer', reader, needs: NO_NEEDS, isOptional: isGiven(jwksUrl) },
        connecting,
      }
    if (isGiven(jwksUrl))
      yield { at: fieldAt(at, 'jwksUrl'), url: jwksUrl, use: { is: 'keys', reader }, connecting }
  }
  for (const [i, domain] of (server.spiffeTrustDomains ?? []).entries()) {
    const url = domain?.bundleSource?.endpoint?.url
    const at = [...segmentsOf(path), 'spiffeTrustDomains', i, 'bundleSource', 'endpoint', 'url']
    if (isGiven(url)) yield { at, url, why: 'no release of the operator asks it' }
  }
}

function* inOidcProvider(
  provider: Given<Provider>,
  path: Path<unknown>,
  isServerHttp: boolean,
): Iterable<FoundTarget | Skipped> {
  const { oidcConfig: config } = provider
  if (config === undefined) return
  const at = pathTo<unknown>([...segmentsOf(path), 'oidcConfig'])
  const connecting: Connecting = {
    http: isServerHttp,
    privateField: 'allowPrivateIPs',
    allowsPrivate: config.allowPrivateIPs === true || isServerHttp || isLocal(config.issuerUrl),
    bundle: bundleOf(config.caBundleRef, false),
    redirects: 'followed',
  }
  const scopes = texts(requestedScopes(provider, 'oidcConfig'))
  const needs = needsOfLogin(config, scopes, config.clientSecretRef && 'client_secret_post')
  const { issuerUrl, userInfoOverride } = config
  const { discoveryUrl, registrationEndpoint } = config.dcrConfig ?? {}
  const registers = needs.registers === true && !isGiven(discoveryUrl) && !isGiven(registrationEndpoint)
  if (isGiven(issuerUrl))
    yield {
      at: fieldAt(at, 'issuerUrl'),
      url: issuerUrl,
      use: { is: 'issuer', reader: 'upstream', needs: { ...needs, registers } },
      connecting,
    }
  yield* registrationOf(config.dcrConfig, at, needs, connecting)
  const url = userInfoOverride?.endpointUrl
  if (isGiven(url))
    yield {
      at: [...segmentsOf(at), 'userInfoOverride', 'endpointUrl'],
      url,
      why: 'the operator never asks it',
    }
}

function* inOAuth2Provider(
  { oauth2Config: config }: Given<Provider>,
  path: Path<unknown>,
  isServerHttp: boolean,
): Iterable<FoundTarget> {
  if (config === undefined) return
  const at = pathTo<unknown>([...segmentsOf(path), 'oauth2Config'])
  const http = isServerHttp || config.insecureAllowHTTP === true
  const connecting: Connecting = {
    http,
    privateField: 'allowPrivateIPs',
    allowsPrivate: config.allowPrivateIPs === true || http || isLocal(config.tokenEndpoint),
    bundle: bundleOf(config.caBundleRef, false),
    redirects: 'followed',
  }
  const secretMethod = config.clientSecretRef && config.tokenEndpointAuthMethod
  const needs = needsOfLogin(config, texts(config.scopes), secretMethod)
  const endpoint = (
    field: string[],
    url: string | undefined,
    name: string,
    how = connecting,
    wants?: Needs,
  ) =>
    isGiven(url)
      ? [
          {
            at: [...segmentsOf(at), ...field],
            url,
            use: { is: 'endpoint' as const, name, ...(wants && { needs: wants }) },
            connecting: how,
          },
        ]
      : []
  // The user's browser opens this address, so limits of the operator, such as on private addresses, do not apply.
  const opened: Connecting = { ...TOKEN_REQUESTS, http, bundle: connecting.bundle }
  yield* endpoint(['authorizationEndpoint'], config.authorizationEndpoint, 'authorization endpoint', opened)
  yield* endpoint(['tokenEndpoint'], config.tokenEndpoint, 'token endpoint', connecting, {
    ...needs,
    registers: false,
  })
  yield* endpoint(['userInfo', 'endpointUrl'], config.userInfo?.endpointUrl, 'userinfo endpoint')
  yield* registrationOf(config.dcrConfig, at, needs, connecting)
}

type Login = Given<{
  dcrConfig: { discoveryUrl?: string; registrationEndpoint?: string }
  clientId: string
}>

function needsOfLogin(
  { dcrConfig, clientId }: Login,
  scopes: readonly string[],
  secretMethod: string | undefined,
): Needs {
  return {
    grants: [GRANTS.code, ...(scopes.includes('offline_access') ? [GRANTS.refresh] : [])],
    scopes,
    pkce: true,
    registers: dcrConfig !== undefined && !isGiven(clientId),
    ...(secretMethod !== undefined && { secretMethod }),
  }
}

function* registrationOf(
  dcrConfig: Login['dcrConfig'],
  path: Path<unknown>,
  needs: Needs,
  connecting: Connecting,
): Iterable<FoundTarget> {
  if (dcrConfig === undefined || needs.registers !== true) return
  const at = pathTo<unknown>([...segmentsOf(path), 'dcrConfig'])
  const { discoveryUrl, registrationEndpoint } = dcrConfig
  if (isGiven(discoveryUrl))
    yield {
      at: fieldAt(at, 'discoveryUrl'),
      url: discoveryUrl,
      use: { is: 'metadata', needs },
      connecting: { ...connecting, redirects: 'to the same host' },
    }
  if (isGiven(registrationEndpoint))
    yield {
      at: fieldAt(at, 'registrationEndpoint'),
      url: registrationEndpoint,
      use: { is: 'endpoint', name: 'registration endpoint' },
      connecting,
    }
}
