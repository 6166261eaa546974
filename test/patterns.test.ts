import { RE2JS } from '@bufbuild/re2'
import fc from 'fast-check'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { checkSync } from 'recheck'
import t from 'tap'
import { TextDocument } from 'vscode-languageserver-textdocument'
import { parseDouble } from '../src/cel/evaluate/doubles.ts'
import { quoteTemplates } from '../src/cli/input/fill.ts'
import { excluding } from '../src/cli/input/files.ts'
import { ignoreComments } from '../src/cli/input/ignore-comments.ts'
import { rangeAt } from '../src/cli/lsp/lines.ts'
import { compilePattern, PATTERNS } from '../src/kinds/patterns.ts'
import { FORMATS } from '../src/shape/formats.ts'
import { ignoreOf } from '../src/engine/ignored.ts'
import { placeholderFinder } from '../src/documents/own-placeholders.ts'
import { isInsideCluster, isPrivateAddress } from '../src/rule/address.ts'
import { fitsGlob } from '../src/rule/glob.ts'
import { stepsIn } from '../src/rule/path.ts'

/**
 * Verdicts recorded from Go by test/golden/record-patterns, which has the patterns as the specification writes them.
 */
interface Golden {
  readonly go: string
  readonly patterns: Readonly<
    Record<string, { readonly text: string; readonly rows: readonly (readonly [string, boolean])[] }>
  >
}
const golden = JSON.parse(readFileSync(new URL('golden/patterns.json', import.meta.url), 'utf8')) as Golden

/** A long text, in which `unit` is repeated between `prefix` and `suffix`, and whether the pattern matches it. */
type Shape = readonly [prefix: string, unit: string, suffix: string, matches: boolean]

interface Case {
  readonly name: keyof typeof PATTERNS
  /** The name of the pattern in the specification. */
  readonly specified: string
  /** Parts for random texts that almost match the pattern. */
  readonly parts: readonly string[]
  readonly shapes: readonly Shape[]
}

