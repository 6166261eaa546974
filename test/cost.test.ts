import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import ts from 'typescript'
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
  otherOf,
} from '../src/relations/examples.ts'
import { BACKEND_KINDS } from '../src/relations/related-resources.ts'
import { DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import { allRules } from '../src/kinds/places.ts'
import { takenByEarlier } from '../src/kinds/mcp-external-auth-config/proofs.ts'
import { mcpGroup } from '../src/kinds/mcp-group/index.ts'
import { BoundedCache, caches } from '../src/rule/bounded-cache.ts'
import { Budget } from '../src/rule/budget.ts'
import { JUDGEMENT } from '../src/engine/rules.ts'
import type { Submission } from '../src/engine/index.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { pathText } from '../src/rule/path.ts'
import type { Other } from '../src/rule/rule.ts'
import { judgeOf, resourceOf, submissionOf } from './support/review.ts'
import { stepsOf } from './support/steps.ts'

interface Filled {
  readonly state: ClusterState
  readonly current: CurrentFindings
}

let versions = 0
const stored = ({ kind, metadata, spec }: Other) =>
  resourceOf(kind, spec, { namespace: 'default', resourceVersion: String(versions++), ...metadata })
const kindOf = ({ kind }: Other) => kindNamed.get(kind) ?? mcpGroup

/** A workload of the group `tools`; six of seven refer to the MCPExternalAuthConfig `shared`. */
const workload = (i: number): Other =>
  otherOf(BACKEND_KINDS[i % BACKEND_KINDS.length] ?? 'MCPServer', `workload-${i}`, {
    groupRef: { name: 'tools' },
    ...(i % 7 !== 6 && { externalAuthConfigRef: { name: 'shared' } }),
    ...(i % 2 === 0 && { oidcConfigRef: { name: 'corporate' } }),
  })
const discovering = gateway('discovering', { authServerConfig: authServer('okta') })
const listing = gateway('listing', { outgoingAuth: inline({ 'workload-0': 'shared', stranger: 'shared' }) })

/** A state with `count` workloads, the group and configurations to which they refer, and these VirtualMCPServers. */
function filled(count: number, ...gateways: readonly Other[]): Filled {
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) })
  const current = new CurrentFindings(state, () => judgeOf())
  const workloads = Array.from({ length: count }, (_, i) => workload(i))
  const others = [group(), headerConfig('shared'), oidcConfig('corporate'), ...gateways]
  for (const each of [...workloads, ...others]) current.put(kindOf(each), stored(each))
  current.startRound()
  while (current.work(1_000));
  return { state, current }
}

const submission = (operation: Submission['operation'], after: Other, before?: Other): Submission =>
  submissionOf(after.kind, operation === 'DELETE' ? undefined : stored(after), {
    operation,
    name: after.metadata.name,
    oldObject: before && stored(before),
  })

const review =
  (...submitted: Parameters<typeof submission>) =>
  ({ state }: Filled) =>
    judgeOf({ state }).admit(submission(...submitted))
const put =
  (object: Other) =>
  ({ current }: Filled) =>
    current.put(kindOf(object), stored(object))
const remove =
  ({ kind, metadata }: Other) =>
  ({ current }: Filled) =>
    current.remove(kindOf({ kind, metadata }), 'default', metadata.name)
const look =
  (question: (cluster: ReturnType<ClusterState['in']>) => unknown) =>
  ({ state }: Filled) =>
    question(state.in('default'))

/** Lookups, reviews and changes of the cache, whose cost is measured. */
const ROWS: readonly (readonly [title: string, act: (view: Filled) => unknown])[] = [
  ['one object', look((cluster) => cluster.get('MCPServer', 'workload-0'))],
  [
    'the VirtualMCPServers of a group',
    look((cluster) => [...cluster.referrers('MCPGroup', 'tools', ['VirtualMCPServer'])]),
  ],
  ['how many members', look((cluster) => cluster.referrers('MCPGroup', 'tools', BACKEND_KINDS).length)],
  ['the first members', look((cluster) => cluster.referrers('MCPGroup', 'tools'))],
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

/** MANY is the size of a large namespace; the cost may grow at most linearly from FEW to MANY. */
const [FEW, MANY] = [500, 2_000]

t.test('what a lookup, a review or a change costs grows at most as the namespace does', async (t) => {
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
    t.ok(
      most < 1.25 * (MANY / FEW) * least + 50,
      `${title}: ${least} steps among ${FEW}, ${most} among ${MANY}`,
    )
  }
})

