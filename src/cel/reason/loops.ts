import type { Comprehension, Expr } from '../ast.ts'
import { CelMap, Failure, isList } from '../evaluate/values.ts'
import { closedTest, FAILING, MOST_HOISTED, NO, replaced, YES } from './closed.ts'
import { type Macro, macroOf, type MapMacro } from './macros.ts'
import {
  all,
  any,
  type Binding,
  type Case,
  FAILED,
  constant,
  isFailed,
  type ListPart,
  MOST_UNROLLED,
  one,
  NotModelled,
  type ValuePart,
  standingFor,
  through,
  type Truth,
  truthOf,
  tuple,
  under,
  unknown,
} from './parts.ts'
import { MOST_CASES, type Reading } from './reading.ts'
import type { Literal } from './solver.ts'
import { isText } from './texts.ts'
import type { ValuePlace } from './world.ts'

/** The possible results of a macro such as `exists`. Throws NotModelled for loops that are not supported. */
export function comprehension(reading: Reading, loop: Comprehension): readonly Case[] {
  const macro = macroOf(loop)
  if (macro === undefined) throw new NotModelled('a loop of another kind')
  return through(reading.world, reading.values(loop.range), (range) => over(reading, loop, macro, range))
}

function over(reading: Reading, loop: Comprehension, macro: Macro, range: ValuePart): readonly Case[] {
  if (range.is === 'unknown') {
    const isOpen = range.type === undefined || ['list', 'map', 'string', 'bytes'].includes(range.type)
    return reading.always(isOpen ? unknown(macro.type) : FAILED)
  }
  if (range.is === 'map') return overList(reading, loop, macro, reading.allOf(range.place, 'keys'))
  if (range.is === 'list') return overList(reading, loop, macro, range)
  if (range.is === 'text') return overText(reading, macro, range.place)
  if (range.is === 'joined') return overJoined(reading, loop, macro, range.lists)
  if (range.is === 'sum') return reading.always(unknown(macro.type))
  if (range.is === 'measure' || range.is === 'truth') return reading.always(FAILED)
  const items = itemsOf(reading, range)
  if (items === undefined) return reading.always(FAILED)
  if (items.length > MOST_UNROLLED) throw new NotModelled('a long list')
  return unrolled(reading, loop, macro, items)
}

/** The results of a loop over a text. It fails, except that cel-go 0.33 treats an empty text as an empty list. */
function overText(reading: Reading, macro: Macro, place: ValuePlace): readonly Case[] {
  if (reading.matcher.celGo !== '0.33') return reading.always(FAILED)
  const empty = reading.world.text(place, isText(''))
  const result = { all: constant(true), exists: constant(false), one: constant(false), map: constant([]) }[
    macro.name
  ]
  return [
    { guard: empty, value: result },
    { guard: -empty, value: FAILED },
  ]
}

/**
 * The results of a loop over concatenated lists: `exists` and `all` combine the lists' results; the results of other
 * macros are unknown.
 */
function overJoined(
  reading: Reading,
  loop: Comprehension,
  macro: Macro,
  lists: readonly ValuePart[],
): readonly Case[] {
  if (macro.name !== 'exists' && macro.name !== 'all') return reading.always(unknown(macro.type))
  const { world } = reading
  const truths = lists.map((list): Truth => {
    const cases = over(reading, loop, macro, list).map(({ guard, value }) => {
      if (value.is === 'unknown') throw new NotModelled('a list that is not understood')
      const { yes, no } = truthOf(world, value)
      return { yes: world.and(guard, yes), no: world.and(guard, no) }
    })
    return {
      yes: world.or(...cases.map(({ yes }) => yes)),
      no: world.or(...cases.map(({ no }) => no)),
    }
  })
  return reading.always({ is: 'truth', truth: { exists: any, all }[macro.name](world, truths) })
}

function itemsOf(reading: Reading, range: ValuePart): readonly ValuePart[] | undefined {
  if (range.is === 'tuple') return range.items
  if (range.is === 'record') return [...range.entries.keys()].map(constant)
  if (range.is !== 'value' || range.value instanceof Failure) return undefined
  const { value } = range
  if (isList(value)) return value.map(constant)
  if (value instanceof CelMap) return Array.from(value.entries(), ([key]) => constant(key))
  const isEmpty = value === '' || (value instanceof Uint8Array && value.length === 0)
  return isEmpty && reading.matcher.celGo === '0.33' ? [] : undefined
}

