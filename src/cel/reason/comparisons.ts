import type { Call, Expr } from '../ast.ts'
import { compiledPattern } from '../evaluate/patterns.ts'
import { CelMap, Failure, isList, type Result, type Value } from '../evaluate/values.ts'
import {
  any,
  type Binding,
  type Case,
  counted,
  exact,
  FAILED,
  constant,
  isFailed,
  isNumeric,
  mayFail,
  MOST_UNROLLED,
  numberOf,
  type ValuePart,
  textOf,
  truthOf,
  typeOfPart,
  unknown,
} from './parts.ts'
import type { Reading } from './reading.ts'
import type { Literal } from './solver.ts'
import { contains, endsWith, isAtLeast, isBefore, isText, matches, partsOf, startsWith } from './texts.ts'
import type { ValuePlace, ClaimsWorld } from './world.ts'

const FLIPPED = { '_<_': '_>_', '_<=_': '_>=_', '_>_': '_<_', '_>=_': '_<=_' } as const
const NOTHING: Expr = { kind: 'literal', type: 'null_type', value: null, offset: 0, height: 0 }
export const PLAIN_CALL = { kind: 'call', offset: 0, height: 0, target: undefined } as const

export function equality(reading: Reading, a: ValuePart, b: ValuePart): ValuePart {
  if (a.is === 'value' && b.is !== 'value') return equality(reading, b, a)
  if (a.is === 'value' && b.is === 'value') {
    const call: Call = { ...PLAIN_CALL, name: '_==_', args: [NOTHING, NOTHING] }
    return constant(reading.computed(call, call.args, [a, b], true))
  }
  const [left, right] = [typeOfPart(a), typeOfPart(b)]
  if (left === undefined || right === undefined) return unknown('bool')
  const fails = [a, b].some(mayFail)
  if (left !== right && !(isNumeric(left) && isNumeric(right)))
    return fails ? unknown('bool') : constant(false)
  const holds = b.is === 'value' ? equals(reading, a, b.value) : same(reading, a, b)
  if (holds === undefined) return { is: 'unknown', type: 'bool', fails }
  return { is: 'truth', truth: { yes: holds, no: -holds } }
}

/** The condition under which two values of one type are equal; undefined if no formula expresses it. */
function same(reading: Reading, a: ValuePart, b: ValuePart): Literal | undefined {
  const world = reading.world
  if ((a.is === 'text' || a.is === 'map') && b.is === a.is && a.place === b.place) return world.true
  if (
    a.is === 'measure' &&
    b.is === 'measure' &&
    a.place !== undefined &&
    a.place === b.place &&
    a.type === b.type
  )
    return world.true
  if (a.is === 'tuple' && b.is === 'tuple') {
    if (a.items.length !== b.items.length) return world.false
    return allEqual(
      reading,
      a.items.map((item, i) => equality(reading, item, b.items[i] ?? FAILED)),
    )
  }
  return undefined
}

function allEqual(reading: Reading, parts: readonly ValuePart[]): Literal | undefined {
  const literals = parts.map((each) => (each.is === 'unknown' ? undefined : truthOf(reading.world, each).yes))
  return literals.includes(undefined) ? undefined : reading.world.and(...(literals as Literal[]))
}

/** The condition under which `part`, which may depend on claims, equals `value`; undefined if there is no formula. */
function equals(reading: Reading, part: ValuePart, value: Result): Literal | undefined {
  const world = reading.world
  if (part.is === 'text') return world.text(part.place, isText(textOf(value)))
  if (part.is === 'sum') return splits(world, part.pieces, textOf(value))
  if (part.is === 'measure') {
    const bound = numberOf(value)
    return bound === undefined ? undefined : world.and(part.least(bound), -part.more(bound))
  }
  if (part.is === 'map' && value instanceof CelMap) return equalsMap(reading, part.place, value)
  if (value instanceof Failure || !isList(value)) return undefined
  if (part.is === 'tuple') {
    if (part.items.length !== value.length) return world.false
    return allEqual(
      reading,
      part.items.map((item, i) => equality(reading, item, constant(value[i] ?? null))),
    )
  }
  if (part.is !== 'list') return undefined
  if (value.length === 0) return -world.atLeast(part.place, 1, part.of, part.over)
  if (
    part.over !== 'list' ||
    part.item.is !== 'place' ||
    part.of !== part.item.world.true ||
    value.length > 20
  )
    return undefined
  const items = value.map((item, i) => equalsAt(reading, reading.memberAt(part.place, i), item))
  if (items.includes(undefined)) return undefined
  return world.and(
    world.atLeast(part.place, value.length, part.of),
    -world.atLeast(part.place, value.length + 1, part.of),
    ...(items as Literal[]),
  )
}