t.test('each object of a namespace is checked at the same cost', async (t) => {
  const costOf = (count: number, change: (view: Filled) => unknown) => {
    const view = filled(count, discovering)
    change(view)
    const [steps = NaN] = stepsOf(() => {
      view.current.startRound()
      while (view.current.work(100));
    })
    t.equal(view.current.waiting, 0)
    return steps / count
  }
  for (const change of [put(bearerConfig('shared')), put(discovering), put(group()), remove(workload(0))]) {
    const [least, most] = [costOf(FEW, change), costOf(MANY, change)]
    t.ok(most < 1.25 * least, `${least} steps for each of ${FEW}, ${most} for each of ${MANY}`)
  }
})

t.test('VirtualMCPServers that share a token exchange are checked at the same cost each', async (t) => {
  const costOf = (count: number) => {
    const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: (kind) => kindNamed.has(kind) })
    const current = new CurrentFindings(state, () => judgeOf())
    const gateways = Array.from({ length: count }, (_, i) =>
      gateway(`gateway-${i}`, {
        groupRef: { name: `tools-${i}` },
        authServerConfig: authServer('okta'),
        outgoingAuth: inline({}, 'shared'),
      }),
    )
    for (const each of [exchangeConfig('shared'), ...gateways]) current.put(kindOf(each), stored(each))
    const [steps = NaN] = stepsOf(() => {
      current.startRound()
      while (current.work(100));
    })
    return steps / count
  }
  const [least, most] = [costOf(20), costOf(200)]
  t.ok(most < 1.25 * least, `${least} steps for each of 20, ${most} for each of 200`)
})

const list = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i))
const named = (count: number, value: (i: number) => unknown): Record<string, unknown> =>
  Object.fromEntries(list(count, (i) => [`backend-${i}`, value(i)]))
const provider = (i: number, is: string) => ({
  name: `provider-${i}`,
  type: 'oidc',
  oidcConfig: {
    issuerUrl: `https://${is}-${i}.example.com`,
    clientId: `${is}-${i}`,
    scopes: ['openid', `s-${i}`],
  },
})
const issuer = (i: number, is: string) => ({
  issuerUrl: `https://${is}-${i}.example.com`,
  expectedAudience: 'https://auth.example.com',
  allowedDelegateClients: [`agent-${i}`],
  actorMatcher: `claims.sub == "${is}-${i}"`,
})
const configOf = (type: string, settings: object): Other =>
  otherOf('MCPExternalAuthConfig', 'grown', { type, [type]: settings })
const aws = (roleMappings: readonly object[]) => configOf('awsSts', { region: 'eu-central-1', roleMappings })
const ROLE = 'arn:aws:iam::123456789012:role'