function unrolled(
  reading: Reading,
  loop: Comprehension,
  macro: Macro,
  items: readonly ValuePart[],
): readonly Case[] {
  const { world } = reading
  const readers = items.map((item) => {
    const binding: Binding =
      item.is === 'value' && !(item.value instanceof Failure)
        ? { is: 'value', value: item.value }
        : standingFor(world, () => reading.always(item))
    return reading.bound(loop.iterVar, binding)
  })
  if (macro.name === 'map') return unrolledMap(reading, macro, readers)
  const truths = readers.map((reader) => reader.truth(macro.test))
  return reading.always({ is: 'truth', truth: { all, exists: any, one }[macro.name](world, truths) })
}

function unrolledMap(reading: Reading, macro: MapMacro, readers: readonly Reading[]): readonly Case[] {
  const { world } = reading
  let rows: { readonly guard: Literal; readonly items: readonly ValuePart[] }[] = [
    { guard: world.true, items: [] },
  ]
  const failed: Literal[] = []
  for (const reader of readers) {
    const test = macro.test === undefined ? { yes: world.true, no: world.false } : reader.truth(macro.test)
    const items = reader.values(macro.item)
    rows = rows.flatMap(({ guard, items: before }) => {
      failed.push(world.and(guard, -test.yes, -test.no))
      return [
        { guard: world.and(guard, test.no), items: before },
        ...items.flatMap((each) => {
          const taken = world.and(guard, test.yes, each.guard)
          if (!isFailed(each.value)) return [{ guard: taken, items: [...before, each.value] }]
          failed.push(taken)
          return []
        }),
      ].filter((row) => row.guard !== world.false)
    })
    if (rows.length > MOST_CASES) throw new NotModelled('too many cases')
  }
  const cases = rows.map(({ guard, items }): Case => ({ guard, value: tuple(items) }))
  return [...cases, { guard: world.or(...failed), value: FAILED }]
}

function overList(
  reading: Reading,
  loop: Comprehension,
  macro: Macro,
  range: ListPart,
  hoisted = 0,
): readonly Case[] {
  const { world } = reading
  const closed = hoisted < MOST_HOISTED ? closedTest(macro.test, loop.iterVar, world.budget) : undefined
  if (closed !== undefined && macro.test !== undefined) {
    const { yes, no } = reading.truth(closed)
    const { test } = macro
    const withTest = (guard: Literal, value: Expr) => {
      if (guard === world.false) return []
      const next = { ...macro, test: replaced(test, closed, value) }
      return under(world, guard, overList(reading, loop, next, range, hoisted + 1))
    }
    return [...withTest(yes, YES), ...withTest(no, NO), ...withTest(world.and(-yes, -no), FAILING)]
  }
  const elements = world.elements(range.place, range.over)
  const some = (of: Literal, least = 1) =>
    world.atLeast(range.place, least, elements.and(range.of, of), range.over)
  const reader = reading.inList(range, loop.iterVar)
  if (macro.name === 'map') return mapped(reading, macro, range, reader, loop.iterVar)
  const { yes, no } = reader.truth(macro.test)
  if (macro.name === 'exists')
    return reading.always({ is: 'truth', truth: { yes: some(yes), no: -some(-no) } })
  if (macro.name === 'all') return reading.always({ is: 'truth', truth: { yes: -some(-yes), no: some(no) } })
  const whole = -some(elements.and(-yes, -no))
  const single = world.and(some(yes), -some(yes, 2))
  return reading.always({
    is: 'truth',
    truth: { yes: world.and(whole, single), no: world.and(whole, -single) },
  })
}

function mapped(
  reading: Reading,
  macro: MapMacro,
  range: ListPart,
  reader: Reading,
  iterVar: string,
): readonly Case[] {
  const { world } = reading
  const elements = world.elements(range.place, range.over)
  const test =
    macro.test === undefined ? { yes: elements.true, no: elements.false } : reader.truth(macro.test)
  const cases = reader.values(macro.item)
  if (cases.some(({ value }) => value.is === 'unknown'))
    throw new NotModelled('elements that are not understood')
  const fails = elements.or(...cases.filter(({ value }) => isFailed(value)).map(({ guard }) => guard))
  const failing = elements.and(
    range.of,
    elements.or(elements.and(-test.yes, -test.no), elements.and(test.yes, fails)),
  )
  const some = world.atLeast(range.place, 1, failing, range.over)
  const isFilter =
    macro.test !== undefined &&
    macro.item.kind === 'ident' &&
    macro.item.name === iterVar &&
    !macro.item.absolute
  const item: Binding = isFilter ? range.item : standingFor(elements, () => cases)
  const value: ListPart = {
    is: 'list',
    place: range.place,
    over: range.over,
    of: elements.and(range.of, test.yes),
    item,
  }
  return [
    { guard: -some, value },
    { guard: some, value: FAILED },
  ]
}
