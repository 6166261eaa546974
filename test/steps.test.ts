import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { stringify } from 'yaml'
import {
  authServer,
  backend,
  bearerConfig,
  configWith,
  exchangeConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  oidcConfig,
  otherOf,
  serverConfig,
  workload,
} from '../src/relations/examples.ts'
import { API_VERSION, DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { DEFAULT_SETTINGS, parseSeveritySetting } from '../src/engine/settings.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { knownRelease } from '../src/configuration/known-releases.ts'
import type { Release, ReleaseSchema } from '../src/release/index.ts'
import type { Other } from '../src/rule/rule.ts'
import { planSteps, type Question, type StepsPlan } from '../src/steps/plan.ts'
import { runCli } from './support/cli.ts'
import { fakeApiServer, page } from './support/fake-api-server.ts'
import { compareWithEveryOrder } from './support/every-order.ts'
import { checkSteps, placed, questionOf, RandomStates } from './support/step-pairs.ts'

const providing = (...names: readonly string[]) =>
  gateway('tools', { authServerConfig: authServer(...names) })
const alone = (name: string, config: string): Other =>
  otherOf('MCPServer', name, { ...workload(config).spec, oidcConfigRef: { name: 'corporate' } })
const role = (name: string, arn: string): Other =>
  configWith(name, 'awsSts', {
    region: 'eu-central-1',
    fallbackRoleArn: `arn:aws:iam::123456789012:role/${arn}`,
  })
const exchangingFor = (name: string, actor: string): Other => {
  const { spec, ...rest } = serverConfig(name, 'okta')
  const { embeddedAuthServer } = spec as { embeddedAuthServer: object }
  const issuer = {
    issuerUrl: 'https://idp.example.com',
    expectedAudience: 'https://mcp.example.com/mcp',
    allowedDelegateClients: ['agent'],
    allowedActors: [actor],
  }
  return {
    ...rest,
    spec: { ...(spec as object), embeddedAuthServer: { ...embeddedAuthServer, trustedIssuers: [issuer] } },
  }
}
const checking = (audience: string): Other =>
  otherOf('MCPServer', 'build', { ...workload('build').spec, oidcConfigRef: { name: 'corporate', audience } })
const forAudience = (audience: string, name = 'corporate') =>
  gateway('tools', { incomingAuth: { type: 'oidc', oidcConfigRef: { name, audience } } })
/** A name of almost the longest length that Kubernetes accepts. */
const LONG = 'c'.repeat(250)
const fetching = ({ spec, ...rest }: Other): Other => ({
  ...rest,
  spec: { ...(spec as object), jwksAllowPrivateIP: true },
})
const anonymous = gateway('tools', { incomingAuth: { type: 'anonymous' } })

const withMetadata = (object: Other, more: object): Other => ({
  ...object,
  metadata: { ...object.metadata, ...more },
})
const annotated = (object: Other, annotations: object) => withMetadata(object, { annotations })
const labelled = (object: Other, labels: object) => withMetadata(object, { labels })
/** The object as a cluster stores it after `kubectl apply` of the manifest `last`. */
const appliedBy = (object: Other, last: Other): Other =>
  annotated(object, {
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(placed([last], 'default')[0]),
  })
/** A release in which a VirtualMCPServer may have at most one upstream provider. */
const ONE_PROVIDER: Release = {
  name: 'the installed operator',
  schemas: new Map([
    [
      'VirtualMCPServer',
      schemaWith({
        spec: schemaWith({
          authServerConfig: schemaWith({ upstreamProviders: { type: 'array', maxItems: 1 } }),
        }),
      }),
    ],
  ]),
}

function schemaWith(properties: Readonly<Record<string, ReleaseSchema>>): ReleaseSchema {
  return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties }
}

