import type { Other } from '../rule/index.ts'
import type { Gateway, Workload } from './related-resources.ts'

/** An object for the examples of rules. The objects that the other functions of this file make are valid and realistic. */
export const otherOf = <Spec>(kind: string, name: string, spec: Spec) => ({ kind, metadata: { name }, spec })

/** An MCPGroup. */
export const group = (name = 'tools'): Other => ({ kind: 'MCPGroup', metadata: { name }, spec: {} })

/** A workload in the group `tools`, with a reference to the MCPExternalAuthConfig, if one is given. */
export const backend = (name: string, config?: string, kind = 'MCPServer'): Other =>
  otherOf(kind, name, {
    groupRef: { name: 'tools' },
    ...(config !== undefined && { externalAuthConfigRef: { name: config } }),
  })

/** A workload in the group `tools`, as `backend` makes it, which also validates the tokens of its callers. */
export const checking = (name: string, config?: string): Other => ({
  ...backend(name, config),
  spec: {
    ...(backend(name, config).spec as object),
    oidcConfigRef: { name: 'corporate', audience: name },
  },
})

/** A workload with a reference to the MCPExternalAuthConfig, inside a group or without one. */
export const workload = (config: string, groupName?: string): Workload => ({
  spec: {
    ...(groupName !== undefined && { groupRef: { name: groupName } }),
    externalAuthConfigRef: { name: config },
  },
})

/** A workload of any kind that joins the group `tools` with a reference to the MCPExternalAuthConfig. */
export const joiningAs = (config: string) => ({
  spec: { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: config } },
})

type OidcConfigRef = NonNullable<NonNullable<Workload['spec']>['oidcConfigRef']>

/** A workload with the embedded authorization server `auth`, whose tokens the MCPOIDCConfig `corporate` validates. */
export const serving = (oidcConfigRef: OidcConfigRef): Workload => ({
  spec: {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'auth' },
    oidcConfigRef: {
      name: 'corporate',
      ...(oidcConfigRef.audience === undefined && { audience: URL_OF_CLIENTS, resourceUrl: URL_OF_CLIENTS }),
      ...oidcConfigRef,
    },
  },
})

/** The MCPRemoteProxy `wiki` with this embedded authorization server; the settings replace fields of its spec. */
export const servedBy = (config: string, settings: NonNullable<Workload['spec']> = {}): Other => ({
  kind: 'MCPRemoteProxy',
  metadata: { name: 'wiki' },
  spec: {
    ...serving({}).spec,
    ...settings,
    authServerRef: { kind: 'MCPExternalAuthConfig', name: config },
  },
})

/**
 * An MCPRemoteProxy that refers to the embedded authorization server `auth` and to the MCPExternalAuthConfig `aws`, by
 * which it signs requests.
 */
export const signingProxy = {
  spec: {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'auth' },
    oidcConfigRef: {
      name: 'corporate',
      audience: 'https://auth.example.com/mcp',
      resourceUrl: 'https://auth.example.com/mcp',
    },
    externalAuthConfigRef: { name: 'aws' },
  },
} as const

const URL_OF_CLIENTS = 'https://auth.example.com/mcp'

/** An MCPExternalAuthConfig of this type. */
export const configWith = <Type extends string, Settings>(name: string, type: Type, settings: Settings) =>
  otherOf('MCPExternalAuthConfig', name, { type, [type]: settings } as { readonly type: Type } & Readonly<
    Record<Type, Settings>
  >)

/** An MCPExternalAuthConfig of type upstreamInject: it sends the token of the upstream provider. */
export const injectConfig = (name: string, providerName: string): Other =>
  configWith(name, 'upstreamInject', { providerName })

/** An MCPExternalAuthConfig of type tokenExchange, with or without a subject provider. */
export const exchangeConfig = (name: string, subjectProviderName?: string): Other =>
  configWith(name, 'tokenExchange', {
    tokenUrl: 'https://idp.example.com/token',
    audience: name,
    ...(subjectProviderName !== undefined && { subjectProviderName }),
  })

/** An MCPExternalAuthConfig of type tokenExchange with the header in which it sends the token. */
export const exchangeConfigIn = (name: string, externalTokenHeaderName: string): Other =>
  configWith(name, 'tokenExchange', {
    tokenUrl: 'https://idp.example.com/token',
    audience: name,
    externalTokenHeaderName,
  })

/** An MCPExternalAuthConfig of type tokenExchange with a subject provider that /mutate wrote. */
export const exchangeConfigWritten = (name: string, provider: string): Other => ({
  ...exchangeConfig(name, provider),
  metadata: { name, annotations: { 'toolhive.stacklok.dev/subject-provider-written': provider } },
})

/** An MCPExternalAuthConfig that sends an API key in a header. */
export const headerConfig = (name: string): Other =>
  configWith(name, 'headerInjection', {
    headerName: 'X-Api-Key',
    valueSecretRef: { name, key: 'api-key' },
  })

/** An MCPExternalAuthConfig that sends a bearer token. */
export const bearerConfig = (name: string): Other =>
  configWith(name, 'bearerToken', { tokenSecretRef: { name, key: 'token' } })

/** An MCPExternalAuthConfig that signs requests with an AWS role. */
export const stsConfig = (name: string): Other =>
  configWith(name, 'awsSts', {
    region: 'eu-central-1',
    fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
  })

