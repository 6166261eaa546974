import { mkdtempSync, readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type CelGoVersion, check, parse } from '../src/cel/index.ts'
import { access } from '../src/cli/commands/access.ts'
import { role } from '../src/cli/commands/role.ts'
import { evaluate } from '../src/cel/evaluate/evaluate.ts'
import { Failure, fromJson, type Result, type Spend, type Value } from '../src/cel/evaluate/values.ts'
import { LONGEST_CLAIMS, readClaims } from '../src/cli/input/claims.ts'
import {
  decideForReleases,
  decideRole,
  matchersOf,
  type ReleaseDecision,
  type RoleDecision,
} from '../src/access/role/decide.ts'
import { evaluations } from '../src/cli/commands/role/evaluations.ts'
import { bounded, evaluateMatcher, LIMITS } from '../src/access/role/matcher.ts'
import { UNKNOWN_TOKENS } from '../src/access/role/caller-tokens.ts'
import { printRole } from '../src/cli/output/role.ts'
import { type Generation, GENERATIONS } from '../src/kinds/mcp-external-auth-config/generations.ts'
import { generationsOf, readRelease, releasesOf } from '../src/access/role/releases.ts'
import { sessionNameFrom } from '../src/access/role/session-name.ts'
import { UsageError } from '../src/configuration/flags.ts'
import { printed } from './support/cel-values.ts'
import { runCli } from './support/cli.ts'

/** Claims for which cel-go evaluated the golden expressions. */
const CALLERS = [
  {
    iss: 'https://idp.example.com/realms/prod',
    sub: 'service-ci-42',
    aud: ['mcp', 'api'],
    azp: 'ci-runner',
    email: 'Ann.Lee@example.com',
    email_verified: true,
    groups: ['admins', 'dev', 'eu-ops'],
    roles: [],
    scope: 'openid profile mcp:read',
    exp: 1900000000,
    iat: 1700000000,
    tenant: null,
    level: 3,
    ratio: 0.5,
    realm_access: { roles: ['r1', 'offline_access'] },
    act: { sub: 'gateway' },
    amr: ['pwd', 'otp'],
    'https://example.com/claims': { team: 'core', ids: [1, 2, 3] },
    address: { country: 'DE', 'postal-code': '10115' },
    name: 'Änn Лee 🐱',
  },
  {
    iss: 'https://other.example.com',
    sub: 'user-7',
    aud: 'mcp',
    groups: 'admins',
    exp: 1900000000,
    level: '3',
    email: 'x@evil.com',
    email_verified: 'false',
  },
  {},
]
const [ANN = {}] = CALLERS
const VALUES = CALLERS.map(fromJson)

type Golden = { expr: string } & ({ ok: false } | { ok: true; evals?: string[] })

const GATEWAY = () => bounded(LIMITS, Infinity, () => 0)

/** The result of an expression in a version of cel-go; undefined when that version does not compile it. */
function valueOf(expression: string, claims: Value, celGo: CelGoVersion, spend: Spend): Result | undefined {
  const parsed = parse(expression)
  if (!parsed.ok) return undefined
  const checked = check(parsed.expr, celGo)
  return checked.ok ? evaluate(parsed.expr, { claims, settled: checked.settled, celGo, spend }) : undefined
}

/**
 * The result as the golden file writes it: `true`, `false`, `nonbool` or `error`; `rejected` if it does not compile.
 */
function evaluated(expression: string, caller = 0): { result: string; message: string } {
  const parsed = parse(expression)
  if (!parsed.ok) return { result: 'rejected', message: parsed.message }
  const { settled } = check(parsed.expr, '0.32')
  const situation = { claims: VALUES[caller] ?? null, settled, celGo: '0.32' as const, spend: GATEWAY() }
  const result = evaluate(parsed.expr, situation)
  if (result instanceof Failure) return { result: 'error', message: result.message }
  return { result: typeof result === 'boolean' ? String(result) : 'nonbool', message: '' }
}

