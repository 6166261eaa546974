import { advice, defineRule, end, isAbsent, nameText, relatedTo, shortQuote } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { AUTH_CONFIG, authServer, authServersOf, serving } from '../index.ts'

const DEFAULT_SCOPES = ['openid', 'profile', 'email', 'offline_access']

const withBaseline = (...baselineClientScopes: string[]) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { ...authServer('okta'), baselineClientScopes },
  },
})

export const workloadBaselineScopesAdvertised = defineRule({
  id: 'workload-baseline-scopes-advertised',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    '`oidcConfigRef.scopes` of a workload has every `baselineClientScopes` of the authorization server that it names.',
  why: 'The authorization server does not start with a baseline scope that it does not advertise; the workload is in a crash loop, and its status does not say why.',
  failure: {
    symptom: 'CrashLoopBackOff; the log says that `baseline_client_scopes` are not in the supported scopes',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#5252', 'stacklok/toolhive#5233'],
  },
  sources: ['decision 3'],
  *check(workload, { path, cluster, self }) {
    const reference = workload.spec?.oidcConfigRef
    if (reference === undefined) return
    const given = isAbsent(reference, 'scopes') ? [] : reference.scopes
    if (given === undefined || given.includes(undefined)) return
    const advertised = new Set<string | undefined>(given.length === 0 ? DEFAULT_SCOPES : given)
    for (const { to, server } of authServersOf(self.kind, workload, cluster)) {
      const missing = (server.baselineClientScopes ?? []).filter((scope) => !advertised.has(scope))
      if (missing.length === 0) continue
      const scopes = missing.slice(0, 3).map((scope) => shortQuote(scope ?? ''))
      yield relatedTo(
        advice(
          path.spec.oidcConfigRef.scopes,
          `lacks ${scopes.join(', ')} of baselineClientScopes of ${nameText(to)}: the server does not start; add them here or remove them there`,
        ),
        [end(to, AUTH_CONFIG.spec.embeddedAuthServer.baselineClientScopes, `has ${scopes.join(', ')}`)],
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'scopes that are advertised without being given',
        value: serving({}),
        others: [withBaseline('openid', 'offline_access')],
      },
      {
        title: 'a scope that is given',
        value: serving({ scopes: ['openid', 'jira.read'] }),
        others: [withBaseline('jira.read')],
      },
    ],
    invalid: [
      {
        title: 'a scope that is not advertised',
        value: serving({ scopes: ['openid'] }),
        others: [withBaseline('openid', 'offline_access')],
        findings: [
          'spec.oidcConfigRef.scopes: lacks "offline_access" of baselineClientScopes of MCPExternalAuthConfig "auth": the server does not start; add them here or remove them there',
        ],
      },
    ],
  },
})
