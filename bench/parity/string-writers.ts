import type { Random } from './random.ts'

type Writer = (random: Random) => () => string

/** Characters that programs see differently, and halves of surrogate pairs. */
const STRANGE = [
  ...['\n', '\r', '\t', '\v', '\f', ' ', '\0', '\u001c', '\u007f', '\u0085', '\u00a0', '\u1680', '\u2003'],
  ...['\u200b', '\u2028', '\u2029', '\u3000', '\ufeff', '\ufffd', '\u0301', '\u{1f600}', '\u212a', '\u017f'],
  ...[
    '\u0661',
    '\uff11',
    'µ',
    'μ',
    'é',
    '"',
    '\\',
    "'",
    '%',
    '/',
    ':',
    '.',
    '-',
    '_',
    '@',
    '#',
    '?',
    '[',
    ']',
  ],
] as unknown as readonly [string, ...string[]]

/** A text with up to three pieces put into it, each over up to two characters. */
function edited({ random, below, pick }: Random, text: string, pieces: readonly string[]): string {
  let result = text
  for (let left = below(4); left > 0; left--) {
    const at = below(result.length + 1)
    const piece = random() < 0.5 ? pick(STRANGE) : (pieces[below(pieces.length)] ?? '')
    result = result.slice(0, at) + piece + result.slice(at + below(3))
  }
  return result
}

/** Texts, some of them joined, most with a few strokes changed. */
export function textWriter(of: Random, texts: readonly string[]): () => string {
  const { random, below } = of
  const text = () => texts[below(texts.length)] ?? ''
  const pieces = texts.map((each) => each.slice(0, 3))
  return () => edited(of, random() < 0.1 ? text() + text() : text(), pieces)
}

const PARTS = [
  ...[
    'a',
    'b',
    'ab',
    '.',
    '.*',
    '.+',
    'a*',
    'a?',
    'a+',
    'a**',
    'a*?',
    '^',
    '$',
    '|',
    '(',
    ')',
    '(?:',
    '(?i)',
    '(?s)',
  ],
  ...[
    '(?m)',
    '(?U)',
    '(?-i)',
    '(?i:',
    '(?P<n>',
    '(?<n>',
    '(?P<m>',
    '(?P<',
    '(?=',
    '(?!',
    '[ab]',
    '[^a]',
    '[a-z]',
    '[z-a]',
  ],
  ...[
    '[',
    ']',
    '[[:alpha:]]',
    '[[:^alpha:]]',
    '[[:word]',
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\b',
    '\\B',
    '\\pL',
    '\\p{L}',
  ],
  ...[
    '\\p{Greek}',
    '\\p{Nope}',
    '\\PN',
    '\\p{^Lu}',
    '\\Q',
    '\\E',
    '\\A',
    '\\z',
    '\\Z',
    '\\C',
    '\\G',
    '\\x41',
    '\\x{1F600}',
  ],
  ...[
    '\\x{110000}',
    '\\x4',
    '\\8',
    '\\1',
    '\\0',
    '\\07',
    '\\.',
    '\\_',
    '\\-',
    '\\a',
    '\\n',
    '\\',
    '{',
    '{*',
    '{1',
    '{1}',
    '{1,}',
  ],
  ...[
    '{1,2}',
    '{,2}',
    '{2,1}',
    '{0}',
    '{1001}',
    '{1000}',
    '{1000}{2}',
    '}',
    '*',
    '+',
    '?',
    '-',
    ',',
    'ä',
    'K',
    'ſ',
    '😀',
    '\n',
    ' ',
  ],
  ...[
    '[a-',
    '[]a]',
    '[^]a]',
    '[a&&b]',
    '[\\d-z]',
    '[\\]]',
    '(?i)k',
    'foo',
    'foo|bar',
    '(a|b)*',
    '(a*)*',
    '^a$',
    '\\bfoo\\b',
  ],
] as unknown as readonly [string, ...string[]]
const FOUND_IN = [
  'a',
  'b',
  'ab',
  'A',
  'z',
  '1',
  '_',
  ' ',
  '\n',
  'ä',
  'k',
  'K',
  'K',
  'ſ',
  's',
  '😀',
  'foo',
  'λ',
  '{',
  '-',
  ']',
  '',
] as const

