/** The manifests that `init` writes, as plain templates, so that each can be read like the resulting file. */

import { flow } from '../../fix/flow.ts'

/** The identity providers where users can log in. */
export const PROVIDERS = ['okta', 'entra', 'github', 'keycloak'] as const
/** The ways in which the gateway gets credentials for a backend. */
export const BACKENDS = ['exchange', 'header', 'aws', 'inject'] as const

type Provider = (typeof PROVIDERS)[number]
type Backend = (typeof BACKENDS)[number]

export interface InitSetup {
  readonly apiVersion: string
  /** The operator release, such as 0.63. */
  readonly release: string
  readonly gateway: string
  readonly group: string
  /** `https://HOST`, the address of the gateway for clients. */
  readonly url: string
  readonly provider: Provider
  readonly backends: readonly Backend[]
}

/** Why a provider cannot be combined with a backend, and what to choose instead; undefined when it can. */
export function problemWith({
  provider,
  backends,
}: Pick<InitSetup, 'provider' | 'backends'>): string | undefined {
  return provider === 'github' && backends.includes('aws')
    ? 'the access tokens of GitHub are no JWTs, which AWS STS asks for: choose okta, entra or keycloak with aws, or exchange, header or inject with github'
    : undefined
}

const oidcProvider = (name: Provider, advice: string, issuer: string) => `\
      - name: ${name}
        type: oidc
        oidcConfig:
          # ${advice}
          issuerUrl: ${issuer}
          clientId: vmcp
          clientSecretRef:
            name: ${name}-client
            key: client-secret
`

const PROVIDER_TEXTS: Readonly<Record<Provider, string>> = {
  okta: oidcProvider(
    'okta',
    'Your Okta domain and authorization server, as its metadata has the issuer.',
    'https://example.okta.com/oauth2/default',
  ),
  entra: oidcProvider(
    'entra',
    'The id of your tenant stands in the issuer.',
    'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0',
  ),
  keycloak: oidcProvider(
    'keycloak',
    'Your Keycloak, and the realm of your users.',
    'https://keycloak.example.com/realms/company',
  ),
  github: `\
      # GitHub is no OpenID provider: its endpoints are named, and its API says who the user is.
      - name: github
        type: oauth2
        oauth2Config:
          authorizationEndpoint: https://github.com/login/oauth/authorize
          tokenEndpoint: https://github.com/login/oauth/access_token
          # Of the OAuth app or GitHub App that you register.
          clientId: Iv1.0123456789abcdef
          clientSecretRef:
            name: github-client
            key: client-secret
          scopes:
            - read:user
          userInfo:
            endpointUrl: https://api.github.com/user
            additionalHeaders:
              Accept: application/vnd.github+json
            fieldMapping:
              subjectFields:
                - id
              nameFields:
                - name
                - login
`,
}

/** The manifests of the group, the incoming authentication and the gateway. */
export const gatewayText = ({ apiVersion, release, gateway, group, url, provider }: InitSetup): string => `\
# VirtualMCPServer ${gateway}: users log in at ${provider}, and get a token that the gateway issues. Change the names under
# example.com. For release ${release} of the operator.
#
# Secrets that it needs, in its namespace; register ${url}/oauth/callback with the provider:
#   openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out signing-key.pem
#   kubectl create secret generic ${gateway}-auth --from-file=signing-key=signing-key.pem --from-literal=hmac="$(openssl rand -hex 32)"
#   kubectl create secret generic ${provider}-client --from-literal=client-secret=...
#   kubectl create secret generic ${gateway}-redis --from-literal=username=... --from-literal=password=...
apiVersion: ${apiVersion}
kind: MCPGroup
metadata:
  name: ${flow(group)}
---
# Which tokens the gateway takes: those that it issues itself, so this issuer is authServerConfig.issuer.
apiVersion: ${apiVersion}
kind: MCPOIDCConfig
metadata:
  name: ${gateway}-tokens
spec:
  type: inline
  inline:
    issuer: ${url}
---
apiVersion: ${apiVersion}
kind: VirtualMCPServer
metadata:
  name: ${flow(gateway)}
spec:
  groupRef:
    name: ${flow(group)}
  incomingAuth:
    type: oidc
    oidcConfigRef:
      name: ${gateway}-tokens
      audience: ${url}
      resourceUrl: ${url}
  authServerConfig:
    issuer: ${url}
    # Without these two every restart makes new keys, and everybody logs in again.
    signingKeySecretRefs:
      - name: ${gateway}-auth
        key: signing-key
    hmacSecretRefs:
      - name: ${gateway}-auth
        key: hmac
    # The tokens of users, in Redis behind Sentinel. For a first trial leave storage out: they are kept in memory then.
    storage:
      type: redis
      redis:
        aclUserConfig:
          usernameSecretRef:
            name: ${gateway}-redis
            key: username
          passwordSecretRef:
            name: ${gateway}-redis
            key: password
        sentinelConfig:
          masterName: mymaster
          sentinelService:
            name: redis-sentinel
        # Present, even empty, they turn TLS on.
        sentinelTls: {}
        tls: {}
    upstreamProviders:
${PROVIDER_TEXTS[provider]}`

