import { type Static, Type } from 'typebox'

const text = (description: string, options = {}) => Type.String({ description, minLength: 1, ...options })
const closed = { additionalProperties: false } as const
const oneOf = <T extends string>(description: string, values: readonly [T, ...T[]]) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description })

/** The most characters of a pattern; names have at most 253. */
const PATTERN = { maxLength: 500 }

const ExemptionSchema = Type.Object(
  {
    id: text('Id of the rule, as in findings.'),
    object: Type.Optional(
      Type.Object(
        {
          kind: Type.Optional(text('Kind; * stands for any characters.', PATTERN)),
          namespace: Type.Optional(text('Namespace; * stands for any characters.', PATTERN)),
          name: Type.Optional(text('Name; * stands for any characters.', PATTERN)),
        },
        { description: 'The objects that it is for; without it all.', ...closed },
      ),
    ),
    path: Type.Optional(
      text('Path of the field without list indexes, such as spec.incomingAuth.type; without it all.'),
    ),
    reason: text('Why the finding is not reported.'),
    expires: Type.Optional(
      text('The last day on which it holds, in UTC, such as 2026-12-31.', {
        pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      }),
    ),
  },
  closed,
)

const list = <T extends Type.TSchema>(item: T, description: string) =>
  Type.Optional(Type.Array(item, { description }))

/** The schema of a configuration file. */
export const ConfigurationSchema = Type.Object(
  {
    profile: Type.Optional(
      oneOf('Severities to begin with: strict makes errors of warnings that are wrong for certain.', [
        'standard',
        'strict',
      ]),
    ),
    release: Type.Optional(
      text(
        'Release of the operator that the resources are for, in quotes, such as "0.63"; none: the specification alone.',
      ),
    ),
    severities: list(
      text('ID[:PATH]=error|warning|advice|off[@NAMESPACE,...]'),
      'Severities of rules; the last that applies counts.',
    ),
    exemptions: list(ExemptionSchema, 'Findings that are not reported, each with a reason.'),
    allowIgnores: Type.Optional(
      oneOf(
        'Which findings the ignores in manifests may be for. Without it comments may ignore all, and annotations warnings.',
        ['none', 'warnings', 'all'],
      ),
    ),
    namespaces: Type.Optional(
      Type.Object(
        {
          default: Type.Optional(text('Namespace of documents that name none.')),
          leaveOut: list(
            text('Name; * stands for any characters.', PATTERN),
            'Namespaces whose objects are not judged.',
          ),
        },
        closed,
      ),
    ),
    placeholders: list(
      text(
        'As it stands in manifests, such as @@*@@; * stands for letters, digits, ".", "_" and "-".',
        PATTERN,
      ),
      'Texts that a tool of yours fills in before deployment, beside ${NAME}, $NAME, {{ … }} and <NAME>.',
    ),
  },
  { title: 'Configuration of vmcp-admission', ...closed },
)

export type WrittenConfiguration = Static<typeof ConfigurationSchema>
