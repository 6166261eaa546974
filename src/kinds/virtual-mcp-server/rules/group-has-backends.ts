import { advice, defineRule, end, relatedTo, says, shortQuote } from '../../../rule/index.ts'
import {
  backend,
  BACKEND_KINDS,
  gatewayOf,
  group,
  groupOf,
  membersOf,
  NAME,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

/**
 * Before a denial the webhook reads the objects in `dependsOn` of a finding again. This finding depends on no object,
 * because reading single objects cannot confirm that a group is empty; for the same reason its text says "yet".
 */
export const groupHasBackends = defineRule({
  id: 'group-has-backends',
  on: VirtualMCPServer,
  reads: ['MCPGroup', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'Some MCPServer, MCPRemoteProxy or MCPServerEntry belongs to the group.',
  why: 'The process starts and offers no tool. With source inline, releases do not reconcile the VirtualMCPServer: "static mode requires at least one backend".',
  sources: [
    says('1', 'A named group of backends; a VirtualMCPServer selects it.'),
    says('2.2', 'groupRef names the MCPGroup whose backends are fronted.'),
    'decision 10',
  ],
  *check(gateway, { path, cluster }) {
    const group = groupOf(gateway)
    if (group === undefined || cluster.get('MCPGroup', group) === undefined) return
    if (!BACKEND_KINDS.every((kind) => cluster.knows(kind)) || membersOf(cluster, group).length > 0) return
    yield relatedTo(
      advice(
        path.spec.groupRef.name,
        `no backend ${cluster.where} has ${shortQuote(group)} as its \`groupRef\` yet, so ${gateway.spec?.outgoingAuth?.source === 'inline' ? 'releases do not reconcile it' : 'no tool is offered'}`,
      ),
      [end({ kind: 'MCPGroup', name: group }, NAME, 'is the group')],
    )
  },
  examples: {
    'a member': { value: gatewayOf(), others: [group(), backend('jira')] },
    'members that came before their MCPGroup': { value: gatewayOf(), others: [backend('jira')] },
    'an empty group': {
      value: gatewayOf(),
      others: [group()],
      findings:
        'spec.groupRef.name: no backend in namespace \'default\' has "tools" as its `groupRef` yet, so no tool is offered',
    },
    'an empty group, with source inline': {
      value: gatewayOf({ outgoingAuth: { source: 'inline' } }),
      others: [group()],
      findings:
        'spec.groupRef.name: no backend in namespace \'default\' has "tools" as its `groupRef` yet, so releases do not reconcile it',
    },
  },
})
