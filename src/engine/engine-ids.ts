import { API_VERSION, DEFAULT_API_GROUP } from '../kinds/index.ts'
import { allRules } from '../kinds/places.ts'
import { must, type NonEmpty, NOT_JUDGED, says, type Source, UNDECIDED } from '../rule/index.ts'
import { PROBE_IDS } from './probe-ids.ts'

/** An id of findings that come from the schema or from decoding a submission, not from a rule. */
export interface EngineId {
  readonly id: string
  readonly severity: 'error' | 'warning' | 'advice'
  readonly summary: string
  readonly why: string
  readonly sources: readonly Source[]
  /** A resource in which `check --strict` reports this id; undefined when no resource can show it. */
  readonly example?: EngineExample
}

export interface EngineExample {
  readonly resource: Readonly<Record<string, unknown>>
  /** The exact text of each finding in the resource. */
  readonly findings: NonEmpty<string>
  /** `resource` without the error. */
  readonly corrected: Readonly<Record<string, unknown>>
}

/** Makes the example of an id: a resource with an error, the findings in it, and the same resource corrected. */
const example = (
  wrong: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
  ...findings: NonEmpty<string>
): Pick<EngineId, 'example'> => {
  const envelope = {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: 'MCPExternalAuthConfig',
    metadata: { name: 'example', namespace: 'default' },
  }
  return { example: { resource: { ...envelope, ...wrong }, findings, corrected: { ...envelope, ...right } } }
}

const awsSts = (more: object) => ({
  spec: {
    type: 'awsSts',
    awsSts: {
      region: 'eu-central-1',
      fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader',
      ...more,
    },
  },
})
const bearerToken = (token: object) => ({ spec: { type: 'bearerToken', bearerToken: token } })
const authServer = (upstreamProviders: readonly object[]) => ({
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { issuer: 'https://auth.example.com', upstreamProviders },
  },
})
const provider = (name: string) => ({
  name,
  type: 'oidc',
  oidcConfig: { issuerUrl: 'https://idp.example.com', clientId: 'vmcp' },
})

const BOUNDS: Source = must('7', 'A value fails its pattern, length or numeric bound.')
const SEVEN_KINDS: Source = says('1', 'The seven kinds and their roles.')
const API_VERSIONS: readonly Source[] = [
  must('2', 'Every resource uses apiVersion {api_group}/v1beta1.'),
  must('9', 'All resources use apiVersion {api_group}/v1beta1.'),
]

const schema = (
  keyword: string,
  summary: string,
  why: string,
  sources: readonly Source[],
  shown: Pick<EngineId, 'example'>,
): EngineId => ({ id: `schema-${keyword}`, severity: 'error', summary, why, sources, ...shown })

