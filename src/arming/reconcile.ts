import { isDeepStrictEqual } from 'node:util'
import type { LabelSelector } from '../configuration/label-selector.ts'
import { isObject, metadataOf } from '../rule/index.ts'
import {
  type ClientConfig,
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
  WEBHOOK_NAME,
} from '../registration/index.ts'

export type WebhookConfiguration = Readonly<Record<string, unknown>>

/** The failurePolicy of a webhook: `Fail` after a probe proved that the API server calls this webhook. */
export type FailurePolicy = 'Fail' | 'Ignore'

interface Wanted {
  readonly group: string
  readonly failurePolicy: FailurePolicy
  readonly clientConfig: (path: '/validate' | '/mutate') => ClientConfig
  /** The ClusterRole that owns the webhook configurations: they are deleted with it, as when the chart is removed. */
  readonly owner: { readonly name: string; readonly uid: string } | undefined
  /** Selects the namespaces that all webhooks in both configurations cover; an empty selector selects all. */
  readonly namespaceSelector: LabelSelector
  /** Selects the objects that all webhooks in both configurations cover; an empty selector selects all. */
  readonly objectSelector: LabelSelector
  readonly timeoutSeconds: number
  /** Names the installation that writes the webhook configurations, by its Lease: `Lease NAMESPACE/NAME`. */
  readonly manager: string
  /** Commands that disable the webhook in an emergency, for a person who reads the webhook configuration. */
  readonly breakGlass: string
}

/** Keys of annotations on the webhook configurations, for people and for other installations of this server. */
const MANAGED_BY = 'vmcp-admission/managed-by'
const BREAK_GLASS = 'vmcp-admission/break-glass'
/**
 * Without this annotation Azure (AKS) adds conditions to the webhooks' namespaceSelector, which the leader would remove
 * again and again.
 */
const FOR_AKS = { 'admissions.enforcer/disabled': 'true' }

/** The complete validating and mutating webhook configurations, as this server writes them. */
export function wantedConfigurations(wanted: Wanted): readonly WebhookConfiguration[] {
  return [validatingWebhookConfiguration(wanted), mutatingWebhookConfiguration(wanted)].map((each) => ({
    ...each,
    metadata: {
      name: WEBHOOK_NAME,
      annotations: { ...FOR_AKS, [MANAGED_BY]: wanted.manager, [BREAK_GLASS]: wanted.breakGlass },
      ...(wanted.owner && { ownerReferences: [ownerReference(wanted.owner)] }),
    },
    // Writes selectors and matchConditions even when they are empty. Otherwise selectors that another field manager has
    // set would remain, and could exclude a namespace from the webhook.
    webhooks: each.webhooks.map((webhook) => ({
      matchConditions: [],
      ...webhook,
      namespaceSelector: wanted.namespaceSelector,
      objectSelector: wanted.objectSelector,
    })),
  }))
}

const ownerReference = ({ name, uid }: { readonly name: string; readonly uid: string }) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  name,
  uid,
})

/** The failurePolicy of the first webhook in a stored webhook configuration; only the first webhook can deny. */
export function policyOf(configuration: WebhookConfiguration | undefined): FailurePolicy | undefined {
  const [first] = webhooksOf(configuration)
  return first?.failurePolicy === 'Fail' ? 'Fail' : first === undefined ? undefined : 'Ignore'
}

/** The field managers, other than this server, that own some field of the webhook configuration. */
export function otherManagers(configuration: WebhookConfiguration | undefined): string[] {
  const { metadata } = configuration ?? {}
  const managed = isObject(metadata) && Array.isArray(metadata.managedFields) ? metadata.managedFields : []
  const names = managed.map((each) => (isObject(each) ? String(each.manager) : ''))
  return [...new Set(names)].filter((name) => name !== WEBHOOK_NAME)
}

/** The installation that a stored webhook configuration names as its manager; undefined when it names none. */
export function managerOf(configuration: WebhookConfiguration | undefined): string | undefined {
  const { metadata } = configuration ?? {}
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {}
  const manager = annotations[MANAGED_BY]
  return typeof manager === 'string' ? manager : undefined
}

