// cspell:ignore apikey appkey applicationkey authkey secretkey subscriptionkey xatlassiantoken xcsrftoken xxsrftoken csrftoken opsu glpat AKIA ATATT
import { type Path, pathTo, segmentsOf } from '../rule/index.ts'

/**
 * Headers about routing, connection and proxies, in lower case: a process that is configured to add or forward one of
 * them does not start.
 */
export const RESTRICTED_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'close',
  'proxy-authorization',
  'proxy-authenticate',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
])

/** Whether a text is the name of a header (RFC 9110). */
export const isHeaderName = (text: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)

interface HeaderForward {
  readonly addPlaintextHeaders?: Readonly<Record<string, string | undefined>> | undefined
  readonly addHeadersFromSecret?:
    readonly ({ readonly headerName?: string | undefined } | undefined)[] | undefined
}
interface Fields {
  readonly addPlaintextHeaders: Record<string, string>
  readonly addHeadersFromSecret: { readonly headerName: string }[]
}

/** The name of a header that a workload adds to each request, and the path of its setting. */
export interface ForwardedHeader {
  readonly name: string
  readonly place: () => Path<unknown>
}

/** The headers that a workload adds to each request, in the order of its fields. */
export function* forwardedHeaders(
  { addPlaintextHeaders, addHeadersFromSecret }: HeaderForward,
  path: Path<unknown>,
): Generator<ForwardedHeader> {
  const at = pathTo<Fields>(segmentsOf(path))
  for (const name of Object.keys(addPlaintextHeaders ?? {}))
    yield { name, place: () => at.addPlaintextHeaders.at(name) }
  for (const [i, header] of (addHeadersFromSecret ?? []).entries()) {
    const name = header?.headerName
    if (name !== undefined) yield { name, place: () => at.addHeadersFromSecret.at(i).headerName }
  }
}

/** Endings of header names that suggest a credential; in lower case, without `-` and `_`. */
const CREDENTIAL_END =
  /(?:authorization|cookie|apikey|appkey|applicationkey|accesskey|authkey|secretkey|subscriptionkey|token|secret|password|credential|credentials)$/
/** Header names that match `CREDENTIAL_END` but carry no credential: Jira needs `X-Atlassian-Token: no-check`. */
const NO_CREDENTIALS = new Set(['xatlassiantoken', 'xcsrftoken', 'xxsrftoken', 'csrftoken'])
/** Header values that look like credentials: authorization schemes, and prefixes of API keys of well-known issuers. */
const CREDENTIAL_VALUE =
  /^(?:(?:bearer|basic|token|apikey) \S|eyJ[A-Za-z0-9_-]{10}|gh[opsu]_|github_pat_|glpat-|xox[abp]-|sk-[A-Za-z0-9_-]{16}|AKIA[0-9A-Z]{12}|ATATT3)/i

/** Whether a header that a workload adds seems to carry a credential, by the form of its name or of its value. */
export function holdsCredential(name: string, value: string | undefined): boolean {
  if (value === '' || RESTRICTED_HEADERS.has(name.toLowerCase())) return false
  return isForCredentials(name) || (value !== undefined && CREDENTIAL_VALUE.test(value))
}

function isForCredentials(header: string): boolean {
  const name = header.slice(0, LONGEST_NAME).toLowerCase().replaceAll('-', '').replaceAll('_', '')
  return !NO_CREDENTIALS.has(name) && CREDENTIAL_END.test(name)
}

/** The most characters of a header name that are examined. */
const LONGEST_NAME = 256
