import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { RE2JS } from '@bufbuild/re2'
import { compareChoices } from '../src/access/difference/compare.ts'
import type { Entry } from '../src/access/difference/entries.ts'
import { differenceOf, outcomesFor } from '../src/access/difference/states.ts'
import { type CallerTokens, UNKNOWN_TOKENS } from '../src/access/role/caller-tokens.ts'
import { judge } from '../src/library/index.ts'
import { judgeText } from '../src/pages/playground/judged.ts'
import type { Claims } from '../src/access/role/claims.ts'
import { isTrueFor, roleChoice } from '../src/access/difference/role-choice.ts'
import { grantsOf } from '../src/access/difference/grants.ts'
import { programOf } from '../src/cel/reason/program.ts'
import { fromJson, type Value } from '../src/cel/evaluate/values.ts'
import { delegationChoice } from '../src/access/difference/delegation-choice.ts'
import { kindNamed } from '../src/kinds/index.ts'
import { GENERATIONS, NEWEST } from '../src/kinds/mcp-external-auth-config/generations.ts'
import { type Literal, Solver } from '../src/cel/reason/solver.ts'
import { Budget } from '../src/rule/budget.ts'
import {
  contains,
  endsWith,
  findText,
  isAtLeast,
  isBefore,
  isText,
  matches,
  passes,
  startsWith,
  type TextTest,
} from '../src/cel/reason/texts.ts'
import { CALLERS, checkPair, type PairCounts, RandomConfigs } from './support/access-pairs.ts'
import { runCli } from './support/cli.ts'
import { fakeApiServer, page } from './support/fake-api-server.ts'

/** `npm run prove:access` compares 100,000 pairs. */
const PAIRS = 200

void t.test(
  'random pairs: no false witness, no wrong "no difference", over all callers of a small universe',
  (t) => {
    const random = new RandomConfigs(20_26)
    const counts: PairCounts = { pairs: 0, same: 0, different: 0, witnesses: 0, undecided: 0, partly: 0 }
    for (let i = 0; i < PAIRS; i++) {
      const pair = random.pair()
      const problem = checkPair(pair, GENERATIONS[i % GENERATIONS.length] ?? NEWEST, counts)
      if (problem !== undefined) t.fail(problem, { pair })
    }
    t.comment(JSON.stringify(counts))
    t.ok(counts.same > PAIRS / 10, 'pairs without a difference')
    t.ok(counts.different > PAIRS / 10, 'pairs with a difference')
    t.ok(counts.undecided + counts.partly < PAIRS / 20, 'few are not decided')
    t.end()
  },
)

