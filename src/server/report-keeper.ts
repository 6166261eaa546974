import { createHash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { LeaseHolder, type LeaseStore } from '../arming/lease.ts'
import { StatusError, type Stored } from '../cluster/index.ts'
import { kindNamed } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import {
  OPEN_REPORTS,
  POLICY_REPORTS,
  type ReportApi,
  reportName,
  reportOf,
  type ReportResult,
  type ReportSubject,
  resultOf,
} from '../reports/index.ts'
import {
  describeFinding,
  errorMessage,
  type Finding,
  isObject,
  metadataOf,
  objectKey,
} from '../rule/index.ts'

/** The requests to a cluster for keeping reports of findings (OpenReports or PolicyReports). */
export interface ReportCluster {
  readonly lease: LeaseStore
  /** Calls `found` with each report of this project; false when the API server does not serve this API of reports. */
  list(api: ReportApi, namespace: string | undefined, found: (report: Stored) => void): Promise<boolean>
  apply(api: ReportApi, namespace: string, name: string, report: object): Promise<void>
  remove(api: ReportApi, namespace: string, name: string): Promise<boolean>
  /** An object as it is stored now; undefined when it does not exist. */
  read(kind: Kind, namespace: string, name: string): Promise<object | undefined>
}

export interface ReportOptions {
  readonly group: string
  /** The watched namespaces; all when empty. */
  readonly namespaces: readonly string[]
  /** Whether all objects are known and were judged. */
  readonly isReady: () => boolean
  readonly judge: (kind: Kind, object: object) => readonly Finding[]
  readonly count: (outcome: ReportOutcome) => void
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

export type ReportOutcome = 'written' | 'removed' | 'failed'

/** Milliseconds between two passes over the reports; each pass renews the Lease. */
const EVERY = 5_000
/** Milliseconds between two lists of the stored reports, which also show whether the CRDs of reports exist. */
const LIST_EVERY = 300_000
/** Milliseconds until the next attempt after an error that concerns all reports. */
const RETRY = 30_000
/** The most objects in a pass, each of which takes a read and at most one write. */
const MOST_A_PASS = 50
/** The pause after judging an object, as a multiple of the time that it took: so judging takes a fifth of one core. */
const REST = 4
/** The most bytes of results in a report; an API server refuses an object of 1.5 MiB. */
const MOST_BYTES = 65_536
/** The annotation with the digest of the findings; only reports that this project keeps have it. */
const DIGEST = 'vmcp-admission/findings'

/** An object with current findings, and the digest of its findings. */
interface Wanted {
  readonly subject: ReportSubject
  readonly digest: string
}

/** The report of an object, as far as this process knows it. */
interface Kept {
  readonly subject: ReportSubject
  /** The digest in the stored report, and the uid of its owner; undefined when no report is stored. */
  readonly stored: { readonly digest: string; readonly uid: string } | undefined
  /**
   * The digest of the current findings at the last write, empty when there were none; undefined to check the object
   * again.
   */
  readonly settled: string | undefined
}

/** A stored report to delete: it has another name than the report of its object, or another API is used for reports. */
interface Stray {
  readonly api: ReportApi
  readonly namespace: string
  readonly name: string
}

/**
 * Keeps one report for each object with current findings. Only the holder of a separate Lease writes, because the
 * process that writes the webhook configurations may have no cache. Each pass compares the current findings with the
 * digests in the stored reports; before a write, the object is read and judged once more, so an incomplete cache
 * removes no report.
 */
export class ReportKeeper {
  readonly #cluster: ReportCluster
  readonly #options: ReportOptions
  readonly #clock: () => number
  readonly #holder: LeaseHolder
  readonly #wanted = new Map<string, Wanted>()
  readonly #kept = new Map<string, Kept>()
  #strays: Stray[] = []
  /** The API of reports that the cluster serves; undefined when it serves none, or before the first list. */
  #api: ReportApi | undefined
  #listAt = 0
  #isReady = false
  #problem = ''
  /** The API of reports that was logged last. */
  #logged = ''

  constructor(cluster: ReportCluster, options: ReportOptions, clock = () => performance.now()) {
    this.#cluster = cluster
    this.#options = options
    this.#clock = clock
    this.#holder = new LeaseHolder(cluster.lease, `${hostname()}-${randomUUID()}`, clock)
  }

  /** Takes the findings of an object that was judged. */
  put(subject: ReportSubject, findings: readonly Finding[]): void {
    const key = objectKey(subject)
    const results = resultsOf(findings)
    if (results.length > 0) {
      this.#wanted.set(key, { subject, digest: digestOf(results) })
      return
    }
    this.#wanted.delete(key)
    // If an object with the same name is created again, its report needs a new owner: so it is checked again.
    const kept = this.#kept.get(key)
    if (kept !== undefined) this.#kept.set(key, { ...kept, settled: undefined })
  }

  /** Number of stored reports that this process knows; undefined unless it holds the Lease. */
  get count(): number | undefined {
    if (this.#api === undefined) return undefined
    return [...this.#kept.values()].filter(({ stored }) => stored !== undefined).length
  }

  /** Makes passes until the signal aborts, then releases the Lease. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.pass()
      await sleep(EVERY, undefined, { signal }).catch(() => undefined)
    }
    await this.#holder.release().catch(() => undefined)
  }

  /** Takes or renews the Lease, and brings some reports up to date. Never rejects. */
  async pass(): Promise<void> {
    try {
      if (!(await this.#holder.hold())) {
        this.#forget(0)
        return
      }
      this.#isReady ||= this.#options.isReady()
      if (!this.#isReady) return
      if (this.#clock() >= this.#listAt) await this.#list()
      if (this.#api === undefined) return
      await this.#writeSome(this.#api)
      this.#problem = ''
    } catch (error) {
      this.#forget(this.#clock() + RETRY)
      this.#options.count('failed')
      const problem = errorMessage(error)
      if (problem !== this.#problem) this.#options.logger.warn({ problem }, 'reports: cannot keep them')
      this.#problem = problem
    }
  }

  #forget(listAt: number): void {
    this.#api = undefined
    this.#kept.clear()
    this.#strays = []
    this.#listAt = listAt
  }

  /** Reads the stored reports, and finds out which API of reports the cluster serves. */
  async #list(): Promise<void> {
    this.#forget(this.#clock() + LIST_EVERY)
    const { namespaces, logger } = this.#options
    const places = namespaces.length === 0 ? [undefined] : namespaces
    let served: ReportApi | undefined
    for (const api of [OPEN_REPORTS, POLICY_REPORTS]) {
      for (const namespace of places) {
        const isServed = await this.#cluster.list(api, namespace, (report) => this.#take(api, report, served))
        if (isServed) served ??= api
      }
    }
    this.#api = served
    const found = served?.apiVersion ?? 'none: there is no CRD of OpenReports or PolicyReports'
    if (found !== this.#logged) logger.info({ api: found }, 'reports: the API in this cluster')
    this.#logged = found
  }

  /**
   * Notes a stored report, to keep or to delete. `preferred` is the API used for reports; undefined while it is not
   * known.
   */
  #take(api: ReportApi, report: Stored, preferred: ReportApi | undefined): void {
    const { name, namespace, annotations, ownerReferences } = metadataOf(report)
    const { [DIGEST]: digest } = isObject(annotations) ? annotations : {}
    if (typeof digest !== 'string' || typeof name !== 'string' || typeof namespace !== 'string') return
    const scope = isObject(report.scope) ? report.scope : {}
    const subject = { kind: String(scope.kind), namespace, name: String(scope.name) }
    if ((preferred ?? api) !== api || name !== reportName(subject.kind, subject.name)) {
      this.#strays.push({ api, namespace, name })
      return
    }
    const [owner] = Array.isArray(ownerReferences) ? (ownerReferences as readonly unknown[]) : []
    const uid = isObject(owner) ? String(owner.uid) : ''
    this.#kept.set(objectKey(subject), { subject, stored: { digest, uid }, settled: digest })
  }

  async #writeSome(api: ReportApi): Promise<void> {
    const strays = this.#strays.splice(0, MOST_A_PASS)
    for (const { api: of, namespace, name } of strays) await this.#remove(of, namespace, name)
    const end = this.#clock() + EVERY
    let refused = 0
    for (const subject of this.#due(MOST_A_PASS - strays.length)) {
      if (this.#clock() >= end) break
      try {
        await this.#write(api, subject)
      } catch (error) {
        if (!isOfOneObject(error)) throw error
        // Not tried again before the next list, which shows that the stored report is outdated.
        this.#settle(subject, this.#kept.get(objectKey(subject))?.stored)
        refused += 1
        this.#options.count('failed')
        // Logs no text of the refusal, because it may repeat values of the object.
        if (refused === 1)
          this.#options.logger.warn(
            { ...subject, status: error.status },
            'reports: the API server refuses one',
          )
      }
    }
  }

  /** Objects whose reports do not show their current findings. */
  #due(most: number): ReportSubject[] {
    const due: ReportSubject[] = []
    for (const [key, { subject, settled }] of this.#kept)
      if (!this.#wanted.has(key) && settled !== '') due.push(subject)
    for (const [key, { subject, digest }] of this.#wanted)
      if (this.#kept.get(key)?.settled !== digest) due.push(subject)
    return due.slice(0, most)
  }

  async #write(api: ReportApi, subject: ReportSubject): Promise<void> {
    const { kind: named, namespace, name } = subject
    const { stored } = this.#kept.get(objectKey(subject)) ?? {}
    const kind = kindNamed.get(named)
    const live = kind && (await this.#cluster.read(kind, namespace, name))
    const begun = performance.now()
    const results = kind && live ? resultsOf(this.#options.judge(kind, live)) : []
    await sleep(REST * (performance.now() - begun))
    const report = reportName(named, name)
    if (results.length === 0) {
      if (stored !== undefined) await this.#remove(api, namespace, report)
      this.#settle(subject, undefined)
      return
    }
    const { uid } = metadataOf(live)
    const next = { digest: digestOf(results), uid: String(uid) }
    if (stored?.digest !== next.digest || stored.uid !== next.uid) {
      await this.#cluster.apply(
        api,
        namespace,
        report,
        ownedReport(api, subject, results, next, this.#options),
      )
      this.#options.count('written')
    }
    this.#settle(subject, next)
  }

  async #remove(api: ReportApi, namespace: string, name: string): Promise<void> {
    if (await this.#cluster.remove(api, namespace, name)) this.#options.count('removed')
  }

  #settle(subject: ReportSubject, stored: Kept['stored']): void {
    const key = objectKey(subject)
    const settled = this.#wanted.get(key)?.digest ?? ''
    if (stored === undefined && settled === '') this.#kept.delete(key)
    else this.#kept.set(key, { subject, stored, settled })
  }
}

/** The results in a report: as in `audit`, advice is left out. */
const resultsOf = (findings: readonly Finding[]): ReportResult[] =>
  findings.filter(({ severity }) => severity !== 'advice').map((each) => resultOf(describeFinding(each)))

const digestOf = (results: readonly ReportResult[]): string =>
  createHash('sha256').update(JSON.stringify(results)).digest('base64url')

/**
 * The report, with its object as owner, so that both are deleted together. The summary counts all results, also those
 * left out.
 */
function ownedReport(
  api: ReportApi,
  subject: ReportSubject,
  results: readonly ReportResult[],
  { digest, uid }: { readonly digest: string; readonly uid: string },
  { group }: Pick<ReportOptions, 'group'>,
): object {
  const { metadata, ...report } = reportOf(api, subject, results, group)
  const owner = { apiVersion: report.scope.apiVersion, kind: subject.kind, name: subject.name, uid }
  let bytes = 0
  const isShown = (result: ReportResult) => (bytes += Buffer.byteLength(JSON.stringify(result))) <= MOST_BYTES
  return {
    ...report,
    metadata: { ...metadata, annotations: { [DIGEST]: digest }, ownerReferences: [owner] },
    results: results.filter(isShown),
  }
}

/**
 * Whether the error concerns only one report, so that others may be accepted. A missing permission shows at the list; a
 * missing CRD (404), a busy API server or a lost connection concern all reports.
 */
const isOfOneObject = (error: unknown): error is StatusError =>
  error instanceof StatusError && [400, 403, 409, 413, 422].includes(error.status)