/**
 * The wanted webhook configuration, with the resourceVersion of the stored one that it replaces completely: the API
 * server refuses the update if the stored one has changed. A webhook without a caBundle gets the caBundle of the
 * stored webhook with the same name, or else with the same address.
 */
export function displacing(wanted: WebhookConfiguration, stored: WebhookConfiguration): WebhookConfiguration {
  const before = webhooksOf(stored)
  const carried = webhooksOf(wanted).map((webhook) => {
    const { name, clientConfig } = webhook
    if (!isObject(clientConfig) || clientConfig.caBundle !== undefined) return webhook
    const same =
      before.find((each) => each.name === name) ??
      before.find((each) => drift(clientConfig, each.clientConfig) === undefined)
    const caBundle = bundleOf(same)
    return caBundle === undefined ? webhook : { ...webhook, clientConfig: { ...clientConfig, caBundle } }
  })
  const { resourceVersion } = metadataOf(stored)
  const metadata = metadataOf(wanted)
  return { ...wanted, metadata: { ...metadata, resourceVersion }, webhooks: carried }
}

/** The first API group in the webhook rules of a stored webhook configuration; undefined when there is none. */
export function groupOf(configuration: WebhookConfiguration | undefined): string | undefined {
  const rules = webhooksOf(configuration)[0]?.rules
  const [rule] = Array.isArray(rules) ? (rules as unknown[]) : []
  const groups = isObject(rule) ? rule.apiGroups : undefined
  const [group] = Array.isArray(groups) ? (groups as unknown[]) : []
  return typeof group === 'string' ? group : undefined
}

/** The clientConfig of the first webhook in a stored webhook configuration. */
export const clientConfigOf = (configuration: WebhookConfiguration | undefined): unknown =>
  webhooksOf(configuration)[0]?.clientConfig

/** The caBundle (PEM) of each webhook in a stored webhook configuration; empty for a webhook without one. */
export const bundlesOf = (configuration: WebhookConfiguration | undefined): string[] =>
  webhooksOf(configuration).map((webhook) => Buffer.from(bundleOf(webhook) ?? '', 'base64').toString())

function bundleOf(webhook: Record<string, unknown> | undefined): string | undefined {
  const { caBundle } = isObject(webhook?.clientConfig) ? webhook.clientConfig : {}
  return typeof caBundle === 'string' ? caBundle : undefined
}

function webhooksOf(configuration: WebhookConfiguration | undefined): Record<string, unknown>[] {
  return Array.isArray(configuration?.webhooks) ? configuration.webhooks.filter(isObject) : []
}

/**
 * Fields of a webhook that must equal the wanted field exactly: a condition that another field manager adds to a
 * selector could exclude a namespace.
 */
const WHOLE = new Set(['namespaceSelector', 'objectSelector'])

/**
 * The first path at which a stored value differs from the wanted one; undefined when there is none. Ignores fields that
 * only the stored value has, such as defaults.
 */
export function drift(wanted: unknown, stored: unknown, at = ''): string | undefined {
  if (Array.isArray(wanted)) {
    if (wanted.length === 0 && stored === undefined) return undefined
    if (!Array.isArray(stored) || stored.length !== wanted.length) return at
    return firstDrift(wanted.map((item, i) => drift(item, stored[i], `${at}[${i}]`)))
  }
  if (isObject(wanted)) {
    if (!isObject(stored)) return at
    return firstDrift(
      Object.entries(wanted).map(([field, value]) => {
        const path = at === '' ? field : `${at}.${field}`
        if (WHOLE.has(field)) return isDeepStrictEqual(value, stored[field]) ? undefined : path
        return drift(value, stored[field], path)
      }),
    )
  }
  return wanted === stored ? undefined : at
}

const firstDrift = (all: readonly (string | undefined)[]) => all.find((each) => each !== undefined)
