import type { Cluster, ObjectName } from '../../rule/cluster.ts'
import type { Segment } from '../../rule/path.ts'
import { isAbsent } from '../../rule/resource.ts'
import {
  type AuthConfig,
  BACKEND_KINDS,
  getAuthConfig,
  type Gateway,
  getGateway,
  getWorkload,
  groupOf,
  membersOf,
  onceAReview,
  type Workload,
} from './neighbours.ts'

/** The kinds that are read to know what a VirtualMCPServer reaches. */
export const REACHED_KINDS: readonly string[] = [...BACKEND_KINDS, 'MCPExternalAuthConfig']

/** How the strategy of a backend is chosen. `unknown` is one that cannot be read, or that only releases know. */
export type From = 'discovered' | 'backends' | 'default' | 'none' | 'unknown'

/** A backend of a VirtualMCPServer and the MCPExternalAuthConfig that it is contacted with. */
export interface Backend {
  readonly name: string
  /** The workload; absent for a key of `backends` that is no member of the group. */
  readonly member?: ObjectName
  readonly from: From
  readonly config?: string
  /** Where the VirtualMCPServer names the configuration; absent when the workload does. */
  readonly at?: () => readonly Segment[]
}

/** Where the strategies come from, given or default; undefined when it cannot be read. Section 2.2, decision 10. */
export function sourceOf({ spec }: Gateway): 'discovered' | 'inline' | undefined {
  if (spec === undefined) return undefined
  if (isAbsent(spec, 'outgoingAuth')) return 'discovered'
  const { outgoingAuth } = spec
  if (outgoingAuth === undefined) return undefined
  return isAbsent(outgoingAuth, 'source') ? 'discovered' : outgoingAuth.source
}

/** Every backend, in the order of kind and name, then the keys of `backends` that are no member. Section 5.2. */
export const backendsOf = onceAReview((gateway, cluster): readonly Backend[] => {
  const group = groupOf(gateway)
  const members = group === undefined ? [] : membersOf(cluster, group)
  const source = sourceOf(gateway)
  if (source === 'discovered') return members.map((member) => discovered(member, cluster))
  if (source !== 'inline') return members.map((member) => ({ name: member.name, member, from: 'unknown' }))
  const listed = new Set(members.map(({ name }) => name))
  const strangers = Object.keys(gateway.spec?.outgoingAuth?.backends ?? {}).filter((key) => !listed.has(key))
  return [
    ...members.map((member) => ({ ...inlineBackend(gateway, member.name), member })),
    ...strangers.map((key) => inlineBackend(gateway, key)),
  ]
})

function discovered(member: ObjectName, cluster: Cluster): Backend {
  const { name } = member
  return { name, member, ...ownConfig(getWorkload(cluster, member)) }
}

/** What a workload says of itself. */
function ownConfig(workload: Workload | undefined): Pick<Backend, 'from' | 'config'> {
  const spec = workload?.spec
  if (spec === undefined) return { from: 'unknown' }
  if (isAbsent(spec, 'externalAuthConfigRef')) return { from: 'none' }
  const config = spec.externalAuthConfigRef?.name
  return config === undefined ? { from: 'unknown' } : { from: 'discovered', config }
}

/** What a VirtualMCPServer with the source `inline` has for the backend of the name. */
export function inlineBackend({ spec }: Gateway, name: string): Backend {
  const outgoingAuth = spec?.outgoingAuth
  if (outgoingAuth === undefined) return { name, from: 'unknown' }
  const { backends } = outgoingAuth
  if (backends === undefined && !isAbsent(outgoingAuth, 'backends')) return { name, from: 'unknown' }
  if (backends !== undefined && Object.hasOwn(backends, name)) {
    const entry = backends[name]
    // A value of releases: the backend's own reference, whatever stands beside it (decision 5).
    if (entry?.type === 'discovered') return { name, from: 'unknown' }
    const config = entry?.externalAuthConfigRef?.name
    const at = () => ['spec', 'outgoingAuth', 'backends', { key: name }, 'externalAuthConfigRef', 'name']
    return config === undefined ? { name, from: 'unknown' } : { name, from: 'backends', config, at }
  }
  return { name, ...defaultOf({ spec: { outgoingAuth } }) }
}

/** The strategy of a backend that is not listed. */
function defaultOf({ spec }: Gateway): Pick<Backend, 'from' | 'config' | 'at'> {
  const outgoingAuth = spec?.outgoingAuth ?? {}
  if (isAbsent(outgoingAuth, 'default')) return { from: 'none' }
  const fallback = outgoingAuth.default
  const config = fallback?.externalAuthConfigRef?.name
  if (config !== undefined) return { from: 'default', config, at: () => DEFAULT }
  return { from: fallback !== undefined && isAbsent(fallback, 'externalAuthConfigRef') ? 'none' : 'unknown' }
}

