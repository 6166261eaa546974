import type {
  Call,
  Comprehension,
  Expr,
  Ident,
  ListExpr,
  LiteralExpr,
  MapEntry,
  MapExpr,
  Message,
  Select,
} from './ast.ts'

/**
 * The deepest nesting of a CEL expression. As in cel-go, the limit applies to each of three counters of the parser
 * (nested expressions, comparisons and arithmetic operations: see `Parser`), and to the height of the finished tree.
 */
export const maxDepth = 250

/** The most nodes of a syntax tree after the expansion of macros. */
const maxNodes = 20_000

/**
 * The first syntax error in a CEL source; `offset` is a UTF-16 index. This class does not extend Error, because a stack
 * trace would cost more than the parse.
 */
export class SyntaxProblem {
  readonly offset: number
  readonly message: string

  constructor(offset: number, message: string) {
    this.offset = offset
    this.message = message
  }
}

/** The syntax error that a CEL expression is nested too deep at this UTF-16 offset. */
export function tooDeep(offset: number): SyntaxProblem {
  return new SyntaxProblem(offset, `expression is nested more than ${maxDepth} levels deep`)
}

/** Creates the nodes of a CEL syntax tree; throws SyntaxProblem when it has too many nodes or becomes too high. */
export class TreeBuilder {
  #nodes = 0

  literal(offset: number, value: LiteralValue): LiteralExpr {
    this.#count(offset)
    return { kind: 'literal', offset, height: 0, type: value.type, value: value.value } as LiteralExpr
  }

  ident(offset: number, name: string, absolute = false): Ident {
    this.#count(offset)
    return { kind: 'ident', offset, height: 0, name, absolute }
  }

  select(offset: number, operand: Expr, field: string, testOnly = false): Select {
    this.#count(offset)
    return { kind: 'select', offset, height: above(offset, operand.height), operand, field, testOnly }
  }

  /** A call node that is one level above its operands: an operator with two or three operands, an index or a method. */
  call(offset: number, name: string, args: readonly Expr[], target?: Expr): Call {
    this.#count(offset)
    const height = above(offset, tallest(args, target?.height))
    return { kind: 'call', offset, height, name, target, args }
  }

  /** A call node that adds no level of nesting: of a function, !, -, && or ||, or of a call that a macro inserts. */
  flatCall(offset: number, name: string, args: readonly Expr[]): Call {
    this.#count(offset)
    return { kind: 'call', offset, height: tallest(args), name, target: undefined, args }
  }

  list(offset: number, elements: readonly Expr[]): ListExpr {
    this.#count(offset)
    return { kind: 'list', offset, height: tallest(elements), elements }
  }

  map(offset: number, entries: readonly MapEntry[]): MapExpr {
    this.#count(offset, 1 + entries.length)
    const tallestEntry = entries.reduce((top, { key, value }) => Math.max(top, key.height, value.height), 0)
    return { kind: 'map', offset, height: tallestEntry, entries }
  }

  message(offset: number, name: string, fields: Message['fields']): Message {
    this.#count(offset, 1 + fields.length)
    const tallestField = fields.reduce((top, { value }) => Math.max(top, value.height), 0)
    return { kind: 'message', offset, height: tallestField, name, fields }
  }

  /** The loop of a macro such as `all`; it is one level above `written`, the macro's subexpressions in the source. */
  comprehension(offset: number, written: readonly Expr[], loop: Loop): Comprehension {
    this.#count(offset)
    return { kind: 'comprehension', offset, height: above(offset, tallest(written)), ...loop }
  }

  #count(offset: number, nodes = 1): void {
    this.#nodes += nodes
    if (this.#nodes > maxNodes) throw new SyntaxProblem(offset, 'expression has too many parts')
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never
export type LiteralValue = DistributiveOmit<LiteralExpr, 'kind' | 'offset' | 'height'>
export type Loop = Omit<Comprehension, 'kind' | 'offset' | 'height'>

function tallest(nodes: readonly Expr[], atLeast = 0): number {
  let height = atLeast
  for (const node of nodes) if (node.height > height) height = node.height
  return height
}

function above(offset: number, height: number): number {
  if (height >= maxDepth) throw tooDeep(offset)
  return height + 1
}