/** The steps of a plan, each as `COMMIT: VERB KIND/NAME (VERSION)`. */
const inShort = ({ steps }: StepsPlan): string[] =>
  steps.map(
    ({ commit, verb, kind, name, words }) =>
      `${commit}: ${verb} ${kind}/${name}${words === '' ? '' : ` (${words})`}`,
  )

interface Row {
  readonly title: string
  readonly old: readonly Other[]
  readonly new: readonly Other[]
  readonly steps: readonly string[]
  readonly outcome?: StepsPlan['outcome']
  /** The tools that can apply the whole change in one commit. */
  readonly asOne?: string
  readonly givenUp?: RegExp
  /** The reason why a tool cannot. */
  readonly problem?: RegExp
  readonly settings?: Partial<Question>
}

const severity = (...texts: readonly string[]) => {
  const severities = texts.map((text) => {
    const setting = parseSeveritySetting(text, ALL_IDS)
    if (typeof setting === 'string') throw new Error(setting)
    return setting
  })
  return { settings: { ...DEFAULT_SETTINGS, severities } }
}

const ROWS: readonly Row[] = [
  {
    title: 'a new backend: what it refers to comes first',
    old: [group(), oidcConfig('corporate'), gateway('tools')],
    new: [group(), oidcConfig('corporate'), backend('jira', 'jira'), headerConfig('jira'), gateway('tools')],
    steps: ['1: create MCPServer/jira', '1: create MCPExternalAuthConfig/jira'],
    asOne: 'kubectl flux argocd',
  },
  {
    title: 'a provider is renamed: only with a version of the gateway that has both',
    old: [group(), backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    new: [group(), backend('jira', 'jira'), injectConfig('jira', 'entra'), providing('entra')],
    steps: [
      '1: update VirtualMCPServer/tools (the new version, which keeps upstreamProviders of the old one)',
      '2: update MCPExternalAuthConfig/jira',
      '2: update VirtualMCPServer/tools',
    ],
    asOne: '',
  },
  {
    title:
      'a provider is renamed that /mutate wrote: an apply of the unchanged file would not write it again',
    old: [group(), backend('jira', 'jira'), exchangeConfig('jira'), providing('okta')],
    new: [group(), backend('jira', 'jira'), exchangeConfig('jira'), providing('entra')],
    steps: [
      '1: update VirtualMCPServer/tools (the new version, which keeps upstreamProviders of the old one)',
      '2: update MCPExternalAuthConfig/jira (with subjectProviderName as /mutate would write it then, because an unchanged file is not sent)',
      '2: update VirtualMCPServer/tools',
    ],
    asOne: '',
  },
  {
    title: 'the same without defaults: the gateway alone chooses',
    old: [group(), backend('jira', 'jira'), exchangeConfig('jira'), providing('okta')],
    new: [group(), backend('jira', 'jira'), exchangeConfig('jira'), providing('entra')],
    steps: ['1: update VirtualMCPServer/tools'],
    asOne: 'kubectl flux argocd',
    settings: { defaults: 'off' },
  },
  {
    title: 'a second provider: the MCPServer moves first',
    old: [serverConfig('auth', 'okta'), alone('build', 'auth')],
    new: [serverConfig('auth', 'okta', 'github'), serverConfig('own', 'okta'), alone('build', 'own')],
    steps: [
      '1: create MCPExternalAuthConfig/own',
      '1: update MCPServer/build',
      '2: update MCPExternalAuthConfig/auth',
    ],
    asOne: '',
  },
  {
    title: 'the embedded server and its only backend go: the backend first',
    old: [backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    new: [injectConfig('jira', 'okta'), gateway('tools')],
    steps: ['1: delete MCPServer/jira', '2: update VirtualMCPServer/tools'],
    asOne: 'argocd',
  },
  {
    title: 'two backends swap their roles: each would get one that it has neither before nor after',
    old: [
      group(),
      gateway('tools'),
      backend('a', 'a'),
      backend('b', 'b'),
      role('a', 'one'),
      role('b', 'two'),
    ],
    new: [
      group(),
      gateway('tools'),
      backend('a', 'b'),
      backend('b', 'a'),
      role('a', 'three'),
      role('b', 'four'),
    ],
    steps: [],
    outcome: 'harm',
    givenUp: /^backend MCPServer [ab] of VirtualMCPServer default.tools is without credentials [^,]*$/,
  },
  {
    title: 'a role is moved and changed: its backend leaves first',
    old: [group(), gateway('tools'), backend('a', 'a'), role('a', 'one'), role('b', 'two')],
    new: [group(), gateway('tools'), backend('a', 'b'), role('a', 'admin'), role('b', 'two')],
    steps: ['1: update MCPServer/a', '2: update MCPExternalAuthConfig/a'],
    asOne: 'kubectl',
  },
  {
    title: 'whose tokens are exchanged is moved and changed: the MCPServer leaves first',
    old: [oidcConfig('corporate'), exchangingFor('a', 'one'), exchangingFor('b', 'two'), alone('build', 'a')],
    new: [oidcConfig('corporate'), exchangingFor('a', 'bad'), exchangingFor('b', 'two'), alone('build', 'b')],
    steps: ['1: update MCPServer/build', '2: update MCPExternalAuthConfig/a'],
    problem:
      /^after MCPExternalAuthConfig default.a, MCPServer default.build exchanges tokens that it exchanges neither before nor after \(exchange of tokens of https:..idp.example.com for .*"bad"/m,
  },
  {
    title: 'an open gateway stays so until its MCPOIDCConfig is there',
    old: [group(), anonymous],
    new: [group(), oidcConfig('corporate'), gateway('tools')],
    steps: ['1: create MCPOIDCConfig/corporate', '1: update VirtualMCPServer/tools'],
    asOne: 'kubectl flux argocd',
  },
  {
    title: 'another MCPOIDCConfig: the old one goes last',
    old: [
      group(),
      oidcConfig('old'),
      gateway('tools', { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'old', audience: 'a' } } }),
    ],
    new: [
      group(),
      oidcConfig('new'),
      gateway('tools', { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'new', audience: 'a' } } }),
    ],
    steps: ['1: create MCPOIDCConfig/new', '1: update VirtualMCPServer/tools', '2: delete MCPOIDCConfig/old'],
    asOne: 'kubectl flux',
  },
  {
    title: 'another issuer and another audience: the new one never for the old other',
    old: [group(), oidcConfig('corporate', 'https://staff.example.com'), forAudience('staff')],
    new: [group(), oidcConfig('corporate', 'https://partners.example.com'), forAudience('partners')],
    steps: [
      '1: create MCPOIDCConfig/corporate-next (a copy of the new corporate, until nothing refers to it)',
      '2: update VirtualMCPServer/tools (the new version, with MCPOIDCConfig corporate-next)',
      '3: update MCPOIDCConfig/corporate',
      '3: update VirtualMCPServer/tools',
      '4: delete MCPOIDCConfig/corporate-next',
    ],
  },
  {
    title: 'the same of an MCPServer that checks tokens',
    old: [headerConfig('build'), oidcConfig('corporate', 'https://staff.example.com'), checking('staff')],
    new: [
      headerConfig('build'),
      oidcConfig('corporate', 'https://partners.example.com'),
      checking('partners'),
    ],
    steps: [
      '1: create MCPOIDCConfig/corporate-next (a copy of the new corporate, until nothing refers to it)',
      '2: update MCPServer/build (the new version, with MCPOIDCConfig corporate-next)',
      '3: update MCPOIDCConfig/corporate',
      '4: update MCPServer/build',
      '5: delete MCPOIDCConfig/corporate-next',
    ],
  },
  {
    title: 'the same of a gateway and an MCPServer, where the name of the copy is taken',
    old: [
      group(),
      headerConfig('build'),
      oidcConfig('corporate', 'https://staff.example.com'),
      oidcConfig('corporate-next'),
      checking('staff'),
      forAudience('staff'),
    ],
    new: [
      group(),
      headerConfig('build'),
      oidcConfig('corporate', 'https://partners.example.com'),
      oidcConfig('corporate-next'),
      checking('partners'),
      forAudience('partners'),
    ],
    steps: [
      '1: create MCPOIDCConfig/corporate-next-next (a copy of the new corporate, until nothing refers to it)',
      '2: update MCPServer/build (the new version, with MCPOIDCConfig corporate-next-next)',
      '2: update VirtualMCPServer/tools (the new version, with MCPOIDCConfig corporate-next-next)',
      '3: update MCPOIDCConfig/corporate',
      '4: update MCPServer/build',
      '4: update VirtualMCPServer/tools',
      '5: delete MCPOIDCConfig/corporate-next-next',
    ],
  },
  {
    title: 'a name to which nothing can be added: no copy',
    old: [group(), oidcConfig(LONG, 'https://staff.example.com'), forAudience('staff', LONG)],
    new: [group(), oidcConfig(LONG, 'https://partners.example.com'), forAudience('partners', LONG)],
    outcome: 'harm',
    steps: [
      '1: delete VirtualMCPServer/tools (to be created again)',
      `2: update MCPOIDCConfig/${LONG}`,
      '2: create VirtualMCPServer/tools',
    ],
  },
  {
    title: 'another issuer alone: no copy',
    old: [group(), oidcConfig('corporate', 'https://staff.example.com'), forAudience('staff')],
    new: [group(), oidcConfig('corporate', 'https://partners.example.com'), forAudience('staff')],
    steps: ['1: update MCPOIDCConfig/corporate'],
    asOne: 'kubectl flux argocd',
  },
  {
    title: 'another audience of the same issuer, whose keys are fetched otherwise',
    old: [group(), oidcConfig('corporate'), forAudience('staff')],
    new: [group(), fetching(oidcConfig('corporate')), forAudience('partners')],
    steps: ['1: update MCPOIDCConfig/corporate', '1: update VirtualMCPServer/tools'],
    asOne: 'kubectl flux argocd',
  },
  {
    title: 'deletions that a severity refuses',
    old: [group(), gateway('tools'), headerConfig('jira'), backend('jira', 'jira')],
    new: [group(), gateway('tools')],
    steps: ['1: delete MCPServer/jira', '1: delete MCPExternalAuthConfig/jira'],
    asOne: 'kubectl flux',
    settings: { ...severity('deleted-resource-unreferenced=error'), tools: ['kubectl', 'flux'] },
  },
  {
    title: 'a change that severities refuse, of a configuration that is in use',
    old: [group(), gateway('tools'), headerConfig('jira'), backend('jira', 'jira')],
    new: [group(), gateway('tools'), bearerConfig('jira'), backend('jira', 'jira')],
    steps: [],
    outcome: 'refused',
    asOne: '',
    settings: severity('auth-config-change-meant=error', 'deleted-resource-unreferenced=error'),
  },
  {
    title: 'an entry without credentials leaves its configuration for a while: nobody loses anything',
    old: [
      group(),
      backend('a', 'a', 'MCPServerEntry'),
      backend('b', 'b'),
      serverConfig('a', 'okta'),
      headerConfig('b'),
      providing('okta'),
    ],
    new: [
      group(),
      backend('a', 'b', 'MCPServerEntry'),
      backend('b', 'a'),
      injectConfig('a', 'okta'),
      bearerConfig('b'),
      providing('okta'),
    ],
    steps: [
      '1: update MCPServerEntry/a (the old version without externalAuthConfigRef)',
      '2: update MCPExternalAuthConfig/a',
      '3: update MCPServer/b',
      '4: update MCPExternalAuthConfig/b',
      '5: update MCPServerEntry/a',
    ],
    asOne: '',
  },
  {
    title: 'a new state that contradicts itself',
    old: [group(), backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    new: [group(), backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('entra')],
    steps: [],
    outcome: 'contradiction',
  },
  {
    title: 'the version with both providers is one that the CRD of the release refuses',
    old: [group(), backend('jira', 'jira'), injectConfig('jira', 'okta'), providing('okta')],
    new: [group(), backend('jira', 'jira'), injectConfig('jira', 'entra'), providing('entra')],
    steps: [],
    outcome: 'harm',
    givenUp: /^backend MCPServer jira of VirtualMCPServer default.tools is without credentials [^,]*$/,
    settings: { release: ONE_PROVIDER },
  },
  {
    title: 'a label and an annotation that the new state does not have',
    old: [labelled(group(), { team: 'a' }), annotated(oidcConfig('corporate'), { why: 'b' })],
    new: [group(), oidcConfig('corporate')],
    steps: ['1: update MCPGroup/tools', '1: update MCPOIDCConfig/corporate'],
  },
  {
    title: 'in a cluster: a label is applied anew, another one is gone from the file',
    old: [
      appliedBy(labelled(group(), { team: 'a' }), labelled(group(), { team: 'a' })),
      appliedBy(
        labelled(oidcConfig('corporate'), { team: 'a' }),
        labelled(oidcConfig('corporate'), { team: 'a' }),
      ),
    ],
    new: [labelled(group(), { team: 'b' }), oidcConfig('corporate')],
    steps: ['1: update MCPGroup/tools', '1: update MCPOIDCConfig/corporate'],
    settings: { isStored: true },
  },
  {
    title: 'in a cluster: a label that somebody else added, and fields that are defaults',
    old: [
      labelled(appliedBy(group(), group()), { team: 'a' }),
      appliedBy(fetching(oidcConfig('corporate')), oidcConfig('corporate')),
    ],
    new: [group(), oidcConfig('corporate')],
    outcome: 'nothing',
    steps: [],
    settings: { isStored: true },
  },
  {
    title: 'in a cluster: what somebody edited since the last apply',
    old: [appliedBy(oidcConfig('corporate', 'https://edited.example.com'), oidcConfig('corporate'))],
    new: [oidcConfig('corporate')],
    steps: ['1: update MCPOIDCConfig/corporate'],
    settings: { isStored: true },
  },
  {
    title: 'in a cluster: the defaults of the CRD',
    old: [{ ...backend('jira'), spec: { groupRef: { name: 'tools' }, proxyPort: 8080 } }],
    new: [backend('jira')],
    outcome: 'nothing',
    steps: [],
    settings: { isStored: true, release: knownRelease('0.63') },
  },
  { title: 'nothing', old: [group()], new: [group()], steps: [], outcome: 'nothing', asOne: '' },
]

