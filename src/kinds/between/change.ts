import { namesText, type ObjectName } from '../../rule/cluster.ts'
import { advice, type FieldError } from '../../rule/field-error.ts'
import { shortQuote } from '../../rule/go-text.ts'
import type { Path } from '../../rule/path.ts'
import { isAbsent } from '../../rule/resource.ts'

/** What a field holds: null when it is absent, undefined when it cannot be read. */
export type Held = string | null | undefined

/** A field that others rely on, as it was and as it will be. */
export interface Watched {
  readonly at: Path<unknown>
  readonly before: Held
  readonly after: Held
}

/** What a field of a holder holds; that of no holder cannot be told. */
export function heldIn<F extends string>(
  holder: Readonly<Partial<Record<F, string | undefined>>> | undefined,
  field: F,
): Held {
  return holder === undefined ? undefined : isAbsent(holder, field) ? null : holder[field]
}

/** One piece of advice for each field that changes, if anybody uses the object; another type brings other fields. */
export function* changesFor(
  consumers: readonly ObjectName[],
  type: Watched,
  others: readonly Watched[],
): Iterable<FieldError> {
  if (consumers.length === 0) return
  for (const { at, before, after } of isChanged(type) ? [type] : others.filter(isChanged)) {
    const to = typeof after === 'string' && typeof before === 'string' ? '' : ` to ${textOf(after)}`
    yield advice(at, `changes from ${textOf(before)}${to} for ${namesText(consumers)}`)
  }
}

export const isChanged = ({ before, after }: Watched): boolean =>
  before !== undefined && after !== undefined && before !== after

const textOf = (held: Held): string => (typeof held === 'string' ? shortQuote(held) : 'none')
