import { advice, defineRule, type FieldError, type Fix } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  authServer,
  GATEWAY,
  type Gateway,
  gatewayOf,
  PERMIT,
  policiesInline,
  withPolicies,
  type Workload,
} from '../index.ts'
import { WORKLOAD } from '../ends.ts'

const DEPRECATED =
  'deprecated since release 0.29: move it to `authServerConfig.primaryUpstreamProvider`, which newer releases read'
const SECOND =
  'is not read beside `authServerConfig.primaryUpstreamProvider`, and deprecated since release 0.29; remove it'
const unused = (kind: string) =>
  `has no effect on an ${kind}, and is deprecated since release 0.29; remove it`

export const primaryUpstreamProviderInAuthServer = defineRule({
  id: 'primary-upstream-provider-in-auth-server',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['authzConfig', 'incomingAuth'],
  appliesTo: { from: '0.29', orUnknown: true },
  severity: 'advice',
  summary: '`primaryUpstreamProvider` is in `authServerConfig`, not in the inline policies.',
  why: 'Releases from 0.29 on read the older place of a VirtualMCPServer where the newer one is empty, with an event AuthzPrimaryUpstreamProviderDeprecated, and are to stop. Workloads have never read it.',
  sources: ['decision 3', 'decision 21'],
  *check(resource, { self }) {
    if (self.kind !== 'VirtualMCPServer') {
      const { spec }: Workload = resource
      if (spec?.authzConfig?.inline?.primaryUpstreamProvider === undefined) return
      const at = WORKLOAD.spec.authzConfig.inline.primaryUpstreamProvider
      const fix = removal(['authzConfig', 'inline', 'primaryUpstreamProvider'])
      yield { ...advice(at, unused(self.kind)), fix }
      return
    }
    const { spec } = resource as Gateway
    const older = spec?.incomingAuth?.authzConfig?.inline?.primaryUpstreamProvider
    const server = spec?.authServerConfig
    // When `authServerConfig` is missing, another rule reports that `primaryUpstreamProvider` needs it.
    if (older === undefined || server === undefined) return
    const at = GATEWAY.spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider
    if (server.primaryUpstreamProvider !== undefined && server.primaryUpstreamProvider !== '')
      yield { ...advice(at, SECOND), fix: removal(OLDER) }
    else if (Object.hasOwn(server, 'primaryUpstreamProvider')) yield advice(at, DEPRECATED)
    else yield movedTo(advice(at, DEPRECATED))
  },
  examples: {
    'in the authorization server': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: { ...authServer('okta', 'github'), primaryUpstreamProvider: 'github' },
        incomingAuth: withPolicies(),
      }),
    },
    'policies of a workload': {
      kind: 'MCPServer',
      value: { spec: { authzConfig: policiesInline(PERMIT) } },
    },
    'in the inline policies': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        incomingAuth: withPolicies({ primaryUpstreamProvider: 'github' }),
      }),
      findings: `spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider: ${DEPRECATED}`,
    },
    'in both': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: { ...authServer('okta', 'github'), primaryUpstreamProvider: 'okta' },
        incomingAuth: withPolicies({ primaryUpstreamProvider: 'github' }),
      }),
      findings: `spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider: ${SECOND}`,
    },
    ...Object.fromEntries(
      (['MCPServer', 'MCPRemoteProxy'] as const).map((kind) => [
        `in the policies of an ${kind}`,
        {
          kind,
          value: {
            spec: {
              authzConfig: {
                type: 'inline' as const,
                inline: { policies: [PERMIT], primaryUpstreamProvider: 'okta' },
              },
            },
          },
          findings: `spec.authzConfig.inline.primaryUpstreamProvider: ${unused(kind)}`,
        },
      ]),
    ),
  },
})

const OLDER = ['incomingAuth', 'authzConfig', 'inline', 'primaryUpstreamProvider']

const removal = (from: readonly string[]): Fix => ({
  title: 'remove it',
  edits: [{ op: 'move', at: ['spec'], moves: [{ from }], adds: [] }],
})

const movedTo = (error: FieldError): FieldError => ({
  ...error,
  fix: {
    title: 'move it to `authServerConfig`',
    edits: [
      {
        op: 'move',
        at: ['spec'],
        moves: [{ from: OLDER, to: ['authServerConfig', 'primaryUpstreamProvider'] }],
        adds: [],
      },
    ],
  },
})
