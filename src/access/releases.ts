import {
  audienceErrors,
  authConfigNamed,
  type Backend,
  configsNamed,
  type Gateway,
  gatewayChecker,
  getWorkload,
  isForNoBackend,
  isListed,
  NOT_FOR_BACKENDS,
  ownReferenceOf,
  sourceOf,
} from '../relations/index.ts'
import { TYPE_NOT_RESOLVED } from '../kinds/virtual-mcp-server/type-not-resolved.ts'
import { type Cluster, nameText, type ObjectName, pathText, pathTo } from '../rule/index.ts'
import { notFound } from './unknown.ts'

/** Types of MCPExternalAuthConfig that no release can use for a backend of a VirtualMCPServer. */
const NOT_CONVERTED: readonly (string | null | undefined)[] = NOT_FOR_BACKENDS

/** Reasons why operator releases do not reconcile a VirtualMCPServer at all; rules report each of them too. */
export function releaseNotesOfServer(
  gateway: Gateway,
  self: { readonly namespace: string; readonly name: string },
  cluster: Cluster,
): string[] {
  return [...otherAudience(gateway, self), ...refusedReferences(gateway, cluster)].map(
    (why) => `releases do not reconcile this VirtualMCPServer: ${why}`,
  )
}

/** Notes about audiences that releases refuse, with the text of the rule `auth-server-audience-is-resource-url`. */
function* otherAudience(
  gateway: Gateway,
  self: { readonly namespace: string; readonly name: string },
): Iterable<string> {
  const checker = gatewayChecker(gateway, self, pathTo<Gateway>([]))
  if (checker === undefined) return
  for (const { at, detail } of audienceErrors(checker)) yield `${pathText(at)} ${detail}`
}

/**
 * The references in the VirtualMCPServer that releases refuse; the rules `reference-found` and
 * `auth-config-type-suited` report them too.
 */
function* refusedReferences(gateway: Gateway, cluster: Cluster): Iterable<string> {
  if (!cluster.knows('MCPExternalAuthConfig')) return
  for (const { config, auth, at } of configsNamed(gateway, cluster)) {
    const place = pathText(at().slice(1, -2))
    const name = authConfigNamed(config)
    if (auth === undefined) yield `${place} names ${notFound(name, cluster)}`
    else if (isForNoBackend(auth)) yield `${place} names ${nameText(name)} of type ${auth.spec?.type ?? ''}`
  }
}

/** Fields of `Outgoing` that operator releases treat differently than the specification says. */
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
  return [...otherReference(gateway, backend, cluster), ...otherEffect(gateway, backend, strategy)]
}

/** A note when releases take the MCPExternalAuthConfig of a backend from another field than the specification says. */
function* otherReference(gateway: Gateway, backend: Backend, cluster: Cluster): Iterable<string> {
  const { from, name, member, config } = backend
  const own = member && ownConfig(cluster, member)
  const source = sourceOf(gateway)
  const entry = entryOf(gateway, name)
  if (source === 'inline' && entry?.type === 'discovered') yield TYPE_NOT_RESOLVED
  else if (source === 'inline' && own !== undefined && (from !== 'backends' || config === own))
    yield* ownReferenceNotes(gateway, { name, member, own }, cluster)
  else if (source === 'discovered' && from === 'none') {
    const listed = entry?.externalAuthConfigRef?.name
    const other = listed ?? gateway.spec?.outgoingAuth?.default?.externalAuthConfigRef?.name
    const where = listed === undefined ? 'default' : 'backends'
    if (other !== undefined)
      yield `releases use \`${where}\` where the backend has no reference: ${quoted(other)}; some drop it soon after the start`
  }
}

interface OwnReferenced {
  readonly name: string
  readonly member: ObjectName | undefined
  readonly own: string
}

/**
 * Notes about backends that name an MCPExternalAuthConfig themselves, but that `outgoingAuth.backends` does not list,
 * with the text of the rules `own-reference-listed` and `own-reference-agreed`.
 */
function* ownReferenceNotes(
  gateway: Gateway,
  { name, member, own }: OwnReferenced,
  cluster: Cluster,
): Iterable<string> {
  if (isListed(gateway, name) || member === undefined) return
  const [found] = ownReferenceOf(gateway, member, own, cluster)
  const ends = `end at start, as they do not mount its Secret`
  if (cluster.release !== undefined) {
    if (found?.endsPod === true) yield `releases up to 0.56 ${ends}: list the backend in \`backends\``
    return
  }
  if (found === undefined) return
  const does = found.isLeftOut ? 'leave the backend out for' : 'use'
  const more = found.endsPod ? `; up to 0.56 they ${ends}` : ''
  yield `releases ${does} the backend's own reference where \`backends\` does not list it: ${quoted(own)}${more}`
}

const quoted = (config: string): string => nameText(authConfigNamed(config))

function* otherEffect(
  gateway: Gateway,
  { from }: Backend,
  { type, chosen, header }: ReleaseStrategy,
): Iterable<string> {
  if (NOT_CONVERTED.includes(type)) {
    const effect = from === 'discovered' ? 'drop the backend' : 'do not reconcile the VirtualMCPServer'
    yield `releases cannot use type ${type ?? ''} for a backend, and ${effect}`
  }
  // The operator fills in the first provider for what the VirtualMCPServer names itself.
  if (
    from === 'discovered' &&
    sourceOf(gateway) === 'discovered' &&
    type === 'tokenExchange' &&
    chosen === 'first'
  )
    yield 'releases exchange the vMCP-issued JWT where a discovered token exchange has no subjectProviderName'
  if (type === 'tokenExchange' && header !== null && header.toLowerCase() !== 'authorization')
    yield 'releases ignore externalTokenHeaderName under a VirtualMCPServer: the token goes into Authorization'
}

function entryOf({ spec }: Gateway, name: string) {
  const backends = spec?.outgoingAuth?.backends
  return backends !== undefined && Object.hasOwn(backends, name) ? backends[name] : undefined
}

/**
 * The MCPExternalAuthConfig that a workload names; undefined when it names none, or when `cluster` lacks the workload.
 */
function ownConfig(cluster: Cluster, member: ObjectName): string | undefined {
  return getWorkload(cluster, member)?.spec?.externalAuthConfigRef?.name
}