const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`
const config = (roleMappings: readonly object[], more: object = {}) => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'aws' },
  spec: {
    type: 'awsSts',
    awsSts: { region: 'eu-west-1', fallbackRoleArn: role('reader'), roleMappings, ...more },
  },
})
const matching = (...matchers: readonly string[]) =>
  config(matchers.map((matcher, i) => ({ matcher, roleArn: role(`r${i}`) })))

/** Pairs of equivalent matchers, and whether `access` proves that they are equivalent. */
const EQUIVALENT: readonly (readonly [string, string])[] = [
  ['claims.sub == "a"', 'claims["sub"] == "a"'],
  ['claims.sub == "a" || claims.sub == "b"', 'claims.sub in ["b", "a"]'],
  ['"a" in claims.groups && has(claims.sub)', 'has(claims.sub) && "a" in claims.groups'],
  ['!(claims.a == "x" && claims.b == "y")', '!(claims.a == "x") || !(claims.b == "y")'],
  ['claims.sub.startsWith("ab")', 'claims.sub.matches("^ab")'],
  ['claims.sub.startsWith("ab") && claims.sub.startsWith("a")', 'claims.sub.startsWith("ab")'],
  ['claims.sub.endsWith("b") && claims.sub.endsWith("a")', 'false'],
  ['claims.sub.matches("^(a|b)+$") && size(claims.sub) == 1', 'claims.sub == "a" || claims.sub == "b"'],
  ['claims.level > 3.0 && claims.level < 3.0', 'false'],
  ['type(claims.level) == double && int(claims.level) == 3', 'claims.level >= 3.0 && claims.level < 4.0'],
  [
    'size(claims.groups) > 0 && type(claims.groups) == list',
    'claims.groups != [] && type(claims.groups) == list',
  ],
  ['["a", "b"].exists(x, x in claims.groups)', '"a" in claims.groups || "b" in claims.groups'],
  ['["a", "b"].all(x, x in claims.groups)', '"a" in claims.groups && "b" in claims.groups'],
  ['claims.groups.exists(g, g == "a")', 'claims.groups.exists(h, "a" == h)'],
  [
    'claims.groups.filter(g, g == "a").size() > 0 && type(claims.groups) == list',
    'type(claims.groups) == list && "a" in claims.groups',
  ],
  ['claims.groups.all(g, g != "a")', '!claims.groups.exists(g, g == "a")'],
  ['claims.tenant == null || claims.tenant == "x"', 'claims.tenant in ["x", null]'],
  ['claims.email_verified', 'claims.email_verified == true'],
  ['has(claims.act) ? false : true', '!has(claims.act)'],
  ['claims.a + claims.b == "x"', '!(claims.a + claims.b != "x")'],
  ['claims.a + "b" == "ab" && type(claims.a) == string', 'claims.a == "a"'],
  ['{"k": claims.sub, "l": 1}.k == "a"', 'claims.sub == "a"'],
  ['["x", claims.sub][1] == "a"', 'claims.sub == "a"'],
  ['claims.g.exists(x, claims.v && x == "a")', 'claims.g.exists(x, x == "a" && claims.v)'],
  ['bool(claims.s) && claims.s in ["true", "no"]', 'claims.s == "true"'],
  ['(claims.g + ["a"]).all(x, x == "a")', 'type(claims.g) == list && claims.g.all(x, x == "a")'],
  [
    'claims.exp - claims.iat > 10.0 && claims.sub == "a"',
    'claims.sub == "a" && claims.exp - claims.iat > 10.0',
  ],
]

void t.test('of the matchers that cel-go compiles 99 % are decided', (t) => {
  const golden = readFileSync(new URL('golden/cel.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const matchers = golden
    .map((line) => JSON.parse(line) as { ok: boolean; type: string; expr: string })
    .filter(({ ok, type }) => ok && ['bool', 'dyn'].includes(type))
    .map(({ expr }) => roleChoice(config([{ matcher: expr, roleArn: role('a') }]), NEWEST))
  const constants = ['true', 'false'].map((matcher) =>
    roleChoice(config([{ matcher, roleArn: role('a') }]), NEWEST),
  )
  const decided = matchers.filter((choice) =>
    constants.every((constant) => compareChoices(choice, constant).undecided.length === 0),
  )
  t.comment(`${decided.length} of ${matchers.length}`)
  t.ok(matchers.length > 600)
  t.ok(decided.length >= matchers.length * 0.99, `${decided.length} of ${matchers.length}`)
  t.end()
})

void t.test('rewritten matchers are proved to be the same', (t) => {
  for (const [one, other] of EQUIVALENT) {
    for (const generation of GENERATIONS) {
      const difference = compareChoices(
        roleChoice(matching(one), generation),
        roleChoice(matching(other), generation),
      )
      t.same(difference, { changes: [], more: false, undecided: [] }, `${one}   ${other}`)
    }
  }
  t.end()
})

/** Old and new matchers that are not equivalent, and the smallest callers for whom the role differs, if checked. */
const DIFFERENT: readonly (readonly [readonly string[], readonly string[], unknown])[] = [
  [['claims.sub == "a"'], ['claims.sub == "b"'], [{ sub: 'b' }, { sub: 'a' }]],
  [['claims.sub.startsWith("a")'], ['claims.sub.contains("a")'], undefined],
  [['"a" in claims.groups'], ['claims.groups == ["a"]'], undefined],
  [['has(claims.a)', 'has(claims.b)'], ['has(claims.b)', 'has(claims.a)'], undefined],
  [['claims.n > 3.0'], ['claims.n >= 3.0'], [{ n: 3 }]],
  [['!has(claims.act)'], ['!("act" in claims) && claims.sub == "a"'], [{}]],
  [['claims.sub + ":" + claims.azp == "a:b"'], ['false'], [{ sub: 'a', azp: 'b' }]],
]

void t.test('a difference has a small witness', (t) => {
  for (const [old, now, expected] of DIFFERENT) {
    const { changes, undecided } = compareChoices(
      roleChoice(matching(...old), NEWEST),
      roleChoice(matching(...now), NEWEST),
    )
    t.ok(changes.length > 0, old.join())
    t.same(undecided, [], old.join())
    const found = changes.map(({ witness }) => witness)
    if (expected !== undefined)
      t.same(
        new Set(found.map((each) => JSON.stringify(each))),
        new Set((expected as unknown[]).map((each) => JSON.stringify(each))),
        old.join(),
      )
  }
  t.end()
})

void t.test('a candidate that changes nothing is not a change', (t) => {
  const alone = (roleMappings: readonly object[]) => config(roleMappings, { fallbackRoleArn: undefined })
  const { changes } = compareChoices(
    roleChoice(alone([{ matcher: 'int(claims.s) > 1', roleArn: role('one') }]), NEWEST),
    roleChoice(alone([{ matcher: '[int(claims.s) > 1].exists(z, z)', roleArn: role('one') }]), NEWEST),
  )
  t.same(changes, [])
  t.end()
})

/** The claims of a caller and matchers of role mappings; only the last one is true for the caller. */
const HARD: readonly (readonly [claims: object, ...matchers: readonly string[]])[] = [
  [{ sub: 'ann', act: { sub: 1 } }, 'has(claims.act.sub) && claims.act.all(k, !claims.sub.contains(k))'],
  [{ sub: 'ann', act: { sub: 1 } }, 'has(claims.act.sub) && !claims.act.exists(k, claims.sub.startsWith(k))'],
  [{ client: 'ann', act: { sub: 1 } }, 'has(claims.act.sub) && !claims.act.exists(k, k == claims.client)'],
  [{ client: 'sub', act: { sub: 1 } }, 'has(claims.act.sub) && claims.act.exists(k, k == claims.client)'],
  [{ client: 'ann', act: { sub: 'x' } }, 'claims.act.sub == "x" && claims.act.all(k, k != claims.client)'],
  [{ client: 'x', act: { a: 1 } }, 'has(claims.act.a) && claims.act.exists_one(k, k != claims.client)'],
  [{ sub: 'kk' }, 'claims.sub.matches("^k(?i)+$") && claims.sub == "kk"'],
  [{ sub: 'aa' }, 'claims.sub.matches("^a(?s){2}$") && claims.sub == "aa"'],
  [{ id: '5{08}' }, 'claims.id.matches("^[0-9]{8}$")', 'claims.id.matches("^[0-9]{08}$")'],
  [{ id: '5{1,05}' }, 'claims.id.matches("^[0-9]{1,05}$") && claims.id == "5{1,05}"'],
  [{ groups: ['admins'] }, '["ops"].exists(v, v in claims.groups.map(g, g.startsWith("a"), v))'],
  ...(
    [
      [{ score: 'n/a' }, 'double(claims.score) * 100.0 >= 50.0', 'claims.score == "n/a"'],
      [
        { iat: 1, skew: 'x' },
        'claims.iat - double(claims.skew) > 1.0',
        'claims.iat == 1.0 && claims.skew == "x"',
      ],
      [{ t: 'x' }, 'string(timestamp(claims.t)) + "x" == "y"', 'claims.t == "x"'],
      [{ level: 'x' }, 'int(claims.level) in []', 'claims.level == "x"'],
      [
        { level: 'x', rank: 5 },
        '[int(claims.level), claims.rank].exists(l, l >= 3)',
        'claims.level == "x" && claims.rank == 5.0',
      ],
      [{ level: 'x' }, '["a"].map(a, int(claims.level)).size() == 1', 'claims.level == "x"'],
      [
        { level: 'x', rank: 5 },
        '{"a": int(claims.level), "b": claims.rank}.b == 5.0',
        'claims.level == "x" && claims.rank == 5.0',
      ],
      [{}, 'claims.env == "dev" && claims.env == "test"', '!has(claims.env)'],
      [{}, 'claims.env in []', '!has(claims.env)'],
    ] as const
  ).map(([claims, fails, matcher]) => [claims, fails, `!(${fails})`, matcher] as const),
]

void t.test('a matcher that is true for somebody is never proved to be false', (t) => {
  for (const [claims, ...matchers] of HARD) {
    const title = matchers.join('   ')
    const last = matchers.length - 1
    for (const generation of GENERATIONS) {
      const [some, none] = [matchers, matchers.with(last, 'false')].map((each) =>
        roleChoice(matching(...each), generation),
      )
      if (some === undefined || none === undefined) continue
      if (some.decide(claims as Claims).access !== role(`r${last}`)) t.fail(`${title}: the last is not true`)
      const { changes, undecided } = compareChoices(some, none)
      t.ok(changes.length + undecided.length > 0, title)
    }
    const said = judge([matching(...matchers)]).findings.filter(
      ({ message, path }) => message.includes('never') && path.includes(`[${last}]`),
    )
    t.same(said, [], title)
  }
  t.end()
})

void t.test('what a gateway would evaluate for very long ends at the bound', (t) => {
  const list = `[${Array.from({ length: 40 }, (_, i) => i).join()}]`
  const loops = `${list}.all(a, ${list}.all(b, ${list}.all(c, claims.exp * 3.0 - claims.iat > 1.0)))`
  const budget = new Budget(200_000)
  const { undecided } = compareChoices(
    roleChoice(matching(loops), NEWEST),
    roleChoice(matching('false'), NEWEST),
    { budget },
  )
  t.match(undecided, [{ why: /bound/ }])
  t.end()
})

void t.test('each mapping has a cost limit of its own, as at the gateway', (t) => {
  const loops = 'claims.n.all(a, claims.n.all(b, claims.n.all(c, a + b + c > 0.0)))'
  const choice = roleChoice(matching(`!${loops}`, loops), NEWEST)
  const counting = (length: number) => ({ n: Array.from({ length }, () => 1) })
  t.equal(choice.decide(counting(44)).by, 'roleMappings[1]', 'less than the limit each, more together')
  t.equal(choice.decide(counting(80)).by, 'fallbackRoleArn', 'more than the limit each')
  t.end()
})

interface WhoRow {
  readonly mappings: readonly object[]
  /**
   * For each place that gives the role `r`: which callers get it there, which of them get another role instead, and an
   * example of a caller or why there is none.
   */
  readonly said: readonly (readonly [
    by: string,
    callers: string | null,
    except: readonly string[],
    answer: unknown,
  ])[]
}

const WHO: readonly WhoRow[] = [
  {
    mappings: [
      { matcher: 'has(claims.blocked)', roleArn: role('x') },
      {
        matcher: '"a" in claims.g && (claims.sub == "a-1" || claims.sub.startsWith("a-"))',
        roleArn: role('r'),
      },
    ],
    said: [
      [
        'roleMappings[1]',
        '"a" in claims.g && claims.sub.startsWith("a-")',
        ['has(claims.blocked)'],
        { g: ['a'], sub: 'a-someone' },
      ],
    ],
  },
  {
    mappings: [
      { matcher: 'claims.sub == "ann"', roleArn: role('r') },
      { matcher: 'claims.sub == "bob" || claims.sub == "ann"', roleArn: role('r') },
    ],
    said: [
      ['roleMappings[0]', 'claims.sub == "ann"', [], { sub: 'ann' }],
      ['roleMappings[1]', 'claims.sub == "bob" || claims.sub == "ann"', [], { sub: 'bob' }],
    ],
  },
  {
    mappings: [
      { claim: 'staff', roleArn: role('x') },
      { matcher: 'true || has(claims.sub)', roleArn: role('r'), priority: 7 },
      { matcher: 'has(claims.sub)', roleArn: role('r') },
    ],
    said: [
      ['roleMappings[1]', null, [], {}],
      ['roleMappings[2]', 'has(claims.sub)', [], 'roleMappings[1] takes every caller'],
    ],
  },
  {
    mappings: [{ matcher: 'claims.sub == "a" && claims.sub == "b"', roleArn: role('r') }],
    said: [['roleMappings[0]', 'claims.sub == "a" && claims.sub == "b"', [], 'no caller satisfies it']],
  },
  {
    mappings: [
      { claim: 'staff', roleArn: role('r') },
      { matcher: 'claims.', roleArn: role('x') },
    ],
    said: [['roleMappings[0]', 'nobody', [], 'the workload does not start because of roleMappings[1]']],
  },
]

void t.test('who gets a role, in as few words as its matchers allow', (t) => {
  for (const { mappings, said } of WHO) {
    const grants = grantsOf(roleChoice(config(mappings), NEWEST), (access) => access === role('r'))
    t.same(
      grants.map(({ by, callers, except, answer }) => [
        by,
        callers,
        except.map((each) => each.callers),
        answer.is === 'somebody' ? answer.example : answer.why,
      ]),
      said,
    )
  }
  t.end()
})

void t.test('the description of a role is true of exactly the callers that get it', (t) => {
  const random = new RandomConfigs(7)
  let described = 0
  for (let i = 0; i < 60; i++) {
    const choice = roleChoice(random.ofMatchers(), NEWEST)
    const grants = grantsOf(choice, (access) => access === role('r1'))
    const tests = new Map<string, (claims: Value) => boolean>()
    const holds = (text: string, claims: Value): boolean => {
      const known = tests.get(text)
      if (known !== undefined) return known(claims)
      const program = programOf(text, NEWEST.celGo)
      if (typeof program === 'string') throw new Error(`${text}: ${program}`)
      const test = (each: Value) => isTrueFor(program, each)
      tests.set(text, test)
      return test(claims)
    }
    for (const [n, claims] of CALLERS.entries()) {
      if (n % 8 !== i % 8) continue
      const value = fromJson(claims)
      const isDescribed = grants.some(
        ({ answer, callers, except }) =>
          answer.is !== 'nobody' &&
          (callers === null || holds(callers, value)) &&
          !except.some((each) => holds(each.callers === 'everyone' ? 'true' : each.callers, value)),
      )
      const { access } = choice.decide(claims)
      if (isDescribed === (access === role('r1'))) continue
      t.fail('a false description', { claims, access, grants })
      break
    }
    for (const { answer, by } of grants)
      if (answer.is === 'somebody') t.equal(choice.decide(answer.example).by, by)
    described += grants.filter(({ answer }) => answer.is === 'somebody').length
  }
  t.ok(described > 40, `${described} places`)
  t.end()
})

void t.test('a conversion of elements that cel-go takes for texts fails for numbers', (t) => {
  const choice = roleChoice(matching('(claims.g + ["a"]).exists(x, int(x) <= 1)'), NEWEST)
  t.equal(choice.decide({ g: [1] }).by, 'fallbackRoleArn')
  t.equal(choice.decide({ g: ['1'] }).by, 'roleMappings[0]')
  t.end()
})

void t.test('priorities, order, the role claim and the fallback count', (t) => {
  const a = { claim: 'a', roleArn: role('one') }
  const b = { claim: 'b', roleArn: role('two') }
  const compared = (old: object, now: object) =>
    compareChoices(roleChoice(old, NEWEST), roleChoice(now, NEWEST)).changes.map((change) => [
      change.old.access,
      change.new.access,
    ])
  const both = [role('one'), role('two')]
  t.same(compared(config([a, b]), config([b, a])), [both], 'the order')
  t.same(compared(config([a, b]), config([b, { ...a, priority: 3 }])), [], 'a priority in place of the order')
  t.same(compared(config([a]), config([a], { fallbackRoleArn: role('other') })), [
    [role('reader'), role('other')],
  ])
  t.same(compared(config([a]), config([a], { roleClaim: 'groups' })), [], 'the default role claim')
  t.same(
    new Set(compared(config([a]), config([a], { roleClaim: 'roles' })).map((each) => each.join())),
    new Set([
      `${role('reader')},${role('one')}`,
      `${role('one')},${role('reader')}`,
      `,${role('reader')}`,
      `${role('reader')},`,
      `,${role('one')}`,
      `${role('one')},`,
    ]),
    'another role claim: a claim that is neither a list nor a string gives no role',
  )
  t.same(
    compared(config([{ matcher: 'claims.', roleArn: role('one') }]), config([a])).length,
    2,
    'a matcher that does not compile',
  )
  t.same(
    compared(config([a]), config([a, { roleArn: role('two') }])).map(([, now]) => now),
    [undefined, undefined],
    'a mapping without a condition: no workload starts with it',
  )
  t.end()
})

void t.test('who may exchange tokens of a trusted issuer', (t) => {
  const issuer = 'https://idp.example.com'
  const compared = (old: object, now: object) =>
    compareChoices(delegationChoice({ issuer, ...old }, NEWEST), delegationChoice({ issuer, ...now }, NEWEST))
  const listed = { allowedActors: ['ci'] }
  t.same(compared(listed, { actorMatcher: 'claims.azp == "ci"' }).changes, [], 'the same as a matcher')
  const { changes } = compared(listed, { actorMatcher: 'claims.azp.startsWith("ci")' })
  t.match(changes, [
    { old: { access: undefined }, new: { access: `exchange of tokens of ${issuer}`, by: 'actorMatcher' } },
  ])
  t.match(compared(listed, { ...listed, allowMayAct: true }).changes, [{ new: { by: 'allowMayAct' } }])
  t.end()
})

void t.test('the comparison ends at its bound and says so', (t) => {
  const entryFor = (matcher: string, callerTokens: CallerTokens): Entry => ({
    ...{ kind: 'MCPExternalAuthConfig', namespace: 'default', name: 'aws', document: 0 },
    ...{ at: ['spec', 'awsSts'], key: 'awsSts', settings: matcher, callerTokens },
    choice: (selection) => roleChoice(matching(matcher), selection),
  })
  const old = entryFor('claims.sub == "a"', UNKNOWN_TOKENS)
  const now = entryFor('claims.sub == "b"', UNKNOWN_TOKENS)
  const issued = entryFor('claims.sub == "b"', { ...UNKNOWN_TOKENS, lacks: (claim) => claim === 'groups' })
  for (const units of [5, 0]) {
    const { undecided } = compareChoices(old.choice(NEWEST), now.choice(NEWEST), {
      budget: new Budget(units),
    })
    t.match(undecided, [{ access: '', why: /bound/ }])
    t.match(
      grantsOf(now.choice(NEWEST), () => true, { budget: new Budget(units) }),
      [{ answer: { is: 'not decided' } }],
    )
    t.match(differenceOf({ old, new: issued }, [NEWEST], new Budget(units)), {
      changes: [],
      undecided: [{ access: '', why: /another issuer/ }],
    })
  }
  const { changes, undecided: open } = differenceOf({ old, new: issued }, [NEWEST], new Budget(1_000_000))
  t.ok(changes.length > 0, 'what examples show of callers with other tokens')
  t.match(open, [{ access: '', why: /another issuer/ }], 'and that others may change as well')
  t.match(outcomesFor({ old, new: now }, { sub: 'a' }, [NEWEST], new Budget(0)), [
    { oldOutcome: undefined, newOutcome: undefined, undecided: /budget/ },
  ])
  t.end()
})

/** Whether some assignment of the variables satisfies all clauses: tries every assignment. */
function trying(count: number, clauses: readonly (readonly Literal[])[]): boolean {
  for (let bits = 0; bits < 2 ** count; bits++) {
    const isTrue = (literal: Literal) => (((bits >> (Math.abs(literal) - 1)) & 1) === 1) === literal > 0
    if (clauses.every((clause) => clause.some(isTrue))) return true
  }
  return false
}

void t.test('the solver agrees with trying everything, and its contradictions are enough', (t) => {
  const literal = fc.integer({ min: 1, max: 8 }).chain((variable) => fc.constantFrom(variable, -variable))
  const clauses = fc.array(fc.array(literal, { minLength: 1, maxLength: 3 }), { maxLength: 40 })
  fc.assert(
    fc.property(clauses, fc.uniqueArray(literal, { maxLength: 4 }), (all, assumed) => {
      const solver = new Solver(new Budget(1e6))
      for (let i = 0; i < 8; i++) solver.variable()
      for (const clause of all) solver.clause(clause)
      for (const assumptions of [assumed, [], assumed.toReversed()]) {
        const core = solver.solve(assumptions)
        const units = (literals: readonly Literal[]) => literals.map((each) => [each])
        if ((core === undefined) !== trying(8, [...all, ...units(assumptions)])) return false
        if (
          core === undefined &&
          ![...all, ...units(assumptions)].every((clause) => clause.some((each) => solver.isTrue(each)))
        )
          return false
        if (
          core !== undefined &&
          (trying(8, [...all, ...units(core)]) || !core.every((each) => assumptions.includes(each)))
        )
          return false
      }
      return true
    }),
    { numRuns: 1_000 },
  )
  t.end()
})

const PATTERNS = [
  '^a',
  'b$',
  '^$',
  'a|^b$',
  '^(ab|b)*$',
  '(?i)A',
  '^[^a]',
  'a{2}',
  '^a.b$',
  '(?s)a.b',
  'a?b+',
  '[a-b]{1,2}b',
  '\\w',
  '^\\D+$',
  '(?:a|b)a',
  '^(?i:a)b',
  'x*',
  '$^',
  'a$b',
  '(a|)b',
]

void t.test('automata answer as RE2 and as texts do', (t) => {
  const texts: string[] = ['']
  for (let i = 0; i < 340; i++) for (const letter of 'abA\n') texts.push(`${texts[i] ?? ''}${letter}`)
  for (const pattern of PATTERNS) {
    const test = matches(pattern, new Budget(1e6))
    if (test === undefined) {
      t.fail(pattern)
      continue
    }
    const compiled = RE2JS.compile(pattern)
    const different = texts.find((text) => passes(test, text) !== compiled.test(text))
    t.equal(different, undefined, pattern)
  }
  const tests: readonly (readonly [TextTest, (text: string) => boolean])[] = [
    ...['', 'a', 'ab', 'aab', 'aba'].flatMap((part): (readonly [TextTest, (text: string) => boolean])[] => [
      [isText(part), (text) => text === part],
      [startsWith(part), (text) => text.startsWith(part)],
      [endsWith(part), (text) => text.endsWith(part)],
      [contains(part), (text) => text.includes(part)],
      [isBefore(part), (text) => text < part],
    ]),
    [isAtLeast(2), (text) => text.length >= 2],
  ]
  for (const [test, expected] of tests)
    t.equal(
      texts.find((text) => passes(test, text) !== expected(text)),
      undefined,
      test.key,
    )
  t.equal(matches('\\bword', new Budget(1e6)), undefined, 'what is not read')
  t.end()
})

void t.test('a text is found where one of the small ones fits, and never where none does', (t) => {
  const texts: string[] = ['']
  for (let i = 0; i < 121; i++) for (const letter of 'abx') texts.push(`${texts[i] ?? ''}${letter}`)
  const parts = ['', 'a', 'b', 'ab', 'ba']
  const tests: TextTest[] = [
    ...parts.flatMap((part) => [
      isText(part),
      startsWith(part),
      endsWith(part),
      contains(part),
      isBefore(part),
    ]),
    isAtLeast(1),
    isAtLeast(2),
    ...['^[ab]*$', 'a.b', '^(ab)+$'].flatMap((pattern) => matches(pattern, new Budget(1e6)) ?? []),
  ]
  const wanted = fc.array(fc.record({ test: fc.constantFrom(...tests), answer: fc.boolean() }), {
    maxLength: 5,
  })
  fc.assert(
    fc.property(wanted, (all) => {
      const result = findText(all, new Budget(1e7))
      if (result === undefined) return false
      const fits = (some: typeof all) =>
        texts.find((text) => some.every(({ test, answer }) => passes(test, text) === answer))
      if ('text' in result) return all.every(({ test, answer }) => passes(test, result.text) === answer)
      return result.conflicts.every((conflict) => fits(conflict as typeof all) === undefined)
    }),
    { numRuns: 2_000 },
  )
  t.end()
})

const YAML = (matcher: string) => `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata:
  name: aws
