import {
  defineRule,
  dependingOn,
  invalid,
  nearestName,
  notFound,
  type Other,
  pathTo,
  shortQuote,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { gatewayOf, getPolicies, otherOf, policyReferencesOf } from '../index.ts'

const MISSING = 'meanwhile the operator does not reconcile the resource'

const policies = (name: string, type = 'cedarv1'): Other =>
  otherOf('MCPAuthzConfig', name, { type, config: {} })

const guarded = (name: string) =>
  gatewayOf({
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: { name: 'corporate', audience: 'https://mcp.example.com/mcp' },
      authzConfigRef: { name },
    },
  })

/** A workload with `toolConfigRef`, a field that releases have and the specification lacks; no other rule reads it. */
const withTools = (name: string): object => ({
  spec: { remoteUrl: 'https://mcp.example.com', toolConfigRef: { name } },
})

/** A VirtualMCPServer that chooses the tools of one backend, in a field that releases have. */
const choosing = (name: string) =>
  gatewayOf({
    config: { aggregation: { tools: [{ workload: 'wiki' }, { workload: 'jira', toolConfigRef: { name } }] } },
  } as object)

export const policyReferenceFound = defineRule({
  id: 'policy-reference-found',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: ['MCPAuthzConfig', 'MCPToolConfig'],
  severity: 'warning',
  summary:
    'An MCPAuthzConfig or MCPToolConfig that is named exists, and the one of a VirtualMCPServer is of type `cedarv1`.',
  why: 'The operator does not reconcile the resource while what it names is missing. The command line and `audit` look; the server does not, and needs no right to.',
  failure: {
    symptom:
      'condition AuthzConfigRefValidated=False says "MCPAuthzConfig … not found" or "has unsupported type"; a workload says "MCPToolConfig … not found"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: '`authzConfigRef` from 0.30 on, `toolConfigRef` in all',
  },
  sources: ['decision 3', 'decision 9'],
  *check(resource, { cluster, self }) {
    for (const reference of policyReferencesOf(resource)) {
      const { kind, name, at } = reference
      const found = getPolicies(cluster, reference)
      const path = pathTo<string>(at)
      if (found === undefined) {
        if (!cluster.knows(kind)) continue
        const near = nearestName(name, cluster.names(kind))
        const hint = near === undefined ? ' yet' : `; did you mean ${shortQuote(near)}`
        yield dependingOn(
          notFound(path, name, `no ${kind} of this name ${cluster.where}${hint}; ${MISSING}`),
          { kind, name },
        )
      } else if (self.kind === 'VirtualMCPServer' && found.type !== undefined && found.type !== 'cedarv1')
        yield dependingOn(
          invalid(
            path,
            name,
            `must be of type 'cedarv1': the operator refuses ${shortQuote(found.type)} here`,
          ),
          { kind, name },
        )
    }
  },
  examples: {
    policies: { kind: 'VirtualMCPServer', value: guarded('staff'), others: [policies('staff')] },
    'a server of policies, at a workload': {
      kind: 'MCPServer',
      value: { spec: { authzConfigRef: { name: 'staff' } } },
      others: [policies('staff', 'httpv1')],
    },
    'a choice of tools of a backend': {
      kind: 'VirtualMCPServer',
      value: choosing('few'),
      others: [{ kind: 'MCPToolConfig', metadata: { name: 'few' }, spec: { toolsFilter: ['search'] } }],
    },
    'another name': {
      kind: 'VirtualMCPServer',
      value: guarded('stuff'),
      others: [policies('staff')],
      findings:
        'spec.incomingAuth.authzConfigRef.name: Not found: "stuff": no MCPAuthzConfig of this name in namespace \'default\'; did you mean "staff"; meanwhile the operator does not reconcile the resource',
    },
    'a server of policies': {
      kind: 'VirtualMCPServer',
      value: guarded('staff'),
      others: [policies('staff', 'httpv1')],
      findings:
        'spec.incomingAuth.authzConfigRef.name: Invalid value: "staff": must be of type \'cedarv1\': the operator refuses "httpv1" here',
    },
    'not there': {
      kind: 'MCPServer',
      value: { spec: { authzConfigRef: { name: 'staff' } } },
      others: [],
      findings:
        'spec.authzConfigRef.name: Not found: "staff": no MCPAuthzConfig of this name in namespace \'default\' yet; meanwhile the operator does not reconcile the resource',
    },
    'a choice of tools that is not there': {
      kind: 'MCPRemoteProxy',
      value: withTools('few'),
      others: [],
      findings:
        'spec.toolConfigRef.name: Not found: "few": no MCPToolConfig of this name in namespace \'default\' yet; meanwhile the operator does not reconcile the resource',
    },
    'a choice of tools of a backend that is not there': {
      kind: 'VirtualMCPServer',
      value: choosing('few'),
      others: [],
      findings:
        'spec.config.aggregation.tools[1].toolConfigRef.name: Not found: "few": no MCPToolConfig of this name in namespace \'default\' yet; meanwhile the operator does not reconcile the resource',
    },
  },
})
