import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { KINDS } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { mutatingWebhookConfiguration, validatingWebhookConfiguration } from '../registration/index.ts'
import { isObject, metadataOf } from '../rule/index.ts'
import { type WebhookConfiguration, probeAnswer } from './index.ts'

/** The requests to the API server for a webhook registration that lasts as long as one process. */
export interface TemporaryCluster {
  /**
   * The webhook configuration `vmcp-admission`; undefined when it does not exist. `kind` is
   * ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
   */
  readConfiguration(kind: string): Promise<WebhookConfiguration | undefined>
  applyConfiguration(configuration: WebhookConfiguration): Promise<void>
  /** Deletes the webhook configuration of this kind; false when it did not exist. */
  deleteConfiguration(kind: string): Promise<boolean>
  /** Sends a dry run that our webhooks always deny; returns the text of the denial, or undefined without a denial. */
  tryProbe(namespace: string, nonce: string): Promise<string | undefined>
  /** The CustomResourceDefinition of one of the seven kinds that are judged, by its plural. */
  readDefinition(plural: string): Promise<WebhookConfiguration | undefined>
  /** Creates the CRD; false when it already exists. */
  createDefinition(definition: WebhookConfiguration): Promise<boolean>
  deleteDefinition(plural: string, uid: string): Promise<boolean>
  /** Number of stored resources with this plural in all namespaces; undefined when the API server does not serve it. */
  countResources(plural: string): Promise<number | undefined>
}

/** The address of this process for the API server, and the namespaces whose writes are sent to it. */
export interface TemporaryRegistration {
  readonly group: string
  /** The base URL at which the API server reaches the process: `https://HOST:PORT`. */
  readonly url: string
  /** The CA (PEM) that signed the serving certificate. */
  readonly ca: string
  /** The namespaces whose writes are sent to the process. */
  readonly namespaces: readonly string[]
  /** Identifies the process for people: by host name and process id. */
  readonly holder: string
}

const LABEL = 'app.kubernetes.io/managed-by'
const MANAGER = 'vmcp-admission-local-cluster'
const HOLDER = 'vmcp-admission/local-cluster'
/** A label selector for all objects that temporary registrations create. */
export const TEMPORARY_SELECTOR = `${LABEL}=${MANAGER}`
const CONFIGURATION_KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']
/** Milliseconds between two requests while waiting until the API server serves a new CRD or calls a new webhook. */
const POLL_EVERY = 250
/** Milliseconds within which a CRD that is being deleted must be gone. */
const GONE_WITHIN = 20_000

/** Whether a temporary registration created the object. */
export function isTemporary(object: WebhookConfiguration | undefined): boolean {
  const { labels } = metadataOf(object)
  return isObject(labels) && labels[LABEL] === MANAGER
}

/** The process that created the object, as text. */
export function holderOf(object: WebhookConfiguration | undefined): string {
  const { annotations } = metadataOf(object)
  return isObject(annotations) && typeof annotations[HOLDER] === 'string'
    ? annotations[HOLDER]
    : 'another process'
}

/** Adds the label and annotation of a temporary registration to an object. */
function temporary<T extends { readonly metadata?: unknown }>(object: T, holder: string): T {
  const metadata = metadataOf(object)
  const labels = { ...(isObject(metadata.labels) && metadata.labels), [LABEL]: MANAGER }
  const annotations = { ...(isObject(metadata.annotations) && metadata.annotations), [HOLDER]: holder }
  return { ...object, metadata: { ...metadata, labels, annotations } }
}

/**
 * Both webhook configurations, failing open: if the process dies without removing them, writes are admitted unjudged.
 * The namespaceSelector limits them to the namespaces of the registration.
 */
