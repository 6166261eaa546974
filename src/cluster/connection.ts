import { API_VERSION, DEFAULT_API_GROUP } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { readKinds } from '../kinds/places.ts'
import { metadataOf } from '../rule/index.ts'
import type { Access } from './access.ts'
import { type Answer, Api, StatusError } from './api.ts'
import { Informer } from './informer.ts'
import type { Informers, InformersOptions } from './informers.ts'
import { Installation } from './installation.ts'
import { list } from './list-watch.ts'
import { Registrations } from './registrations.ts'
import { Reports } from './reports.ts'
import type { Sink } from './sink.ts'
import { TIMES, type Times } from './times.ts'

export interface ConnectionOptions {
  readonly group?: string
  /** Replaces some of the durations in `TIMES`; for tests. */
  readonly times?: Partial<Times>
}

const NAMESPACES = '/api/v1/namespaces'
const POSSIBLE_NAME = /^[a-z0-9][-a-z0-9.]*$/

/** A connection to an API server as one user; sends nothing before the first request. */
export class ClusterConnection {
  /** URL of the API server. */
  readonly server: string
  readonly #group: string
  readonly #times: Times
  readonly #api: Api
  readonly #closed = new AbortController()

  constructor(access: Access, { group = DEFAULT_API_GROUP, times }: ConnectionOptions = {}) {
    this.server = access.server.href
    this.#group = group
    this.#times = { ...TIMES, ...times }
    this.#api = new Api(access, this.#times)
  }

