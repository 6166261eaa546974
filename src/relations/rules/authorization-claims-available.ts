import { advice, type Cluster, defineRule, end, isAbsent, type Path, relatedTo } from '../../rule/index.ts'
import {
  acceptsAssertions,
  grantsWithoutLogin,
  type Server,
} from '../../kinds/embedded-auth-server/effective.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  ANONYMOUS,
  ASSERTION_CLAIMS,
  AUTH_CONFIG,
  type Authorization,
  authorizationOf,
  authServer,
  authServersOf,
  chosenProvider,
  claimsText,
  configsOf,
  configWith,
  deniedBy,
  foreignClaims,
  GATEWAY,
  type Gateway,
  gatewayOf,
  githubServer,
  googleServer,
  grouplessProvider,
  GROUPS_POLICY,
  havingOnly,
  lackingGroups,
  opaqueIssuer,
  OWN_CLAIMS,
  PERMIT,
  policiesConfig,
  policiesInline,
  policyListOf,
  providerOfClaims,
  serving,
  withPolicies,
  type Workload,
} from '../index.ts'

const ofUpstream = (issuerUrl: string, scopes?: string[]) => ({
  ...authServer(),
  upstreamProviders: [
    {
      name: 'corporate',
      type: 'oidc' as const,
      oidcConfig: { issuerUrl, clientId: 'vmcp', ...(scopes && { scopes }) },
    },
  ],
})
const CHECKED = {
  name: 'corporate',
  audience: 'https://auth.example.com/mcp',
  resourceUrl: 'https://auth.example.com/mcp',
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
  reads: ['MCPExternalAuthConfig', 'ConfigMap', 'MCPAuthzConfig'],
  severity: 'warning',
  summary:
    'Policies name claims that callers can have: of the token of the upstream provider or of the embedded authorization server, or without a login.',
  why: 'Beside an embedded authorization server policies see the access token of the upstream provider, to which its ID token adds name and email alone: that of the org server of Okta, and of Entra without a scope of an app of your own, has no groups or roles (read in release 0.44). Where that is no JWT (Google, GitHub), and for clients that came without a login, they see the token of the embedded server, which has sub, name and email at most, for an assertion (RFC 7523) neither name nor email: a permit that asks for another claim never holds, and where a policy reads it without `has` the request is denied whatever the others permit. Without OIDC every caller is one subject with a name, an email address and no groups.',
  failure: {
    symptom:
      'tools/list is empty and every tool is denied; up to release 0.46 for every delegated client: `upstream token for provider … not found in identity`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: [
      'stacklok/toolhive#5146',
      'stacklok/toolhive#6424',
      'stacklok/toolhive#5916',
      'stacklok/toolhive#6506',
    ],
  },
  sources: ['decision 3'],
  *check(resource, context) {
    const { cluster, self, budget } = context
    const { holder, path } = authorizationOf(self.kind, resource) ?? {}
    if (holder === undefined || path === undefined) return
    const { authzConfig, authzConfigRef: reference } = holder
    const given = authzConfig ?? reference
    const of = authzConfig === undefined ? 'authzConfigRef' : 'authzConfig'
    const list = given && policyListOf(given, { ...context, path: path[of] })
    if (list === undefined) return
    const isGateway = self.kind === 'VirtualMCPServer'
    const at = placeOfPolicies(path, list.source?.name.kind)
    const needed = (claims: readonly string[]) =>
      claims.length === 0
        ? 'the policies name other callers'
        : `the policies need the claim ${claimsText(claims)}`
    if (isGateway ? isAnonymous(resource as Gateway) : isOpen(self.kind, resource, cluster)) {
      const denied = deniedBy(list, isGateway ? { ...ANONYMOUS, subject: 'anonymous' } : ANONYMOUS, budget)
      if (denied?.isWhole === true)
        yield advice(
          at,
          `${needed(denied.claims)}, and without OIDC ${isGateway ? 'every caller is Client::"anonymous"' : 'no caller has a token'}: every request is denied`,
        )
      return
    }
    const named = isGateway ? undefined : authServersOf(self.kind, resource, cluster)[0]
    const server: Server | undefined = isGateway
      ? (resource as Gateway).spec?.authServerConfig
      : named?.server
    if (server === undefined) return
    const subject = (claims: readonly string[]) => `the policies name the claim ${claimsText(claims)}`
    const place = named === undefined ? GATEWAY.spec.authServerConfig : AUTH_CONFIG.spec.embeddedAuthServer
    const ends = (path: Path<unknown>, text: string) => [end(named?.to ?? self, path, text)]

    const own = havingOnly(OWN_CLAIMS)
    const provider = providerOfClaims(server, isGateway ? chosenProvider(resource as Gateway) : undefined)
    const issuer = provider && opaqueIssuer(provider)
    const foreign = foreignClaims(list, own)
    const providerPath = place.upstreamProviders.at(
      provider ? (server.upstreamProviders?.indexOf(provider) ?? 0) : 0,
    )
    if (issuer !== undefined && foreign.length > 0) {
      yield relatedTo(
        advice(
          at,
          `${subject(foreign)}, and access tokens of ${issuer} are opaque: policies see sub, name and email only`,
        ),
        ends(providerPath, `the tokens of ${issuer} come from here`),
      )
      return
    }
    const groupless = provider && grouplessProvider(provider)
    const ofUsers = groupless && deniedBy(list, lackingGroups(list), budget)
    if (groupless !== undefined && ofUsers !== undefined && ofUsers.claims.length > 0) {
      const effect = ofUsers.isWhole ? 'every request is denied' : 'policies that need it never hold'
      yield relatedTo(
        advice(at, `${needed(ofUsers.claims)}, which ${groupless.lacks}: ${effect}; ${groupless.remedy}`),
        ends(providerPath, 'the tokens come from here'),
      )
      return
    }
    const ofDelegates = grantsWithoutLogin(server) ? denied(deniedBy(list, own, budget)) : []
    if (ofDelegates.length > 0)
      yield relatedTo(
        advice(
          at,
          `${needed(ofDelegates)}, which clients without a login lack, so these clients are denied; permit them without it (up to 0.46 they are always denied)`,
        ),
        ends(place, 'lets clients in without a login'),
      )
    const ofAssertions = acceptsAssertions(server)
      ? denied(deniedBy(list, havingOnly(ASSERTION_CLAIMS), budget))
      : []
    if (ofDelegates.length === 0 && ofAssertions.length > 0)
      yield relatedTo(
        advice(
          at,
          `${needed(ofAssertions)}, which tokens for assertions (RFC 7523) lack, so their clients are denied; permit them without it (up to 0.46 they are always denied)`,
        ),
        ends(place, 'accepts assertions'),
      )
  },
  examples: {
    'claims of a provider that issues JWTs': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: authServer('okta'),
        incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
      }),
    },
    'the email address of a user of Google': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: googleServer(),
        incomingAuth: withPolicies({
          policies: [EMAIL_POLICY],
        }),
      }),
    },
    'the groups of users, and a policy for the job that has none': {
      kind: 'VirtualMCPServer',
      value: withJobs(GROUPS_POLICY, OF_THE_JOB),
    },
    'users by email address or the job by its subject': {
      kind: 'VirtualMCPServer',
      value: withJobs(
        'permit(principal, action, resource) when { principal.claim_sub == "https://ci.example.com#job" || principal.claim_email == "ann@example.com" };',
      ),
    },
    'no embedded server: policies see the token of the caller': {
      kind: 'MCPServer',
      value: {
        spec: {
          oidcConfigRef: { name: 'corporate', audience: 'tools' },
          authzConfig: policiesInline(GROUPS_POLICY),
        },
      },
    },
    'no login, and policies that need none': {
      kind: 'MCPServer',
      value: {
        spec: { authzConfig: policiesInline(PERMIT, GROUPS_POLICY) },
      },
    },
    'groups of an authorization server of Okta': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: ofUpstream('https://example.okta.com/oauth2/default'),
        incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
      }),
    },
    'groups of Entra with a scope of an app': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: ofUpstream('https://login.microsoftonline.com/6a0c5b1e/v2.0', [
          'openid',
          'api://2d4d11a2/access',
        ]),
        incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
      }),
    },
    'no policies of its own': { kind: 'MCPRemoteProxy', value: serving({}) },
    'groups that the org server of Okta does not give, in an MCPAuthzConfig': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: ofUpstream('https://example.okta.com'),
        incomingAuth: { type: 'oidc', oidcConfigRef: CHECKED, authzConfigRef: { name: 'staff' } },
      }),
      others: [policiesConfig([GROUPS_POLICY])],
      findings:
        'spec.incomingAuth.authzConfigRef.name: the policies need the claim "groups", which tokens of Okta\'s org server lack: every request is denied; use an issuer such as https://…/oauth2/default',
    },
    'groups of Google': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: googleServer(),
        incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies name the claim "groups", and access tokens of Google are opaque: policies see sub, name and email only',
    },
    'groups of a delegated client': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: { ...authServer('okta'), delegateClients: DELEGATES },
        incomingAuth: withPolicies({
          policies: ['permit(principal in THVGroup::"staff", action, resource);'],
        }),
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "groups", which clients without a login lack, so these clients are denied; permit them without it (up to 0.46 they are always denied)',
    },
    'the email address of a job': {
      kind: 'VirtualMCPServer',
      value: withJobs(EMAIL_POLICY),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "email", which tokens for assertions (RFC 7523) lack, so their clients are denied; permit them without it (up to 0.46 they are always denied)',
    },
    'a policy for the job, beside one for everything that fails where there is no email address': {
      kind: 'VirtualMCPServer',
      value: withJobs(EMAIL_POLICY, OF_THE_JOB),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "email", which tokens for assertions (RFC 7523) lack, so their clients are denied; permit them without it (up to 0.46 they are always denied)',
    },
    'everybody without a verified address is forbidden everything': {
      kind: 'VirtualMCPServer',
      value: withJobs(
        PERMIT,
        'forbid(principal, action, resource) unless { principal has claim_email && principal.claim_email like "*@example.com" };',
      ),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "email", which tokens for assertions (RFC 7523) lack, so their clients are denied; permit them without it (up to 0.46 they are always denied)',
    },
    'groups where all callers come with assertions': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: { issuer: 'https://auth.example.com', trustedIssuers: ASSERTIONS },
        incomingAuth: withPolicies({ policies: [GROUPS_POLICY] }),
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "groups", which clients without a login lack, so these clients are denied; permit them without it (up to 0.46 they are always denied)',
    },
    'groups of GitHub, in a workload': {
      kind: 'MCPServer',
      value: {
        spec: {
          ...serving({}).spec,
          authzConfig: policiesInline(GROUPS_POLICY),
        },
      },
      others: [configWith('auth', 'embeddedAuthServer', githubServer())],
      findings:
        'spec.authzConfig.inline.policies: the policies name the claim "groups", and access tokens of GitHub are opaque: policies see sub, name and email only',
    },
    'a claim in brackets, in a proxy': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          ...serving({}).spec,
          authzConfig: policiesInline(
            'permit(principal, action, resource) when { principal["claim_https://example.com/team"] == "a" };',
          ),
        },
      },
      others: [configWith('auth', 'embeddedAuthServer', googleServer())],
      findings:
        'spec.authzConfig.inline.policies: the policies name the claim "https://example.com/team", and access tokens of Google are opaque: policies see sub, name and email only',
    },
    "groups of Okta's org server": {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: ofUpstream('https://example.okta.com'),
        incomingAuth: withPolicies({
          policies: ['permit(principal in THVGroup::"staff", action, resource);'],
        }),
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "groups", which tokens of Okta\'s org server lack: every request is denied; use an issuer such as https://…/oauth2/default',
    },
    'roles of Entra, beside a policy that needs none': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: ofUpstream('https://login.microsoftonline.com/6a0c5b1e/v2.0', [
          'openid',
          'profile',
        ]),
        incomingAuth: withPolicies({
          policies: [
            'permit(principal, action == Action::"call_tool", resource == Tool::"weather");',
            'permit(principal, action, resource) when { principal has claim_roles && principal.claim_roles.contains("admin") };',
          ],
        }),
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "roles", which Entra\'s tokens for Microsoft Graph lack: policies that need it never hold; request a scope such as api://<client id>/access',
    },
    'groups without a login': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        incomingAuth: {
          type: 'anonymous',
          authzConfig: policiesInline(GROUPS_POLICY),
        },
      }),
      findings:
        'spec.incomingAuth.authzConfig.inline.policies: the policies need the claim "groups", and without OIDC every caller is Client::"anonymous": every request is denied',
    },
    'groups without a login, in a workload': {
      kind: 'MCPServer',
      value: {
        spec: {
          authzConfig: policiesInline('permit(principal in THVGroup::"staff", action, resource);'),
        },
      },
      findings:
        'spec.authzConfig.inline.policies: the policies need the claim "groups", and without OIDC no caller has a token: every request is denied',
    },
  },
})

