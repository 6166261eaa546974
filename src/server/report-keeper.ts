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
  read(kind: Kind, namespace: string, name: string, signal: AbortSignal): Promise<object | undefined>
}

export interface ReportOptions {
  readonly group: string
  /** The watched namespaces; all when empty. */
  readonly namespaces: readonly string[]
  /** Whether the cache is complete and all objects in it were judged. */
  readonly isReady: () => boolean
  /** Whether the cache is full, so that findings between objects of the namespace may be missing. */
  readonly lacksObjectsIn: (namespace: string) => boolean
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
/**
 * How many listed reports are kept in memory at most: of those whose object has no current findings, and of those to
 * delete. Other users may write any number of reports that look like ours.
 */
const MOST_LISTED = 10_000
const LONGEST_NAME = 253
const LONGEST_UID = 64
/** A digest of the findings of an object: a SHA-256 in base64url. */
const IS_DIGEST = /^[\w-]{43}$/

/** An object with current findings, and the digest of its findings. */
interface Wanted {
  readonly subject: ReportSubject
  readonly digest: string
}

/** What this process knows about the report of an object. */
interface Kept {
  readonly subject: ReportSubject
  /** The digest in the stored report, and the uid of its owner; undefined when no report is stored. */
  readonly stored: { readonly digest: string; readonly uid: string } | undefined
  /**
   * The digest of the current findings when the object was last read, empty when there were none; undefined when the
   * object must be read again.
   */
  readonly settled: string | undefined
}

/** A stored report to delete, because its name does not fit its object, or because another API of reports is used. */
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
    // The object is read again even if an object with the same name and findings is created before that: the owner
    // reference of the report then needs the UID of the new object.
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
      await this.pass(signal)
      await sleep(EVERY, undefined, { signal }).catch(() => undefined)
    }
    await this.#holder.release().catch(() => undefined)
  }

  /** Takes or renews the Lease, and brings some reports up to date. Never rejects. */
  async pass(signal: AbortSignal): Promise<void> {
    try {
      // Tested before the Lease is taken: a replica that is not ready leaves the Lease to a ready replica.
      this.#isReady ||= this.#options.isReady()
      if (!this.#isReady) return
      if (!(await this.#holder.hold())) {
        this.#forget(0)
        return
      }
      if (this.#clock() >= this.#listAt) await this.#list()
      if (this.#api === undefined) return
      await this.#writeSome(this.#api, signal)
      this.#problem = ''
    } catch (error) {
      if (signal.aborted) return
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

  /** Reads the stored reports, and finds out whether the cluster serves OpenReports or PolicyReports. */
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
   * Records a stored report, to keep or to delete it. `preferred` is the API to use for reports; undefined until such
   * an API is found.
   */
  #take(api: ReportApi, report: Stored, preferred: ReportApi | undefined): void {
    const { name, namespace, annotations, ownerReferences } = metadataOf(report)
    const { [DIGEST]: digest } = isObject(annotations) ? annotations : {}
    if (typeof digest !== 'string' || typeof name !== 'string' || typeof namespace !== 'string') return
    const scope = isObject(report.scope) ? report.scope : {}
    const subject = { kind: String(scope.kind), namespace, name: String(scope.name) }
    const [owner] = Array.isArray(ownerReferences) ? (ownerReferences as readonly unknown[]) : []
    const uid = isObject(owner) ? String(owner.uid) : ''
    const isOurs =
      kindNamed.has(subject.kind) &&
      subject.name.length <= LONGEST_NAME &&
      uid.length <= LONGEST_UID &&
      IS_DIGEST.test(digest) &&
      name === reportName(subject.kind, subject.name)
    if (!isOurs || (preferred ?? api) !== api) {
      // Reports to delete beyond this limit are found again by the next list.
      if (this.#strays.length < MOST_LISTED) this.#strays.push({ api, namespace, name })
      return
    }
    const key = objectKey(subject)
    if (!this.#wanted.has(key) && this.#kept.size >= this.#wanted.size + MOST_LISTED) return
    this.#kept.set(key, { subject, stored: { digest, uid }, settled: digest })
  }

  async #writeSome(api: ReportApi, signal: AbortSignal): Promise<void> {
    const strays = this.#strays.splice(0, MOST_A_PASS / 2)
    const end = this.#clock() + EVERY
    let refused = 0
    const attempt = async (subject: Omit<ReportSubject, 'kind'>, write: () => Promise<void>) => {
      if (signal.aborted || this.#clock() >= end) return
      try {
        await write()
      } catch (error) {
        // The message of the API server may repeat values of the object, so it is left out of the new error and the log
        // entry below.
        if (!isOfOneObject(error))
          throw error instanceof StatusError ? new Error(`a write ended with status ${error.status}`) : error
        refused += 1
        this.#options.count('failed')
        if (refused === 1)
          this.#options.logger.warn(
            { ...subject, status: error.status },
            'reports: the API server refuses one',
          )
      }
    }
    for (const { api: of, namespace, name } of strays)
      await attempt({ namespace, name }, () => this.#remove(of, namespace, name))
    for (const subject of this.#due(MOST_A_PASS - strays.length))
      await attempt(subject, () => this.#write(api, subject, signal))
  }

  /**
   * The next objects, at most `most`, whose reports do not show their current findings; objects with findings alternate
   * with objects without findings. An object that was handled moves to the end of its map, so that an object that keeps
   * changing does not delay the others. While the cache lacks objects of a namespace, its reports stay as they are.
   */
  #due(most: number): ReportSubject[] {
    const mended: ReportSubject[] = []
    const wrong: ReportSubject[] = []
    const isWhole = ({ namespace }: ReportSubject) => !this.#options.lacksObjectsIn(namespace)
    for (const [key, { subject, settled }] of this.#kept)
      if (!this.#wanted.has(key) && settled !== '' && mended.length < most && isWhole(subject))
        mended.push(subject)
    for (const [key, { subject, digest }] of this.#wanted)
      if (this.#kept.get(key)?.settled !== digest && wrong.length < most && isWhole(subject))
        wrong.push(subject)
    return Array.from({ length: most }, (_, i) => [wrong[i], mended[i]])
      .flat()
      .filter((subject) => subject !== undefined)
      .slice(0, most)
  }

  async #write(api: ReportApi, subject: ReportSubject, signal: AbortSignal): Promise<void> {
    const key = objectKey(subject)
    const wanted = this.#wanted.get(key)
    if (wanted !== undefined) {
      this.#wanted.delete(key)
      this.#wanted.set(key, wanted)
    }
    const before = this.#kept.get(key)
    const settle = (stored: Kept['stored']) => {
      // The object got other findings during the write, so it must be read again.
      const isChanged = this.#kept.get(key) !== before
      this.#kept.delete(key)
      if (stored === undefined && wanted === undefined && !isChanged) return
      this.#kept.set(key, { subject, stored, settled: isChanged ? undefined : (wanted?.digest ?? '') })
    }
    try {
      settle(await this.#written(api, subject, before?.stored, signal))
    } catch (error) {
      // A refused write is not tried again before the next list, which shows that the stored report is outdated.
      if (isOfOneObject(error)) settle(before?.stored)
      throw error
    }
  }

  /**
   * Updates the report to the findings of the object as it is stored now; returns the digest and the owner of the
   * report that is then stored, or undefined when there is none.
   */
  async #written(
    api: ReportApi,
    subject: ReportSubject,
    stored: Kept['stored'],
    signal: AbortSignal,
  ): Promise<Kept['stored']> {
    const { kind: named, namespace, name } = subject
    const kind = kindNamed.get(named)
    const live = kind && (await this.#cluster.read(kind, namespace, name, signal))
    const begun = performance.now()
    const results = kind && live ? resultsOf(this.#options.judge(kind, live)) : []
    await sleep(REST * (performance.now() - begun), undefined, { signal })
    const report = reportName(named, name)
    if (results.length === 0) {
      if (stored !== undefined) await this.#remove(api, namespace, report)
      return undefined
    }
    const next = { digest: digestOf(results), uid: String(metadataOf(live).uid) }
    if (stored?.digest === next.digest && stored.uid === next.uid) return next
    await this.#cluster.apply(api, namespace, report, ownedReport(api, subject, results, next, this.#options))
    this.#options.count('written')
    return next
  }

  async #remove(api: ReportApi, namespace: string, name: string): Promise<void> {
    if (await this.#cluster.remove(api, namespace, name)) this.#options.count('removed')
  }
}

/** The results in a report: as in `audit`, advice is left out. */
const resultsOf = (findings: readonly Finding[]): ReportResult[] =>
  findings.filter(({ severity }) => severity !== 'advice').map((each) => resultOf(describeFinding(each)))

const digestOf = (results: readonly ReportResult[]): string =>
  createHash('sha256').update(JSON.stringify(results)).digest('base64url')

/**
 * The report, with its object as owner, so that Kubernetes deletes it with the object. The summary counts all results,
 * also those that are left out of a long report.
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
 * Whether the error may concern only one report, so that other reports are still written. False for an error without a
 * status, such as a lost connection, and for an error that concerns all reports: credentials, a missing CRD, a busy API
 * server.
 */
const isOfOneObject = (error: unknown): error is StatusError =>
  error instanceof StatusError && ![401, 404, 429, 503, 504].includes(error.status)