/** Objects with `n` parts of one kind; `is` becomes part of all values, so that an update changes them all. */
const GROWN: readonly (readonly [title: string, of: (count: number, is: string) => Other])[] = [
  [
    'mappings by claim',
    (n, is) => aws(list(n, (i) => ({ claim: `${is}-${i}`, roleArn: `${ROLE}/${is}-${i}` }))),
  ],
  [
    'mappings by matcher',
    (n, is) =>
      aws(
        list(n, (i) => ({
          matcher: `claims.email == "${is}-${i}"`,
          roleArn: `${ROLE}/r-${i}`,
          priority: n - i,
        })),
      ),
  ],
  [
    'mappings by a matcher that does not compile',
    (n, is) => aws(list(n, (i) => ({ matcher: `claims.${is}${i}.has("a")`, roleArn: `${ROLE}/r-${i}` }))),
  ],
  [
    'providers of a configuration',
    (n, is) =>
      configOf('embeddedAuthServer', { ...authServer(), upstreamProviders: list(n, (i) => provider(i, is)) }),
  ],
  [
    'providers of a VirtualMCPServer',
    (n, is) =>
      gateway('grown', {
        authServerConfig: { ...authServer(), upstreamProviders: list(n, (i) => provider(i, is)) } as never,
      }),
  ],
  [
    'trusted issuers',
    (n, is) =>
      configOf('embeddedAuthServer', {
        ...authServer('okta'),
        trustedIssuers: list(n, (i) => issuer(i, is)),
      }),
  ],
  [
    'backends',
    (n, is) =>
      gateway('grown', {
        outgoingAuth: inline(named(n, (i) => `${is}-${i}`) as Record<string, string>),
      }),
  ],
  [
    'policies',
    (n, is) =>
      gateway('grown', {
        incomingAuth: {
          type: 'oidc',
          oidcConfigRef: { name: 'corporate', audience: 'tools' },
          authzConfig: {
            type: 'inline',
            inline: {
              policies: list(
                n,
                (i) => `permit(principal, action == Action::"call_tool", resource == Tool::"${is}-${i}");`,
              ),
            },
          },
        } as never,
      }),
  ],
]

t.test('what each rule, and a review, costs grows at most as the object does', async (t) => {
  const { state } = filled(FEW)
  const judge = judgeOf({ state })
  const steps = new Map<string, number>()
  const count = (from: string, run: () => void) => {
    const [taken = NaN] = stepsOf(run)
    steps.set(from, (steps.get(from) ?? 0) + taken)
  }
  for (const rule of allRules() as { id: string; check: (...of: never[]) => Iterable<unknown> }[]) {
    const check = rule.check.bind(rule)
    rule.check = (...of) => {
      let found: unknown[] = []
      count(rule.id, () => (found = [...check(...of)]))
      return found
    }
  }
  const costs = (run: () => void) => {
    steps.clear()
    run()
    return new Map(steps)
  }
  for (const [title, of] of GROWN) {
    for (const operation of ['CREATE', 'UPDATE'] as const) {
      const [least, most] = [100, 400].map((count) => {
        const before = operation === 'UPDATE' ? of(count, 'old') : undefined
        const submitted = submission(operation, of(count, 'new'), before)
        return costs(() => judge.admit(submitted))
      })
      const dearer = [...(most ?? [])].filter(([id, steps]) => steps > 4 * 1.25 * (least?.get(id) ?? 0) + 500)
      t.strictSame(dearer, [], `${operation} of ${title}, from 100 to 400`)
      t.ok(most !== undefined && most.size > 5, `${most?.size} rules`)
    }
  }
})

/** Matchers that are hard to analyse; each number gives another one. */
const HARD: readonly ((i: number) => string)[] = [
  (i) => `claims.a.matches("^(a|b|c${i}){1,40}(x|y){1,40}$") && !claims.a.matches("(ab){1,60}[a-z]{50}z$")`,
  (i) => repeated(200, (j) => `claims.a.startsWith("${'ab'.repeat(j % 7)}${i}${j}")`, ' || '),
  (i) => repeated(60, (j) => `claims.a${j} - claims.b${j} > ${i}.0`, ' || '),
  (i) => repeated(12, (j) => `(has(claims.a${j}) ? claims.a${j} : claims.b${j}) == "${i}"`, ' && '),
]
const repeated = (count: number, part: (i: number) => string, by: string) =>
  Array.from({ length: count }, (_, i) => part(i)).join(by)

t.test('proofs about matchers end at the budget', (t) => {
  for (const [n, matcher] of HARD.entries()) {
    const mappings = Array.from({ length: n === 1 ? 8 : 32 }, (_, index) => ({
      index,
      matcher: matcher(index),
    }))
    const budget = new Budget(20_000)
    const { taken, undecided } = takenByEarlier(mappings, 'groups', budget)
    const { spent } = budget
    t.same(taken, new Map(), `${n}`)
    t.type(undecided, 'number')
    t.ok(spent < 17_000, `${spent} units`)
    const other = new Budget(20_000)
    const again = takenByEarlier(mappings, 'groups', other)
    t.strictSame([again.undecided, other.spent], [undecided, spent], 'and decide the same again')
  }
  t.end()
})

