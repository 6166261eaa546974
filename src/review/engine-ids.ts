import { allRules } from '../kinds/places.ts'

/** What can be found without a rule of a kind: by the schema, or by the way a submission is read. */
export interface EngineId {
  readonly id: string
  readonly severity: 'error' | 'warning'
  readonly summary: string
  readonly why: string
  readonly sources: readonly string[]
}

const schema = (keyword: string, summary: string, why: string, ...sources: string[]): EngineId => ({
  id: `schema-${keyword}`,
  severity: 'error',
  summary,
  why,
  sources,
})

export const ENGINE_IDS: readonly EngineId[] = [
  schema(
    'type',
    'A field has the JSON type of its schema.',
    'Nothing can read it otherwise.',
    '2',
    'decision 7',
  ),
  schema(
    'required',
    'A required field is given.',
    'The workload cannot start without it.',
    '2',
    'decision 17',
  ),
  schema('enum', 'A field with a list of values has one of them.', 'Any other value selects nothing.', '2'),
  schema(
    'pattern',
    'A field with a pattern matches it.',
    'The value cannot be used as what it is for; docs/fields.md has the pattern of each field.',
    '2.5',
    '7',
  ),
  schema(
    'format',
    'A number fits its integer type, a time is RFC 3339.',
    'The API server cannot store it.',
    '2',
  ),
  schema(
    'minLength',
    'A required string is not empty.',
    'An empty name refers to nothing.',
    '2',
    '8',
    'decision 17',
  ),
  schema(
    'maxLength',
    'A string is not longer than its bound.',
    'The value is refused where it is used.',
    '8',
  ),
  schema('minimum', 'A number is not below its bound.', 'The value is refused where it is used.', '8'),
  schema('maximum', 'A number is not above its bound.', 'The value is refused where it is used.', '8'),
  schema(
    'minItems',
    'A list that must name something is not empty.',
    'Nobody can log in without a provider.',
    'decision 17',
  ),
  {
    id: 'request-kind-agrees',
    severity: 'error',
    summary: 'The object is of the kind and group that the request names.',
    why: 'Otherwise an object would be judged by the rules of another kind.',
    sources: ['9'],
  },
  {
    id: 'registration-covers-known-kinds',
    severity: 'warning',
    summary: 'The webhook is registered for the seven kinds only.',
    why: 'It admits every other kind unjudged, and makes it depend on this server.',
    sources: ['1'],
  },
  {
    id: 'unresolved-placeholder',
    severity: 'warning',
    summary: 'No placeholder is left in a value.',
    why: 'What was to be filled in on the way to the cluster was not, and is used as it stands.',
    sources: ['5.3', 'decision 28'],
  },
  {
    id: 'unknown-field',
    severity: 'warning',
    summary: 'A field is one that the specification names, where it names all of them (CLI only).',
    why: 'A misspelt field has no effect: the API server drops it, or kubectl refuses it.',
    sources: ['2', 'decision 2'],
  },
  {
    id: 'api-version-current',
    severity: 'warning',
    summary: 'A resource uses version v1beta1 (CLI only).',
    why: 'v1alpha1 is deprecated; it is checked as v1beta1.',
    sources: ['9', 'decision 1'],
  },
  {
    id: 'api-group-known',
    severity: 'warning',
    summary: 'A resource of the seven kinds is of their API group (CLI only).',
    why: 'No cluster has it otherwise, and nothing of it is checked. --api-group names the group of clusters that have another; an MCPServer of a group that is not near may be of another product.',
    sources: ['9', 'decision 1'],
  },
  {
    id: 'kind-known',
    severity: 'warning',
    summary:
      'A resource of their API group is of one of the seven kinds, and is no item of a bare list (CLI only).',
    why: 'kubectl refuses it otherwise, and nothing of it is checked. A kind that is near to none of the seven is a note: other releases may have it.',
    sources: ['1', 'decision 1'],
  },
]

/** Every id that a finding can carry. */
export const ALL_IDS: ReadonlySet<string> = new Set([...ENGINE_IDS, ...allRules()].map(({ id }) => id))
