import t from 'tap'
import {
  authServer,
  backend,
  configWith,
  exchangeConfig,
  gateway,
  headerConfig,
  injectConfig,
  inline,
  oidcConfig,
  otherOf,
  serverConfig,
} from '../src/relations/examples.ts'
import { examplesAt, type PlacedExample, rulePlaces } from '../src/kinds/places.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { findingText } from '../src/rule/finding.ts'
import { fieldOf, type SchemaNode } from '../src/shape/pointer.ts'
import type { Settings, SeveritySetting } from '../src/engine/settings.ts'
import { isObject } from '../src/rule/resource.ts'
import type { Other } from '../src/rule/rule.ts'
import { judgeOf, resourceOf, submissionOf } from './support/review.ts'
import { stepsOf } from './support/steps.ts'
import { stateOf } from './support/cluster-state.ts'

const ENFORCED: Partial<Settings> = {}
/** Settings that make every finding an error, because the ratchet must hold for all errors that users configure. */
const STRICT: Partial<Settings> = {
  severities: [...ALL_IDS].map((id) => ({ id, severity: 'error' as const })),
}

const resource = ({ kind, spec, metadata, ...rest }: Other) => ({
  ...rest,
  ...resourceOf(kind, spec, { namespace: 'default', ...metadata }),
})

/** The errors of an update from `before` to `after`, in a cluster with the other objects. */
function denied(others: readonly Other[], before: Other, after: Other, settings = ENFORCED): string[] {
  const state = stateOf([...others, before].map(resource))
  const submission = submissionOf(after.kind, resource(after), {
    operation: 'UPDATE',
    name: after.metadata.name,
    oldObject: resource(before),
  })
  return judgeOf({ settings, state }).admit(submission).errors.map(findingText)
}

const discovering = (...providers: string[]) =>
  gateway('gateway', { authServerConfig: authServer(...providers) })
const listing = (backends: Record<string, string>, fallback?: string, ...providers: string[]) =>
  gateway('gateway', {
    outgoingAuth: inline(backends, fallback),
    ...(providers.length > 0 && { authServerConfig: authServer(...providers) }),
  })
const injecting = [
  injectConfig('jira', 'okta'),
  backend('jira', 'jira'),
  injectConfig('wiki', 'github'),
  backend('wiki', 'wiki'),
]
const exchanging = [
  exchangeConfig('jira', 'okta'),
  exchangeConfig('wiki', 'github'),
  ...injecting.filter(({ kind }) => kind === 'MCPServer'),
]
const withIssuer = (issuer: string, config: string) =>
  gateway('gateway', {
    authServerConfig: { ...authServer('okta'), issuer },
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: config }, audience: 'tools' },
  })
const corporate = [oidcConfig('a', 'https://a.example.com'), oidcConfig('b', 'https://b.example.com')]
const referring = (config: string, field = 'externalAuthConfigRef', spec = {}): Other =>
  otherOf('MCPServer', 'build', { [field]: { name: config }, ...spec })
const audiences = (beside: string, inside: string) =>
  gateway('gateway', {
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: inside }, audience: beside },
  })
const matchers = (count: number, role = 'reader'): Other =>
  configWith('aws', 'awsSts', {
    region: 'eu-central-1',
    roleMappings: Array.from({ length: count }, (_, i) => ({
      roleArn: `arn:aws:iam::123456789012:role/${role}`,
      matcher: `claims.sub == "${String(i).padStart(9_900, 'x')}"`,
    })),
  })
const mistyped = (issuer: unknown): Other =>
  otherOf('MCPOIDCConfig', 'corporate', { type: 'inline', inline: { issuer } })
const otherGroup = (object: Other): Other => ({
  ...object,
  spec: { ...(object.spec as object), groupRef: { name: 'other' } },
})

