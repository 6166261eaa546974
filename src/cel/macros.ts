import type { Comprehension, Expr } from './ast.ts'
import { SyntaxProblem } from './builder.ts'
import type { Loop, TreeBuilder } from './builder.ts'

/** The numbers of arguments with which `receiver.name(…)` is a macro; with another number it is an ordinary call. */
const receiverMacros = new Map<string, readonly number[]>([
  ['all', [2]],
  ['exists', [2]],
  ['exists_one', [2]],
  ['map', [2, 3]],
  ['filter', [2]],
])

// The accumulator variable of a loop; no identifier in CEL can have this name.
const accumulator = '@result'

/**
 * Expands `has(a.b)` (CEL language definition, "Macros"); undefined when the call is not this macro. Throws
 * SyntaxProblem when the argument is not a field selection.
 */
export function expandGlobalMacro(
  build: TreeBuilder,
  offset: number,
  name: string,
  args: readonly Expr[],
): Expr | undefined {
  const argument = args[0]
  if (name !== 'has' || argument === undefined || args.length !== 1) return undefined
  if (argument.kind !== 'select') {
    throw new SyntaxProblem(
      argument.offset,
      'has() takes a field selection such as has(claims.act); for a computed key write "key" in claims',
    )
  }
  return build.select(offset, argument.operand, argument.field, true)
}

/**
 * Expands `range.all(x, p)`, `exists`, `exists_one`, `map` and `filter` (CEL language definition, "Macros"); undefined
 * when the call is none of these macros. Throws SyntaxProblem when the first argument is not a variable name.
 */
export function expandReceiverMacro(
  build: TreeBuilder,
  offset: number,
  name: string,
  range: Expr,
  args: readonly Expr[],
): Comprehension | undefined {
  if (receiverMacros.get(name)?.includes(args.length) !== true) return undefined
  const [variable, body, transform] = args
  if (variable === undefined || body === undefined) return undefined
  if (variable.kind !== 'ident') {
    throw new SyntaxProblem(variable.offset, `the first argument of ${name}() must be a variable name`)
  }
  if (variable.name === '__result__') {
    throw new SyntaxProblem(variable.offset, "'__result__' cannot be used as a variable name")
  }
  const result = loopParts(build, offset, name, variable.name, body, transform)
  return build.comprehension(offset, [range, ...args], {
    // A variable that is declared with a leading dot gets a name to which the body cannot refer.
    iterVar: variable.absolute ? `.${variable.name}` : variable.name,
    range,
    accuVar: accumulator,
    ...result,
  })
}

type LoopParts = Pick<Loop, 'init' | 'condition' | 'step' | 'result'>

function loopParts(
  build: TreeBuilder,
  offset: number,
  name: string,
  variable: string,
  body: Expr,
  transform: Expr | undefined,
): LoopParts {
  const accu = () => build.ident(offset, accumulator)
  const bool = (value: boolean) => build.literal(offset, { type: 'bool', value })
  const int = (value: bigint) => build.literal(offset, { type: 'int', value })
  const call = (operator: string, ...args: Expr[]) => build.flatCall(offset, operator, args)
  switch (name) {
    case 'all':
      return {
        init: bool(true),
        condition: call('@not_strictly_false', accu()),
        step: call('_&&_', accu(), body),
        result: accu(),
      }
    case 'exists':
      return {
        init: bool(false),
        condition: call('@not_strictly_false', call('!_', accu())),
        step: call('_||_', accu(), body),
        result: accu(),
      }
    case 'exists_one':
      return {
        init: int(0n),
        condition: bool(true),
        step: call('_?_:_', body, call('_+_', accu(), int(1n)), accu()),
        result: call('_==_', accu(), int(1n)),
      }
    default: {
      const test = name === 'filter' || transform !== undefined ? body : undefined
      const element = name === 'filter' ? build.ident(offset, variable) : (transform ?? body)
      const append = call('_+_', accu(), build.list(offset, [element]))
      return {
        init: build.list(offset, []),
        condition: bool(true),
        step: test === undefined ? append : call('_?_:_', test, append, accu()),
        result: accu(),
      }
    }
  }
}
