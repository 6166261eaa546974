/**
 * Sends requests to the addresses in resources, and compares the answers with the resources. For the CLI only: the
 * webhook never does this.
 */

import { compareFindings, errorMessage, type Finding, withoutUserInfo } from '../rule/index.ts'
import { check } from './checks.ts'
import { answerFindings, failureFinding, isOfUnknownAuthority } from './connection.ts'
import { isLocal, isPrivate, whyNotAsked } from './hosts.ts'
import { ask, type ProbeAnswer, authoritiesOf, type Method, type Reach, type Reply } from './request.ts'
import type { Connecting, Target } from './target.ts'

export { isLocal, isPrivate, whyNotAsked } from './hosts.ts'
export type { LeftOut, NamedResource, Target } from './target.ts'
export { targetsOf } from './targets.ts'

export interface ProbeOptions {
  readonly timeoutMs: number
  /** The most requests of a run; `deadlineMs` is its longest time. Manifests may name thousands of slow hosts. */
  readonly mostRequests: number
  readonly deadlineMs: number
  /** Whether requests to this machine and to private networks are refused, even if a resource names the address. */
  readonly isPublicOnly: boolean
  /** The text (PEM) in the ConfigMap that a target names as its CA bundle; undefined when not known. */
  bundle(target: Target): string | undefined
  /** Whether requests may be sent to a host that no resource names, only the answer to another request. */
  mayAsk(host: string): Promise<boolean>
}

export interface Probed {
  readonly findings: readonly { readonly target: Target; readonly finding: Finding }[]
  readonly notes: readonly { readonly target: Target; readonly text: string }[]
  /** Number of requests sent. */
  readonly sent: number
}

/** Why no request is sent to a private address when only public addresses are allowed. */
export const IS_PRIVATE = 'it is on this machine or in a private network; --addresses anywhere asks it'

/** Number of targets that are checked concurrently. */
const AT_A_TIME = 8

export async function probe(targets: readonly Target[], options: ProbeOptions): Promise<Probed> {
  const run = new Run(targets, options)
  const waiting = [...targets]
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run.probe(next)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  return run.result()
}

class Run {
  readonly #targets: readonly Target[]
  readonly #options: ProbeOptions
  readonly #named: ReadonlySet<string>
  readonly #end: number
  readonly #replies = new Map<string, Promise<Reply>>()
  readonly #allowed = new Map<string, Promise<boolean>>()
  readonly #findings = new Map<Target, Finding[]>()
  readonly #notes = new Map<Target, Set<string>>()

  constructor(targets: readonly Target[], options: ProbeOptions) {
    this.#targets = targets
    this.#options = options
    this.#end = performance.now() + options.deadlineMs
    this.#named = new Set(targets.map(({ url }) => new URL(url).host))
  }

  async probe(target: Target): Promise<void> {
    try {
      const findings = await check(target, (method, url, isSilent) =>
        this.#ask(target, method, url, isSilent),
      )
      this.#add(target, findings)
    } catch (error) {
      // An unexpected answer for one target must not lose the results of the others.
      this.#note(target, `${withoutUserInfo(target.url)} cannot be judged: ${errorMessage(error)}`)
    }
  }

  result(): Probed {
    const of = <T>(held: ReadonlyMap<Target, Iterable<T>>) =>
      this.#targets.flatMap((target) => [...(held.get(target) ?? [])].map((each) => [target, each] as const))
    return {
      findings: of(this.#findings).map(([target, finding]) => ({ target, finding })),
      notes: of(this.#notes).map(([target, text]) => ({ target, text })),
      sent: this.#replies.size,
    }
  }

  #add(target: Target, findings: readonly Finding[]): void {
    const known = this.#findings.get(target) ?? []
    const isNew = (finding: Finding) => known.every((each) => compareFindings(each, finding) !== 0)
    this.#findings.set(target, [...known, ...findings.filter(isNew)].toSorted(compareFindings))
  }

  #note(target: Target, text: string): void {
    this.#notes.set(target, (this.#notes.get(target) ?? new Set()).add(text))
  }

