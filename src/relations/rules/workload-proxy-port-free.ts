import { defineRule, end, forbidden, isAbsent, nameText, relatedTo } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import { AUTH_CONFIG, authServer, authServersOf, configWith, serving } from '../index.ts'

/** The port of an embedded authorization server with TLS; the operator sets it, and it cannot be configured. */
const TLS_PORT = 8443

const listening = configWith('auth', 'embeddedAuthServer', {
  ...authServer('okta'),
  tlsListener: {
    certificateSecretRef: { name: 'tls', key: 'tls.crt' },
    privateKeySecretRef: { name: 'tls', key: 'tls.key' },
  },
})
const onPort = (proxyPort: number) => ({ spec: { ...serving({}).spec, proxyPort } })

export const workloadProxyPortFree = defineRule({
  id: 'workload-proxy-port-free',
  on: [MCPServer, MCPRemoteProxy],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary: 'The proxy of a workload leaves port 8443 to the `tlsListener` of its authorization server.',
  why: 'Both would listen on one port of the pod: the operator refuses the workload.',
  failure: {
    symptom: '"proxyPort 8443 conflicts with the embedded auth server TLS listener port"',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.62 on',
  },
  sources: ['decision 3'],
  *check(workload, { cluster, self, path }) {
    if (workload.spec?.proxyPort !== TLS_PORT) return
    for (const { server, to } of authServersOf(self.kind, workload, cluster)) {
      if (isAbsent(server, 'tlsListener')) continue
      yield relatedTo(
        forbidden(
          path.spec.proxyPort,
          `may not be ${TLS_PORT}, on which the authorization server of ${nameText(to)} listens with TLS: the operator refuses the workload; use another port`,
        ),
        [end(to, AUTH_CONFIG.spec.embeddedAuthServer.tlsListener, `listens on ${TLS_PORT}`)],
      )
    }
  },
  examples: {
    'another port': { value: onPort(8080), others: [listening] },
    'an authorization server without a listener of its own': {
      value: onPort(TLS_PORT),
      others: [
        {
          ...listening,
          spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') },
        },
      ],
    },
    'one port for both': {
      value: onPort(TLS_PORT),
      others: [listening],
      findings:
        'spec.proxyPort: Forbidden: may not be 8443, on which the authorization server of MCPExternalAuthConfig "auth" listens with TLS: the operator refuses the workload; use another port',
    },
  },
})
