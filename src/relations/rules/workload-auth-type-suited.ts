import {
  aboutEach,
  advice,
  defineRule,
  end,
  namesText,
  nameText,
  pathTo,
  relatedTo,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  bearerConfig,
  exchangeConfigIn,
  frontingsOf,
  gateway,
  getAuthConfig,
  groupOf,
  headerConfig,
  injectConfig,
  inline,
  isUnused,
  needsGateway,
  referencesOf,
  serverConfig,
  unsuited,
  unsuitedCause,
  unsuitedForBackends,
  unusedText,
  useOf,
  workload,
} from '../index.ts'

export const workloadAuthTypeSuited = defineRule({
  id: 'workload-auth-type-suited',
  on: [MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['MCPExternalAuthConfig', 'VirtualMCPServer'],
  severity: 'warning',
  summary: 'The configuration has a type that does something for a workload of this kind.',
  why: 'Releases ignore some types on some kinds, in silence, and fail on others.',
  failure: {
    symptom:
      'the credential is never sent, or the workload is not reconciled: `AWS STS middleware requires a remote URL`, reason `AuthServerRefInvalidType`',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#5930', 'stacklok/toolhive#5202', 'stacklok/toolhive#6242'],
  },
  sources: [
    {
      section: '1',
      says: 'Every kind of workload can refer to every type of configuration (releases do not use all of them).',
    },
    {
      section: '5.2',
      says: 'tokenExchange: the token replaces the Authorization header unless externalTokenHeaderName is set.',
    },
    'decision 9',
  ],
  *check(resource, { cluster, self }) {
    for (const { to, at, field } of referencesOf(self.kind, resource)) {
      const config = to.kind === 'MCPExternalAuthConfig' ? getAuthConfig(cluster, to.name) : undefined
      if (config === undefined) continue
      const subject = () => `type ${config.spec?.type ?? ''} of ${nameText(to)}`
      const use = useOf(self.kind, resource, to.name)
      const group = needsGateway(use, field, config) ? groupOf(resource) : undefined
      const unused = group !== undefined && isUnused(self.name, { group, config: to.name }, cluster)
      const why = unused ? unusedText(use) : unsuited(use, field, config)
      const ends = [end(to, AUTH_CONFIG.spec.type, 'has this type')]
      const causes = () => [unsuitedCause(to.name)]
      if (why !== undefined)
        yield relatedTo(advice(pathTo<string>(at()), `${subject()} ${why}`), ends, causes)
      const there = unsuitedForBackends(config)
      if (there === undefined || there === why || field !== 'externalAuthConfigRef') continue
      const gateways = frontingsOf(self.name, resource, cluster).filter(({ from }) => from === 'discovered')
      if (gateways.length > 0)
        yield relatedTo(
          aboutEach(
            advice(
              pathTo<string>(at()),
              `${subject()} ${there}: ${namesText(gateways.map(({ gateway }) => gateway))}`,
            ),
            () => gateways.map(({ gateway }) => ['workload-auth-type-suited', to.name, gateway.name]),
          ),
          ends,
          causes,
        )
    }
  },
  examples: {
    valid: [
      {
        title: 'a header, which vMCP sends to this backend',
        value: workload('key', 'tools'),
        others: [headerConfig('key')],
      },
      {
        title: 'a bearer token of a proxy',
        kind: 'MCPRemoteProxy',
        value: workload('token'),
        others: [bearerConfig('token')],
      },
      {
        title: 'a header that an inline VirtualMCPServer names for it too',
        kind: 'MCPServer',
        value: workload('key', 'tools'),
        others: [
          headerConfig('key'),
          gateway('tools', { outgoingAuth: inline({ example: 'key' }) }),
          gateway('other', { outgoingAuth: inline({ jira: 'other' }) }),
        ],
      },
      {
        title: 'an authorization server, and an MCPOIDCConfig for its tokens',
        kind: 'MCPServer',
        value: {
          spec: {
            externalAuthConfigRef: { name: 'auth' },
            oidcConfigRef: { name: 'auth', audience: 'tools' },
          } as object,
        },
        others: [serverConfig('auth', 'okta')],
      },
    ],
    invalid: [
      {
        title: 'a header that no VirtualMCPServer sends',
        kind: 'MCPServer',
        value: workload('key', 'tools'),
        others: [headerConfig('key'), gateway('tools', { outgoingAuth: inline({ jira: 'other' }) })],
        findings: [
          'spec.externalAuthConfigRef.name: type headerInjection of MCPExternalAuthConfig "key" has no effect on an MCPServer where each VirtualMCPServer is inline and does not name it',
        ],
      },
      {
        title: 'a bearer token of a proxy that a VirtualMCPServer discovers',
        kind: 'MCPRemoteProxy',
        value: workload('token', 'tools'),
        others: [bearerConfig('token'), gateway('tools')],
        findings: [
          'spec.externalAuthConfigRef.name: type bearerToken of MCPExternalAuthConfig "token" cannot be used for backends by ToolHive releases: VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'a token exchange with another header',
        kind: 'MCPServer',
        value: workload('jira', 'tools'),
        others: [exchangeConfigIn('jira', 'X-Token'), gateway('tools')],
        findings: [
          'spec.externalAuthConfigRef.name: type tokenExchange of MCPExternalAuthConfig "jira" sets an `externalTokenHeaderName` that ToolHive releases ignore for backends: VirtualMCPServer "tools"',
        ],
      },
      {
        title: 'a header of an MCPServer alone',
        kind: 'MCPServer',
        value: workload('key'),
        others: [headerConfig('key')],
        findings: [
          'spec.externalAuthConfigRef.name: type headerInjection of MCPExternalAuthConfig "key" has no effect on an MCPServer outside a group',
        ],
      },
      {
        title: 'an AWS role of an MCPServer',
        kind: 'MCPServer',
        value: workload('aws', 'tools'),
        others: [
          {
            kind: 'MCPExternalAuthConfig',
            metadata: { name: 'aws' },
            spec: {
              type: 'awsSts',
              awsSts: { region: 'eu-central-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools' },
            },
          },
        ],
        findings: [
          'spec.externalAuthConfigRef.name: type awsSts of MCPExternalAuthConfig "aws" makes an MCPServer fail, which has no remote URL',
        ],
      },
      {
        title: 'an upstream token of a proxy alone',
        kind: 'MCPRemoteProxy',
        value: workload('inject'),
        others: [injectConfig('inject', 'okta')],
        findings: [
          'spec.externalAuthConfigRef.name: type upstreamInject of MCPExternalAuthConfig "inject" has no effect on an MCPRemoteProxy outside a group',
        ],
      },
      {
        title: 'an authorization server whose tokens nobody checks',
        kind: 'MCPRemoteProxy',
        value: workload('auth'),
        others: [serverConfig('auth', 'okta')],
        findings: [
          'spec.externalAuthConfigRef.name: type embeddedAuthServer of MCPExternalAuthConfig "auth" needs an `oidcConfigRef` in the MCPRemoteProxy, which checks its tokens; releases do not reconcile it without',
        ],
      },
      {
        title: 'a cross-application access of a proxy alone',
        kind: 'MCPRemoteProxy',
        value: workload('wiki'),
        others: [
          { kind: 'MCPExternalAuthConfig', metadata: { name: 'wiki' }, spec: { type: 'xaa', xaa: {} } },
        ],
        findings: [
          'spec.externalAuthConfigRef.name: type xaa of MCPExternalAuthConfig "wiki" has no effect on an MCPRemoteProxy outside a group',
        ],
      },
      {
        title: 'on behalf of the user, which open-source builds do not do',
        kind: 'MCPServerEntry',
        value: workload('graph', 'tools'),
        others: [
          { kind: 'MCPExternalAuthConfig', metadata: { name: 'graph' }, spec: { type: 'obo', obo: {} } },
        ],
        findings: [
          'spec.externalAuthConfigRef.name: type obo of MCPExternalAuthConfig "graph" is refused by open-source builds of the operator (EnterpriseRequired)',
        ],
      },
      {
        title: 'no authorization server, in the field of releases',
        kind: 'MCPServer',
        value: { spec: { authServerRef: { kind: 'MCPExternalAuthConfig', name: 'key' } } as object },
        others: [headerConfig('key')],
        findings: [
          'spec.authServerRef.name: type headerInjection of MCPExternalAuthConfig "key" cannot be the authorization server of an MCPServer',
        ],
      },
      {
        title: 'a bearer token of an entry',
        kind: 'MCPServerEntry',
        value: workload('token', 'tools'),
        others: [bearerConfig('token')],
        findings: [
          'spec.externalAuthConfigRef.name: type bearerToken of MCPExternalAuthConfig "token" cannot be used for backends by ToolHive releases',
        ],
      },
    ],
  },
})
