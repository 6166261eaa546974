import { advice, defineRule, isAbsent } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { authorizationOf, gatewayOf, PERMIT } from '../index.ts'

export const authorizationConfiguredOnce = defineRule({
  id: 'authorization-configured-once',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  reads: [],
  severity: 'warning',
  summary:
    'Policies are in `authzConfig` or in the MCPAuthzConfig of `authzConfigRef`, and where `authzConfig.type` says.',
  why: 'The CustomResourceDefinitions of releases refuse two places. Where they are not installed, it is not known which policies count.',
  failure: {
    symptom: '`authzConfig and authzConfigRef are mutually exclusive`',
    toldBy: 'API server',
    releases: 'from 0.30 on',
    threads: [],
  },
  sources: ['decision 3'],
  *check(resource) {
    const { holder, path } = authorizationOf(resource) ?? {}
    if (holder === undefined || path === undefined || isAbsent(holder, 'authzConfig')) return
    if (!isAbsent(holder, 'authzConfigRef'))
      yield advice(path.authzConfigRef, 'is refused beside `authzConfig`; keep one of the two')
    const { authzConfig } = holder
    if (authzConfig === undefined) return
    const type = isAbsent(authzConfig, 'type') ? 'configMap' : authzConfig.type
    if (type === undefined) return
    const other = type === 'inline' ? 'configMap' : 'inline'
    if (isAbsent(authzConfig, type))
      yield advice(path.authzConfig[type], `must be set when \`type\` is '${type}'`)
    if (!isAbsent(authzConfig, other))
      yield advice(
        path.authzConfig[other],
        `is refused when \`type\` is '${type}'; remove it or change \`type\``,
      )
  },
  examples: {
    valid: [
      {
        title: 'policies of its own',
        value: { spec: { authzConfig: { type: 'inline', inline: { policies: [PERMIT] } } } },
        kind: 'MCPServer',
      },
      {
        title: 'shared policies',
        value: gatewayOf({
          incomingAuth: {
            type: 'oidc',
            oidcConfigRef: { name: 'corporate', audience: 'tools' },
            authzConfigRef: { name: 'staff' },
          },
        }),
        kind: 'VirtualMCPServer',
      },
      {
        title: 'policies in a ConfigMap',
        value: { spec: { authzConfig: { configMap: { name: 'policies' } } } },
        kind: 'MCPRemoteProxy',
      },
    ],
    invalid: [
      {
        title: 'both',
        kind: 'MCPServer',
        value: {
          spec: {
            authzConfig: { type: 'inline', inline: { policies: [PERMIT] } },
            authzConfigRef: { name: 'staff' },
          },
        },
        findings: ['spec.authzConfigRef: is refused beside `authzConfig`; keep one of the two'],
      },
      {
        title: 'both in a VirtualMCPServer',
        kind: 'VirtualMCPServer',
        value: gatewayOf({
          incomingAuth: {
            type: 'oidc',
            oidcConfigRef: { name: 'corporate', audience: 'tools' },
            authzConfig: { type: 'inline', inline: { policies: [PERMIT] } },
            authzConfigRef: { name: 'staff' },
          },
        }),
        findings: ['spec.incomingAuth.authzConfigRef: is refused beside `authzConfig`; keep one of the two'],
      },
      {
        title: 'policies where the default type does not look',
        kind: 'MCPRemoteProxy',
        value: { spec: { authzConfig: { inline: { policies: [PERMIT] } } } },
        findings: [
          "spec.authzConfig.configMap: must be set when `type` is 'configMap'",
          "spec.authzConfig.inline: is refused when `type` is 'configMap'; remove it or change `type`",
        ],
      },
    ],
  },
})
