import type { TSchema } from 'typebox'
import { Settings } from 'typebox/system'
import { Errors } from 'typebox/value'
import { nearest, shortQuote } from '../rule/index.ts'

export type Step = string | number

/** Raises the number of errors that TypeBox reports, which is eight by default. */
Settings.Set({ maxErrors: 100 })

export interface SchemaProblem {
  readonly at: readonly Step[]
  readonly message: string
  readonly target?: 'key'
}

/** Describes TypeBox's errors; `whole` names the value in messages. All errors about an unknown key become one. */
export function schemaProblems(schema: TSchema, value: unknown, whole: string): SchemaProblem[] {
  return Errors(schema, value).flatMap((error): SchemaProblem[] => {
    const at = stepsOf(error.instancePath)
    const field = at.length === 0 ? whole : `'${String(at.at(-1))}'`
    switch (error.keyword) {
      // TypeBox reports each unknown key with the keyword `boolean`, and all of them once as `additionalProperties`, an
      // error that it omits when there are too many errors.
      case 'boolean': {
        const known = Object.keys(keysAt(schema, at.slice(0, -1)))
        const key = String(at.at(-1))
        const near = nearest(key, known)
        const advice = near === undefined ? `; the keys are ${known.join(', ')}` : `; did you mean '${near}'`
        return [{ at, message: `there is no key ${shortQuote(key)}${advice}`, target: 'key' }]
      }
      case 'additionalProperties':
        return []
      case 'required':
        return error.params.requiredProperties.map((key) => ({ at, message: `'${key}' is missing` }))
      case 'enum': {
        const values = error.params.allowedValues.map(String)
        const near = nearest(String(valueAt(value, at)), values)
        const advice = near === undefined ? '' : `; did you mean '${near}'`
        return [{ at, message: `${field} is one of ${values.join(', ')}${advice}` }]
      }
      case 'type':
        // YAML parses 0.50 as the number 0.5, so a release must be in quotes.
        if (at.join('.') === 'release' && typeof valueAt(value, at) === 'number')
          return [{ at, message: `'release' must be in quotes, such as '0.63'` }]
        return [
          { at, message: `${field} must be ${IN_WORDS[String(error.params.type)] ?? 'of another type'}` },
        ]
      case 'pattern':
        return [{ at, message: `${field} must be a day such as 2026-12-31` }]
      case 'minLength':
        return [{ at, message: `${field} must not be empty` }]
      case 'maxLength': {
        const name = String(at.findLast((step) => typeof step === 'string'))
        return [{ at, message: `'${name}' has at most ${error.params.limit} characters` }]
      }
      default:
        return [{ at, message: `${field} ${error.message}` }]
    }
  })
}

const IN_WORDS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  object: 'a map',
  string: 'a text',
}

const stepsOf = (pointer: string): Step[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')))

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** The properties that the schema has at a path. */
function keysAt(whole: Schema, at: readonly Step[]): Readonly<Record<string, unknown>> {
  let schema = whole
  for (const step of at) schema = (typeof step === 'number' ? schema.items : schema.properties?.[step]) ?? {}
  return schema.properties ?? {}
}

const valueAt = (value: unknown, at: readonly Step[]): unknown =>
  at.reduce<unknown>((inner, step) => (inner as Record<Step, unknown> | undefined)?.[step], value)
