import t from 'tap'
import {
  authServer,
  bearerConfig,
  exchangeConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
} from '../src/kinds/between/examples.ts'
import { BACKEND_KINDS } from '../src/kinds/between/neighbours.ts'
import { projected } from '../src/kinds/between/projections.ts'
import { DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { mcpGroup } from '../src/kinds/mcp-group/index.ts'
import { type Submission, validate } from '../src/review/index.ts'
import { DEFAULT_SETTINGS } from '../src/review/settings.ts'
import { Standing } from '../src/review/standing.ts'
import { World } from '../src/review/world.ts'
import type { Other } from '../src/rule/rule.ts'
import { recording } from './support/recording.ts'
import { resourceOf, submissionOf } from './support/review.ts'
import { stepsOf } from './support/steps.ts'

interface Filled {
  readonly world: World
  readonly standing: Standing
}

let versions = 0
const stored = ({ kind, metadata, spec }: Other) =>
  resourceOf(kind, spec, { namespace: 'default', resourceVersion: String(versions++), ...metadata })
const kindOf = ({ kind }: Other) => kindNamed.get(kind) ?? mcpGroup

/** A workload of the group `tools` with the configuration `shared`; some without. */
const workload = (i: number): Other => ({
  kind: BACKEND_KINDS[i % BACKEND_KINDS.length] ?? 'MCPServer',
  metadata: { name: `workload-${i}` },
  spec: {
    groupRef: { name: 'tools' },
    ...(i % 7 !== 6 && { externalAuthConfigRef: { name: 'shared' } }),
    ...(i % 2 === 0 && { oidcConfigRef: { name: 'corporate' } }),
  },
})
const discovering = gateway('discovering', { authServerConfig: authServer('okta') })
const listing = gateway('listing', { outgoingAuth: inline({ 'workload-0': 'shared', stranger: 'shared' }) })

/** What so many workloads share, and the few beside them. */
function filled(count: number, ...gateways: readonly Other[]): Filled {
  const world = new World({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) })
  const standing = new Standing(world, DEFAULT_SETTINGS)
  const workloads = Array.from({ length: count }, (_, i) => workload(i))
  const others = [group(), headerConfig('shared'), oidcConfig('corporate'), ...gateways]
  for (const each of [...workloads, ...others]) standing.put(kindOf(each), stored(each))
  while (standing.work(1_000) > 0);
  return { world, standing }
}

const submission = (operation: Submission['operation'], after: Other, before?: Other): Submission =>
  submissionOf(after.kind, operation === 'DELETE' ? undefined : stored(after), {
    operation,
    name: after.metadata.name,
    oldObject: before && stored(before),
  })

const engine = ({ world }: Filled) => ({ group: DEFAULT_API_GROUP, settings: DEFAULT_SETTINGS, world })
const review =
  (...submitted: Parameters<typeof submission>) =>
  (view: Filled) =>
    validate(submission(...submitted), engine(view))
const put =
  (object: Other) =>
  ({ standing }: Filled) =>
    standing.put(kindOf(object), stored(object))
const remove =
  ({ kind, metadata }: Other) =>
  ({ standing }: Filled) =>
    standing.remove(kindOf({ kind, metadata }), 'default', metadata.name)
const look =
  (question: (cluster: ReturnType<World['in']>) => unknown) =>
  ({ world }: Filled) =>
    question(world.in('default'))

