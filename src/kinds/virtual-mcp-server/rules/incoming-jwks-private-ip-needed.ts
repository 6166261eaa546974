import { nameText } from '../../../rule/cluster.ts'
import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { authServer, gatewayOf, oidcConfig } from '../../between/examples.ts'
import { getOidcConfig, oidcConfigNamed } from '../../between/related-resources.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingJwksPrivateIpNeeded = defineRule({
  id: 'incoming-jwks-private-ip-needed',
  on: VirtualMCPServer,
  reads: ['MCPOIDCConfig'],
  severity: 'warning',
  summary: 'Beside an embedded authorization server, the MCPOIDCConfig does not set `jwksAllowPrivateIP`.',
  why: 'Keys are fetched in-process then; the setting only opens the way to private addresses.',
  sources: [
    { section: '2.3', says: 'jwksAllowPrivateIP is not needed beside an embedded authorization server.' },
    'decision 21',
  ],
  *check({ spec }, { path, cluster }) {
    const name = spec?.incomingAuth?.oidcConfigRef?.name
    if (name === undefined || spec?.authServerConfig === undefined) return
    const config = getOidcConfig(cluster, name)?.spec
    if (config?.inline?.jwksAllowPrivateIP !== true && config?.jwksAllowPrivateIP !== true) return
    yield advice(
      path.spec.incomingAuth.oidcConfigRef.name,
      `${nameText(oidcConfigNamed(name))} sets jwksAllowPrivateIP, which authServerConfig does not need`,
    )
  },
  examples: {
    valid: [
      {
        title: 'not set',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [oidcConfig('corporate')],
      },
    ],
    invalid: [
      {
        title: 'set beside the issuer',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          {
            kind: 'MCPOIDCConfig',
            metadata: { name: 'corporate' },
            spec: {
              type: 'inline',
              inline: { issuer: 'https://auth.example.com', jwksAllowPrivateIP: true },
            },
          },
        ],
        findings: [
          'spec.incomingAuth.oidcConfigRef.name: MCPOIDCConfig "corporate" sets jwksAllowPrivateIP, which authServerConfig does not need',
        ],
      },
    ],
  },
})