/** Patterns of parts of RE2's syntax, and texts that they may be found in. */
export function patternWriter({ pick, some, below }: Random): () => { pattern: string; text: string } {
  return () => ({
    pattern: some(1 + below(6), () => pick(PARTS)).join(''),
    text: some(6, () => pick(FOUND_IN)).join(''),
  })
}

const UNITS = ['h', 'm', 's', 'ms', 'us', 'µs', 'μs', 'ns', 'd', 'S', ''] as const
const BOUNDS = [
  ...[
    '2562047h47m16.854775807s',
    '-2562047h47m16.854775808s',
    '9223372036854775807ns',
    '9223372036854775808ns',
    '0',
    '-0',
    '+0',
  ],
  ...[
    '9223372036854775.807us',
    '153722867m16.9s',
    '2562048h',
    '0.9223372036854775808h',
    '.5s',
    '5.s',
    '.s',
    '',
    '-',
    '7d',
  ],
] as unknown as readonly [string, ...string[]]

export const durationWriter: Writer = (of) => {
  const { random, below, pick, some } = of
  const digits = (most: number) => some(most, () => String(below(10))).join('')
  const term = () =>
    `${digits(random() < 0.1 ? 21 : 5)}${random() < 0.5 ? `.${digits(random() < 0.2 ? 24 : 5)}` : ''}${pick(random() < 0.9 ? (UNITS.slice(0, 8) as unknown as typeof UNITS) : UNITS)}`
  return () => {
    const text =
      random() < 0.15 ? pick(BOUNDS) : pick(['', '', '', '-', '+']) + [term(), ...some(2, term)].join('')
    return random() < 0.3 ? edited(of, text, UNITS) : text
  }
}

const SCHEMES = [
  'http://',
  'https://',
  'HTTPS://',
  'ftp://',
  'a+b-c.1://',
  '//',
  '/',
  '',
  'mailto:',
  'https:',
  'https:/',
  ':',
  '1a://',
  'ht_tp://',
] as const
const USERS = [
  '',
  '',
  '',
  '',
  'user@',
  'user:pass@',
  '@',
  'a@b@',
  'us%20er@',
  'us%2@',
  'é-a1@',
  'a:b:c@',
] as const
const HOSTS = [
  ...[
    'auth.example.com',
    'localhost',
    'LOCALHOST',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '',
    'a_b',
    'é.example',
    'a%20b',
    'a%25b',
  ],
  ...[
    'a%C3%A9',
    'a%c3',
    '[::1]',
    '[::1',
    '::1',
    '[]',
    '[1.2.3.4]',
    '[::ffff:127.0.0.1]',
    '[::01.2.3.4]',
    '[0:0:0:0:0:0:0:1]',
    '[1::2::3]',
  ],
  ...[
    '[1:2:3:4:5:6:7::]',
    '[1:2:3:4:5:6:7:8::]',
    '[00001::]',
    '[fe80::1%25eth0]',
    '[fe80::1%25]',
    '[fe80::1%eth0]',
    '[fe80::1%25a%20b]',
  ],
  ...[
    '[fe80::1%25a%2Fb]',
    '[::g]',
    '[::]',
    '[1:2:3:4:5:6:1.2.3.4]',
    '[1:2:3:4:5:6:7:1.2.3.4]',
    'x[::1]',
    'a"<>b',
    'a]b',
    'a^b',
    'a|b',
  ],
] as unknown as readonly [string, ...string[]]
const PORTS = ['', '', '', ':80', ':', ':99999', ':8x', ':-1', ':1:2', ':080'] as const
const TAILS = [
  '',
  '',
  '/',
  '/a/b',
  '/%zz',
  '/%2F',
  '?a=b',
  '?%zz',
  '#x',
  '#%zz',
  '#%20',
  '/a:b',
  '/a//b',
  '?#',
  '/\\',
  '?@:/#',
] as const

export const urlWriter: Writer = (of) => {
  const { random, pick } = of
  return () => {
    const text = pick(SCHEMES) + pick(USERS) + pick(HOSTS) + pick(PORTS) + pick(TAILS)
    return random() < 0.4 ? edited(of, text, HOSTS) : text
  }
}