t.test('every evaluation equals that of cel-go v0.31.0', async (t) => {
  const golden = readFileSync(new URL('golden/cel.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Golden)
  let count = 0
  const different = golden.flatMap((row) =>
    row.ok
      ? (row.evals ?? []).flatMap((expected, caller) => {
          count++
          const { result } = evaluated(row.expr, caller)
          return result === expected ? [] : [`${row.expr} for caller ${caller}: ${result}, not ${expected}`]
        })
      : [],
  )
  t.equal(count, 2382)
  t.same(different, [])
})

interface Values {
  readonly callers: Readonly<Record<string, unknown>>
  readonly rows: readonly Readonly<Record<'expr' | 'caller' | CelGoVersion, string>>[]
}

t.test('every value equals that of both versions of cel-go', async (t) => {
  const file = readFileSync(new URL('golden/cel-values.json', import.meta.url), 'utf8')
  const { callers, rows } = JSON.parse(file) as Values
  const claims = new Map(Object.entries(callers).map(([name, json]) => [name, fromJson(json)]))
  const different = rows.flatMap((row) =>
    (['0.32', '0.33'] as const).flatMap((celGo) => {
      const value = valueOf(row.expr, claims.get(row.caller) ?? null, celGo, GATEWAY())
      const found = value === undefined ? 'refused' : printed(value)
      return found === row[celGo]
        ? []
        : [`${row.expr} for ${row.caller}: ${found}, not ${row[celGo]} (${celGo})`]
    }),
  )
  t.ok(rows.length >= 1000, `${rows.length} rows`)
  t.same(different, [])
})

t.test('what cel-go v0.31.0 says where the golden file says nothing', async (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    [
      'true',
      [
        'has(claims.tenant) && claims.tenant == null',
        '{"a": null}.a == null && has({"a": null}.a)',
        'size({1: "a", 1u: "b", 1.0: "c"}) == 3',
        '{1: "a"}[dyn(1u)] == "a" && {1: "a"}[dyn(1.0)] == "a"',
        'size({[1]: 1}) == 1 && size({"a": 1, "a": 2}) == 1',
        '{timestamp(1): 2} == {timestamp(1): 2}',
        '[1, "a", null] == [1.0, "a", null]',
        'dyn(9007199254740993) == 9007199254740992.0',
        '"\\U0001F600" > "\\uFFFD" && "ab" > "a"',
        'b"b" > b"a" && true > false && duration("2s") > duration("1s")',
        'claims.nope || true',
        'claims.level || true',
        '[1, 2].exists(x, claims.nope || x == 2)',
        '[1, "a"].exists(x, x < 2)',
        '[claims].exists(claims, .claims.sub == claims.sub)',
        '[1].map(claims, claims + 1) == [2]',
        '[1, 2].map(x, [3, 4].map(x, x)) == [[3, 4], [3, 4]]',
        '[1, 2].map(x, x > 1, x + 1) == [3]',
        '[[1, 2], [3]].map(x, x.filter(y, y > 1)) == [[2], [3]]',
        'claims.exists_one(k, k == "sub")',
        'claims.groups[0.0] == "admins" && claims.groups[dyn(0u)] == "admins"',
        'string(1700000000.0) == "1.7e+09" && string(100000.0) == "100000" && string(0.00001) == "1e-05"',
        'string(-0.0) == "-0" && string(1.0 / 0.0) == "+Inf" && string(0.0 / 0.0) == "NaN"',
        'string(duration("-1.5s")) == "-1.5s" && string(timestamp("2023-01-01T00:00:00.120+01:00")) == "2023-01-01T00:00:00.12+01:00"',
        'double("1_000") == 1000.0 && double("-.5e3") == -500.0 && double("infinity") > 1.0',
        'int("+5") == 5 && int(-1.9) == -1 && uint("5") == 5u && uint(1.9) == 1u && bool("T") && !bool("0")',
        'int(duration("1.5s")) == 1500000000 && int(timestamp("1969-12-31T23:59:59.5Z")) == -1',
        'duration("1h1h") == duration("2h") && duration("+5.s") == duration("5s") && duration("-0") == duration("0s")',
        'duration("-1.999s").getMilliseconds() == -1999 && duration("25h").getHours() == 25',
        'timestamp(0).getHours("-02:30") == 21 && timestamp(0).getMinutes("-02:30") == 30',
        'timestamp(0).getHours("Europe/Berlin") == 1 && timestamp(0).getHours("EST") == 19',
        'timestamp("2023-12-31T00:00:00Z").getDayOfYear() == 364 && timestamp("2023-12-31T00:00:00Z").getDayOfMonth() == 30',
        'timestamp("2023-12-31T00:00:00Z").getDate("America/New_York") == 30',
        'timestamp(1) + duration("1s") - timestamp(0) == duration("2s")',
        'string(b"\\xc3\\xa4") == "ä" && bytes("ä") == b"ä" && size("😀") == 1 && size(bytes("😀")) == 4',
        'claims.name.matches("(?i)änn") && claims.sub.matches("^service-[a-z]+-\\\\d+$")',
        '!"a\\n".matches("a$") && !"a\\nb".matches("a.b") && "a\\nb".matches("(?m)^b")',
        'type(type(1)) == type && type(claims.level) == double && type(null) == null_type',
        'google.protobuf.Duration == type(duration("1s")) && dyn(int) == type(1)',
        '-7 / 2 == -3 && -7 % 2 == -1',
      ],
    ],
    [
      'false',
      [
        'has(claims.sub.x) || has(claims.tenant.x) || has(claims.level.x)',
        'has(claims.__proto__) || "constructor" in claims || has(claims.act.toString)',
        'dyn(1) in claims || dyn([1]) in claims || null in claims.groups || dyn(1) in {1.0: 2}',
        '{[1]: 1} == {[1]: 1}',
        'double("nan") == double("nan") || double("nan") < 1.0 || double("nan") >= 1.0',
        'dyn(1) == "1" || claims.act == {"sub": "gateway", "x": 1}',
        'claims.level && false',
        '[0, 2].all(x, 1 / x == 1)',
      ],
    ],
    [
      'error',
      [
        '{1.0: "a"}[dyn(1)] == "a"',
        'size({b"a": 1}) == 1',
        '{null: 1}[dyn(null)] == 1',
        'claims.groups[dyn(0.5)] == "a"',
        'claims.groups[-1] == "a"',
        'has(claims.groups.x)',
        'has(claims.nope.x)',
        'claims.tenant.x == 1',
        'claims.level + 1 == 4',
        'claims.sub < claims.level',
        'dyn(null) < dyn(null)',
        '-dyn(1u) == 1',
        'claims.level && true',
        'claims.sub ? true : false',
        '9223372036854775807 + 1 > 0',
        'dyn(-9223372036854775808) / -1 > 0',
        'dyn(-9223372036854775808) % -1 == 0',
        '0u - 1u == 0u',
        '1 / 0 == 1',
        '1 % 0 == 1',
        'int(-9223372036854775808.0) < 0',
        'uint(-0.5) == 0u',
        'int("1_0") == 10',
        'bool("yes")',
        'double("1e400") > 1.0',
        'string(b"\\xff") == "a"',
        'string(claims.groups) == "a"',
        'timestamp(claims.iat) > timestamp(0)',
        'timestamp("2023-02-30T00:00:00Z") == timestamp(0)',
        'timestamp("2023-01-01 00:00:00Z") == timestamp(0)',
        'timestamp("0001-01-01T00:00:00+02:00") < timestamp(0)',
        'timestamp(253402300799) + duration("1s") > timestamp(0)',
        'timestamp(0).getHours("europe/berlin") == 1',
        'timestamp(0).getHours("+24:00") == 1',
        'duration("1d") > duration("0s")',
        'duration("2562047h47m16.854775808s") > duration("0s")',
        'claims.sub.exists(k, true)',
        '["a", 1].exists_one(x, x < 2)',
        '[1].filter(x, claims.level).size() == 1',
        'claims.sub.matches("a(?=b)")',
        'claims.sub.matches("a{1001}")',
      ],
    ],
  ]
  for (const [expected, expressions] of rows) {
    for (const expression of expressions) t.equal(evaluated(expression).result, expected, expression)
  }
})

t.test('why an evaluation fails', async (t) => {
  const rows: readonly [string, string][] = [
    ['claims.nope == 1', 'there is no claims.nope'],
    ['claims.act.team == 1', 'there is no claims.act.team'],
    ['claims["https://x/y"].team == 1', 'there is no claims["https://x/y"]'],
    ['claims.`postal-code` == 1', 'there is no claims["postal-code"]'],
    ['claims.sub.team == 1', 'there is no claims.sub.team: it would be in a string'],
    ['claims.groups[7] == 1', 'there is no claims.groups[7]'],
    ['claims.groups.x == 1', 'a list has no claims.groups.x: an index is a whole number'],
    ['claims.groups[claims.sub] == 1', 'a list has no claims.groups[…]: an index is a whole number'],
    ['"a" in claims.sub', '`in` needs a list or a map, and finds a string'],
    ['claims.level + 1 == 4', '`+` does not take a number and an int'],
    ['claims.sub.startsWith(claims.level)', '`startsWith` does not take a string and a number'],
    ['claims.level && true', '`&&` does not take a number'],
    ['claims.sub ? true : false', '`? :` does not take a string as condition'],
    ['claims.tenant.all(x, true)', 'a loop goes over a list or a map, and not over null'],
    ['int("a") == 1', 'the text is not an int'],
    ['claims.sub.matches("[")', 'the regular expression is none that RE2 takes'],
    ['google.protobuf.Value{} == 1', 'google.protobuf.Value is not evaluated here'],
  ]
  for (const [expression, message] of rows) t.equal(evaluated(expression).message, message, expression)
})

const arn = (name: string) => `arn:aws:iam::123456789012:role/${name}`

const LOOPS = 'claims.groups.all(a, claims.groups.all(b, claims.groups.all(c, claims.groups.all(d, true))))'

const config = (awsSts: object, name = 'aws') => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name },
  spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', ...awsSts } },
})

