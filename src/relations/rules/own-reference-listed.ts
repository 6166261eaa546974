import {
  aboutEach,
  advice,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  relatedTo,
  type Thing,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  authConfigNamed,
  backend,
  bearerConfig,
  exchangeConfig,
  frontersOf,
  GATEWAY,
  type Gateway,
  gateway,
  gatewayOf,
  groupOf,
  headerConfig,
  inline,
  type OwnReference,
  ownReferenceOf,
  ownReferences,
  REACHED_KINDS,
  workload,
  type Workload,
} from '../index.ts'
import { WORKLOAD } from '../ends.ts'

const ID = 'own-reference-listed'

export const ownReferenceListed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['outgoingAuth', 'externalAuthConfigRef'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'A VirtualMCPServer with the source `inline` lists each backend that has an `externalAuthConfigRef`.',
  why: 'Releases use the reference of a backend that is not listed, before the default; the specification does not. Up to release 0.56 they do not give the process the Secret of such a configuration, which then ends at its start.',
  failure: {
    symptom: 'CrashLoopBackOff of vMCP; the log says `backend …: environment variable … not set`',
    toldBy: 'start-up',
    releases: 'up to 0.56',
    threads: ['stacklok/toolhive#6837'],
  },
  sources: [
    { section: '5.2', says: 'inline: backends that are not in the map receive unauthenticated requests.' },
    'decision 10',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'VirtualMCPServer') {
      const gateway = resource as Gateway
      for (const own of ownReferences(gateway, cluster)) yield ofGateway(own)
      return
    }
    const workload: Workload = resource
    const { spec } = workload
    const config = spec?.externalAuthConfigRef?.name
    const group = groupOf(workload)
    if (config === undefined || group === undefined) return
    for (const { name, gateway } of frontersOf(group, cluster))
      for (const own of ownReferenceOf(gateway, self, config, cluster)) yield ofWorkload(own, name)
  },
  examples: {
    valid: [
      {
        title: 'each backend is listed',
        kind: 'VirtualMCPServer',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
        others: [backend('jira', 'other'), headerConfig('key'), headerConfig('other')],
      },
      {
        title: 'the default is the same configuration',
        kind: 'VirtualMCPServer',
        value: gatewayOf({ outgoingAuth: inline({}, 'key') }),
        others: [backend('jira', 'key'), headerConfig('key')],
      },
      {
        title: 'each backend chooses',
        kind: 'MCPRemoteProxy',
        value: workload('key', 'tools'),
        others: [gateway('tools'), headerConfig('key')],
      },
    ],
    invalid: [
      {
        title: 'a key in a Secret, of a backend that is not listed',
        kind: 'VirtualMCPServer',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'jira' }) }),
        others: [backend('jira'), backend('wiki', 'key'), exchangeConfig('jira'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth.backends: list MCPServer "wiki": the specification has no credentials for it, releases use its own MCPExternalAuthConfig "key", and up to 0.56 end at start, as that Secret is not mounted',
        ],
      },
      {
        title: 'an exchange, where the default is another one',
        kind: 'VirtualMCPServer',
        value: gatewayOf({ outgoingAuth: inline({}, 'all') }),
        others: [backend('jira', 'jira', 'MCPServerEntry'), exchangeConfig('jira'), exchangeConfig('all')],
        findings: [
          'spec.outgoingAuth.backends: list MCPServerEntry "jira": the specification has the default for it, releases use its own MCPExternalAuthConfig "jira"',
        ],
      },
      {
        title: 'the same, of the backend',
        kind: 'MCPServer',
        value: workload('key', 'tools'),
        others: [gateway('tools', { outgoingAuth: inline({ jira: 'other' }) }), headerConfig('key')],
        findings: [
          'spec.externalAuthConfigRef: list it in VirtualMCPServer "tools": the specification has no credentials for it, releases use this reference, and up to 0.56 end at start, as that Secret is not mounted',
        ],
      },
      {
        title: 'a bearer token of a proxy, for which releases have no strategy',
        kind: 'MCPRemoteProxy',
        value: workload('token', 'tools'),
        others: [gateway('tools', { outgoingAuth: inline({}, 'other') }), bearerConfig('token')],
        findings: [
          'spec.externalAuthConfigRef: list it in VirtualMCPServer "tools": the specification has the default for it, releases leave it out: they cannot use this reference',
        ],
      },
      {
        title: 'the same, of an entry, where the default is another one',
        kind: 'MCPServerEntry',
        value: workload('key', 'tools'),
        others: [gateway('tools', { outgoingAuth: inline({}, 'other') }), exchangeConfig('key')],
        findings: [
          'spec.externalAuthConfigRef: list it in VirtualMCPServer "tools": the specification has the default for it, releases use this reference',
        ],
      },
    ],
  },
})

const IS_NOT_MOUNTED = 'as that Secret is not mounted'

/** The effect, where the releases say one thing and the specification another. */
function effect({ specified, isLeftOut, endsPod }: OwnReference, used: string): string {
  if (specified === undefined)
    return `this release uses ${used}, and ends at start: "environment variable … not set", ${IS_NOT_MOUNTED}`
  const has = specified === 'none' ? 'no credentials' : 'the default'
  const ends = endsPod ? `, and up to 0.56 end at start, ${IS_NOT_MOUNTED}` : ''
  const does = isLeftOut ? `leave it out: they cannot use ${used}` : `use ${used}`
  return `the specification has ${has} for it, releases ${does}${ends}`
}

function ofGateway(own: OwnReference): FieldError {
  const { config, members } = own
  const used = `its own ${nameText(authConfigNamed(config))}`
  const text = `list ${namesText(members, 2)}: ${effect(own, used)}`
  const error = aboutEach(advice(GATEWAY.spec.outgoingAuth.backends, text), () =>
    members.map(({ kind, name }) => [ID, kind, name] as const),
  )
  const ends = members.slice(0, 4).map((each) => end(each, WORKLOAD.spec.externalAuthConfigRef, 'names it'))
  return relatedTo(error, ends, () => members.map(cause))
}

function ofWorkload(own: OwnReference, gateway: ObjectName): FieldError {
  const text = `list it in ${nameText(gateway)}: ${effect(own, 'this reference')}`
  const error = aboutEach(advice(WORKLOAD.spec.externalAuthConfigRef, text), () => [[ID, gateway.name]])
  const ends = [end(gateway, GATEWAY.spec.outgoingAuth, 'does not list it')]
  return relatedTo(error, ends, () => own.members.map(cause))
}

const cause = ({ kind, name }: ObjectName): Thing => ['own reference not listed', kind, name]
