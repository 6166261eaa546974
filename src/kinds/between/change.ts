import { namesText, type ObjectName } from '../../rule/cluster.ts'
import { advice, type FieldError } from '../../rule/field-error.ts'
import { shortQuote } from '../../rule/go-text.ts'
import type { Path } from '../../rule/path.ts'

/** A field that others rely on, as it was and as it will be. */
export interface Watched {
  readonly at: Path<unknown>
  readonly before: string | undefined
  readonly after: string | undefined
}

/** One piece of advice for each field that changes, if anybody uses the object. */
export function* changesFor(
  consumers: readonly ObjectName[],
  fields: readonly Watched[],
): Iterable<FieldError> {
  if (consumers.length === 0) return
  for (const { at, before, after } of fields) {
    if (before === undefined || after === undefined || before === after) continue
    yield advice(at, `changes from ${shortQuote(before)} for ${namesText(consumers)}`)
  }
}
