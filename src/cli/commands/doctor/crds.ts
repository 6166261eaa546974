import { API_VERSION, KINDS } from '../../../kinds/index.ts'
import type { Kind } from '../../../kinds/kind.ts'
import { alternativesOf } from '../../../kinds/schema-fields.ts'
import type { SchemaNode } from '../../../kinds/schema-tree.ts'
import { isObject } from '../../../rule/resource.ts'
import { installedRelease, nearestReleases } from '../../input/release.ts'
import { Findings, listOf, part, type Place, textsOf, UNREAD } from './findings.ts'

/** What the installed CRDs are. */
export interface Definitions {
  readonly findings: Findings
  /** The release of the operator that they are of, for people. */
  readonly release: string
}

/** Checks that the seven CRDs are served, and notes values that they accept and the specification refuses. */
export async function checkDefinitions({ opened, group }: Place): Promise<Definitions> {
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
    else checkDefinition(kind, found, `CustomResourceDefinition ${kind.plural}.${group}`, findings)
  }
  reportMissing(missing, group, findings)
  const installed = read.flatMap(({ found }) => (found === UNREAD || found === undefined ? [] : [found]))
  return { findings, release: releaseText(installed, group) }
}

function releaseText(definitions: readonly unknown[], group: string): string {
  if (definitions.length === 0) return 'not known, because no CRD was found'
  const release = installedRelease(definitions, group)
  if (release === undefined)
    return 'none: the CRDs are those of vmcp-admission, and ask no more than the specification'
  const { versions, others } = nearestReleases(release)
  if (others.length === 0) return `${versions}, as its CRDs say; they go before the specification`
  if (versions === '') return 'none that is known; its CRDs go before the specification'
  const differing = others.map(
    (each) => `${each.kind} (${each.versions === '' ? 'of no known release' : `of ${each.versions}`})`,
  )
  return `most like ${versions}, but for ${differing.join(', ')}; its CRDs go before the specification`
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

function checkDefinition(kind: Kind, definition: unknown, object: string, findings: Findings): void {
  const version = listOf(part(definition, 'spec', 'versions')).find(
    (each) => part(each, 'name') === API_VERSION,
  )
  const established = listOf(part(definition, 'status', 'conditions')).some(
    (each) => part(each, 'type') === 'Established' && part(each, 'status') === 'True',
  )
  if (part(version, 'served') !== true)
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
      `see its conditions: kubectl describe crd ${object.split(' ')[1]}`,
    )
  const schema = part(version, 'schema', 'openAPIV3Schema')
  // A schema of types only, such as deploy/crds, leaves values to the webhook: each constraint would differ.
  if (!constrains(part(schema, 'properties', 'spec'))) return
  const differences = differencesIn(schema, kind.schema as SchemaNode, '')
  if (differences.length > 0)
    findings.note(
      'crd-accepts-more',
      object,
      `accepts what the specification refuses: ${shortened(differences)}`,
      'where the server reads the CRDs, these are warnings',
    )
}

const MOST = 8

const shortened = (differences: readonly string[]) =>
  differences.length <= MOST
    ? differences.join('; ')
    : `${differences.slice(0, MOST).join('; ')}; and ${differences.length - MOST} more`

/** Whether the schema constrains any value. */
function constrains(schema: unknown): boolean {
  if (!isObject(schema)) return false
  return (
    Array.isArray(schema.enum) ||
    listOf(schema.required).length > 0 ||
    childrenOf(schema).some(([, child]) => constrains(child))
  )
}

/** Fields that only this version requires, and values that only the installed schema accepts. */
function differencesIn(theirs: unknown, ours: SchemaNode | undefined, at: string): string[] {
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
    ...required.map((field) => `${at === '' ? field : `${at}.${field}`} missing`),
    ...values.map((value) => `${at} ${JSON.stringify(value)}`),
    ...childrenOf(theirs).flatMap(([step, child]) =>
      differencesIn(
        child,
        own.get(step) as SchemaNode | undefined,
        step === '[]' || at === '' ? at + step : `${at}.${step}`,
      ),
    ),
  ]
}

function childrenOf({ properties, items, additionalProperties }: Record<string, unknown>) {
  const fields: [string, unknown][] = isObject(properties) ? Object.entries(properties) : []
  if (isObject(items)) fields.push(['[]', items])
  if (isObject(additionalProperties)) fields.push(['*', additionalProperties])
  return fields
}
