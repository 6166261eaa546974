import { dyn, resolve, variable, withArgs } from './types.ts'
import type { Type } from './types.ts'

/**
 * The versions of cel-go that differ in type checking; 0.31 checks as 0.32 does. In 0.33 numbers of different types are
 * never comparable, and two CEL types (`type(x)`) are comparable only if their unknown parts can be equal.
 */
export type CelGoVersion = '0.32' | '0.33'

/**
 * The most names in the types of all subexpressions together; `map(string, dyn)` has three. cel-go compares types as
 * text, so its time for `[1].map(a, {a: a}).map(b, {b: b})…` is exponential in the length of the source, and up to a
 * second at this limit. Real matchers have fewer than a hundred names; the longest sources of common expressions have
 * 6,000.
 */
const maxNames = 10_000

/**
 * Most types that one check may visit; a type inside several others is visited each time. Real matchers need fewer than
 * a hundred visits, the longest sources without large types up to 10,000.
 */
const maxSteps = 40_000

/** Thrown when checking the expression would take too long, here or in cel-go. */
export class TooComplex extends Error {}

interface Binding {
  readonly variable: Type
  readonly before: Type | undefined
}

/**
 * Decides which types fit each other, and binds type variables (CEL language definition, "Gradual Type Checking"). As
 * in cel-go, it matters which of two types is assigned to the other, and to which type a variable is bound: both
 * choices change the result of the check.
 */
export class Unifier {
  /** Whether types of type names (`type(x)`) were compared: cel-go 0.32 and 0.33 may then decide differently. */
  comparedTypeNames = false
  readonly #version: CelGoVersion
  readonly #trail: Binding[] = []
  readonly #open: Type[] = []
  #steps = 0
  #names = 0

  constructor(version: CelGoVersion) {
    this.#version = version
  }

  /**
   * Adds the type names in the type of a subexpression (three in `map(string, dyn)`) to the sum that `maxNames`
   * limits. The types bound to type variables are not counted. Throws TooComplex above the limit.
   */
  count(type: Type): void {
    if (type.open) this.#open.push(type)
    this.#addNames(type.names)
  }

