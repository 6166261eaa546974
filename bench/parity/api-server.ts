import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { yamlValue } from '../../src/cli/input/yaml-nodes.ts'
import { kindNamed, KINDS } from '../../src/kinds/index.ts'
import { compared, refusals, type ReleaseSchema } from '../../src/release/index.ts'
import { parseDuration } from '../../src/rule/index.ts'
import { pathText } from '../../src/rule/path.ts'
import { shape } from '../../src/shape/index.ts'
import { type ApiServer, startApiServer } from '../../test/e2e/api-server.ts'
import { installCrds, pathOf } from '../../test/e2e/cluster.ts'
import { installRelease } from '../../test/e2e/release-crds.ts'
import type { Status } from '../../test/e2e/rule-examples.ts'
import { knownReleases } from '../../test/support/releases.ts'
import { type Compare, type Comparison, Tally } from './comparison.ts'
import { type KindObject, objectWriter } from './objects.ts'
import { several } from './random.ts'

/** The fields that are refused, each once: of the schema, and of CEL rules. */
interface Fields {
  readonly schema: readonly string[]
  /** Undefined where the API server evaluates no rule, because the schema refuses too much. */
  readonly rules: readonly string[] | undefined
}

interface Judges {
  readonly what: string
  readonly schemas: ReadonlyMap<string, ReleaseSchema>
  readonly ours: (of: KindObject) => Fields
}

/** What a real API server refuses with a CRD, and where. */
export const compareApiServer: Compare = async (count, seed) => {
  const api = await startApiServer()
  try {
    const { body } = await api.request<{ gitVersion: string }>('GET', '/version')
    const against = `kube-apiserver ${body.gitVersion}`
    const comparisons: Comparison[] = []
    await installCrds(api, 'crds-strict')
    comparisons.push(await compareCrds(api, against, STRICT, count, seed))
    for (const version of ['0.26', '0.63']) {
      const release = knownReleases().find((each) => each.version.startsWith(`${version}.`))
      if (release === undefined) throw new Error(`release ${version} is not known`)
      await installRelease(api, release)
      const schemas = new Map(Object.entries(release.schemas))
      const judges = { what: `CRDs of release ${version}`, schemas, ours: byRelease(schemas) }
      comparisons.push(await compareCrds(api, against, judges, count, seed))
    }
    return comparisons
  } finally {
    await api.stop()
  }
}

const STRICT: Judges = {
  what: '`deploy/crds-strict`',
  schemas: new Map(KINDS.map(({ kind, plural }) => [kind, strictSchema(plural)])),
  ours: ({ kind, object }) => {
    const known = kindNamed.get(kind)
    if (known === undefined) throw new Error(`${kind} is not one of our kinds`)
    const { findings } = shape(known, object)
    const errors = findings.filter(({ severity }) => severity === 'error')
    return { schema: sortedOnce(errors.map(({ error }) => pathText(error.at))), rules: [] }
  },
}

function strictSchema(plural: string): ReleaseSchema {
  const file = new URL(`../../deploy/crds-strict/${plural}.yaml`, import.meta.url)
  const crd = yamlValue(readFileSync(file, 'utf8')) as {
    spec: { versions: readonly [{ schema: { openAPIV3Schema: ReleaseSchema } }] }
  }
  return compared(crd.spec.versions[0].schema.openAPIV3Schema)
}

const byRelease =
  (schemas: ReadonlyMap<string, ReleaseSchema>) =>
  ({ kind, object }: KindObject): Fields => {
    const found = [...refusals(schemas.get(kind) ?? {}, object)].filter(
      ({ keyword }) => keyword !== 'unknown',
    )
    const fields = (isRule: boolean) =>
      sortedOnce(
        found.filter(({ keyword }) => (keyword === 'rule') === isRule).map(({ error }) => pathText(error.at)),
      )
    return { schema: fields(false), rules: fields(true) }
  }

async function compareCrds(
  api: ApiServer,
  against: string,
  { what, schemas, ours }: Judges,
  count: number,
  seed: number,
): Promise<Comparison> {
  const tally = new Tally()
  const write = objectWriter(schemas, seed)
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE, ca: api.ca })
  const left = several(count, write)
  const rules = [...schemas.values()].flatMap((schema) => [...ruleTexts(schema)])
  const ask = async (): Promise<void> => {
    for (let each = left.pop(); each !== undefined; each = left.pop()) {
      const path = `${pathOf(kindNamed.get(each.kind) ?? { plural: '' })}?dryRun=All&fieldValidation=Ignore`
      const answer = await api.request<Status>('POST', path, each.object, undefined, agent)
      if (![201, 422].includes(answer.status))
        throw new Error(`not judged: ${answer.status} ${JSON.stringify(answer.body)} ${JSON.stringify(each)}`)
      tally.came(answer.status === 201 ? 'accepted' : 'refused')
      const theirs = fieldsOf(answer.body, rules)
      const found = ours(each)
      if (isSame(theirs, found)) continue
      const why = explained(theirs, found, each, schemas.get(each.kind) ?? {})
      if (why !== undefined) tally.explained(why)
      else tally.different(JSON.stringify({ theirs, found, causes: answer.body.details?.causes, ...each }))
    }
  }
  await Promise.all(several(AT_ONCE, ask))
  agent.destroy()
  return tally.result(`API server: ${what}`, against, count)
}

/** Connections. */
const AT_ONCE = 16