function temporaryConfigurations(registration: TemporaryRegistration): readonly WebhookConfiguration[] {
  const { group, url, ca, namespaces, holder } = registration
  const caBundle = Buffer.from(ca).toString('base64')
  const clientConfig = (path: '/validate' | '/mutate') => ({ url: url + path, caBundle })
  const selected = { key: 'kubernetes.io/metadata.name', operator: 'In', values: namespaces }
  const wanted = { group, failurePolicy: 'Ignore' as const, clientConfig }
  return [validatingWebhookConfiguration(wanted), mutatingWebhookConfiguration(wanted)].map((each) => ({
    ...temporary(each, holder),
    webhooks: each.webhooks.map((webhook) => ({
      ...webhook,
      namespaceSelector: { matchExpressions: [selected] },
    })),
  }))
}

/** Whether some vmcp-admission webhook is called for writes in this namespace. */
async function isAnswered(cluster: Pick<TemporaryCluster, 'tryProbe'>, namespace: string): Promise<boolean> {
  const nonce = randomUUID()
  return (await cluster.tryProbe(namespace, nonce))?.includes(probeAnswer(nonce)) ?? false
}

/** Says which process serves a temporary webhook configuration; undefined when none answers the probe. */
export async function describeServing(
  cluster: Pick<TemporaryCluster, 'tryProbe'>,
  configuration: WebhookConfiguration,
): Promise<string | undefined> {
  const [namespace] = namespacesOf(configuration)
  if (namespace === undefined || !(await isAnswered(cluster, namespace))) return undefined
  return `${holderOf(configuration)} serves this cluster with --local-cluster: end it first`
}

/**
 * Removes the webhook configurations that a killed process left in the cluster, and returns the name of that process.
 * Throws an Error when they belong to an installation, or to a process that still answers.
 */
export async function removeAbandoned(cluster: TemporaryCluster): Promise<string | undefined> {
  const stored: WebhookConfiguration[] = []
  for (const kind of CONFIGURATION_KINDS) {
    const found = await cluster.readConfiguration(kind)
    if (found !== undefined) stored.push(found)
  }
  const lasting = stored.find((each) => !isTemporary(each))
  if (lasting !== undefined)
    throw new Error(
      `the cluster has an installation already (${String(lasting.kind)} vmcp-admission): vmcp-admission doctor says how it is, vmcp-admission uninstall removes it`,
    )
  const [first] = stored
  if (first === undefined) return undefined
  const serving = await describeServing(cluster, first)
  if (serving !== undefined) throw new Error(serving)
  await removeConfigurations(cluster)
  return holderOf(first)
}

/** The namespaces that a temporary webhook configuration selects. */
export function namespacesOf(configuration: WebhookConfiguration): string[] {
  const [webhook] = Array.isArray(configuration.webhooks) ? configuration.webhooks.filter(isObject) : []
  const { matchExpressions } = isObject(webhook?.namespaceSelector) ? webhook.namespaceSelector : {}
  const [selected] = Array.isArray(matchExpressions) ? matchExpressions.filter(isObject) : []
  return Array.isArray(selected?.values) ? selected.values.map(String) : []
}

/**
 * Removes the temporary webhook configurations; if `holder` names a process, only the configurations of this process.
 * Keeps a configuration that an installation or another process has overwritten. Returns the names of the removed
 * configurations.
 */
export async function removeConfigurations(cluster: TemporaryCluster, holder?: string): Promise<string[]> {
  const removed: string[] = []
  for (const kind of CONFIGURATION_KINDS) {
    const stored = await cluster.readConfiguration(kind)
    const isMeant = isTemporary(stored) && (holder === undefined || holderOf(stored) === holder)
    if (isMeant && (await cluster.deleteConfiguration(kind))) removed.push(`${kind} vmcp-admission`)
  }
  return removed
}

interface Definitions {
  readonly definitionOf: (kind: Kind) => WebhookConfiguration
  /** The process that creates the CRDs, as text. */
  readonly holder: string
  /** Receives the plurals of the CRDs that this run installs: they are removed at its end, with all their resources. */
  readonly own: Set<string>
  readonly signal: AbortSignal
}

/**
 * Creates the missing CRDs, takes over CRDs without resources that a killed process left, and waits until the API
 * server serves all of these. A CRD that is being deleted is created again once it is gone. Rejects when it does not go,
 * and when the signal aborts; `own` then contains the CRDs of this run so far.
 */
