import { advice, defineRule, dependingOn, namesText, relatedTo, says } from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPGroup, MCPOIDCConfig } from '../../kinds/schemas.ts'
import { backend, BACKEND_KINDS, gateway, headerConfig, inline, oidcConfig, referenceEnds } from '../index.ts'

const REFERRERS = ['VirtualMCPServer', ...BACKEND_KINDS]
const REMEDY =
  '; remove the references first: these lose credentials, group or login, or the deletion does not end'

export const deletedResourceUnreferenced = defineRule({
  id: 'deleted-resource-unreferenced',
  on: [MCPExternalAuthConfig, MCPOIDCConfig, MCPGroup],
  when: 'delete',
  reads: REFERRERS,
  severity: 'warning',
  summary: 'Nothing refers to a resource that is deleted.',
  why: 'Those who refer to it lose their credentials, their group or their login; the operator may also keep it for ever in deletion.',
  sources: [
    says(
      '1',
      'Shared resources are referenced by name: what is named exists, what is shared is still wanted.',
    ),
    'decision 11',
  ],
  *check(_, { path, cluster, self }) {
    const referrers = cluster.referrers(self.kind, self.name, REFERRERS)
    const [first] = referrers
    if (first === undefined) return
    const warning = advice(path.metadata.name, `is still referred to by ${namesText(referrers)}${REMEDY}`)
    yield relatedTo(dependingOn(warning, first), referenceEnds(referrers, self, cluster))
  },
  examples: {
    'nobody does': { value: { spec: {} }, kind: 'MCPGroup', others: [gateway('tools')] },
    'a group': {
      kind: 'MCPGroup',
      value: { spec: {} },
      others: [
        { kind: 'MCPServer', metadata: { name: 'jira' }, spec: { groupRef: { name: 'example' } } },
        { kind: 'MCPServerEntry', metadata: { name: 'wiki' }, spec: { groupRef: 'example' } },
        gateway('tools', { groupRef: { name: 'example' } }),
      ],
      findings: `metadata.name: is still referred to by MCPServer "jira", MCPServerEntry "wiki" and VirtualMCPServer "tools"${REMEDY}`,
    },
    'a configuration of many backends': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(headerConfig('example') as object) },
      others: [
        ...['a', 'b', 'c', 'd', 'e'].map((name) => backend(name, 'example')),
        gateway('tools', { outgoingAuth: inline({ jira: 'example' }) }),
      ],
      findings: `metadata.name: is still referred to by MCPServer "a", MCPServer "b", MCPServer "c" and 3 more${REMEDY}`,
    },
    'the configuration of incoming tokens': {
      kind: 'MCPOIDCConfig',
      value: { ...(oidcConfig('example') as object) },
      others: [
        gateway('tools', {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
      findings: `metadata.name: is still referred to by VirtualMCPServer "tools"${REMEDY}`,
    },
  },
})
