import {
  about,
  aboutEach,
  advice,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import { issuing } from '../../kinds/mcp-oidc-config/examples.ts'
import { MCPExternalAuthConfig, MCPOIDCConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  acceptingEnd,
  AUTH_CONFIG,
  authServer,
  differenceText,
  getOidcConfig,
  heldServersOf,
  issuerText,
  OIDC_CONFIG,
  oidcConfig,
  oidcConfigNamed,
  otherOf,
  type Refusal,
  refusalBy,
  refusedCause,
  serverConfig,
  serving,
  SINGLE_PROVIDER_KINDS,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-auth-server-tokens-accepted'

/** A proxy whose authorization server and MCPOIDCConfig have these names, for examples. */
const proxyWith = (auth: string, corporate: string) =>
  otherOf('MCPRemoteProxy', 'wiki', {
    authServerRef: { kind: 'MCPExternalAuthConfig', name: auth },
    oidcConfigRef: { name: corporate, audience: 'https://auth.example.com/mcp' },
  })

const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }

export const workloadAuthServerTokensAccepted = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPOIDCConfig, MCPExternalAuthConfig],
  reads: ['MCPExternalAuthConfig', 'MCPOIDCConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    'The MCPOIDCConfig of a workload has the issuer of the embedded authorization server that it names.',
  why: 'Every token that the embedded server issues is refused, and no release compares the two for a workload: it is ready, and nobody can log in.',
  failure: {
    symptom: 'login succeeds, and then every request is answered with 401: the token has another issuer',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['5.1', 'decision 9'],
  *check(resource, { cluster, self }) {
    const servers = heldServersOf(resource, self, cluster)
    if (servers.length === 0) return
    const refused = servers.flatMap(({ workload, server, to, holder }) => {
      const name = workload.spec?.oidcConfigRef?.name
      const config = name === undefined ? undefined : getOidcConfig(cluster, name)
      const refusal = config && refusalBy(config, server.issuer)
      return name === undefined || refusal === undefined ? [] : [{ name, refusal, to, holder }]
    })
    for (const held of Map.groupBy(refused, ({ name, to }) => `${name}/${to.name}`).values()) {
      const [first] = held
      if (first === undefined) continue
      const { name, refusal, to, holder } = first
      const warning = adviceAt(self.kind, { ...first, holders: held.map((each) => each.holder) })
      const ends = [
        acceptingEnd(name, refusal),
        end(to, AUTH_CONFIG.spec.embeddedAuthServer.issuer, 'issues the tokens'),
        end(holder, WORKLOAD.spec.oidcConfigRef.name, 'checks the tokens'),
      ]
      yield relatedTo(
        holder === self
          ? about(warning, ID, name, to.name)
          : aboutEach(warning, () => held.map((each) => [ID, each.holder.kind, each.holder.name, to.name])),
        ends.filter(({ object }) => object.kind !== self.kind),
        () => [refusedCause(name)],
      )
    }
  },
  examples: {
    'the same issuer': [
      {
        kind: 'MCPServer',
        value: serving({}),
        others: [serverConfig('auth', 'okta'), oidcConfig('corporate')],
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: SERVER,
        others: [proxyWith('example', 'corporate'), oidcConfig('corporate')],
      },
    ],
    'no embedded server: tokens come from elsewhere': {
      kind: 'MCPServer',
      value: { spec: { oidcConfigRef: { name: 'corporate', audience: 'jira' } } },
      others: [oidcConfig('corporate', 'https://okta.example.com')],
    },
    'the same issuer, and tokens of another server for another workload': {
      kind: 'MCPOIDCConfig',
      value: issuing('https://auth.example.com'),
      others: [
        serverConfig('auth', 'okta'),
        proxyWith('auth', 'example'),
        { ...proxyWith('auth', 'other'), metadata: { name: 'jira' } },
      ],
    },
    'the same issuer with a slash': {
      kind: 'MCPServer',
      value: serving({}),
      others: [serverConfig('auth', 'okta'), oidcConfig('corporate', 'https://auth.example.com/')],
      findings:
        'spec.oidcConfigRef.name: MCPOIDCConfig "corporate" refuses tokens of MCPExternalAuthConfig "auth": its issuer "https://auth.example.com/" must equal "https://auth.example.com", which differs by the slash at its end',
    },
    'another issuer': [
      {
        kind: 'MCPOIDCConfig',
        value: issuing('https://login.example.com'),
        others: [serverConfig('auth', 'okta'), proxyWith('auth', 'example')],
        findings:
          'spec.inline.issuer: refuses the tokens of MCPExternalAuthConfig "auth" at MCPRemoteProxy "wiki": their issuer is "https://auth.example.com"; write it here, or this one in embeddedAuthServer.issuer',
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: SERVER,
        others: [proxyWith('example', 'corporate'), oidcConfig('corporate', 'https://login.example.com')],
        findings:
          'spec.embeddedAuthServer.issuer: MCPOIDCConfig "corporate" refuses these tokens with 401 at MCPRemoteProxy "wiki": its issuer "https://login.example.com" must equal this one',
      },
    ],
    'tokens of the cluster': [
      {
        kind: 'MCPRemoteProxy',
        value: serving({}),
        others: [
          serverConfig('auth', 'okta'),
          otherOf('MCPOIDCConfig', 'corporate', {
            type: 'kubernetesServiceAccount',
            kubernetesServiceAccount: {},
          }),
        ],
        findings:
          'spec.oidcConfigRef.name: MCPOIDCConfig "corporate" accepts only tokens of the cluster, so those of MCPExternalAuthConfig "auth" are refused with 401; name one of type inline with its issuer',
      },
      {
        kind: 'MCPOIDCConfig',
        value: { spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} } },
        others: [serverConfig('auth', 'okta'), proxyWith('auth', 'example')],
        findings: `spec.type: refuses the tokens of MCPExternalAuthConfig "auth" at MCPRemoteProxy "wiki"; write 'inline', and their issuer in spec.inline.issuer`,
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: SERVER,
        others: [
          proxyWith('example', 'corporate'),
          otherOf('MCPOIDCConfig', 'corporate', {
            type: 'kubernetesServiceAccount',
            kubernetesServiceAccount: {},
          }),
        ],
        findings:
          'spec.embeddedAuthServer.issuer: MCPOIDCConfig "corporate" refuses these tokens with 401 at MCPRemoteProxy "wiki": it accepts only tokens of the cluster; name one of type inline there',
      },
    ],
  },
})