t.test('what a smaller budget left undecided is decided with a larger one', (t) => {
  const mappings = Array.from({ length: 8 }, (_, index) => ({
    index,
    matcher: `claims.sub.startsWith("team-${index % 7}${'-a'.repeat(index)}")`,
  }))
  const [first, small, again] = [20_000, 500, 20_000].map((units) =>
    takenByEarlier(mappings, 'groups', new Budget(units)),
  )
  t.strictSame([...(first?.taken.keys() ?? [])], [7])
  t.type(small?.undecided, 'number')
  t.strictSame(again, first)
  t.end()
})

t.test('what the budget does not suffice for is said once, and hides nothing', async (t) => {
  const roleMappings = [
    { roleArn: 'arn:aws:iam::123456789012:role/a', matcher: 'claims.groups ==' },
    ...Array.from({ length: 12 }, (_, i) => ({
      roleArn: `arn:aws:iam::123456789012:role/b${i}`,
      matcher: HARD[3]?.(i) ?? '',
    })),
    { roleArn: 'arn:aws:iam::123456789012:role/c', claim: 'a', matcher: 'true' },
  ]
  const object = resourceOf('MCPExternalAuthConfig', {
    type: 'awsSts',
    awsSts: { region: 'nowhere', roleMappings, sessionNameClaim: 'emial' },
  })
  const judged = () => judgeOf().admit(submissionOf('MCPExternalAuthConfig', object))
  const { errors, warnings, spent } = judged()
  t.strictSame(
    errors.map(({ id }) => id),
    ['schema-pattern', 'role-mapping-matcher-compiles', 'role-mapping-claim-or-matcher'],
  )
  t.strictSame(
    warnings.map(({ id, error: { at } }) => `${id} ${pathText(at)}`),
    [
      'decided-within-budget spec.awsSts.roleMappings[4].matcher',
      'role-mapping-claim-spelt spec.awsSts.sessionNameClaim',
    ],
  )
  t.ok(spent > 10_000 && spent <= JUDGEMENT, `${spent} units`)
  const again = judged()
  t.strictSame([again.warnings, again.spent], [warnings, spent], 'the same with what caches hold')
})

t.test('the text of matchers is compiled as far as the budget goes, and the finding says so', async (t) => {
  const judged = (count: number, error: string) => {
    const roleMappings = Array.from({ length: count }, (_, i) => ({
      roleArn: 'arn:aws:iam::123456789012:role/a',
      matcher: `claims.a == "${String(i).padStart(5_000, 'x')}"`,
    }))
    roleMappings.push({ roleArn: 'arn:aws:iam::123456789012:role/b', matcher: error })
    const awsSts = { region: 'eu-central-1', roleMappings }
    return judgeOf().admit(
      submissionOf('MCPExternalAuthConfig', resourceOf('MCPExternalAuthConfig', { type: 'awsSts', awsSts })),
    )
  }
  const few = judged(10, 'claims.a ==')
  t.strictSame(
    few.errors.map(({ id }) => id),
    ['role-mapping-matcher-compiles'],
  )
  t.ok(few.spent > 12_500, `${few.spent} units`)
  const many = judged(20, 'claims.a ==')
  t.strictSame(many.errors, [])
  t.strictSame(
    many.warnings.map(({ id, error: { at, detail } }) => `${id} ${pathText(at)} ${detail}`),
    [
      'decided-within-budget spec.awsSts.roleMappings[15].matcher is not compiled within the budget of one object, so its errors and those of later expressions are not reported; write shorter ones',
    ],
  )
  t.ok(many.spent <= JUDGEMENT, `${many.spent} units`)
})

