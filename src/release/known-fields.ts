import { DEMANDED_FIELDS, KNOWN_FIELDS } from './generated/known-fields.ts'
import type { ReleaseSchema } from './schema.ts'

export { NEWEST_RELEASE } from './generated/known-fields.ts'

/** The schema of a field that some known operator release has. */
export interface KnownField extends ReleaseSchema {
  /**
   * The operator release that introduced the field; absent when its parent field came in the same release, or when the
   * oldest known release has the field.
   */
  readonly since?: string
}

let fields: Readonly<Record<string, KnownField>> | undefined

/** The fields of a kind that any known operator release has. */
export const knownFields = (kind: string): KnownField | undefined =>
  (fields ??= JSON.parse(KNOWN_FIELDS) as Readonly<Record<string, KnownField>>)[kind]

/** The fields that every known release requires without a default, in an object and in the objects inside it. */
export interface Demanded {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Demanded>>
  readonly items?: Demanded | undefined
  readonly additionalProperties?: Demanded | undefined
}

let demanded: Readonly<Record<string, Demanded>> | undefined

/** The fields of a kind that every known operator release requires without a default. */
export const demandedFields = (kind: string): Demanded | undefined =>
  (demanded ??= JSON.parse(DEMANDED_FIELDS) as Readonly<Record<string, Demanded>>)[kind]
