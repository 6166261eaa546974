/** Random CEL expressions: every operator, macro and function, nested, repeated and combined. */

import { overloads, type Overload } from '../../../src/cel/declarations.ts'
import type { Type } from '../../../src/cel/types.ts'
import type { Random } from './random.ts'
import { ITEM, mutateText, type Place, renderText, ROUND, type Text, textOf } from './texts.ts'

/** The type of an expression: a CEL type, or a string that a function reads as a pattern or time zone. */
type Sort = Type['kind'] | 'pattern' | 'zone'

/** The syntax of a call, with `□` for each argument. */
interface Form {
  readonly sort: Sort
  readonly text: string
  readonly holes: readonly Sort[]
  /** The variable that the macro binds for its last argument. */
  readonly binds?: string
}

interface Call {
  readonly is: 'call'
  readonly form: Form
  readonly args: readonly Expression[]
}

export type Expression =
  | Call
  | { readonly is: 'leaf'; readonly sort: Sort; readonly text: string }
  | { readonly is: 'literal'; readonly sort: Sort; readonly text: Text; readonly quote: string }
  /** A call nested in itself `depth` times, at the argument with index `hole`. */
  | {
      readonly is: 'nest'
      readonly layer: Call
      readonly hole: number
      readonly depth: number
      readonly base: Expression
    }
  /** A part repeated in a row: the items of a list or map, or operands. */
  | {
      readonly is: 'row'
      readonly sort: Sort
      readonly part: Expression
      readonly brackets: readonly [open: string, between: string, close: string]
      readonly times: number
    }

const TIME = 'google.protobuf.Timestamp'
const SPAN = 'google.protobuf.Duration'
const ANY: readonly Sort[] = [
  'dyn',
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'list',
  'map',
  TIME,
  SPAN,
]
const VARIABLES = ['u', 'v', 'w']

/** The forms of a signature. A type parameter becomes `dyn`, and in further forms each concrete type. */
function formsOf({ name, method, args, result }: Overload): Form[] {
  const isGeneric = [...args, result].some(({ kind }) => kind === 'parameter')
  return (isGeneric ? ANY : (['dyn'] as const)).map((any) => {
    const sortOf = ({ kind }: Type, i?: number): Sort => {
      if (kind === 'parameter') return any
      if (i === 1 && name === 'matches') return 'pattern'
      return i === 1 && /^get[A-Z]/.test(name) ? 'zone' : kind
    }
    const holes = args.map(sortOf)
    const infix = /^_(.+)_$/.exec(name)?.[1] ?? (name === '@in' ? 'in' : undefined)
    const sort = sortOf(result)
    if (name === '_?_:_') return { sort, holes, text: '(□ ? □ : □)' }
    if (name === '_[_]') return { sort, holes, text: '□[□]' }
    if (infix !== undefined) return { sort, holes, text: `(□ ${infix} □)` }
    if (name.endsWith('_')) return { sort, holes, text: `${name.slice(0, -1)}(□)` }
    const rest = holes.slice(method ? 1 : 0).map(() => '□')
    return { sort, holes, text: `${method ? '□.' : ''}${name}(${rest.join(', ')})` }
  })
}

const MACROS: readonly Form[] = VARIABLES.flatMap((binds) => [
  ...['all', 'exists', 'exists_one'].map((name): Form => ({
    sort: 'bool',
    text: `□.${name}(${binds}, □)`,
    holes: ['list', 'bool'],
    binds,
  })),
  { sort: 'list', text: `□.filter(${binds}, □)`, holes: ['list', 'bool'], binds },
  { sort: 'list', text: `□.map(${binds}, □)`, holes: ['list', 'dyn'], binds },
  { sort: 'bool', text: `□.all(${binds}, □)`, holes: ['map', 'bool'], binds },
])

const FORMS: readonly Form[] = [
  ...overloads.filter(({ name, mixedNumbers }) => !name.startsWith('@not') && !mixedNumbers).flatMap(formsOf),
  ...MACROS,
  ...[`claims.c${ROUND}`, 'claims.c', 'claims.a.b', `claims.a.b${ROUND}`].map((text): Form => ({
    sort: 'bool',
    text: `has(${text})`,
    holes: [],
  })),
  { sort: 'bool', text: '(□ == null)', holes: ['dyn'] },
  { sort: 'dyn', text: '□.f', holes: ['dyn'] },
  { sort: 'dyn', text: `□.f${ROUND}`, holes: ['dyn'] },
]
/** The types whose values are written as a quoted text. */
const TEXTS: ReadonlySet<Sort> = new Set(['string', 'bytes', 'pattern', 'zone'])
const TEXT_FORMS = overloads
  .filter(({ name, args }) => !name.startsWith('@') && args.some(({ kind }) => TEXTS.has(kind)))
  .flatMap(formsOf)