for (const row of ROWS) {
  t.test(row.title, (t) => {
    const pair = { old: placed(row.old, 'default'), new: placed(row.new, 'default') }
    const plan = planSteps(questionOf(pair, row.settings))
    t.equal(plan.outcome, row.outcome ?? 'order')
    if (row.givenUp === undefined) t.strictSame(inShort(plan), row.steps)
    else t.match(plan.givenUp.map(({ text, why }) => `${text} ${why}`).join(), row.givenUp)
    if (row.asOne !== undefined) {
      const passing = plan.asOne.filter(({ problem }) => problem === undefined).map(({ tool }) => tool)
      t.equal(passing.join(' '), row.asOne)
    }
    if (row.problem !== undefined) t.match(plan.asOne.map(({ problem }) => problem).join('\n'), row.problem)
    if (row.settings === undefined && plan.steps.length > 0) t.equal(checkSteps(pair, plan), undefined)
    t.end()
  })
}

t.test('one bound for all searches of all components', (t) => {
  const swap = ROWS.filter(({ title }) => title.startsWith('two backends swap')).flatMap((row) => row)
  const pair = (side: 'old' | 'new') =>
    ['default', 'other'].flatMap((namespace) => swap.flatMap((row) => placed(row[side], namespace)))
  const told: number[] = []
  const ask = (more: Partial<Question>) =>
    planSteps(
      questionOf({ old: pair('old'), new: pair('new') }, { ...more, tell: (count) => told.push(count) }),
    )
  const whole = ask({})
  t.match(whole, { outcome: 'harm', isComplete: true, states: told.at(-1) })
  t.strictSame(
    told,
    told.toSorted((a, b) => a - b),
  )
  // The change consists of six objects in each of two namespaces.
  const bounded = ask({ mostJudged: 60 })
  t.match(bounded, { outcome: 'refused', isComplete: false, steps: [] })
  t.ok(bounded.states >= 8 && bounded.states <= 20, `${bounded.states} states`)
  t.end()
})

