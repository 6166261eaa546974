import {
  defineRule,
  dependingOn,
  MOST_HINTS,
  must,
  nearestName,
  notFound,
  pathTo,
  relatedTo,
  says,
  shortQuote,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  backend,
  gatewayOf,
  group,
  headerConfig,
  inline,
  nearEnds,
  oidcConfig,
  referencesOf,
} from '../index.ts'

export const referenceFound = defineRule({
  id: 'reference-found',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['MCPGroup', 'MCPOIDCConfig', 'MCPExternalAuthConfig'],
  severity: 'warning',
  summary: 'What a reference names exists, in the namespace of the resource.',
  why: 'The workload waits for it, or does without. Apply order is free, so this is not an error: it may come later.',
  sources: [
    says(
      '1',
      'Shared resources are referenced by name: what is named exists, what is shared is still wanted.',
    ),
    must(
      '2',
      'A resource is referenced from its own namespace only: a reference is a name, without a namespace.',
    ),
    'decision 9',
  ],
  *check(resource, { cluster, self }) {
    let hints = MOST_HINTS
    for (const { to, at } of referencesOf(self.kind, resource)) {
      if (cluster.get(to.kind, to.name) !== undefined || !cluster.knows(to.kind)) continue
      const near = hints-- > 0 ? nearestName(to.name, cluster.names(to.kind)) : undefined
      const [other] = cluster.elsewhere(to.kind, to.name)
      const hint =
        near !== undefined
          ? `; did you mean ${shortQuote(near)}`
          : other !== undefined
            ? `; there is one in namespace '${other}', but references stay within their own`
            : ' yet'
      const detail = `no ${to.kind} of this name ${cluster.where}${hint}`
      yield relatedTo(
        dependingOn(notFound(pathTo<string>(at()), to.name, detail), to),
        nearEnds(to.kind, near),
        () => [['missing', to.kind, to.name]],
      )
    }
  },
  examples: {
    'a workload, its group and its configuration': {
      kind: 'MCPServer',
      value: { spec: { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'key' } } },
      others: [group(), headerConfig('key')],
    },
    'a VirtualMCPServer and all that it names': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }, 'key') }),
      others: [group(), backend('jira'), headerConfig('key'), oidcConfig('corporate')],
    },
    'a misspelt group': {
      kind: 'MCPServer',
      value: { spec: { groupRef: { name: 'tolls' } } },
      others: [group()],
      findings:
        'spec.groupRef.name: Not found: "tolls": no MCPGroup of this name in namespace \'default\'; did you mean "tools"',
    },
    'a group, written as older releases did': {
      kind: 'MCPRemoteProxy',
      value: { spec: { groupRef: 'backends' } },
      others: [],
      findings: 'spec.groupRef: Not found: "backends": no MCPGroup of this name in namespace \'default\' yet',
    },
    'the second of two configurations, not there yet': {
      kind: 'MCPServer',
      value: { spec: { externalAuthConfigRef: { name: 'key-2' } } },
      others: [headerConfig('key-1')],
      findings:
        'spec.externalAuthConfigRef.name: Not found: "key-2": no MCPExternalAuthConfig of this name in namespace \'default\' yet',
    },
    'a configuration of another namespace': {
      kind: 'MCPServerEntry',
      value: { spec: { groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'api-key' } } },
      others: [group(), { ...headerConfig('api-key'), metadata: { name: 'api-key', namespace: 'shared' } }],
      findings:
        "spec.externalAuthConfigRef.name: Not found: \"api-key\": no MCPExternalAuthConfig of this name in namespace 'default'; there is one in namespace 'shared', but references stay within their own",
    },
    'nothing there yet': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }, 'fallback') }),
      others: [backend('jira')],
      findings: [
        'spec.groupRef.name: Not found: "tools": no MCPGroup of this name in namespace \'default\' yet',
        'spec.incomingAuth.oidcConfigRef.name: Not found: "corporate": no MCPOIDCConfig of this name in namespace \'default\' yet',
        'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: Not found: "jira": no MCPExternalAuthConfig of this name in namespace \'default\' yet',
        'spec.outgoingAuth.default.externalAuthConfigRef.name: Not found: "fallback": no MCPExternalAuthConfig of this name in namespace \'default\' yet',
      ],
    },
  },
})