const formsBySort = Map.groupBy(FORMS, ({ sort }) => sort)

const LEAVES: Readonly<Partial<Record<Sort, readonly string[]>>> = {
  dyn: [
    'claims.a',
    'claims.groups',
    `claims.c${ROUND}`,
    `claims.c${ITEM}`,
    `claims.c${ITEM}x${ROUND}`,
    `claims["c${ROUND}"]`,
    'claims.a.b',
    'claims.groups[0]',
    ...VARIABLES,
  ],
  bool: ['true', 'false'],
  int: ['0', '1', ROUND, ITEM, '-1', '9223372036854775807'],
  uint: ['0u', '1u', `${ROUND}u`],
  double: ['0.0', '1.5', `${ROUND}.5`, '1e308', '-1e-308'],
  list: ['claims.groups', '[]', '[1]', '["a"]'],
  map: ['claims', '{}', '{"a": 1}'],
  zone: ['"UTC"', '"Europe/Berlin"', '"America/Argentina/Buenos_Aires"', '"+01:00"', '"-14:59"', '"a/b"'],
  [TIME]: [
    'timestamp(0)',
    `timestamp(${ROUND})`,
    'timestamp("2024-02-29T12:00:00Z")',
    'timestamp(253402300799)',
  ],
  [SPAN]: ['duration("1h")', `duration("${ROUND}s")`],
}

/** The units of random patterns: each repetition, class, group and anchor of RE2. */
const PATTERN_UNITS: readonly string[] = [
  ...[
    'a',
    '.',
    '.*',
    '.+',
    'a?',
    'a*',
    'a+?',
    '[a-z]',
    '[^a]',
    String.raw`\\d`,
    String.raw`\\pL`,
    '^',
    '$',
    '|',
  ],
  ...[
    'a{2}',
    'a{10}',
    'a{999}',
    'a{1,999}',
    '[a-z]{50}',
    '(a|b)',
    '(a*)*',
    '(a|b){1,40}',
    '(?i)a',
    `b${ROUND}`,
  ],
  ...[
    '(a{30}){30}',
    '(?:a?){30}',
    '(',
    ')',
    '(?:',
    String.raw`\\b`,
    '[[:alpha:]]',
    'é',
    '😀',
    `(b${ROUND}|c)`,
  ],
]

/** The units of random string literals. */
const LITERAL_UNITS: readonly string[] = [
  ...[
    'a',
    '0',
    '9',
    '.',
    '-',
    ' ',
    '1h',
    '0s',
    '0.0s',
    'x',
    'e',
    '+',
    '_',
    ':',
    'é',
    '😀',
    `a${ROUND}`,
    '%',
    '/',
  ],
  ...[String.raw`\\`, String.raw`\"`, String.raw`\n`, String.raw`\u00e9`, String.raw`\x41`, String.raw`\101`],
]

const JOINED: readonly (readonly [Sort, string])[] = [
  ['bool', ' && '],
  ['bool', ' || '],
  ['int', ' + '],
  ['double', ' + '],
  ['string', ' + '],
  ['list', ' + '],
]

const leafOf = (sort: Sort, random: Random): Expression => {
  if (sort === 'pattern' || sort === 'string' || sort === 'bytes') {
    if (sort !== 'pattern' && random.chance(0.3)) return leafOf('dyn', random)
    const units = unitsOf(sort)
    let text: Text = [{ text: random.pick(units), times: random.size(LONG) }]
    while (random.chance(0.4)) text = mutateText(text, random, units)
    return { is: 'literal', sort, text, quote: sort === 'bytes' ? 'b"' : '"' }
  }
  const own = sort === 'dyn' || random.chance(0.5) ? LEAVES[sort] : undefined
  return { is: 'leaf', sort, text: random.pick(own ?? LEAVES.dyn ?? []) }
}

/** The repetitions of a unit: more than a matcher may be long; the text is then cut. */
const LONG = 10_000
/** The length of a text, in characters, that leaves room for another one in the same matcher. */
const ENDED = 8_000
/** The end of a text that makes it invalid, so that a backtracking pattern tries again from each character. */
const LAST = { text: '!', times: 1 }
const CONSTANTS: Readonly<Partial<Record<Sort, string>>> = {
  string: '"a"',
  bytes: 'b"a"',
  pattern: '"a"',
  [TIME]: 'timestamp(0)',
}
const unitsOf = (sort: Sort) => (sort === 'pattern' ? PATTERN_UNITS : LITERAL_UNITS)

/**
 * Calls of each function that takes a text, with a long text of each unit in one argument and short constants in the
 * others. Such a call is evaluated, and no other part of the expression spends the budget first.
 */