const ROLE = 'arn:aws:iam::123456789012:role/'
const CASES: readonly Case[] = [
  {
    name: 'arn',
    specified: 'P-arn',
    parts: [
      'arn:',
      'aws',
      '-cn',
      '-us-gov',
      ':iam::',
      '123456789012',
      '0',
      ':role/',
      'a',
      'Z',
      '_',
      '+=,.@-/',
      ROLE,
    ],
    shapes: [
      [ROLE, 'a', '', true],
      [ROLE, 'a', ':', false],
      [ROLE, '/', '', true],
      [ROLE, 'a/', '\n', false],
      [ROLE, 'a-', ' ', false],
      [ROLE, '+=,.@-_/', '', true],
      [ROLE, '+=,.@-_/', '*', false],
      ['arn:aws:iam::', '1', ':role/a', false],
      ['', 'arn:', '', false],
      ['', ROLE, ':', false],
      ['arn:aws', '-cn', ':iam::123456789012:role/a', false],
    ],
  },
  {
    name: 'region',
    specified: 'P-region',
    parts: ['eu', 'us', 'a', '-', '-central', '-gov', '-1', '1', '42', 'eu-central-1'],
    shapes: [
      ['eu', '-a', '-1', true],
      ['eu', '-a', '', false],
      ['eu', '-a', '-', false],
      ['eu', '-a', '-1a', false],
      ['eu-', 'a', '-1', true],
      ['eu-', 'a', '1', false],
      ['eu-a-', '1', '', true],
      ['eu-a-', '1', 'a', false],
      ['eu-a', '-1', '', false],
      ['eu', '-', '-1', false],
      ['eu', '-central-', '1', false],
      ['', 'a', '-a-1', false],
      ['', 'eu-central-1', '', false],
    ],
  },
  {
    name: 'issuer',
    specified: 'P-issuer',
    parts: ['http', 's', '://', 'https://', '/', 'a', '.example.com', ':8443', '?', '#', '[::1]', '%20', ' '],
    shapes: [
      ['https://', 'a', '', true],
      ['https://', 'a', '/', false],
      ['https://', 'a', '?', false],
      ['https://', 'a', '\n', false],
      ['https://', 'a/', '', false],
      ['https://', 'a/', 'a', true],
      ['https://', '/', '', false],
      ['https://', '/', 'a', true],
      ['https://', '.', '', true],
      ['https://', '\u{1f600}', '', true],
      ['https://', '\u{1f600}', '#', false],
      ['https://', '\u00a0', '', true],
      ['', 'https://', '', false],
      ['', 'http', '://a', false],
    ],
  },
  {
    name: 'duration',
    specified: 'P-duration',
    parts: [
      '1',
      '30',
      '0',
      '.5',
      '.',
      'h',
      'm',
      's',
      'ms',
      'us',
      'µs',
      'ns',
      '1h',
      '1.5s',
      '-',
      'd',
      '\u03bcs',
    ],
    shapes: [
      ['', '1h', '', true],
      ['', '1h', '1', false],
      ['', '1ms', '', true],
      ['', '1ms', '1', false],
      ['', '1m1s', 'm', false],
      ['', '1.5µs', '', true],
      ['', '1.5µs', '.5s', false],
      ['', '1', 'h', true],
      ['', '1', 'd', false],
      ['', '1', '', false],
      ['1.', '1', 'h', true],
      ['1.', '1', '.1h', false],
      ['', '1.', '1h', false],
      ['', '.', '1h', false],
      ['1', 'h', '', false],
      ['1', 'm', 's', false],
    ],
  },
  {
    name: 'dnsLabel',
    specified: 'P-dnslabel',
    parts: ['a', 'z', '0', '9', '-', '--', 'okta', '.', '_'],
    shapes: [
      ['', 'a', '', true],
      ['', 'a', '-', false],
      ['', 'a', 'A', false],
      ['', 'a', '\n', false],
      ['', 'a-', 'a', true],
      ['', 'a-', '', false],
      ['a', '-', 'a', true],
      ['a', '-', '', false],
      ['', '-', 'a', false],
      ['', '0', '', true],
      ['', '0', '.', false],
    ],
  },
  {
    name: 'url',
    specified: 'P-url',
    parts: ['http', 's', '://', 'https://', '/', 'a', '.example.com', ':8443', '?', '#', ' '],
    shapes: [
      ['https://', 'a', '', true],
      ['http://', 'a', '', true],
      ['https://', 'a', '\n', false],
      ['http://', 'a', '\na', false],
      ['https://', '\n', '', false],
      ['https://', '\u2028', '', true],
      ['https://', '\u{1f600}', '', true],
      ['https://', '.', '', true],
      ['https://', '/', '', true],
      ['', 'https://', '', true],
      ['', 'http', '://', false],
      ['http', 's', '://', false],
    ],
  },
  {
    name: 'https',
    specified: 'P-https',
    parts: ['http', 's', '://', 'https://', '/', 'a', '.example.com', ':8443', '?', '#', ' '],
    shapes: [
      ['https://', 'a', '', true],
      ['http://', 'a', '', false],
      ['https://', 'a', '\n', false],
      ['https://', 'a', '\na', false],
      ['https://', '\n', '', false],
      ['https://', '\r', '', true],
      ['https://', '\u{1f600}', '', true],
      ['https://', '-', '', true],
      ['', 'https://', '', true],
      ['', 'http', '://', false],
      ['http', 's', '://', false],
    ],
  },
  {
    name: 'subjectTokenType',
    specified: 'P-subjecttype',
    parts: [
      'access',
      'id',
      '_token',
      'jwt',
      'urn:',
      'urn:ietf:params:oauth:token-type:',
      'oauth',
      ':',
      'refresh',
    ],
    shapes: [
      ['', 'jwt', '', false],
      ['jwt', '\n', '', false],
      ['', 'access_token', '', false],
      ['', 'urn:', '', false],
      ['', 'urn:ietf:params:oauth:token-type:', 'jwt', false],
      ['urn:ietf:params:oauth:token-type:', 'jwt', '', false],
      ['id_token', ' ', '', false],
    ],
  },
  {
    name: 'reason',
    specified: 'P-reason',
    parts: ['A', 'z', '0', '_', ',', ':', 'Valid', '-'],
    shapes: [
      ['', 'A', '', true],
      ['', 'A', ',', false],
      ['', 'A', '-', false],
      ['', 'A', '\n', false],
      ['', 'A,', '', false],
      ['', 'A,', 'A', true],
      ['A', ':', '', false],
      ['A', ':', '_', true],
      ['A', '1', '', true],
      ['A', '1', ' ', false],
      ['', '_', '', false],
      ['', ',', 'A', false],
    ],
  },
  {
    name: 'conditionType',
    specified: 'P-condtype',
    parts: ['a', 'z', '0', '-', '.', '/', '_', 'A', 'Ready', 'a.b', 'x/'],
    shapes: [
      ['', 'A', '', true],
      ['', 'A', '-', false],
      ['', 'a', '/a', true],
      ['', 'a', '/', false],
      ['', 'a', '_/a', false],
      ['', 'a.', 'a/A', true],
      ['', 'a.', 'a/', false],
      ['', 'a.', '/a', false],
      ['', 'a.', 'A/a', false],
      ['', 'a.', 'a', true],
      ['', 'a-', 'a/A', true],
      ['', 'a-', '/A', false],
      ['', 'a-b.', 'a/A', true],
      ['a', '-', '/a', false],
      ['a', '.', '/a', false],
      ['a', '.', 'a', true],
      ['a', '.', '', false],
      ['a', '/', 'a', false],
      ['', '/', 'a', false],
      ['', 'a/', 'a', false],
      ['a/', 'A', '', true],
      ['a/', 'A', '.', false],
      ['a/', 'A-', 'A', true],
      ['a/', 'A_', '', false],
      ['', '1', '', true],
      ['', '1', '\n', false],
    ],
  },
]