/** An MCPExternalAuthConfig that signs requests with AWS roles chosen by mappings. */
export const mappedConfig = (name: string, awsSts: object): Other =>
  configWith(name, 'awsSts', { region: 'eu-central-1', ...awsSts })

/** An embedded authorization server with the provider GitHub, whose tokens are opaque, and then the given providers. */
export const githubServer = (...others: readonly string[]) => ({
  ...authServer(),
  upstreamProviders: [
    {
      name: 'github',
      type: 'oauth2' as const,
      oauth2Config: {
        authorizationEndpoint: 'https://github.com/login/oauth/authorize',
        tokenEndpoint: 'https://github.com/login/oauth/access_token',
        clientId: 'vmcp',
        userInfo: { endpointUrl: 'https://api.github.com/user' },
      },
    },
    ...authServer(...others).upstreamProviders,
  ],
})

/** An embedded authorization server with the provider Google, whose tokens are opaque. */
export const googleServer = () => ({
  ...authServer(),
  upstreamProviders: [
    {
      name: 'google',
      type: 'oidc' as const,
      oidcConfig: { issuerUrl: 'https://accounts.google.com', clientId: 'vmcp' },
    },
  ],
})

/** An MCPExternalAuthConfig with an embedded authorization server that has these upstream providers. */
export const serverConfig = (name: string, ...providers: readonly string[]): Other =>
  configWith(name, 'embeddedAuthServer', authServer(...providers))

/** An embedded authorization server with these upstream providers. */
export const authServer = (...providers: readonly string[]) => ({
  issuer: 'https://auth.example.com',
  signingKeySecretRefs: [{ name: 'auth', key: 'signing-key' }],
  hmacSecretRefs: [{ name: 'auth', key: 'hmac' }],
  upstreamProviders: providers.map((name) => ({
    name,
    type: 'oidc' as const,
    oidcConfig: {
      issuerUrl: `https://${name}.example.com`,
      clientId: 'vmcp',
      redirectUri: 'https://auth.example.com/oauth/callback',
    },
  })),
})

/** An MCPOIDCConfig of type `inline`. */
export const oidcConfig = (name: string, issuer = 'https://auth.example.com'): Other =>
  otherOf('MCPOIDCConfig', name, { type: 'inline', inline: { issuer } })

/** A Cedar policy that permits everything; GROUPS_POLICY requires a claim of the upstream provider. */
export const PERMIT = 'permit(principal, action, resource);'
export const GROUPS_POLICY =
  'permit(principal, action, resource) when { principal has claim_groups && principal.claim_groups.contains("staff") };'

/** The ConfigMap `policies` with these Cedar policies; `more` has further settings. */
export const policiesMap = (policies: readonly string[], more: object = {}): Other =>
  ({
    kind: 'ConfigMap',
    metadata: { name: 'policies' },
    data: {
      'authz.json': JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies, ...more } }),
    },
  }) as unknown as Other

/** An authzConfig that names the ConfigMap `policies`. */
export const WITH_POLICIES_MAP = { type: 'configMap' as const, configMap: { name: 'policies' } }

/** The MCPAuthzConfig `staff` with these Cedar policies; `more` has further settings. */
export const policiesConfig = (policies: readonly string[], more: object = {}, type = 'cedarv1'): Other =>
  otherOf('MCPAuthzConfig', 'staff', { type, config: { policies, ...more } })

/** The `value` and `part` of an example: an `authzConfigRef` to the MCPAuthzConfig `staff`. */
export const WITH_POLICIES_CONFIG = { value: { name: 'staff' }, part: 'authzConfigRef' } as const

/** An inline authzConfig with these Cedar policies. */
export const policiesInline = (...policies: readonly string[]) => ({
  type: 'inline' as const,
  inline: { policies },
})

/** Incoming OIDC authentication with Cedar policies: only PERMIT, unless `inline` has other policies. */
export const withPolicies = (
  inline: {
    readonly policies?: string[]
    readonly primaryUpstreamProvider?: string
  } = {},
) => ({
  type: 'oidc' as const,
  oidcConfigRef: { name: 'corporate', audience: URL_OF_CLIENTS, resourceUrl: URL_OF_CLIENTS },
  authzConfig: { type: 'inline' as const, inline: { policies: [PERMIT], ...inline } },
})

type GatewaySpec = NonNullable<Gateway['spec']>

/** A VirtualMCPServer in the group `tools`; the settings replace fields of its spec or add fields. */
export const gatewayOf = (settings: GatewaySpec = {}): Gateway => ({
  spec: {
    groupRef: { name: 'tools' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: { name: 'corporate', audience: URL_OF_CLIENTS, resourceUrl: URL_OF_CLIENTS },
    },
    ...settings,
  },
})

/** A VirtualMCPServer in the group `tools`, as `gatewayOf` makes it, with a name. */
export const gateway = (name: string, settings: GatewaySpec = {}): Other =>
  otherOf('VirtualMCPServer', name, gatewayOf(settings).spec)

/** Outgoing authentication with source `inline`: an MCPExternalAuthConfig for each backend, and perhaps a default. */
export const inline = (configs: Readonly<Record<string, string>>, fallback?: string) => ({
  source: 'inline' as const,
  backends: Object.fromEntries(
    Object.entries(configs).map(([name, config]) => [
      name,
      { type: 'externalAuthConfigRef' as const, externalAuthConfigRef: { name: config } },
    ]),
  ),
  ...(fallback !== undefined && { default: { externalAuthConfigRef: { name: fallback } } }),
})