t.test('Argo CD applies a change in waves that is too much for one', (t) => {
  const [{ old, new: now }] = ROWS.filter(({ title }) => title.startsWith('a second provider')) as [Row]
  const plan = planSteps(questionOf({ old: placed(old, 'default'), new: placed(now, 'default') }))
  const argo = plan.asOne.find(({ tool }) => tool === 'argocd')
  t.match(argo?.problem, /^MCPExternalAuthConfig default\/auth is refused: /)
  t.strictSame(
    argo?.waves?.map(({ name, wave }) => `${name} ${wave}`),
    ['own 0', 'build 0', 'auth 1'],
  )
  t.end()
})

t.test('PruneLast=true is one option for all objects of an Application', (t) => {
  const sides = ['another MCPOIDCConfig', 'the embedded server and its only backend go'].map((title) =>
    ROWS.filter((row) => row.title.startsWith(title)),
  )
  const answerTo = (...rows: readonly Row[]) => {
    const side = (name: 'old' | 'new') => rows.flatMap((row, i) => placed(row[name], `namespace-${i}`))
    const { asOne } = planSteps(questionOf({ old: side('old'), new: side('new') }))
    const { problem, waves, isPruneLast } = asOne.find(({ tool }) => tool === 'argocd') ?? {}
    return [problem === undefined, waves !== undefined, isPruneLast]
  }
  const [[prunedLast], [prunedFirst]] = sides as [[Row], [Row]]
  t.strictSame(answerTo(prunedLast), [false, true, true])
  t.strictSame(answerTo(prunedFirst), [true, false, false])
  t.strictSame(answerTo(prunedLast, prunedFirst), [false, false, false])
  t.end()
})