/** Characters that regular expression engines treat differently; the last four are unpaired surrogates. */
const STRANGE = [
  ...[
    '\n',
    '\r',
    '\t',
    '\v',
    '\f',
    ' ',
    '\0',
    '\u0085',
    '\u00a0',
    '\u1680',
    '\u2028',
    '\u2029',
    '\u202f',
    '\u3000',
  ],
  ...[
    '\ufeff',
    '\ufffd',
    '\u017f',
    '\u212a',
    '\u00b5',
    '\u03bc',
    '\u0661',
    '\uff41',
    '\u{1f600}',
    '\u{10ffff}',
  ],
  ...['\ud800', '\udbff', '\udc00', '\udfff'],
]

const specificationOf = ({ specified }: Case) => golden.patterns[specified] ?? { text: '', rows: [] }

/**
 * The verdicts of both engines that use the pattern: the product's own, and JavaScript's, for readers of
 * schemas/*.json.
 */
const verdicts = ({ name }: Case, text: string) => ({
  compiled: compilePattern(PATTERNS[name].ecmaScript).test(text),
  regExp: new RegExp(PATTERNS[name].ecmaScript, 'u').test(text),
})
const both = (matches: boolean) => ({ compiled: matches, regExp: matches })

t.test('every pattern is here, as the specification writes it', async (t) => {
  t.strictSame(CASES.map(({ name }) => name).toSorted(), Object.keys(PATTERNS).toSorted())
  t.strictSame(
    CASES.map(({ specified }) => specified),
    Object.keys(golden.patterns),
  )
  for (const each of CASES) t.equal(PATTERNS[each.name].specification, specificationOf(each).text, each.name)
})

t.test(`verdicts recorded from ${golden.go}`, async (t) => {
  for (const each of CASES) {
    const { rows } = specificationOf(each)
    t.ok(rows.length >= 60 && rows.some(([, matches]) => matches), `${each.name}: ${rows.length} texts`)
    const differing = rows.filter(([text, matches]) => {
      const { compiled, regExp } = verdicts(each, text)
      return compiled !== matches || regExp !== matches
    })
    t.strictSame(differing, [], each.name)
  }
})

/** Random texts made of the pattern's parts, and matching texts with a few edits. */
function texts(each: Case): fc.Arbitrary<string> {
  const part = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...each.parts) },
    { weight: 1, arbitrary: fc.constantFrom(...STRANGE) },
  )
  const taken = specificationOf(each).rows.flatMap(([text, matches]) => (matches ? [text] : []))
  const stroke = fc.tuple(fc.nat(), fc.nat(2), part)
  const edited = fc
    .tuple(fc.constantFrom(...taken), fc.array(stroke, { maxLength: 3 }))
    .map(([text, strokes]) => strokes.reduce(edit, text))
  const built = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
  const any = fc.string({ unit: 'binary', maxLength: 20 })
  return fc.oneof(
    edited,
    built,
    edited.map((text) => text.toUpperCase()),
    any,
  )
}

/** Inserts a part into the text in place of up to two characters. */
function edit(text: string, [place, over, part]: readonly [number, number, string]): string {
  const at = place % (text.length + 1)
  return text.slice(0, at) + part + text.slice(at + over)
}