const [OLDEST, , NEWEST] = GENERATIONS as readonly [Generation, Generation, Generation]

function decide(awsSts: object, claims: Record<string, unknown>, generation = OLDEST): RoleDecision {
  return decideRole(config(awsSts), claims, generation, (matcher) =>
    evaluateMatcher(matcher, fromJson(claims), generation.celGo, GATEWAY()),
  )
}

function decideAll(awsSts: object, claims: Record<string, unknown>): ReleaseDecision[] {
  return decideForReleases(
    config(awsSts),
    claims,
    GENERATIONS,
    ({ celGo }) =>
      (matcher) =>
        evaluateMatcher(matcher, fromJson(claims), celGo, GATEWAY()),
  )
}

/** The last part of the role's ARN and the reason, then a line for each mapping. */
function lines({ role, reason, mappings }: RoleDecision): string[] {
  const given = `${role?.split('/').at(-1) ?? 'none'}: ${reason}`
  return [given, ...mappings.map((mapping) => `${mapping.index} ${mapping.reason}`)]
}

t.test('the role, and the outcome of each mapping', async (t) => {
  const a = { roleArn: arn('a') }
  const b = { roleArn: arn('b') }
  const c = { roleArn: arn('c') }
  const fallbackRoleArn = arn('fallback')
  const groups = ['admins', 'dev']
  const rows: readonly [string, object, Record<string, unknown>, string[]][] = [
    [
      'the first that matches in the list',
      {
        roleMappings: [
          { ...a, claim: 'ops' },
          { ...b, claim: 'dev' },
          { ...c, matcher: 'true' },
        ],
      },
      { groups },
      ['b: roleMappings[1]', '0 no match', '1 match', '2 match, but roleMappings[1] comes first'],
    ],
    [
      'lower priority first, none last, the list breaks ties',
      {
        roleMappings: [
          { ...a, claim: 'dev' },
          { ...b, matcher: '"dev" in claims.groups', priority: 5 },
          { ...c, claim: 'admins', priority: 5 },
          { roleArn: arn('d'), claim: 'ops', priority: 0 },
          { roleArn: arn('e'), matcher: 'claims.groups.size() == 2', priority: 2147483647 },
        ],
      },
      { groups },
      [
        'b: roleMappings[1]',
        '3 no match',
        '1 match',
        '2 match, but roleMappings[1] comes first',
        '4 match, but roleMappings[1] comes first',
        '0 match, but roleMappings[1] comes first',
      ],
    ],
    [
      'the fallback',
      { fallbackRoleArn, roleMappings: [{ ...a, claim: 'ops' }] },
      { groups },
      ['fallback: fallbackRoleArn, as no mapping matches', '0 no match'],
    ],
    [
      'the fallback alone',
      { fallbackRoleArn },
      {},
      ['fallback: fallbackRoleArn, as there are no role mappings'],
    ],
    [
      'no role',
      { roleMappings: [{ ...a, claim: 'ops' }] },
      { groups },
      ['none: no mapping matches, and there is no fallbackRoleArn', '0 no match'],
    ],
    ['nothing at all', {}, {}, ['none: there are no role mappings, and there is no fallbackRoleArn']],
    [
      'claims that `in` does not take are skipped in silence by the gateway',
      {
        fallbackRoleArn,
        roleMappings: [
          { ...a, claim: 'admins' },
          { ...b, matcher: '"admins" in claims.groups' },
        ],
      },
      { groups: 'admins' },
      [
        'fallback: fallbackRoleArn, as no mapping matches',
        '0 skipped: claims.groups is a string, and `in` needs a list',
        '1 skipped: `in` needs a list or a map, and finds a string',
      ],
    ],
    [
      'claims of every other type',
      {
        roleClaim: 'https://example.com/roles',
        roleMappings: [
          { ...a, claim: 'admins' },
          { ...b, matcher: 'claims.b' },
          { ...c, matcher: 'claims.c' },
          { ...c, matcher: 'claims.groups.size()' },
          { ...c, matcher: 'claims.nope.x' },
        ],
      },
      { 'https://example.com/roles': null, b: 'true', c: 1.5, groups },
      [
        'none: no mapping matches, and there is no fallbackRoleArn',
        '0 skipped: claims["https://example.com/roles"] is null, and `in` needs a list',
        '1 skipped: the result is a string, and only true matches',
        '2 skipped: the result is a double, and only true matches',
        '3 skipped: the result is an int, and only true matches',
        '4 skipped: there is no claims.nope',
      ],
    ],
    [
      'a map is looked into by key, a list by equal texts',
      {
        roleClaim: 'access',
        roleMappings: [
          { ...a, claim: 'toString' },
          { ...b, claim: 'admins' },
        ],
      },
      { access: { admins: false } },
      ['b: roleMappings[1]', '0 no match', '1 match'],
    ],
    [
      'an empty roleClaim is the default',
      {
        roleClaim: '',
        roleMappings: [
          { ...a, claim: '1' },
          { ...b, claim: 'x' },
        ],
      },
      { groups: [1, 'x'] },
      ['b: roleMappings[1]', '0 no match', '1 match'],
    ],
    [
      'a matcher that does not compile stops the workload',
      {
        fallbackRoleArn,
        roleMappings: [
          { ...a, matcher: 'true' },
          { ...b, matcher: 'claims.sub = "x"' },
        ],
      },
      {},
      [
        'none: the workload does not start because of roleMappings[1]',
        '0 match',
        "1 refused: 1:12: unexpected character '=' (use '==' to compare)",
      ],
    ],
    [
      'so do mappings that are none',
      {
        roleMappings: [
          { ...a },
          { ...a, claim: 'x', matcher: 'true' },
          'a',
          { claim: 'x' },
          { ...a, claim: 1 },
        ],
      },
      { groups },
      [
        'none: the workload does not start because of roleMappings[0], roleMappings[1], roleMappings[2], roleMappings[3], roleMappings[4]',
        '0 refused: it has neither a claim nor a matcher',
        '1 refused: it has both a claim and a matcher',
        '2 refused: it is not a mapping',
        '3 refused: it has no roleArn',
        '4 refused: it has neither a claim nor a matcher',
      ],
    ],
    [
      'a matcher that loops too long',
      {
        roleMappings: [
          { ...a, matcher: LOOPS },
          { ...b, matcher: 'true' },
        ],
      },
      { groups: Array.from({ length: 200 }, String) },
      ['b: roleMappings[1]', '0 stopped at a cost of 1,000,000', '1 match'],
    ],
  ]
  for (const [title, awsSts, claims, expected] of rows) t.same(lines(decide(awsSts, claims)), expected, title)
})