t.test('random pairs: every step is admitted, and nobody loses or gains access', (t) => {
  const random = new RandomStates(5)
  let between = 0
  for (let i = 0; i < 60; i++) {
    const pair = random.pair()
    const plan = planSteps(questionOf(pair))
    t.ok(['order', 'harm', 'nothing'].includes(plan.outcome), `${i}: ${plan.outcome}`)
    t.equal(checkSteps(pair, plan), undefined, `pair ${i}`)
    if (plan.steps.some(({ words }) => words !== '')) between += 1
  }
  t.ok(between > 0, `${between} with intermediate versions`)
  t.end()
})

t.test('every order is tried: none harms less, and none is admitted where it is said so', (t) => {
  const counts = compareWithEveryOrder(60, 3, (text) => t.fail(text))
  t.equal(counts.wrong, 0)
  t.ok(counts.harm > 2 && counts.refused > 2 && counts.tooMany < 5, JSON.stringify(counts))
  t.end()
})

t.test('the command', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-steps-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [, { old, new: now }] = ROWS as [Row, Row]
  const write = (name: string, objects: readonly Other[]) =>
    writeFileSync(
      join(folder, name),
      placed(objects, 'default')
        .map((each) => stringify(each))
        .join('---\n'),
    )
  write('old.yaml', old)
  write('new.yaml', now)
  const run = (...args: string[]) => runCli(['steps', ...args], { cwd: folder })
  const text = await run('old.yaml', 'new.yaml')
  t.equal(text.status, 0)
  t.match(
    text.stdout,
    /^commit 1\n {2}1\. update VirtualMCPServer default\/tools: the new version, which keeps/,
  )
  t.match(
    text.stdout,
    /^ {2}kubectl, Flux, Argo CD: after MCPExternalAuthConfig default\/jira, backend MCPServer jira of .* is without credentials/m,
  )
  t.match((await run('old.yaml', 'new.yaml', '--output', 'markdown')).stdout, /^\*\*3 steps in 2 commits: /)
  const written = await run('old.yaml', 'new.yaml', '--output', 'json', '--write', 'out')
  t.match(JSON.parse(written.stdout) as StepsPlan, { outcome: 'order', commits: 2, givenUp: [] })
  t.equal(written.stderr, 'out/1/apply.yaml\nout/2/apply.yaml\n')
  t.match(readFileSync(join(folder, 'out/1/apply.yaml'), 'utf8'), /name: entra[^]*name: okta/)
  for (const taken of ['out', 'old.yaml'])
    t.match(await run('old.yaml', 'new.yaml', '--write', taken), { status: 2, stdout: '' }, taken)
  t.equal((await run('old.yaml', 'old.yaml', '--write', 'unused')).status, 0)
  t.notOk(existsSync(join(folder, 'unused')))
  write('wrong.yaml', [...old.slice(0, 3), ...now.slice(3)])
  const wrong = await run('old.yaml', 'wrong.yaml')
  t.equal(wrong.status, 1)
  t.match(
    wrong.stdout,
    /^the new state contradicts itself\n {2}VirtualMCPServer default\/tools: spec\.authServerConfig/m,
  )
  t.match(await run('old.yaml', 'old.yaml'), { status: 0, stdout: 'no object changes\n' })
  writeFileSync(
    join(folder, 'nameless.yaml'),
    stringify({
      apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
      kind: 'MCPGroup',
      metadata: { generateName: 'a-' },
    }),
  )
  const unread = { status: 3, stdout: '', stderr: /^nameless.yaml:3:1: cannot read: the object has no meta/ }
  t.match(await run('old.yaml', 'nameless.yaml'), unread)
  t.match(await run('nameless.yaml', 'old.yaml'), unread)
  for (const args of [['old.yaml'], ['--apply', 'old.yaml', 'new.yaml'], ['--yes', 'old.yaml', 'new.yaml']])
    t.equal((await run(...args)).status, 2, args.join(' '))
  const meantForOthers = await runCli(['steps', 'old.yaml', 'new.yaml'], {
    cwd: folder,
    environment: { VMCP_APPLY: 'true' },
  })
  t.equal(meantForOthers.status, 0, 'VMCP_APPLY counts with --cluster alone')
})