  /** Starts an informer for each kind that rules read, in each namespace; these update the sink until `stop`. */
  startInformers(sink: Sink, { namespaces, logger }: InformersOptions): Informers {
    const stopped = new AbortController()
    const signal = AbortSignal.any([stopped.signal, this.#closed.signal])
    const places: readonly (string | undefined)[] = namespaces ?? [undefined]
    const informers = readKinds().flatMap((kind) =>
      places.map((namespace) => {
        const path = this.#path(kind, namespace)
        return new Informer({ kind, namespace, path, api: this.#api, sink, logger, times: this.#times })
      }),
    )
    for (const informer of informers) void informer.run(signal)
    const isSynced = () => informers.every((informer) => informer.isSynced)
    return {
      synced: Promise.all(informers.map(({ synced }) => synced)).then(() => undefined),
      isSynced,
      knows: (kind, namespace) =>
        isSynced() && !informers.some((informer) => informer.hides(kind, namespace)),
      statuses: () => informers.map(({ status }) => status),
      stop: () => stopped.abort(),
    }
  }

  /**
   * Reads all resources of a kind as currently stored, in one namespace or (undefined) in all. Undefined when the kind
   * does not exist; throws at any other answer. Starts again once if the list expires between two pages.
   */
  async list(
    kind: Pick<Kind, 'plural'>,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly unknown[] | undefined> {
    const path = this.#path(kind, namespace)
    const either = AbortSignal.any([signal, this.#closed.signal])
    for (let attempt = 1; ; attempt++) {
      const listed: unknown[] = []
      try {
        await list(this.#api, path, either, (page) => void listed.push(...page))
        return listed
      } catch (error) {
        const status = error instanceof StatusError ? error.status : 0
        if (status === 404) return undefined
        if (status !== 410 || attempt === 2) throw error
      }
    }
  }

  /**
   * The resource as currently stored (a quorum read); undefined when it or its kind does not exist. Throws at any other
   * answer.
   */
  read(kind: Kind, namespace: string, name: string, signal: AbortSignal): Promise<object | undefined> {
    return this.#read(this.#path(kind, namespace), name, signal)
  }

  /** Reads a Secret with its values, which the caller must not keep longer than needed. */
  readSecret(namespace: string, name: string, signal: AbortSignal): Promise<object | undefined> {
    return this.#read(secretsOf(namespace), name, signal)
  }

  /** Reads a ConfigMap with its values, which the caller must not keep longer than needed. */
  readConfigMap(namespace: string, name: string, signal: AbortSignal): Promise<object | undefined> {
    return this.#read(`${NAMESPACES}/${encodeURIComponent(namespace)}/configmaps`, name, signal)
  }

  /** Creates a Secret with these values; throws StatusError 409 when it exists. */
  createSecret(
    namespace: string,
    name: string,
    data: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, data: base64(data) }
    const sent = { method: 'POST', contentType: 'application/json', body: JSON.stringify(secret) } as const
    return this.#api.write(secretsOf(namespace), sent, [signal, this.#closed.signal])
  }

  /**
   * Sets these values of a Secret and leaves its other values; throws StatusError 409 when its resourceVersion differs.
   * Sends a merge patch, because a PUT would have to repeat the other values.
   */
  updateSecret(
    namespace: string,
    name: string,
    change: { readonly data: Readonly<Record<string, string>>; readonly resourceVersion: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { data, resourceVersion } = change
    const body = JSON.stringify({ metadata: { resourceVersion }, data: base64(data) })
    const sent = { method: 'PATCH', contentType: 'application/merge-patch+json', body } as const
    const path = `${secretsOf(namespace)}/${encodeURIComponent(name)}`
    return this.#api.write(path, sent, [signal, this.#closed.signal])
  }

  /**
   * The API server's answer to a dry run of a write: an update when `resourceVersion` is given, otherwise a creation.
   * Unknown fields are refused.
   */
  tryWrite(
    kind: Kind,
    {
      namespace,
      name,
      object,
    }: { readonly namespace: string; readonly name: string; readonly object: object },
    resourceVersion: string | undefined,
    signal: AbortSignal,
  ): Promise<Answer> {
    const metadata = { ...metadataOf(object), ...(resourceVersion !== undefined && { resourceVersion }) }
    const apiVersion = `${this.#group}/${API_VERSION}`
    const body = JSON.stringify({ ...object, apiVersion, metadata })
    const isUpdate = resourceVersion !== undefined
    const sent = { method: isUpdate ? 'PUT' : 'POST', contentType: 'application/json', body } as const
    const path = `${this.#path(kind, namespace)}${isUpdate ? `/${encodeURIComponent(name)}` : ''}`
    return this.#api.tried(`${path}?dryRun=All&fieldValidation=Strict`, sent, [signal, this.#closed.signal])
  }

  /** Access to the webhook configurations, the Lease and the probe of a server in this namespace. */
  registrations(namespace: string): Registrations {
    return new Registrations(this.#api, { group: this.#group, namespace, signal: this.#closed.signal })
  }

  /** Access to the reports of findings (OpenReports or PolicyReports) that this field manager writes. */
  reports(manager: string): Reports {
    return new Reports(this.#api, manager, this.#closed.signal)
  }

  /** Access to the objects of an installation in this namespace: Deployments, Service, CRDs, Secret. */
  installation(namespace: string): Installation {
    return new Installation(this.#api, { group: this.#group, namespace, signal: this.#closed.signal })
  }

  /** Milliseconds by which this machine's clock is ahead of the API server's; see ServerClock. */
  clockOffset(): number | undefined {
    return this.#api.clock.offset()
  }

  readNamespace(name: string, signal: AbortSignal): Promise<object | undefined> {
    return this.#read(NAMESPACES, name, signal)
  }

  /** Stops all informers and closes every connection at once. */
  close(): void {
    this.#closed.abort()
    this.#api.close()
  }

  #path({ plural }: Pick<Kind, 'plural'>, namespace: string | undefined): string {
    const place = namespace === undefined ? '' : `namespaces/${encodeURIComponent(namespace)}/`
    return `/apis/${this.#group}/${API_VERSION}/${place}${plural}`
  }

  /**
   * Reads an object by name; undefined when it does not exist. Undefined also for a name that would change the path,
   * such as `..` or an empty one, because names come from resources.
   */
  async #read(collection: string, name: string, signal: AbortSignal): Promise<object | undefined> {
    if (!POSSIBLE_NAME.test(name)) return undefined
    return this.#api.object(`${collection}/${name}`, [signal, this.#closed.signal])
  }
}

function secretsOf(namespace: string): string {
  return `${NAMESPACES}/${encodeURIComponent(namespace)}/secrets`
}

function base64(data: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  )
}