t.test('the role by release', async (t) => {
  const fallbackRoleArn = arn('fallback')
  const claimed = { roleArn: arn('a'), claim: 'admins' }
  const inGroups = { roleArn: arn('m'), matcher: '"admins" in claims.groups' }
  const [NO_ROLE, MATCHED] = [
    'none: the gateway answers 403 and uses no fallbackRoleArn: no mapping matches, and roleMappings[0] fails closed',
    'a: roleMappings[0]',
  ]
  const FALLBACK = 'fallback: fallbackRoleArn, as no mapping matches'
  const ofType = (type: string) => ({
    '0.48 and older': [FALLBACK, `0 skipped: claims.groups is ${type}, and \`in\` needs a list`],
    '0.50 and newer': [NO_ROLE, `0 fails closed: claims.groups is ${type}, and must be a list or a string`],
  })
  const rows: readonly [string, object[], unknown, Record<string, string[]>][] = [
    ['a list', [claimed], ['admins'], { all: [MATCHED, '0 match'] }],
    ['an empty list', [claimed], [], { all: [FALLBACK, '0 no match'] }],
    ['no role claim', [claimed], undefined, { all: [FALLBACK, '0 skipped: there is no claims.groups'] }],
    [
      'a text',
      [claimed],
      'admins',
      {
        '0.48 and older': [FALLBACK, '0 skipped: claims.groups is a string, and `in` needs a list'],
        '0.50 and newer': [MATCHED, '0 match'],
      },
    ],
    [
      'a text that only holds the value',
      [claimed],
      'admins dev',
      {
        '0.48 and older': [FALLBACK, '0 skipped: claims.groups is a string, and `in` needs a list'],
        '0.50 and newer': [FALLBACK, '0 no match'],
      },
    ],
    ['a number', [claimed], 7, ofType('a number')],
    ['a bool', [claimed], true, ofType('a boolean')],
    ['null', [claimed], null, ofType('null')],
    [
      'an object with the value as key',
      [claimed],
      { admins: false },
      {
        '0.48 and older': [MATCHED, '0 match'],
        '0.50 and newer': [NO_ROLE, '0 fails closed: claims.groups is a map, and must be a list or a string'],
      },
    ],
    [
      'a matcher that matches beside a claim that fails closed',
      [claimed, { roleArn: arn('m'), matcher: 'claims.groups == 7.0' }],
      7,
      {
        '0.48 and older': [
          'm: roleMappings[1]',
          '0 skipped: claims.groups is a number, and `in` needs a list',
          '1 match',
        ],
        '0.50 and newer': [
          'm: roleMappings[1]',
          '0 fails closed: claims.groups is a number, and must be a list or a string',
          '1 match',
        ],
      },
    ],
    [
      'a matcher sees the claim as it is',
      [inGroups],
      'admins',
      { all: [FALLBACK, '0 skipped: `in` needs a list or a map, and finds a string'] },
    ],
    [
      'a loop over an empty text',
      [{ roleArn: arn('m'), matcher: 'claims.groups.all(g, g == "x")' }],
      '',
      {
        '0.58 and older': [FALLBACK, '0 skipped: a loop goes over a list or a map, and not over a string'],
        '0.59 and newer': ['m: roleMappings[0]', '0 match'],
      },
    ],
    [
      'a matcher that newer releases do not compile',
      [{ roleArn: arn('m'), matcher: 'claims.groups.exists(g, size(g) > 2.0)' }],
      ['admins'],
      {
        '0.58 and older': ['m: roleMappings[0]', '0 match'],
        '0.59 and newer': [
          'none: the workload does not start because of roleMappings[0]',
          '0 refused: 1:33: found no matching overload for int > double (convert one, as in double(x))',
        ],
      },
    ],
  ]
  for (const [title, roleMappings, groups, expected] of rows) {
    const decisions = decideAll({ fallbackRoleArn, roleMappings }, groups === undefined ? {} : { groups })
    t.same(Object.fromEntries(decisions.map((each) => [each.releases, lines(each)])), expected, title)
  }

  const spans: readonly [string, string][] = [
    ['0.30', '0.48 and older'],
    ['v0.48.0', '0.48 and older'],
    ['0.49', '0.58 and older'],
    ['0.50.1-rc.1', '0.50 to 0.58'],
    ['0.58', '0.50 to 0.58'],
    ['0.59.0', '0.59 and newer'],
    ['v1.0.0', '0.59 and newer'],
    ['', 'all'],
  ]
  for (const [release, expected] of spans)
    t.equal(releasesOf(generationsOf(readRelease(release))), expected, release)
  t.equal(releasesOf([OLDEST, NEWEST]), '0.48 and older, 0.59 and newer')
  t.throws(() => readRelease('newest'), {
    message: "'newest' is not a release of the operator such as 0.58 or v0.58.0",
  })
})

