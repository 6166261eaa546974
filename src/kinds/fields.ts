import { type TObject, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { must, type Statement } from '../rule/index.ts'
import { PATTERNS } from './patterns.ts'

/**
 * Keywords that the schema of a field may have in addition to JSON Schema:
 * - `source`: for an object, the section of the specification (or the decision) that lists its fields;
 * - `statements`: other statements of the specification about the field, for contributing/coverage.md;
 * - `rePattern`: the pattern as the specification writes it, for CRDs (`pattern` is the ECMAScript equivalent);
 * - `decided`: the keywords that a decision adds to the specification, which `crds-strict` does not have;
 * - `open`: an object whose fields the specification does not list completely (decision 2);
 * - `newer`: a field of releases that the specification does not have (decision 3);
 * - `since`: the release that introduced such a field, if older releases are still in use;
 * - `create`: an absent object that /mutate creates because of the defaults inside (decision 23);
 * - `defaultFrom`: a default that is copied from another field of the resource.
 */
export interface Annotations extends TSchemaOptions {
  source?: string
  statements?: readonly Statement[]
  rePattern?: string
  decided?: readonly string[]
  open?: boolean
  newer?: boolean
  since?: string
  create?: boolean
  defaultFrom?: string
}
export const ANNOTATIONS = [
  'source',
  'statements',
  'rePattern',
  'decided',
  'open',
  'newer',
  'since',
  'create',
  'defaultFrom',
] as const

const describe = (description: string, annotations: Annotations = {}): Annotations => ({
  description,
  ...annotations,
})

/** Creates the schema of a string that may be empty. */
export const text = (description: string, annotations?: Annotations) =>
  Type.String(describe(description, annotations))

/** Creates the schema of a required string. Decision 17 adds to the specification that it must not be empty. */
export const name = (description: string, annotations?: Annotations) =>
  Type.String(describe(description, { minLength: 1, decided: ['minLength'], ...annotations }))

/** Creates the schema of a string for which the specification itself requires minLength 1. */
export const filled = (description: string, annotations?: Annotations) =>
  Type.String(describe(description, { minLength: 1, ...annotations }))

/** Creates the schema of a string that must match a pattern (specification 2.5), in a field of the specification. */
export const matching = (
  pattern: keyof typeof PATTERNS,
  description: string,
  { statements = [], ...annotations }: Annotations = {},
) =>
  like(pattern, description, {
    statements: [must('2.5', PATTERNS[pattern].name), ...statements],
    ...annotations,
  })

/** Creates the schema of a string that must match a pattern (specification 2.5), in a field of newer releases only. */
export const like = (pattern: keyof typeof PATTERNS, description: string, annotations?: Annotations) =>
  Type.String(
    describe(description, {
      pattern: PATTERNS[pattern].ecmaScript,
      rePattern: PATTERNS[pattern].specification,
      ...annotations,
    }),
  )

/** Creates the schema of a string that must be one of these values. */
export const oneOf = <T extends string>(
  values: readonly T[],
  description: string,
  annotations?: Annotations,
) => Type.Unsafe<T>(describe(description, { type: 'string', enum: values, ...annotations }))

/** Creates the schema of an integer of 32 bits. */
export const int32 = (description: string, annotations?: Annotations) =>
  Type.Integer(describe(description, { format: 'int32', ...annotations }))

/** Creates the schema of an integer of 64 bits; JSON numbers beyond 2^53 lose digits (decision 17). */
export const int64 = (description: string, annotations?: Annotations) =>
  Type.Integer(describe(description, { format: 'int64', ...annotations }))

export const flag = (description: string, annotations?: Annotations) =>
  Type.Boolean(describe(description, annotations))

export const list = <T extends TSchema>(item: T, description: string, annotations?: Annotations) =>
  Type.Array(item, describe(description, annotations))

/** Creates the schema of a map with any keys: `additionalProperties` in JSON Schema, as in structural CRD schemas. */
export const map = <T extends TSchema>(value: T, description: string, annotations?: Annotations) =>
  Type.Unsafe<Record<string, Type.Static<T>>>(
    describe(description, { type: 'object', additionalProperties: value, ...annotations }),
  )

/** Creates the schema of an object with these fields, which are required unless they are in `optional` or `newer`. */
export const object = <P extends TProperties>(
  properties: P,
  description: string,
  annotations?: Annotations,
): TObject<P> => Type.Object(properties, describe(description, annotations))

/**
 * Marks a field as optional and as one that only releases have, not the specification: the CRDs of this project do not
 * declare it. `since` is the first known release with the field, such as `0.43`: when the installed release is not
 * known, the rule `unknown-field` reports each use of a field with `since`.
 */
export const newer = <T extends TSchema>(field: T, since?: string) =>
  Type.Optional<T>({ ...field, newer: true, ...(since !== undefined && { since }) })

export const optional = Type.Optional