  async #ask(
    target: Target,
    method: Method,
    text: string,
    isSilent = false,
  ): Promise<ProbeAnswer | undefined> {
    const refused = (why: string) => {
      if (!isSilent) this.#note(target, `${withoutUserInfo(text)} is not asked: ${why}`)
      return undefined
    }
    const why = whyNotAsked(text, target.connecting) ?? (await this.#whyNotAllowed(target, new URL(text)))
    if (why !== undefined) {
      refused(why)
      return
    }
    const url = new URL(text)
    const asked = this.#reply(target, method, url)
    if (typeof asked === 'string') {
      refused(asked)
      return
    }
    const reply = await asked
    if (
      this.#options.isPublicOnly &&
      'failed' in reply &&
      reply.failed === 'private' &&
      this.#isNamed(target, url)
    ) {
      refused(IS_PRIVATE)
      return
    }
    if (!isSilent) this.#tell(target, method, url, reply)
    return 'failed' in reply ? undefined : reply
  }

  /** Adds a finding or a note about a request that failed; else findings about the connection and the headers. */
  #tell(target: Target, method: Method, url: URL, reply: Reply): void {
    if (!('failed' in reply)) this.#add(target, answerFindings(target, method, url, reply))
    else if (reply.failed === 'certificate' && this.#lacksBundle(target))
      this.#note(
        target,
        `the certificate of ${url.host} is not judged: ConfigMap '${target.connecting.bundle?.name ?? ''}' with its authority is not known here`,
      )
    else if (target.use.is === 'resource' && isOfUnknownAuthority(reply))
      this.#note(target, `the certificate of ${url.host} is not judged: clients may trust its authority`)
    else {
      const finding = failureFinding(target, url, reply)
      if (finding !== undefined) this.#add(target, [finding])
      else this.#note(target, `${url.host} is a name of the cluster: run the probe in a pod to ask it`)
    }
  }

  #lacksBundle = (target: Target): boolean =>
    target.connecting.bundle !== undefined && this.#options.bundle(target) === undefined

  /** Whether a resource names the host; for a target on this machine, true for every port of this machine. */
  #isNamed = (target: Target, url: URL): boolean =>
    this.#named.has(url.host) || (isLocal(url) && isLocal(new URL(target.url)))

  /** Why no request may be sent to the host; undefined when requests may be sent. Asks `mayAsk` once for each host. */
  async #whyNotAllowed(target: Target, url: URL): Promise<string | undefined> {
    if (this.#options.isPublicOnly && isPrivate(url)) return IS_PRIVATE
    if (this.#isNamed(target, url)) return undefined
    if (isLocal(url)) return 'its host is this machine, and no resource names it'
    const known = this.#allowed.get(url.host) ?? this.#options.mayAsk(url.host)
    this.#allowed.set(url.host, known)
    return (await known) ? undefined : 'no resource names its host'
  }

  /** The answer to a request, shared by all targets with this request; a text if a limit of the run is reached. */
  #reply(target: Target, method: Method, url: URL): Promise<Reply> | string {
    const { bundle } = target.connecting
    const pem = bundle && this.#options.bundle(target)
    const authorities = bundle && pem !== undefined ? authoritiesOf(pem, bundle.isOnly) : undefined
    const { isPublicOnly, mostRequests, deadlineMs } = this.#options
    const ofNamed = isPublicOnly ? 'internet' : 'anywhere'
    const reach = isPublicOnly || this.#isNamed(target, url) ? ofNamed : reachOfOthers(target.connecting)
    const key = JSON.stringify([method, url.href, pem, bundle?.isOnly, reach])
    const known = this.#replies.get(key)
    if (known !== undefined) return known
    if (this.#replies.size >= mostRequests)
      return `a run sends ${mostRequests} requests at most; --max-requests allows more`
    const left = this.#end - performance.now()
    if (left <= 0) return `a run takes ${deadlineMs / 1_000} seconds at most; --deadline allows more`
    const timeoutMs = Math.ceil(Math.min(this.#options.timeoutMs, left))
    const reply = ask({ method, url, authorities, timeoutMs, reach })
    this.#replies.set(key, reply)
    return reply
  }
}

/** The addresses to which a host may resolve that no resource names, only the answer to another request. */
const reachOfOthers = ({ allowsPrivate, privateField }: Connecting): Reach =>
  allowsPrivate && privateField !== undefined ? 'other machines' : 'internet'