t.test('what is said beside the role', async (t) => {
  const { mappings, notes } = decide(
    {
      region: 'eu-west-1',
      roleMappings: [
        { roleArn: arn('a'), claim: 'admins', priority: 7 },
        { roleArn: arn('b'), claim: 'admins' },
        { roleArn: arn('c'), matcher: 'false' },
        { roleArn: arn('d'), matcher: LOOPS, priority: 1 },
        { roleArn: arn('e'), matcher: LOOPS },
        { roleArn: arn('f'), matcher: `"${'x'.repeat(10_000)}" == ""` },
      ],
    },
    { groups: ['admins', ...Array.from({ length: 200 }, String)] },
  )
  t.same(
    mappings.map(({ index, unreachable }) => [index, unreachable]),
    [
      [3, undefined],
      [
        0,
        'is never reached: roleMappings[3] is tried first and takes all its callers; give this one the lower `priority`',
      ],
      [
        1,
        'is never reached: roleMappings[3] is tried first and takes all its callers; give this one the lower `priority`',
      ],
      [2, 'is never true, so the role is never assumed'],
      [4, 'is never reached: roleMappings[3] is tried first and matches the same; remove one of the two'],
      [5, undefined],
    ],
  )
  t.same(notes, [
    'roleMappings[3] was stopped: the gateway may get further and give its role',
    "'vmcp-admission check' finds an error in this configuration",
  ])
  t.same(matchersOf({ spec: { awsSts: { roleMappings: [{ matcher: 'true' }, null, {}, 1] } } }), ['true'])
  for (const value of [undefined, null, 1, [], {}, { spec: 1 }, { spec: { awsSts: [] } }]) {
    t.equal(decideRole(value, {}, NEWEST, () => undefined).role, undefined)
  }
})

