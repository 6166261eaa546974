import {
  type Cluster,
  compareNames,
  type Names,
  namesOf,
  NOBODY,
  type ObjectName,
  without,
} from '../../rule/cluster.ts'
import type { Segment } from '../../rule/path.ts'
import { isAbsent } from '../../rule/resource.ts'
import { CONFIG, NO_CONFIG, ownConfigOf } from './aspects.ts'
import {
  type AuthConfig,
  BACKEND_KINDS,
  getAuthConfig,
  type Gateway,
  getGateway,
  getWorkload,
  groupOf,
  membersNamed,
  membersOf,
  onceAReview,
  type Workload,
} from './neighbours.ts'
import { isOwnStrategy } from './references.ts'

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
export function backendsOf(gateway: Gateway, cluster: Cluster): readonly Backend[] {
  const group = groupOf(gateway)
  const members = group === undefined ? [] : [...membersOf(cluster, group)]
  const source = sourceOf(gateway)
  if (source === 'discovered') return members.map((member) => discovered(member, cluster))
  if (source !== 'inline') return members.map((member) => ({ name: member.name, member, from: 'unknown' }))
  const listed = new Set(members.map(({ name }) => name))
  const strangers = (keysOf(gateway) ?? []).filter((key) => !listed.has(key))
  return [
    ...members.map((member) => ({ ...inlineBackend(gateway, member.name), member })),
    ...strangers.map((key) => inlineBackend(gateway, key)),
  ]
}

function discovered(member: ObjectName, cluster: Cluster): Backend {
  const { name } = member
  return { name, member, ...configFrom(ownConfigOf(getWorkload(cluster, member) ?? {})) }
}

function configFrom(text: string): Pick<Backend, 'from' | 'config'> {
  if (text === NO_CONFIG) return { from: 'none' }
  if (!text.startsWith(CONFIG)) return { from: 'unknown' }
  return { from: 'discovered', config: text.slice(CONFIG.length) }
}

