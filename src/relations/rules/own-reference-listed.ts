import { defineRule, says } from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  backend,
  bearerConfig,
  exchangeConfig,
  gateway,
  gatewayOf,
  headerConfig,
  inline,
  ownReferenceErrors,
  REACHED_KINDS,
  workload,
} from '../index.ts'

const ID = 'own-reference-listed'
const KEY = {
  spec: {
    type: 'headerInjection' as const,
    headerInjection: { headerName: 'X-Api-Key', valueSecretRef: { name: 'key', key: 'api-key' } },
  },
}

export const ownReferenceListed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry, MCPExternalAuthConfig],
  needs: ['outgoingAuth', 'externalAuthConfigRef', 'type'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'A VirtualMCPServer with the source `inline` lists each backend whose own `externalAuthConfigRef` has a Secret, or a type that vMCP cannot use.',
  why: 'Releases use the reference of a backend that is not listed, before the default; the specification does not. Up to release 0.56 they do not give the process the Secret of such a configuration, which then ends at its start.',
  failure: {
    symptom: 'CrashLoopBackOff of vMCP; the log says `backend …: environment variable … not set`',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'up to 0.56',
    threads: ['stacklok/toolhive#6837'],
  },
  sources: [
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    'decision 10',
  ],
  check: (resource, { cluster, self }) =>
    ownReferenceErrors(ID, resource, self, cluster, ({ endsPod, isLeftOut }) => endsPod || isLeftOut),
  examples: {
    'each backend is listed': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [backend('jira', 'other'), headerConfig('key'), headerConfig('other')],
    },
    'the default is the same configuration': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({}, 'key') }),
      others: [backend('jira', 'key'), headerConfig('key')],
    },
    'each backend chooses': {
      kind: 'MCPRemoteProxy',
      value: workload('key', 'tools'),
      others: [gateway('tools'), headerConfig('key')],
    },
    'each backend that names the configuration is listed': {
      kind: 'MCPExternalAuthConfig',
      value: KEY,
      others: [backend('jira', 'example'), gateway('tools', { outgoingAuth: inline({ jira: 'other' }) })],
    },
    'a key in a Secret, of a backend that is not listed': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira'), backend('wiki', 'key'), exchangeConfig('jira'), headerConfig('key')],
      findings:
        'spec.outgoingAuth.backends: list MCPServer "wiki": the specification has no credentials for it, releases use its own MCPExternalAuthConfig "key", and up to 0.56 vMCP does not start, as its Secret is not mounted',
    },
    'the same, of the backend': {
      kind: 'MCPServer',
      value: workload('key', 'tools'),
      others: [gateway('tools', { outgoingAuth: inline({ jira: 'other' }) }), headerConfig('key')],
      findings:
        'spec.externalAuthConfigRef: list this workload in `backends` of VirtualMCPServer "tools": the specification has no credentials for it, releases use this reference, and up to 0.56 vMCP does not start, as its Secret is not mounted',
    },
    'a bearer token of a proxy, for which releases have no strategy': {
      kind: 'MCPRemoteProxy',
      value: workload('token', 'tools'),
      others: [gateway('tools', { outgoingAuth: inline({}, 'other') }), bearerConfig('token')],
      findings:
        'spec.externalAuthConfigRef: list this workload in `backends` of VirtualMCPServer "tools": the specification has the default for it, releases leave it out: they cannot use this reference',
    },
    'the same, of an entry': {
      kind: 'MCPServerEntry',
      value: workload('key', 'tools'),
      others: [gateway('tools', { outgoingAuth: inline({}, 'other') }), headerConfig('key')],
      findings:
        'spec.externalAuthConfigRef: list this workload in `backends` of VirtualMCPServer "tools": the specification has the default for it, releases use this reference, and up to 0.56 vMCP does not start, as its Secret is not mounted',
    },
    'a configuration that comes later': {
      kind: 'MCPExternalAuthConfig',
      value: KEY,
      others: [backend('wiki', 'example'), gateway('tools', { outgoingAuth: inline({ jira: 'other' }) })],
      findings:
        'spec.type: list MCPServer "wiki" in `backends` of VirtualMCPServer "tools": the specification has no credentials for it, releases use this configuration, and up to 0.56 vMCP does not start, as its Secret is not mounted',
    },
  },
})
