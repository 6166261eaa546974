import { DEMANDED_FIELDS, KNOWN_FIELDS } from './generated/known-fields.ts'
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

/** The fields at a place that every known release demands and gives no default, and those below it. */
export interface Demanded {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Demanded>>
  readonly items?: Demanded | undefined
  readonly additionalProperties?: Demanded | undefined
}

let demanded: Readonly<Record<string, Demanded>> | undefined

/** What every known release demands of a kind. */
export const demandedFields = (kind: string): Demanded | undefined =>
  (demanded ??= JSON.parse(DEMANDED_FIELDS) as Readonly<Record<string, Demanded>>)[kind]