t.test('the session name', async (t) => {
  const rows: readonly [Record<string, unknown>, string | undefined, object][] = [
    [{ sub: 'ann' }, undefined, { claim: 'sub', value: 'ann' }],
    [{ sub: 'ann', email: 'a+b=c,d.e@x-y_z' }, 'email', { claim: 'email', value: 'a+b=c,d.e@x-y_z' }],
    [{ sub: 'ann' }, '', { claim: 'sub', value: 'ann' }],
    [{}, undefined, { claim: 'sub', problem: 'there is no claims.sub' }],
    [{ __proto__: { sub: 'ann' } }, undefined, { claim: 'sub', problem: 'there is no claims.sub' }],
    [{ sub: 7 }, undefined, { claim: 'sub', problem: 'claims.sub is a number, and must be a string' }],
    [{ 'a b': null }, 'a b', { claim: 'a b', problem: 'claims["a b"] is null, and must be a string' }],
    [
      { sub: 'x' },
      undefined,
      { claim: 'sub', value: 'x', problem: 'must be 2 to 64 characters long, not 1' },
    ],
    [{ sub: '' }, undefined, { claim: 'sub', value: '', problem: 'must be 2 to 64 characters long, not 0' }],
    [{ sub: 'x'.repeat(64) }, undefined, { claim: 'sub', value: 'x'.repeat(64) }],
    [
      { sub: 'x'.repeat(65) },
      undefined,
      { claim: 'sub', value: 'x'.repeat(65), problem: 'must be 2 to 64 characters long, not 65' },
    ],
    ...['auth0|abc', 'Ann Lee', 'änn', 'ann\n'].map((sub): [Record<string, unknown>, undefined, object] => [
      { sub },
      undefined,
      {
        claim: 'sub',
        value: sub,
        problem: 'may hold only letters, digits and _+=,.@- without accents and spaces',
      },
    ]),
  ]
  for (const [claims, claim, expected] of rows) t.same(sessionNameFrom(claims, claim), expected)
})

t.test('evaluation has bounds', async (t) => {
  const big = { text: 'a'.repeat(50_000), groups: Array.from({ length: 200 }, String) }
  const slow = 'claims.text.matches("(a?){900}(a?){900}b")'
  const slowAndFast = await evaluations([LOOPS, slow, 'true'], big, '0.33', {
    ...LIMITS,
    cost: 1e12,
    milliseconds: 200,
  })
  t.same(slowAndFast.get(LOOPS), { kind: 'stopped', message: 'after 0.2 s for all mappings together' })
  t.same(slowAndFast.get('true'), { kind: 'stopped', message: 'after 0.2 s for all mappings together' })

  const doubling = [
    [
      `["${'x'.repeat(1000)}"].all(a, [a + a].all(a, [a + a].all(a, [a+a+a+a+a+a+a+a].all(a, [a+a+a+a+a+a+a+a].all(a, [a+a+a+a+a+a+a+a].all(a, a != "")))))) `,
      'failed',
    ],
    ['[[0]].all(a, ' + '[a + a].all(a, '.repeat(40) + 'a != []' + ')'.repeat(41), 'stopped'],
    ['[1].all(x, claims.groups.map(a, claims.groups.map(b, claims.groups.map(c, [c, c]))) != [])', 'stopped'],
  ] as const
  const found = await evaluations(
    doubling.map(([matcher]) => matcher),
    big,
    '0.33',
    // The limits of cost and memory apply, not that of time, which is long enough for a busy machine.
    { ...LIMITS, milliseconds: 60_000 },
  )
  for (const [matcher, kind] of doubling) t.equal(found.get(matcher)?.kind, kind, matcher.slice(0, 60))

  const heap =
    'claims.groups.map(a, claims.groups.map(b, claims.groups.map(c, [a, b, c, [a, b, c]]))).size() > 0'
  const limits = { cost: 1e12, milliseconds: 60_000, megabytes: 16 }
  t.same((await evaluations([heap, 'true'], big, '0.33', limits)).get('true'), {
    kind: 'stopped',
    message: 'for lack of memory',
  })
  t.equal((await evaluations([], {}, '0.33')).size, 0)
  t.same(
    evaluateMatcher(`"${'x'.repeat(10_000)}" == ""`, null, '0.33', () => undefined),
    {
      kind: 'refused',
      message: '1:1: expression is longer than 10000 bytes',
    },
  )
})

const base64url = (value: string) => Buffer.from(value).toString('base64url')
const token = (payload: string, signature = 'c2lnbmF0dXJl') =>
  `${base64url('{"alg":"RS256"}')}.${base64url(payload)}.${signature}`

