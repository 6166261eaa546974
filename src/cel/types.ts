/** A type in CEL's type checker (CEL language definition, "Values" and "Gradual Type Checking"). */
export interface Type {
  readonly kind: Kind
  readonly args: readonly Type[]
  /** Whether the type contains a type variable, bound or not. */
  readonly open: boolean
  /** The number of names in the text of the type: `map(string, dyn)` has three. */
  readonly names: number
  /** The position of a type parameter in the declaration of its function, from 0; only for kind `parameter`. */
  readonly index: number
  /** The type that a type variable is bound to; the only mutable field of a type. */
  bound: Type | undefined
}

export type ScalarKind =
  | 'dyn'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null_type'
  | 'google.protobuf.Timestamp'
  | 'google.protobuf.Duration'
  /** The type of an expression with a reported error. It fits every type, so that no further error follows. */
  | 'error'

/** A `parameter` is a type parameter in a function's declaration; the check of a call replaces it with a `variable`. */
type Kind = ScalarKind | 'list' | 'map' | 'type' | 'parameter' | 'variable'

const none: readonly Type[] = []

function scalar(kind: ScalarKind): Type {
  return { kind, args: none, open: false, names: 1, index: 0, bound: undefined }
}

export const dyn = scalar('dyn')
export const bool = scalar('bool')
export const int = scalar('int')
export const uint = scalar('uint')
export const double = scalar('double')
export const string = scalar('string')
export const bytes = scalar('bytes')
export const nullType = scalar('null_type')
export const timestamp = scalar('google.protobuf.Timestamp')
export const duration = scalar('google.protobuf.Duration')
export const errorType = scalar('error')

/** The type parameter with this index, from 0, in the declaration of a function. */
export function parameter(index: number): Type {
  return { kind: 'parameter', args: none, open: false, names: 1, index, bound: undefined }
}

/** A new, unbound type variable. */
export function variable(): Type {
  return { kind: 'variable', args: none, open: true, names: 1, index: 0, bound: undefined }
}

function container(kind: Kind, args: readonly Type[]): Type {
  let open = false
  let names = 1
  for (const arg of args) {
    open ||= arg.open
    names += arg.names
  }
  return { kind, args, open, names, index: 0, bound: undefined }
}

/** The type of lists whose elements have this type. */
export function list(element: Type): Type {
  return container('list', [element])
}

/** The type of maps whose keys and values have these types. */
export function map(key: Type, value: Type): Type {
  return container('map', [key, value])
}

/** The type of a type name such as `int`; without an argument, the type of `type` itself. */
export function typeType(of?: Type): Type {
  return container('type', of === undefined ? none : [of])
}

/** The same list, map or type with other type arguments; the same object when the arguments are unchanged. */
export function withArgs(type: Type, args: readonly Type[]): Type {
  for (let index = 0; index < args.length; index++) {
    if (args[index] !== type.args[index]) return container(type.kind, args)
  }
  return type
}

/** Follows the bindings of a type variable to the bound type; returns any other type unchanged. */
export function resolve(type: Type): Type {
  let current = type
  while (current.bound !== undefined) current = current.bound
  return current
}

// The depth at which the text of a type is cut: types that share arguments can have an exponentially long text.
const deepestDisplay = 6

/** The text of a type as cel-go prints it, such as `map(string, dyn)`; an unbound type variable is printed as `dyn`. */
export function display(type: Type, depth = 0): string {
  const { kind, args } = resolve(type)
  if (kind === 'variable') return 'dyn'
  if (args.length === 0) return kind
  if (depth === deepestDisplay) return `${kind}(…)`
  return `${kind}(${args.map((arg) => display(arg, depth + 1)).join(', ')})`
}
