import { advice, type Cluster, defineRule, end, namesText, relatedTo } from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  authServersOf,
  headerConfig,
  heldServersOf,
  ofHolders,
  servedBy,
  serverConfig,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-auth-server-single'
const FIELD = WORKLOAD.spec.externalAuthConfigRef

const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') } }

export const workloadAuthServerSingle = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['authServerRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
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
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const holders = heldServersOf(resource, self, cluster)
        .filter(({ holder, workload }) => secondOf(holder.kind, workload, cluster) !== undefined)
        .map(({ holder }) => holder)
      if (holders.length === 0) return
      const detail = `externalAuthConfigRef of ${namesText(holders, 2)} names an authorization server, as authServerRef does, so releases do not reconcile it; use it for outgoing credentials only`
      yield ofHolders(advice(AUTH_CONFIG.spec.type, detail), {
        holders,
        at: FIELD,
        text: 'names an authorization server too',
        cause: [ID, self.name],
      })
      return
    }
    const servers = secondOf(self.kind, resource as Workload, cluster)
    if (servers === undefined) return
    yield relatedTo(
      advice(
        FIELD,
        'names an embedded authorization server, as `authServerRef` does, so releases do not reconcile the workload; use this field for outgoing credentials only',
      ),
      servers.map(({ to }) => end(to, AUTH_CONFIG.spec.type, 'is an authorization server')),
      () => servers.map(({ to }) => [ID, to.name]),
    )
  },
  examples: {
    'the field of releases alone': {
      kind: 'MCPServer',
      value: serving({}),
      others: [serverConfig('auth', 'okta')],
    },
    'the field of releases alone, at the configuration': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [servedBy('example')],
    },
    'outgoing credentials beside it': {
      kind: 'MCPRemoteProxy',
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'key' } } },
      others: [serverConfig('auth', 'okta'), headerConfig('key')],
    },
    'the same in both fields': {
      kind: 'MCPServer',
      value: { spec: { ...serving({}).spec, externalAuthConfigRef: { name: 'auth' } } },
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.externalAuthConfigRef: names an embedded authorization server, as `authServerRef` does, so releases do not reconcile the workload; use this field for outgoing credentials only',
    },
    'a configuration that becomes the second one': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [
        servedBy('auth', { externalAuthConfigRef: { name: 'example' } }),
        serverConfig('auth', 'okta'),
      ],
      findings:
        'spec.type: externalAuthConfigRef of MCPRemoteProxy "wiki" names an authorization server, as authServerRef does, so releases do not reconcile it; use it for outgoing credentials only',
    },
  },
})

/** The embedded authorization servers of a workload, when both of its fields name one. */
function secondOf(kind: string, workload: Workload, cluster: Cluster) {
  const servers = authServersOf(kind, workload, cluster)
  const fields = servers.map(({ field }) => field)
  const isSecond = fields.includes('authServerRef') && fields.includes('externalAuthConfigRef')
  return isSecond ? servers : undefined
}