/** Module-level collections: what each holds, and whether it is filled once or is a cache bounded in bytes. */
const OUTLIVES: Readonly<Record<string, string>> = {
  'access/role/caller-tokens.ts UNKNOWN_TOKENS': 'stays empty',
  'cel/declarations.ts overloadIndex': 'the signatures of CEL',
  'cel/evaluate/functions.ts overloads': 'the signatures of CEL',
  'cel/evaluate/patterns.ts known': '4 MiB',
  'cel/reason/solver.ts NO_CLAUSE': 'stays empty',
  'cli/input/reading.ts values': 'stays empty',
  'cli/input/yaml-scalars.ts words': 'the words of YAML',
  'cli/lsp/lines.ts lines': 'the lines of open files that were asked for',
  'cli/output/excerpt.ts units': 'the lines of files that are shown',
  'cluster/list-watch.ts turns': 'one entry an API server, while it is in use',
  'kinds/mcp-external-auth-config/matcher-verdicts.ts verdicts': '8 MiB',
  'kinds/mcp-external-auth-config/proofs.ts NOTHING': 'stays empty',
  'kinds/mcp-external-auth-config/proofs.ts CONSTANT': '1 MiB',
  'kinds/mcp-external-auth-config/proofs.ts OPEN': '4 MiB',
  'kinds/mcp-external-auth-config/proofs.ts TAKEN': '1 MiB',
  'library/index.ts known': 'one entry a release, while the caller has it',
  'pages/playground/main.ts timer': 'one timer',
  'release/cel-rules.ts compiled': '4 MiB',
  'engine/rules.ts selected': 'the seven kinds',
  'state/cluster-state.ts EMPTY': 'stays empty',
  'engine/defaults.ts defaultsOf': 'the seven kinds',
  'engine/yielding.ts newestFields': 'one entry a release, while it is in use',
  'rule/bounded-cache.ts all': 'the caches',
}

/** Whether an expression outside of functions creates a mutable collection. */
function makesCollection(node: ts.Node): boolean {
  if (ts.isFunctionLike(node)) return false
  if (ts.isNewExpression(node)) {
    const name = node.expression.getText()
    if (name === 'BoundedCache') return true
    if (/^(?:Weak)?(?:Map|Set)$/.test(name) && (node.arguments ?? []).length === 0) return true
  }
  return node.getChildren().some(makesCollection)
}

t.test('whatever outlives a judgement is listed with its bound', async (t) => {
  const src = new URL('../src/', import.meta.url)
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  const found = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .flatMap((file) => {
      const text = readFileSync(new URL(file, src), 'utf8')
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true)
      return source.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => {
        const isLet = (declarationList.flags & ts.NodeFlags.Const) === 0
        return declarationList.declarations
          .filter(({ type, initializer }) => {
            if (/^readonly |^Readonly/.test(type?.getText() ?? '')) return false
            if (isLet || initializer === undefined) return true
            const isEmptyList = ts.isArrayLiteralExpression(initializer) && initializer.elements.length === 0
            return isEmptyList || makesCollection(initializer)
          })
          .map(({ name }) => `${file} ${name.getText()}`)
      })
    })
  t.strictSame(found.toSorted(), Object.keys(OUTLIVES).toSorted())
  const bounds = Object.values(OUTLIVES).flatMap((bound) => /^(\d+) MiB$/.exec(bound)?.[1] ?? [])
  t.strictSame(
    caches()
      .map(({ most }) => String(most / 2 ** 20))
      .toSorted(),
    bounds.toSorted(),
  )
})

t.test('a cache that is full begins anew, and keeps nothing that is larger than all of it', async (t) => {
  const cache = new BoundedCache<number>('of a test', 10_000)
  for (let i = 0; i < 100; i++) {
    cache.set(`key ${i}`, i, 1_000)
    t.equal(cache.get(`key ${i}`), i)
    t.ok(cache.bytes <= cache.most)
  }
  t.equal(cache.get('key 0'), undefined)
  cache.set('large', 1, 20_000)
  t.equal(cache.get('large'), undefined)
})