interface Refused {
  readonly name: string
  readonly refusal: Refusal
  readonly to: ObjectName
  readonly holders: readonly ObjectName[]
}

/** The warning at the judged object of this kind: the MCPOIDCConfig, the authorization server or the workload. */
function adviceAt(kind: string, { name, refusal, to, holders }: Refused): FieldError {
  const named = nameText(oidcConfigNamed(name))
  const at = namesText(holders, 2)
  if (kind === 'MCPOIDCConfig')
    return refusal.reason === 'type'
      ? advice(
          OIDC_CONFIG.spec.type,
          `refuses the tokens of ${nameText(to)} at ${at}; write 'inline', and their issuer in spec.inline.issuer`,
        )
      : advice(
          OIDC_CONFIG.spec.inline.issuer,
          `refuses the tokens of ${nameText(to)} at ${at}: their issuer is ${issuerText(refusal.issued, refusal.accepted)}; write it here, or this one in embeddedAuthServer.issuer`,
        )
  if (kind === 'MCPExternalAuthConfig')
    return advice(
      AUTH_CONFIG.spec.embeddedAuthServer.issuer,
      `${named} refuses these tokens with 401 at ${at}: ${
        refusal.reason === 'type'
          ? 'it accepts only tokens of the cluster; name one of type inline there'
          : `its issuer ${shortQuote(refusal.accepted)} must equal this one${differenceText(refusal.issued, refusal.accepted)}`
      }`,
    )
  return advice(
    WORKLOAD.spec.oidcConfigRef.name,
    refusal.reason === 'type'
      ? `${named} accepts only tokens of the cluster, so those of ${nameText(to)} are refused with 401; name one of type inline with its issuer`
      : `${named} refuses tokens of ${nameText(to)}: its issuer ${shortQuote(refusal.accepted)} must equal ${issuerText(refusal.issued, refusal.accepted)}`,
  )
}