spec:
  type: awsSts
  awsSts:
    region: eu-west-1
    fallbackRoleArn: arn:aws:iam::123456789012:role/reader
    roleMappings:
      - matcher: '${matcher}'
        roleArn: arn:aws:iam::123456789012:role/admin
`

/** A matcher whose pattern RE2 accepts, but which is too large for `access` to analyse. */
const LARGE = 'claims.name.matches("^[\\\\p{L} ]{1,64}$")'

/**
 * An embedded authorization server with two trusted issuers of the same URL; `actors` may exchange tokens with the
 * first.
 */
const ISSUERS = (actors: string) => `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: server }
spec:
  type: embeddedAuthServer
  embeddedAuthServer:
    issuer: https://auth.example.com
    trustedIssuers:
      - { name: a, issuerUrl: https://idp.example.com, allowedActors: [${actors}] }
      - { name: b, issuerUrl: https://idp.example.com, allowedActors: [other] }
`

void t.test('the command', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'access-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  const old = YAML('claims.sub == "ann"')
  const now = YAML('claims.sub in ["ann", "bob"]')
  await writeFile(join(cwd, 'old.yaml'), old)
  await writeFile(join(cwd, 'new.yaml'), now)
  await writeFile(join(cwd, 'bob.json'), '{"sub":"bob"}')
  await writeFile(join(cwd, 'smile.yaml'), now.replace('role/admin', 'role/😀'))
  await writeFile(join(cwd, 'issuers.yaml'), ISSUERS('ci'))
  await writeFile(join(cwd, 'more-issuers.yaml'), ISSUERS('ci, deploy'))
  const own = 'allowedActors: [ci] }\n'
  const moved = `    inboundGrants:
      tokenExchange: { issuerPolicies: [{ issuerRef: a, allowedActors: [ci] }] }
`
  await writeFile(join(cwd, 'moved-issuers.yaml'), ISSUERS('ci').replace(`, ${own}`, ' }\n') + moved)
  await writeFile(join(cwd, 'named-issuers.yaml'), ISSUERS('ci').replace(own, `actorMatcher: '${LARGE}' }\n`))
  await writeFile(join(cwd, 'names.yaml'), YAML(LARGE))
  await writeFile(join(cwd, 'name.json'), '{"name":"Bob","azp":"ci"}')
  await writeFile(join(cwd, 'twice.yaml'), `${now}---\n${old}`)
  const generated = (text: string, name: string) => text.replace('name: aws', `generateName: ${name}`)
  const team = generated(old, 'team-')
  await writeFile(join(cwd, 'generated.yaml'), `${generated(old, 'aws-')}---\n${team}`)
  await writeFile(join(cwd, 'more-generated.yaml'), `${generated(now, 'aws-')}---\n${team}`)
  await writeFile(join(cwd, 'other.yaml'), 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n')
  const run = (...args: string[]) => runCli(['access', ...args], { cwd })
  const rows: readonly (readonly [args: readonly string[], said: RegExp, status?: number])[] = [
    [
      ['old.yaml', 'new.yaml'],
      /moves: arn\S+admin \(roleMappings\[0\]\)\n    before: arn\S+reader \(fallbackRoleArn\)\n    example: {"sub":"bob"}/,
    ],
    [['new.yaml', 'old.yaml'], /falls back: arn\S+reader/],
    [['old.yaml', 'old.yaml'], /^no difference for any caller, proved for 1 configuration$/m],
    [['old.yaml', 'other.yaml'], /which is removed/],
    [['other.yaml', 'other.yaml'], /nothing decides access/],
    [
      ['old.yaml', 'new.yaml', '--deny-new', '*:role/admin*'],
      /^denied: .*somebody newly gets arn\S+admin$/m,
      1,
    ],
    [['new.yaml', 'old.yaml', '--deny-new', '*:role/admin*'], /access differs/],
    [['old.yaml', 'new.yaml', '--deny-new', '*:role/adm'], /access differs/],
    [
      ['old.yaml', 'new.yaml', '--output', 'markdown'],
      /^\| moves \| `arn\S+reader`<br>fallbackRoleArn \| `arn\S+admin`/m,
    ],
    [['old.yaml', 'new.yaml', '--claims', 'bob.json'], /moves: arn\S+admin/],
    [['old.yaml', 'new.yaml', '--claims', 'none.json'], /^$/, 3],
    [['old.yaml', 'new.yaml', '--claims', 'bob.json', '--deny-new', '*'], /^$/, 2],
    [
      ['issuers.yaml', 'more-issuers.yaml'],
      /gains: exchange[^]*before: no exchange[^]*1 of 2 configurations/,
    ],
    [['issuers.yaml', 'moved-issuers.yaml'], /^no difference for any caller, proved for 2 configurations$/m],
    [['old.yaml', 'smile.yaml', '--deny-new', '*😀'], /^denied/m, 1],
    [['names.yaml', 'names.yaml', '--deny-new', '*'], /^no difference for any caller, proved/m],
    [['old.yaml', 'names.yaml', '--deny-new', '*'], /^denied/m, 1],
    [
      ['old.yaml', 'names.yaml', '--claims', 'name.json'],
      /^ {4}after: not decided: a regular expression that is too large\n {4}before: arn\S+reader/m,
    ],
    [
      ['named-issuers.yaml', 'issuers.yaml', '--claims', 'name.json'],
      /^ {4}after: exchange of .*\n {4}before: not decided: a regular/m,
    ],
    [
      ['old.yaml', 'names.yaml', '--claims', 'name.json', '--output', 'json'],
      /"same": false,[^]*"by": "not decided"\n *},\n *"undecided": "a regular/,
    ],
    [['old.yaml', 'twice.yaml'], /^no difference for any caller, proved for 1 configuration$/m],
    [
      ['generated.yaml', 'more-generated.yaml'],
      /^MCPExternalAuthConfig default\/aws-: [^]*^access differs in 1 of 2 configurations$/m,
    ],
    [
      ['--who', '*:role/admin', 'old.yaml'],
      /^arn\S+admin\n {2}.*spec\.awsSts\.roleMappings\[0\]\n {4}callers: claims\.sub == "ann"\n {4}example: {"sub":"ann"}\n\nsomebody gets 1 role/,
    ],
    [
      ['--who', '*reader', 'old.yaml'],
      /callers: everyone\n {4}but not: claims\.sub == "ann" \(roleMappings\[0\]/,
    ],
    [['--who', '*writer', 'old.yaml'], /^nothing here gives a role that fits \*writer$/m],
    [['--who', '*', 'other.yaml'], /nothing decides access/],
    [
      ['--who', '*', '--output', 'markdown', 'old.yaml'],
      /^\| `MCP\S+ default\/aws`<br>`spec\.awsSts\.roleMappings/m,
    ],
    [['--who', '*', '--output', 'json', 'old.yaml'], /"answer": "somebody"/],
    [['--who', '*', '--output', 'sarif', 'old.yaml'], /^$/, 2],
    [['--who', '*', '--claims', 'bob.json', 'old.yaml'], /^$/, 2],
    [['--who', '*'], /^$/, 2],
    [['--who', '*', 'none.yaml'], /./, 3],
    [['old.yaml', 'none.yaml'], /./, 3],
    [['old.yaml'], /^$/, 2],
    [['-', '-'], /^$/, 2],
    [['git:-x', 'old.yaml'], /^$/, 2],
    [['old.yaml', 'new.yaml', '--claims', 'bob.json', '--output', 'sarif'], /^$/, 2],
  ]
  for (const [args, said, status = 0] of rows) {
    const ran = await run(...args)
    t.equal(ran.status, status, `${args.join(' ')} ${ran.stderr}`)
    t.match(ran.stdout, said, args.join(' '))
  }
  const twice = await run('old.yaml', 'twice.yaml')
  t.equal(twice.stderr, 'twice.yaml:4:9: note: comes again in twice.yaml:17; only the last one counts\n')
  const { stdout } = await run('old.yaml', 'new.yaml', '--output', 'json')
  t.match(JSON.parse(stdout), {
    compared: 1,
    verdict: 'different',
    differences: [{ changes: [{ example: { sub: 'bob' }, releases: 'all' }], undecided: [] }],
  })
  const sarif = JSON.parse(
    (await run('old.yaml', 'new.yaml', '--output', 'sarif', '--deny-new', '*admin')).stdout,
  ) as { runs: readonly object[] }
  t.match(sarif.runs, [
    {
      results: [{ level: 'error', ruleId: 'access-change' }],
      tool: { driver: { rules: [{ id: 'access-change', shortDescription: { text: /another role/ } }] } },
    },
  ])
  t.end()
})