/** The most ways that are tried to split a text into the pieces of a concatenation. */
const MOST_SPLITS = 400

/** The condition under which the concatenated pieces equal the text: some way of splitting the text fits all pieces. */
function splits(
  world: ClaimsWorld,
  pieces: readonly (string | ValuePlace)[],
  text: string,
): Literal | undefined {
  let ways: { readonly rest: string; readonly parts: readonly Literal[] }[] = [{ rest: text, parts: [] }]
  for (const [i, piece] of pieces.entries()) {
    const isLast = i === pieces.length - 1
    if (typeof piece !== 'string' && !isLast) {
      const count = ways.reduce((sum, { rest }) => sum + rest.length, 0)
      // A character of `rest` gives one way to split the text, and has one or two UTF-16 code units in `count`.
      if (count > 2 * MOST_SPLITS) return undefined
    }
    world.budget.spend(ways.length * (1 + text.length / 64))
    ways = ways.flatMap(({ rest, parts }) => {
      if (typeof piece === 'string')
        return rest.startsWith(piece) ? [{ rest: rest.slice(piece.length), parts }] : []
      const characters = Array.from(rest)
      const lengths = isLast ? [characters.length] : [...characters.keys(), characters.length]
      return lengths.map((length) => ({
        rest: characters.slice(length).join(''),
        parts: [...parts, world.text(piece, isText(characters.slice(0, length).join('')))],
      }))
    })
    if (ways.length > MOST_SPLITS) return undefined
  }
  return world.or(...ways.flatMap(({ rest, parts }) => (rest === '' ? [world.and(...parts)] : [])))
}

function equalsMap(reading: Reading, place: ValuePlace, value: CelMap): Literal | undefined {
  const world = reading.world
  const keys = world.elements(place, 'keys')
  const members = Array.from(value.entries(), ([key, member]) =>
    typeof key === 'string' ? equalsAt(reading, reading.memberAt(place, key), member) : world.false,
  )
  if (members.includes(undefined) || members.length > 20) return undefined
  return world.and(
    world.atLeast(place, members.length, keys.true, 'keys'),
    -world.atLeast(place, members.length + 1, keys.true, 'keys'),
    ...(members as Literal[]),
  )
}

function equalsAt(reading: Reading, place: ValuePlace, value: Value): Literal | undefined {
  const world = reading.world
  const found = reading.at(place).map(({ guard, value: part }) => {
    const equal = isFailed(part) ? constant(false) : equality(reading, part, constant(value))
    return equal.is === 'unknown' ? undefined : world.and(guard, truthOf(world, equal).yes)
  })
  return found.includes(undefined) ? undefined : world.or(...(found as Literal[]))
}

export function ordered(
  reading: Reading,
  name: '_<_' | '_<=_' | '_>_' | '_>=_',
  a: ValuePart,
  b: ValuePart,
): ValuePart {
  const world = reading.world
  if (a.is === 'value' && b.is !== 'value') return ordered(reading, FLIPPED[name], b, a)
  const [left, right] = [typeOfPart(a), typeOfPart(b)]
  if (left === undefined || right === undefined) return unknown('bool')
  if (left !== right && !(isNumeric(left) && isNumeric(right))) {
    const isNaN = b.is === 'value' && Number.isNaN(b.value)
    return isNaN ? unknown('bool') : FAILED
  }
  if (['list', 'map', 'type', 'null_type'].includes(left)) return FAILED
  const fails = [a, b].some(mayFail)
  const other: ValuePart = { is: 'unknown', type: 'bool', fails }
  if (b.is !== 'value' || b.value instanceof Failure) return other
  let literal: Literal
  if (a.is === 'text') {
    const [before, same] = [isBefore(textOf(b.value)), isText(textOf(b.value))].map((test) =>
      world.text(a.place, test),
    ) as [Literal, Literal]
    if (name === '_<_') literal = before
    else if (name === '_>=_') literal = -before
    else literal = name === '_<=_' ? world.or(before, same) : -world.or(before, same)
  } else if (a.is === 'measure') {
    const bound = numberOf(b.value)
    if (bound === undefined) return other
    if (Number.isNaN(bound)) return constant(false)
    if (name === '_<_') literal = -a.least(bound)
    else if (name === '_>=_') literal = a.least(bound)
    else literal = name === '_<=_' ? -a.more(bound) : a.more(bound)
  } else return other
  return { is: 'truth', truth: { yes: literal, no: -literal } }
}