const DEFAULT = ['spec', 'outgoingAuth', 'default', 'externalAuthConfigRef', 'name']

/** A VirtualMCPServer of the group of a workload, and what it contacts the workload with. */
export interface Fronting extends Backend {
  readonly gateway: ObjectName
  readonly source: 'discovered' | 'inline' | undefined
}

export function frontingsOf(name: string, workload: Workload, cluster: Cluster): Fronting[] {
  const group = groupOf(workload)
  const gateways = group === undefined ? [] : cluster.referrers('MCPGroup', group, GATEWAY)
  return gateways.flatMap((gateway): Fronting[] => {
    const found = getGateway(cluster, gateway.name)
    if (found === undefined) return []
    const source = sourceOf(found)
    if (source === 'discovered') return [{ name, gateway, source, ...ownConfig(workload) }]
    if (source === 'inline') return [{ gateway, source, ...inlineBackend(found, name) }]
    return [{ name, gateway, source, from: 'unknown' }]
  })
}

/** A configuration that a VirtualMCPServer reaches, at one place of it, and the backends that are contacted with it. */
export interface Reached {
  readonly config: string
  /** The configuration itself, if it is known. */
  readonly auth: AuthConfig | undefined
  readonly at?: () => readonly Segment[]
  readonly members: readonly ObjectName[]
}

/** Every configuration once for each place; the default of inline counts even while every member is listed. */
export const configsReached = onceAReview((gateway, cluster): readonly Reached[] => {
  const found = new Map<string, Omit<Reached, 'members'> & { readonly members: ObjectName[] }>()
  const add = ({ config, at, from, name, member }: Backend) => {
    if (config === undefined) return
    const key = `${from}/${from === 'backends' ? name : config}`
    const members = member === undefined ? [] : [member]
    const reached = found.get(key)
    if (reached !== undefined) reached.members.push(...members)
    else found.set(key, { config, auth: getAuthConfig(cluster, config), ...(at && { at }), members })
  }
  for (const backend of backendsOf(gateway, cluster)) add(backend)
  const fallback = sourceOf(gateway) === 'inline' ? defaultOf(gateway) : undefined
  if (fallback !== undefined && !found.has(`default/${fallback.config ?? ''}`)) add({ name: '', ...fallback })
  return [...found.values()]
})

const GATEWAY = ['VirtualMCPServer']

/** A VirtualMCPServer that contacts backends with a configuration. */
export interface Reacher {
  readonly name: string
  readonly gateway: Gateway
  /** A backend through which it does, where it discovers it. */
  readonly through?: ObjectName
}

/** Every VirtualMCPServer that reaches the configuration, once, by name. Looks at nothing that does not. */
export function reachersOf(config: string, cluster: Cluster): Reacher[] {
  const found = new Map<string, Reacher>()
  for (const { source, ...reacher } of candidates(config, cluster)) {
    if (!found.has(reacher.name) && sourceOf(reacher.gateway) === source) found.set(reacher.name, reacher)
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** Whether some VirtualMCPServer may reach the configuration, of which that cannot be read. */
export function mayBeReached(config: string, cluster: Cluster): boolean {
  return candidates(config, cluster).some(({ gateway }) => {
    const source = sourceOf(gateway)
    return source !== 'inline' && source !== 'discovered'
  })
}

/** Every VirtualMCPServer that would reach the configuration with the source. */
function candidates(
  config: string,
  cluster: Cluster,
): (Reacher & { readonly source: 'inline' | 'discovered' })[] {
  const found: (Reacher & { readonly source: 'inline' | 'discovered' })[] = []
  const add = (name: string, source: 'inline' | 'discovered', through?: ObjectName) => {
    const gateway = getGateway(cluster, name)
    if (gateway !== undefined) found.push({ name, gateway, source, ...(through && { through }) })
  }
  const groups = new Map<string, ObjectName>()
  for (const { name } of cluster.referrers('MCPExternalAuthConfig', config, GATEWAY)) add(name, 'inline')
  for (const referrer of cluster.referrers('MCPExternalAuthConfig', config, BACKEND_KINDS)) {
    const workload = getWorkload(cluster, referrer)
    const group = workload && groupOf(workload)
    const own = workload?.spec?.externalAuthConfigRef?.name === config
    if (group !== undefined && own && !groups.has(group)) groups.set(group, referrer)
  }
  for (const [group, member] of groups) {
    for (const { name } of cluster.referrers('MCPGroup', group, GATEWAY)) add(name, 'discovered', member)
  }
  return found
}
