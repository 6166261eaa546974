import type { EntityName, Variable } from './ast.ts'
import type { Fault, Origin } from './faults.ts'
import { ANY, TYPE } from './requests.ts'

/** The attributes, by key, that are known to be present (true) or absent (false) when an expression is evaluated. */
export type KnownAttributes = ReadonlyMap<string, boolean>
export const NOTHING: ReadonlyMap<string, boolean> = new Map()

export interface EvaluatedExpr {
  /** The possible types of the value, as bits of `TYPE`; 0 when the evaluation always fails. */
  readonly types: number
  readonly fails: boolean
  /** The attributes known to be present or absent after the evaluation of the expression. */
  readonly facts: KnownAttributes
  /**
   * `whenTrue`: for a value that may be a boolean, the attributes known when the value is true; undefined when it
   * cannot be true. `whenFalse`: the same for false.
   */
  readonly whenTrue?: KnownAttributes | undefined
  readonly whenFalse?: KnownAttributes | undefined
  readonly origin?: Origin | undefined
  readonly literal?: string | bigint | boolean
  readonly entity?: EntityName
  readonly variable?: Variable
  /** The items of the value, when it is a set and all its items are known. */
  readonly items?: readonly EvaluatedExpr[]
  readonly entries?: ReadonlyMap<string, EvaluatedExpr>
}

export const misfit = (
  { origin, variable, types }: EvaluatedExpr,
  operation: string,
  isCompared: boolean,
  other: EvaluatedExpr,
): Extract<Fault, { kind: 'value' }> => ({
  kind: 'value',
  origin,
  variable,
  operation,
  types,
  isCompared,
  text: textOf(other),
})

export const textOf = (value: EvaluatedExpr | undefined): string | undefined =>
  typeof value?.literal === 'string' ? value.literal : undefined

export const longOf = ({ literal }: EvaluatedExpr): bigint | undefined =>
  typeof literal === 'bigint' ? literal : undefined

export const failed = (facts: KnownAttributes): EvaluatedExpr => ({ types: 0, fails: true, facts })

/** The result of an expression whose value may have any type, and whose evaluation may fail. */
export const anything = (facts: KnownAttributes): EvaluatedExpr => ({ types: ANY, fails: true, facts })

export const either = (facts: KnownAttributes, fails: boolean): EvaluatedExpr =>
  decided([facts, facts], fails)

export const decided = (
  [whenTrue, whenFalse]: readonly (KnownAttributes | undefined)[],
  fails: boolean,
): EvaluatedExpr => ({
  types: whenTrue === undefined && whenFalse === undefined ? 0 : TYPE.boolean,
  fails: fails || (whenTrue === undefined && whenFalse === undefined),
  facts: joined(whenTrue, whenFalse) ?? NOTHING,
  whenTrue,
  whenFalse,
})

/** The result of using a value as a condition: the evaluation may fail unless the value is certainly a boolean. */
export function asBoolean(result: EvaluatedExpr): EvaluatedExpr {
  if (result.types === 0 || (result.types & TYPE.boolean) === 0)
    return { ...result, whenTrue: undefined, whenFalse: undefined }
  if (result.whenTrue !== undefined || result.whenFalse !== undefined)
    return result.types === TYPE.boolean ? result : { ...result, fails: true }
  return either(result.facts, result.fails || result.types !== TYPE.boolean)
}

export function summed(
  parts: readonly EvaluatedExpr[],
  before: KnownAttributes,
  types: number,
): EvaluatedExpr {
  const facts = parts.at(-1)?.facts ?? before
  return parts.some((part) => part.types === 0)
    ? failed(facts)
    : { types, fails: parts.some(({ fails }) => fails), facts }
}

export const withFact = (facts: KnownAttributes, key: string, isThere: boolean): KnownAttributes =>
  facts.get(key) === isThere ? facts : new Map([...facts, [key, isThere]])

/** The attributes that both arguments say are present, or both say are absent; an undefined argument is ignored. */
export function joined(
  one: KnownAttributes | undefined,
  other: KnownAttributes | undefined,
): KnownAttributes | undefined {
  if (one === undefined || one === other) return other
  if (other === undefined) return one
  const both = [...one].filter(([key, isThere]) => other.get(key) === isThere)
  return both.length === one.size ? one : new Map(both)
}
