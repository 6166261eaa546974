import { advice, defineRule, end, isAbsent, nameText, relatedTo, says } from '../../rule/index.ts'
import { issuing } from '../../kinds/mcp-oidc-config/examples.ts'
import { MCPOIDCConfig, VirtualMCPServer } from '../../kinds/schemas.ts'
import { authServer, gateway, GATEWAY, gatewayOf, OIDC_CONFIG, oidcConfig, validationOf } from '../index.ts'

const UNUSED =
  'vMCP trusts only the CAs of the system up to 0.40: if another CA signs the issuer, all callers get 401; update the operator'

const signed = issuing('https://auth.example.com', {
  caBundleRef: { configMapRef: { name: 'ca', key: 'ca.crt' } },
})
const corporate = { ...oidcConfig('corporate'), ...signed }

export const incomingCaBundleUsed = defineRule({
  id: 'incoming-ca-bundle-used',
  on: [VirtualMCPServer, MCPOIDCConfig],
  needs: ['incomingAuth', 'inline'],
  reads: ['VirtualMCPServer', 'MCPOIDCConfig'],
  appliesTo: { to: '0.40' },
  severity: 'warning',
  summary: 'A VirtualMCPServer uses the `caBundleRef` of its MCPOIDCConfig.',
  why: 'Up to release 0.40 the ConfigMap is mounted, and vMCP never reads it: it cannot fetch the keys of an issuer with a certificate of another CA, and refuses each caller. MCPServers and MCPRemoteProxies read it.',
  failure: {
    symptom: 'every request gets 401; the log says `x509: certificate signed by unknown authority`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    releases: 'up to 0.40',
    threads: ['stacklok/toolhive#4918', 'stacklok/toolhive#4923'],
  },
  sources: [says('5.1', 'JWT: check issuer, audience, expiry, signature.'), 'decision 3'],
  *check(resource, { cluster, self }) {
    const validation = validationOf(resource, self, cluster)
    if (validation === undefined) return
    const { config, named, gateway } = validation
    const inline = config.spec?.type === 'inline' ? config.spec.inline : undefined
    if (inline === undefined || isAbsent(inline, 'caBundleRef')) return
    const bundle = OIDC_CONFIG.spec.inline.caBundleRef
    const reference = GATEWAY.spec.incomingAuth.oidcConfigRef.name
    const [error, other] =
      self.kind === 'VirtualMCPServer'
        ? [
            advice(reference, `${nameText(named)} has caBundleRef: ${UNUSED}`),
            end(named, bundle, 'names the CA'),
          ]
        : [advice(bundle, UNUSED), end(gateway, reference, 'fetches the keys')]
    yield relatedTo(error, [other], () => [['unused CA', named.name]])
  },
  examples: {
    'without another CA': { kind: 'VirtualMCPServer', value: gatewayOf(), others: [oidcConfig('corporate')] },
    'a VirtualMCPServer that issues the tokens': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [corporate],
    },
    'the CA of the company': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [corporate],
      findings: `spec.incomingAuth.oidcConfigRef.name: MCPOIDCConfig "corporate" has caBundleRef: ${UNUSED}`,
    },
    'the MCPOIDCConfig comes later': {
      kind: 'MCPOIDCConfig',
      value: signed,
      others: [
        gateway('vmcp', {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example', audience: 'vmcp' } },
        }),
      ],
      findings: `spec.inline.caBundleRef: ${UNUSED}`,
    },
  },
})