export const ENGINE_IDS: readonly EngineId[] = [
  schema(
    'type',
    'A field has the JSON type of its schema.',
    'Nothing can read it otherwise.',
    ['2', 'decision 7'],
    example(
      awsSts({ sessionDuration: '3600' }),
      awsSts({ sessionDuration: 3600 }),
      'spec.awsSts.sessionDuration: Invalid value: "string": must be of type integer; write it without quotes (schema-type)',
    ),
  ),
  schema(
    'required',
    'A required field is given.',
    'The workload cannot start without it. Where no release is known, a field that no release goes without is required too: its absence is a warning where the specification describes the object around it, or where the API server has taken the object, and else an error.',
    ['2', 'decision 3', 'decision 17'],
    example(
      bearerToken({}),
      bearerToken({ tokenSecretRef: { name: 'token', key: 'value' } }),
      'spec.bearerToken.tokenSecretRef: Required value (schema-required)',
    ),
  ),
  schema(
    'enum',
    'A field with a list of values has one of them.',
    'Any other value selects nothing.',
    ['2'],
    example(
      { spec: { type: 'bearer' } },
      bearerToken({ tokenSecretRef: { name: 'token', key: 'value' } }),
      'spec.type: Unsupported value: "bearer": supported values: "tokenExchange", "headerInjection", "bearerToken", "unauthenticated", "embeddedAuthServer", "awsSts", "upstreamInject" (schema-enum)',
    ),
  ),
  schema(
    'pattern',
    'A field with a pattern matches it.',
    'The value cannot be used as what it is for; docs/fields.md has the pattern of each field.',
    ['2.5', BOUNDS],
    example(
      awsSts({ region: 'europe' }),
      awsSts({ region: 'eu-west-1' }),
      'spec.awsSts.region: Invalid value: "europe": must be an AWS region, such as \'eu-central-1\' (schema-pattern)',
    ),
  ),
  schema(
    'format',
    'A number fits its integer type, a time is RFC 3339.',
    'The API server cannot store it.',
    ['2'],
    example(
      awsSts({
        roleMappings: [
          { claim: 'admins', roleArn: 'arn:aws:iam::123456789012:role/admin', priority: 3_000_000_000 },
        ],
      }),
      awsSts({
        roleMappings: [{ claim: 'admins', roleArn: 'arn:aws:iam::123456789012:role/admin', priority: 3 }],
      }),
      'spec.awsSts.roleMappings[0].priority: Invalid value: 3000000000: must be between -2147483648 and 2147483647 (schema-format)',
    ),
  ),
  schema(
    'minLength',
    'A required string is not empty.',
    'An empty name refers to nothing.',
    ['2', '8', BOUNDS, 'decision 17'],
    example(
      bearerToken({ tokenSecretRef: { name: 'token', key: '' } }),
      bearerToken({ tokenSecretRef: { name: 'token', key: 'value' } }),
      'spec.bearerToken.tokenSecretRef.key: Invalid value: "": must be at least 1 character long (schema-minLength)',
    ),
  ),
  schema(
    'maxLength',
    'A string is not longer than its bound.',
    'The value is refused where it is used.',
    ['8', BOUNDS],
    example(
      authServer([provider('okta-'.repeat(12) + 'prod')]),
      authServer([provider('okta-prod')]),
      'spec.embeddedAuthServer.upstreamProviders[0].name: Too long: may not be more than 63 characters (schema-maxLength)',
    ),
  ),
  schema(
    'minimum',
    'A number is not below its bound.',
    'The value is refused where it is used.',
    ['8', BOUNDS],
    example(
      awsSts({ sessionDuration: 60 }),
      awsSts({ sessionDuration: 900 }),
      'spec.awsSts.sessionDuration: Invalid value: 60: must be greater than or equal to 900 (schema-minimum)',
    ),
  ),
  schema(
    'maximum',
    'A number is not above its bound.',
    'The value is refused where it is used.',
    ['8', BOUNDS],
    example(
      awsSts({ sessionDuration: 86_400 }),
      awsSts({ sessionDuration: 43_200 }),
      'spec.awsSts.sessionDuration: Invalid value: 86400: must be less than or equal to 43200 (schema-maximum)',
    ),
  ),
  schema(
    'minItems',
    'A list that must name something is not empty.',
    'Nobody can log in without a provider.',
    ['decision 17'],
    example(
      authServer([]),
      authServer([provider('okta')]),
      'spec.embeddedAuthServer.upstreamProviders: Invalid value: []: must have at least 1 item (schema-minItems)',
    ),
  ),
  {
    id: 'schema-maxItems',
    severity: 'warning',
    summary: 'A list of newer releases is not longer than its bound.',
    why: 'The API server refuses the resource where the CRD has the bound.',
    sources: ['decision 3'],
  },
  {
    id: 'schema-maxProperties',
    severity: 'warning',
    summary: 'A map of newer releases does not have more keys than its bound.',
    why: 'The API server refuses the resource where the CRD has the bound.',
    sources: ['decision 3'],
  },
  {
    id: 'api-server-accepts',
    severity: 'error',
    summary: 'The API server and all of its webhooks accept the resource.',
    why: 'It cannot be applied. Found by `check --cluster --server-dry-run` alone.',
    sources: ['decision 3'],
  },
  {
    id: 'metadata-accepted',
    severity: 'error',
    summary:
      'The API server accepts the metadata of the resource: its fields, names, labels, annotations, finalizers and owners.',
    why: 'The API server refuses it before any webhook is asked. Found by the CLI alone.',
    sources: ['decision 3'],
    ...example(
      { metadata: { name: 'Okta_Prod' }, spec: { type: 'unauthenticated' } },
      { metadata: { name: 'okta-prod' }, spec: { type: 'unauthenticated' } },
      `metadata.name: Invalid value: "Okta_Prod": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*') (metadata-accepted)`,
    ),
  },
  {
    id: 'release-accepts',
    severity: 'error',
    summary: 'The CRD of the installed operator accepts the resource.',
    why: 'The API server refuses it before any webhook is asked. Found by the CLI alone, where the release is known.',
    sources: ['decision 3'],
  },
  {
    id: NOT_JUDGED,
    severity: 'error',
    summary: 'An object has at most 1,000 violations of its schema, and is judged as a whole.',
    why: 'Beyond that number nothing is looked at, so a mistake that no setting relaxes could stand there.',
    sources: ['decision 19'],
  },
  {
    id: UNDECIDED,
    severity: 'warning',
    summary:
      'Whatever rules prove or evaluate about an object is decided within the budget of one judgement.',
    why: 'Nothing is known of the place that is named, and perhaps of later ones: whether a matcher compiles, is always true, never true, or hidden by earlier mappings. All other checks were made.',
    sources: ['decision 29'],
    ...example(
      awsSts({
        roleMappings: [
          {
            roleArn: 'arn:aws:iam::123456789012:role/admin',
            matcher: Array.from({ length: 12 }, (_, i) => `claims.a.matches("^(a|b|${i})+[xy]{1,30}$")`).join(
              ' || ',
            ),
          },
        ],
      }),
      awsSts({
        roleMappings: [
          { roleArn: 'arn:aws:iam::123456789012:role/admin', matcher: 'claims.a.matches("^[a-z0-9]+$")' },
        ],
      }),
      'spec.awsSts.roleMappings[0].matcher: is not fully checked within the budget of one object, so findings about it may be missing; write it with fewer parts (decided-within-budget)',
    ),
  },
  {
    id: 'request-kind-agrees',
    severity: 'error',
    summary: 'The object is of the kind and group that the request names.',
    why: 'Otherwise an object would be judged by the rules of another kind.',
    sources: [...API_VERSIONS],
  },
  {
    id: 'registration-covers-known-kinds',
    severity: 'warning',
    summary: 'The webhook is registered for the seven kinds only.',
    why: 'It admits every other kind unjudged, and makes it depend on this server.',
    sources: [SEVEN_KINDS],
  },
  {
    id: 'unresolved-placeholder',
    severity: 'warning',
    summary: 'No placeholder is left in a value.',
    why: 'What was to be filled in on the way to the cluster was not, and is used as it stands.',
    sources: [says('5.3', 'Placeholders such as `<CLIENT_ID>` stand for values.'), 'decision 28'],
    ...example(
      { spec: { type: 'upstreamInject', upstreamInject: { providerName: '${PROVIDER}' } } },
      { spec: { type: 'upstreamInject', upstreamInject: { providerName: 'okta' } } },
      'spec.upstreamInject.providerName: holds the placeholder ${PROVIDER}, which nothing filled in, so the text is used as it stands; write the value (unresolved-placeholder)',
    ),
  },
  {
    id: 'others-known',
    severity: 'warning',
    summary: 'All other resources of the namespace were known when a resource was judged (webhook only).',
    why: 'A contradiction with one that does not fit into the memory of the server, and was not read, is not found.',
    sources: ['decision 9'],
  },
  {
    id: 'unknown-field',
    severity: 'error',
    summary:
      'A field is one that the release of the operator has: the one that is named or installed, or else any known one (CLI only).',
    why: 'A misspelt field has no effect: the API server drops it, or kubectl refuses it. Without a release it is an error only of v1beta1, since releases before the known ones had v1alpha1 with other fields, and where releases say nothing of the place, as in the status, it is a warning. A release after the known ones is given by its CRDs (`--crds`).',
    sources: [says('2', 'Fields beyond those listed are not shown for the other kinds.'), 'decision 2'],
    ...example(
      awsSts({ sessionduration: 3600 }),
      awsSts({ sessionDuration: 3600 }),
      "spec.awsSts.sessionduration: no operator release up to 0.63 has this field; did you mean 'sessionDuration' (unknown-field)",
    ),
  },
  {
    id: 'ignore-effective',
    severity: 'warning',
    summary:
      'A line of the annotation `vmcp-admission-ignore` names an id and a reason, and may ignore what it names.',
    why: 'The line has no effect otherwise, and the finding is reported. By default an annotation ignores warnings only: the author of an object must not switch off what refuses it.',
    sources: ['decision 7'],
    ...example(
      {
        metadata: {
          name: 'example',
          namespace: 'default',
          annotations: { [`${DEFAULT_API_GROUP}/vmcp-admission-ignore`]: 'storage-redis-used' },
        },
        spec: { type: 'unauthenticated' },
      },
      { spec: { type: 'unauthenticated' } },
      "metadata.annotations[toolhive.stacklok.dev/vmcp-admission-ignore]: 'storage-redis-used' has no effect without a reason: write ID: reason (ignore-effective)",
    ),
  },
  {
    id: 'api-version-current',
    severity: 'advice',
    summary: 'A resource uses version v1beta1 (CLI only).',
    why: 'v1alpha1 is deprecated; it is checked as v1beta1. Any other version is a warning, because no cluster serves it.',
    sources: [...API_VERSIONS, 'decision 1'],
    ...example(
      { apiVersion: `${DEFAULT_API_GROUP}/v1alpha1`, spec: { type: 'unauthenticated' } },
      { spec: { type: 'unauthenticated' } },
      'apiVersion: v1alpha1 is deprecated; checked as v1beta1; write v1beta1 (api-version-current)',
    ),
  },
  {
    id: 'api-group-known',
    severity: 'warning',
    summary: 'A resource of the seven kinds is of their API group (CLI only).',
    why: 'No cluster has it otherwise, and nothing of it is checked. --api-group names the group of clusters that have another; an MCPServer of a group that is not near may be of another product.',
    sources: [...API_VERSIONS, 'decision 1'],
    ...example(
      { apiVersion: 'toolhive.stacklok.io/v1beta1', spec: { type: 'unauthenticated' } },
      { spec: { type: 'unauthenticated' } },
      "apiVersion: not checked: the apiVersion is 'toolhive.stacklok.io/v1beta1'; did you mean 'toolhive.stacklok.dev/v1beta1' (api-group-known)",
    ),
  },
  {
    id: 'kind-known',
    severity: 'warning',
    summary:
      'A resource of their API group is of one of the seven kinds, and is not an item of a bare list (CLI only).',
    why: 'kubectl refuses it otherwise, and nothing of it is checked. A kind that is near to none of the seven is a note: other releases may have it.',
    sources: [SEVEN_KINDS, 'decision 1'],
    ...example(
      { kind: 'MCPGruop' },
      { kind: 'MCPGroup' },
      "kind: not checked: there are no rules for the kind 'MCPGruop'; did you mean 'MCPGroup' (kind-known)",
    ),
  },
  ...PROBE_IDS,
]

/** Every id that a finding can carry. */
export const ALL_IDS: ReadonlySet<string> = new Set([...ENGINE_IDS, ...allRules()].map(({ id }) => id))

/** The current id of each rule, by its former ids. */
export const FORMER_IDS: ReadonlyMap<string, string> = new Map(
  allRules().flatMap(({ id, formerIds = [] }) => formerIds.map((former) => [former, id] as const)),
)

/** The current id of a rule, given its current or a former id; returns any other text unchanged. */
export const presentId = (id: string): string => FORMER_IDS.get(id) ?? id