/** The missing claims because of which all requests are denied; empty when some requests are permitted. */
const denied = (found: ReturnType<typeof deniedBy>): readonly string[] =>
  found?.isWhole === true ? found.claims : []

const isAnonymous = ({ spec }: Gateway): boolean => spec?.incomingAuth?.type === 'anonymous'

/** Whether a workload accepts callers without a token; reads the authentication fields of all operator releases. */
function isOpen(kind: string, workload: Workload, cluster: Cluster): boolean {
  const { spec } = workload
  if (spec === undefined || 'oidcConfig' in spec) return false
  if (!isAbsent(spec, 'oidcConfigRef') || !isAbsent(spec, 'authServerRef')) return false
  if (isAbsent(spec, 'externalAuthConfigRef')) return true
  const types = configsOf(kind, workload, cluster).map(({ config }) => config.spec?.type)
  return types.length > 0 && types.every((type) => type !== undefined && type !== 'embeddedAuthServer')
}

/**
 * The path for a finding about all policies. `kind`: the kind of the object that contains the policies; undefined
 * when the judged object itself contains them.
 */
function placeOfPolicies(path: Authorization['path'], kind: string | undefined): Path<unknown> {
  if (kind === 'MCPAuthzConfig') return path.authzConfigRef.name
  return kind === undefined ? path.authzConfig.inline.policies : path.authzConfig.configMap
}