export async function installDefinitions(
  cluster: TemporaryCluster,
  { definitionOf, holder, own, signal }: Definitions,
): Promise<void> {
  for (const kind of KINDS) {
    signal.throwIfAborted()
    const { plural } = kind
    if (await createsDefinition(cluster, plural, temporary(definitionOf(kind), holder), signal))
      own.add(plural)
    else if (isTemporary(await cluster.readDefinition(plural)) && !(await cluster.countResources(plural)))
      own.add(plural)
  }
  for (const plural of own) {
    while ((await cluster.countResources(plural)) === undefined)
      await setTimeout(POLL_EVERY, undefined, { signal })
  }
}

/** Creates a CRD, after waiting for one that is being deleted to be gone; false when one exists that stays. */
async function createsDefinition(
  cluster: TemporaryCluster,
  plural: string,
  definition: WebhookConfiguration,
  signal: AbortSignal,
): Promise<boolean> {
  const end = performance.now() + GONE_WITHIN
  while (!(await cluster.createDefinition(definition))) {
    const stored = await cluster.readDefinition(plural)
    if (stored !== undefined && metadataOf(stored).deletionTimestamp === undefined) return false
    if (performance.now() > end) throw new Error(`the CRD ${plural} is being deleted, and is still there`)
    await setTimeout(POLL_EVERY, undefined, { signal })
  }
  return true
}

export interface RemovedDefinitions {
  readonly removed: readonly string[]
  /** Number of resources that were deleted together with the CRDs. */
  readonly resources: number
  /** A message for each temporary CRD that was not removed: its plural and the reason. */
  readonly kept: readonly string[]
}

/**
 * Removes the CRDs that a temporary registration created. Keeps a CRD that somebody else has changed, and a CRD
 * with resources, unless `own` contains its plural: then the resources were stored during this run.
 */
export async function removeDefinitions(
  cluster: Pick<TemporaryCluster, 'readDefinition' | 'countResources' | 'deleteDefinition'>,
  own: ReadonlySet<string> = new Set(),
): Promise<RemovedDefinitions> {
  const removed: string[] = []
  const kept: string[] = []
  let resources = 0
  for (const { plural } of KINDS) {
    const definition = await cluster.readDefinition(plural)
    if (!isTemporary(definition)) continue
    const { uid, managedFields, deletionTimestamp } = metadataOf(definition)
    // The API server is already deleting this CRD.
    if (deletionTimestamp !== undefined) continue
    const managers = Array.isArray(managedFields) ? managedFields.filter(isObject) : []
    const other = managers.find((each) => each.manager !== 'vmcp-admission' && each.subresource === undefined)
    const count = (await cluster.countResources(plural)) ?? 0
    if (other !== undefined) kept.push(`CRD ${plural}: ${String(other.manager)} has written to it`)
    else if (count > 0 && !own.has(plural)) kept.push(`CRD ${plural}: ${count} resources are stored`)
    else if (await cluster.deleteDefinition(plural, String(uid))) {
      removed.push(plural)
      resources += count
    }
  }
  return { removed, resources, kept }
}

/**
 * Registers the process with the API server, and waits until the API server calls the process; false when it did not
 * within `milliseconds`. Rejects when the API server refuses the webhook configurations, and when the signal aborts.
 */
export async function register(
  cluster: TemporaryCluster,
  registration: TemporaryRegistration,
  { milliseconds, signal }: { readonly milliseconds: number; readonly signal: AbortSignal },
): Promise<boolean> {
  for (const configuration of temporaryConfigurations(registration)) {
    signal.throwIfAborted()
    await cluster.applyConfiguration(configuration)
  }
  const [namespace = 'default'] = registration.namespaces
  const end = performance.now() + milliseconds
  while (!(await isAnswered(cluster, namespace))) {
    if (performance.now() > end) return false
    await setTimeout(POLL_EVERY, undefined, { signal })
  }
  return true
}
