import {
  advice,
  type FieldError,
  isAbsent,
  parseUrl,
  type Path,
  shortQuote,
  withoutUserInfo,
} from '../rule/index.ts'
import type { Gateway } from './related-resources.ts'

/** The port of a VirtualMCPServer, and the default port of the proxy of a workload. */
const GATEWAY_PORT = 4483
const PROXY_PORT = 8080

interface Reference {
  readonly audience?: string | undefined
  readonly resourceUrl?: string | undefined
}

/** The process that checks the tokens of an embedded authorization server. */
export interface Checker {
  /** The name of its resource; empty while it has none. */
  readonly name: string
  /** The namespace; undefined where the deployment chooses it. */
  readonly namespace: string | undefined
  readonly port: number
  readonly reference: Reference
  /** The expected audience of tokens; `at` is its place. */
  readonly audience: string
  readonly at: Path<unknown>
  readonly resourceUrl: Path<unknown>
}

/**
 * The VirtualMCPServer that checks tokens of its own server; undefined where it does not, or where that cannot be read.
 */
export function gatewayChecker(
  { spec }: Gateway,
  { name, namespace }: Pick<Checker, 'name' | 'namespace'>,
  path: Path<Gateway>,
): Checker | undefined {
  const { authServerConfig, incomingAuth } = spec ?? {}
  const reference = incomingAuth?.oidcConfigRef
  if (authServerConfig === undefined || incomingAuth?.type !== 'oidc' || reference === undefined)
    return undefined
  const at = path.spec.incomingAuth
  const isInside = !isAbsent(reference, 'audience') && reference.audience !== ''
  const audience = isInside ? reference.audience : incomingAuth.audience
  if (audience === undefined || audience === '') return undefined
  return {
    name,
    namespace,
    port: GATEWAY_PORT,
    reference,
    audience,
    at: isInside ? at.oidcConfigRef.audience : at.audience,
    resourceUrl: at.oidcConfigRef.resourceUrl,
  }
}

/**
 * Tokens of an embedded authorization server have `resourceUrl` as their audience. Without it, operator releases take the
 * address that a Service of the name of the resource would have.
 */
export function* audienceErrors(checker: Checker): Iterable<FieldError> {
  const { reference, audience, at } = checker
  if (!isResource(audience)) {
    const detail =
      'must be an absolute http(s) URL without a fragment beside an embedded authorization server; write the URL of clients, in `resourceUrl` too'
    yield advice(at, detail)
  } else if (isAbsent(reference, 'resourceUrl') || reference.resourceUrl === '') {
    if (isDefaultUrl(checker, audience)) return
    const detail = `is the address in the cluster when it is not set, and must equal the audience; set it to ${shortQuote(withoutUserInfo(audience))}`
    yield advice(checker.resourceUrl, detail)
  } else if (reference.resourceUrl !== undefined && reference.resourceUrl !== audience) {
    const detail = `must equal \`resourceUrl\`, ${shortQuote(withoutUserInfo(reference.resourceUrl))}, beside an embedded authorization server`
    yield advice(at, detail)
  }
}

/** Whether the server accepts the text as the `resource` of a token request (RFC 8707). */
function isResource(text: string): boolean {
  const url = parseUrl(text)
  return (url?.scheme === 'http' || url?.scheme === 'https') && url.host !== '' && !/#./.test(text)
}

/**
 * Whether releases take this URL when `resourceUrl` is missing; where name or namespace are not known, whether they
 * may.
 */
function isDefaultUrl({ name, namespace, port }: Checker, url: string): boolean {
  const end = `.svc.cluster.local:${port}`
  return name === '' || namespace === undefined
    ? url.startsWith('http://') && url.endsWith(end)
    : url === `http://${name}.${namespace}${end}`
}

/** The namespace of the judged resource; undefined where the deployment chooses it. */
export function namespaceOf({ metadata }: Resource): string | undefined {
  return metadata?.namespace === '' ? undefined : metadata?.namespace
}

interface Resource {
  readonly metadata?: { readonly namespace?: string | undefined } | undefined
}

/** The port of the proxy of an MCPServer or MCPRemoteProxy; undefined when it cannot be read. */
export function proxyPortOf(spec: { readonly proxyPort?: number | undefined }): number | undefined {
  return isAbsent(spec, 'proxyPort') ? PROXY_PORT : spec.proxyPort
}
