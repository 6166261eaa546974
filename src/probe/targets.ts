import type { AuthConfig, Gateway, OidcConfig } from '../kinds/between/related-resources.ts'
import { type Path, pathTo, type Segment, segmentsOf } from '../rule/path.ts'
import { type Given, isObject, type Resource } from '../rule/resource.ts'
import { isLoopback, parseUrl } from '../rule/url.ts'
import type { Subject } from '../review/given-objects.ts'

/** A resource that may name addresses, with its parts of a wrong JSON type taken away. */
export interface Named {
  readonly subject: Subject
  readonly resource: Resource
}

/** A reference to PEM certificates; the operator trusts them alone, or beside those of the system. */
export interface Bundle {
  readonly name: string
  readonly key: string
  readonly isOnly: boolean
}

/** How the process that the operator starts connects to an address. */
export interface Connecting {
  /** Whether plain http is allowed. */
  readonly http: boolean
  /** The field that allows private addresses; undefined where nothing refuses them. */
  readonly privateField?: string
  readonly allowsPrivate: boolean
  readonly bundle?: Bundle | undefined
  readonly redirects: 'followed' | 'to the same host'
}

/** The code that reads an issuer: it validates tokens of callers, logs users in, or takes tokens in exchanges. */
export type Reader = 'validator' | 'upstream' | 'trusted'

/** What a configuration needs an authorization server to offer. */
export interface Needs {
  readonly grants: readonly string[]
  readonly scopes: readonly string[]
  readonly pkce?: boolean
  /** The client registers itself. */
  readonly registers?: boolean
  /** How the operator sends the client secret. */
  readonly secretMethod?: string
}

export type Use =
  | { readonly is: 'issuer'; readonly reader: Reader; readonly needs: Needs; readonly isOptional?: boolean }
  | { readonly is: 'keys'; readonly reader: Reader; readonly isPrivate?: boolean }
  | { readonly is: 'metadata'; readonly needs: Needs }
  | { readonly is: 'endpoint'; readonly name: string; readonly needs?: Needs }
  | { readonly is: 'remote'; readonly hasCredential: boolean }

/** An address in a field, and how the operator uses it. */
export interface Target {
  readonly subject: Subject
  readonly at: readonly Segment[]
  readonly url: string
  readonly use: Use
  readonly connecting: Connecting
}

/** An address in a field that is not asked, and why. */
export interface LeftOut extends Pick<Target, 'subject' | 'at' | 'url'> {
  readonly why: string
}

export const GRANTS = {
  code: 'authorization_code',
  refresh: 'refresh_token',
  exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  assertion: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
} as const

const NO_NEEDS: Needs = { grants: [], scopes: [] }

type AuthServer = NonNullable<NonNullable<Gateway['spec']>['authServerConfig']>
type Provider = NonNullable<NonNullable<AuthServer['upstreamProviders']>[number]>
type Found = Omit<Target, 'subject'>
type Skipped = Omit<LeftOut, 'subject'>

/** The addresses that resources name, and those of them that are never asked. */
export function targetsOf(all: readonly Named[]): {
  readonly targets: readonly Target[]
  readonly leftOut: readonly LeftOut[]
} {
  const own = new Set(all.flatMap(({ resource }) => ownIssuers(resource)))
  const targets: Target[] = []
  const leftOut: LeftOut[] = []
  for (const { subject, resource } of all)
    for (const each of namedIn(subject.kind, resource)) {
      if ('why' in each) leftOut.push({ subject, ...each })
      else if (each.use.is === 'issuer' && own.has(each.url))
        leftOut.push({ subject, ...each, why: 'an embedded authorization server of these resources' })
      else targets.push({ subject, ...each })
    }
  return { targets, leftOut }
}

