import type { Comprehension, Expr } from '../ast.ts'

/** The macro `exists`, `all` or `exists_one`, with its condition. */
interface TestMacro {
  readonly name: 'all' | 'exists' | 'one'
  readonly type: 'bool'
  readonly test: Expr
}

/** The macro `map` or `filter`, with its condition and the item that it appends. */
export interface MapMacro {
  readonly name: 'map'
  readonly type: 'list'
  readonly test: Expr | undefined
  readonly item: Expr
}

export type Macro = TestMacro | MapMacro

/** The macro from which a comprehension was expanded; undefined when it does not look like a macro. */
export function macroOf({ init, step, result }: Comprehension): Macro | undefined {
  if (step.kind !== 'call') return undefined
  const [first, second] = step.args
  if (init.kind === 'literal' && init.type === 'bool' && second !== undefined)
    return { name: init.value ? 'all' : 'exists', type: 'bool', test: second }
  if (init.kind === 'literal' && first !== undefined && result.kind === 'call')
    return { name: 'one', type: 'bool', test: first }
  if (init.kind !== 'list') return undefined
  const test = step.name === '_?_:_' ? first : undefined
  const append = step.name === '_?_:_' ? second : step
  const list = append?.kind === 'call' ? append.args[1] : undefined
  const item = list?.kind === 'list' ? list.elements[0] : undefined
  return item === undefined ? undefined : { name: 'map', type: 'list', test, item }
}
