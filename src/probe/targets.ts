import type { AuthConfig, Gateway, OidcConfig } from '../relations/index.ts'
import type { GivenSubject } from '../documents/index.ts'
import { type Given, pathTo, type Resource, type Segment } from '../rule/index.ts'
import { type ProbedAuthServer, inAuthServer } from './auth-server.ts'
import {
  bundleOf,
  type Connecting,
  fieldAt,
  type FoundTarget,
  GRANTS,
  isGiven,
  type LeftOut,
  type NamedResource,
  NO_NEEDS,
  type Skipped,
  type Target,
  texts,
  TOKEN_REQUESTS,
} from './target.ts'

/** The addresses in resources, divided into those to send requests to and those left out. */
export function targetsOf(all: readonly NamedResource[]): {
  readonly targets: readonly Target[]
  readonly leftOut: readonly LeftOut[]
} {
  const own = new Set(all.flatMap(({ resource }) => ownIssuers(resource)))
  const given = credentialsGiven(all)
  const targets: Target[] = []
  const leftOut: LeftOut[] = []
  const issuer = issuersOfCallers(all)
  for (const { subject, resource } of all)
    for (const each of namedIn(subject, resource, issuer)) {
      if ('why' in each) leftOut.push({ subject, ...each })
      else if (each.use.is === 'remote' && given(subject))
        targets.push({ subject, ...each, use: { ...each.use, hasCredential: true } })
      else if (each.use.is === 'issuer' && own.has(each.url))
        leftOut.push({ subject, ...each, why: 'an embedded authorization server of these resources' })
      else targets.push({ subject, ...each })
    }
  return { targets, leftOut }
}

/**
 * Returns a function that tells whether a VirtualMCPServer may have credentials for a backend: an entry for it in
 * `backends`, or a default.
 */
function credentialsGiven(all: readonly NamedResource[]): (backend: GivenSubject) => boolean {
  const gateways = all.filter(({ subject }) => subject.kind === 'VirtualMCPServer')
  return ({ namespace, name }) =>
    gateways.some(({ subject, resource }) => {
      const { backends = {}, default: byDefault } = (resource as Gateway).spec?.outgoingAuth ?? {}
      return subject.namespace === namespace && (byDefault !== undefined || Object.hasOwn(backends, name))
    })
}

type Issuers = (namespace: string, name: string | undefined) => string | undefined

/** Returns a function that looks up the issuer in an MCPOIDCConfig; undefined when not known. */
function issuersOfCallers(all: readonly NamedResource[]): Issuers {
  const known = new Map(
    all
      .filter(({ subject }) => subject.kind === 'MCPOIDCConfig')
      .map(({ subject: { namespace, name }, resource }) => {
        const { spec } = resource as OidcConfig
        return [`${namespace}/${name}`, spec?.type === 'inline' ? spec.inline?.issuer : undefined]
      }),
  )
  return (namespace, name = '') => known.get(`${namespace}/${name}`)
}

function* namedIn(
  subject: GivenSubject,
  resource: Resource,
  issuer: Issuers,
): Iterable<FoundTarget | Skipped> {
  const { kind, namespace } = subject
  if (kind === 'MCPOIDCConfig') yield* inOidcConfig(resource as OidcConfig)
  else if (kind === 'MCPExternalAuthConfig') {
    yield* inAuthConfig(resource as AuthConfig)
    const server = (resource as AuthConfig).spec?.embeddedAuthServer
    if (server !== undefined)
      yield* inAuthServer(server, pathTo<ProbedAuthServer>(['spec', 'embeddedAuthServer']))
  } else if (kind === 'VirtualMCPServer') {
    const server = (resource as Gateway).spec?.authServerConfig
    if (server !== undefined)
      yield* inAuthServer(server, pathTo<ProbedAuthServer>(['spec', 'authServerConfig']))
    const { type, oidcConfigRef } = (resource as Gateway).spec?.incomingAuth ?? {}
    if (type === 'oidc')
      yield* inReference(oidcConfigRef, ['spec', 'incomingAuth'], issuer(namespace, oidcConfigRef?.name))
  } else {
    const { oidcConfigRef } = (resource.spec ?? {}) as { readonly oidcConfigRef?: OidcReference }
    yield* inReference(oidcConfigRef, ['spec'], issuer(namespace, oidcConfigRef?.name))
    yield* inWorkload(kind, resource)
  }
}

type OidcReference = Given<{ name: string; resourceUrl: string }>

/** The target in an OIDC reference: `resourceUrl`, whose metadata (RFC 9728) tells clients which issuer to use. */
function* inReference(
  reference: OidcReference | undefined,
  at: readonly Segment[],
  issuer: string | undefined,
): Iterable<FoundTarget> {
  const url = reference?.resourceUrl
  if (isGiven(url))
    yield {
      at: [...at, 'oidcConfigRef', 'resourceUrl'],
      url,
      use: { is: 'resource', issuer },
      connecting: TOKEN_REQUESTS,
    }
}

/**
 * The issuers of embedded authorization servers in a resource. The probe sends them no requests, because the process
 * that validates their tokens has their keys.
 */
function ownIssuers(resource: Resource): string[] {
  const { embeddedAuthServer, authServerConfig } = (resource.spec ?? {}) as {
    readonly embeddedAuthServer?: Given<{ issuer: string }>
    readonly authServerConfig?: Given<{ issuer: string }>
  }
  return [embeddedAuthServer, authServerConfig].flatMap((server) => server?.issuer ?? [])
}

function* inOidcConfig({ spec }: OidcConfig): Iterable<FoundTarget | Skipped> {
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
  // With jwksUrl the operator never reads the issuer's metadata, so the metadata may be missing. Existing metadata
  // shows the issuer that tokens name.
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

function* inAuthConfig({ spec }: AuthConfig): Iterable<FoundTarget> {
  const { tokenExchange, xaa } = spec ?? {}
  // A plain string, because releases have types that the specification does not list.
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

interface OfRemote {
  readonly remoteUrl?: string
  readonly externalAuthConfigRef?: unknown
  readonly headerForward?: unknown
  readonly caBundleRef?: Parameters<typeof bundleOf>[0]
}

function* inWorkload(kind: string, { spec }: Resource): Iterable<FoundTarget> {
  const { remoteUrl, externalAuthConfigRef, headerForward, caBundleRef } = (spec ?? {}) as OfRemote
  if (!isGiven(remoteUrl)) return
  // A request of a proxy may always have a credential: the proxy may forward the token of its caller.
  const hasCredential =
    kind !== 'MCPServerEntry' || externalAuthConfigRef !== undefined || headerForward !== undefined
  yield {
    at: ['spec', 'remoteUrl'],
    url: remoteUrl,
    use: { is: 'remote', hasCredential },
    connecting: { ...TOKEN_REQUESTS, http: true, bundle: bundleOf(caBundleRef, false) },
  }
}
