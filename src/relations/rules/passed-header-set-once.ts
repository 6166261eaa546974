import {
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  type ObjectName,
  namesText,
  pathTo,
  relatedTo,
  shortQuote,
  type ErrorSubject,
} from '../../rule/index.ts'
import { forwardedHeaders } from '../../kinds/headers.ts'
import { MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import { passedHeaders } from '../../kinds/virtual-mcp-server/passed-headers.ts'
import {
  backend,
  frontersOf,
  GATEWAY,
  type Gateway,
  gateway,
  gatewayOf,
  getWorkload,
  groupOf,
  membersOf,
  otherOf,
  type Workload,
} from '../index.ts'

const ID = 'passed-header-set-once'
const API_KEY = {
  addHeadersFromSecret: [{ headerName: 'x-api-key', valueSecretRef: { name: 'jira', key: 'api-key' } }],
}
const TENANT = { addPlaintextHeaders: { 'X-Tenant-Id': 'tools' } }
const entrySpec = (headerForward: object) => ({
  groupRef: { name: 'tools' },
  remoteUrl: 'https://jira.example.com/mcp',
  headerForward,
})
const entry = (name: string, headerForward: object) =>
  otherOf('MCPServerEntry', name, entrySpec(headerForward))

export const passedHeaderSetOnce = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServerEntry],
  needs: ['passthroughHeaders', 'config', 'headerForward'],
  reads: ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'],
  severity: 'warning',
  summary:
    'A header in `passthroughHeaders` is not set by `headerForward` of an MCPServerEntry of the group.',
  why: 'The gateway does not choose between the header of the client and that of the entry: a call that comes with the header fails. Calls without it work, so that nobody sees it at first.',
  failure: {
    symptom:
      'calls of one backend fail when clients send a header; the log says that a "forwarded header … collides with the backend\'s static header-forward config"',
    reportedBy: 'nobody',
    consequence: 'degrades',
    releases: 'from 0.30 on',
  },
  sources: ['decision 9', 'decision 21'],
  check(resource, { cluster, self }) {
    return self.kind === 'VirtualMCPServer'
      ? passedBy(resource as Gateway, cluster)
      : setBy(resource, self, cluster)
  },
  examples: {
    'another header': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ passthroughHeaders: ['X-Request-Id'] }),
      others: [entry('jira', API_KEY)],
    },
    'a proxy, which sets its header in place of that of the client': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ passthroughHeaders: ['X-Api-Key'] }),
      others: [{ ...backend('jira', undefined, 'MCPRemoteProxy'), spec: entrySpec(API_KEY) }],
    },
    'an entry of another group': {
      kind: 'MCPServerEntry',
      value: { spec: { ...entrySpec(TENANT), groupRef: { name: 'other' } } },
      others: [gateway('tools', { passthroughHeaders: ['X-Tenant-Id'] })],
    },
    'a key of the client, and of the entry': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ passthroughHeaders: ['X-Request-Id', 'X-Api-Key'] }),
      others: [entry('jira', API_KEY)],
      findings:
        'spec.passthroughHeaders[1]: MCPServerEntry "jira" sets "x-api-key" in `headerForward`, so calls to such an entry fail when clients send the header; remove it here or from `headerForward`',
    },
    'the same, of an entry': {
      kind: 'MCPServerEntry',
      value: { spec: entrySpec(TENANT) },
      others: [gateway('tools', { config: { passthroughHeaders: ['x-tenant-id'] } })],
      findings:
        'spec.headerForward.addPlaintextHeaders[X-Tenant-Id]: VirtualMCPServer "tools" passes on this header of clients, so calls with it fail; remove it here or from `passthroughHeaders`',
    },
  },
})

interface Setter {
  readonly name: ObjectName
  readonly header: string
  readonly place: () => ReturnType<typeof pathTo>
}

/** Advice at a VirtualMCPServer about each forwarded client header that an MCPServerEntry of its group also sets. */
function* passedBy(gateway: Gateway, cluster: Cluster): Iterable<FieldError> {
  const [headers, path] = passedHeaders(gateway.spec)
  const group = groupOf(gateway)
  if (headers.length === 0 || group === undefined) return
  const setters = new Map<string, Setter[]>(headers.map((header) => [header?.toLowerCase() ?? '', []]))
  for (const name of membersOf(cluster, group)) {
    const entry = name.kind === 'MCPServerEntry' ? getWorkload(cluster, name) : undefined
    for (const { name: header, place } of entry === undefined ? [] : headersOf(entry)) {
      const found = setters.get(header.toLowerCase())
      if (found !== undefined && found.at(-1)?.name !== name) found.push({ name, header, place })
    }
  }
  for (const [i, header] of headers.entries()) {
    const found = setters.get(header?.toLowerCase() ?? '') ?? []
    const [first] = found
    if (header === undefined || first === undefined) continue
    const names = found.map(({ name }) => name)
    const text = `${namesText(names)} ${names.length === 1 ? 'sets' : 'set'} ${shortQuote(first.header)} in \`headerForward\`, so calls to such an entry fail when clients send the header; remove it here or from \`headerForward\``
    const error = aboutEach(advice(path.at(i), text), () =>
      names.map(({ name }) => [ID, header.toLowerCase(), name] as const),
    )
    yield relatedTo(
      error,
      found.slice(0, 4).map(({ name, place }) => end(name, place(), 'sets it')),
      () => names.map(({ name }) => cause(name, header)),
    )
  }
}

/**
 * Advice at an MCPServerEntry about each header that it sets although a VirtualMCPServer of its group forwards the
 * same header from clients.
 */
function* setBy(entry: Workload, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const group = groupOf(entry)
  if (group === undefined || !('headerForward' in (entry.spec ?? {}))) return
  const passing = new Map<string, ObjectName[]>()
  for (const { name, gateway } of frontersOf(group, cluster)) {
    for (const header of passedHeaders(gateway.spec)[0]) {
      const key = header?.toLowerCase() ?? ''
      const names = passing.get(key)
      if (names === undefined) passing.set(key, [name])
      else if (names.at(-1) !== name) names.push(name)
    }
  }
  if (passing.size === 0) return
  for (const { name, place } of headersOf(entry)) {
    const names = passing.get(name.toLowerCase())
    if (names === undefined) continue
    const passes = names.length === 1 ? 'passes' : 'pass'
    const text = `${namesText(names)} ${passes} on this header of clients, so calls with it fail; remove it here or from \`passthroughHeaders\``
    const error = aboutEach(advice(place(), text), () =>
      names.map((each) => [ID, name.toLowerCase(), each.name] as const),
    )
    const ends = names.slice(0, 4).map((each) => end(each, GATEWAY.spec.passthroughHeaders, 'passes it on'))
    yield relatedTo(error, ends, () => [cause(self.name, name)])
  }
}

const cause = (entry: string, header: string): ErrorSubject => [
  'header set twice',
  entry,
  header.toLowerCase(),
]

function headersOf({ spec }: Workload) {
  const { headerForward } = (spec ?? {}) as {
    readonly headerForward?: Parameters<typeof forwardedHeaders>[0]
  }
  return headerForward === undefined ? [] : forwardedHeaders(headerForward, pathTo(['spec', 'headerForward']))
}
