import { NOT_FOR_BACKENDS } from '../kinds/between/matrix.ts'
import {
  authConfigNamed,
  type Gateway,
  getAuthConfig,
  getWorkload,
} from '../kinds/between/related-resources.ts'
import { type Backend, sourceOf } from '../kinds/between/reach.ts'
import { type Cluster, nameText, type ObjectName } from '../rule/cluster.ts'
import { referencesOf } from '../kinds/between/references.ts'
import { pathText } from '../rule/path.ts'
import { withoutUserInfo } from '../rule/go-text.ts'
import { isAbsent } from '../rule/resource.ts'
import type { Incoming } from './incoming.ts'
import { notFound } from './unknown.ts'

/** Types for which releases have no strategy under a VirtualMCPServer. */
const NOT_CONVERTED: readonly (string | null | undefined)[] = NOT_FOR_BACKENDS

/** Reasons for which operator releases do not reconcile a VirtualMCPServer at all. */
export function releaseNotesOfServer(
  gateway: Gateway,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  incoming: Pick<Incoming, 'audience'>,
  cluster: Cluster,
): string[] {
  return [...otherAudience(gateway, namespace, name, incoming), ...refusedReferences(gateway, cluster)].map(
    (why) => `releases do not reconcile this VirtualMCPServer: ${why}`,
  )
}

/** `resourceUrl` is a field of releases; without it they take the address of the Service. */
function* otherAudience(
  { spec }: Gateway,
  namespace: string,
  name: string,
  { audience }: Pick<Incoming, 'audience'>,
): Iterable<string> {
  const ref = spec?.incomingAuth?.oidcConfigRef as { readonly resourceUrl?: unknown } | undefined
  if (spec?.authServerConfig === undefined || ref === undefined || audience === null) return
  const url =
    isAbsent(ref, 'resourceUrl') || ref.resourceUrl === '' ? serviceUrl(namespace, name) : ref.resourceUrl
  if (typeof url === 'string' && url !== audience)
    yield `beside an embedded authorization server the audience must be resourceUrl, which is ${withoutUserInfo(url)}`
}

const serviceUrl = (namespace: string, name: string) => `http://${name}.${namespace}.svc.cluster.local:4483`

/** Releases convert every configuration that is named here, whatever the source. */
function* refusedReferences(gateway: Gateway, cluster: Cluster): Iterable<string> {
  for (const { to, at } of referencesOf('VirtualMCPServer', gateway)) {
    if (to.kind !== 'MCPExternalAuthConfig' || !cluster.knows(to.kind)) continue
    const config = getAuthConfig(cluster, to.name)
    const type = config?.spec?.type
    const place = pathText(at().slice(1, -2))
    if (config === undefined) yield `${place} names ${notFound(to, cluster)}`
    else if (NOT_CONVERTED.includes(type)) yield `${place} names ${nameText(to)} of type ${type ?? ''}`
  }
}

/** What releases treat differently in the authentication to a backend; see `Outgoing`. */
interface ReleaseStrategy {
  readonly type: string | null
  readonly chosen: string | null
  readonly header: string | null
}

/** Differences between operator releases and the specification that concern this backend. */
export function releaseNotes(
  gateway: Gateway,
  backend: Backend,
  strategy: ReleaseStrategy,
  cluster: Cluster,
): string[] {
  return [...otherReference(gateway, backend, cluster), ...otherEffect(backend, strategy)]
}

/** Releases look for the reference in more places, whatever the source. */
function* otherReference(gateway: Gateway, backend: Backend, cluster: Cluster): Iterable<string> {
  const { from, name, member, config } = backend
  const own = member && ownConfig(cluster, member)
  const source = sourceOf(gateway)
  const entry = entryOf(gateway, name)
  if (source === 'inline' && entry?.type === 'discovered')
    yield `releases use the backend's own reference for type 'discovered': ${own === undefined ? 'none is known' : quoted(own)}`
  else if (source === 'inline' && (from === 'none' || from === 'default')) {
    if (own !== undefined && own !== config)
      yield `releases use the backend's own reference where \`backends\` does not list it: ${quoted(own)}`
  } else if (source === 'discovered' && from === 'none') {
    const listed = entry?.externalAuthConfigRef?.name
    const other = listed ?? gateway.spec?.outgoingAuth?.default?.externalAuthConfigRef?.name
    const where = listed === undefined ? 'default' : 'backends'
    if (other !== undefined)
      yield `releases use \`${where}\` where the backend has no reference: ${quoted(other)}; some drop it soon after the start`
  }
}

const quoted = (config: string): string => nameText(authConfigNamed(config))

function* otherEffect({ from }: Backend, { type, chosen, header }: ReleaseStrategy): Iterable<string> {
  if (NOT_CONVERTED.includes(type)) {
    const effect = from === 'discovered' ? 'drop the backend' : 'do not reconcile the VirtualMCPServer'
    yield `releases cannot use type ${type ?? ''} for a backend, and ${effect}`
  }
  if (from === 'discovered' && type === 'tokenExchange' && chosen === 'first')
    yield 'releases exchange the vMCP-issued JWT where a discovered token exchange has no subjectProviderName'
  if (type === 'tokenExchange' && header !== null && header.toLowerCase() !== 'authorization')
    yield 'releases ignore externalTokenHeaderName under a VirtualMCPServer: the token goes into Authorization'
}

function entryOf({ spec }: Gateway, name: string) {
  const backends = spec?.outgoingAuth?.backends
  return backends !== undefined && Object.hasOwn(backends, name) ? backends[name] : undefined
}

/** The configuration that a workload names; undefined when it names none, or an unknown one. */
function ownConfig(cluster: Cluster, member: ObjectName): string | undefined {
  return getWorkload(cluster, member)?.spec?.externalAuthConfigRef?.name
}
