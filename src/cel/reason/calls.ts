import type { Call, Expr } from '../ast.ts'
import { overloadsOf } from '../declarations.ts'
import { TypeName } from '../evaluate/values.ts'
import { boolOf, contained, equality, ordered, size, textTest, wholeNumber } from './comparisons.ts'
import { member } from './members.ts'
import {
  type Case,
  FAILED,
  constant,
  mayFail,
  opposite,
  type ValuePart,
  sumOf,
  typeOfPart,
  unknown,
} from './parts.ts'
import type { Reading } from './reading.ts'

/** The possible results of a call with these arguments. */
export function applied(
  reading: Reading,
  expr: Call,
  operands: readonly Expr[],
  args: readonly ValuePart[],
): readonly Case[] {
  const settled = reading.matcher.settled.get(expr)
  const types = args.map(typeOfPart)
  if (settled?.some((type, i) => types[i] !== undefined && types[i] !== type) === true)
    return reading.always(FAILED)
  if (settled?.some((_, i) => types[i] === undefined) === true) return reading.always(unknown(undefined))
  if (args.every((each) => each.is === 'value'))
    return reading.always(constant(reading.computed(expr, operands, args)))
  const [a = FAILED, b = FAILED] = args
  switch (expr.name) {
    case '_==_':
      return reading.always(equality(reading, a, b))
    case '_!=_':
      return reading.always(opposite(equality(reading, a, b)))
    case '_<_':
    case '_<=_':
    case '_>_':
    case '_>=_':
      return reading.always(ordered(reading, expr.name, a, b))
    case '@in':
      return reading.always(contained(reading, a, b))
    case '_[_]':
      return member(reading, expr, a, b)
    case 'dyn':
      return reading.always(a)
    case 'type': {
      const type = typeOfPart(a)
      return reading.always(type === undefined || mayFail(a) ? unknown('type') : constant(new TypeName(type)))
    }
    case 'startsWith':
    case 'endsWith':
    case 'contains':
    case 'matches':
      return reading.always(textTest(reading, expr.name, a, b))
    case 'size':
      return reading.always(size(reading, a))
    case '_+_': {
      const sum = sumOf(a, b)
      if (sum !== undefined) return reading.always(sum)
      if (types.every((type) => type === 'list') && !args.some(({ is: kind }) => kind === 'unknown'))
        return reading.always({ is: 'joined', lists: args.flatMap(listsOf) })
      break
    }
    case 'bool':
      if (types[0] === 'string')
        return reading.always(boolOf(reading, a, (value) => reading.computed(expr, operands, [value])))
      break
    case 'int':
      return wholeNumber(reading, a)
    case 'double':
    case 'string':
      if (types[0] === expr.name) return reading.always(a)
  }
  return reading.always(byType(expr, types, args))
}

/** The result of a call as far as the types of its arguments determine it: a failure when no signature fits. */
function byType(expr: Call, types: readonly (string | undefined)[], args: readonly ValuePart[]): ValuePart {
  const fitting = overloadsOf(expr.name, expr.target !== undefined, types.length).filter((overload) =>
    overload.args.every(
      ({ kind }, i) => kind === 'parameter' || types[i] === undefined || types[i] === kind || kind === 'dyn',
    ),
  )
  if (fitting.length === 0) return FAILED
  const results = new Set(fitting.map(({ result }) => result.kind))
  const [first] = results
  const isOne = results.size === 1 && first !== 'parameter' && first !== 'dyn'
  const never =
    /^_[-+*/]_$/.test(expr.name) &&
    (types.every((type) => type === 'double') ||
      (expr.name === '_+_' && ['string', 'list'].some((name) => types.every((type) => type === name))))
  return { is: 'unknown', type: isOne ? first : undefined, fails: !never || args.some(mayFail) }
}

const listsOf = (part: ValuePart): readonly ValuePart[] => (part.is === 'joined' ? part.lists : [part])
