import { type FieldError, forbidden, isAbsent, type Path, type Policy, required } from '../rule/index.ts'

/** A spec in which `type` is the name of the field that contains its settings. */
type Typed<Field extends string> = { readonly type?: string | undefined } & Readonly<
  Partial<Record<Field, unknown>>
>

/**
 * Reports a missing field for the settings of the type, and each present field for the settings of another type.
 * Reports nothing when `type` is missing or unknown.
 */
export function* settingsOfType<Field extends string>(
  spec: Typed<Field> | undefined,
  types: readonly string[],
  fields: readonly Field[],
  path: { readonly spec: Readonly<Record<Field, Path<unknown>>> },
): Iterable<FieldError> {
  const type = spec?.type
  if (spec === undefined || type === undefined || !types.includes(type)) return
  for (const field of fields) {
    const given = !isAbsent<Typed<Field>>(spec, field)
    if (field === type && !given) yield required(path.spec[field], `must be set when \`type\` is '${type}'`)
    if (field !== type && given) {
      yield forbidden(path.spec[field], `may only be set when \`type\` is '${field}', not '${type}'`)
    }
  }
}

/** A ValidatingAdmissionPolicy that requires the field named by `type`, and forbids the fields of other types. */
export function settingsOfTypePolicy(types: readonly string[], fields: readonly string[]): Policy {
  return {
    expression: `
      !(self.?spec.?type.orValue('') in ${JSON.stringify(types)}) ||
      ${JSON.stringify(fields)}.all(field,
        (self.spec[?field].orValue(null) != null) == (field == self.spec.type))`,
  }
}
