import { type Cluster, namesText, nameText, type ObjectName } from '../../../rule/cluster.ts'
import { aboutEach, advice, end, relatedTo, type FieldError } from '../../../rule/field-error.ts'
import { isAbsent } from '../../../rule/resource.ts'
import { defineRule, type Other } from '../../../rule/rule.ts'
import { backend, gatewayOf, headerConfig, inline } from '../../between/examples.ts'
import {
  addsHeaderFromSecret,
  authConfigNamed,
  getWorkload,
  hasNoStrategy,
} from '../../between/related-resources.ts'
import { configsReached, REACHED_KINDS, sourceOf, withoutStrategy } from '../../between/reach.ts'
import { VirtualMCPServer } from '../schema.ts'
import { NAME, withoutCredentialsCause } from '../../between/ends.ts'

const REFUSED = 'workloads that check tokens (`oidcConfigRef`) answer 401, and their tools are missing'

const thing = ({ kind, name }: ObjectName) => ['backend-credentials-configured', kind, name] as const

/** Whether a workload refuses callers without a token. */
function checksTokens(member: ObjectName, cluster: Cluster): boolean {
  const { spec } = getWorkload(cluster, member) ?? {}
  return member.kind !== 'MCPServerEntry' && spec !== undefined && !isAbsent(spec, 'oidcConfigRef')
}

/** A workload of the group that checks the tokens of its callers. */
const checking = (name: string, config?: string): Other => ({
  ...backend(name, config),
  spec: {
    ...(backend(name, config).spec as object),
    oidcConfigRef: { name: 'corporate', audience: name },
  },
})

/** The warning with the backends that it tells of. */
const withEnds = (warning: FieldError, members: readonly ObjectName[]): FieldError =>
  relatedTo(
    aboutEach(warning, () => members.map(thing)),
    members.slice(0, 3).map((member) => end(member, NAME, 'gets no credentials')),
    () => members.map(withoutCredentialsCause),
  )

export const backendCredentialsConfigured = defineRule({
  id: 'backend-credentials-configured',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary: 'Every backend of the group has a strategy; type `unauthenticated` says that none is needed.',
  why: 'The backend is contacted without credentials, and nobody may have meant that. A workload with `oidcConfigRef` answers 401 then, and the VirtualMCPServer offers none of its tools.',
  failure: {
    symptom: 'the gateway is ready and serves zero tools; the backend answers 401',
    toldBy: 'nobody',
    threads: ['mitodl/ol-infrastructure#5295'],
  },
  sources: [
    {
      section: '5.2',
      says: 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.',
    },
    { section: '5.2', says: 'inline: backends that are not in the map receive unauthenticated requests.' },
    { section: '7', says: 'A backend not listed under inline outgoing authentication gets no credentials.' },
    'decision 21',
  ],
  *check(gateway, { path, cluster }) {
    const at = path.spec.outgoingAuth
    for (const { config, auth, members } of configsReached(gateway, cluster)) {
      if (auth?.spec?.type !== 'unauthenticated') continue
      const refusing = members.filter((member) => checksTokens(member, cluster))
      if (refusing.length === 0) continue
      const detail = `type unauthenticated sends no token; ${REFUSED}: ${namesText(refusing, 2)}, by ${nameText(authConfigNamed(config))}`
      yield withEnds(advice(at, detail), refusing)
    }
    if (hasNoStrategy(gateway)) return
    const without = Object.groupBy(withoutStrategy(gateway, cluster), (member) =>
      checksTokens(member, cluster) ? 'refusing' : 'others',
    )
    const isDiscovered = sourceOf(gateway) === 'discovered'
    const { refusing = [] } = without
    const others = (without.others ?? []).filter(
      (member) => !addsHeaderFromSecret(getWorkload(cluster, member) ?? {}),
    )
    if (refusing.length > 0) {
      const remedy = isDiscovered
        ? 'set `externalAuthConfigRef` in the workload'
        : 'list the workload, or set a `default`'
      const detail = `${remedy}; without a token, ${REFUSED}: ${namesText(refusing)}`
      yield withEnds(advice(isDiscovered ? at : at.backends, detail), refusing)
    }
    if (others.length === 0) return
    const detail = isDiscovered
      ? `without \`externalAuthConfigRef\` there are no credentials for ${namesText(others)}`
      : `not listed, and no \`default\` names a configuration; there are no credentials for ${namesText(others)}`
    yield withEnds(advice(isDiscovered ? at : at.backends, detail), others)
  },
  examples: {
    valid: [
      {
        title: 'discovered: a reference in each backend',
        value: gatewayOf(),
        others: [backend('jira', 'key'), headerConfig('key')],
      },
      {
        title: 'inline: an entry, and a default for the others',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }, 'key') }),
        others: [backend('jira'), backend('wiki'), headerConfig('key')],
      },
      {
        title: 'discovered: an entry whose credential is a header that it adds itself',
        value: gatewayOf(),
        others: [
          {
            ...backend('jira', undefined, 'MCPServerEntry'),
            spec: {
              groupRef: { name: 'tools' },
              headerForward: {
                addHeadersFromSecret: [
                  { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
                ],
              },
            },
          },
        ],
      },
      {
        title: 'inline: nothing at all, which another rule tells without looking at the group',
        value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {} } }),
        others: [backend('jira')],
      },
    ],
    invalid: [
      {
        title: 'discovered: a backend that checks tokens',
        value: gatewayOf(),
        others: [checking('wiki')],
        findings: [
          'spec.outgoingAuth: set `externalAuthConfigRef` in the workload; without a token, workloads that check tokens (`oidcConfigRef`) answer 401, and their tools are missing: MCPServer "wiki"',
        ],
      },
      {
        title: 'inline: a backend that checks tokens',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
        others: [backend('jira'), checking('wiki'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth.backends: list the workload, or set a `default`; without a token, workloads that check tokens (`oidcConfigRef`) answer 401, and their tools are missing: MCPServer "wiki"',
        ],
      },
      {
        title: 'no credentials on purpose, for a backend that checks tokens',
        value: gatewayOf(),
        others: [
          checking('wiki', 'none'),
          { kind: 'MCPExternalAuthConfig', metadata: { name: 'none' }, spec: { type: 'unauthenticated' } },
        ],
        findings: [
          'spec.outgoingAuth: type unauthenticated sends no token; workloads that check tokens (`oidcConfigRef`) answer 401, and their tools are missing: MCPServer "wiki", by MCPExternalAuthConfig "none"',
        ],
      },
      {
        title: 'discovered: a backend without a reference',
        value: gatewayOf(),
        others: [backend('jira', 'key'), backend('wiki'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth: without `externalAuthConfigRef` there are no credentials for MCPServer "wiki"',
        ],
      },
      {
        title: 'inline: a backend that is not listed; its own reference is not read',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
        others: [backend('jira'), backend('wiki', 'key'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "wiki"',
        ],
      },
      {
        title: 'inline: a default that names nothing',
        value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {}, default: {} } }),
        others: [backend('jira')],
        findings: [
          'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "jira"',
        ],
      },
    ],
  },
})
