import Type, { type TProperties } from 'typebox'

/** The version of the JSON report. It increases when scripts that read the report must change, not for new fields. */
export const REPORT_VERSION = 1

export const object = (properties: TProperties, description?: string) =>
  Type.Object(properties, description === undefined ? {} : { description })

export const LOCATED = {
  file: Type.Union([Type.String(), Type.Null()], { description: 'Null for an object in a cluster.' }),
  line: Type.Integer({
    minimum: 0,
    description: 'From 1; 0 where the file as a whole is meant, or a cluster.',
  }),
  column: Type.Integer({ minimum: 0, description: 'From 1, in UTF-16 code units; 0 as for `line`.' }),
  message: Type.String({ description: 'For people; its wording may change in any version.' }),
}

export const SUBJECT = { kind: Type.String(), namespace: Type.String(), name: Type.String() }

export const PATH = Type.String({
  description: 'The path of the field, such as `spec.awsSts.roleMappings[0].matcher`.',
})

export const COUNT = Type.Integer({ minimum: 0 })

const FINDING = {
  ...LOCATED,
  severity: Type.Enum(['error', 'warning', 'advice']),
  id: Type.String({ description: 'The id of the rule; `vmcp-admission explain ID` describes it.' }),
  path: PATH,
  ...SUBJECT,
  related: Type.Array(object({ ...LOCATED, path: PATH, ...SUBJECT }), {
    description: 'The other ends of a contradiction between objects.',
  }),
  fix: Type.Union([object({ title: Type.String() }), Type.Null()], {
    description: 'What `vmcp-admission fix` would do; null where there is no safe fix.',
  }),
}

export const UNREAD = Type.Array(
  object({
    ...LOCATED,
    template: Type.Optional(Type.Literal(true)),
    notJudged: Type.Optional(
      Type.Literal(true, { description: 'It was not judged, with `--fail-on-not-judged`.' }),
    ),
  }),
  { description: 'What could not be read; the exit code is then 3.' },
)

/** The output of `check` and `audit` with `--output json`. */
export const REPORT_SCHEMA = object({
  version: Type.Literal(REPORT_VERSION),
  findings: Type.Array(object(FINDING)),
  ignored: Type.Array(
    object({
      ...FINDING,
      reason: Type.String(),
      by: Type.Enum(['comment', 'annotation', 'configuration']),
    }),
    { description: 'Findings that do not count, each with the reason that is written for it.' },
  ),
  notes: Type.Array(object(LOCATED), { description: 'What was not judged, and why.' }),
  notJudged: Type.Array(object(LOCATED), {
    description: 'Those of the notes about whole files and resources that may be built or applied.',
  }),
  unread: UNREAD,
  counts: object({
    files: COUNT,
    resources: COUNT,
    others: Type.Integer({ minimum: 0, description: 'Documents of other kinds, which are not judged.' }),
    errors: COUNT,
    warnings: COUNT,
    advice: COUNT,
    ignored: COUNT,
    notes: COUNT,
    notJudged: COUNT,
    unread: COUNT,
  }),
})
