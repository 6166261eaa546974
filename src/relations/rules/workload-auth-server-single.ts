import { advice, defineRule, end, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { AUTH_CONFIG, authServersOf, headerConfig, serverConfig, serving } from '../index.ts'

export const workloadAuthServerSingle = defineRule({
  id: 'workload-auth-server-single',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary: '`authServerRef` and `externalAuthConfigRef` do not both name an embedded authorization server.',
  why: 'A workload has one embedded authorization server: releases do not reconcile it, even when both fields name the same configuration.',
  failure: {
    symptom:
      '`conflict: both authServerRef and externalAuthConfigRef reference an embedded auth server`, and the workload is not reconciled',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: ['decision 3'],
  *check(workload, { path, cluster, self }) {
    const servers = authServersOf(self.kind, workload, cluster)
    const fields = servers.map(({ field }) => field)
    if (fields.includes('authServerRef') && fields.includes('externalAuthConfigRef'))
      yield relatedTo(
        advice(
          path.spec.externalAuthConfigRef,
          'names an embedded authorization server, as `authServerRef` does, so releases do not reconcile the workload; use this field for outgoing credentials only',
        ),
        servers.map(({ to }) => end(to, AUTH_CONFIG.spec.type, 'is an authorization server')),
      )
  },
  examples: {
    'the field of releases alone': { value: serving({}), others: [serverConfig('auth', 'okta')] },
    'outgoing credentials beside it': {
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'key' } } },
      others: [serverConfig('auth', 'okta'), headerConfig('key')],
    },
    'the same in both fields': {
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'auth' } } },
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.externalAuthConfigRef: names an embedded authorization server, as `authServerRef` does, so releases do not reconcile the workload; use this field for outgoing credentials only',
    },
  },
})
