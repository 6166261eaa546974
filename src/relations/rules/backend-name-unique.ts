import {
  aboutEach,
  advice,
  defineRule,
  end,
  namesText,
  nameText,
  type ObjectName,
  oncePerCluster,
  relatedTo,
  says,
} from '../../rule/index.ts'
import { MCPRemoteProxy, MCPServer, MCPServerEntry, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  backend,
  BACKEND_KINDS,
  frontersOf,
  gateway,
  gatewayOf,
  groupOf,
  joiningAs,
  membersNamed,
  membersOf,
  NAME,
} from '../index.ts'

const ID = 'backend-name-unique'

export const backendNameUnique = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry],
  needs: ['groupRef'],
  reads: ['VirtualMCPServer', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'No two backends of a group have the same name, also when their kinds differ.',
  why: 'Releases keep backends by name, so one of the two is left out without a message. An entry of `backends` gives its credentials to the one that is left.',
  sources: [
    says('2.2', 'A key of backends is the name of the backend MCPServer.'),
    'decision 3',
    'decision 10',
  ],
  *check(resource, { path, cluster, self }) {
    const group = groupOf(resource)
    if (group === undefined) return
    if (self.kind === 'VirtualMCPServer') {
      const found = namesakesIn(group, cluster)
      if (found.length === 0) return
      const detail = `has backends with one name, ${namesText(found, 2)}: releases know backends by name, and serve only one of them; rename one`
      yield marked(advice(path.spec.groupRef, detail), group, found)
      return
    }
    const others = membersNamed(cluster, group, self.name).filter(({ kind }) => kind !== self.kind)
    const [fronter] = others.length === 0 ? [] : frontersOf(group, cluster)
    if (fronter === undefined) return
    const detail = `is the name of ${namesText(others)} too: in releases ${nameText(fronter.name)} knows backends by name, and serves only one of them; rename one`
    yield marked(advice(path.metadata.name, detail), group, others)
  },
  examples: {
    'a name for each': [
      { kind: 'MCPServerEntry', value: joiningAs('key'), others: [gateway('tools'), backend('jira')] },
      {
        kind: 'VirtualMCPServer',
        value: gatewayOf(),
        others: [backend('jira'), backend('wiki', undefined, 'MCPServerEntry')],
      },
    ],
    'the same name in another group': {
      kind: 'MCPRemoteProxy',
      value: joiningAs('key'),
      others: [
        gateway('tools'),
        { ...backend('example', undefined, 'MCPServerEntry'), spec: { groupRef: { name: 'others' } } },
      ],
    },
    'the same name in a group without a VirtualMCPServer': {
      kind: 'MCPServer',
      value: joiningAs('key'),
      others: [backend('example', undefined, 'MCPServerEntry')],
    },
    'an entry and a server with one name': {
      kind: 'MCPServerEntry',
      value: joiningAs('key'),
      others: [gateway('tools'), backend('example')],
      findings:
        'metadata.name: is the name of MCPServer "example" too: in releases VirtualMCPServer "tools" knows backends by name, and serves only one of them; rename one',
    },
    'two of the backends': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [
        backend('jira'),
        backend('jira', undefined, 'MCPRemoteProxy'),
        backend('wiki', undefined, 'MCPServerEntry'),
      ],
      findings:
        'spec.groupRef: has backends with one name, MCPRemoteProxy "jira" and MCPServer "jira": releases know backends by name, and serve only one of them; rename one',
    },
  },
})

/** The backends of a group whose name another backend of the group has too, by name. */
const namesakesIn = oncePerCluster((group: string, cluster): readonly ObjectName[] =>
  [...Map.groupBy(membersOf(cluster, group), ({ name }) => name).values()]
    .filter(({ length }) => length > 1)
    .flat(),
)

/** The warning with its other ends; all warnings about one name in a group have the same cause. */
const marked = (warning: ReturnType<typeof advice>, group: string, others: readonly ObjectName[]) =>
  relatedTo(
    aboutEach(warning, () => others.map(({ kind, name }) => [ID, kind, name] as const)),
    others.slice(0, 4).map((other) => end(other, NAME, 'has the same name')),
    () => others.map(({ name }) => [ID, group, name] as const),
  )