/**
 * A VirtualMCPServer, with an embedded authorization server if there are providers, and a backend whose requests are
 * signed with these `awsSts` settings.
 */
const behind = (providers: readonly string[], awsSts: object, kind = 'MCPServerEntry') => {
  const named = (kind: string, name: string, spec: object) => ({
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind,
    metadata: { name },
    spec,
  })
  const upstreamProviders = providers.map((name) =>
    name === 'github'
      ? {
          name,
          type: 'oauth2',
          oauth2Config: { tokenEndpoint: 'https://github.com/login/oauth/access_token' },
        }
      : { name, type: 'oidc', oidcConfig: { issuerUrl: `https://${name}.example.com`, clientId: 'a' } },
  )
  return [
    named('VirtualMCPServer', 'vmcp', {
      groupRef: { name: 'tools' },
      ...(providers.length > 0 && {
        authServerConfig: { issuer: 'https://vmcp.example.com', upstreamProviders },
      }),
      outgoingAuth: {
        source: 'inline',
        default: { type: 'externalAuthConfigRef', externalAuthConfigRef: { name: 'aws' } },
      },
    }),
    named(kind, 's3', {
      groupRef: { name: 'tools' },
      externalAuthConfigRef: { name: 'aws' },
      ...(kind === 'MCPRemoteProxy' && { oidcConfigRef: { name: 'okta' } }),
    }),
    named('MCPExternalAuthConfig', 'aws', { type: 'awsSts', awsSts }),
  ]
    .map((each) => JSON.stringify(each))
    .join('\n---\n')
}
/** The manifests of `behind` with `inline` as the source of outgoing authentication. */
const inline = (stream: string) =>
  stream.replace('"groupRef":', '"outgoingAuth":{"source":"inline"},"groupRef":')
