import { API_VERSION, KINDS } from '../../../kinds/index.ts'
import type { Kind } from '../../../kinds/kind.ts'
import { alternativesOf } from '../../../kinds/schema-fields.ts'
import type { SchemaTree } from '../../../kinds/schema-tree.ts'
import { compared, refusals, type ReleaseSchema } from '../../../release/index.ts'
import { isObject } from '../../../rule/index.ts'
import { installedRelease, nearestReleases } from '../../input/release.ts'
import { Findings, listOf, part, type CheckedInstallation, textsOf, UNREAD } from './findings.ts'

/** Facts about the CRDs that are installed in the cluster. */
interface Definitions {
  readonly findings: Findings
  /** The operator release to which the installed CRDs belong, as text. */
  readonly release: string
  /** The installed CRDs that could be read. */
  readonly installed: readonly unknown[]
}

/**
 * Checks that the API server serves the CRDs, and adds notes about values that a CRD accepts and the specification
 * refuses.
 */
export async function checkDefinitions(
  { opened, group }: CheckedInstallation,
  followsRelease = true,
): Promise<Definitions> {
  const findings = new Findings()
  const missing: Kind[] = []
  const read = await Promise.all(
    KINDS.map(async (kind) => ({
      kind,
      found: await findings.read(`CustomResourceDefinition ${kind.plural}.${group}`, () =>
        opened.installation.readDefinition(kind.plural),
      ),
    })),
  )
  for (const { kind, found } of read) {
    if (found === UNREAD) continue
    if (found === undefined) missing.push(kind)
    else {
      checkServed(kind, found, group, findings)
      checkDifferences(kind, found, { group, followsRelease }, findings)
    }
  }
  reportMissing(missing, group, findings)
  const installed = read.flatMap(({ found }) => (found === UNREAD || found === undefined ? [] : [found]))
  return { findings, installed, release: releaseText(installed, group, followsRelease) }
}

function releaseText(definitions: readonly unknown[], group: string, followsRelease: boolean): string {
  if (definitions.length === 0) return 'not known, because no CRD was found'
  const release = installedRelease(definitions, group)
  if (release === undefined)
    return 'none: the CRDs are those of vmcp-admission, and ask no more than the specification'
  const { versions, others } = nearestReleases(release)
  const order = (they: string) =>
    followsRelease
      ? `${they} go before the specification`
      : 'the specification alone decides (--installed-release off)'
  if (others.length === 0) return `${versions}, as its CRDs say; ${order('they')}`
  if (versions === '') return `none that is known; ${order('its CRDs')}`
  const differing = others.map(
    (each) => `${each.kind} (${each.versions === '' ? 'of no known release' : `of ${each.versions}`})`,
  )
  return `most like ${versions}, but for ${differing.join(', ')}; ${order('its CRDs')}`
}

function reportMissing(missing: readonly Kind[], group: string, findings: Findings): void {
  const remedy = (files: string) =>
    `install the CRDs of the operator, or kubectl apply --server-side -f ${files}`
  if (missing.length === KINDS.length)
    findings.problem(
      'crd-missing',
      'CustomResourceDefinitions',
      `none of the seven of API group ${group} is installed`,
      `${remedy('deploy/crds')}; for another group, set --api-group`,
    )
  else
    for (const { plural } of missing)
      findings.problem(
        'crd-missing',
        `CustomResourceDefinition ${plural}.${group}`,
        'not found',
        remedy(`deploy/crds/${plural}.yaml`),
      )
}

const versionOf = (definition: unknown): unknown =>
  listOf(part(definition, 'spec', 'versions')).find((each) => part(each, 'name') === API_VERSION)

function checkServed({ plural }: Kind, definition: unknown, group: string, findings: Findings): void {
  const object = `CustomResourceDefinition ${plural}.${group}`
  const established = listOf(part(definition, 'status', 'conditions')).some(
    (each) => part(each, 'type') === 'Established' && part(each, 'status') === 'True',
  )
  if (part(versionOf(definition), 'served') !== true)
    findings.problem(
      'crd-version',
      object,
      `does not serve ${API_VERSION}`,
      'upgrade the CRDs with the operator',
    )
  else if (!established)
    findings.problem(
      'crd-not-established',
      object,
      'is not established',
      `see its conditions: kubectl describe crd ${plural}.${group}`,
    )
}