function* namedIn(kind: string, resource: Resource): Iterable<Found | Skipped> {
  if (kind === 'MCPOIDCConfig') yield* inOidcConfig(resource as OidcConfig)
  else if (kind === 'MCPExternalAuthConfig') {
    yield* inAuthConfig(resource as AuthConfig)
    const server = (resource as AuthConfig).spec?.embeddedAuthServer
    if (server !== undefined) yield* inAuthServer(server, pathTo<AuthServer>(['spec', 'embeddedAuthServer']))
  } else if (kind === 'VirtualMCPServer') {
    const server = (resource as Gateway).spec?.authServerConfig
    if (server !== undefined) yield* inAuthServer(server, pathTo<AuthServer>(['spec', 'authServerConfig']))
  } else yield* inWorkload(kind, resource)
}

/** The issuers that embedded authorization servers are: their keys are read in the process. */
function ownIssuers(resource: Resource): string[] {
  const { embeddedAuthServer, authServerConfig } = (resource.spec ?? {}) as {
    readonly embeddedAuthServer?: Given<{ issuer: string }>
    readonly authServerConfig?: Given<{ issuer: string }>
  }
  return [embeddedAuthServer, authServerConfig].flatMap((server) => server?.issuer ?? [])
}

/** Whether a provider is on the machine of the server, where private addresses are always allowed. */
const isLocal = (url = ''): boolean => isLoopback(parseUrl(url)?.host ?? '')

const isGiven = (url: string | undefined): url is string => url !== undefined && url !== ''

/** The path of each property of T, whether or not the schema makes it optional. */
const fieldAt = (path: Path<unknown>, field: string): readonly Segment[] => [...segmentsOf(path), field]

function* inOidcConfig({ spec }: OidcConfig): Iterable<Found | Skipped> {
  const { inline, kubernetesServiceAccount: account } = spec ?? {}
  const atAccount = pathTo<unknown>(['spec', 'kubernetesServiceAccount'])
  for (const field of ['issuer', 'jwksUrl', 'introspectionUrl'] as const) {
    const url = account?.[field]
    if (isGiven(url))
      yield { at: fieldAt(atAccount, field), url, why: 'the pod asks it as its ServiceAccount' }
  }
  if (inline === undefined || spec?.type === 'kubernetesServiceAccount') return
  const at = pathTo<unknown>(['spec', 'inline'])
  const connecting: Connecting = {
    http: inline.insecureAllowHTTP === true,
    privateField: 'jwksAllowPrivateIP',
    allowsPrivate:
      inline.jwksAllowPrivateIP === true ||
      inline.protectedResourceAllowPrivateIP === true ||
      spec?.jwksAllowPrivateIP === true,
    bundle: bundleOf(inline.caBundleRef, true),
    redirects: 'followed',
  }
  const { issuer, jwksUrl, introspectionUrl, jwksAuthTokenPath } = inline
  const isPrivate = isGiven(jwksAuthTokenPath)
  // With jwksUrl the operator never asks the issuer; a document there still says which iss tokens have.
  if (isGiven(issuer))
    yield {
      at: fieldAt(at, 'issuer'),
      url: issuer,
      use: { is: 'issuer', reader: 'validator', needs: NO_NEEDS, isOptional: isGiven(jwksUrl) || isPrivate },
      connecting,
    }
  if (isGiven(jwksUrl))
    yield {
      at: fieldAt(at, 'jwksUrl'),
      url: jwksUrl,
      use: { is: 'keys', reader: 'validator', isPrivate },
      connecting,
    }
  if (isGiven(introspectionUrl))
    yield {
      at: fieldAt(at, 'introspectionUrl'),
      url: introspectionUrl,
      use: { is: 'endpoint', name: 'introspection endpoint' },
      connecting,
    }
}

/** The connections of token requests: to any address, by the authorities of the system. */
const TOKEN_REQUESTS: Connecting = { http: true, allowsPrivate: true, redirects: 'followed' }