export function* longCalls(): Iterable<Expression> {
  const asBool = FORMS.find(({ text }) => text === '(□ == □)')
  if (asBool === undefined) throw new Error('nothing compares')
  const leaf = (sort: Sort): Expression => ({ is: 'leaf', sort, text: CONSTANTS[sort] ?? 'claims.a' })
  for (const form of TEXT_FORMS) {
    for (const [at, sort] of form.holes.entries()) {
      if (!TEXTS.has(sort)) continue
      for (const unit of unitsOf(sort)) {
        // A pattern needs no LAST: it is compiled, not matched.
        const text: Text =
          sort === 'pattern'
            ? [{ text: unit, times: LONG }]
            : [{ text: unit, times: Math.floor(ENDED / unit.length) }, LAST]
        const long: Expression = { is: 'literal', sort, text, quote: sort === 'bytes' ? 'b"' : '"' }
        const args = form.holes.map((hole, i) => (i === at ? long : leaf(hole)))
        const call: Call = { is: 'call', form, args }
        yield form.sort === 'bool'
          ? call
          : { is: 'call', form: asBool, args: [{ is: 'leaf', sort: 'dyn', text: 'dyn(1)' }, call] }
      }
    }
  }
}

function callOf(sort: Sort, random: Random, depth: number): Call | undefined {
  const forms = formsBySort.get(sort === 'dyn' ? random.pick(ANY) : sort)
  if (forms === undefined) return undefined
  const form = random.pick(forms)
  return { is: 'call', form, args: form.holes.map((hole) => expressionOf(hole, random, depth - 1)) }
}

/** A random expression of the type with at most `depth` levels. */
export function expressionOf(sort: Sort, random: Random, depth = 3): Expression {
  if (depth <= 0 || random.chance(0.1)) return leafOf(sort, random)
  const call = callOf(sort, random, depth)
  if (call === undefined) return leafOf(sort, random)
  if (random.chance(0.15)) return nested(call, random) ?? call
  return random.chance(0.15) ? widened(sort, call, random) : call
}

/** The call nested in itself, at an argument that accepts the type of its result; undefined when there is none. */
function nested(layer: Call, random: Random): Expression | undefined {
  const { holes, sort } = layer.form
  const fitting = holes.flatMap((hole, i) => (hole === sort || hole === 'dyn' || sort === 'dyn' ? [i] : []))
  if (fitting.length === 0) return undefined
  const hole = random.pick(fitting)
  return { is: 'nest', layer, hole, depth: random.size(500), base: leafOf(sort, random) }
}

function widened(sort: Sort, part: Expression, random: Random): Expression {
  const times = random.size(500)
  if (sort === 'list') return { is: 'row', sort, part, brackets: ['[', ',', ']'], times }
  if (sort === 'map') return { is: 'row', sort, part, brackets: [`{`, ',', '}'], times }
  const between = JOINED.filter(([of]) => of === sort).map(([, text]) => text)
  return between.length === 0
    ? part
    : { is: 'row', sort, part, brackets: ['', random.pick(between), ''], times }
}

const sortOf = (expression: Expression): Sort =>
  expression.is === 'call'
    ? expression.form.sort
    : expression.is === 'nest'
      ? expression.layer.form.sort
      : expression.sort

interface Room extends Place {
  readonly scope: ReadonlySet<string>
  /** The most UTF-16 code units of the rendered text. */
  readonly room: number
}

function written(expression: Expression, at: Room): string {
  switch (expression.is) {
    case 'leaf': {
      const { text } = expression
      if (VARIABLES.includes(text) && !at.scope.has(text)) return `claims.${text}`
      return renderText(textOf(text), at)
    }
    case 'literal':
      return `${expression.quote}${renderText(expression.text, at, at.room - 3).replace(/\\$/, '')}"`
    case 'call':
      return filledIn(expression, at, (arg, inner) => written(arg, inner))
    case 'nest': {
      const { layer, hole, depth, base } = expression
      let text = written(base, at)
      for (let round = 0; round < depth; round++) {
        const around = filledIn(layer, { ...at, round }, (arg, inner, i) =>
          i === hole ? text : written(arg, { ...inner, room: at.room / 8 }),
        )
        if (around.length > at.room) break
        text = around
      }
      return text
    }
    case 'row': {
      const { part, brackets, times, sort } = expression
      const [open, between, close] = brackets
      const parts: string[] = []
      let length = open.length + close.length
      for (let round = 0; round < times; round++) {
        const text = written(part, { ...at, round, room: at.room / 4 })
        length += text.length + between.length + 4
        if (length > at.room) break
        parts.push(sort === 'map' ? `${round}:${text}` : text)
      }
      return parts.length === 0 ? written(part, at) : open + parts.join(between) + close
    }
  }
}

