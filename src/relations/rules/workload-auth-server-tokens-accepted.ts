import { about, advice, defineRule, end, nameText, relatedTo, shortQuote } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  acceptingEnd,
  AUTH_CONFIG,
  authServersOf,
  getOidcConfig,
  issuerText,
  oidcConfig,
  oidcConfigNamed,
  refusalBy,
  serverConfig,
  serving,
} from '../index.ts'

export const workloadAuthServerTokensAccepted = defineRule({
  id: 'workload-auth-server-tokens-accepted',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig', 'MCPOIDCConfig'],
  severity: 'warning',
  summary:
    'The MCPOIDCConfig of a workload has the issuer of the embedded authorization server that it names.',
  why: 'Every token that the embedded server issues is refused, and no release compares the two for a workload: it is ready, and nobody can log in.',
  failure: {
    symptom: 'login succeeds, and then every request is answered with 401: the token has another issuer',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: [],
  },
  sources: [
    { section: '5.1', says: 'The issuer of that MCPOIDCConfig equals authServerConfig.issuer.' },
    'decision 9',
  ],
  *check(workload, { path, cluster, self }) {
    const name = workload.spec?.oidcConfigRef?.name
    const config = name === undefined ? undefined : getOidcConfig(cluster, name)
    if (name === undefined || config === undefined) return
    const at = path.spec.oidcConfigRef.name
    const named = nameText(oidcConfigNamed(name))
    for (const { to, server } of authServersOf(self.kind, workload, cluster)) {
      const refusal = refusalBy(config, server.issuer)
      if (refusal === undefined) continue
      const detail =
        refusal.reason === 'type'
          ? `${named} accepts only tokens of the cluster, so those of ${nameText(to)} are refused with 401; name one of type inline with its issuer`
          : `${named} refuses tokens of ${nameText(to)}: its issuer ${shortQuote(refusal.accepted)} must equal ${issuerText(refusal.issued, refusal.accepted)}`
      const warning = about(advice(at, detail), 'workload-auth-server-tokens-accepted', name, to.name)
      yield relatedTo(warning, [
        acceptingEnd(name, refusal),
        end(to, AUTH_CONFIG.spec.embeddedAuthServer.issuer, 'issues the tokens'),
      ])
    }
  },
  examples: {
    valid: [
      {
        title: 'the same issuer',
        value: serving({}),
        others: [serverConfig('auth', 'okta'), oidcConfig('corporate')],
      },
      {
        title: 'no embedded server: tokens come from elsewhere',
        value: { spec: { oidcConfigRef: { name: 'corporate', audience: 'jira' } } },
        others: [oidcConfig('corporate', 'https://okta.example.com')],
      },
    ],
    invalid: [
      {
        title: 'the same issuer with a slash',
        kind: 'MCPServer',
        value: serving({}),
        others: [serverConfig('auth', 'okta'), oidcConfig('corporate', 'https://auth.example.com/')],
        findings: [
          'spec.oidcConfigRef.name: MCPOIDCConfig "corporate" refuses tokens of MCPExternalAuthConfig "auth": its issuer "https://auth.example.com/" must equal "https://auth.example.com", which differs by the slash at its end',
        ],
      },
      {
        title: 'tokens of the cluster',
        kind: 'MCPRemoteProxy',
        value: serving({}),
        others: [
          serverConfig('auth', 'okta'),
          {
            kind: 'MCPOIDCConfig',
            metadata: { name: 'corporate' },
            spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} },
          },
        ],
        findings: [
          'spec.oidcConfigRef.name: MCPOIDCConfig "corporate" accepts only tokens of the cluster, so those of MCPExternalAuthConfig "auth" are refused with 401; name one of type inline with its issuer',
        ],
      },
    ],
  },
})