function* inAuthConfig({ spec }: AuthConfig): Iterable<Found> {
  const { tokenExchange, xaa } = spec ?? {}
  // The specification does not name all types.
  const type: string | undefined = spec?.type
  const endpoint = (holder: string, field: string, url: string | undefined, grant: string, http = true) =>
    isGiven(url)
      ? [
          {
            at: ['spec', holder, field],
            url,
            use: {
              is: 'endpoint' as const,
              name: 'token endpoint',
              needs: {
                grants: [grant],
                scopes: holder === 'tokenExchange' ? texts(tokenExchange?.scopes) : [],
              },
            },
            connecting: { ...TOKEN_REQUESTS, http },
          },
        ]
      : []
  if (type === 'tokenExchange')
    yield* endpoint('tokenExchange', 'tokenUrl', tokenExchange?.tokenUrl, GRANTS.exchange)
  if (type === 'xaa') {
    yield* endpoint('xaa', 'idpTokenUrl', xaa?.idpTokenUrl, GRANTS.exchange)
    const isHttp = xaa?.insecureTargetTokenUrl === true
    yield* endpoint('xaa', 'targetTokenUrl', xaa?.targetTokenUrl, GRANTS.assertion, isHttp)
  }
}

const texts = (list: readonly (string | undefined)[] | undefined): string[] =>
  (list ?? []).filter((each) => each !== undefined)

function* inAuthServer(server: Given<AuthServer>, path: Path<AuthServer>): Iterable<Found | Skipped> {
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
  { oidcConfig: config }: Given<Provider>,
  path: Path<unknown>,
  isServerHttp: boolean,
): Iterable<Found | Skipped> {
  if (config === undefined) return
  const at = pathTo<unknown>([...segmentsOf(path), 'oidcConfig'])
  const connecting: Connecting = {
    http: isServerHttp,
    privateField: 'allowPrivateIPs',
    allowsPrivate: config.allowPrivateIPs === true || isServerHttp || isLocal(config.issuerUrl),
    bundle: bundleOf(config.caBundleRef, false),
    redirects: 'followed',
  }
  const needs = needsOfLogin(config, config.clientSecretRef && 'client_secret_post')
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
): Iterable<Found> {
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
  const needs = needsOfLogin(config, config.clientSecretRef && config.tokenEndpointAuthMethod)
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
  // Browsers open it, by their own rules.
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
  scopes: string[]
  dcrConfig: { discoveryUrl?: string; registrationEndpoint?: string }
  clientId: string
}>

function needsOfLogin({ scopes, dcrConfig, clientId }: Login, secretMethod: string | undefined): Needs {
  const named = texts(scopes)
  return {
    grants: [GRANTS.code, ...(named.includes('offline_access') ? [GRANTS.refresh] : [])],
    scopes: named,
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
): Iterable<Found> {
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

interface OfRemote {
  readonly remoteUrl?: string
  readonly externalAuthConfigRef?: unknown
  readonly headerForward?: unknown
  readonly caBundleRef?: Parameters<typeof bundleOf>[0]
}

function* inWorkload(kind: string, { spec }: Resource): Iterable<Found> {
  const { remoteUrl, externalAuthConfigRef, headerForward, caBundleRef } = (spec ?? {}) as OfRemote
  if (!isGiven(remoteUrl)) return
  // A proxy may hand on the token of its caller.
  const hasCredential =
    kind !== 'MCPServerEntry' || externalAuthConfigRef !== undefined || headerForward !== undefined
  yield {
    at: ['spec', 'remoteUrl'],
    url: remoteUrl,
    use: { is: 'remote', hasCredential },
    connecting: { ...TOKEN_REQUESTS, http: true, bundle: bundleOf(caBundleRef, false) },
  }
}

/** The bundle that a reference names; its key is ca.crt by default. */
function bundleOf(
  reference: Given<{ configMapRef: { name: string; key: string } }> | undefined,
  isOnly: boolean,
): Bundle | undefined {
  const { name, key } = reference?.configMapRef ?? {}
  return isObject(reference) && isGiven(name)
    ? { name, key: isGiven(key) ? key : 'ca.crt', isOnly }
    : undefined
}
