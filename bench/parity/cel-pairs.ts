import { randomOf } from './random.ts'

type Kind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'time'
  | 'span'
  | 'list'
  | 'map'
  | 'null'
  | 'type'
  | 'dyn'

const KINDS: readonly Kind[] = [
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'time',
  'span',
  'list',
  'map',
  'null',
  'type',
  'dyn',
]

const TEXTS = [
  '',
  'a',
  'b',
  'ab',
  'admins',
  'dev',
  'k',
  'ann@example.com',
  'https://idp.example.com',
  'true',
  'FALSE',
  't',
  'ä',
  'Лее',
  '😀',
  'a\nb',
  'a\r\nb',
  '\u0000',
  '\ufeffx',
  'ſ',
  'K',
  '0',
  '-0',
  '+5',
  '1_000',
  '12.5',
  '-1e3',
  '.5',
  '5.',
  '1e400',
  '1e-400',
  '4.9e-324',
  'inf',
  '-Infinity',
  'NaN',
  '+nan',
  '0x1p4',
  '-0X1.8P+1',
  '0x_1p-2',
  '0x1p1024',
  '0x1.fffffffffffff8p1023',
  '0x.8p0',
  '0x1.00000000000008p0',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '18446744073709551615',
  '18446744073709551616',
  '007',
  ' 1',
  '1 ',
  '١',
]
const SPANS = [
  '0s',
  '1s',
  '1h30m',
  '-1.5s',
  '1.000000001s',
  '0.1234567890123456789s',
  '1.9999999999999999999s',
  '1us',
  '1.5µs',
  '15μs',
  '1ns',
  '0.5ns',
  '1ms',
  '100ms',
  '2562047h47m16.854775807s',
  '2562047h47m16.854775808s',
  '-2562047h47m16.854775808s',
  '9223372036854775807ns',
  '-9223372036854775808ns',
  '9223372036854775.807us',
  '0.3333333333333333333h',
  '.5m',
  '5.h',
  '.s',
  '1d',
  '1',
  '-0',
  '+3m',
  '1h-1m',
  '',
  's',
  '1 s',
  '1S',
  '99999999999h',
]
const TIMES = [
  '2024-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
  '2024-02-29T23:59:59.999999999Z',
  '2024-01-01T00:00:00+02:00',
  '2024-06-30T12:30:45.120-05:30',
  '2024-01-01T00:00:00.5+00:00',
  '2024-01-01T00:00:00-00:00',
  '2023-02-29T00:00:00Z',
  '2024-12-31T23:59:60Z',
  '2024-01-01T24:00:00Z',
  '2024-01-01t00:00:00z',
  '2024-01-01 00:00:00Z',
  '2024-01-01T00:00:00',
  '2024-01-01',
  '2024-1-01T00:00:00Z',
  '2024-01-01T1:00:00Z',
  '2024-01-01T00:00:00,5Z',
  '2024-01-01T00:00:00.Z',
  '2024-01-01T00:00:00.1234567891Z',
  '2024-01-01T00:00:00+23:59',
  '2024-01-01T00:00:00+24:00',
  '2024-01-01T00:00:00+2:00',
  '2024-01-01T00:00:00+00:60',
  '0001-01-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '0000-12-31T23:00:00-02:00',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '9999-12-31T23:59:59-01:00',
  '10000-01-01T00:00:00Z',
  '1677-09-21T00:12:43Z',
  '2262-04-11T23:47:17Z',
  '1900-01-01T00:00:00+01:23',
  '1969-12-31T23:59:59.5Z',
]
const ZONES = [
  '',
  'UTC',
  'utc',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'EST',
  'Etc/GMT+5',
  'US/Pacific',
  'europe/berlin',
  'Nowhere/City',
  '+01:00',
  '-02:30',
  '05:45',
  '+1:00',
  '1:5',
  '+24:00',
  '+00:60',
  '-00:30',
  '+:00',
  '+01:00:00',
  '++1:00',
  '+01:+30',
  '-01:-30',
]
const PATTERN_PARTS =
  'a b ab . .* .+ a* a? a+ a** a*? ^ $ | ( ) (?: (?i) (?s) (?m) (?P<n> (?<n> (?P<m> (?P< (?= [ab] [^a] [a-z] [z-a] [ [] [[:alpha:]] [[:word] \\d \\D \\w \\b \\B \\s \\pL \\p{Greek} \\p{Nope} \\PN \\Q \\E \\A \\z \\Z \\C \\x41 \\x{1F600} \\x{110000} \\8 \\1 \\. \\_ \\ { {* {1 {1} {1,} {1,2} {,2} {2,1} {1001} {1000} {* } *  ? - , ä 😀 \n'.split(
    ' ',
  )

