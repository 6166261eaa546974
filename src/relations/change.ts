import {
  advice,
  type FieldError,
  isAbsent,
  namesText,
  type ObjectName,
  type Path,
  type Related,
  relatedTo,
  shortQuote,
} from '../rule/index.ts'

/** The value of a field: null when absent, undefined when its JSON type is wrong. */
export type HeldValue = string | null | undefined

/** A field on which other objects depend, with its values before and after an update. */
export interface Watched {
  readonly at: Path<unknown>
  readonly before: HeldValue
  readonly after: HeldValue
}

/** The value of a field of `holder`; undefined when `holder` is undefined. */
export function heldIn<F extends string>(
  holder: Readonly<Partial<Record<F, string | undefined>>> | undefined,
  field: F,
): HeldValue {
  return holder === undefined ? undefined : isAbsent(holder, field) ? null : holder[field]
}

/**
 * Advice for each changed field of an object that the `consumers` use; if `type` changed, only about `type`. Each
 * text ends with `effect`.
 */
export function* changesFor(
  consumers: readonly ObjectName[],
  type: Watched,
  others: readonly Watched[],
  ends: () => readonly Related[],
  effect: string,
): Iterable<FieldError> {
  if (consumers.length === 0) return
  for (const { at, before, after } of isChanged(type) ? [type] : others.filter(isChanged)) {
    const to = typeof after === 'string' && typeof before === 'string' ? '' : ` to ${textOf(after)}`
    const detail = `changes from ${textOf(before)}${to} for ${namesText(consumers)}${effect}`
    yield relatedTo(advice(at, detail), ends())
  }
}

/** Whether the values differ; false when one of them is unreadable. */
export const isChanged = ({ before, after }: Watched): boolean =>
  before !== undefined && after !== undefined && before !== after

const textOf = (held: HeldValue): string => (typeof held === 'string' ? shortQuote(held) : 'none')