  /**
   * At the end of the check, adds the type names in the types bound to type variables to the sum that `maxNames`
   * limits. Throws TooComplex above the limit.
   */
  countBound(): void {
    const known = new Map<Type, number>()
    for (const type of this.#open) this.#addNames(namesWrittenOut(type, known) - type.names)
  }

  /** Whether each type fits the wanted type with the same index; if not, no variable is bound. Throws TooComplex. */
  assignAll(types: readonly Type[], wanted: readonly Type[]): boolean {
    const mark = this.#trail.length
    if (this.#assignArgs(types, wanted)) return true
    this.#undo(mark)
    return false
  }

  assign(type: Type, wanted: Type): boolean {
    const mark = this.#trail.length
    if (this.#assign(type, wanted)) return true
    this.#undo(mark)
    return false
  }

  /** The common type of list elements, or of map keys, after `next` is added; dyn when they do not fit each other. */
  join(previous: Type | undefined, next: Type): Type {
    if (previous === undefined) return next
    return this.assign(previous, next) ? this.#general(previous, next) : dyn
  }

  /** A declared type with its parameters replaced by `variables`, the type variables of the current call. */
  instantiate(type: Type, variables: Type[]): Type {
    if (type.kind === 'parameter') return (variables[type.index] ??= variable())
    return type.args.length === 0 ? type : withArgs(type, this.instantiateAll(type.args, variables))
  }

  instantiateAll(types: readonly Type[], variables: Type[]): Type[] {
    const result: Type[] = []
    for (const type of types) result.push(this.instantiate(type, variables))
    return result
  }

  /** The type with all bound variables replaced. */
  settle(type: Type): Type {
    const resolved = resolve(type)
    if (!resolved.open || resolved.args.length === 0) return resolved
    this.#step()
    const args: Type[] = []
    for (const arg of resolved.args) args.push(this.settle(arg))
    return withArgs(resolved, args)
  }

  /** Whether two types have the same text. A type variable, even a bound one, equals only itself. */
  equal(one: Type, other: Type): boolean {
    if (one === other) return true
    if (one.kind !== other.kind || one.kind === 'variable' || one.args.length !== other.args.length)
      return false
    if (one.names !== other.names || one.open !== other.open) return false
    if (one.args.length > 0) this.#step()
    return one.args.every((arg, index) => this.equal(arg, other.args[index] ?? arg))
  }

  #assign(type: Type, wanted: Type): boolean {
    if (type === wanted) return true
    if (wanted.kind === 'variable') {
      const isBound = wanted.bound !== undefined
      if (this.#assignToVariable(type, wanted)) return true
      if (isBound) return false
    }
    if (type.kind === 'variable') return this.#assignToVariable(wanted, type)
    if (isAnything(type) || isAnything(wanted)) return true
    if (type.kind === 'null_type') return isNullable(wanted)
    if (wanted.kind === 'null_type') return isNullable(type)
    if (type.kind !== wanted.kind) return false
    if (type.kind === 'type') return this.#assignTypeNames(type, wanted)
    if (type.args.length === 0) return true
    this.#step()
    return this.#assignArgs(type.args, wanted.args)
  }

  /** Whether the types of two type names fit: always in 0.32; in 0.33 only if their unknown parts can be made equal. */
  #assignTypeNames(type: Type, wanted: Type): boolean {
    this.comparedTypeNames = true
    if (this.#version === '0.32') return true
    const [from] = type.args
    const [to] = wanted.args
    if (from === undefined || to === undefined) return to === undefined
    return !(from.open || to.open) || this.#assign(from, to)
  }

  #assignArgs(types: readonly Type[], wanted: readonly Type[]): boolean {
    let index = 0
    for (const type of types) {
      const want = wanted[index++]
      if (want === undefined || !this.#assign(type, want)) return false
    }
    return true
  }

  /** Binds a type variable; if it is already bound, it gets the more general of the two types. */
  #assignToVariable(type: Type, target: Type): boolean {
    const { bound } = target
    if (bound === undefined) {
      if (this.#occurs(target, type)) return false
      this.#bind(target, type)
      return true
    }
    this.#step()
    if (this.equal(type, bound)) return true
    if (!this.#assign(type, bound)) return false
    const general = this.#general(type, bound)
    if (!this.#occurs(target, general)) this.#bind(target, general)
    return true
  }

  /** Whether a type variable occurs in a type, or in the types bound to the variables of that type. */
  #occurs(target: Type, type: Type): boolean {
    if (type === target) return true
    if (!type.open) return false
    this.#step()
    if (type.bound !== undefined) return this.#occurs(target, type.bound)
    for (const arg of type.args) if (this.#occurs(target, arg)) return true
    return false
  }

  #general(one: Type, other: Type): Type {
    return this.#isLessSpecific(one, other) ? one : other
  }

  /** Whether the first type equals the second or is less specific; every type variable counts as dyn. */
  #isLessSpecific(one: Type, other: Type): boolean {
    if (one.kind === 'dyn' || one.kind === 'variable') return true
    if (other.kind === 'dyn' || other.kind === 'variable') return false
    if (one.kind !== other.kind) return false
    if (one.args.length > 0) this.#step()
    if (one.kind === 'type') {
      this.comparedTypeNames = true
      if (this.#version === '0.32') return true
      const [inner] = one.args
      const [innerOfOther] = other.args
      if (inner === undefined || innerOfOther === undefined) return inner === undefined
      return this.#isLessSpecific(inner, innerOfOther)
    }
    return one.args.every((arg, index) => this.#isLessSpecific(arg, other.args[index] ?? arg))
  }

  #bind(target: Type, type: Type): void {
    this.#trail.push({ variable: target, before: target.bound })
    target.bound = type
  }

  #undo(mark: number): void {
    while (this.#trail.length > mark) {
      const binding = this.#trail.pop()
      if (binding !== undefined) binding.variable.bound = binding.before
    }
  }

  #addNames(names: number): void {
    this.#names += names
    if (this.#names > maxNames) throw new TooComplex()
  }

  #step(): void {
    if (++this.#steps > maxSteps) throw new TooComplex()
  }
}

/** The number of names in a type after its variables are replaced; `known` caches the numbers of inner types. */
function namesWrittenOut(type: Type, known: Map<Type, number>): number {
  const resolved = resolve(type)
  if (!resolved.open) return resolved.names
  const before = known.get(resolved)
  if (before !== undefined) return before
  let names = 1
  for (const arg of resolved.args) names += namesWrittenOut(arg, known)
  known.set(resolved, names)
  return names
}

function isAnything(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error'
}

function isNullable(type: Type): boolean {
  const { kind } = type
  return kind === 'null_type' || kind === 'google.protobuf.Timestamp' || kind === 'google.protobuf.Duration'
}
