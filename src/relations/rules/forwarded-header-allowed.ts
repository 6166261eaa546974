import { defineRule, invalid } from '../../rule/index.ts'
import { forwardedHeaders, isHeaderName, RESTRICTED_HEADERS } from '../../kinds/headers.ts'
import { MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'

const forwarding = (headerForward: object) => ({
  spec: { remoteUrl: 'https://jira.example.com/mcp', headerForward },
})
const REFUSED = {
  MCPRemoteProxy: 'may not be set: the proxy does not start with it; remove it',
  MCPServerEntry: 'may not be set: every gateway loses this backend; remove it',
}

export const forwardedHeaderAllowed = defineRule({
  id: 'forwarded-header-allowed',
  on: [MCPRemoteProxy, MCPServerEntry],
  needs: ['headerForward'],
  severity: 'warning',
  summary: '`headerForward` adds headers of its own: none of the route, of the connection or of a proxy.',
  why: 'The process that adds the headers checks their names, in any case of letters: the container of an MCPRemoteProxy ends at its start, and vMCP cannot call an MCPServerEntry.',
  failure: {
    symptom:
      'CrashLoopBackOff of the proxy, or a backend that is missing from the gateway; the log says that a header "is restricted and cannot be configured for forwarding" or "cannot be forwarded"',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path, self }) {
    if (spec?.headerForward === undefined) return
    const refused = REFUSED[self.kind === 'MCPServerEntry' ? 'MCPServerEntry' : 'MCPRemoteProxy']
    for (const { name, place } of forwardedHeaders(spec.headerForward, path.spec.headerForward)) {
      if (RESTRICTED_HEADERS.has(name.toLowerCase())) yield invalid(place(), name, refused)
      else if (!isHeaderName(name))
        yield invalid(place(), name, "must be the name of a header, such as 'X-Tenant-Id'")
    }
  },
  examples: {
    'headers of its own': {
      value: forwarding({
        addPlaintextHeaders: { 'X-Tenant-Id': 'tools', 'X-Forwarded-Port': '443' },
        addHeadersFromSecret: [
          { headerName: 'Authorization', valueSecretRef: { name: 'jira', key: 'authorization' } },
        ],
      }),
    },
    'the host of a remote server, in a proxy': {
      kind: 'MCPRemoteProxy',
      value: forwarding({ addPlaintextHeaders: { host: 'jira.example.com', 'X Tenant': 'tools' } }),
      findings: [
        `spec.headerForward.addPlaintextHeaders[host]: Invalid value: "host": ${REFUSED.MCPRemoteProxy}`,
        'spec.headerForward.addPlaintextHeaders[X Tenant]: Invalid value: "X Tenant": must be the name of a header, such as \'X-Tenant-Id\'',
      ],
    },
    'a header of proxies, in an entry': {
      kind: 'MCPServerEntry',
      value: forwarding({
        addPlaintextHeaders: { 'X-Forwarded-For': '10.0.0.1' },
        addHeadersFromSecret: [
          { headerName: 'Proxy-Authorization', valueSecretRef: { name: 'jira', key: 'proxy' } },
        ],
      }),
      findings: [
        `spec.headerForward.addPlaintextHeaders[X-Forwarded-For]: Invalid value: "X-Forwarded-For": ${REFUSED.MCPServerEntry}`,
        `spec.headerForward.addHeadersFromSecret[0].headerName: Invalid value: "Proxy-Authorization": ${REFUSED.MCPServerEntry}`,
      ],
    },
  },
})
