import { advice, defineRule, end, nameText, relatedTo, says } from '../../../rule/index.ts'
import {
  authServer,
  gatewayOf,
  getOidcConfig,
  OIDC_CONFIG,
  oidcConfig,
  oidcConfigNamed,
  otherOf,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingJwksPrivateIpNeeded = defineRule({
  id: 'incoming-jwks-private-ip-needed',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  reads: ['MCPOIDCConfig'],
  severity: 'advice',
  summary: 'Beside an embedded authorization server, the MCPOIDCConfig does not set `jwksAllowPrivateIP`.',
  why: 'Keys are fetched in-process then; the setting only opens the way to private addresses.',
  sources: [
    says('2.3', 'jwksAllowPrivateIP is not needed beside an embedded authorization server.'),
    'decision 21',
  ],
  *check({ spec }, { path, cluster }) {
    const name = spec?.incomingAuth?.oidcConfigRef?.name
    if (name === undefined || spec?.authServerConfig === undefined) return
    const config = getOidcConfig(cluster, name)?.spec
    const isInline = config?.inline?.jwksAllowPrivateIP === true
    if (!isInline && config?.jwksAllowPrivateIP !== true) return
    const named = oidcConfigNamed(name)
    const { spec: at } = OIDC_CONFIG
    yield relatedTo(
      advice(
        path.spec.incomingAuth.oidcConfigRef.name,
        `${nameText(named)} sets jwksAllowPrivateIP, which authServerConfig does not need`,
      ),
      [end(named, isInline ? at.inline.jwksAllowPrivateIP : at.jwksAllowPrivateIP, 'is set')],
    )
  },
  examples: {
    'not set': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [oidcConfig('corporate')],
    },
    'set beside the issuer': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        otherOf('MCPOIDCConfig', 'corporate', {
          type: 'inline',
          inline: { issuer: 'https://auth.example.com', jwksAllowPrivateIP: true },
        }),
      ],
      findings:
        'spec.incomingAuth.oidcConfigRef.name: MCPOIDCConfig "corporate" sets jwksAllowPrivateIP, which authServerConfig does not need',
    },
  },
})
