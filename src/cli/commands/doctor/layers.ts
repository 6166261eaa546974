import { ALL_IDS, type SeveritySetting } from '../../../engine/index.ts'
import { API_VERSION } from '../../../kinds/index.ts'
import { allRules } from '../../../kinds/places.ts'
import { WEBHOOK_NAME } from '../../../registration/index.ts'
import { isObject } from '../../../rule/index.ts'
import { counted } from '../../output/report.ts'
import { type CheckedInstallation, listOf, part, textsOf } from './findings.ts'
import type { Probe } from './probe.ts'
import { policyOf } from '../../../arming/reconcile.ts'
import type { Setup } from './setup.ts'

/** A part of the installation that enforces or reports rules: CRDs, policies, the webhook, or background checks. */
export interface Layer {
  readonly layer: 'CRDs' | 'policies' | 'webhook' | 'background'
  /** Describes what happens to a write that violates a rule of this layer. */
  readonly does: string
  /** The ids of the rules that this layer enforces. */
  readonly ids: readonly string[]
}

interface Seen {
  /** The installed CRDs of the kinds that this project judges. */
  readonly definitions: readonly unknown[]
  /** The stored ValidatingWebhookConfiguration. */
  readonly validating: Readonly<Record<string, unknown>> | undefined
  readonly setup: Setup | undefined
  readonly probe: Probe
}

/** The parts of the installation, with the rules that each enforces at present. */
export async function layersOf(place: CheckedInstallation, seen: Seen): Promise<readonly Layer[]> {
  return [crds(seen), await policies(place), webhook(seen), background(seen)]
}

function crds({ definitions }: Seen): Layer {
  const keywords = new Set<string>()
  for (const definition of definitions) {
    const version = listOf(part(definition, 'spec', 'versions')).find(
      (each) => part(each, 'name') === API_VERSION,
    )
    collectKeywords(part(version, 'schema', 'openAPIV3Schema', 'properties', 'spec'), keywords)
  }
  const ids = [...keywords].map((keyword) => `schema-${keyword}`).filter((id) => ALL_IDS.has(id))
  return {
    layer: 'CRDs',
    does: `${counted(definitions.length, 'CRD')}; the API server denies`,
    ids: ids.toSorted(),
  }
}

function collectKeywords(schema: unknown, keywords: Set<string>): void {
  if (!isObject(schema)) return
  for (const keyword of Object.keys(schema)) keywords.add(keyword)
  const { properties, items, additionalProperties } = schema
  for (const each of isObject(properties) ? Object.values(properties) : []) collectKeywords(each, keywords)
  for (const each of [items, additionalProperties]) collectKeywords(each, keywords)
}

/**
 * The installed policies of deploy/policies as a layer. `ids` are the rule ids in the messages of the policies, and
 * `does` lists the actions of their bindings.
 */
async function policies({ opened }: CheckedInstallation): Promise<Layer> {
  const list = async (plural: string) => {
    const all = await opened.installation.listAdmission(plural).catch(() => undefined)
    return all?.filter((each) => String(part(each, 'metadata', 'name')).startsWith(WEBHOOK_NAME))
  }
  const installed = await list('validatingadmissionpolicies')
  const bindings = await list('validatingadmissionpolicybindings')
  if (installed === undefined || bindings === undefined)
    return { layer: 'policies', does: 'not known: they cannot be listed', ids: [] }
  if (installed.length === 0) return { layer: 'policies', does: 'not installed', ids: [] }
  const bound = new Set(bindings.map((each) => part(each, 'spec', 'policyName')))
  const ids = installed
    .filter((each) => bound.has(part(each, 'metadata', 'name')))
    .flatMap((each) => listOf(part(each, 'spec', 'validations')))
    .flatMap((each) => [part(each, 'message'), part(each, 'messageExpression')])
    .flatMap((text) =>
      typeof text === 'string' ? Array.from(text.matchAll(/\(([a-z0-9-]+)\)/g), ([, id = '']) => id) : [],
    )
    .filter((id) => ALL_IDS.has(id))
  const actions = new Set(bindings.flatMap((each) => textsOf(part(each, 'spec', 'validationActions'))))
  const does = actions.size === 0 ? 'not bound' : `the API server: ${[...actions].toSorted().join(', ')}`
  return { layer: 'policies', does, ids: [...new Set(ids)].toSorted() }
}

function webhook({ probe, setup, validating }: Seen): Layer {
  if (probe.outcome !== 'reached')
    return { layer: 'webhook', does: probe.outcome === 'not known' ? 'not known' : 'not reached', ids: [] }
  const severities = severitiesNow(setup)
  const count = (severity: string) => [...severities.values()].filter((each) => each === severity).length
  const denies = setup?.mode === 'warn' ? 'none denies (--mode warn)' : `${count('error')} deny`
  const failing = policyOf(validating) === 'Fail' ? 'fails closed' : 'fails open'
  const of = setup === undefined ? '; as by default' : ''
  return {
    layer: 'webhook',
    does: `${denies}, ${count('warning')} warn; ${failing}${of}`,
    ids: [...severities.keys()],
  }
}

function background({ setup, probe }: Seen): Layer {
  const judges = setup !== undefined && setup.role !== 'leader' && probe.outcome === 'reached'
  const does = judges
    ? 'in vmcp_admission_current_findings'
    : setup === undefined
      ? 'not known: the settings of the server are not in a Deployment'
      : 'not reached'
  return { layer: 'background', does, ids: judges ? [...severitiesNow(setup).keys()] : [] }
}

/**
 * The severities of all rules that are not off, by id, as the flags of the Deployment set them. The configuration file
 * is not read.
 */
function severitiesNow(setup: Setup | undefined): ReadonlyMap<string, string> {
  const everywhere = (setup?.severities ?? []).filter(
    ({ path, namespaces }: SeveritySetting) => path === undefined && namespaces === undefined,
  )
  const rows = allRules().map(({ id, severity }): [string, string] => [
    id,
    everywhere.findLast((each) => each.id === id)?.severity ?? severity,
  ])
  return new Map(rows.filter(([, severity]) => severity !== 'off').toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