t.test('claims as they are read', async (t) => {
  t.same(readClaims(' \ufeff{"sub": "ann"}\n'.trimStart()), { claims: { sub: 'ann' }, fromToken: false })
  t.same(readClaims(`${token('{"sub": "änn"}')}\n`), { claims: { sub: 'änn' }, fromToken: true })
  t.same(readClaims(token('{"sub": "ann"}', '')).fromToken, true)
  const exact = `{"a":"${'x'.repeat(LONGEST_CLAIMS - 8)}"}`
  t.equal(readClaims(exact).fromToken, false)
  const notJson = 'the text looks like a JWT, but its payload is no JSON object of claims'
  const rows: readonly [string, string][] = [
    ['', 'there are no claims: write a JSON object such as {"sub": "ann"}'],
    ['[1]', 'claims must be a JSON object, or a JWT'],
    ['"a"', 'claims must be a JSON object, or a JWT'],
    ['{"a": 1e999}', 'the number is infinite, too large or not a number: JSON has no word for it'],
    ['{"a": 1} {}', 'there is more text behind the claims'],
    ['{"a": secret}', 'found "s" where a value is due'],
    ['{"a": ', 'the JSON text ends where a value is due'],
    [`{"a":${'['.repeat(600)}`, 'lists and maps nest deeper than 500 levels'],
    [`${exact} `, 'claims may have at most 64 KiB of JSON'],
    [token(`${exact} `), 'claims may have at most 64 KiB of JSON'],
    [token('secret'), notJson],
    [token('[1]'), notJson],
    ['a.b.c', notJson],
    [`Bearer ${token('{}')}`, 'found "B" where a value is due'],
  ]
  for (const [written, message] of rows)
    t.throws(() => readClaims(written), { message }, written.slice(0, 40))
})

t.test('nothing in claims or files writes over the terminal', async (t) => {
  const claims = { sub: 'a\u001b[2Jb\u202e\nrole: x' }
  const text = printRole({
    config: { namespace: '', name: 'aws' },
    claims: 'json',
    release: '',
    outcomes: decideAll({ roleMappings: [{ roleArn: arn('a\u0007'), claim: 'x\r\ny' }] }, claims),
    sessionName: sessionNameFrom(claims, undefined),
    callerTokens: UNKNOWN_TOKENS,
    leftOut: [],
  })
  t.notMatch(text, /[\u0000-\u0009\u000b-\u001f\u202e]/)
  t.equal(text.split('\n').filter((line) => line.startsWith('role:')).length, 1)
})

const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-role-'))
t.teardown(() => rm(folder, { recursive: true }))
/** The output of `access`, which must equal that of its older name `role`. */
async function vmcpRole(args: readonly string[], input = '') {
  const [printed, older] = [
    await runCli(['access', ...args], { cwd: folder, input }),
    await runCli(['role', ...args], { cwd: folder, input }),
  ]
  t.strictSame(older, printed, args.join(' '))
  return printed
}

