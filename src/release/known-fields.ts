import { KNOWN_FIELDS } from './generated/known-fields.ts'
import type { ReleaseSchema } from './schema.ts'

export { NEWEST_RELEASE } from './generated/known-fields.ts'

/** A field that some known release has. */
export interface KnownField extends ReleaseSchema {
  /**
   * The release that brought it; absent where the field around it came at the same time, or the oldest known release
   * has it.
   */
  readonly since?: string
}

let fields: Readonly<Record<string, KnownField>> | undefined

/** The fields of a kind that any known release has. */
export const knownFields = (kind: string): KnownField | undefined =>
  (fields ??= JSON.parse(KNOWN_FIELDS) as Readonly<Record<string, KnownField>>)[kind]