/** The MCPOIDCConfig with this issuer, to which the MCPRemoteProxy of `behind` refers. */
const checkedBy = (issuer: string) =>
  `\n---\n${JSON.stringify({
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind: 'MCPOIDCConfig',
    metadata: { name: 'okta' },
    spec: { type: 'inline', inline: { issuer } },
  })}`
const claimed = (claim: string) => ({
  fallbackRoleArn: role('reader'),
  roleMappings: [{ claim, roleArn: role('admin') }],
})

void t.test('callers who can exist, and whose token goes to STS', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'access-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  const written = async (name: string, text: string) => {
    await writeFile(join(cwd, name), text)
    return name
  }
  const both = ['okta', 'github']
  const mail = { roleArn: role('admin'), matcher: 'claims.email == "ann@example.com"' }
  const rows: readonly (readonly [title: string, old: string, now: string, said: RegExp, not?: RegExp])[] = [
    [
      'another provider is named',
      behind(both, { subjectProviderName: 'okta', fallbackRoleArn: role('a') }),
      behind(both, { subjectProviderName: 'github', fallbackRoleArn: role('a') }),
      /token: VirtualMCPServer vmcp sends STS the access token of github, which STS refuses: those of GitHub are no JWTs\n {4}before: the access token of okta\n\naccess differs/,
    ],
    [
      'another provider is the first',
      behind(['okta', 'google'], { fallbackRoleArn: role('a') }),
      behind(['google', 'okta'], { fallbackRoleArn: role('a') }),
      /token: VirtualMCPServer vmcp sends STS the access token of google \(the first provider\)\n {4}before: the access token of okta/,
    ],
    [
      'the provider has another issuer',
      behind(['okta'], { fallbackRoleArn: role('a') }),
      behind(['okta'], { fallbackRoleArn: role('a') }).replace(
        'okta.example.com',
        'ann:hush@okta.example.org',
      ),
      /sends STS the access token of okta \(the first provider\), of https:\/\/\*{3}@okta\.example\.org\n {4}before: .*, of https:\/\/okta\.example\.com\n/,
    ],
    [
      'the proxy checks tokens of another issuer',
      behind([], { fallbackRoleArn: role('a') }, 'MCPRemoteProxy') + checkedBy('https://a.example.com'),
      behind([], { fallbackRoleArn: role('a') }, 'MCPRemoteProxy') + checkedBy('https://b.example.com'),
      /token: MCPRemoteProxy s3 sends STS the token of the caller, of https:\/\/b\.example\.com\n/,
    ],
    [
      'groups that never arrive',
      behind(['okta'], claimed('admins')),
      behind(['okta'], claimed('ops')),
      /^no difference for any caller, proved/m,
    ],
    [
      'claims that arrive, beside groups that do not',
      behind(['okta'], claimed('admins')),
      behind(['okta'], { ...claimed('ops'), roleMappings: [...claimed('ops').roleMappings, mail] }),
      /example: {"email":"ann@example.com"}/,
      /example: {"groups"/,
    ],
    [
      'groups of another issuer, as a list',
      behind([], claimed('admins')),
      behind([], claimed('ops')),
      /example: {"groups":\["ops"\]}/,
      /{"groups":"|"groups":1/,
    ],
    [
      'groups as a text, which nobody has',
      behind([], { fallbackRoleArn: role('reader') }),
      behind([], {
        fallbackRoleArn: role('reader'),
        roleMappings: [{ roleArn: role('admin'), matcher: 'claims.groups.contains("engineering")' }],
      }),
      /1 change for callers with a form of claims\.groups that identity providers do not issue/,
      /engineering"}/,
    ],
    [
      'callers of the proxy itself bring tokens of another issuer',
      behind(['okta'], claimed('admins'), 'MCPRemoteProxy'),
      behind(['okta'], claimed('ops'), 'MCPRemoteProxy'),
      /example: {"groups":\["ops"\]} \(a caller of MCPRemoteProxy s3\)/,
    ],
    [
      'callers of the proxy itself bring tokens of the embedded server',
      behind(['okta'], claimed('admins'), 'MCPRemoteProxy') + checkedBy('https://vmcp.example.com'),
      behind(['okta'], claimed('ops'), 'MCPRemoteProxy') + checkedBy('https://vmcp.example.com'),
      /^no difference for any caller, proved/m,
    ],
    [
      'the proxy itself checks no tokens',
      behind(['okta'], claimed('admins'), 'MCPRemoteProxy').replace(/,"oidcConfigRef":{[^}]*}/, ''),
      behind(['okta'], claimed('ops'), 'MCPRemoteProxy').replace(/,"oidcConfigRef":{[^}]*}/, ''),
      /^no difference for any caller, proved/m,
    ],
    [
      'a provider that the server does not have',
      behind(['okta'], { subjectProviderName: 'okta', fallbackRoleArn: role('a') }),
      behind(['okta'], { subjectProviderName: 'octa', fallbackRoleArn: role('a') }),
      /sends STS no token: it has no provider octa\n {4}before: the access token of okta/,
    ],
    [
      'another provider is the first, for a backend that an inline gateway does not list',
      inline(behind(['okta', 'google'], { fallbackRoleArn: role('a') })),
      inline(behind(['google', 'okta'], { fallbackRoleArn: role('a') })),
      /token: VirtualMCPServer vmcp sends STS the access token of google \(the first provider\)/,
    ],
    [
      'a provider without a server',
      behind([], { fallbackRoleArn: role('a') }),
      behind([], { subjectProviderName: 'okta', fallbackRoleArn: role('a') }),
      /sends STS no token: it has no embedded authorization server\n {4}before: the token of the caller/,
    ],
    [
      'an embedded server comes',
      behind([], claimed('admins')),
      behind(['okta'], claimed('admins')),
      /falls back: \S+reader \(fallbackRoleArn\)\n.*\n {4}example: {"groups":\["admins"\]}\n {2}not decided/,
    ],
    [
      'a discovered entry, which no longer names a provider',
      behind(both, { subjectProviderName: 'okta', fallbackRoleArn: role('a') }).replace(
        'inline',
        'discovered',
      ),
      behind(both, { fallbackRoleArn: role('a') }).replace('inline', 'discovered'),
      /token: VirtualMCPServer vmcp sends STS the token that it issued\n {4}before: the access token of okta/,
    ],
  ]
  for (const [i, [title, old, now, said, not]] of rows.entries()) {
    const names = [await written(`${i}.old.yaml`, old), await written(`${i}.new.yaml`, now)]
    const { status, stdout } = await runCli(['access', ...names], { cwd })
    t.equal(status, 0, title)
    t.match(stdout, said, title)
    if (not !== undefined) t.notMatch(stdout, not, title)
  }
  const isDenied = async (title: string) => {
    const i = rows.findIndex(([each]) => each === title)
    const names = [`${i}.old.yaml`, `${i}.new.yaml`]
    const { status } = await runCli(['access', ...names, '--deny-new', '*:role/nothing'], { cwd })
    return status === 1
  }
  t.ok(await isDenied('another provider is named'), 'whom IAM trusts by the other token is not known')
  t.ok(await isDenied('an embedded server comes'), 'an example of one change proves nothing of others')
  const json = await runCli(['access', '0.old.yaml', '0.new.yaml', '--output', 'json'], { cwd })
  t.match(JSON.parse(json.stdout), {
    verdict: 'different',
    differences: [{ tokens: [{ sender: 'VirtualMCPServer vmcp', old: 'the access token of okta' }] }],
  })
  const markdown = await runCli(['access', '1.old.yaml', '1.new.yaml', '--output', 'markdown'], { cwd })
  t.match(markdown.stdout, /^- token: VirtualMCPServer vmcp sends STS/m)
  const sarif = await runCli(['access', '1.old.yaml', '1.new.yaml', '--output', 'sarif'], { cwd })
  t.match(sarif.stdout, /VirtualMCPServer vmcp sends STS/)
  const who = await runCli(['access', '--who', '*admin', '4.old.yaml'], { cwd })
  t.match(who.stdout, /nobody, proved: no caller satisfies it; VirtualMCPServer vmcp issues the tokens/)
  await written('ann.json', '{"sub":"ann","groups":["admins"],"email":"ann@example.com"}')
  const one = await runCli(['role', '--config', '5.new.yaml', '--claims', 'ann.json'], { cwd })
  t.match(one.stdout, /^role: \S+admin \(roleMappings\[1\]\)$/m)
  t.match(
    one.stdout,
    /^token for STS: the access token of okta \(the first provider\) \(VirtualMCPServer vmcp\)$/m,
  )
  t.match(
    one.stdout,
    /^note: claims\.groups left out: VirtualMCPServer vmcp issues the tokens of its callers: they have/m,
  )
  const [onPage] = judgeText(rows[5]?.[2] ?? '', undefined).configs
  t.equal(onPage?.tokens().lacks?.('groups'), true, 'the playground leaves the claim out too')
  const callers = await runCli(['access', '4.old.yaml', '5.new.yaml', '--claims', 'ann.json'], { cwd })
  t.match(callers.stdout, /moves: \S+admin \(roleMappings\[1\]\)\n {4}before: \S+reader/)
  t.end()
})