export function contained(reading: Reading, value: ValuePart, holder: ValuePart): ValuePart {
  const world = reading.world
  switch (holder.is) {
    case 'map':
      if (value.is !== 'value') return unknown('bool')
      if (typeof value.value !== 'string')
        return value.value instanceof Uint8Array ? unknown('bool') : constant(false)
      return {
        is: 'truth',
        truth: {
          yes: -reading.memberAt(holder.place, value.value).forms.absent,
          no: reading.memberAt(holder.place, value.value).forms.absent,
        },
      }
    case 'list': {
      if (value.is !== 'value' || value.value instanceof Failure)
        return { is: 'unknown', type: 'bool', fails: value.is === 'unknown' }
      const elements = world.elements(holder.place, holder.over)
      const inside = reading.inList(holder)
      const equal = within(inside, holder.item, constant(value.value))
      if (equal === undefined) return { is: 'unknown', type: 'bool', fails: false }
      const some = world.atLeast(holder.place, 1, elements.and(holder.of, equal), holder.over)
      return { is: 'truth', truth: { yes: some, no: -some } }
    }
    case 'tuple':
      return inAny(reading, value, holder.items)
    case 'joined': {
      const found = holder.lists.map((list) => contained(reading, value, list))
      if (found.some((each) => each.is === 'unknown')) return { is: 'unknown', type: 'bool', fails: true }
      return {
        is: 'truth',
        truth: any(
          world,
          found.map((each) => truthOf(world, each)),
        ),
      }
    }
    case 'record': {
      const isKey =
        typeOfPart(value) === 'string' || (value.is === 'value' && typeof value.value === 'bigint')
      return isKey ? inAny(reading, value, [...holder.entries.keys()].map(constant)) : unknown('bool')
    }
    case 'value':
      if (holder.value instanceof Failure) return FAILED
      if (isList(holder.value)) return inAny(reading, value, holder.value.map(constant))
      if (holder.value instanceof CelMap && value.is === 'text') {
        const keys = Array.from(holder.value.entries(), ([key]) => constant(key))
        return inAny(reading, value, keys)
      }
      return holder.value instanceof CelMap ? unknown('bool') : FAILED
    case 'unknown':
      return holder.type === undefined || holder.type === 'list' || holder.type === 'map'
        ? unknown('bool')
        : FAILED
    default:
      return FAILED
  }
}

function inAny(reading: Reading, value: ValuePart, items: readonly ValuePart[]): ValuePart {
  const world = reading.world
  if (items.length > MOST_UNROLLED || mayFail(value)) return unknown('bool')
  const equal = items.map((item) => equality(reading, value, item))
  if (equal.some((each) => each.is === 'unknown')) return unknown('bool')
  const yes = world.or(...equal.map((each) => truthOf(world, each).yes))
  return { is: 'truth', truth: { yes, no: -yes } }
}

/** The condition under which the current element of a loop equals a value; undefined if no formula expresses it. */
function within(reading: Reading, item: Binding, value: ValuePart): Literal | undefined {
  const world = reading.world
  const cases = item.is === 'cases' ? item.cases() : reading.at(world.root)
  const found = cases.map((each) => {
    const equal = isFailed(each.value) ? constant(false) : equality(reading, each.value, value)
    return equal.is === 'unknown' ? undefined : world.and(each.guard, truthOf(world, equal).yes)
  })
  return found.includes(undefined) ? undefined : world.or(...(found as Literal[]))
}

