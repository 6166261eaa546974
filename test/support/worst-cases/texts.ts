import type { Random } from './random.ts'

/** A text as a sequence of pieces, each with its number of repetitions. */
export type Text = readonly Piece[]

interface Piece {
  readonly text: string
  readonly times: number
}

/** Placeholders in a text: for the index of the list item that contains it, and of the repetition or nesting level. */
export const ITEM = '\uE000'
export const ROUND = '\uE001'

/** The values of ITEM and ROUND for which a text is rendered. */
export interface Place {
  readonly item: number
  readonly round: number
}

/** The longest rendered text, in UTF-16 code units. */
const LONGEST = 1_400_000

/** Whether the text contains placeholders, so that it differs from item to item. */
export const isNumbered = (text: string): boolean => text.includes(ITEM) || text.includes(ROUND)

const numbered = (text: string, { item, round }: Place): string =>
  isNumbered(text) ? text.replaceAll(ITEM, String(item)).replaceAll(ROUND, String(round)) : text

export function renderText(text: Text, place: Place, longest = LONGEST): string {
  let rendered = ''
  for (const piece of text) {
    const room = longest - rendered.length
    if (room <= 0) break
    if (piece.text.includes(ROUND)) {
      let part = ''
      for (let round = 0; round < piece.times && part.length < room; round++)
        part += numbered(piece.text, { ...place, round })
      rendered += part
    } else {
      const part = numbered(piece.text, place)
      rendered += part.repeat(Math.min(piece.times, Math.ceil(room / Math.max(1, part.length))))
    }
  }
  return rendered.slice(0, longest)
}

/** A text split into words, numbers, white space and punctuation. */
export const textOf = (value: string): Text =>
  (value.match(/[A-Za-z]+|\d+|\s+|[^A-Za-z\d\s]/gu) ?? []).map((text) => ({ text, times: 1 }))

/** Units that are difficult for parsers and patterns. */
export const UNITS: readonly string[] = [
  ...['a', 'Z', '0', '9', ' ', '\t', '\n', '\r', '\r\n', '\u2028', '\u00a0', '\u0000', 'é', '😀', '\ud800'],
  ...['\\', '"', "'", '`', '"\\', '\\"', '//', '/*', '*/', '#', '--'],
  ...[
    '.',
    '-',
    '_',
    '/',
    ':',
    '@',
    '%',
    '%2',
    '*',
    '$',
    '{',
    '}',
    '(',
    ')',
    '[',
    ']',
    '<',
    '>',
    '|',
    ',',
    ';',
  ],
  ...['=', '!', '&', '?', '+', '^', '~'],
  ...['a.', 'a-', '.a', '-a', '0.', '0s', '0.0h', '1', ':1', 'a:', 'a=', 'a,', 'a ', 'a/', 'a*', 'a?', 'a|'],
  ...['${a}', '<A>', '{{a}}', `a${ROUND}.`, `a${ROUND} `, `a${ROUND}\n`, `a${ROUND}: b\n`, '&&', '||', '://'],
  ...['principal.claim_a ', 'when { true }', 'permit(principal, action, resource);', 'a==a||'],
  ...['-----BEGIN CERTIFICATE-----\n', '-----END CERTIFICATE-----\n', 'AAAA'],
]

const sized = (random: Random, text: string): Piece => ({ text, times: random.size(60_000) })

/** The text with one random change. */
export function mutateText(text: Text, random: Random, units: readonly string[] = UNITS): Text {
  const at = random.below(text.length + 1)
  const piece = text[at]
  const unit = random.pick(units)
  switch (random.below(7)) {
    case 0:
    case 1:
      return text.toSpliced(at, 0, sized(random, unit))
    case 2:
      return text.toSpliced(at, 1, sized(random, unit))
    case 3:
      return text.toSpliced(at, 1)
    case 4: {
      const next = text[at + 1]
      if (piece === undefined || next === undefined) return [...text, sized(random, unit)]
      return text.toSpliced(at, 2, { text: piece.text + next.text, times: random.size(20_000) })
    }
    case 5:
      return text.toSpliced(at, 0, { text: random.chance(0.5) ? ITEM : ROUND, times: 1 })
    default:
      return piece === undefined
        ? [...text, sized(random, unit)]
        : text.toSpliced(at, 1, {
            ...piece,
            times: Math.ceil(piece.times * random.pick([0.5, 2, 4, 100, 10_000])),
          })
  }
}

/** The text with the unit inserted in its middle, repeated up to the length. */
export function stuffed(text: Text, unit: string, length: number): Text {
  const times = Math.ceil(length / unit.length)
  return text.toSpliced(Math.ceil(text.length / 2), 0, { text: unit, times })
}

/** The text with the repetitions of each piece halved. */
export const halved = (text: Text): Text =>
  text.map((piece) => ({ ...piece, times: Math.max(1, Math.floor(piece.times / 2)) }))

/** Cedar policies that can be of any size: the text before the repeated part, that part, and the text after it. */
const CEDAR: readonly (readonly [string, string, string])[] = [
  ['', `context.arg_a${ROUND} == "a" && `, 'true'],
  ['', `context has claim_a${ROUND} && `, 'true'],
  ['', `resource == Tool::"a${ROUND}" || `, 'true'],
  ['', `resource.name like "*a${ROUND}*b*" || `, 'true'],
  ['', `if context has arg_a${ROUND} then `, 'true'],
  ['[', `"a${ROUND}", `, '"b"].contains(resource.name)'],
  ['principal in [', `THVGroup::"a${ROUND}", `, 'THVGroup::"b"]'],
  ['{', `a${ROUND}: 1, `, 'b: 2}.b == 2'],
  ['context', '.a', ' == 1'],
  ['context has a', '.a', ''],
  ['', '!(', 'true'],
  ['1', ' + 1', ' == 2'],
  ['principal.claim_a == "', '\\u{61}', '"'],
]

/** A random Cedar policy with one part repeated. */
export function cedarText(random: Random): Text {
  const [before, repeated, behind] = random.pick(CEDAR)
  const scope = random.pick([
    'permit(principal, action, resource)',
    'forbid(principal, action, resource)',
    `permit(principal == Client::"${ITEM}", action == Action::"call_tool", resource)`,
  ])
  const end = random.pick(['', ' && principal.claim_b == "b"', ` || principal.claim_${ITEM} == "b"`])
  return [
    { text: `${scope} ${random.pick(['when', 'unless'])} { ${before}`, times: 1 },
    sized(random, repeated),
    { text: `${behind}${end} };`, times: 1 },
  ]
}

/** Random Cedar entities: many of them, or with many attributes or parents. */
export function entitiesText(random: Random): Text {
  const [before, repeated, behind] = random.pick([
    ['[', '{},', '{}]'],
    ['[', `{"uid":{"type":"THVGroup","id":"${ROUND}"},"attrs":{},"parents":[]},`, '{}]'],
    ['[{"parents":[', `{"type":"Role","id":"${ROUND}"},`, '{"type":"","id":""}]}]'],
    ['[{"attrs":{"a":[', '[],', '[]]}}]'],
    ['[{"attrs":{', `"a${ROUND}":1,`, '"b":2}}]'],
  ])
  return [before, repeated, behind].map((text, i) => (i === 1 ? sized(random, text) : { text, times: 1 }))
}
