import { outcomeOf, parsePolicy } from '../../src/cedar/index.ts'
import { PolicyEntities, readEntities } from '../../src/relations/policy-entities.ts'
import { ANYBODY, KnownRequests, REQUESTS } from '../../src/relations/policy-requests.ts'
import { Budget } from '../../src/rule/index.ts'
import { cedarGoAnswers, cedarGoName, type CedarAnswer, type CedarRequest } from '../cedar-go.ts'
import { type Compare, Tally } from './comparison.ts'
import { randomOf, several } from './random.ts'

const ENTITIES = JSON.stringify([
  { uid: { type: 'THVGroup', id: 'staff' }, parents: [{ type: 'Role', id: 'writer' }], attrs: {} },
  { uid: { type: 'Role', id: 'writer' }, parents: [{ type: 'Role', id: 'reader' }], attrs: {} },
  { uid: { type: 'MCP', id: 'gw' }, parents: [{ type: 'Zone', id: 'inner' }], attrs: {} },
  { uid: { type: 'Tool', id: 'a' }, parents: [], attrs: { owner: 'x' } },
])

/** `kind` is an index of REQUESTS. */
type Asked = CedarRequest & { readonly kind: number }

/** Writes policies, and requests that they may match. */
function requestWriter(seed: number): () => { readonly text: string; readonly asked: Asked } {
  const { random, below, pick, some } = randomOf(seed)

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
      ...[
        'resource.uri',
        'resource.readOnlyHint',
        'resource.operation',
        'principal.email',
        'context.claim_b',
      ],
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
    `${pick(['permit', 'forbid'])}(${scope('principal')}, ${scope('action')}, ${scope('resource')})${some(2, () => ` ${pick(['when', 'unless'])} { ${condition(1 + below(3))} }`).join('')};`

  const someOf = <T>(values: Readonly<Record<string, readonly [T, ...T[]]>>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(values).flatMap(([name, among]) => (random() < 0.6 ? [[name, pick(among)]] : [])),
    )

  function request(): Asked {
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
        ...someOf<unknown>({
          email: ['x', 'a'],
          groups: [['a'], [], ['x', 'a']],
          n: [5, 'x'],
          r: [{ inner: 'x' }, {}, 'a'],
          b: [true, false],
        }),
      },
      args: someOf<unknown>({ n: [5, 1.5, 'a'], s: ['x', true], o: [{}, [1]] }),
      hints: type === 'Tool' ? someOf({ readOnlyHint: [true, false] }) : {},
      groups: pick([[], ['staff'], ['other']]),
      group: 'THVGroup',
    }
  }

  return () => ({ text: policy(), asked: request() })
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

/** What we say that a policy can come to: what cedar-go decides must be possible. */
export const compareOutcomes: Compare = async (count, seed) => {
  const cases = several(count, requestWriter(seed))
  const answers = await cedarGoAnswers(
    cases.map(({ text, asked }) => ({ policies: [text], entities: ENTITIES, request: asked })),
  )
  const tally = new Tally()
  for (const [i, { text, asked }] of cases.entries()) {
    const parsed = parsePolicy(text)
    const answer = answers[i]
    const family = families[asked.kind]
    if (parsed.kind !== 'policy' || answer === undefined || family === undefined) {
      if (answer?.message === undefined || parsed.kind === 'policy') tally.different(text)
      tally.came('refused')
      continue
    }
    const outcome = outcomeOf(parsed.policy, family, new Budget(1e6))
    const came = outcomeIn(answer)
    tally.came(came)
    const isOutside = came === 'other' && outcome.scope !== 'all'
    const possible = { held: outcome.isTrue, failed: outcome.fails, other: outcome.isFalse || isOutside }
    if (!possible[came]) tally.different(JSON.stringify({ came, text, asked, outcome }))
  }
  return [tally.result('Cedar: what a policy can come to', cedarGoName(), cases.length)]
}

const outcomeIn = ({ errors, reasons }: CedarAnswer) =>
  errors?.length ? 'failed' : reasons?.length ? 'held' : 'other'
