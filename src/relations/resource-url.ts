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

/** The port of a VirtualMCPServer; `PROXY_PORT` is the default port of a workload's proxy. */
const GATEWAY_PORT = 4483
const PROXY_PORT = 8080

interface Reference {
  readonly audience?: string | undefined
  readonly resourceUrl?: string | undefined
}

/** The process of a VirtualMCPServer or proxy that validates the tokens of an embedded authorization server. */
export interface Checker {
  /** The name of the resource whose process validates the tokens; empty until the resource has a name. */
  readonly name: string
  /** The namespace of the resource; undefined when the manifest names none. */
  readonly namespace: string | undefined
  readonly port: number
  readonly reference: Reference
  /** The audience that the validating process expects in tokens; `at` is the path of this setting. */
  readonly audience: string
  readonly at: Path<unknown>
  readonly resourceUrl: Path<unknown>
}

/**
 * The process of a VirtualMCPServer that validates the tokens of its own authorization server; undefined when no
 * process validates them, or when the audience is missing or unreadable.
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
 * Findings when the expected audience is not `resourceUrl`, the audience of all tokens of an embedded authorization
 * server. When `resourceUrl` is absent, operator releases use the address of a Service named like the resource.
 */
export function* audienceErrors(checker: Checker): Iterable<FieldError> {
  const { reference, audience, at } = checker
  if (!isResource(audience)) {
    const detail =
      'must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in `resourceUrl` too'
    yield advice(at, detail)
  } else if (isAbsent(reference, 'resourceUrl') || reference.resourceUrl === '') {
    if (isDefaultUrl(checker, audience)) return
    const detail = `defaults to the address in the cluster, which is not the audience, so the operator refuses the resource; set it to ${shortQuote(withoutUserInfo(audience))}`
    yield advice(checker.resourceUrl, detail)
  } else if (reference.resourceUrl !== undefined && reference.resourceUrl !== audience) {
    const detail = `must equal \`resourceUrl\`, ${shortQuote(withoutUserInfo(reference.resourceUrl))}, the only audience of tokens of the embedded server, or the operator refuses it`
    yield advice(at, detail)
  }
}

/** Whether the authorization server accepts the text as `resource` of a token request (RFC 8707). */
function isResource(text: string): boolean {
  const url = parseUrl(text)
  return (url?.scheme === 'http' || url?.scheme === 'https') && url.host !== '' && !/#./.test(text)
}

/** Whether releases may use this URL when `resourceUrl` is absent; any Service URL if name or namespace is unknown. */
function isDefaultUrl({ name, namespace, port }: Checker, url: string): boolean {
  const end = `.svc.cluster.local:${port}`
  return name === '' || namespace === undefined
    ? url.startsWith('http://') && url.endsWith(end)
    : url === `http://${name}.${namespace}${end}`
}

/** The namespace of the judged resource; undefined when the manifest names none. */
export function namespaceOf({ metadata }: Resource): string | undefined {
  return metadata?.namespace === '' ? undefined : metadata?.namespace
}

interface Resource {
  readonly metadata?: { readonly namespace?: string | undefined } | undefined
}

/** The explicit or default port of the proxy of an MCPServer or MCPRemoteProxy; undefined when unreadable. */
export function proxyPortOf(spec: { readonly proxyPort?: number | undefined }): number | undefined {
  return isAbsent(spec, 'proxyPort') ? PROXY_PORT : spec.proxyPort
}