t.test('verdicts of an RE2 port on the text of the specification', async (t) => {
  for (const each of CASES) {
    const re2 = new RE2JS(specificationOf(each).text)
    const counts = { taken: 0, refused: 0 }
    fc.assert(
      fc.property(texts(each), (text) => {
        // Go reads an unpaired surrogate in JSON as U+FFFD.
        const expected = re2.test(text.toWellFormed())
        counts[expected ? 'taken' : 'refused'] += 1
        const { compiled, regExp } = verdicts(each, text)
        return compiled === expected && regExp === expected
      }),
      { numRuns: 3_000 },
    )
    t.ok(counts.taken > 100 && counts.refused > 100, `${each.name}: ${JSON.stringify(counts)}`)
  }
})

const long = ([prefix, unit, suffix]: Shape, length: number) =>
  prefix + unit.repeat(Math.ceil(length / unit.length)) + suffix
/** The text in ASCII: tap loses the rest of an assertion's name after a line separator. */
const ascii = (text: string) =>
  JSON.stringify(text).replaceAll(/[^ -~]/gu, (each) => encodeURIComponent(each))
const label = ({ name }: Case, [prefix, unit, suffix]: Shape) =>
  `${name} ${ascii(prefix)} ${ascii(unit)}... ${ascii(suffix)}`

t.test('the shapes are judged right while they are short', async (t) => {
  for (const each of CASES) {
    const re2 = new RE2JS(specificationOf(each).text)
    for (const shape of each.shapes) {
      for (const length of [80, 81, 500]) {
        const text = long(shape, length)
        t.equal(re2.test(text), shape[3], `RE2: ${label(each, shape)}`)
        t.strictSame(verdicts(each, text), both(shape[3]), label(each, shape))
      }
    }
  }
})

// Millions of characters on a slow machine; a pattern that is not linear would take hours.
t.setTimeout(180_000)

// No time is measured: a pattern that is not linear would need hours for a million characters, and a recursive one
// would throw RangeError.
t.test('a long text is judged right, in linear time and without a RangeError', async (t) => {
  for (const each of CASES) {
    for (const shape of each.shapes) {
      const wrong = [1e6, 2e6, 4e6].filter(
        (length) => compilePattern(PATTERNS[each.name].ecmaScript).test(long(shape, length)) !== shape[3],
      )
      t.strictSame(wrong, [], label(each, shape))
    }
  }
})

const TIME = '2026-01-31T12:00:00'
const DATE_TIMES: readonly Shape[] = [
  ['', 'T', '', false],
  ['', 'T', 'Z', false],
  ['', 'aT', '+00:00', false],
  [`${TIME}.`, '1', 'Z', true],
  [`${TIME}.`, '1', '-08:30', true],
  [`${TIME}.`, '1', '', false],
  [TIME, '.1', 'Z', false],
  ['', '2', `${TIME}Z`, false],
]

t.test('so is a long date and time', async (t) => {
  for (const shape of DATE_TIMES) {
    const wrong = [30, 1e6, 4e6].filter(
      (length) => FORMATS['date-time'].validate(long(shape, length)) !== shape[3],
    )
    t.strictSame(wrong, [], shape.slice(0, 3).join(' '))
  }
})

t.test('no pattern of a field backtracks', async (t) => {
  for (const { name, ecmaScript } of Object.values(PATTERNS)) {
    const { status, checker } = checkSync(ecmaScript, 'u', { checker: 'automaton', timeout: 60_000 })
    t.strictSame([status, checker], ['safe', 'automaton'], name)
  }
})

t.test('texts of a megabyte are read in linear time', async (t) => {
  const program = fileURLToPath(new URL('support/long-texts.ts', import.meta.url))
  const { stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 60_000 })
  const expected = [
    'a host of letters: [false,false,"public"]',
    'a host of parts: [false,false]',
    'a scheme that does not end: ""',
    'an annotation of blanks: 1',
    'a comment of blanks: [0,0]',
    'a comment of many ids: 101',
    'many comments: 31250',
    'a policy of escapes: "refused"',
    'a policy of comments: ["refused","empty","empty"]',
    'a policy of brackets: "unread"',
    'doubles of zeros: [null,null,0]',
    'a duration of many terms: "0"',
    'a regular expression of brackets: "undefined"',
    'globs of a configuration: false',
    'globs of flags: [false,false]',
    'excluded files: false',
    'placeholders of a configuration: [null,null,5]',
    'templates in a line: 1000000',
    'the value of a line: 1',
    'an edit before blanks: 1000006',
    'a path of brackets: true',
    'a selector of commas: true',
    'begun certificates: 0',
    'zeros before another digit: 1000001',
    '',
  ]
  t.strictSame(stdout.split('\n'), expected, stderr)
})

