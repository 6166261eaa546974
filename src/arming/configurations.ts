import { isObject } from '../rule/resource.ts'
import {
  type ClientConfig,
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
  WEBHOOK_NAME,
} from '../kinds/registration.ts'

export type Configuration = Readonly<Record<string, unknown>>

/** `Fail` once the webhook has proved itself; never back but by a setting. */
export type FailurePolicy = 'Fail' | 'Ignore'

export interface Wanted {
  readonly group: string
  readonly failurePolicy: FailurePolicy
  readonly clientConfig: (path: '/validate' | '/mutate') => ClientConfig
  /** The object with which both go: an uninstalled chart takes them along. */
  readonly owner: { readonly name: string; readonly uid: string } | undefined
}

/** Both configurations, whole, as this server wants them. */
export function wantedConfigurations(wanted: Wanted): readonly Configuration[] {
  return [validatingWebhookConfiguration(wanted), mutatingWebhookConfiguration(wanted)].map((each) => ({
    ...each,
    metadata: {
      name: WEBHOOK_NAME,
      ...(wanted.owner && { ownerReferences: [ownerReference(wanted.owner)] }),
    },
    // Said, so that nobody else's selector or condition stays: one that excludes a namespace would be a way round us.
    webhooks: each.webhooks.map((webhook) => ({
      matchConditions: [],
      ...webhook,
      namespaceSelector: {},
      objectSelector: {},
    })),
  }))
}

const ownerReference = ({ name, uid }: { readonly name: string; readonly uid: string }) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  name,
  uid,
})

/** The policy of a stored configuration: that of its first entry, which is the one that can deny a write. */
export function policyOf(configuration: Configuration | undefined): FailurePolicy | undefined {
  const [first] = webhooksOf(configuration)
  return first?.failurePolicy === 'Fail' ? 'Fail' : first === undefined ? undefined : 'Ignore'
}

/** Whether anybody else wrote a field of it. */
export function isShared(configuration: Configuration | undefined): boolean {
  const { metadata } = configuration ?? {}
  const managed = isObject(metadata) && Array.isArray(metadata.managedFields) ? metadata.managedFields : []
  return managed.some((each) => isObject(each) && each.manager !== WEBHOOK_NAME)
}

/**
 * What is put in place of a stored configuration, while it is still that one. Where we say no caBundle the stored one
 * stays: that of the entry of this name or, of an entry with another name, of one that is reached as it is.
 */
export function displacing(wanted: Configuration, stored: Configuration): Configuration {
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
  const { resourceVersion } = isObject(stored.metadata) ? stored.metadata : {}
  const metadata = isObject(wanted.metadata) ? wanted.metadata : {}
  return { ...wanted, metadata: { ...metadata, resourceVersion }, webhooks: carried }
}

/** The API group of which a stored configuration has the first kinds; undefined when it says none. */
export function groupOf(configuration: Configuration | undefined): string | undefined {
  const rules = webhooksOf(configuration)[0]?.rules
  const [rule] = Array.isArray(rules) ? (rules as unknown[]) : []
  const groups = isObject(rule) ? rule.apiGroups : undefined
  const [group] = Array.isArray(groups) ? (groups as unknown[]) : []
  return typeof group === 'string' ? group : undefined
}

/** How a stored configuration says that its first entry is reached. */
export const clientConfigOf = (configuration: Configuration | undefined): unknown =>
  webhooksOf(configuration)[0]?.clientConfig

/** The PEM bundles that a stored configuration carries, one of each entry. */
export const bundlesOf = (configuration: Configuration | undefined): string[] =>
  webhooksOf(configuration).map((webhook) => Buffer.from(bundleOf(webhook) ?? '', 'base64').toString())

function bundleOf(webhook: Record<string, unknown> | undefined): string | undefined {
  const { caBundle } = isObject(webhook?.clientConfig) ? webhook.clientConfig : {}
  return typeof caBundle === 'string' ? caBundle : undefined
}

function webhooksOf(configuration: Configuration | undefined): Record<string, unknown>[] {
  return Array.isArray(configuration?.webhooks) ? configuration.webhooks.filter(isObject) : []
}

/** Where a stored value differs from the wanted one; what only the stored one has (defaults, status) is left alone. */
export function drift(wanted: unknown, stored: unknown, at = ''): string | undefined {
  if (Array.isArray(wanted)) {
    if (wanted.length === 0 && stored === undefined) return undefined
    if (!Array.isArray(stored) || stored.length !== wanted.length) return at
    return firstDrift(wanted.map((item, i) => drift(item, stored[i], `${at}[${i}]`)))
  }
  if (isObject(wanted)) {
    if (!isObject(stored)) return at
    // A selector that is wanted empty selects everything; one with conditions does not.
    if (Object.keys(wanted).length === 0) return Object.keys(stored).length === 0 ? undefined : at
    return firstDrift(
      Object.entries(wanted).map(([field, value]) =>
        drift(value, stored[field], at === '' ? field : `${at}.${field}`),
      ),
    )
  }
  return wanted === stored ? undefined : at
}

const firstDrift = (all: readonly (string | undefined)[]) => all.find((each) => each !== undefined)