t.test('with --cluster', { skip: process.platform === 'win32' }, async (t) => {
  const cwd = t.testdir({ one: {}, two: {} })
  const tools = mkdtempSync(join(tmpdir(), 'vmcp-admission-kubectl-'))
  t.teardown(() => rmSync(tools, { recursive: true }))
  writeFileSync(join(tools, 'kubectl'), `#!/bin/sh\ncat > '${tools}/sent'\n`, { mode: 0o755 })
  const text = (objects: readonly Other[], namespace = 'default') =>
    placed(objects, namespace)
      .map((each) => stringify(each))
      .join('---\n')
  const write = (name: string, ...given: Parameters<typeof text>) =>
    writeFileSync(join(cwd, name), text(...given))
  const runBeside = async (stored: readonly Other[], namespace: string, ...args: string[]) => {
    const lists = [page(placed(stored, namespace))]
    const { kubeconfig } = await fakeApiServer(t, `namespaces/${namespace}/mcpoidcconfigs`, { lists })
    return runCli(['steps', '--cluster', '--kubeconfig', kubeconfig, ...args], {
      cwd,
      environment: { PATH: `${tools}:${process.env.PATH ?? ''}` },
    })
  }

  write('new.yaml', [oidcConfig('corporate')])
  const applied = await runBeside(
    [fetching(oidcConfig('corporate'))],
    'default',
    '--apply',
    '--yes',
    'new.yaml',
  )
  t.match(applied, { status: 0, stderr: /^done: update MCPOIDCConfig default\/corporate$/m })
  const { spec } = JSON.parse(readFileSync(join(tools, 'sent'), 'utf8')) as { spec: unknown }
  t.strictSame(
    spec,
    { ...(oidcConfig('corporate').spec as object), jwksAllowPrivateIP: null },
    'kubectl removes a field that it did not write only where the manifest has null',
  )
  const edited = appliedBy(oidcConfig('corporate', 'https://edited.example.com'), oidcConfig('corporate'))
  t.match(
    (await runBeside([edited], 'default', 'new.yaml')).stdout,
    /update MCPOIDCConfig default\/corporate$/m,
  )

  write('open.yaml', [oidcConfig('corporate', 'https://${DOMAIN}')])
  const open = await runBeside([], 'default', '--apply', '--yes', 'open.yaml')
  t.match(open, {
    status: 3,
    stderr:
      /^open\.yaml:9:13: cannot read: the placeholder \$\{DOMAIN\} is not filled in, and --apply would store it: fill it in with --set DOMAIN=VALUE$/m,
  })
  t.equal((await runBeside([], 'default', 'open.yaml')).status, 0)
  const filled = await runBeside(
    [],
    'default',
    '--apply',
    '--yes',
    '--set',
    'DOMAIN=a.example.com',
    'open.yaml',
  )
  t.equal(filled.status, 0, filled.stderr)

  write('elsewhere.yaml', [oidcConfig('gone')], 'elsewhere')
  const moved = await runBeside([oidcConfig('gone')], 'elsewhere', '--previous', 'elsewhere.yaml', 'new.yaml')
  t.match(moved, { status: 0, stdout: /delete MCPOIDCConfig elsewhere\/gone$/m })

  write('one/a.yaml', [oidcConfig('corporate')])
  write('two/b.yaml', [oidcConfig('gone')])
  for (const args of [
    ['init', '--quiet', '--initial-branch=main'],
    ['add', '.'],
    ['commit', '--quiet', '-m', 'a'],
  ])
    spawnSync('git', ['-c', 'user.email=a@example.com', '-c', 'user.name=a', ...args], { cwd })
  write('two/b.yaml', [group()])
  const both = [oidcConfig('corporate'), oidcConfig('gone')]
  const gone = await runBeside(both, 'default', '--previous', 'git:main', 'one', 'two')
  t.match(gone, { status: 0, stdout: /delete MCPOIDCConfig default\/gone$/m })

  writeFileSync(join(cwd, 'one/vmcp-admission.yaml'), 'no such setting')
  t.match(await runBeside([], 'default', 'one', 'two'), { status: 2, stderr: /vmcp-admission\.yaml/ })
  t.match(await runCli(['plan', '--together', 'one', 'two'], { cwd }), { status: 2 })
})

t.test('docs/steps.md shows what the command prints', async (t) => {
  const page = readFileSync(new URL('../docs/steps.md', import.meta.url), 'utf8')
  const [, call = '', shown = ''] =
    /^```console\n\$ vmcp-admission (steps examples\/change\/old examples\/change\/new)\n([^]*?)^```$/m.exec(
      page,
    ) ?? []
  t.equal(
    (await runCli(call.split(' '), { cwd: fileURLToPath(new URL('..', import.meta.url)) })).stdout,
    shown,
  )
})
