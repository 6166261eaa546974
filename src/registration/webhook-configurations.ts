import { API_VERSION, KINDS } from '../kinds/index.ts'
import { rulePlacesOf } from '../kinds/places.ts'
import type { Kind } from '../kinds/kind.ts'

/** How the API server reaches the webhook: `{ url, caBundle }` or `{ service: { namespace, name, port }, caBundle }`. */
export interface ClientConfig {
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly port: number
    readonly path?: string
  }
  /** Base64 of the PEM bundle; absent when something else injects it. */
  readonly caBundle?: string
}

export interface Registration {
  readonly group: string
  readonly failurePolicy: 'Fail' | 'Ignore'
  /** The client configuration of one path. */
  readonly clientConfig: (path: '/validate' | '/mutate') => ClientConfig
  /** How long the API server waits for an answer. */
  readonly timeoutSeconds?: number
}

/**
 * An update that leaves the spec alone, or of an object that is being deleted, is not sent to us at all, so that it
 * passes even while we are down: finalizers, labels, storage migration (decision 8).
 */
export const SPEC_CHANGES =
  "request.operation != 'UPDATE' || (!has(object.metadata.deletionTimestamp) && (has(object.spec) != has(oldObject.spec) || (has(object.spec) && object.spec != oldObject.spec)))"

const ADMISSION = 'admissionregistration.k8s.io/v1'
export const WEBHOOK_NAME = 'vmcp-admission'
/** The Deployment of the chart that writes, where it is one of its own. */
export const LEADER_NAME = 'vmcp-admission-leader'

/** A dry run of an object with this annotation is refused before anything else: so the webhook proves that it is asked. */
export const probeAnnotation = (group: string): string => `${group}/vmcp-admission-probe`

/** The ValidatingWebhookConfiguration: our seven kinds created or updated, and three of them deleted, which fails open. */
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

/** The MutatingWebhookConfiguration: fails open, because validation never assumes that our defaults are there (decision 27). */
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

/** Seconds that the API server waits for an answer by default. */
export const WEBHOOK_TIMEOUT = 5
/** Seconds that a deletion waits for a server that hangs: the answer is a warning, which is not worth five. */
const DELETE_TIMEOUT = 2

const ALWAYS = {
  matchPolicy: 'Equivalent',
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
}
