import { isObject } from '../rule/index.ts'
import { type Api, DELETE, StatusError, type Stored } from './api.ts'
import { list } from './list-watch.ts'

/** The API version of a kind of reports, and the plural of the kind, for the URL. */
interface ReportPlace {
  readonly apiVersion: string
  readonly plural: string
}

const APPLY = 'application/apply-patch+yaml'

/** Reads and writes reports of findings in a cluster. The methods throw as those of `Api` do. */
export class Reports {
  readonly #api: Api
  readonly #manager: string
  readonly #signal: AbortSignal

  /** `manager` is the field manager of the reports, and the value of their label `app.kubernetes.io/managed-by`. */
  constructor(api: Api, manager: string, signal: AbortSignal) {
    this.#api = api
    this.#manager = manager
    this.#signal = signal
  }

  /**
   * Calls `found` with each report that has the label of the manager, in one namespace or, when it is undefined, in
   * all. Returns false when the API server does not serve the reports' API.
   */
  async list(
    api: ReportPlace,
    namespace: string | undefined,
    found: (report: Stored) => void,
  ): Promise<boolean> {
    const labelSelector = `app.kubernetes.io/managed-by=${this.#manager}`
    try {
      const deliver = (page: readonly unknown[]) => page.filter(isObject).forEach(found)
      await list(this.#api, pathOf(api, namespace), this.#signal, deliver, { labelSelector })
      return true
    } catch (error) {
      if (error instanceof StatusError && error.status === 404) return false
      throw error
    }
  }

  /** Applies a report by server-side apply, with force: it overwrites fields that other managers own. */
  apply(api: ReportPlace, namespace: string, name: string, report: object): Promise<void> {
    const path = `${pathOf(api, namespace)}/${name}?fieldManager=${this.#manager}&force=true`
    const sent = { method: 'PATCH', contentType: APPLY, body: JSON.stringify(report) } as const
    return this.#api.write(path, sent, [this.#signal])
  }

  /** Deletes the report; returns false when it did not exist. */
  remove(api: ReportPlace, namespace: string, name: string): Promise<boolean> {
    return this.#api.attempt(`${pathOf(api, namespace)}/${name}`, DELETE, [this.#signal])
  }
}

const pathOf = ({ apiVersion, plural }: ReportPlace, namespace: string | undefined): string =>
  `/apis/${apiVersion}/${namespace === undefined ? '' : `namespaces/${encodeURIComponent(namespace)}/`}${plural}`
