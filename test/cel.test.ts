import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { checkMatcher, maxBytes, maxProblems, outsideStringLiterals, parse } from '../src/cel/index.ts'
import type { CelGoVersion, MatcherVerdict } from '../src/cel/index.ts'
import { matcherVerdict } from '../src/kinds/mcp-external-auth-config/matcher-verdicts.ts'
import { JUDGEMENT } from '../src/engine/rules.ts'
import { Budget } from '../src/rule/budget.ts'

/** `line` and `col` are absent for errors of the phase that makes the program: cel-go gives no position for them. */
type Verdict = { ok: true; type: string } | { ok: false; phase: string; line?: number; col?: number }

/**
 * The recorded verdict of cel-go 0.32 about an expression over `claims: map(string, dyn)`, and that of 0.33 if it
 * differs.
 */
type Golden = { expr: string; '0.33'?: Verdict } & Verdict

const golden = readFileSync(new URL('golden/cel.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Golden)

/** A verdict as one line of text: the type, or the first error. */
function show(verdict: MatcherVerdict): string {
  return verdict.ok ? verdict.type : `${verdict.line}:${verdict.column} ${verdict.message}`
}

t.test('every verdict and result type equals that of both versions of cel-go', async (t) => {
  const ours = (version: CelGoVersion, verdict: MatcherVerdict) =>
    verdict.ok && verdict.refusedBy?.version !== version ? verdict.type : 'rejected'
  const theirs = (expected: Verdict) => (expected.ok ? expected.type : 'rejected')
  const different = golden.filter((expected) => {
    const verdict = checkMatcher(expected.expr)
    return (
      ours('0.32', verdict) !== theirs(expected) ||
      ours('0.33', verdict) !== theirs(expected['0.33'] ?? expected)
    )
  })
  t.equal(golden.length, 1616)
  t.same(different, [])
})

t.test('the first error is where cel-go puts it', async (t) => {
  const elsewhere = golden.filter((expected) => {
    const verdict = checkMatcher(expected.expr)
    return [expected, expected['0.33']].some((theirs) => {
      if (theirs === undefined || theirs.ok || theirs.line === undefined) return false
      const error = verdict.ok ? verdict.refusedBy : verdict
      return error?.line !== theirs.line || error.column !== theirs.col
    })
  })
  // cel-go reports the end of an empty expression at column 0.
  t.same(
    elsewhere.map(({ expr }) => expr),
    ['', ''],
  )
})

t.test('results and error texts', async (t) => {
  const rows: readonly [string, string][] = [
    ['"admins" in claims["groups"] && !("act" in claims)', 'bool'],
    ['claims.email_verified', 'dyn'],
    ['claims', 'map(string, dyn)'],
    ['[1].map(a, {a: [a]})', 'list(map(int, list(int)))'],
    ['timestamp(1) - timestamp(2)', 'google.protobuf.Duration'],
    ['google.protobuf.Duration == type(claims.a)', 'bool'],
    ['google.protobuf.Value{string_value: "a"}', 'dyn'],
    ['google.protobuf.Unheard{}', 'dyn'],
    ['-9223372036854775808', 'int'],
    ['18446744073709551615u', 'uint'],
    ['claims.`postal-code`', 'dyn'],
    ['b"\\x41\\101ä" == br"\\"', 'bool'],
    ['"\ud800\u0000" == claims.sub // \udfff', 'bool'],
    ['', '1:1 the expression is empty'],
    ['// nothing', '1:11 the expression is empty'],
    ['claims.a || ', '1:13 the expression ends too early'],
    ['claims.sub = "x"', "1:12 unexpected character '=' (use '==' to compare)"],
    ['claims.a & claims.b', "1:10 unexpected character '&' (use '&&')"],
    ['claims.a and claims.b', "1:10 unexpected 'and' (use '&&')"],
    ['claims.a OR claims.b', "1:10 unexpected 'OR' (use '||')"],
    ['not claims.a', "1:5 unexpected 'claims' (use '!')"],
    ['claims.sub == “x”', "1:15 unexpected character '“' (use straight quotes)"],
    ['claims.sub\u00a0== "x"', '1:11 unexpected character U+00A0 (use a plain space)'],
    ['claims.\u0000', '1:8 unexpected character U+0000'],
    ['\ud800', '1:1 unexpected character U+D800'],
    ['claims.sub == "x', '1:15 unterminated string: " has no match'],
    ['claims.sub == "x\n"', '1:15 unterminated string: a line break needs triple quotes'],
    [
      'claims.sub == "\\d"',
      '1:15 invalid escape sequence \\d (write \\\\ for a backslash, or use a raw string r"…")',
    ],
    ['"\\ud800" == "a"', '1:1 invalid unicode code point in an escape sequence'],
    ['b"\\u0041" == b"A"', '1:1 \\u is not allowed in bytes'],
    ['claims.`a', "1:8 unexpected character '`'"],
    ['claims.sub == 9223372036854775808', '1:15 invalid int literal: out of range'],
    ['18446744073709551616u == 1u', '1:1 invalid uint literal: out of range'],
    ['1e999 == 1.0', '1:1 invalid double literal: out of range'],
    ['(claims.a', "1:10 expected ')' but found end of expression"],
    ['[1, 2', "1:6 expected ',' or ']' but found end of expression"],
    ['{"a" 1}', "1:6 expected ':' between map key and value but found an int literal"],
    ['"a".matches("b" "c")', "1:17 expected ',' or ')' but found a string literal"],
    ['f(1,)', "1:5 unexpected ')'"],
    ['claims.', "1:8 expected a field name after '.' but found end of expression"],
    ['claims.in', '1:8 \'in\' is a keyword, use ["in"]'],
    ['claims.?sub', "1:7 optional access '.?' is not available here"],
    ['claims[?"sub"]', "1:7 optional index '[?' is not available here"],
    ['if == 1', "1:1 'if' is a reserved word"],
    ['-!true', "1:2 '!' cannot follow '-', use parentheses"],
    ['!-claims.a', "1:2 '-' cannot follow '!' here, use parentheses"],
    ['true ? true ? 1 : 2 : 3', "1:13 expected ':' but found '?' (put a nested condition in parentheses)"],
    [
      'has(claims)',
      '1:5 has() takes a field selection such as has(claims.act); for a computed key write "key" in claims',
    ],
    ['[1].all(1, true)', '1:9 the first argument of all() must be a variable name'],
    ['[1].all(__result__, true)', "1:9 '__result__' cannot be used as a variable name"],
    ['{claims{a: 1}: google{1: 2}}', '1:23 expected a field name but found an int literal'],
    ['Foo{a: 1} == 1', "1:4 undeclared reference to 'Foo' (there are no message types here)"],
    ['clams.sub == "x"', "1:1 undeclared reference to 'clams' (did you mean 'claims')"],
    [
      'sub == "x"',
      "1:1 undeclared reference to 'sub' (the only variable is claims: write claims.sub, and text in quotes)",
    ],
    ['[1].exists(grp, grop == 1)', "1:17 undeclared reference to 'grop' (did you mean 'grp')"],
    ['[1].exists(g, other == 1)', "1:15 undeclared reference to 'other' (known here: claims, g)"],
    [
      '[1].exists(claims, .claims.a) && .x',
      "1:35 undeclared reference to 'x' (the only variable is claims: write claims.x, and text in quotes)",
    ],
    ['claims.sub.startWith("x")', "1:21 undeclared reference to 'startWith' (did you mean 'startsWith')"],
    ['claims.sub.hasPrefix("x")', "1:21 undeclared reference to 'hasPrefix' (use 'startsWith')"],
    [
      'claims.sub.trim() == "x"',
      "1:16 undeclared reference to 'trim' (the strings extension is not available)",
    ],
    ['now() > 1', "1:4 undeclared reference to 'now'"],
    ['has(claims.a, 1)', "1:4 undeclared reference to 'has' (write has(claims.name))"],
    [
      'startsWith(claims.sub, "x")',
      '1:11 found no matching overload for startsWith(dyn, string) (write x.startsWith(…))',
    ],
    ['"1".int() == 1', '1:8 found no matching overload for string.int() (write int(x))'],
    ['claims.sub.startsWith(1)', '1:22 found no matching overload for dyn.startsWith(int)'],
    ['"a" < 1', '1:5 found no matching overload for string < int'],
    ['-"a" == "a"', '1:1 found no matching overload for -string'],
    ['claims[1]', '1:7 found no matching overload for map(string, dyn)[int]'],
    ['claims[null]', '1:7 found no matching overload for map(string, dyn)[null_type]'],
    ['{}[null] == 1', '1:3 a list or map cannot be indexed with null, bytes or the name of a type'],
    ['[int].exists(t, t == int)', "1:17 't' stands for the name of a type, which a loop variable cannot"],
    ['--9223372036854775808 < 0', '1:3 invalid int literal: out of range'],
    [
      'true ? 1 : "a"',
      '1:6 found no matching overload for bool ? int : string (both results must have the same type)',
    ],
    ['claims.groups.size() && true', "1:19 expected type 'bool' but found 'int'"],
    ['"abc".exists(c, true)', "1:1 cannot loop over 'string' (only over a list or a map)"],
    ['"a".b', "1:4 type 'string' does not support field selection"],
    ['claims.sub == "a"\n  && "ä🐱" in clam', "2:14 undeclared reference to 'clam' (did you mean 'claims')"],
    [`claims.a == "${'ä'.repeat(5000)}"`, '1:1 expression is longer than 10000 bytes'],
    [`{${'1:1,'.repeat(2499)}}`, 'map(int, int)'],
  ]
  for (const [source, expected] of rows) t.equal(show(checkMatcher(source)), expected, JSON.stringify(source))
})

t.test('all problems in the order of the source, up to a limit', async (t) => {
  const verdict = checkMatcher('x\n|| 1 < "a" || "b".c')
  t.match(verdict, { ok: false, line: 1, column: 1 })
  t.same(verdict.ok || verdict.errors.map(({ line, column }) => [line, column]), [
    [1, 1],
    [2, 6],
    [2, 18],
  ])
  const many = checkMatcher('a || '.repeat(1000) + 'a')
  t.equal(many.ok || many.errors.length, maxProblems)
})

t.test('a constant is told apart', async (t) => {
  const rows: readonly [string, boolean | undefined][] = [
    ['true', true],
    ['(false)', false],
    ['!true', false],
    ['"true"', undefined],
    ['claims.a || true', true],
    ['claims.a && !true && claims.b', false],
    ['"claims.azp" == "a"', false],
    ['claims.azp in []', false],
    ['claims.azp == "a" && "x" in claims.groups && "b" == claims["azp"]', false],
    ['claims.azp == "a" && claims.azp == "a"', undefined],
    ['claims.azp == "a" || claims.azp == "b"', undefined],
    ['claims.azp == "a" && claims.sub == "b"', undefined],
    ['has(claims.azp) && claims.azp == "a"', undefined],
    ['claims.azp == "a" && (claims.azp == "b" || claims.admin)', undefined],
    ['claims.a.b == "a" && claims.c.b == "b"', undefined],
    ['!(claims.azp == "a" && claims.azp == "b")', undefined],
    ['!(claims.azp in [])', undefined],
    ['!(claims.a || true)', false],
  ]
  for (const [source, constant] of rows) {
    const verdict = matcherVerdict(source, { memo: new Map(), budget: new Budget(JUDGEMENT) })
    t.equal(verdict.ok && verdict.constant, constant, source)
  }
})

t.test('deep nesting stops where cel-go stops', async (t) => {
  const nest = (open: string, middle: string, close: string) => (n: number) =>
    open.repeat(n) + middle + close.repeat(n)
  const chain =
    (head: string, part: string, tail = '') =>
    (n: number) =>
      head + part.repeat(n) + tail
  const rows: readonly [string, (n: number) => string, number][] = [
    ['parentheses', nest('(', 'true', ')'), 249],
    ['+', chain('1', '+1', '==1'), 249],
    ['*', chain('1', '*1', '==1'), 249],
    ['==', chain('true', '==true'), 250],
    ['<', chain('true', '<true'), 250],
    ['select', chain('claims', '.a'), 250],
    ['index', chain('claims.a', '[0]'), 249],
    ['calls', nest('dyn(', 'true', ')'), 249],
    ['map()', chain('claims.a', '.map(x,x)', '==[]'), 248],
    ['conditionals', chain('', 'true?true:', 'true'), 249],
    ['conditionals in the middle', nest('true?(', 'true', '):true'), 249],
    ['|| in parentheses', nest('true||(', 'true', ')'), 249],
    ['!', nest('!(', 'true', ')'), 249],
    ['all()', nest('[1].all(v,', 'true', ')'), 249],
    ['nested index', nest('claims[', '"a"', ']'), 249],
    ['size()', chain('claims.a', '.size()', '==1'), 248],
    ['lists and indexes', (n) => `${nest('[', '1', '][0]')(n)}==1`, 249],
    ['maps and indexes', (n) => `${nest('{1:', '1', '}[1]')(n)}==1`, 249],
    ['has()', (n) => `has(claims${'.a'.repeat(n)})`, 250],
    ['+ in parentheses', (n) => `${nest('1+(', '1', ')')(n)}==1`, 124],
    ['* after + in parentheses', (n) => `${nest('1+1*(', '1', ')')(n)}==1`, 83],
    ['== in parentheses', nest('true==(', 'true', ')'), 124],
  ]
  const tooDeep = (source: string) => show(checkMatcher(source)).includes('nested more than')
  for (const [name, shape, deepest] of rows) {
    t.same([tooDeep(shape(deepest)), tooDeep(shape(deepest + 1))], [false, true], name)
  }
})

t.test('a matcher that compiles in one version of cel-go only', async (t) => {
  const rows: readonly [string, CelGoVersion | undefined, string][] = [
    [
      'claims.groups.exists(g, size(g) > 2.0)',
      '0.33',
      '1:33 found no matching overload for int > double (convert one, as in double(x))',
    ],
    ['claims.groups.exists(g, size(g) > 2)', undefined, ''],
    ['claims.groups.exists(g, g.level > 2.0)', undefined, ''],
    [
      '[1].exists(x, true) && 1 < 2.0',
      '0.33',
      '1:26 found no matching overload for int < double (convert one, as in double(x))',
    ],
    ['type([]) == int', '0.33', '1:10 found no matching overload for type(list(dyn)) == type(int)'],
    ['type(claims.groups) == list', undefined, ''],
    ['[type(1), type([])][0] == 1', '0.32', '1:24 found no matching overload for type(int) == int'],
    [
      '[1].exists(int, type(int) == .int)',
      '0.32',
      '1:31 a loop variable hides the type int, give it another name',
    ],
  ]
  for (const [source, version, message] of rows) {
    const verdict = checkMatcher(source)
    const refusedBy = verdict.ok ? verdict.refusedBy : undefined
    t.equal(verdict.ok && verdict.type, 'bool', source)
    t.equal(refusedBy?.version, version, source)
    if (refusedBy) t.equal(`${refusedBy.line}:${refusedBy.column} ${refusedBy.message}`, message, source)
  }
})

t.test('types that cel-go takes long to write out are refused', async (t) => {
  const many = (open: string, middle: string, close: string) => (n: number) =>
    `${open.repeat(n)}${middle}${close.repeat(n)}`
  const rows: readonly [string, (n: number) => string, number][] = [
    ['a map of twice the last', (n) => `[1]${'.map(x,{x:x})'.repeat(n)}`, 8],
    ['the same over nothing', (n) => `[]${'.map(x,{x:x})'.repeat(n)}`, 8],
    ['nested map()', many('[1].map(x,', '1', ')'), 55],
    ['nested maps', many('{1:', '1', '}'), 98],
    ['nested map keys', many('{', '1', ':1}'), 98],
    ['nested lists', many('[', '1', ']'), 139],
    [
      'a variable that stands for a large type',
      (n) => `[[]].map(x, x == ${many('[', '1', ']')(20)} || ${Array(n).fill('x == x').join(' || ')})`,
      220,
    ],
  ]
  const tooLarge = (source: string) => show(checkMatcher(source)).includes('too large')
  for (const [name, shape, largest] of rows) {
    t.same([tooLarge(shape(largest)), tooLarge(shape(largest + 1))], [false, true], name)
  }
  t.equal(show(checkMatcher(attacks.longOr ?? '')), 'bool', 'a long source of common parts')
})

t.test('a tree has at most 20,000 nodes, after the expansion of macros', async (t) => {
  const list = (items: number, last = '1') => `[${'1,'.repeat(items - 1)}${last}]`
  const map = (entries: number) => `{${Array(entries).fill('1:1').join()}}`
  const macro = '[1].all(x,true)'
  const rows: [title: string, fits: string, over: string][] = [
    ['a list and its items', list(19_999), list(20_000)],
    ['a map, its entries, keys and values', `[${map(6_666)}]`, `[${map(6_666)},1]`],
    ['the 11 of all()', list(19_989, macro), list(19_990, macro)],
  ]
  for (const [title, fits, over] of rows) {
    t.equal(parse(fits).ok, true, title)
    const rejected = parse(over)
    t.equal(rejected.ok || rejected.message, 'expression has too many parts', `${title}, and one more`)
  }
})

/** Expressions of up to 100 KB that make naive parsers and checkers slow, or overflow their stack. */
const attacks: Readonly<Record<string, string>> = {
  longString: `claims.sub == "${'x'.repeat(100_000)}"`,
  longOr: Array.from({ length: 420 }, (_, i) => `claims.sub == "u${i}"`).join(' || '),
  openParens: '('.repeat(9000),
  parens: '('.repeat(4000) + 'true' + ')'.repeat(4000),
  lists: '['.repeat(4000) + '1' + ']'.repeat(4000),
  maps: '{"a":'.repeat(1000) + '1' + '}'.repeat(1000),
  conditionals: 'true?'.repeat(1000) + 'true' + ':true'.repeat(1000),
  and: Array(1600).fill('true').join('&&'),
  plus: Array(2000).fill('1').join('+'),
  not: '!'.repeat(9990) + 'true',
  minus: '-'.repeat(9990) + 'claims.a',
  select: 'claims' + '.a'.repeat(4900),
  index: 'claims.a' + '[0]'.repeat(3000),
  calls: 'dyn('.repeat(1600) + 'true' + ')'.repeat(1600),
  macros: 'claims.groups' + '.map(x,x)'.repeat(300),
  nestedMacros: '[1].all(v, '.repeat(240) + 'true' + ')'.repeat(240),
  emptyMaps: `[${'{},'.repeat(3300)}{}]`,
  quotes: '"'.repeat(9999),
  operators: '&&||=='.repeat(1600),
  backslashes: `"${'\\\\'.repeat(4900)}" == claims.sub`,
  unterminated: `claims.sub == "${'x'.repeat(9900)}`,
  prototype: 'has(claims.__proto__) || claims.constructor == claims["toString"] || __proto__',
  constructorCall: 'constructor(1) == toString() || claims.hasOwnProperty("a")',
  noise: 'claims.sub == "a" \u0000 && 😀',
  // The types of the following expressions have shared parts; written out they have 2^100 leaves.
  sharedTypes: `[1]${'.map(a,{a:a})'.repeat(100)} == [1]`,
  comparedTypes: `[dyn(1)]${'.map(a,{a:a})'.repeat(100)} == [1]${'.map(a,{a:a})'.repeat(100)}`,
  openTypes: `[[]]${'.map(a,{a:a})'.repeat(100)} == [[]]${'.map(a,{a:a})'.repeat(100)}`,
  shownTypes: `1 + [1]${'.map(a,{a:a})'.repeat(100)}`,
}

t.test('hostile sources get a verdict', async (t) => {
  for (const [name, source] of Object.entries(attacks)) {
    const verdict = checkMatcher(source)
    t.equal(typeof verdict.ok, 'boolean', name)
    t.ok(verdict.ok || verdict.message.length < 1000, `${name}: the message is short`)
  }
  t.match(show(checkMatcher(attacks.longString ?? '')), `longer than ${maxBytes} bytes`)
  t.equal(show(checkMatcher(attacks.and ?? '')), 'bool')
})

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(...'aclims.[](){}"\'\\`?:,+-*/%!<>=&|0179xur \n\ud83d'), maxLength: 60 }),
)