t.test('an old mistake blocks no other change, and a new one is denied', (t) => {
  type Row = readonly [
    title: string,
    others: readonly Other[],
    before: Other,
    after: Other,
    denied?: RegExp[],
  ]
  const rows: readonly Row[] = [
    ['one of two missing providers is added', injecting, discovering('x'), discovering('x', 'okta')],
    ['the first of two is added with the server', injecting, gateway('gateway'), discovering('okta')],
    ['another provider is changed', injecting, discovering('x'), discovering('y')],
    ['another provider is removed', injecting, discovering('x', 'y'), discovering('y')],
    [
      'a provider is missing that was there',
      injecting,
      discovering('okta'),
      discovering('x'),
      [/"okta".*jira/],
    ],
    [
      'both are missing that were there',
      injecting,
      discovering('okta', 'github'),
      discovering('x'),
      [/okta/, /github/],
    ],
    [
      'the server goes that had one of two',
      injecting,
      discovering('okta'),
      gateway('gateway'),
      [/authServerConfig.*jira/],
    ],
    [
      'one is added, another one goes',
      injecting,
      discovering('okta'),
      discovering('github'),
      [/"okta".*jira/],
    ],
    ['exchanged: one of two is added', exchanging, discovering('x'), discovering('okta')],
    ['exchanged: one of two is added with the server', exchanging, gateway('gateway'), discovering('okta')],
    ['exchanged: one goes', exchanging, discovering('x', 'okta'), discovering('x'), [/"okta".*jira/]],
    [
      'the same contradiction in another group',
      [...injecting, otherGroup(backend('other', 'jira'))],
      discovering('github'),
      otherGroup(discovering('github')),
      [/"okta".*other/],
    ],
    [
      'inline: one of two is added',
      injecting,
      listing({ a: 'jira', b: 'wiki' }, undefined, 'x'),
      listing({ a: 'jira', b: 'wiki' }, undefined, 'okta'),
    ],
    [
      'inline: with the server',
      injecting,
      listing({ a: 'jira', b: 'wiki' }),
      listing({ a: 'jira', b: 'wiki' }, undefined, 'okta'),
    ],
    [
      'inline: one key more that contradicts',
      injecting,
      listing({ a: 'jira' }),
      listing({ a: 'jira', b: 'jira' }),
      [/backends\[b\]/],
    ],
    ['inline: one key goes', injecting, listing({ a: 'jira', b: 'jira' }), listing({ b: 'jira' })],
    [
      'inline: another reference contradicts',
      injecting,
      listing({ a: 'jira' }),
      listing({ a: 'wiki' }),
      [/wiki/],
    ],
    [
      'inline: a listed backend beside a default that contradicts',
      [...injecting, headerConfig('key')],
      listing({}, 'jira'),
      listing({ jira: 'key' }, 'jira'),
    ],
    [
      'the issuer differs as before',
      corporate,
      withIssuer('https://x.example.com', 'a'),
      {
        ...withIssuer('https://x.example.com', 'a'),
        spec: { ...(withIssuer('https://x.example.com', 'a').spec as object), replicas: 2 },
      },
    ],
    [
      'another wrong issuer',
      corporate,
      withIssuer('https://x.example.com', 'a'),
      withIssuer('https://y.example.com', 'a'),
      [/issuer/],
    ],
    [
      'another MCPOIDCConfig with another issuer',
      corporate,
      withIssuer('https://x.example.com', 'a'),
      withIssuer('https://x.example.com', 'b'),
      [/"b"/],
    ],
    [
      'two providers beside an MCPServer: one is renamed',
      [referring('auth')],
      serverConfig('auth', 'a', 'b'),
      serverConfig('auth', 'a', 'c'),
    ],
    [
      'three become two',
      [referring('auth')],
      serverConfig('auth', 'a', 'b', 'c'),
      serverConfig('auth', 'a', 'c'),
    ],
    [
      'two become three',
      [referring('auth')],
      serverConfig('auth', 'a', 'b'),
      serverConfig('auth', 'a', 'b', 'c'),
      [/at most 1/],
    ],
    [
      'one becomes two',
      [referring('auth')],
      serverConfig('auth', 'a'),
      serverConfig('auth', 'a', 'b'),
      [/at most 1/],
    ],
    [
      'an MCPServer refers to two providers as before',
      [serverConfig('auth', 'a', 'b')],
      referring('auth'),
      referring('auth', 'externalAuthConfigRef', { replicas: 2 }),
    ],
    [
      'an MCPServer refers to two other providers',
      [serverConfig('auth', 'a', 'b'), serverConfig('own', 'a', 'b')],
      referring('auth'),
      referring('own'),
      [/own/],
    ],
    [
      'the other place refers to them',
      [serverConfig('auth', 'a', 'b')],
      referring('auth'),
      referring('auth', 'authServerRef'),
      [/authServerRef/],
    ],
    [
      'audiences that differ as before',
      [],
      audiences('a', 'b'),
      { ...audiences('a', 'b'), spec: { ...(audiences('a', 'b').spec as object), replicas: 2 } },
    ],
    ['audiences that differ otherwise', [], audiences('a', 'b'), audiences('a', 'c'), [/audience/]],
    ['another list where a text belongs', [], mistyped(['a']), mistyped(['b', 'c'])],
    ['an object in place of the list', [], mistyped(['a']), mistyped({}), [/must be of type string/]],
    ['another wrong number', [], mistyped(5), mistyped(6), [/must be of type string/]],
    ['too many matchers, and another role', [], matchers(54), matchers(54, 'writer')],
    ['fewer of too many matchers', [], matchers(56), matchers(54)],
    ['more of too many matchers', [], matchers(54), matchers(55), [/512 KiB/]],
  ]
  for (const [title, others, before, after, expected = []] of rows) {
    const found = denied(others, before, after)
    t.equal(found.length, expected.length, `${title}: ${found.join()}`)
    for (const [i, text] of expected.entries()) t.match(found[i], text, title)
  }
  t.end()
})

const written = rulePlaces().filter(({ rule }) => rule.when !== 'delete')
const other = ({ resource }: PlacedExample) => resource as unknown as Other

