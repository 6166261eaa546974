import { API_VERSION, KINDS } from '../kinds/index.ts'
import { rulePlacesOf } from '../kinds/places.ts'
import type { Kind } from '../kinds/kind.ts'

/**
 * How the API server reaches the webhook: `{ url, caBundle }` or `{ service: { namespace, name, port }, caBundle }`.
 */
export interface ClientConfig {
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly port: number
    readonly path?: string
  }
  /** The CAs in PEM, as base64; absent when another tool injects them. */
  readonly caBundle?: string
}

export interface Registration {
  readonly group: string
  readonly failurePolicy: 'Fail' | 'Ignore'
  /** The clientConfig for each path of the webhook. */
  readonly clientConfig: (path: '/validate' | '/mutate') => ClientConfig
  /** Seconds that the API server waits for an answer. */
  readonly timeoutSeconds?: number
}

/**
 * A match condition: the API server calls the webhook for updates only when the spec changes and the object is not
 * being deleted. So changes of finalizers and labels and storage migration work even while the webhook is down
 * (decision 8).
 */
export const SPEC_CHANGES =
  "request.operation != 'UPDATE' || (!has(object.metadata.deletionTimestamp) && (has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)))"

const ADMISSION = 'admissionregistration.k8s.io/v1'
export const WEBHOOK_NAME = 'vmcp-admission'
/** The Deployment that the chart makes for the leader, when the leader runs in a Deployment of its own. */
export const LEADER_NAME = 'vmcp-admission-leader'
/** The Lease of the replica that writes reports of findings to the cluster (`--reports`). */
export const REPORTS_LEASE = 'vmcp-admission-reports'

/**
 * An annotation for probing the webhook: a dry run of an object with it is denied at once, which proves that the API
 * server calls the webhook.
 */
export const probeAnnotation = (group: string): string => `${group}/vmcp-admission-probe`

/**
 * The ValidatingWebhookConfiguration: `failurePolicy` applies to creations and updates of the seven kinds; deletions
 * of three kinds fail open.
 */
export function validatingWebhookConfiguration(registration: Registration) {
  const { group, failurePolicy, clientConfig, timeoutSeconds = WEBHOOK_TIMEOUT } = registration
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: WEBHOOK_NAME },
    webhooks: [
      {
        name: `validate.${WEBHOOK_NAME}.${group}`,
        clientConfig: clientConfig('/validate'),
        failurePolicy,
        ...writes(group, timeoutSeconds),
      },
      {
        name: `delete.${WEBHOOK_NAME}.${group}`,
        clientConfig: clientConfig('/validate'),
        failurePolicy: 'Ignore',
        rules: [
          { ...ofGroup(group), operations: ['DELETE'], resources: KINDS.filter(warnsOnDelete).map(plural) },
        ],
        ...ALWAYS,
        timeoutSeconds: Math.min(DELETE_TIMEOUT, timeoutSeconds),
      },
    ],
  }
}

/**
 * The MutatingWebhookConfiguration. The webhook fails open, because validation never assumes that /mutate wrote its
 * defaults (decision 27).
 */
export function mutatingWebhookConfiguration({
  group,
  clientConfig,
  timeoutSeconds = WEBHOOK_TIMEOUT,
}: Registration) {
  return {
    apiVersion: ADMISSION,
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: WEBHOOK_NAME },
    webhooks: [
      {
        name: `mutate.${WEBHOOK_NAME}.${group}`,
        clientConfig: clientConfig('/mutate'),
        failurePolicy: 'Ignore',
        reinvocationPolicy: 'IfNeeded',
        ...writes(group, timeoutSeconds),
      },
    ],
  }
}

const plural = (kind: Kind) => kind.plural
const warnsOnDelete = (kind: Kind) => rulePlacesOf(kind).some(({ rule }) => rule.when === 'delete')

function writes(group: string, timeoutSeconds: number) {
  return {
    rules: [{ ...ofGroup(group), operations: ['CREATE', 'UPDATE'], resources: KINDS.map(plural) }],
    matchConditions: [{ name: 'spec-changes', expression: SPEC_CHANGES }],
    ...ALWAYS,
    timeoutSeconds,
  }
}

const ofGroup = (group: string) => ({
  apiGroups: [group],
  apiVersions: [API_VERSION],
  scope: 'Namespaced',
})

/** Default seconds that the API server waits for an answer. */
export const WEBHOOK_TIMEOUT = 5
/** Seconds that the API server waits at a deletion, where the answer is only a warning. */
const DELETE_TIMEOUT = 2

const ALWAYS = {
  matchPolicy: 'Equivalent',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}
