import { advice, defineRule, end, type Path, relatedTo } from '../../rule/index.ts'
import {
  acceptsAssertions,
  grantsWithoutLogin,
  type Server,
} from '../../kinds/embedded-auth-server/effective.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  ASSERTION_CLAIMS,
  AUTH_CONFIG,
  authorizationOf,
  authServer,
  authServersOf,
  chosenProvider,
  claimsText,
  denyingClaims,
  foreignClaims,
  GATEWAY,
  type Gateway,
  gatewayOf,
  GROUPS_POLICY,
  opaqueIssuer,
  OWN_CLAIMS,
  PERMIT,
  providerOfClaims,
  serving,
  withPolicies,
} from '../index.ts'

const GOOGLE = {
  ...authServer(),
  upstreamProviders: [
    {
      name: 'google',
      type: 'oidc' as const,
      oidcConfig: { issuerUrl: 'https://accounts.google.com', clientId: 'vmcp' },
    },
  ],
}
const DELEGATES = [
  {
    clientId: 'agent',
    clientSecretRef: { name: 'agent', key: 'secret' },
    scopes: ['openid'],
    audiences: ['https://mcp.example.com'],
  },
]

const ASSERTIONS = [
  {
    name: 'ci',
    issuerUrl: 'https://ci.example.com',
    jwtBearerGrant: {
      maxAssertionAge: '5m',
      subjectBindings: [{ subject: 'job', allowedResources: ['https://mcp.example.com'] }],
    },
  },
]
const EMAIL_POLICY =
  'permit(principal, action, resource) when { principal.claim_email like "*@example.com" };'
const OF_THE_JOB = 'permit(principal == Client::"https://ci.example.com#job", action, resource);'
const withJobs = (...policies: string[]) =>
  gatewayOf({
    authServerConfig: { ...authServer('okta'), trustedIssuers: ASSERTIONS },
    incomingAuth: withPolicies({ policies }),
  })