/** Adds notes about values that a CRD accepts and the specification refuses. */
function checkDifferences(
  kind: Kind,
  definition: unknown,
  { group, followsRelease }: { readonly group: string; readonly followsRelease: boolean },
  findings: Findings,
): void {
  const schema = part(versionOf(definition), 'schema', 'openAPIV3Schema')
  // No note is needed when the schema has no constraints on values, as in deploy/crds: the webhook judges the values.
  if (!constrains(part(schema, 'properties', 'spec'))) return
  const differences = differencesIn(schema, kind.schema as SchemaTree, '')
  if (differences.length > 0)
    findings.note(
      'crd-accepts-more',
      `CustomResourceDefinition ${kind.plural}.${group}`,
      `accepts what the specification refuses: ${shortened(differences)}`,
      followsRelease
        ? 'where the server reads the CRDs, these are warnings'
        : 'with --installed-release off these are errors',
    )
}

const MOST = 8

/**
 * The differences as one line of text. A CRD may accept empty values in many fields, so only the number of these
 * fields and the shortest path are given.
 */
function shortened(all: readonly Difference[]): string {
  const empty = all.filter(({ what }) => what === EMPTY).toSorted((a, b) => a.at.length - b.at.length)
  const others = all.filter(({ what }) => what !== EMPTY)
  const named = empty.length > 1 ? others : all
  const more = named.length > MOST ? [`${named.length - MOST} more`] : []
  const fields = empty.length > 1 ? [`${empty.length} fields ${EMPTY}, such as ${empty[0]?.at}`] : []
  return [...named.slice(0, MOST).map(({ at, what }) => `${at} ${what}`), ...more, ...fields].join('; ')
}

const EMPTY = 'empty'

/** A value that the schema of an installed CRD accepts, and the specification refuses. */
interface Difference {
  readonly at: string
  /** The value that only the CRD accepts at `at`: `missing`, `empty`, `longer than N` or a literal. */
  readonly what: string
}

/** Whether the schema has an `enum` or required fields, at any depth. */
function constrains(schema: unknown): boolean {
  if (!isObject(schema)) return false
  return (
    Array.isArray(schema.enum) ||
    listOf(schema.required).length > 0 ||
    childrenOf(schema).some(([, child]) => constrains(child))
  )
}

/**
 * The constraints of the specification that the schema of an installed CRD lacks, each as a value that the CRD
 * accepts and the specification refuses.
 */
function differencesIn(theirs: unknown, ours: SchemaTree | undefined, at: string): Difference[] {
  if (!isObject(theirs) || ours === undefined) return []
  const properties = isObject(theirs.properties) ? theirs.properties : {}
  const alternative = Object.keys(ours.properties ?? {}).filter(
    (name) => alternativesOf(ours, name).length > 0,
  )
  const required = [...textsOf(ours.required), ...alternative].filter(
    (field) =>
      !['apiVersion', 'kind', 'metadata'].includes(field) &&
      field in properties &&
      !textsOf(theirs.required).includes(field),
  )
  const known = listOf(ours.enum)
  const values = Array.isArray(ours.enum) ? listOf(theirs.enum).filter((value) => !known.includes(value)) : []
  const own = new Map(childrenOf(ours))
  return [
    ...required.map((field) => ({ at: at === '' ? field : `${at}.${field}`, what: 'missing' })),
    ...[...values.map((value) => JSON.stringify(value)), ...looserBounds(theirs, ours)].map((what) => ({
      at,
      what,
    })),
    ...childrenOf(theirs).flatMap(([step, child]) =>
      differencesIn(
        child,
        own.get(step) as SchemaTree | undefined,
        step === '[]' || at === '' ? at + step : `${at}.${step}`,
      ),
    ),
  ]
}

/** Values whose length an installed CRD accepts and the specification refuses, as `empty` or `longer than N`. */
function looserBounds(theirs: Readonly<Record<string, unknown>>, ours: SchemaTree): string[] {
  const { minLength = 0, minItems = 0, maxLength = Infinity } = ours as ReleaseSchema
  const isTaken = (value: unknown) => [...refusals(compared(theirs), value)].length === 0
  return [
    ...((minLength > 0 && isTaken('')) || (minItems > 0 && isTaken([])) ? [EMPTY] : []),
    ...(((theirs as ReleaseSchema).maxLength ?? Infinity) > maxLength ? [`longer than ${maxLength}`] : []),
  ]
}

function childrenOf({ properties, items, additionalProperties }: Record<string, unknown>) {
  const fields: [string, unknown][] = isObject(properties) ? Object.entries(properties) : []
  if (isObject(items)) fields.push(['[]', items])
  if (isObject(additionalProperties)) fields.push(['*', additionalProperties])
  return fields
}