function filledIn(
  { form, args }: Call,
  at: Room,
  argument: (arg: Expression, at: Room, i: number) => string,
): string {
  const { binds } = form
  let i = 0
  let room = Math.max(0, at.room - form.text.length)
  return form.text.replaceAll(ROUND, String(at.round)).replaceAll('□', () => {
    const last = i === args.length - 1
    const arg = args[i]
    const scope = binds !== undefined && last ? new Set([...at.scope, binds]) : at.scope
    // An argument may use the room that earlier arguments have left.
    const text = arg === undefined ? '' : argument(arg, { ...at, scope, room: room / (args.length - i) }, i++)
    room = Math.max(0, room - text.length)
    return text
  })
}

/** Renders the expression as CEL, with as many levels and repetitions as fit into `longest` bytes. */
export function renderExpression(expression: Expression, place: Place, longest: number): string {
  for (let room = longest; room > longest / 64; room /= 2) {
    const text = written(expression, { ...place, scope: new Set(), room })
    if (Buffer.byteLength(text) <= longest) return text
  }
  return written(expression, { ...place, scope: new Set(), room: longest })
}

const partsOf = (expression: Expression): readonly Expression[] => {
  switch (expression.is) {
    case 'call':
      return expression.args
    case 'nest':
      return [expression.layer, expression.base]
    case 'row':
      return [expression.part]
    default:
      return []
  }
}

const within = (expression: Expression): Expression[] => [expression, ...partsOf(expression).flatMap(within)]

/** The expression with one part changed: the one at index `number` in `within(expression)`. */
function changedWithin(
  expression: Expression,
  number: number,
  change: (part: Expression) => Expression,
): Expression {
  if (number === 0) return change(expression)
  let left = number - 1
  const inner = (part: Expression): Expression => {
    const size = within(part).length
    const own = left
    left -= size
    return own >= 0 && own < size ? changedWithin(part, own, change) : part
  }
  switch (expression.is) {
    case 'call':
      return { ...expression, args: expression.args.map(inner) }
    case 'nest': {
      const layer = inner(expression.layer)
      return {
        ...expression,
        layer: layer.is === 'call' ? layer : expression.layer,
        base: inner(expression.base),
      }
    }
    case 'row':
      return { ...expression, part: inner(expression.part) }
    default:
      return expression
  }
}

/** The length in characters above which a text counts as long. */
const LONG_TEXT = 1_000

/** The form of the first call that has a long text as an argument; empty when there is none. */
export function callOfLongText(expression: Expression): string {
  const call = within(expression).find((part) => part.is === 'call' && part.args.some(isLongText))
  return call?.is === 'call' ? call.form.text : ''
}

const isLongText = (part: Expression): boolean =>
  part.is === 'literal' &&
  part.text.reduce((sum, { text, times }) => sum + text.length * times, 0) > LONG_TEXT

/** The expression with one random part changed, sometimes by a part of `other`. */
export function mutateExpression(expression: Expression, random: Random, other?: Expression): Expression {
  const all = within(expression)
  return changedWithin(expression, random.below(all.length), (part) => {
    const sort = sortOf(part)
    switch (random.below(6)) {
      case 0:
        return expressionOf(sort, random)
      case 1: {
        const fitting = other === undefined ? [] : within(other).filter((each) => sortOf(each) === sort)
        return fitting.length === 0 ? expressionOf(sort, random) : random.pick(fitting)
      }
      case 2: {
        const call = part.is === 'call' ? part : callOf(sort, random, 2)
        return (call && nested(call, random)) ?? part
      }
      case 3:
        return widened(sort, part, random)
      case 4:
        if (part.is === 'nest') return { ...part, depth: part.depth * 2 }
        return part.is === 'row' ? { ...part, times: part.times * 2 } : widened(sort, part, random)
      default:
        if (part.is === 'literal') {
          return { ...part, text: mutateText(part.text, random, unitsOf(part.sort)) }
        }
        return leafOf(sort, random)
    }
  })
}

/** The shape of an expression for people, such as `(□ ? □ : □) × 120 of claims.c`. */
export function shapeOf(expression: Expression): string {
  switch (expression.is) {
    case 'leaf':
      return expression.text.replaceAll(ITEM, 'I').replaceAll(ROUND, 'N')
    case 'literal':
      return `${expression.quote}${expression.text
        .map(({ text, times }) => `${text}×${times}`)
        .join('')
        .replaceAll(ITEM, 'I')
        .replaceAll(ROUND, 'N')}"`
    case 'call':
      return filledIn(expression, { item: 0, round: 0, scope: new Set(), room: 0 }, shapeOf)
    case 'nest':
      return `nest(${shapeOf(expression.layer)}, at ${expression.hole}, ${expression.depth} deep)`
    case 'row':
      return `row(${shapeOf(expression.part)}, '${expression.brackets.join('')}', ${expression.times} times)`
  }
}