const CLAIM_NAMES = [
  'sub',
  'groups',
  'aud',
  'level',
  'exp',
  'ok',
  'none',
  'act',
  'mixed',
  'a b',
  'time',
  'span',
  're',
]

/** An expression, and the claims that it meets. */
export interface CelPair {
  readonly expr: string
  readonly claims: Record<string, unknown>
}

/** Most expressions compile; many meet claims of another type than they expect. */
export function pairWriter(seed: number): () => CelPair {
  const { random, below, some } = randomOf(seed)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T
  const chance = (part: number) => random() < part

  function json(depth: number): unknown {
    const scalars = [
      () => pick(TEXTS),
      () => pick([0, 1, 2, 3, -1, 0.5, 1.5, 1e9, 1700000000, 1e21, 2 ** 53, -(2 ** 63), 1e-7]),
      () => chance(0.5),
      () => null,
    ]
    if (depth === 0 || chance(0.4)) return pick(scalars)()
    if (chance(0.6)) {
      const make = pick([() => pick(TEXTS), () => json(0), () => json(depth - 1)])
      return some(4, make)
    }
    return Object.fromEntries(some(3, () => [pick(['a', 'k', 'sub', 'a b', '']), json(depth - 1)]))
  }

  function claims(): Record<string, unknown> {
    const usual: Record<string, unknown> = {
      sub: pick(TEXTS),
      groups: some(3, () => pick(['admins', 'dev', 'a'])),
      aud: chance(0.5) ? 'mcp' : ['mcp', 'api'],
      level: pick([0, 1, 2, 3, 0.5]),
      exp: 1900000000,
      ok: chance(0.5),
      none: null,
      act: { sub: 'gateway', a: [1, 'x', null, { k: 1.5 }] },
      mixed: [1, 'a', true, null, [1], { k: 2 }, 1.5],
      'a b': { k: 'x' },
      time: pick(TIMES),
      span: pick(SPANS),
      re: pick(PATTERN_PARTS),
    }
    for (const name of CLAIM_NAMES) {
      if (chance(0.1)) Reflect.deleteProperty(usual, name)
      else if (chance(0.2)) usual[name] = json(2)
    }
    return usual
  }

  function quoted(text: string): string {
    if (chance(0.05) && !/['\\]|\r$/.test(text)) return `'''${text}'''`
    if (chance(0.05) && !/["\n\r]/.test(text)) return `r"${text}"`
    return JSON.stringify(text).replace(
      /[\u0000\u007f-\u009f\ufeff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
  }

  /** The variables of the loops around. */
  type Scope = readonly string[]

  const LEAVES: Record<Kind, (scope: Scope) => string> = {
    bool: () => pick(['true', 'false']),
    int: () =>
      pick([
        '0',
        '1',
        '2',
        '3',
        '-1',
        '-7',
        '10',
        '9223372036854775807',
        '-9223372036854775808',
        '9007199254740993',
        '0x1F',
      ]),
    uint: () => pick(['0u', '1u', '2u', '7u', '18446744073709551615u', '9223372036854775808u', '0xfu']),
    double: () =>
      pick([
        '0.0',
        '-0.0',
        '1.0',
        '0.5',
        '-1.5',
        '1e6',
        '123456.789',
        '1e21',
        '1e-7',
        '5e-324',
        '1.7976931348623157e308',
        '9223372036854775807.0',
        '9.007199254740993e15',
        '(0.0 / 0.0)',
        '(1.0 / 0.0)',
      ]),
    string: () => quoted(pick(chance(0.8) ? TEXTS : pick([SPANS, TIMES]))),
    bytes: () => pick(['b""', 'b"a"', 'b"ab"', 'b"\\xff"', 'b"\\xc3\\xa4"', "b'''\r\n'''", 'b"ä"']),
    time: () =>
      pick([
        `timestamp(${quoted(pick(TIMES))})`,
        'timestamp(0)',
        'timestamp(1700000000)',
        'timestamp(-1)',
        'timestamp(253402300799)',
        'timestamp(-62135596800)',
        'timestamp(9223372036854775807)',
      ]),
    span: () => `duration(${quoted(span())})`,
    list: () =>
      pick([
        '[]',
        '[1, 2]',
        '["a", "b"]',
        '["a", 1, null]',
        '[[1], [2, 3]]',
        'claims.groups',
        'claims.mixed',
        '[1.0, 2u]',
      ]),
    map: () =>
      pick([
        '{}',
        '{"a": 1, "k": 2}',
        '{1: "a", 2u: "b"}',
        '{true: 1}',
        'claims',
        'claims.act',
        '{"a": [1]}',
        '{1: 1, 1u: 2}',
        '{null: 1}',
        '{1.0: "x"}',
      ]),
    null: () => 'null',
    type: () =>
      pick([
        'int',
        'string',
        'bool',
        'double',
        'list',
        'map',
        'type',
        'null_type',
        'google.protobuf.Timestamp',
      ]),
    dyn: (scope) => {
      if (scope.length > 0 && chance(0.6)) return pick(scope)
      const name = pick(CLAIM_NAMES)
      const whole = name.includes(' ')
        ? `claims[${JSON.stringify(name)}]`
        : pick([`claims.${name}`, `claims["${name}"]`])
      return pick([whole, whole, whole, `${whole}.k`, `${whole}[0]`, `${whole}["sub"]`, 'claims.nope'])
    },
  }

  function span(): string {
    if (chance(0.6)) return pick(SPANS)
    const digits = (most: number) => Array.from({ length: 1 + below(most) }, () => below(10)).join('')
    const term = () =>
      `${digits(chance(0.1) ? 20 : 4)}${chance(0.5) ? `.${digits(24)}` : ''}${pick(['h', 'm', 's', 'ms', 'us', 'µs', 'ns'])}`
    return pick(['', '', '-', '+']) + Array.from({ length: 1 + below(3) }, term).join('')
  }

  const pattern = () => Array.from({ length: 1 + below(5) }, () => pick(PATTERN_PARTS)).join('')

  const PARTS = [
    'getFullYear',
    'getMonth',
    'getDayOfYear',
    'getDayOfMonth',
    'getDate',
    'getDayOfWeek',
    'getHours',
    'getMinutes',
    'getSeconds',
    'getMilliseconds',
  ]

  type Make = (e: (kind: Kind) => string, inLoop: (body: Kind) => readonly [string, string]) => string

  const ANY: readonly Make[] = [
    (e) => `(${e('bool')} ? ${e('dyn')} : ${e('dyn')})`,
    (e) => `${e('list')}[${e('int')}]`,
    (e) => `${e('map')}[${e('string')}]`,
    (e) => `${e('dyn')}.${pick(['a', 'k', 'sub'])}`,
    (e) => `${e('map')}[${e('dyn')}]`,
    (e) => `dyn(${e(pick(KINDS))})`,
  ]

  const MAKES: Record<Kind, readonly Make[]> = {
    dyn: ANY,
    bool: [
      (e) => `(${e('bool')} && ${e('bool')})`,
      (e) => `(${e('bool')} || ${e('dyn')})`,
      (e) => `(${e('dyn')} && ${e('bool')})`,
      (e) => `!${e('bool')}`,
      (e) =>
        ((kind: Kind) => `(${e(kind)} ${pick(['==', '!=', '<', '<=', '>', '>='])} ${e(kind)})`)(pick(KINDS)),
      (e) => `(${e('dyn')} ${pick(['==', '!=', '<', '<=', '>', '>='])} ${e(pick(KINDS))})`,
      (e) => `(${e('dyn')} in ${e('list')})`,
      (e) => `(${e('dyn')} in ${e('map')})`,
      (e) => `(${e('string')} in ${e('dyn')})`,
      (e) =>
        `has(${pick(['claims', 'claims.act', 'claims.nope', e('map'), e('dyn')])}.${pick(['a', 'k', 'sub', 'groups', 'none'])})`,
      (e) => `${e('string')}.${pick(['startsWith', 'endsWith', 'contains'])}(${e('string')})`,
      (e) => `${e('dyn')}.${pick(['startsWith', 'endsWith', 'contains'])}(${e('dyn')})`,
      (e) => `${e(pick(['string', 'dyn']))}.matches(${quoted(pattern())})`,
      (e) => `matches(${e('string')}, ${e('dyn')})`,
      (e, loop) => loopOver(pick(['all', 'exists', 'exists_one']), e, loop),
      (e) => `bool(${e(pick(['string', 'bool', 'dyn']))})`,
      (e) => `(${e('bool')} ? ${e('bool')} : ${e('bool')})`,
      (e) => `(type(${e(pick(KINDS))}) == ${e('type')})`,
    ],
    int: [
      (e) => `(${e('int')} ${pick(['+', '-', '*', '/', '%'])} ${e('int')})`,
      (e) => `-${pick(['claims.level', '(1)', `(${e('int')})`])}`,
      (e) => `int(${e(pick(['string', 'uint', 'double', 'time', 'span', 'dyn', 'int']))})`,
      (e) => `size(${e(pick(['string', 'bytes', 'list', 'map', 'dyn']))})`,
      (e) => `${e(pick(['string', 'bytes', 'list', 'map', 'dyn']))}.size()`,
      (e) =>
        `${e(pick(['time', 'span', 'dyn']))}.${pick(['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'])}()`,
      (e) => `${e('time')}.${pick(PARTS)}(${pick(['', '', quoted(pick(ZONES))])})`,
    ],
    uint: [
      (e) => `(${e('uint')} ${pick(['+', '-', '*', '/', '%'])} ${e('uint')})`,
      (e) => `uint(${e(pick(['string', 'int', 'double', 'dyn', 'uint']))})`,
    ],
    double: [
      (e) => `(${e('double')} ${pick(['+', '-', '*', '/'])} ${e('double')})`,
      (e) => `double(${e(pick(['string', 'string', 'uint', 'int', 'dyn', 'double']))})`,
      (e) => `(${e('dyn')} ${pick(['+', '-', '*', '/'])} ${e('double')})`,
    ],
    string: [
      (e) => `(${e('string')} + ${e('string')})`,
      (e) => `(${e('dyn')} + ${e('string')})`,
      (e) =>
        `string(${e(pick(['int', 'uint', 'double', 'bytes', 'bool', 'time', 'time', 'span', 'span', 'dyn', 'string']))})`,
    ],
    bytes: [(e) => `bytes(${e(pick(['string', 'dyn', 'bytes']))})`, (e) => `(${e('bytes')} + ${e('bytes')})`],
    time: [
      (e) => `(${e('time')} ${pick(['+', '-'])} ${e('span')})`,
      (e) => `(${e('span')} + ${e('time')})`,
      (e) => `timestamp(${e(pick(['string', 'int', 'dyn', 'time']))})`,
    ],
    span: [
      (e) => `(${e('span')} ${pick(['+', '-'])} ${e('span')})`,
      (e) => `(${e('time')} - ${e('time')})`,
      (e) => `duration(${e(pick(['string', 'dyn', 'span']))})`,
    ],
    list: [
      (e) => `[${some(3, () => e(pick(KINDS))).join(', ')}]`,
      (e) => `(${e('list')} + ${e('list')})`,
      (e, loop) => loopOver(pick(['map', 'filter', 'map3']), e, loop),
    ],
    map: [
      (e) =>
        `{${some(3, () => `${e(pick(['string', 'int', 'uint', 'bool', 'dyn', 'double']))}: ${e(pick(KINDS))}`).join(', ')}}`,
    ],
    null: [],
    type: [(e) => `type(${e(pick(KINDS))})`],
  }

  function loopOver(
    macro: string,
    e: (kind: Kind) => string,
    inLoop: (body: Kind) => readonly [string, string],
  ): string {
    const range = e(pick(['list', 'list', 'map', 'dyn', 'dyn', 'string']))
    const [variable, body] = inLoop(macro === 'map' ? pick(KINDS) : pick(['bool', 'bool', 'bool', 'dyn']))
    if (macro !== 'map3') return `${range}.${macro}(${variable}, ${body})`
    return `${range}.map(${variable}, ${body}, ${inLoop(pick(KINDS))[1].replaceAll(/\b[v-z]\b/g, variable)})`
  }

  function expression(kind: Kind, depth: number, scope: Scope): string {
    const makes = MAKES[kind]
    if (depth <= 0 || makes.length === 0 || chance(0.15)) return LEAVES[kind](scope)
    // What the checker would refuse becomes a question of run time behind dyn().
    if (kind !== 'dyn' && chance(0.04)) return `dyn(${expression(pick(KINDS), depth - 1, scope)})`
    if (kind !== 'dyn' && chance(0.15)) return expression('dyn', depth, scope)
    const inner = (wanted: Kind) => expression(wanted, depth - 1, scope)
    return pick(makes)(inner, (body) => {
      const variable = pick(['v', 'w', 'x', 'y', 'z'])
      return [variable, expression(body, depth - 1, [...scope, variable])]
    })
  }

  return () => ({
    expr: expression(pick([...KINDS, 'bool', 'bool', 'string', 'int']), 1 + below(4), []),
    claims: claims(),
  })
}
