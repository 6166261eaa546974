import { advice, defineRule, isAbsent } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { authorizationOf, gatewayOf, PERMIT, policiesInline } from '../index.ts'

export const authorizationConfiguredOnce = defineRule({
  id: 'authorization-configured-once',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  severity: 'warning',
  summary:
    'Policies are in one place: in the MCPAuthzConfig of `authzConfigRef`, or in the field of `authzConfig` that its `type` names.',
  why: 'The CustomResourceDefinitions of releases refuse a resource with policies in two places. Where they are not installed, it is not known which policies apply.',
  failure: {
    symptom: '`authzConfig and authzConfigRef are mutually exclusive`',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.30 on',
  },
  sources: ['decision 3'],
  *check(resource, { self }) {
    const { holder, path } = authorizationOf(self.kind, resource) ?? {}
    if (holder === undefined || path === undefined || isAbsent(holder, 'authzConfig')) return
    if (!isAbsent(holder, 'authzConfigRef'))
      yield advice(
        path.authzConfigRef,
        'the CRDs of releases refuse a resource with this beside `authzConfig`; keep one of the two',
      )
    const { authzConfig } = holder
    if (authzConfig === undefined) return
    const type = isAbsent(authzConfig, 'type') ? 'configMap' : authzConfig.type
    if (type === undefined) return
    const other = type === 'inline' ? 'configMap' : 'inline'
    if (isAbsent(authzConfig, type))
      yield advice(
        path.authzConfig[type],
        `must be set when \`type\` is '${type}', or the CRDs of releases refuse the resource`,
      )
    if (!isAbsent(authzConfig, other))
      yield advice(
        path.authzConfig[other],
        `the CRDs of releases refuse a resource with this when \`type\` is '${type}'; remove it or change \`type\``,
      )
  },
  examples: {
    'policies of its own': {
      value: { spec: { authzConfig: policiesInline(PERMIT) } },
      kind: 'MCPServer',
    },
    'shared policies': {
      value: gatewayOf({
        incomingAuth: {
          type: 'oidc',
          oidcConfigRef: { name: 'corporate', audience: 'tools' },
          authzConfigRef: { name: 'staff' },
        },
      }),
      kind: 'VirtualMCPServer',
    },
    'policies in a ConfigMap': {
      value: { spec: { authzConfig: { configMap: { name: 'policies' } } } },
      kind: 'MCPRemoteProxy',
    },
    both: {
      kind: 'MCPServer',
      value: {
        spec: {
          authzConfig: policiesInline(PERMIT),
          authzConfigRef: { name: 'staff' },
        },
      },
      findings:
        'spec.authzConfigRef: the CRDs of releases refuse a resource with this beside `authzConfig`; keep one of the two',
    },
    'both in a VirtualMCPServer': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        incomingAuth: {
          type: 'oidc',
          oidcConfigRef: { name: 'corporate', audience: 'tools' },
          authzConfig: policiesInline(PERMIT),
          authzConfigRef: { name: 'staff' },
        },
      }),
      findings:
        'spec.incomingAuth.authzConfigRef: the CRDs of releases refuse a resource with this beside `authzConfig`; keep one of the two',
    },
    'policies where the default type does not look': {
      kind: 'MCPRemoteProxy',
      value: { spec: { authzConfig: { inline: { policies: [PERMIT] } } } },
      findings: [
        "spec.authzConfig.configMap: must be set when `type` is 'configMap', or the CRDs of releases refuse the resource",
        "spec.authzConfig.inline: the CRDs of releases refuse a resource with this when `type` is 'configMap'; remove it or change `type`",
      ],
    },
  },
})