/** Every lookup, every review, and what comes from a watch. */
const ROWS: readonly (readonly [title: string, act: (view: Filled) => unknown])[] = [
  ['one object', look((cluster) => cluster.get('MCPServer', 'workload-0'))],
  [
    'the VirtualMCPServers of a group',
    look((cluster) => [...cluster.referrers('MCPGroup', 'tools', ['VirtualMCPServer'])]),
  ],
  ['how many members', look((cluster) => cluster.referrers('MCPGroup', 'tools', BACKEND_KINDS).length)],
  ['the first members', look((cluster) => cluster.referrers('MCPGroup', 'tools').first(3))],
  [
    'the groups of a configuration',
    look((cluster) => [...cluster.apart('MCPExternalAuthConfig', 'shared', 'group')]),
  ],
  ['other namespaces', look((cluster) => cluster.elsewhere('MCPServer', 'workload-0'))],
  ...KINDS.map(({ kind }) => [`whether ${kind} is known`, look((cluster) => cluster.knows(kind))] as const),
  ['a workload of the group', review('CREATE', workload(-1))],
  ['a workload leaves the configuration', review('UPDATE', workload(6), workload(1))],
  ['a VirtualMCPServer discovers', review('UPDATE', discovering, gateway('discovering'))],
  ['a VirtualMCPServer lists', review('UPDATE', listing, gateway('listing'))],
  [
    'a VirtualMCPServer misspells a backend',
    review('CREATE', gateway('new', { outgoingAuth: inline({ 'workloads-1': 'shared' }) })),
  ],
  ['the configuration changes its type', review('UPDATE', bearerConfig('shared'), headerConfig('shared'))],
  [
    'the configuration names a provider',
    review('UPDATE', injectConfig('shared', 'github'), injectConfig('shared', 'okta')),
  ],
  [
    'the issuer of incoming tokens changes',
    review('UPDATE', oidcConfig('corporate', 'https://b.example.com'), oidcConfig('corporate')),
  ],
  ['the group goes', review('DELETE', group(), group())],
  ['the configuration goes', review('DELETE', headerConfig('shared'), headerConfig('shared'))],
  ...[workload(0), discovering, listing, headerConfig('shared'), group(), oidcConfig('corporate')].flatMap(
    (object) =>
      [
        [`${object.kind} ${object.metadata.name} goes`, remove(object)],
        [`${object.kind} ${object.metadata.name} comes`, put(object)],
      ] as const,
  ),
]

const [FEW, MANY] = [500, 10_000]

t.test('what a lookup, a review or a change costs does not grow with what is shared', async (t) => {
  const [warm, few, many] = [10, FEW, MANY].map((count) => filled(count, discovering, listing)) as [
    Filled,
    Filled,
    Filled,
  ]
  for (const [, act] of ROWS) act(warm)
  for (const [title, act] of ROWS) {
    const [least = NaN, most = NaN] = stepsOf(
      () => void act(few),
      () => void act(many),
    )
    // The places of names are found by halving.
    t.ok(most < 1.25 * least + 50, `${title}: ${least} steps among ${FEW}, ${most} among ${MANY}`)
  }
})

t.test('each step of the judging in the background is short', async (t) => {
  const views = [filled(60, discovering), filled(300, discovering)]
  for (const change of [put(bearerConfig('shared')), put(discovering), put(group()), remove(workload(0))]) {
    const [least = NaN, most = NaN] = views.map((view) => {
      change(view)
      const steps = Array.from({ length: 400 }, () => () => void view.standing.work(1))
      const counts = stepsOf(...steps)
      t.equal(view.standing.waiting, 0)
      return Math.max(...counts)
    })
    t.ok(most < 1.25 * least + 100, `${least} steps among 60, ${most} among 300`)
  }
})

t.test('VirtualMCPServers that share a token exchange are judged at the same cost each', async (t) => {
  const looksOf = (count: number) => {
    let looks = 0
    const world = new World({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) }, (...given) =>
      recording(projected(...given), () => looks++),
    )
    const standing = new Standing(world, DEFAULT_SETTINGS)
    const gateways = Array.from({ length: count }, (_, i) =>
      gateway(`gateway-${i}`, {
        groupRef: { name: `tools-${i}` },
        authServerConfig: authServer('okta'),
        outgoingAuth: inline({}, 'shared'),
      }),
    )
    for (const each of [exchangeConfig('shared'), ...gateways]) standing.put(kindOf(each), stored(each))
    looks = 0
    t.equal(standing.work(Infinity), 0)
    return looks / count
  }
  const [least, most] = [looksOf(20), looksOf(200)]
  t.ok(most < 1.25 * least, `${least} fields looked at for each of 20, ${most} for each of 200`)
})
