/**
 * Holds what we say that a policy can come to against what cedar-go decides for random policies and requests: what it
 * decides must be possible. Needs Go. Run: npm run fuzz:outcomes -- [COUNT] [SEED]
 */
import { randomNumbers } from '../src/access/difference/random-numbers.ts'
import { outcomeOf, parsePolicy } from '../src/cedar/index.ts'
import { PolicyEntities, readEntities } from '../src/relations/policy-entities.ts'
import { ANYBODY, KnownRequests, REQUESTS } from '../src/relations/policy-requests.ts'
import { Budget } from '../src/rule/index.ts'
import { type CedarRequest, cedarGoAnswers } from './cedar-go.ts'

const count = Number(process.argv[2] ?? 100_000)
const random = randomNumbers(Number(process.argv[3] ?? 1))
const below = (limit: number) => Math.floor(random() * limit)
const pick = <T>(choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0]

const ENTITIES = JSON.stringify([
  { uid: { type: 'THVGroup', id: 'staff' }, parents: [{ type: 'Role', id: 'writer' }], attrs: {} },
  { uid: { type: 'Role', id: 'writer' }, parents: [{ type: 'Role', id: 'reader' }], attrs: {} },
  { uid: { type: 'MCP', id: 'gw' }, parents: [{ type: 'Zone', id: 'inner' }], attrs: {} },
  { uid: { type: 'Tool', id: 'a' }, parents: [], attrs: { owner: 'x' } },
])

const entity = () =>
  pick([
    ...['Client::"x"', 'Client::"y"', 'User::"x"', 'THVGroup::"staff"', 'Role::"reader"', 'Role::"other"'],
    ...['Action::"call_tool"', 'Action::"get_prompt"', 'Action::"list_tools"', 'Tool::"a"', 'Tool::"b"'],
    ...['Prompt::"a"', 'Resource::"a"', 'MCP::"gw"', 'MCP::"other"', 'Zone::"inner"', 'Server::"gw"'],
  ] as unknown as [string])

const attribute = () =>
  pick([
    ...[
      'principal.claim_sub',
      'principal.claim_email',
      'principal.claim_groups',
      'context.claim_n',
      'context.claim_r',
    ],
    ...[
      'context.arg_n',
      'context.arg_s',
      'resource.arg_s',
      'context.arg_o',
      'context.arg_o_present',
      'resource.name',
    ],
    ...['resource.uri', 'resource.readOnlyHint', 'resource.operation', 'principal.email', 'context.claim_b'],
    ...['action.operation', 'principal["claim_email"]', 'context.claim_r.inner', 'resource.owner'],
  ] as unknown as [string])

const literal = () =>
  pick([
    '"x"',
    '"a"',
    '5',
    '1',
    'true',
    'decimal("5.0")',
    'decimal("5")',
    '["a", "x"]',
    '[5]',
    '{a: 1}',
  ] as const)

const has = () =>
  attribute()
    .replace(/\.(\w+)$/, ' has $1')
    .replace(/\["(\w+)"\]$/, ' has "$1"')

function condition(depth: number): string {
  if (depth <= 0) return random() < 0.6 ? has() : 'true'
  const inner = () => condition(depth - 1 - below(2))
  switch (below(17)) {
    case 0:
    case 1:
      return `(${inner()} && ${inner()})`
    case 2:
      return `(${inner()} || ${inner()})`
    case 3:
      return `!(${inner()})`
    case 4:
      return `(if ${inner()} then ${inner()} else ${inner()})`
    case 5:
      return `${attribute()} ${pick(['==', '!='])} ${random() < 0.7 ? literal() : attribute()}`
    case 6:
      return `${attribute()} ${pick(['<', '<=', '>', '>='])} ${literal()}`
    case 7:
      return `${attribute()} like "${pick(['*', 'x', '*a'])}"`
    case 8:
      return `${attribute()}.contains(${literal()})`
    case 9:
      return `[${literal()}, ${literal()}].contains(${attribute()})`
    case 10:
      return `${pick(['principal', 'resource', 'action'])} ${pick(['==', '!=', 'in'])} ${entity()}`
    case 11:
      return `${pick(['principal', 'resource', 'action'])} in [${entity()}, ${entity()}]`
    case 12:
      return `${pick(['principal', 'resource'])} is ${pick(['Client', 'Tool', 'Prompt', 'User'])}${random() < 0.3 ? ` in ${entity()}` : ''}`
    case 13:
      return `${attribute()}.${pick(['lessThan', 'greaterThan'])}(${literal()})`
    case 14:
      return `${attribute()}.${pick(['containsAny', 'containsAll'])}(${literal()})`
    case 15:
      return random() < 0.5 ? attribute() : `${attribute()}.isEmpty()`
    default:
      return has()
  }
}