t.test('advice is told when an object is created, and not again', (t) => {
  const config = (issuer: string) => ({
    spec: { type: 'embeddedAuthServer', embeddedAuthServer: { ...authServer('okta'), issuer } },
  })
  const [before, after] = [config('https://auth.example.com'), config('https://login.example.com')]
  const severities = (submission: object, setting: readonly SeveritySetting[] = []) => {
    const given = submissionOf('MCPExternalAuthConfig', after, submission)
    const { warnings } = judgeOf({ settings: { severities: setting } }).admit(given)
    return warnings.filter(({ id }) => id.startsWith('auth-server-')).map(({ severity }) => severity)
  }
  const update = { operation: 'UPDATE', oldObject: before }
  t.strictSame(severities({ operation: 'CREATE' }), ['advice'])
  t.strictSame(severities(update), [])
  const raised = [{ id: 'auth-server-storage-persistent', severity: 'warning' }] as const
  t.strictSame(severities(update, raised), ['warning'], 'a setting makes it a warning')
  t.end()
})

t.test('no finding of any rule blocks a change beside it, were it an error', (t) => {
  let changed = 0
  for (const place of written) {
    const { rule, kind } = place
    for (const example of examplesAt(place)) {
      // Rules that compare an object with its stored state report nothing about a stored object.
      if (example.findings.length === 0 || example.old !== undefined) continue
      const spec = beside(fieldOf(kind.schema, 'spec'), example.resource.spec)
      const after = { ...example.resource, spec } as unknown as Other
      const others = example.others as unknown as Other[]
      t.strictSame(denied(others, other(example), after, STRICT), [], `${rule.id}: ${example.title}`)
      changed += 1
    }
  }
  t.ok(changed > 100, `${changed} examples`)
  t.end()
})

/** The value with an unrelated field added to each object that is not a map. */
function beside(node: SchemaNode | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => beside(node?.items, item))
  if (!isObject(value)) return value
  const fields = Object.entries(value).map(
    ([key, field]) => [key, beside(fieldOf(node, key), field)] as const,
  )
  const isMap = node?.additionalProperties !== undefined
  return { ...Object.fromEntries(fields), ...(!isMap && { unrelated: 'text' }) }
}

/** The errors of a creation. */
function findsIn(others: readonly Other[], object: Other): string[] {
  const submission = submissionOf(object.kind, resource(object), { name: object.metadata.name })
  const { errors } = judgeOf({ settings: STRICT, state: stateOf(others.map(resource)) }).admit(submission)
  return errors.map(findingText)
}

t.test('every finding of every rule is new where the stored object has none of its rule', (t) => {
  let denials = 0
  for (const place of written) {
    const { rule } = place
    // Rules that need a known release do not apply here.
    if (rule.appliesTo?.from !== undefined && rule.appliesTo.orUnknown !== true) continue
    // Names, of which only a creation is told.
    if (rule.id === 'service-name-valid') continue
    const examples = examplesAt(place)
    const isOf = (text: string) => text.endsWith(`(${rule.id})`)
    for (const example of examples) {
      if (example.findings.length === 0) continue
      const others = example.others as unknown as Other[]
      const bare = { ...other(example), spec: {} }
      const silent = [example.old, bare, ...examples.map(({ resource }) => resource)].find(
        (before) => before !== undefined && !findsIn(others, before as unknown as Other).some(isOf),
      )
      if (silent === undefined) continue
      const before = silent as unknown as Other
      const found = denied(others, before, other(example), STRICT).filter(isOf)
      t.strictSame(found.toSorted(), example.findings.toSorted(), `${rule.id}: ${example.title}`)
      denials += 1
    }
  }
  t.ok(denials > 100, `${denials} examples`)
  t.end()
})

t.test('an update with many stored errors costs little more than a create', (t) => {
  const configs = Array.from({ length: 1_000 }, (_, i) => [
    injectConfig(`config-${i}`, `missing-${i}`),
    backend(`backend-${i}`, `config-${i}`),
  ])
  const providers = Array.from({ length: 5_000 }, (_, i) => `${'p'.repeat(100)}-${i}`)
  const [before, after] = [providers, [...providers, 'new']].map((names) => resource(discovering(...names)))
  t.ok(JSON.stringify(before).length > 1_050_000)
  const state = stateOf(configs.flat().map(resource))
  const judge = judgeOf({ state })
  const review = (request: object) => () => {
    const { errors, warnings } = judge.admit(submissionOf('VirtualMCPServer', after, request))
    t.ok(errors.length + warnings.length > 1_000)
  }
  const [create = NaN, update = NaN] = stepsOf(
    review({ name: 'gateway' }),
    review({ name: 'gateway', operation: 'UPDATE', oldObject: before, dryRun: true }),
  )
  // An update judges two objects, adds defaults to both, and compares them item by item.
  t.ok(update < 6 * create, `${create} steps of a create, ${update} of an update`)
  t.end()
})
