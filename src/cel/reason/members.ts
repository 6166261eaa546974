import type { Call, Expr, Select } from '../ast.ts'
import { CelMap, Failure, isList, type Value } from '../evaluate/values.ts'
import { equality, PLAIN_CALL } from './comparisons.ts'
import {
  type Case,
  FAILED,
  indexOf,
  constant,
  isFailed,
  isNumeric,
  mayFail,
  MOST_UNROLLED,
  type ValuePart,
  truthOf,
  typeOfPart,
  unknown,
} from './parts.ts'
import type { Reading } from './reading.ts'

/** The possible results of the CEL macro `has(holder.field)`, each with the condition under which it occurs. */
export function has(reading: Reading, expr: Select, holder: ValuePart): readonly Case[] {
  if (isFailed(holder)) return reading.always(FAILED)
  if (holder.is === 'map') {
    const { forms } = reading.memberAt(holder.place, expr.field)
    return reading.always({ is: 'truth', truth: { yes: -forms.absent, no: forms.absent } })
  }
  if (holder.is === 'value') return reading.always(constant(reading.computed(expr, [expr.operand], [holder])))
  if (holder.is === 'unknown') return reading.always(unknown('bool'))
  if (holder.is === 'record') return reading.always(constant(holder.entries.has(expr.field)))
  return reading.always(holder.is === 'list' || holder.is === 'tuple' ? FAILED : constant(false))
}

/** The possible values of `holder.key` or `holder[key]` in CEL, each with the condition under which it occurs. */
export function member(reading: Reading, expr: Expr, holder: ValuePart, key: ValuePart): readonly Case[] {
  if (isFailed(holder) || isFailed(key)) return reading.always(FAILED)
  if (key.is !== 'value') return memberOfAny(reading, holder, key)
  const { value } = key
  switch (holder.is) {
    case 'map':
      return typeof value === 'string'
        ? reading.at(reading.memberAt(holder.place, value))
        : reading.always(FAILED)
    case 'list': {
      const index = indexOf(value)
      if (index === undefined) return reading.always(FAILED)
      if (
        holder.over !== 'list' ||
        holder.item.is !== 'place' ||
        holder.of !== holder.item.world.true ||
        index > MOST_UNROLLED
      )
        return reading.always(unknown(undefined))
      return reading.at(reading.memberAt(holder.place, index))
    }
    case 'tuple': {
      const index = indexOf(value)
      return reading.always((index === undefined ? undefined : holder.items[index]) ?? FAILED)
    }
    case 'value': {
      const index: Call = { ...PLAIN_CALL, name: '_[_]', args: [expr, expr] }
      return reading.always(constant(reading.computed(index, index.args, [holder, key], true)))
    }
    case 'record':
      return reading.always(
        typeof value === 'string' || typeof value === 'bigint'
          ? (holder.entries.get(value) ?? FAILED)
          : unknown(undefined),
      )
    case 'unknown':
      return reading.always(unknown(undefined))
    default:
      return reading.always(FAILED)
  }
}

/** The possible values of `holder[key]` in CEL for an unknown key: each member of the holder, or a failure. */
function memberOfAny(reading: Reading, holder: ValuePart, key: ValuePart): readonly Case[] {
  const [type, keyType] = [typeOfPart(holder), typeOfPart(key)]
  const open = reading.always(unknown(undefined))
  if (type === undefined || keyType === undefined) return open
  if (type !== 'list' && type !== 'map') return reading.always(FAILED)
  if (['list', 'map', 'null_type'].includes(keyType)) return reading.always(FAILED)
  if (type === 'list' && !isNumeric(keyType)) return reading.always(FAILED)
  if (holder.is === 'map') return keyType === 'string' ? open : reading.always(FAILED)
  const members = membersOf(holder)
  if (members === undefined || members.length > MOST_UNROLLED) return open
  const { world } = reading
  const found = members.map(({ key: each, value }) => ({ is: equality(reading, key, constant(each)), value }))
  if (found.some((each) => each.is.is === 'unknown')) return open
  const cases = found.map((each): Case => ({ guard: truthOf(world, each.is).yes, value: each.value }))
  return [...cases, { guard: -world.or(...cases.map(({ guard }) => guard)), value: FAILED }]
}

/**
 * A map of keys and values, which alternate in `values`; undefined when a key is not known or is repeated, or when the
 * evaluation of a value may fail.
 */
export function recordOf(values: readonly ValuePart[]): ValuePart | undefined {
  if (values.some(mayFail)) return undefined
  const entries = new Map<string | bigint, ValuePart>()
  for (let i = 0; i < values.length; i += 2) {
    const [key, value] = [values[i], values[i + 1]]
    if (key?.is !== 'value' || value === undefined) return undefined
    if (typeof key.value !== 'string' && typeof key.value !== 'bigint') return undefined
    entries.set(key.value, value)
  }
  return entries.size * 2 === values.length ? { is: 'record', entries } : undefined
}

/** The keys and values of a list or map whose keys are all known; undefined for any other value. */
function membersOf(
  holder: ValuePart,
): readonly { readonly key: Value; readonly value: ValuePart }[] | undefined {
  if (holder.is === 'tuple') return holder.items.map((value, i) => ({ key: BigInt(i), value }))
  if (holder.is === 'record') return Array.from(holder.entries, ([key, value]) => ({ key, value }))
  if (holder.is !== 'value' || holder.value instanceof Failure) return undefined
  if (holder.value instanceof CelMap)
    return Array.from(holder.value.entries(), ([key, value]) => ({ key, value: constant(value) }))
  if (!isList(holder.value)) return undefined
  return holder.value.map((value, i) => ({ key: BigInt(i), value: constant(value) }))
}