/** What a VirtualMCPServer with the source `inline` has for the backend of the name. */
export function inlineBackend({ spec }: Gateway, name: string): Backend {
  const outgoingAuth = spec?.outgoingAuth
  if (outgoingAuth === undefined) return { name, from: 'unknown' }
  const { backends } = outgoingAuth
  if (backends === undefined && !isAbsent(outgoingAuth, 'backends')) return { name, from: 'unknown' }
  if (backends !== undefined && Object.hasOwn(backends, name)) {
    const entry = backends[name]
    if (entry === undefined || !isOwnStrategy(entry)) return { name, from: 'unknown' }
    const config = entry.externalAuthConfigRef?.name
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

const GATEWAY = ['VirtualMCPServer']

/** A VirtualMCPServer, and where its strategies come from. */
export interface NamedGateway {
  readonly name: ObjectName
  readonly gateway: Gateway
  readonly source: 'discovered' | 'inline' | undefined
}

/** The VirtualMCPServers that front a group, by name. */
export const frontersOf = onceAReview((group: string, cluster) =>
  gatewaysAmong(cluster.referrers('MCPGroup', group, GATEWAY), cluster),
)

function gatewaysAmong(names: Names, cluster: Cluster): NamedGateway[] {
  const found: NamedGateway[] = []
  for (const name of names) {
    const gateway = getGateway(cluster, name.name)
    if (gateway !== undefined) found.push({ name, gateway, source: sourceOf(gateway) })
  }
  return found
}

/** A VirtualMCPServer of the group of a workload, and what it contacts the workload with. */
export interface Fronting extends Backend {
  readonly gateway: ObjectName
  readonly source: 'discovered' | 'inline' | undefined
}

export function frontingsOf(name: string, workload: Workload, cluster: Cluster): Fronting[] {
  const group = groupOf(workload)
  if (group === undefined) return []
  return frontersOf(group, cluster).map(({ name: gateway, gateway: found, source }) => {
    if (source === 'discovered') return { name, gateway, source, ...configFrom(ownConfigOf(workload)) }
    return source === 'inline'
      ? { gateway, source, ...inlineBackend(found, name) }
      : { name, gateway, source, from: 'unknown' }
  })
}

/**
 * Of workloads of a group that name the configuration themselves: those for which no VirtualMCPServer of the group uses
 * it, if there is any. `named` finds those of a name.
 */
export function unusedOf(
  names: Names,
  named: (name: string) => readonly ObjectName[],
  { group, config }: { readonly group: string; readonly config: string },
  cluster: Cluster,
): Names {
  const fronters = frontersOf(group, cluster)
  if (fronters.length === 0 || fronters.some(({ source }) => source !== 'inline')) return NOBODY
  const uses = (found: Pick<Backend, 'from' | 'config'>) =>
    found.from === 'unknown' || found.config === config
  const used = new Set<string>()
  let only: readonly string[] | undefined
  for (const { gateway } of fronters) {
    const keys = keysOf(gateway)
    if (keys === undefined) return NOBODY
    const others = new Set<string>()
    for (const key of keys) (uses(inlineBackend(gateway, key)) ? used : others).add(key)
    if (uses(defaultOf(gateway))) only = (only ?? keys).filter((key) => others.has(key))
  }
  if (only === undefined) return without(names, [...used].flatMap(named))
  return namesOf(
    only
      .filter((key) => !used.has(key))
      .flatMap(named)
      .toSorted(compareNames),
  )
}

/** The keys of `backends`; undefined when they cannot be read. */
function keysOf({ spec }: Gateway): readonly string[] | undefined {
  const outgoingAuth = spec?.outgoingAuth ?? {}
  const { backends } = outgoingAuth
  if (backends !== undefined) return Object.keys(backends)
  return isAbsent(outgoingAuth, 'backends') ? [] : undefined
}

/** A configuration that a VirtualMCPServer reaches, at one place of it, and the backends that are contacted with it. */
export interface Reached {
  readonly config: string
  /** The configuration itself, if it is known. */
  readonly auth: AuthConfig | undefined
  readonly at?: () => readonly Segment[]
  readonly members: Names
}

/**
 * Every configuration once for each place; the default of inline counts even while every member is listed. Looks at no
 * backend but those that `backends` lists.
 */
export const configsReached = onceAReview((gateway: Gateway, cluster): readonly Reached[] => {
  const source = sourceOf(gateway)
  const group = groupOf(gateway)
  const reached = (config: string, members: Names, at?: () => readonly Segment[]): Reached => ({
    config,
    auth: getAuthConfig(cluster, config),
    members,
    ...(at && { at }),
  })
  if (source === 'discovered') {
    if (group === undefined) return []
    return [...cluster.apart('MCPGroup', group, 'config')]
      .filter(([own]) => own.startsWith(CONFIG))
      .map(([own, members]) => reached(own.slice(CONFIG.length), members))
      .sort((a, b) => compareFirst(a.members, b.members))
  }
  if (source !== 'inline') return []
  const found: Reached[] = []
  for (const { key, members } of listedIn(gateway, cluster)) {
    const { config, at } = inlineBackend(gateway, key)
    if (config !== undefined) found.push(reached(config, namesOf(members), at))
  }
  const { config, at } = defaultOf(gateway)
  if (config !== undefined) found.push(reached(config, unlisted(gateway, cluster), at))
  return found
})

/** Each key of `backends`, and the members of the group that have it as their name. */
export const listedIn = onceAReview((gateway: Gateway, cluster) => {
  const group = groupOf(gateway)
  return (keysOf(gateway) ?? []).map((key) => ({
    key,
    members: group === undefined ? [] : membersNamed(cluster, group, key),
  }))
})

const compareFirst = (a: Names, b: Names): number => {
  const [[one], [other]] = [a.first(1), b.first(1)]
  return one === undefined || other === undefined ? 0 : compareNames(one, other)
}

/** The backends that are contacted without credentials, for want of a strategy. */
export function withoutStrategy(gateway: Gateway, cluster: Cluster): Names {
  const source = sourceOf(gateway)
  const group = groupOf(gateway)
  if (source === 'inline' && defaultOf(gateway).from === 'none') return unlisted(gateway, cluster)
  if (source !== 'discovered' || group === undefined) return NOBODY
  for (const [own, members] of cluster.apart('MCPGroup', group, 'config')) {
    if (own === NO_CONFIG) return members
  }
  return NOBODY
}

/** The members of the group that `backends` does not list. */
function unlisted(gateway: Gateway, cluster: Cluster): Names {
  const group = groupOf(gateway)
  if (group === undefined || keysOf(gateway) === undefined) return NOBODY
  const listed = listedIn(gateway, cluster).flatMap(({ members }) => members)
  return without(membersOf(cluster, group), listed)
}

/** Every VirtualMCPServer that reaches the configuration, once, by name. Looks at no backend. */
export const reachersOf = onceAReview((config: string, cluster): readonly NamedGateway[] => {
  const found: NamedGateway[] = []
  for (const { through, gateways } of candidates(config, cluster)) {
    for (const each of gateways) if (each.source === through) found.push(each)
  }
  if (found.length < 2) return found
  found.sort((a, b) => compareNames(a.name, b.name))
  return found.filter(({ name }, i) => name.name !== found[i - 1]?.name.name)
})

/** Whether some VirtualMCPServer may reach the configuration, of which that cannot be read. */
export const mayBeReached = (config: string, cluster: Cluster): boolean =>
  candidates(config, cluster).some(({ gateways }) =>
    gateways.some(({ source }) => source !== 'inline' && source !== 'discovered'),
  )

interface Candidates {
  readonly through: 'inline' | 'discovered'
  readonly gateways: readonly NamedGateway[]
}

/** The VirtualMCPServers that would reach the configuration through the source. */
function candidates(config: string, cluster: Cluster): Candidates[] {
  const naming = cluster.referrers('MCPExternalAuthConfig', config, GATEWAY)
  const found: Candidates[] = [{ through: 'inline', gateways: gatewaysAmong(naming, cluster) }]
  for (const [group] of cluster.apart('MCPExternalAuthConfig', config, 'group')) {
    found.push({ through: 'discovered', gateways: frontersOf(group, cluster) })
  }
  return found
}