const NUMBERS = [
  ...[
    '0',
    '-0',
    '1',
    '1.5',
    '1e400',
    '1e-400',
    '4.9e-324',
    '5e-324',
    '2.4703282292062327e-324',
    '2.4703282292062328e-324',
  ],
  ...[
    '1.7976931348623157e308',
    '1.7976931348623158e308',
    '1.7976931348623159e308',
    '9007199254740993',
    '0.1',
    '1_000',
    '_1',
    '1_',
    '1__0',
  ],
  ...[
    'inf',
    '-Infinity',
    '+inf',
    '1e1e1e1',
    'NaN',
    '+nan',
    '-nan',
    '0x1p4',
    '-0X1.8P+1',
    '0x_1p-2',
    '0x1p1024',
    '0x1.fffffffffffff8p1023',
  ],
  ...[
    '0x1.fffffffffffff7p1023',
    '0x.8p0',
    '0x1.00000000000008p0',
    '0x1p-1074',
    '0x1p-1075',
    '0x1.8p-1075',
    '0x1',
    '0xp1',
    '0x1p',
    '1e',
    '1e+',
  ],
] as unknown as readonly [string, ...string[]]

export const numberWriter: Writer = (of) => {
  const { random, below, pick, some } = of
  const digits = (most: number) => some(most, () => String(below(10))).join('')
  const hex = (most: number) => some(most, () => below(16).toString(16)).join('')
  const decimal = () =>
    `${pick(['', '', '-', '+'])}${digits(25)}${random() < 0.5 ? `.${digits(25)}` : ''}${random() < 0.5 ? `e${pick(['', '-', '+'])}${digits(3)}` : ''}`
  const hexadecimal = () =>
    `${pick(['', '-', '+'])}0${pick(['x', 'X'])}${hex(16)}${random() < 0.5 ? `.${hex(16)}` : ''}p${pick(['', '-', '+'])}${digits(4)}`
  return () => {
    const text = random() < 0.15 ? pick(NUMBERS) : random() < 0.6 ? decimal() : hexadecimal()
    return random() < 0.2 ? edited(of, text, ['_', 'e', 'p', '.', 'x', '0']) : text
  }
}

/** JSON numbers as a submission has them: integers that a double holds, and fractions. */
export const jsonNumberWriter: Writer = ({ random, below, pick }) => {
  const whole = () => Math.trunc((random() - 0.5) * 2 * 10 ** below(16))
  const fraction = () => (random() - 0.5) * 10 ** (below(600) - 300)
  return () => {
    const value = random() < 0.5 ? whole() : fraction()
    if (Number.isInteger(value)) return BigInt(value).toString()
    return pick([String(value), value.toExponential()])
  }
}

export const quotedWriter: Writer = ({ random, below, pick, some }) => {
  const character = () =>
    random() < 0.3
      ? pick(STRANGE)
      : String.fromCodePoint(below(pick([0x80, 0x80, 0x100, 0x3000, 0x10000, 0x110000])))
  return () => some(12, character).join('')
}

const TIMES = [
  ...[
    '2024-01-01T00:00:00Z',
    '2024-02-29T23:59:59.999999999Z',
    '2023-02-29T00:00:00Z',
    '2024-12-31T23:59:60Z',
    '2024-01-01T24:00:00Z',
  ],
  ...[
    '2024-01-01T00:00:00+02:00',
    '2024-06-30T12:30:45.120-05:30',
    '2024-01-01T00:00:00+24:00',
    '2024-01-01T00:00:00+23:59',
  ],
  ...[
    '2024-01-01T00:00:00+00:60',
    '2024-01-01t00:00:00z',
    '2024-01-01 00:00:00Z',
    '2024-01-01T00:00:00',
    '2024-13-01T00:00:00Z',
  ],
  ...[
    '2024-00-10T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
  ],
] as unknown as readonly [string, ...string[]]

export const timeWriter: Writer = (of) => {
  const { random, below, pick } = of
  const two = (limit: number) => String(below(limit)).padStart(2, '0')
  const made = () =>
    `${String(below(10_000)).padStart(4, '0')}-${two(14)}-${two(33)}T${two(25)}:${two(61)}:${two(62)}${random() < 0.3 ? `.${two(100)}` : ''}${pick(['Z', 'Z', `+${two(25)}:${two(61)}`, `-${two(25)}:${two(61)}`])}`
  return () => {
    const text = random() < 0.3 ? pick(TIMES) : made()
    return random() < 0.2 ? edited(of, text, ['0', '1', ':', 'T', 'Z', '-', '+']) : text
  }
}
