import {
  about,
  defineRule,
  dependingOn,
  MOST_HINTS,
  nearestName,
  notFound,
  outage,
  type Path,
  relatedTo,
  says,
  shortQuote,
} from '../../../rule/index.ts'
import {
  backend,
  BACKEND_KINDS,
  gatewayOf,
  group,
  groupOf,
  headerConfig,
  inline,
  listedIn,
  membersOf,
  referenceEnds,
  sourceOf,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

/** The most backends among which a similar name is searched. */
const MOST_NAMES = 500

export const outgoingAuthBackendIsMember = defineRule({
  id: 'outgoing-auth-backend-is-member',
  on: VirtualMCPServer,
  reads: ['MCPGroup', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'A key of `backends` is the name of a backend of the group.',
  why: 'The entry has no effect, and the backend that was meant is contacted without credentials.',
  failure: {
    symptom:
      'the backend answers 401, or is missing from the tools, although `backends` names its credentials',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [
    says('2.2', 'A key of backends is the name of the backend MCPServer.'),
    says('5.2', 'inline: backends that are not in the map receive unauthenticated requests.'),
    'decision 10',
  ],
  *check(gateway, { path, cluster }) {
    const group = groupOf(gateway)
    if (group === undefined || sourceOf(gateway) !== 'inline') return
    if (!BACKEND_KINDS.every((kind) => cluster.knows(kind))) return
    const members = membersOf(cluster, group)
    // Other rules report the cause: the group does not exist yet, or it is empty.
    if (members.length === 0) return
    const listed = gateway.spec?.outgoingAuth?.backends ?? {}
    let hints = MOST_HINTS
    for (const { key, members: found } of listedIn(gateway, cluster)) {
      if (found.length > 0) continue
      const some = hints-- > 0 ? members.slice(0, MOST_NAMES) : []
      const near = nearestName(
        key,
        some.map(({ name }) => name),
      )
      const [yet, hint] = near === undefined ? [' yet', ''] : ['', `; did you mean ${shortQuote(near)}`]
      const at: Path<unknown> = path.spec.outgoingAuth.backends.at(key)
      const detail = `is not a backend of group ${shortQuote(group)} ${cluster.where}${yet}, so it has no effect${hint}`
      const missing = notFound(at, key, detail)
      // After a typing mistake the intended backend has no entry: vMCP contacts it without credentials.
      const isTypo = near !== undefined && !Object.hasOwn(listed, near)
      const error = isTypo ? outage(missing) : missing
      const others = BACKEND_KINDS.map((kind) => ({ kind, name: key }))
      const there = near === undefined ? members : members.filter(({ name }) => name === near)
      yield relatedTo(
        about(dependingOn(error, ...others), 'outgoing-auth-backend-is-member', group, key),
        referenceEnds(there, { kind: 'MCPGroup', name: group }, cluster, 'is a backend of the group'),
      )
    }
  },
  examples: {
    'a member of each kind': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key', wiki: 'key' }) }),
      others: [backend('jira'), backend('wiki', undefined, 'MCPServerEntry'), headerConfig('key')],
    },
    'before every backend of its group': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
      others: [group(), headerConfig('key')],
    },
    'a misspelt key': {
      value: gatewayOf({ outgoingAuth: inline({ jirra: 'key' }, 'key') }),
      others: [backend('jira'), headerConfig('key')],
      findings:
        'spec.outgoingAuth.backends[jirra]: Not found: "jirra": is not a backend of group "tools" in namespace \'default\', so it has no effect; did you mean "jira"',
    },
    'a backend that is not there yet, or in another group': {
      value: gatewayOf({ outgoingAuth: inline({ jira: 'key', wiki: 'key' }) }),
      others: [
        backend('jira'),
        { kind: 'MCPServer', metadata: { name: 'wiki' }, spec: { groupRef: { name: 'other' } } },
        headerConfig('key'),
      ],
      findings:
        'spec.outgoingAuth.backends[wiki]: Not found: "wiki": is not a backend of group "tools" in namespace \'default\' yet, so it has no effect',
    },
  },
})
