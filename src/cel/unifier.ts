import { dyn, variable, withArgs } from './types.ts'
import type { Type } from './types.ts'

/**
 * Most list and map types that one check may walk through. A type may share parts, so that comparing two of them
 * takes time exponential in the length of the source: [1].map(a, {a: a}).map(b, {b: b})… . What people write needs
 * less than a hundred steps, the longest sources without such types up to 10,000.
 */
export const maxSteps = 40_000

/** The check of one expression would take too long. */
export class TooComplex extends Error {}

interface Binding {
  readonly variable: Type
  readonly before: Type | undefined
}

/** Decides which types go together, and binds type variables on the way (CEL language definition, "Gradual Type Checking"). */
export class Unifier {
  readonly #trail: Binding[] = []
  #steps = 0

  /** Whether each type is usable where the wanted one stands; if not, nothing is bound. Throws TooComplex. */
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

  /** The type of a list element or map key when `next` joins the ones before; dyn when they do not fit. */
  join(previous: Type | undefined, next: Type): Type {
    if (previous === undefined) return next
    if (this.assign(next, previous)) return this.#general(previous, next)
    return this.assign(previous, next) ? next : dyn
  }

  /** A type variable's meaning so far; any other type is returned as it is. */
  resolve(type: Type): Type {
    const last = this.#representative(type)
    return last.bound ?? last
  }

  /** Binds a variable that has no meaning yet. */
  bind(target: Type, type: Type): void {
    this.#trail.push({ variable: target, before: target.bound })
    target.bound = type
  }

  /** A declared type with variables in place of its parameters; `variables` holds those of one call. */
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
    const resolved = this.resolve(type)
    if (!resolved.open || resolved.args.length === 0) return resolved
    this.#step()
    const args: Type[] = []
    for (const arg of resolved.args) args.push(this.settle(arg))
    return withArgs(resolved, args)
  }

  /** Whether two settled types are equal. */
  equal(one: Type, other: Type): boolean {
    if (one === other) return true
    if (one.kind !== other.kind || one.kind === 'variable' || one.args.length !== other.args.length)
      return false
    this.#step()
    return one.args.every((arg, index) => this.equal(arg, other.args[index] ?? arg))
  }

  #assign(type: Type, wanted: Type): boolean {
    if (type === wanted && !type.open) return true
    const want = this.#representative(wanted)
    if (want.bound !== undefined) return this.#assignToBound(type, want, want.bound)
    const from = this.resolve(type)
    if (want.kind === 'variable') return from === want || this.#bindUnlessWithin(want, from)
    if (from.kind === 'variable') return this.#bindUnlessWithin(from, want)
    if (isAnything(from) || isAnything(want)) return true
    if (from.kind === 'null_type') return isNullable(want)
    if (from.kind !== want.kind) return false
    if (from.kind === 'type') return true
    if (from.args.length === 0) return true
    this.#step()
    return this.#assignArgs(from.args, want.args)
  }

  #assignArgs(types: readonly Type[], wanted: readonly Type[]): boolean {
    let index = 0
    for (const type of types) {
      const want = wanted[index++]
      if (want === undefined || !this.#assign(type, want)) return false
    }
    return true
  }

  /** A variable that has a type keeps the more general one of that and the new. */
  #assignToBound(type: Type, variable: Type, bound: Type): boolean {
    const fits = this.#assign(type, bound) || (bound.kind === 'null_type' && this.#assign(bound, type))
    if (fits) this.bind(variable, this.#general(bound, type))
    return fits
  }

  /** The last of the variables that stand for each other; shortens the way there, or long chains cost a square. */
  #representative(type: Type): Type {
    let last = type
    let hops = 0
    while (last.bound?.kind === 'variable') {
      last = last.bound
      hops++
    }
    if (hops > 1) this.bind(type, last)
    return last
  }

  #bindUnlessWithin(target: Type, type: Type): boolean {
    if (this.#occurs(target, type)) return false
    this.bind(target, type)
    return true
  }

  #occurs(target: Type, type: Type): boolean {
    const resolved = this.resolve(type)
    if (resolved === target) return true
    if (!resolved.open || resolved.args.length === 0) return false
    this.#step()
    for (const arg of resolved.args) if (this.#occurs(target, arg)) return true
    return false
  }

  /** The less specific of two types of which one is usable as the other. */
  #general(one: Type, other: Type): Type {
    const first = this.resolve(one)
    const second = this.resolve(other)
    if (first === second) return first
    if (first.kind === 'variable') return second
    if (isAnything(first) || second.kind === 'dyn') return dyn
    if (first.kind === 'null_type') return second
    if (first.kind !== second.kind || first.kind === 'type') return first
    if (first.args.length === 0) return first
    this.#step()
    const args: Type[] = []
    for (const arg of first.args) args.push(this.#general(arg, second.args[args.length] ?? arg))
    return withArgs(first, args)
  }

  #undo(mark: number): void {
    while (this.#trail.length > mark) {
      const binding = this.#trail.pop()
      if (binding !== undefined) binding.variable.bound = binding.before
    }
  }

  #step(): void {
    if (++this.#steps > maxSteps) throw new TooComplex()
  }
}

function isAnything(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error'
}

function isNullable(type: Type): boolean {
  return type.kind === 'google.protobuf.Timestamp' || type.kind === 'google.protobuf.Duration'
}
