import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { errorMessage, isPrivateAddress, isThisMachine } from '../rule/index.ts'

/** The most bytes of an answer that are read; the operator has the same limit. */
const MOST_BYTES = 2 ** 20

/** HTTP methods: HEAD is for an endpoint that accepts only POST; any answer shows that the endpoint is reachable. */
export type Method = 'GET' | 'HEAD'

interface Question {
  readonly method: Method
  readonly url: URL
  /** The CAs (PEM) to trust; when undefined, the CAs of Node. */
  readonly authorities?: string | undefined
  readonly timeoutMs: number
  /** The addresses to which the host may resolve. */
  readonly reach: Reach
}

/** Which addresses are allowed: all, all except those of this machine, or only addresses on the internet. */
export type Reach = 'anywhere' | 'other machines' | 'internet'

const IS_OUT_OF_REACH: Readonly<Record<Reach, (address: string) => boolean>> = {
  anywhere: () => false,
  'other machines': isThisMachine,
  internet: isPrivateAddress,
}

export interface ProbeAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** A private address to which this machine resolves the host; undefined when all its addresses are public. */
  readonly privateAddress: string | undefined
  /** Milliseconds by which the server's clock is ahead of this machine's; undefined without a Date header. */
  readonly ahead: number | undefined
}

/** A request that got no answer, and why. */
export interface RequestFailure {
  readonly failed: 'name' | 'private' | 'connection' | 'time' | 'certificate' | 'size'
  readonly detail: string
}

export type Reply = ProbeAnswer | RequestFailure

/** The CAs to trust (PEM): those in `pem`, and unless `isOnly` is true also the CAs of Node. */
export const authoritiesOf = (pem: string, isOnly: boolean): string =>
  isOnly ? pem : [...rootCertificates, pem].join('\n')

/** Sends one request without credentials, and does not follow redirects. Never throws. */
export async function ask(question: Question): Promise<Reply> {
  const { url, reach, timeoutMs } = question
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const found = await addressesOf(url.hostname.replace(/^\[(.*)\]$/, '$1'), signal)
    const addresses = found.map(({ address }) => address)
    const refused = addresses.find(IS_OUT_OF_REACH[reach])
    if (refused !== undefined) return { failed: 'private', detail: refused }
    return { ...(await send(question, found, signal)), privateAddress: addresses.find(isPrivateAddress) }
  } catch (error) {
    return failureOf(error, timeoutMs)
  }
}

async function addressesOf(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const timedOut = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
  return Promise.race([lookup(host, { all: true }), timedOut])
}

class TooLong extends Error {}

function send(
  { method, url, authorities }: Question,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<Omit<ProbeAnswer, 'privateAddress'>> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const headers = { accept: 'application/json', 'user-agent': 'vmcp-admission probe' }
  // Connects to the address that was checked: a second look-up could return another one.
  const known: LookupFunction = (_host, { all }, found) => {
    const [first] = addresses
    if (all === true) found(null, [...addresses])
    else found(null, first?.address ?? '', first?.family)
  }
  return new Promise((resolve, reject) => {
    const asked = Date.now()
    const trust = authorities && { ca: authorities }
    const options = { method, headers, signal, agent: false, lookup: known, ...trust }
    request(url, options, (message) => {
      const now = (asked + Date.now()) / 2
      const { statusCode = 0, headers } = message
      readBody(message).then(
        (body) => resolve({ status: statusCode, headers, body, ahead: aheadOf(headers, now) }),
        reject,
      )
    })
      .on('error', reject)
      .end()
  })
}

async function readBody(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of message as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MOST_BYTES) throw new TooLong('the answer is longer than 1 MiB')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Milliseconds by which the clock of the server is ahead of `now`; undefined without a Date header. The Age header says
 * how old the Date of a cached answer is.
 */
function aheadOf({ date, age }: IncomingHttpHeaders, now: number): number | undefined {
  const sent = Date.parse(date ?? '')
  const seconds = /^\d+$/.test(age ?? '') ? Number(age) : 0
  return Number.isNaN(sent) ? undefined : sent + seconds * 1_000 - now
}

const UNKNOWN_AUTHORITY =
  /^(?:UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_UNTRUSTED|INVALID_CA)/

function failureOf(error: unknown, timeoutMs: number): RequestFailure {
  const { name, code = '' } = error as NodeJS.ErrnoException
  const { reason } = error as { readonly reason?: string }
  if (error instanceof TooLong) return { failed: 'size', detail: error.message }
  if (name === 'TimeoutError' || name === 'AbortError')
    return { failed: 'time', detail: `no answer within ${timeoutMs / 1_000} seconds` }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return { failed: 'name', detail: `its name is not found (${code})` }
  if (code === 'CERT_HAS_EXPIRED') return { failed: 'certificate', detail: 'has expired' }
  if (code === 'CERT_NOT_YET_VALID') return { failed: 'certificate', detail: 'is not valid yet' }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return { failed: 'certificate', detail: `is for another name: ${reason ?? errorMessage(error)}` }
  if (UNKNOWN_AUTHORITY.test(code))
    return { failed: 'certificate', detail: `is not of an authority that is trusted (${code})` }
  return { failed: 'connection', detail: code === '' ? errorMessage(error) : code }
}
