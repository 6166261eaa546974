import { advice, defineRule } from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { backend, gateway, NAME } from '../index.ts'

/** The start and the end that the operator adds to the name of the object, for the name of its Service. */
const SERVICES: Readonly<Record<string, readonly [start: string, end: string]>> = {
  MCPRemoteProxy: ['mcp-', '-remote-proxy'],
  MCPServer: ['mcp-', '-proxy'],
  VirtualMCPServer: ['vmcp-', ''],
}

/** The most characters of the name of a Service, which has no dots (RFC 1035). */
const LONGEST = 63

export const serviceNameValid = defineRule({
  id: 'service-name-valid',
  on: [MCPServer, MCPRemoteProxy, VirtualMCPServer],
  when: 'change',
  severity: 'warning',
  summary:
    'The name of a new object makes a valid name of a Service: no dots, and at most 63 characters with what the operator adds.',
  why: 'The API server takes dots and 253 characters in the name of the object; the operator then cannot make the Service, and nobody reaches the server. Names cannot be changed later.',
  failure: {
    symptom:
      'the log of the operator says that the Service is invalid: `must be no more than 63 characters`, `a DNS-1035 label must consist of …`',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: ['decision 3'],
  *check({ metadata: { name = '', generateName } = {} }, { self, old }) {
    const added = SERVICES[self.kind]
    // Other characters are those of a placeholder, or the API server refuses the name.
    if (added === undefined || generateName || old() !== undefined || !/^[a-z0-9.-]+$/.test(name)) return
    const [start, end] = added
    const most = LONGEST - start.length - end.length
    const isLong = name.length > most
    if (!isLong && !name.includes('.')) return
    const remedy = isLong ? `use at most ${most} characters` : 'use no dots'
    yield advice(
      NAME,
      `the operator cannot make the Service ${start}…${end} for it, so nobody reaches the server; ${remedy}`,
    )
  },
  examples: {
    'a label': { kind: 'MCPServer', value: called('jira-1', 'MCPServer') },
    'the longest': { kind: 'MCPRemoteProxy', value: called('x'.repeat(46), 'MCPRemoteProxy') },
    'an object that has its name already': {
      kind: 'MCPServer',
      value: called('jira.tools', 'MCPServer'),
      old: called('jira.tools', 'MCPServer'),
    },
    'a dot': {
      kind: 'MCPServer',
      value: called('jira.tools', 'MCPServer'),
      findings:
        'metadata.name: the operator cannot make the Service mcp-…-proxy for it, so nobody reaches the server; use no dots',
    },
    'a long name of a proxy': {
      kind: 'MCPRemoteProxy',
      value: called('x'.repeat(47), 'MCPRemoteProxy'),
      findings:
        'metadata.name: the operator cannot make the Service mcp-…-remote-proxy for it, so nobody reaches the server; use at most 46 characters',
    },
    'a dot in the name of a VirtualMCPServer': {
      kind: 'VirtualMCPServer',
      value: { ...(gateway('tools.vmcp') as object) },
      findings:
        'metadata.name: the operator cannot make the Service vmcp-… for it, so nobody reaches the server; use no dots',
    },
  },
})

/** A workload of the kind with this name. */
function called(name: string, kind: string): object {
  return { ...backend(name, undefined, kind) }
}
