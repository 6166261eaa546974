import { isObject } from '../rule/resource.ts'
import { type Api, DELETE, type Place, type Stored } from './api.ts'

/** Something that a user may do, or not. */
export interface Right {
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty: in all namespaces, or of the cluster. */
  readonly namespace: string
  /** Empty: whatever its name. */
  readonly name: string
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const JSON_TYPE = 'application/json'

/** The objects of an installation, to look at and to take away; undefined is one that is not there. */
export class Installation {
  readonly #api: Api
  readonly #place: Place

  constructor(api: Api, place: Place) {
    this.#api = api
    this.#place = place
  }

  /** As a part of a path. */
  get #namespace(): string {
    return encodeURIComponent(this.#place.namespace)
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

  readDefinition(plural: string): Promise<Stored | undefined> {
    return this.#read(
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${this.#place.group}`,
    )
  }

  /** What else may stand in admissionregistration.k8s.io/v1, by its plural; nothing of a kind that is not served. */
  listAdmission(plural: string): Promise<Stored[]> {
    return this.#list(`${ADMISSION}/${plural}`)
  }

  /** The certificates in a Secret by their keys in it: whatever is no `.crt` stays behind. */
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

  /** Whether a service account of the namespace may do it. */
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

  /** Whether it was there. */
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