const scope = (of: string) =>
  pick([
    () => of,
    () => of,
    () => of,
    () => `${of} == ${entity()}`,
    () => `${of} in ${entity()}`,
    () => (of === 'action' ? `${of} in [${entity()}, ${entity()}]` : `${of} is Tool`),
  ])()

const policy = () =>
  `${pick(['permit', 'forbid'])}(${scope('principal')}, ${scope('action')}, ${scope('resource')})${Array.from({ length: below(3) }, () => ` ${pick(['when', 'unless'])} { ${condition(1 + below(3))} }`).join('')};`

const some = <T>(values: Readonly<Record<string, readonly [T, ...T[]]>>): Record<string, T> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, among]) => (random() < 0.6 ? [[name, pick(among)]] : [])),
  )

function request(): CedarRequest & { readonly kind: number } {
  const kind = below(3)
  const { action, type } = REQUESTS[kind] ?? REQUESTS[0]
  return {
    kind,
    action,
    type,
    name: pick(['a', 'b', 'x']),
    server: 'gw',
    claims: {
      sub: pick(['x', 'y']),
      ...some<unknown>({
        email: ['x', 'a'],
        groups: [['a'], [], ['x', 'a']],
        n: [5, 'x'],
        r: [{ inner: 'x' }, {}, 'a'],
        b: [true, false],
      }),
    },
    args: some<unknown>({ n: [5, 1.5, 'a'], s: ['x', true], o: [{}, [1]] }),
    hints: type === 'Tool' ? some({ readOnlyHint: [true, false] }) : {},
    groups: pick([[], ['staff'], ['other']]),
    group: 'THVGroup',
  }
}

const read = readEntities(ENTITIES, new Budget(1e6))
const setting = {
  groupType: 'THVGroup',
  groupClaims: ['groups', 'roles', 'cognito:groups'],
  hasClaimSets: false,
  hasBackends: false,
  kinds: REQUESTS,
  entities: new PolicyEntities(() => (read.kind === 'entities' ? read.entities : undefined)),
  server: 'gw',
  callers: ANYBODY,
}
const families = REQUESTS.map((kind) => new KnownRequests(kind, setting))
const cases = Array.from({ length: count }, () => ({ text: policy(), asked: request() }))
const answers = cedarGoAnswers(
  cases.map(({ text, asked }) => ({ policies: [text], entities: ENTITIES, request: asked })),
)
const counts = { held: 0, failed: 0, other: 0, always: 0 }
const wrong: string[] = []
for (const [i, { text, asked }] of cases.entries()) {
  const parsed = parsePolicy(text)
  const answer = answers[i]
  const family = families[asked.kind]
  if (parsed.kind !== 'policy' || answer === undefined || family === undefined) {
    if (answer?.message === undefined || parsed.kind === 'policy') wrong.push(text)
    continue
  }
  const outcome = outcomeOf(parsed.policy, family, new Budget(1e6))
  const came = answer.errors?.length ? 'failed' : answer.reasons?.length ? 'held' : 'other'
  counts[came]++
  const isOutside = came === 'other' && outcome.scope !== 'all'
  const isPossible = { held: outcome.isTrue, failed: outcome.fails, other: outcome.isFalse || isOutside }[
    came
  ]
  if (
    outcome.scope !== 'none' &&
    [outcome.isTrue, outcome.isFalse, outcome.fails].filter(Boolean).length === 1
  )
    counts.always++
  if (!isPossible) wrong.push(`${came}: ${text} ${JSON.stringify(asked)} ${JSON.stringify(outcome)}`)
}
process.stdout.write(
  `${count} requests: ${JSON.stringify(counts)}, ${wrong.length} that we call impossible\n`,
)
for (const each of wrong.toSorted((a, b) => a.length - b.length).slice(0, 10))
  process.stdout.write(`${each}\n`)
process.exitCode = wrong.length === 0 ? 0 : 1