void t.test('the playground tells the configurations of a text apart', (t) => {
  const config = (metadata: object) =>
    JSON.stringify({
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPExternalAuthConfig',
      metadata,
      spec: { type: 'awsSts', awsSts: { region: 'eu-central-1' } },
    })
  const rows: readonly (readonly [metadata: object[], names: string[]])[] = [
    [[{ name: 'aws' }], ['aws']],
    [
      [
        { name: 'aws', namespace: 'tools' },
        { name: 'aws', namespace: 'shop' },
      ],
      ['tools/aws', 'shop/aws'],
    ],
    [
      [{ name: 'aws' }, {}, {}],
      ['aws', 'without a name', 'without a name'],
    ],
    [
      [{ name: 'aws' }, { name: 'aws', namespace: 'default' }],
      ['aws', 'aws'],
    ],
  ]
  for (const [metadata, names] of rows) {
    const { configs } = judgeText(metadata.map(config).join('\n---\n'), undefined)
    t.strictSame(
      configs.map(({ name }) => name),
      names,
    )
    t.equal(new Set(configs.map(({ key }) => key)).size, names.length, 'the choice stays with one of them')
  }
  t.end()
})

void t.test('what files change in a cluster', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'access-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  const objectsOf = (stream: string) =>
    stream.split('\n---\n').map((text) => {
      const each = JSON.parse(text) as { kind: string; metadata: { name: string } }
      return { ...each, metadata: { ...each.metadata, namespace: 'default' } }
    })
  const awsSts = claimed('admins')
  const stored = objectsOf(behind(['okta', 'google'], awsSts))
  const { kubeconfig } = await fakeApiServer(t, 'toolhive', {
    lists: [
      (response) => {
        const plural = (response.req.url ?? '').replace(/\?.*/, '').split('/').at(-1)
        page(stored.filter(({ kind }) => kindNamed.get(kind)?.plural === plural))(response)
      },
    ],
  })
  const rows: readonly (readonly [
    title: string,
    object: object | undefined,
    status: number,
    said: RegExp,
  ])[] = [
    [
      'the order of the providers of the gateway',
      objectsOf(behind(['google', 'okta'], awsSts))[0],
      1,
      /^MCPExternalAuthConfig default\/aws: spec\.awsSts\n {2}token: .* of google \(the first provider\)\n {4}before: .* of okta/,
    ],
    ['nothing', stored[0], 0, /^nothing decides access by claims here$/m],
    ['the same roles', stored[2], 0, /^no difference for any caller, proved for 1 configuration$/m],
    [
      'no roles any more',
      objectsOf(behind([], {}).replace('"type":"awsSts","awsSts":{}', '"type":"unauthenticated"'))[2],
      0,
      /^MCPExternalAuthConfig default\/aws: spec\.awsSts, which is removed\n {2}loses: no role/,
    ],
    [
      'a gateway without a server',
      objectsOf(behind([], awsSts))[0],
      1,
      /^MCPExternalAuthConfig default\/aws: [^]*not decided: .*callers bring tokens of another issuer/,
    ],
  ]
  for (const [title, object, status, said] of rows) {
    await writeFile(join(cwd, 'file.yaml'), JSON.stringify(object))
    const args = ['access', '--cluster', '--kubeconfig', kubeconfig, 'file.yaml', '--deny-new', '*']
    const ran = await runCli(args, { cwd })
    t.equal(ran.status, status, `${title}: ${ran.stderr}`)
    t.match(ran.stdout, said, title)
  }
})

