import {
  advice,
  defineRule,
  end,
  forbidden,
  isAbsent,
  namesText,
  nameText,
  relatedTo,
} from '../../rule/index.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  authServersOf,
  configWith,
  heldServersOf,
  ofHolders,
  servedBy,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'workload-proxy-port-free'

/** The port of an embedded authorization server with TLS; the operator sets it, and it cannot be configured. */
const TLS_PORT = 8443

const listening = configWith('auth', 'embeddedAuthServer', {
  ...authServer('okta'),
  tlsListener: {
    certificateSecretRef: { name: 'tls', key: 'tls.crt' },
    privateKeySecretRef: { name: 'tls', key: 'tls.key' },
  },
})
const LISTENER = AUTH_CONFIG.spec.embeddedAuthServer.tlsListener
const isTaken = ({ spec }: Workload): boolean => spec?.proxyPort === TLS_PORT
const onPort = (proxyPort: number) => ({ spec: { ...serving({}).spec, proxyPort } })

export const workloadProxyPortFree = defineRule({
  id: ID,
  on: [MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['proxyPort', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
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
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const holders = heldServersOf(resource, self, cluster)
        .filter(({ server, workload }) => isTaken(workload) && !isAbsent(server, 'tlsListener'))
        .map(({ holder }) => holder)
      if (holders.length === 0) return
      const detail = `listens on port ${TLS_PORT}, the proxyPort of ${namesText(holders, 2)}: the operator refuses the workload; use another proxyPort there`
      yield ofHolders(advice(LISTENER, detail), {
        holders,
        at: WORKLOAD.spec.proxyPort,
        text: `is ${TLS_PORT}`,
        cause: [ID, self.name],
      })
      return
    }
    const workload = resource as Workload
    if (!isTaken(workload)) return
    for (const { server, to } of authServersOf(self.kind, workload, cluster)) {
      if (isAbsent(server, 'tlsListener')) continue
      yield relatedTo(
        forbidden(
          WORKLOAD.spec.proxyPort,
          `may not be ${TLS_PORT}, on which the authorization server of ${nameText(to)} listens with TLS: the operator refuses the workload; use another port`,
        ),
        [end(to, LISTENER, `listens on ${TLS_PORT}`)],
        () => [[ID, to.name]],
      )
    }
  },
  examples: {
    'another port': { kind: 'MCPServer', value: onPort(8080), others: [listening] },
    'another port of a proxy': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: listening.spec },
      others: [servedBy('example', onPort(8080).spec)],
    },
    'an authorization server without a listener of its own': {
      kind: 'MCPServer',
      value: onPort(TLS_PORT),
      others: [
        {
          ...listening,
          spec: { type: 'embeddedAuthServer', embeddedAuthServer: authServer('okta') },
        },
      ],
    },
    'one port for both': {
      kind: 'MCPRemoteProxy',
      value: onPort(TLS_PORT),
      others: [listening],
      findings:
        'spec.proxyPort: Forbidden: may not be 8443, on which the authorization server of MCPExternalAuthConfig "auth" listens with TLS: the operator refuses the workload; use another port',
    },
    'a listener that comes later': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: listening.spec },
      others: [servedBy('example', onPort(TLS_PORT).spec)],
      findings:
        'spec.embeddedAuthServer.tlsListener: listens on port 8443, the proxyPort of MCPRemoteProxy "wiki": the operator refuses the workload; use another proxyPort there',
    },
  },
})
