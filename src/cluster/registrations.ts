import { API_VERSION } from '../kinds/index.ts'
import { mcpExternalAuthConfig } from '../kinds/mcp-external-auth-config/index.ts'
import { WEBHOOK_NAME } from '../registration/index.ts'
import { isObject, metadataOf } from '../rule/index.ts'
import {
  type Api,
  DELETE,
  type InstallationPlace,
  type SentRequest,
  StatusError,
  type Stored,
} from './api.ts'
import { watch } from './list-watch.ts'
import { TIMES } from './times.ts'

/** The fields of a Lease (coordination.k8s.io/v1) that are used here. */
interface LeaseFields {
  readonly holder: string
  readonly renewed: string
  readonly seconds: number
  readonly transitions: number
}

interface StoredLease extends LeaseFields {
  readonly resourceVersion: string
  /** Time at which the Lease was last changed, by the clock of the API server; empty when not known. */
  readonly written: string
}

const PLURALS: Readonly<Record<string, string>> = {
  ValidatingWebhookConfiguration: 'validatingwebhookconfigurations',
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
}
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const JSON_TYPE = 'application/json'
const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'

/**
 * Reads and writes the webhook configurations and the Lease of an installation. The methods throw like those of `Api`.
 */
export class Registrations {
  readonly #api: Api
  readonly #place: InstallationPlace

  constructor(api: Api, place: InstallationPlace) {
    this.#api = api
    this.#place = place
  }

  /** The namespace, escaped for a path. */
  get #namespace(): string {
    return encodeURIComponent(this.#place.namespace)
  }

  /** The webhook configuration with this kind and name; undefined when it does not exist. */
  readConfiguration(kind: string, name: string): Promise<Stored | undefined> {
    return this.#read(`${ADMISSION}/${PLURALS[kind] ?? ''}/${name}`)
  }

  /**
   * Calls `changed` if the webhook configuration exists, and after each change or deletion. Settles as `watch` does.
   */
  async watchConfiguration(kind: string, name: string, changed: () => void): Promise<void> {
    const from = { resourceVersion: '', milliseconds: TIMES.watch, silence: TIMES.silence, name }
    await watch(this.#api, `${ADMISSION}/${PLURALS[kind] ?? ''}`, from, this.#place.signal, (event) => {
      if (event !== 'accepted' && event.type !== 'bookmark') changed()
    })
  }

  /**
   * Writes the webhook configuration with a forced server-side apply. An apply leaves fields that only other field
   * managers set, such as a webhook that they added, or the Service in a clientConfig where this server sets a URL.
   * `displacing` is a merge patch that replaces such fields; it is sent before the apply, and has no effect when the
   * configuration has changed since it was read.
   */
  async applyConfiguration(configuration: Stored, displacing?: Stored): Promise<void> {
    const plural = PLURALS[String(configuration.kind)] ?? ''
    const path = `${ADMISSION}/${plural}/${WEBHOOK_NAME}?fieldManager=${WEBHOOK_NAME}`
    if (displacing !== undefined)
      await this.#attempt(path, { method: 'PATCH', contentType: MERGE, body: JSON.stringify(displacing) })
    const sent = { method: 'PATCH', contentType: APPLY, body: JSON.stringify(configuration) } as const
    await this.#api.write(`${path}&force=true`, sent, [this.#place.signal])
  }

  /** Deletes the webhook configuration; false when it did not exist. */
  deleteConfiguration(kind: string, name: string): Promise<boolean> {
    return this.#attempt(`${ADMISSION}/${PLURALS[kind] ?? ''}/${name}`, DELETE)
  }

  /** The uid of a ClusterRole; undefined when it does not exist. */
  async readOwner(name: string): Promise<string | undefined> {
    const found = await this.#read(
      `/apis/rbac.authorization.k8s.io/v1/clusterroles/${encodeURIComponent(name)}`,
    )
    const metadata = metadataOf(found)
    return typeof metadata.uid === 'string' ? metadata.uid : undefined
  }

  /** Sends a dry run that creates an object with the nonce in an annotation; returns the message if it is refused. */
  async tryProbe(
    annotation: string,
    nonce: string,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<string | undefined> {
    const { kind, plural } = mcpExternalAuthConfig
    const object = {
      apiVersion: `${this.#place.group}/${API_VERSION}`,
      kind,
      metadata: { name: `${WEBHOOK_NAME}-probe`, labels, annotations: { [annotation]: nonce } },
      spec: { type: 'unauthenticated' },
    }
    const path = `/apis/${this.#place.group}/${API_VERSION}/namespaces/${this.#namespace}/${plural}?dryRun=All`
    try {
      const sent = { method: 'POST', contentType: JSON_TYPE, body: JSON.stringify(object) } as const
      await this.#api.write(path, sent, [this.#place.signal])
      return undefined
    } catch (error) {
      if (error instanceof StatusError) return error.message
      throw error
    }
  }

  /** The Lease with this name in the namespace of the server. */
  lease(name: string) {
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${this.#namespace}/leases`
    return {
      read: async (): Promise<StoredLease | undefined> => {
        const found = await this.#read(`${leases}/${name}`)
        return found === undefined ? undefined : leaseOf(found)
      },
      create: (lease: LeaseFields): Promise<boolean> =>
        this.#attempt(leases, {
          method: 'POST',
          contentType: JSON_TYPE,
          body: JSON.stringify({
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            metadata: { name },
            spec: specOf(lease),
          }),
        }).catch((error: unknown) => {
          if (!(error instanceof StatusError) || error.status !== 404) throw error
          const { namespace } = this.#place
          throw new Error(
            `there is no namespace ${namespace} for the Lease: kubectl create namespace ${namespace}, or name another one with --namespace`,
          )
        }),
      update: ({ resourceVersion, ...lease }: LeaseFields & { resourceVersion: string }): Promise<boolean> =>
        this.#attempt(`${leases}/${name}`, {
          method: 'PATCH',
          contentType: MERGE,
          body: JSON.stringify({ metadata: { resourceVersion }, spec: specOf(lease) }),
        }),
    }
  }

  #read(path: string): Promise<Stored | undefined> {
    return this.#api.object(path, [this.#place.signal])
  }

  #attempt(path: string, sent: SentRequest): Promise<boolean> {
    return this.#api.attempt(path, sent, [this.#place.signal])
  }
}

const specOf = ({ holder, renewed, seconds, transitions }: LeaseFields) => ({
  holderIdentity: holder,
  renewTime: renewed.replace(/Z$/, '000Z'),
  leaseDurationSeconds: seconds,
  leaseTransitions: transitions,
})

function leaseOf(stored: Stored): StoredLease {
  const spec = isObject(stored.spec) ? stored.spec : {}
  const metadata = metadataOf(stored)
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  const number = (value: unknown, fallback: number) => (typeof value === 'number' ? value : fallback)
  return {
    holder: text(spec.holderIdentity),
    renewed: text(spec.renewTime).replace(/(\.\d{3})\d*Z$/, '$1Z'),
    seconds: number(spec.leaseDurationSeconds, 15),
    transitions: number(spec.leaseTransitions, 0),
    resourceVersion: text(metadata.resourceVersion),
    written: lastOf(metadata.managedFields),
  }
}

/** The latest time in the managedFields of an object. All times have the same format, so texts can be compared. */
function lastOf(managed: unknown): string {
  const entries: readonly unknown[] = Array.isArray(managed) ? managed : []
  return entries.reduce<string>((last, each) => {
    const { time } = isObject(each) ? each : {}
    return typeof time === 'string' && time > last ? time : last
  }, '')
}
