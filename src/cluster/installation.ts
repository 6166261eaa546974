import { API_VERSION } from '../kinds/index.ts'
import { WEBHOOK_NAME } from '../registration/index.ts'
import { isObject, metadataOf } from '../rule/index.ts'
import { type Api, DELETE, type InstallationPlace, type Stored } from './api.ts'

/** A permission that a SubjectAccessReview checks. */
export interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty for all namespaces, or for a cluster-scoped resource. */
  readonly namespace: string
  /** Empty for any name. */
  readonly name: string
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
/** Milliseconds in which the metrics of a pod must arrive. */
const METRICS = 5_000
const JSON_TYPE = 'application/json'

/** Reads and deletes the objects of an installation. Reads return undefined when the object does not exist. */
export class Installation {
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

  readNamespace(): Promise<Stored | undefined> {
    return this.#read(`/api/v1/namespaces/${this.#namespace}`)
  }

  readDeployment(name: string): Promise<Stored | undefined> {
    return this.#read(`/apis/apps/v1/namespaces/${this.#namespace}/deployments/${name}`)
  }

  readService(name: string): Promise<Stored | undefined> {
    return this.#read(`/api/v1/namespaces/${this.#namespace}/services/${encodeURIComponent(name)}`)
  }

  /** The EndpointSlices of a Service. */
  listEndpoints(service: string): Promise<Stored[]> {
    const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`)
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${this.#namespace}/endpointslices`
    return this.#list(`${slices}?labelSelector=${selector}`)
  }

  /** The pods with these labels. */
  listPods(labels: Readonly<Record<string, string>>): Promise<Stored[]> {
    const selector = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
    const pods = `/api/v1/namespaces/${this.#namespace}/pods`
    return this.#list(`${pods}?labelSelector=${encodeURIComponent(selector.join(','))}`)
  }

  /** The metrics of a pod, read through the API server. Throws when they do not arrive within five seconds. */
  readPodMetrics(pod: string, port: string): Promise<string> {
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${encodeURIComponent(`${pod}:${port}`)}/proxy/metrics`
    return this.#api.text(path, [this.#place.signal, AbortSignal.timeout(METRICS)])
  }

  readDefinition(plural: string): Promise<Stored | undefined> {
    return this.#read(`${DEFINITIONS}/${plural}.${this.#place.group}`)
  }

  /** Creates a CustomResourceDefinition; false when one with this name exists. */
  createDefinition(definition: Stored): Promise<boolean> {
    const body = JSON.stringify(definition)
    return this.#api.attempt(
      `${DEFINITIONS}?fieldManager=${WEBHOOK_NAME}`,
      { method: 'POST', contentType: JSON_TYPE, body },
      [this.#place.signal],
    )
  }

  /**
   * Deletes the CustomResourceDefinition with this uid, and with it all resources of its kind; false when it does not
   * exist. Throws StatusError 409 when the definition with this name has another uid.
   */
  deleteDefinition(plural: string, uid: string): Promise<boolean> {
    const body = JSON.stringify({ preconditions: { uid } })
    return this.#api.attempt(`${DEFINITIONS}/${plural}.${this.#place.group}`, { ...DELETE, body }, [
      this.#place.signal,
    ])
  }

  /** Number of stored resources with this plural in all namespaces; undefined when the API server does not serve it. */
  async countResources(plural: string): Promise<number | undefined> {
    const list = await this.#read(`/apis/${this.#place.group}/${API_VERSION}/${plural}?limit=1`)
    if (list === undefined) return undefined
    const items = Array.isArray(list.items) ? list.items.length : 0
    const { remainingItemCount: more } = metadataOf(list)
    return items + (typeof more === 'number' ? more : 0)
  }

  /** The objects of admissionregistration.k8s.io/v1 with this plural; empty when the API server does not serve it. */
  listAdmission(plural: string): Promise<Stored[]> {
    return this.#list(`${ADMISSION}/${plural}`)
  }

  /** The certificates in a Secret, by key; drops the values of all keys that do not end in `.crt`. */
  async readCertificates(secret: string): Promise<Readonly<Record<string, string>> | undefined> {
    const found = await this.#read(this.#secret(secret))
    if (found === undefined) return undefined
    const entries = Object.entries(isObject(found.data) ? found.data : {}).flatMap(([key, value]) =>
      key.endsWith('.crt') && typeof value === 'string'
        ? [[key, Buffer.from(value, 'base64').toString()] as const]
        : [],
    )
    return Object.fromEntries(entries)
  }

  /** Whether a service account of the namespace has the permission. */
  async mayDo(account: string, { verb, group, resource, namespace, name }: Right): Promise<boolean> {
    const place = this.#place.namespace
    const spec = {
      user: `system:serviceaccount:${place}:${account}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${place}`, 'system:authenticated'],
      resourceAttributes: { verb, group, resource, namespace, name },
    }
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec }
    const sent = { method: 'POST', contentType: JSON_TYPE, body: JSON.stringify(review) } as const
    const answer = await this.#api.ask(REVIEWS, sent, [this.#place.signal])
    return isObject(answer) && isObject(answer.status) && answer.status.allowed === true
  }

  /** Deletes the Lease; false when it did not exist. */
  deleteLease(name: string): Promise<boolean> {
    return this.#delete(`/apis/coordination.k8s.io/v1/namespaces/${this.#namespace}/leases/${name}`)
  }

  deleteSecret(name: string): Promise<boolean> {
    return this.#delete(this.#secret(name))
  }

  #secret(name: string): string {
    return `/api/v1/namespaces/${this.#namespace}/secrets/${name}`
  }

  #read(path: string): Promise<Stored | undefined> {
    return this.#api.object(path, [this.#place.signal])
  }

  async #list(path: string): Promise<Stored[]> {
    const items = (await this.#read(path))?.items
    return Array.isArray(items) ? items.filter(isObject) : []
  }

  #delete(path: string): Promise<boolean> {
    return this.#api.attempt(path, DELETE, [this.#place.signal])
  }
}