export const authorizationClaimsAvailable = defineRule({
  id: 'authorization-claims-available',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'Policies beside an embedded authorization server name claims that the token of the caller can have.',
  why: 'Policies see the access token of the upstream provider. Where that is no JWT (Google, GitHub), and for clients that came without a login, they see the token of the embedded server, which has sub, name and email at most, for an assertion (RFC 7523) neither name nor email: a permit that asks for another claim never holds, and where a policy reads it without `has` the request is denied whatever the others permit.',
  failure: {
    symptom:
      'tools/list is empty and every tool is denied; up to release 0.46 for every delegated client: `upstream token for provider … not found in identity`',
    toldBy: 'nobody',
    threads: [
      'stacklok/toolhive#5146',
      'stacklok/toolhive#6424',
      'stacklok/toolhive#5916',
      'stacklok/toolhive#6506',
    ],
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    const { holder, path } = authorizationOf(resource) ?? {}
    const authzConfig = holder?.authzConfig
    if (authzConfig?.inline === undefined || path === undefined) return
    const isGateway = self.kind === 'VirtualMCPServer'
    const named = isGateway ? undefined : authServersOf(self.kind, resource, cluster)[0]
    const server: Server | undefined = isGateway
      ? (resource as Gateway).spec?.authServerConfig
      : named?.server
    if (server === undefined) return
    const at = path.authzConfig.inline.policies
    const subject = (claims: readonly string[]) => `they name the claim ${claimsText(claims)}`
    const place = named === undefined ? GATEWAY.spec.authServerConfig : AUTH_CONFIG.spec.embeddedAuthServer
    const ends = (path: Path<unknown>, text: string) => [end(named?.to ?? self, path, text)]

    const provider = providerOfClaims(server, isGateway ? chosenProvider(resource as Gateway) : undefined)
    const issuer = provider && opaqueIssuer(provider)
    const foreign = foreignClaims(authzConfig, OWN_CLAIMS)
    if (issuer !== undefined && foreign.length > 0) {
      yield relatedTo(
        advice(
          at,
          `${subject(foreign)}, and access tokens of ${issuer} are opaque: policies see sub, name and email only`,
        ),
        ends(
          place.upstreamProviders.at(server.upstreamProviders?.indexOf(provider) ?? 0),
          `the tokens of ${issuer} come from here`,
        ),
      )
      return
    }
    const ofDelegates = grantsWithoutLogin(server) ? denyingClaims(authzConfig, OWN_CLAIMS) : []
    if (ofDelegates.length > 0)
      yield relatedTo(
        advice(
          at,
          `${subject(ofDelegates)}, which clients without a login lack: they are denied (up to release 0.46 whatever the policies say)`,
        ),
        ends(place, 'lets clients in without a login'),
      )
    const ofAssertions = acceptsAssertions(server) ? denyingClaims(authzConfig, ASSERTION_CLAIMS) : []
    if (ofDelegates.length === 0 && ofAssertions.length > 0)
      yield relatedTo(
        advice(
          at,
          `${subject(ofAssertions)}, which tokens for assertions (RFC 7523) lack: their clients are denied (up to release 0.46 whatever the policies say)`,
        ),
        ends(place, 'accepts assertions'),
      )
  },
  examples: {
    valid: [
      {
        title: 'claims of a provider that issues JWTs',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          authServerConfig: authServer('okta'),
          incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
        }),
      },
      {
        title: 'the email address of a user of Google',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          authServerConfig: GOOGLE,
          incomingAuth: withPolicies({
            policies: [EMAIL_POLICY],
          }),
        }),
      },
      {
        title: 'the groups of users, and a policy for the job that has none',
        kind: 'VirtualMCPServer',
        value: withJobs(GROUPS_POLICY, OF_THE_JOB),
      },
      {
        title: 'users by email address or the job by its subject',
        kind: 'VirtualMCPServer',
        value: withJobs(
          'permit(principal, action, resource) when { principal.claim_sub == "https://ci.example.com#job" || principal.claim_email == "ann@example.com" };',
        ),
      },
      {
        title: 'no embedded server: policies see the token of the caller',
        kind: 'MCPServer',
        value: { spec: { authzConfig: { type: 'inline', inline: { policies: [GROUPS_POLICY] } } } },
      },
      {
        title: 'no policies of its own',
        kind: 'MCPRemoteProxy',
        value: serving({}),
      },
    ],
    invalid: [
      {
        title: 'groups of Google',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          authServerConfig: GOOGLE,
          incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
        }),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "groups", and access tokens of Google are opaque: policies see sub, name and email only',
        ],
      },
      {
        title: 'groups of a delegated client',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          authServerConfig: { ...authServer('okta'), delegateClients: DELEGATES },
          incomingAuth: withPolicies({
            policies: ['permit(principal in THVGroup::"staff", action, resource);'],
          }),
        }),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "groups", which clients without a login lack: they are denied (up to release 0.46 whatever the policies say)',
        ],
      },
      {
        title: 'the email address of a job',
        kind: 'VirtualMCPServer',
        value: withJobs(EMAIL_POLICY),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "email", which tokens for assertions (RFC 7523) lack: their clients are denied (up to release 0.46 whatever the policies say)',
        ],
      },
      {
        title: 'a policy for the job, beside one for everything that fails where there is no email address',
        kind: 'VirtualMCPServer',
        value: withJobs(EMAIL_POLICY, OF_THE_JOB),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "email", which tokens for assertions (RFC 7523) lack: their clients are denied (up to release 0.46 whatever the policies say)',
        ],
      },
      {
        title: 'everybody without a verified address is forbidden everything',
        kind: 'VirtualMCPServer',
        value: withJobs(
          PERMIT,
          'forbid(principal, action, resource) unless { principal has claim_email && principal.claim_email like "*@example.com" };',
        ),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "email", which tokens for assertions (RFC 7523) lack: their clients are denied (up to release 0.46 whatever the policies say)',
        ],
      },
      {
        title: 'groups where all callers come with assertions',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          authServerConfig: { issuer: 'https://auth.example.com', trustedIssuers: ASSERTIONS },
          incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
        }),
        findings: [
          'spec.incomingAuth.authzConfig.inline.policies: they name the claim "groups", which clients without a login lack: they are denied (up to release 0.46 whatever the policies say)',
        ],
      },
      {
        title: 'groups of GitHub, in a workload',
        kind: 'MCPServer',
        value: {
          spec: {
            ...serving({}).spec,
            authzConfig: { type: 'inline', inline: { policies: [GROUPS_POLICY] } },
          },
        },
        others: [
          {
            kind: 'MCPExternalAuthConfig',
            metadata: { name: 'auth' },
            spec: {
              type: 'embeddedAuthServer',
              embeddedAuthServer: {
                ...authServer(),
                upstreamProviders: [
                  {
                    name: 'github',
                    type: 'oauth2',
                    oauth2Config: {
                      authorizationEndpoint: 'https://github.com/login/oauth/authorize',
                      tokenEndpoint: 'https://github.com/login/oauth/access_token',
                      clientId: 'vmcp',
                      userInfo: { endpointUrl: 'https://api.github.com/user' },
                    },
                  },
                ],
              },
            },
          },
        ],
        findings: [
          'spec.authzConfig.inline.policies: they name the claim "groups", and access tokens of GitHub are opaque: policies see sub, name and email only',
        ],
      },
      {
        title: 'a claim in brackets, in a proxy',
        kind: 'MCPRemoteProxy',
        value: {
          spec: {
            ...serving({}).spec,
            authzConfig: {
              type: 'inline',
              inline: {
                policies: [
                  'permit(principal, action, resource) when { principal["claim_https://example.com/team"] == "a" };',
                ],
              },
            },
          },
        },
        others: [
          {
            kind: 'MCPExternalAuthConfig',
            metadata: { name: 'auth' },
            spec: { type: 'embeddedAuthServer', embeddedAuthServer: GOOGLE },
          },
        ],
        findings: [
          'spec.authzConfig.inline.policies: they name the claim "https://example.com/team", and access tokens of Google are opaque: policies see sub, name and email only',
        ],
      },
    ],
  },
})
