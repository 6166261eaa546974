import { authConfigNamed, type Gateway, getWorkload } from '../../kinds/between/neighbours.ts'
import { type Backend, sourceOf } from '../../kinds/between/reach.ts'
import { type Cluster, nameText, type ObjectName } from '../../rule/cluster.ts'
import type { Outgoing } from './outgoing.ts'

/** Types for which releases have no strategy under a VirtualMCPServer. */
const NOT_CONVERTED: readonly (string | null)[] = ['bearerToken', 'embeddedAuthServer']

/** Where releases of the operator do otherwise than the specification, as far as it shows in this backend. */
export function releaseNotes(
  gateway: Gateway,
  backend: Backend,
  strategy: Pick<Outgoing, 'type' | 'chosen' | 'header'>,
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

function* otherEffect(
  { from }: Backend,
  { type, chosen, header }: Pick<Outgoing, 'type' | 'chosen' | 'header'>,
): Iterable<string> {
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

/** The configuration that a workload names itself; undefined when it names none, or none that is known. */
function ownConfig(cluster: Cluster, member: ObjectName): string | undefined {
  return getWorkload(cluster, member)?.spec?.externalAuthConfigRef?.name
}
