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
