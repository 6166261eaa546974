/** The schemas of all outputs for machines (`--output json`); each has a version field like REPORT_SCHEMA. */
import Type, { type TObject, type TProperties, type TSchema } from 'typebox'
import { COUNT, LOCATED, object, PATH, REPORT_SCHEMA, SUBJECT, UNREAD } from './report-schema.ts'

const text = (description?: string) => Type.String(description === undefined ? {} : { description })
const orNull = (schema: TSchema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
const TEXT = Type.String()
const TEXTS = Type.Array(TEXT)
const TEXT_OR_NULL = orNull(TEXT)
const VERSION = Type.Literal(1)
const CLAIMS = Type.Record(TEXT, Type.Unknown())
const RELEASES = text('The releases of the operator to which it applies: `all`, `0.50 to 0.58`.')

/** The schema of an object with shared fields, and with the fields of exactly one of the alternatives. */
const oneOf = (shared: TProperties, alternatives: readonly TProperties[]): TObject => {
  const optional = alternatives
    .flatMap((each) => Object.entries(each))
    .map(([name, schema]) => [name, Type.Optional(schema)])
  return Type.Object(
    { ...shared, ...(Object.fromEntries(optional) as TProperties) },
    { anyOf: alternatives.map((each) => ({ required: Object.keys(each) })) },
  )
}

const GROUP = object({ name: TEXT_OR_NULL, reason: TEXT_OR_NULL })

const INCOMING = object({
  summary: TEXT,
  type: orNull(TEXT, '`anonymous`, `oidc`, or another value as written.'),
  oidcConfig: TEXT_OR_NULL,
  oidcType: TEXT_OR_NULL,
  issuer: TEXT_OR_NULL,
  audience: TEXT_OR_NULL,
  reason: orNull(TEXT, 'Why values are not known.'),
})

const AUTH_SERVER = object({
  summary: TEXT,
  issuer: TEXT_OR_NULL,
  providers: TEXTS,
  complete: Type.Boolean({
    description: 'Whether these are all providers: false when a name cannot be read.',
  }),
})

const BACKEND = object({
  kind: orNull(TEXT, 'Null for a key of `backends` that is not the name of a member of the group.'),
  name: TEXT,
  summary: TEXT,
  credentials: Type.Enum(['sent', 'none', 'unavailable', 'unknown'], {
    description: '`unavailable`: configured, and the token that they need does not exist.',
  }),
  source: Type.Enum(['discovered', 'inline', 'default', 'none', 'unknown'], {
    description: 'Where the strategy comes from.',
  }),
  config: orNull(TEXT, 'The name of the MCPExternalAuthConfig.'),
  type: TEXT_OR_NULL,
  token: orNull(Type.Enum(['upstream', 'vmcp', 'secret', 'role']), 'Whose token is sent or exchanged.'),
  provider: orNull(TEXT, 'The upstream provider whose token that is.'),
  chosen: orNull(
    Type.Enum(['given', 'written', 'first']),
    'Who chose the provider: the configuration, an earlier /mutate, or the default, the first one.',
  ),
  roles: orNull(TEXTS, 'Of awsSts: the conditions and their roles in the order tried.'),
  placement: orNull(Type.Enum(['header', 'SigV4', 'not specified'])),
  header: TEXT_OR_NULL,
  reason: orNull(TEXT, 'Why there are no credentials, or why a value is not known.'),
  notes: Type.Array(TEXT, {
    description: 'Where releases of the operator differ, and what the next write changes.',
  }),
})

const CHANGE = Type.Enum(['added', 'removed', 'changed'])
/** The fields of a change: the old and the new value; null on the side where the value does not exist. */
const sides = (part: TSchema) => ({ old: orNull(part), new: orNull(part) })

const PLAN = oneOf({ version: VERSION, unread: UNREAD }, [
  {
    virtualMCPServers: Type.Array(
      object({
        namespace: TEXT,
        name: TEXT,
        group: GROUP,
        incoming: INCOMING,
        authServer: orNull(AUTH_SERVER),
        backends: Type.Array(BACKEND),
        notes: TEXTS,
      }),
    ),
  },
  {
    changes: Type.Array(
      object({
        namespace: TEXT,
        name: TEXT,
        change: CHANGE,
        group: orNull(object(sides(GROUP))),
        incoming: orNull(object(sides(INCOMING))),
        authServer: orNull(object(sides(AUTH_SERVER))),
        backends: Type.Array(object({ kind: TEXT_OR_NULL, name: TEXT, change: CHANGE, ...sides(BACKEND) })),
      }),
      { description: 'Of an old and a new state.' },
    ),
  },
])

/** Names the part of a manifest that determines access: the object, and the path of the part. */
const ENTRY = { ...SUBJECT, path: PATH }
const OUTCOME = object({ access: TEXT_OR_NULL, by: text('The field that decides it, or why there is none.') })

const ACCESS = oneOf({ version: VERSION, unread: UNREAD }, [
  {
    compared: COUNT,
    verdict: Type.Enum(['different', 'not decided', 'no difference']),
    differences: Type.Array(
      object({
        ...ENTRY,
        changes: Type.Array(
          object({
            change: Type.Enum(['gains', 'loses', 'falls back', 'moves']),
            old: OUTCOME,
            new: OUTCOME,
            example: CLAIMS,
            releases: RELEASES,
          }),
        ),
        more: Type.Boolean({ description: 'Whether there may be other pairs of these roles.' }),
        tokens: Type.Array(object({ sender: TEXT, old: TEXT, new: TEXT })),
        undecided: Type.Array(
          object({
            access: TEXT_OR_NULL,
            question: Type.Enum(['gains', 'loses']),
            why: TEXT,
            releases: RELEASES,
          }),
        ),
      }),
    ),
    denied: Type.Array(object({ ...ENTRY, access: TEXT_OR_NULL, proved: Type.Boolean() })),
  },
  {
    callers: Type.Array(
      object({
        file: TEXT,
        outcomes: Type.Array(
          object({
            ...ENTRY,
            releases: RELEASES,
            same: Type.Boolean({ description: 'False also where an outcome is not decided.' }),
            old: OUTCOME,
            new: OUTCOME,
            undecided: orNull(TEXT, 'Why an outcome is not decided; null where both are.'),
          }),
        ),
      }),
      { description: 'With `--claims`.' },
    ),
  },
  {
    asked: TEXTS,
    accesses: Type.Array(
      object({
        access: TEXT,
        places: Type.Array(
          object({
            ...ENTRY,
            by: TEXT,
            answer: Type.Enum(['somebody', 'nobody', 'not decided']),
            example: orNull(CLAIMS),
            why: TEXT_OR_NULL,
            callers: orNull(TEXT, 'The condition on the callers; null for everyone.'),
            except: Type.Array(object({ callers: TEXT, by: TEXT, access: TEXT_OR_NULL })),
            minimal: Type.Boolean(),
            releases: RELEASES,
          }),
        ),
      }),
      { description: 'With `--who`.' },
    ),
  },
])

const ROLE = object({
  version: VERSION,
  role: orNull(TEXT, 'Null where the releases decide otherwise, or give none.'),
  config: orNull(object({ namespace: TEXT, name: TEXT })),
  claims: orNull(Type.Enum(['json', 'token'])),
  release: TEXT_OR_NULL,
  outcomes: Type.Array(
    object({
      releases: RELEASES,
      role: TEXT_OR_NULL,
      from: Type.Union([COUNT, Type.Enum(['fallback', 'nowhere'])]),
      reason: TEXT,
      mappings: Type.Array(
        object({
          index: COUNT,
          claim: Type.Optional(TEXT),
          matcher: Type.Optional(TEXT),
          priority: Type.Optional(Type.Number()),
          roleArn: Type.Optional(TEXT),
          outcome: Type.Enum(['match', 'noMatch', 'skipped', 'failsClosed', 'stopped', 'refused']),
          reason: TEXT,
          unreachable: Type.Optional(TEXT),
        }),
      ),
    }),
  ),
  sessionName: orNull(object({ claim: TEXT, value: Type.Optional(TEXT), problem: Type.Optional(TEXT) })),
  tokens: Type.Record(TEXT, TEXT, { description: 'Whose token goes to STS, by the sender.' }),
  notes: TEXTS,
  unread: UNREAD,
})

const FIX = object({
  version: VERSION,
  written: Type.Boolean({ description: 'Whether the files were written, with `--write`.' }),
  patches: Type.Array(
    object({
      file: TEXT,
      diff: text('A unified diff, without the user information of URLs.'),
      whole: Type.Boolean({ description: 'Whether `patch` takes it: nothing is left out.' }),
    }),
  ),
  changes: Type.Array(
    object({
      file: TEXT,
      line: COUNT,
      column: COUNT,
      path: PATH,
      title: TEXT,
      id: orNull(TEXT, 'The id of the finding; null for a default.'),
    }),
  ),
  left: Type.Array(object(LOCATED), {
    description: 'The findings with a fix that cannot be written into the text.',
  }),
  unread: UNREAD,
})

const STEPS = object({
  version: VERSION,
  outcome: Type.Enum(['nothing', 'order', 'harm', 'refused', 'contradiction']),
  commits: COUNT,
  givenUp: Type.Array(object({ text: TEXT, why: TEXT, after: COUNT, until: COUNT })),
  errors: TEXTS,
  states: COUNT,
  isComplete: Type.Boolean(),
  steps: Type.Array(
    object({
      number: COUNT,
      commit: COUNT,
      verb: Type.Enum(['create', 'update', 'delete']),
      ...SUBJECT,
      version: orNull(TEXT, 'The description of the version, where it is not the new one.'),
      object: Type.Unknown({ description: 'The object that is written; null for a deletion.' }),
    }),
  ),
  asOneCommit: Type.Array(
    object({
      tool: Type.Enum(['kubectl', 'flux', 'argocd']),
      passes: Type.Boolean(),
      problem: TEXT_OR_NULL,
      waves: orNull(Type.Array(object({ ...SUBJECT, wave: Type.Integer() }))),
      pruneLast: Type.Boolean(),
    }),
  ),
})

const REPLAY = object({
  version: VERSION,
  judged: COUNT,
  denied: COUNT,
  warned: COUNT,
  refused: COUNT,
  unknownBefore: COUNT,
  notJudged: Type.Record(TEXT, COUNT),
  findings: Type.Array(
    object({
      severity: Type.Enum(['error', 'warning', 'advice']),
      id: TEXT,
      ...SUBJECT,
      path: PATH,
      message: TEXT,
      writes: COUNT,
      first: TEXT,
      last: TEXT,
      users: TEXTS,
    }),
  ),
})

const DOCTOR = object({
  version: VERSION,
  server: TEXT_OR_NULL,
  namespace: TEXT,
  findings: Type.Array(
    object({
      level: Type.Enum(['problem', 'note', 'unread']),
      id: TEXT,
      object: TEXT,
      message: TEXT,
      remedy: TEXT,
    }),
  ),
  certificates: Type.Array(object({ of: TEXT, fingerprint: TEXT, expires: TEXT })),
  probe: object({ outcome: Type.Enum(['reached', 'not reached', 'not known']), answer: TEXT }),
  release: TEXT_OR_NULL,
  trial: TEXT_OR_NULL,
  layers: Type.Array(object({ layer: TEXT, does: TEXT, ids: Type.Array(TEXT) })),
  counts: object({ problems: COUNT, notes: COUNT, unread: COUNT }),
})

/** The schemas by the name of their file in schemas/output, with the commands that print such output. */
export const OUTPUT_SCHEMAS = {
  report: { of: 'The report of vmcp-admission check, audit and probe', schema: REPORT_SCHEMA },
  fix: { of: 'The fixes of vmcp-admission fix', schema: FIX },
  plan: { of: 'The effective authentication, or its changes, of vmcp-admission plan', schema: PLAN },
  access: { of: 'The differences, callers or grants of vmcp-admission access', schema: ACCESS },
  role: { of: 'The role of one caller, of vmcp-admission access --config and role', schema: ROLE },
  steps: { of: 'The steps of vmcp-admission steps', schema: STEPS },
  replay: { of: 'The verdicts of vmcp-admission replay', schema: REPLAY },
  doctor: { of: 'The diagnosis of vmcp-admission doctor', schema: DOCTOR },
} as const