/** The spec of an MCPExternalAuthConfig for a backend, and the YAML comment above it. */
interface Strategy {
  readonly comment: string
  readonly spec: string
}

const STRATEGIES: Readonly<Record<Backend, (setup: InitSetup, name: string) => Strategy>> = {
  exchange: ({ provider }, name) => ({
    comment: `\
# The token of the user is exchanged for one of the backend (RFC 8693), at an authorization server that trusts ${provider}.
# kubectl create secret generic ${name} --from-literal=client-secret=...
`,
    spec: `\
  type: tokenExchange
  tokenExchange:
    tokenUrl: https://tokens.example.com/oauth2/token
    audience: https://exchange.example.com
    clientId: vmcp
    clientSecretRef:
      name: ${name}
      key: client-secret
    subjectProviderName: ${provider}
`,
  }),
  header: (_, name) => ({
    comment: `\
# The same key for everybody, in a header.
# kubectl create secret generic ${name} --from-literal=api-key=...
`,
    spec: `\
  type: headerInjection
  headerInjection:
    headerName: X-Api-Key
    valueSecretRef:
      name: ${name}
      key: api-key
`,
  }),
  aws: ({ provider }) => ({
    comment: `\
# Requests are signed with a role of AWS, which the claims of the user choose. IAM needs ${provider} as an OIDC provider.
`,
    spec: `\
  type: awsSts
  awsSts:
    region: eu-central-1
    subjectProviderName: ${provider}
    # Whom no mapping matches.
    fallbackRoleArn: arn:aws:iam::123456789012:role/mcp-reader
    roleMappings:
      # Tokens of the gateway have sub, name and email, and no groups.
      - roleArn: arn:aws:iam::123456789012:role/mcp-writer
        matcher: claims.email == "admin@example.com"
        priority: 10
`,
  }),
  inject: ({ provider }) => ({
    comment: `\
# The backend is sent the token that ${provider} issued to the user.
`,
    spec: `\
  type: upstreamInject
  upstreamInject:
    providerName: ${provider}
`,
  }),
}

const backendText = (setup: InitSetup, backend: Backend): string => {
  const { apiVersion, gateway, group } = setup
  const name = `${gateway}-${backend}`
  const { comment, spec } = STRATEGIES[backend](setup, name)
  return `\
${comment}apiVersion: ${apiVersion}
kind: MCPExternalAuthConfig
metadata:
  name: ${name}
spec:
${spec}---
apiVersion: ${apiVersion}
kind: MCPServerEntry
metadata:
  name: ${name}
spec:
  remoteUrl: https://${backend}.example.com/mcp
  transport: streamable-http
  groupRef:
    name: ${flow(group)}
  externalAuthConfigRef:
    name: ${name}
`
}

/** The manifests of the backends, each with its credentials. */
export const backendsText = (setup: InitSetup): string =>
  setup.backends.map((backend) => backendText(setup, backend)).join('---\n')