const NOT_CHECKED = 'some validation rules were not checked because the object was invalid'

/** The fields of the causes. */
function fieldsOf({ details }: Status, rules: readonly string[]): Fields {
  const causes = details?.causes ?? []
  const isChecked = !causes.some(({ message }) => message.includes(NOT_CHECKED))
  const of = (isRule: boolean) =>
    causes.filter(
      ({ message }) =>
        !message.includes(NOT_CHECKED) && rules.some((text) => message.includes(text)) === isRule,
    )
  // An integer that does not fit is told without its field.
  const fields = (isRule: boolean) =>
    sortedOnce(
      of(isRule).map(
        ({ field, message }) =>
          /(?: with format \w+| \(default format\)) in (\S+)$/.exec(message)?.[1] ?? field,
      ),
    )
  return { schema: fields(false), rules: isChecked ? fields(true) : undefined }
}

/** The texts by which the API server says that a CEL rule is broken. */
function* ruleTexts(schema: ReleaseSchema): Iterable<string> {
  const { properties = {}, items, additionalProperties: values } = schema
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? [])
    yield message?.trim() ?? `failed rule: ${rule.trim()}`
  for (const field of Object.values(properties)) yield* ruleTexts(field)
  if (items !== undefined) yield* ruleTexts(items)
  if (typeof values === 'object') yield* ruleTexts(values)
}

const isSame = (theirs: Fields, ours: Fields) =>
  same(theirs.schema, ours.schema) && (theirs.rules === undefined || same(theirs.rules, ours.rules ?? []))

/** Differences that docs/parity.md explains: the fields that one of both does not refuse, and why. */
const EXPLANATIONS: readonly (readonly [
  why: string,
  isExplained: (field: string, of: Difference) => boolean,
])[] = [
  [
    'a `groupRef` of a workload that is neither a name nor an object with one: our CRDs leave it open (decision 6), the webhook refuses it',
    (field, { kind, isOurs }) =>
      isOurs && kind !== 'VirtualMCPServer' && /^spec\.groupRef(\.name)?$/.test(field),
  ],
  [
    'an empty text or list: our CRDs have no bound that the specification lacks (decision 6), the webhook refuses it (decision 17)',
    (field, { object, isOurs }) => isOurs && ['', '[]'].includes(textOf(at(object, field))),
  ],
  [
    'a duration of days or weeks, or with more text: the API server takes it, the Go types of the operator cannot read it',
    (field, { object, isOurs }) => isOurs && isTakenAsDuration(textOf(at(object, field))),
  ],
  [
    'a text that is no duration: the API server refuses its format, we the CEL rule of the same field',
    (field, { ours, isOurs }) => !isOurs && (ours.rules ?? []).includes(field),
  ],
  [
    'a list in the place of a text with a format: the schema of the API server takes it, the Go types of the operator cannot read it',
    (field, { object, schema, isOurs }) =>
      isOurs && Array.isArray(at(object, field)) && schemaAt(schema, field)?.format !== undefined,
  ],
]

/** Whether the API server finds a duration in a text that is none for Go's `time.ParseDuration`. */
const isTakenAsDuration = (text: string) => /\d\s*[a-zµ]/i.test(text) && parseDuration(text) === undefined

interface Difference extends KindObject {
  readonly ours: Fields
  readonly schema: ReleaseSchema
  /** Whether we refuse the field, and not the API server. */
  readonly isOurs: boolean
}

/** The explanation of all fields that differ; undefined where one has none. */
function explained(theirs: Fields, ours: Fields, of: KindObject, schema: ReleaseSchema): string | undefined {
  const rules = theirs.rules ?? ours.rules ?? []
  const fields = [
    ...without(ours.schema, theirs.schema).map((field) => ({ field, isOurs: true })),
    ...without(theirs.schema, ours.schema).map((field) => ({ field, isOurs: false })),
    ...without(ours.rules ?? [], rules).map((field) => ({ field, isOurs: true })),
    ...without(rules, ours.rules ?? []).map((field) => ({ field, isOurs: false })),
  ]
  const whys = fields.map(
    ({ field, isOurs }) => EXPLANATIONS.find(([, is]) => is(field, { ...of, ours, schema, isOurs }))?.[0],
  )
  return whys.includes(undefined) ? undefined : whys[0]
}

const without = (some: readonly string[], others: readonly string[]) =>
  some.filter((field) => !others.includes(field))

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** The value at a path that the API server writes. */
const at = (object: unknown, field: string): unknown =>
  keysOf(field).reduce<unknown>(
    (value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key],
    object,
  )

const schemaAt = (schema: ReleaseSchema, field: string): ReleaseSchema | undefined =>
  keysOf(field).reduce<ReleaseSchema | undefined>((of, key) => of?.properties?.[key] ?? of?.items, schema)

const keysOf = (field: string): string[] => field.split(/[.[\]]+/).filter((key) => key !== '')

const sortedOnce = (fields: readonly string[]): string[] => [...new Set(fields.map(plain))].toSorted()

/** The API server writes a key of a map as `.key` or as `[key]`. */
const plain = (field: string) =>
  field.replace(/\[([^\]]*)\]/g, (whole, key: string) => (/^\d+$/.test(key) ? whole : `.${key}`))

const same = (one: readonly string[], other: readonly string[]) =>
  JSON.stringify(one) === JSON.stringify(other)