export function textTest(
  reading: Reading,
  name: 'startsWith' | 'endsWith' | 'contains' | 'matches',
  a: ValuePart,
  b: ValuePart,
): ValuePart {
  const world = reading.world
  const [left, right] = [typeOfPart(a), typeOfPart(b)]
  if ((left ?? 'string') !== 'string' || (right ?? 'string') !== 'string') return FAILED
  const fails = [a, b].some(mayFail) || left === undefined || right === undefined
  const other: ValuePart = { is: 'unknown', type: 'bool', fails: fails || name === 'matches' }
  if (a.is === 'value' && (b.is === 'text' || b.is === 'sum') && name !== 'matches') {
    const parts = partsOf(name, textOf(a.value))
    if (parts === undefined) return other
    return inAny(reading, b, parts.map(constant))
  }
  if (a.is !== 'text' || b.is !== 'value') return other
  const wanted = textOf(b.value)
  const { budget } = world
  budget.spend(wanted.length / 16)
  if (name === 'matches' && compiledPattern(wanted, (size) => budget.spend(size)).program === undefined)
    return FAILED
  const test = { startsWith, endsWith, contains, matches }[name](wanted, budget)
  if (test === undefined) return { is: 'unknown', type: 'bool', fails: false }
  const literal = world.text(a.place, test)
  return { is: 'truth', truth: { yes: literal, no: -literal } }
}

export function size(reading: Reading, part: ValuePart): ValuePart {
  const world = reading.world
  switch (part.is) {
    case 'text':
      return counted(world, (least) => world.text(part.place, isAtLeast(least)))
    case 'list':
      return counted(world, (least) => world.atLeast(part.place, least, part.of, part.over))
    case 'tuple':
      return constant(BigInt(part.items.length))
    case 'record':
      return constant(BigInt(part.entries.size))
    case 'sum':
    case 'joined':
      return { is: 'unknown', type: 'int', fails: false }
    case 'map':
      return size(reading, reading.allOf(part.place, 'keys'))
    case 'unknown':
      return { is: 'unknown', type: 'int', fails: true }
    default:
      return FAILED
  }
}

const BOOLS = ['1', 't', 'T', 'TRUE', 'true', 'True', '0', 'f', 'F', 'FALSE', 'false', 'False'].map(constant)

/** The result of CEL's `bool(text)`, as conditions on the text. */
export function boolOf(
  reading: Reading,
  text: ValuePart,
  valueOf: (value: ValuePart & { readonly is: 'value' }) => Result,
): ValuePart {
  const world = reading.world
  const those = (wanted: boolean) =>
    inAny(
      reading,
      text,
      BOOLS.filter((each) => valueOf(each) === wanted),
    )
  const [yes, no] = [those(true), those(false)]
  if (yes.is === 'unknown' || no.is === 'unknown') return unknown('bool')
  return { is: 'truth', truth: { yes: truthOf(world, yes).yes, no: truthOf(world, no).yes } }
}

export function wholeNumber(reading: Reading, part: ValuePart): readonly Case[] {
  const world = reading.world
  if (part.is === 'measure' && part.type === 'int') return reading.always(part)
  if (part.is !== 'measure' || part.place === undefined) {
    const type = typeOfPart(part)
    const isOpen =
      type === undefined ||
      ['string', 'double', 'uint', 'int', 'google.protobuf.Timestamp', 'google.protobuf.Duration'].includes(
        type,
      )
    return reading.always(isOpen ? unknown('int') : FAILED)
  }
  const fits = world.and(-part.least(2 ** 63), part.more(-(2 ** 63)))
  // trunc rounds towards 0: trunc(x) >= whole means x >= whole if whole > 0, and x > whole - 1 otherwise.
  const least = (bound: number): Literal => {
    const whole = Math.ceil(bound)
    return whole > 0 ? part.least(whole) : part.more(whole - 1)
  }
  const whole: ValuePart = {
    is: 'measure',
    type: 'int',
    least: exact(least),
    more: exact((bound) => least(Math.floor(bound) + 1)),
  }
  return [
    { guard: fits, value: whole },
    { guard: -fits, value: FAILED },
  ]
}