/**
 * Functions that replaced backtracking patterns, each with that pattern (`before`): both must give the same results.
 */
const REWRITTEN: Readonly<
  Record<
    string,
    readonly [parts: readonly string[], now: (text: string) => unknown, before: (text: string) => unknown]
  >
> = {
  'a name of a Service': [
    ['a', '1', '-', '.', '.svc', '.cluster.local', 'localhost', 'LOCALHOST', 'K'],
    isInsideCluster,
    (text) =>
      /^(?!localhost$)[a-z0-9-]*[a-z][a-z0-9-]*$|\.svc(?:\.cluster\.local)?$|\.cluster\.local$/i.test(text) ||
      isPrivateAddress(text),
  ],
  'a glob': [
    ['a', 'b', '*', '?', '.'],
    (text) => globsIn(text).map(([pattern, name]) => fitsGlob(pattern, name)),
    (text) => globsIn(text).map(([pattern, name]) => regExpOf(pattern, { '*': '[^]*' }).test(name)),
  ],
  'a glob with ?': [
    ['a', 'b', '*', '?', '\u{1f600}'],
    (text) => globsIn(text).map(([pattern, name]) => fitsGlob(pattern, name, '?')),
    (text) =>
      globsIn(text).map(([pattern, name]) => regExpOf(pattern, { '*': '[^]*', '?': '[^]' }).test(name)),
  ],
  'what --exclude leaves out': [
    ['a', 'b', '/', '*', '/**/', '?', '.'],
    (text) => pathsIn(text).map(([pattern, path]) => excluding([pattern])(path)),
    (text) => pathsIn(text).map(([pattern, path]) => excludedBefore(pattern).test(posix.normalize(path))),
  ],
  'a placeholder of the settings': [
    ['a', 'b', '@', '@@', '-', ' '],
    (text) => OWN.map((placeholders) => placeholderFinder(placeholders)?.(text)),
    (text) =>
      OWN.map(
        (placeholders) =>
          new RegExp(
            placeholders.map((each) => regExpOf(each, { '*': '[\\w.-]+' }).source.slice(1, -1)).join('|'),
          ).exec(text)?.[0],
      ),
  ],
  'a line of the annotation': [
    ['rule-x', 'y', ':', ' ', '\t', '!', '\u2028', '\r', '\u00a0'],
    (text) => ignoreOf(text.trim()),
    (text) => {
      const [, id = '', reason = ''] = /^\s*([\w-]{0,80})\s*:?\s*(.*?)\s*$/.exec(text) ?? []
      return { id, reason }
    },
  ],
  'a comment that ignores': [
    ['# vmcp-admission: ignore', '#', ' ', '[', ']', 'a', ',', 'x: y', '\n', '<why>', '---', '\u2028'],
    (text) => (isAlone(text) ? ignoreComments(text) : []),
    (text) => (isAlone(text) ? ignoreCommentsBefore(text) : []),
  ],
  'a template that is a value': [
    ['k:', ' ', '- ', '{{', '}}', 'a', "'", '#', '\t', '\r\n', '\n', '.'],
    quoteTemplates,
    (text) =>
      text.replace(
        /^([ \t]*(?:- +)*(?:[\w./-]+:[ \t]+|- +))(\{\{[^{}\n]*\}\}(?:[^#\n]*[^\s#])?)(?=[ \t]*(?:[ \t]#.*)?\r?$)/gm,
        (_, key: string, value: string) => `${key}'${value.replaceAll("'", "''")}'`,
      ),
  ],
  'a key or a scalar in a line': [
    ['"', "'", '\\', 'a', ':', ' ', '#', ',', ']', '}', '{'],
    (text) => rangeAt(TextDocument.create('a', 'yaml', 1, text), { line: 1, column: 1 }).end.character,
    (text) => {
      const key = /^(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^\s:#,[\]{}"'][^\s:#]*)(?=\s*:(?:\s|$))/
      const value = /^(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^#]*?)(?=\s+#|\s*$|\s*[,\]}])/
      return Math.max((key.exec(text) ?? value.exec(text))?.[0].length ?? 0, 1)
    },
  ],
  'a written path': [['a', '.', '[', ']', 'b'], stepsIn, (text) => text.match(/\[[^\]]*\]|[^.[\]]+/g) ?? []],
  'a double': [
    ['0', '1', '.', 'e', 'p', '0x', '-', '+', '_', 'a', 'inf'],
    (text) => parseDouble(text) === undefined,
    (text) => {
      if (/^nan$|^[+-]?inf(?:inity)?$/i.test(text)) return false
      const isDecimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text.replace(/(?<=\d)_(?=\d)/g, ''))
      const [whole, , digits = '', fraction = ''] =
        /^([+-]?)0x([\da-f]*)\.?([\da-f]*)p([+-]?\d+)$/i.exec(
          text.replace(/(?<=[\da-fx])_(?=[\da-f])/gi, ''),
        ) ?? []
      return !isDecimal && (whole === undefined || digits + fraction === '')
    },
  ],
}

const OWN = [['@@*@@'], ['a*a*b'], ['@*', 'a*@'], ['*@*'], ['a', 'ab*']]

/** Pairs of a pattern and a name, made from the halves of a text. */
const globsIn = (text: string): (readonly [string, string])[] => {
  const half = Math.floor(text.length / 2)
  const [first, second] = [text.slice(0, half).toWellFormed(), text.slice(half).toWellFormed()]
  return [
    [first, second],
    [`*${first}*`, text.toWellFormed()],
    [`${first}*`, text.toWellFormed()],
  ]
}

/**
 * The pairs whose results must be equal. The old pattern let `**` inside a name match slashes, and did not let `**`
 * match the root of an absolute path.
 */
const pathsIn = (text: string): (readonly [string, string])[] =>
  globsIn(text).filter(
    ([pattern, path]) =>
      !path.startsWith('/') &&
      posix
        .normalize(pattern)
        .split('/')
        .every((name) => name === '**' || !name.includes('**')),
  )

function excludedBefore(pattern: string): RegExp {
  const named = pattern.replace(/\/+$/, '')
  const signs: Readonly<Record<string, string>> = {
    '**/': '(?:[^/]+/)*',
    '**': '.*',
    '*': '[^/]*',
    '?': '[^/]',
  }
  const text = posix
    .normalize(named)
    .replaceAll(/\*\*\/?|[*?]|[\\^$.+()[\]{}|]/g, (part) => signs[part] ?? `\\${part}`)
  return new RegExp(`^(?:${named.includes('/') ? text : `(?:.*/)?${text}`})(?:/|$)`)
}

const regExpOf = (pattern: string, signs: Readonly<Record<string, string>>): RegExp =>
  new RegExp(
    `^${Array.from(pattern, (each) => signs[each] ?? each.replace(/[\\^$.*+?()[\]{}|]/, '\\$&')).join('')}$`,
    'u',
  )

/** Whether no line has two comments: the old pattern read a second one only after certain line breaks. */
const isAlone = (text: string): boolean =>
  text.split('\n').every((line) => (line.match(/vmcp-admission/g) ?? []).length < 2)

function ignoreCommentsBefore(text: string): unknown[] {
  if (!text.includes('vmcp-admission:')) return []
  const lines = text.split('\n')
  const isEmpty = (line: string) => /^\s*(#.*)?$/.test(line)
  const first = lines.findIndex((line) => !isEmpty(line) && !/^(---|%)/.test(line))
  return lines.flatMap((content, i) => {
    const [, before, ids = '', reason = ''] =
      /^(.*?)#\s*vmcp-admission:\s*ignore\b\s*(?:\[([^\]]*)\])?\s*(.*)$/.exec(content) ?? []
    if (before === undefined) return []
    const next = lines.findIndex((line, at) => at > i && at >= first && !isEmpty(line))
    const target = (before.trim() === '' ? next : i) + 1
    const place = {
      line: i + 1,
      column: before.length + 1,
      target,
      reason: reason.trim().replace('<why>', ''),
    }
    return ids.split(',').map((id) => ({ ...place, id: id.trim() }))
  })
}

t.test('what is no such pattern any more reads as it did', async (t) => {
  for (const [title, [parts, now, before]] of Object.entries(REWRITTEN)) {
    const texts = fc.array(fc.constantFrom(...parts), { maxLength: 12 }).map((each) => each.join(''))
    fc.assert(
      fc.property(texts, (text) => isDeepStrictEqual(now(text), before(text))),
      { numRuns: 5_000 },
    )
    t.pass(title)
  }
})