const mutatedGolden = fc
  .tuple(fc.constantFrom(...golden), fc.constantFrom(...golden), fc.nat(), fc.nat(6), anyText)
  .map(([{ expr }, other, place, removed, inserted]) => {
    const at = place % (expr.length + 1)
    const middle = place % 2 === 0 ? inserted : other.expr
    return expr.slice(0, at) + middle + expr.slice(at + removed)
  })

t.test('any text has one verdict, with a position inside the text', async (t) => {
  const property = fc.property(fc.oneof(anyText, mutatedGolden), (source) => {
    const verdict = checkMatcher(source)
    const outside = outsideStringLiterals(source)
    const line = verdict.ok ? '' : (source.split('\n')[verdict.line - 1] ?? 'no such line')
    return (
      isDeepStrictEqual(verdict, checkMatcher(source)) &&
      (verdict.ok || (verdict.column >= 1 && verdict.column <= [...line].length + 1)) &&
      outside.length === source.length &&
      [...outside].every((character) => character === ' ' || source.includes(character))
    )
  })
  fc.assert(property, { numRuns: 2000, seed: 1 })
  t.pass()
})

t.test('the text outside string literals', async (t) => {
  const rows: readonly [string, string][] = [
    ['', ''],
    ['claims.sub == "${A}" && ${B}', 'claims.sub ==        && ${B}'],
    [`'<A>' == <B>`, '      == <B>'],
    ['"a\\"<A>" + <B>', '         + <B>'],
    ['r"\\" + <B>', '     + <B>'],
    ['bR"<A>" + BAR"<A>"', '        + BAR     '],
    ['"""a"b\n<A>""" <B>', '              <B>'],
    [`'''a''' '' <B>`, '           <B>'],
    ['"\\q<A>" <B>', '        <B>'],
    ['claims.a // it\'s <A>\n== "<B>"', "claims.a // it's <A>\n==      "],
    ['"closed" "open <A>', '         "open <A>'],
    ['"line\nbreak" <A>', '"line\nbreak" <A>'],
    ['$ # ; “<A>” "x"', '$ # ; “<A>”    '],
    ['"ends in a backslash\\', '"ends in a backslash\\'],
  ]
  for (const [source, expected] of rows) {
    t.equal(outsideStringLiterals(source), expected, JSON.stringify(source))
  }
})