t.test('the command', async (t) => {
  const mappings = [
    { roleArn: arn('admin'), claim: 'admins' },
    { roleArn: arn('ci'), matcher: 'claims.sub.startsWith("service-")', priority: 1 },
    { roleArn: arn('again'), claim: 'admins' },
  ]
  const one = JSON.stringify(config({ roleMappings: mappings }))
  const other = JSON.stringify({ ...config({}), spec: { type: 'unauthenticated' } })
  const two = JSON.stringify(config({ fallbackRoleArn: arn('fallback') }, 'two'))
  const files = {
    'one.json': `${other}\n---\n${one}`,
    'many#2.yaml': `${one}\n---\n${two}`,
    'none.yaml': other,
    'broken.yaml': `${one}\n---\n{`,
    'ann.json': JSON.stringify(ANN),
    'nobody.json': '{}',
    'broken.json': '{\n  "sub": ann}',
    'token.jwt': token('{"sub": "x y", "groups": ["admins"]}', 'U2VjcmV0'),
    'bad.jwt': token('nothing', 'U2VjcmV0'),
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)

  const human = await vmcpRole(['--config', 'one.json', '--claims', 'ann.json'])
  t.same(human, {
    status: 0,
    stderr: '',
    stdout: [
      'mapping          priority  condition                                  role                                  result',
      'roleMappings[1]  1         matcher claims.sub.startsWith("service-")  arn:aws:iam::123456789012:role/ci     match',
      'roleMappings[0]  last      claim admins                               arn:aws:iam::123456789012:role/admin  match, but roleMappings[1] comes first',
      'roleMappings[2]  last      claim admins                               arn:aws:iam::123456789012:role/again  match, but roleMappings[1] comes first',
      '',
      'role: arn:aws:iam::123456789012:role/ci (roleMappings[1])',
      'session name: service-ci-42 (claims.sub)',
      'warning: roleMappings[2] is never reached: roleMappings[0] is tried first and matches the same; remove one of the two',
      '',
    ].join('\n'),
  })

  const json = await vmcpRole(['--config', '-', '--claims', 'token.jwt', '--output', 'json'], one)
  t.equal(json.status, 0)
  t.same(JSON.parse(json.stdout), {
    version: 1,
    role: arn('admin'),
    config: { namespace: '', name: 'aws' },
    claims: 'token',
    release: null,
    outcomes: [
      {
        releases: 'all',
        role: arn('admin'),
        from: 0,
        reason: 'roleMappings[0]',
        mappings: [
          { index: 1, ...mappings[1], outcome: 'noMatch', reason: 'no match' },
          { index: 0, ...mappings[0], outcome: 'match', reason: 'match' },
          {
            index: 2,
            ...mappings[2],
            outcome: 'match',
            reason: 'match, but roleMappings[0] comes first',
            unreachable:
              'is never reached: roleMappings[0] is tried first and matches the same; remove one of the two',
          },
        ],
      },
    ],
    sessionName: {
      claim: 'sub',
      value: 'x y',
      problem: 'may hold only letters, digits and _+=,.@- without accents and spaces',
    },
    tokens: {},
    notes: ['the claims are the payload of a JWT, whose signature is not verified'],
    unread: [],
  })
  t.notMatch(json.stdout, 'U2VjcmV0')
  const keysOf = ({ stdout }: { readonly stdout: string }) => Object.keys(JSON.parse(stdout) as object)
  const undecided = await vmcpRole(['--config', 'broken.yaml', '--claims', 'ann.json', '--output', 'json'])
  t.same(keysOf(undecided), keysOf(json), 'no field is left out where nothing can be read')

  const endings: readonly [string[], number, string, string?][] = [
    [
      ['--config', 'one.json', '--claims', 'nobody.json'],
      1,
      'role: none (no mapping matches, and there is no fallbackRoleArn)\nsession name: none (claims.sub), so the gateway answers 401: there is no claims.sub\n',
    ],
    [
      ['--config', 'many#2.yaml#two', '--claims', '-'],
      0,
      `role: ${arn('fallback')} (fallbackRoleArn, as`,
      '{}',
    ],
    [
      ['--config', 'one.json', '--claims', 'bad.jwt'],
      3,
      'bad.jwt:1:1: cannot read: the text looks like a JWT',
    ],
    [
      ['--config', 'billing', '--claims', 'ann.json'],
      3,
      'billing: cannot read: no such file or folder; --cluster reads the configuration of this name from a cluster',
    ],
  ]
  for (const [args, status, message, input] of endings) {
    const run = await vmcpRole(args, input)
    const printed = run.stdout + run.stderr
    t.equal(run.status, status, args.join(' '))
    t.ok(printed.includes(message), `${args.join(' ')}: ${printed}`)
    t.notMatch(printed, 'U2VjcmV0')
  }

  const at = (name: string) => join(folder, name)
  const ann = at('ann.json')
  const wrong: readonly [string[], string][] = [
    [
      ['--config', at('many#2.yaml'), '--claims', ann],
      `${at('many#2.yaml')} holds several: write ${at('many#2.yaml')}#NAME with one of aws, two`,
    ],
    [
      ['--config', at('many#2.yaml#three'), '--claims', ann],
      `${at('many#2.yaml')} holds no awsSts configuration 'three'; it holds aws, two`,
    ],
    [
      ['--config', at('none.yaml'), '--claims', ann],
      `${at('none.yaml')} holds no MCPExternalAuthConfig of the type awsSts`,
    ],
    [['--config', at('one.json')], 'name a configuration and claims: role --config FILE --claims FILE|-'],
    [['--config', '-', '--claims', '-'], 'standard input can be the configuration or the claims, not both'],
    [['--confg', '-'], "there is no flag --confg; did you mean '--config'"],
  ]
  for (const [args, message] of wrong) await t.rejects(role.run(args, {}), new UsageError(message), message)
  const both = ['--config', at('one.json'), '--claims', ann]
  const unlike: readonly [string[], string][] = [
    ...wrong.slice(0, 3),
    ...[
      ['--config', at('one.json')],
      [...both, '--claims', ann],
      [...both, ann],
      [...both, '--who', '*'],
    ].map((args): [string[], string] => [
      args,
      'name a configuration and claims: access --config FILE --claims FILE|-',
    ]),
    [[...both, '--output', 'sarif'], '--config prints human or json'],
    [[...both, '--kubeconfig', 'k'], '--kubeconfig needs --cluster'],
  ]
  for (const [args, message] of unlike)
    await t.rejects(access.run(args, {}), new UsageError(message), args.join(' '))
  t.match(
    await runCli(['access', 'one.json', 'one.json'], { cwd: folder, environment: { VMCP_CONFIG: 'gone' } }),
    { status: 0, stdout: /^no difference/ },
    'the variable is meant for role',
  )

  const unread: readonly [string, string, string][] = [
    ['broken.yaml', 'ann.json', 'broken.yaml:3:3: cannot read: flow map must end with a }\n'],
    ['one.json', 'gone', 'gone: cannot read: no such file or folder\n'],
    ['one.json', '', 'cannot read: it is a folder\n'],
    ['one.json', 'broken.json', 'broken.json:2:10: cannot read: found "a" where a value is due\n'],
  ]
  for (const [configFile, claimsFile, message] of unread) {
    const written = t.capture(process.stderr, 'write', () => true)
    const status = await role.run(['--config', at(configFile), '--claims', at(claimsFile)], {})
    const texts = written().map(({ args: [chunk] }) => String(chunk))
    written.restore()
    t.equal(status, 3)
    t.ok(texts.join('').endsWith(message), texts.join(''))
  }
})
