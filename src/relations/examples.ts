import type { Other } from '../rule/index.ts'
import type { Gateway, Workload } from './related-resources.ts'

/** The other objects of examples; each is valid and realistic. */

/** An MCPGroup. */
export const group = (name = 'tools'): Other => ({ kind: 'MCPGroup', metadata: { name }, spec: {} })

/** A workload of the group `tools` that uses the configuration, if any. */
export const backend = (name: string, config?: string, kind = 'MCPServer'): Other => ({
  kind,
  metadata: { name },
  spec: {
    groupRef: { name: 'tools' },
    ...(config !== undefined && { externalAuthConfigRef: { name: config } }),
  },
})

/** A workload of the group that checks the tokens of its callers. */
export const checking = (name: string, config?: string): Other => ({
  ...backend(name, config),
  spec: {
    ...(backend(name, config).spec as object),
    oidcConfigRef: { name: 'corporate', audience: name },
  },
})

/** A workload, in a group or alone. */
export const workload = (config: string, groupName?: string): Workload => ({
  spec: {
    ...(groupName !== undefined && { groupRef: { name: groupName } }),
    externalAuthConfigRef: { name: config },
  },
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

/** A proxy with the embedded authorization server `auth` that signs its requests with roles of the configuration `aws`. */
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

const authConfig = (name: string, type: string, settings: unknown): Other => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec: { type, ...(settings !== undefined && { [type]: settings }) },
})

/** A configuration that sends the upstream token of the provider. */
export const injectConfig = (name: string, providerName: string): Other =>
  authConfig(name, 'upstreamInject', { providerName })

/** A token exchange, with a subject provider or without. */
export const exchangeConfig = (name: string, subjectProviderName?: string): Other =>
  authConfig(name, 'tokenExchange', {
    tokenUrl: 'https://idp.example.com/token',
    audience: name,
    ...(subjectProviderName !== undefined && { subjectProviderName }),
  })

/** A token exchange that sends the token in the header. */
export const exchangeConfigIn = (name: string, externalTokenHeaderName: string): Other =>
  authConfig(name, 'tokenExchange', {
    tokenUrl: 'https://idp.example.com/token',
    audience: name,
    externalTokenHeaderName,
  })

/** A token exchange of which /mutate wrote the subject provider. */
export const exchangeConfigWritten = (name: string, provider: string): Other => ({
  ...exchangeConfig(name, provider),
  metadata: { name, annotations: { 'toolhive.stacklok.dev/subject-provider-written': provider } },
})

/** A configuration that sends an API key in a header. */
export const headerConfig = (name: string): Other =>
  authConfig(name, 'headerInjection', {
    headerName: 'X-Api-Key',
    valueSecretRef: { name, key: 'api-key' },
  })

/** A configuration that sends a bearer token. */
export const bearerConfig = (name: string): Other =>
  authConfig(name, 'bearerToken', { tokenSecretRef: { name, key: 'token' } })

/** A configuration that signs requests with a role of AWS. */
export const stsConfig = (name: string): Other =>
  authConfig(name, 'awsSts', {
    region: 'eu-central-1',
    fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
  })

/** A configuration that signs requests with roles that the mappings choose. */
export const mappedConfig = (name: string, awsSts: object): Other =>
  authConfig(name, 'awsSts', { region: 'eu-central-1', ...awsSts })

/** An embedded authorization server with a login at GitHub, whose tokens are opaque, and then at these providers. */
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

/** A configuration with an embedded authorization server with these upstream providers. */
export const serverConfig = (name: string, ...providers: readonly string[]): Other =>
  authConfig(name, 'embeddedAuthServer', authServer(...providers))

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

/** An inline MCPOIDCConfig. */
export const oidcConfig = (name: string, issuer = 'https://auth.example.com'): Other => ({
  kind: 'MCPOIDCConfig',
  metadata: { name },
  spec: { type: 'inline', inline: { issuer } },
})

/** A policy that allows everything, and one that asks for a claim of the upstream provider. */
export const PERMIT = 'permit(principal, action, resource);'
export const GROUPS_POLICY =
  'permit(principal, action, resource) when { principal has claim_groups && principal.claim_groups.contains("staff") };'

/** A ConfigMap `policies` with policies, and further settings of them. */
export const policiesMap = (policies: readonly string[], more: object = {}): Other =>
  ({
    kind: 'ConfigMap',
    metadata: { name: 'policies' },
    data: {
      'authz.json': JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies, ...more } }),
    },
  }) as unknown as Other

/** The policies of the ConfigMap `policies`. */
export const WITH_POLICIES_MAP = { type: 'configMap' as const, configMap: { name: 'policies' } }

/** An MCPAuthzConfig with policies. */
export const policiesConfig = (policies: readonly string[], more: object = {}, type = 'cedarv1'): Other => ({
  kind: 'MCPAuthzConfig',
  metadata: { name: 'staff' },
  spec: { type, config: { policies, ...more } },
})

/** The policies of the MCPAuthzConfig `staff`, as the value of `authzConfigRef`. */
export const WITH_POLICIES_CONFIG = { value: { name: 'staff' }, part: 'authzConfigRef' } as const

/** Policies as they are. */
export const policiesInline = (...policies: readonly string[]) => ({
  type: 'inline' as const,
  inline: { policies },
})

/** Incoming authentication of clients, with policies. */
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

/** A VirtualMCPServer of the group `tools` with these settings instead or beside. */
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

/** A VirtualMCPServer as `gatewayOf`, with a name. */
export const gateway = (name: string, settings: GatewaySpec = {}): Other => ({
  kind: 'VirtualMCPServer',
  metadata: { name },
  spec: gatewayOf(settings).spec,
})

/** Outgoing authentication with one strategy for each backend. */
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