void t.test('a revision in git is the old state', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'access-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  const git = (...args: readonly string[]) =>
    spawnSync('git', ['-c', 'user.email=a@example.com', '-c', 'user.name=a', ...args], { cwd })
  await mkdir(join(cwd, 'deploy'))
  await writeFile(join(cwd, 'deploy', 'aws.yaml'), YAML('claims.sub == "ann"'))
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-q', '-m', 'old')
  await writeFile(join(cwd, 'deploy', 'aws.yaml'), YAML('claims.sub == "bob"'))
  for (const [args, status, said] of [
    [['access', 'git:main', 'deploy'], 0, /example: {"sub":"bob"}/],
    [['access', 'git:main', 'deploy/aws.yaml'], 0, /example: {"sub":"bob"}/],
    [['access', 'git:main:deploy', '.'], 0, /example: {"sub":"bob"}/],
    [['access', 'git:main', 'git:main'], 0, /no difference/],
    [['access', 'git:no-such', 'deploy'], 2, /git knows no revision 'no-such' here/],
    [['access', 'git:main:none', 'deploy'], 2, /there is no manifest at none in main/],
    [['plan', 'git:main'], 0, /no VirtualMCPServer found/],
    [['plan', 'git:main', 'deploy', 'deploy'], 2, /name one revision, or files and folders/],
    [['plan', '--together', 'git:main', 'deploy'], 2, /name one revision, or files and folders/],
  ] as const) {
    const ran = await runCli(args, { cwd })
    t.equal(ran.status, status, args.join(' '))
    t.match(ran.stdout + ran.stderr, said, args.join(' '))
  }
})

void t.test('the commands of docs/access.md print what the page says', async (t) => {
  const page = await readFile(new URL('../docs/access.md', import.meta.url), 'utf8')
  const cwd = await mkdtemp(join(tmpdir(), 'access-'))
  t.teardown(() => rm(cwd, { recursive: true }))
  await cp(new URL('../examples', import.meta.url), join(cwd, 'examples'), { recursive: true })
  const [, ann = ''] = /`ann\.json`, `([^`]*)`/.exec(page) ?? []
  await writeFile(join(cwd, 'ann.json'), ann)
  const runs = Array.from(
    page.matchAll(/```console\n\$ vmcp-admission (.*)\n([^]*?)```/g),
    ([, call = '', said = '']) => ({ call, said }),
  )
  t.equal(runs.length, 3)
  for (const { call, said } of runs) {
    const { stdout } = await runCli(call.replaceAll("'", '').split(' '), { cwd })
    t.equal(stdout, said, call)
  }
})
