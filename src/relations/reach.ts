/**
 * Which MCPExternalAuthConfig a VirtualMCPServer uses for which backend, and which field says so; and the way back, from
 * a configuration or a backend to the VirtualMCPServers. Specification 5.2, decision 10.
 */

import {
  type Cluster,
  compareNames,
  compareReleases,
  isAbsent,
  type ObjectName,
  oncePerCluster,
  pathText,
  type Segment,
} from '../rule/index.ts'
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
  type Workload,
} from './related-resources.ts'
import { isOwnStrategy, referencesOf } from './references.ts'

/** The kinds whose objects determine which MCPExternalAuthConfigs a VirtualMCPServer uses. */
export const REACHED_KINDS: readonly string[] = [...BACKEND_KINDS, 'MCPExternalAuthConfig']

/**
 * The field that gives a backend its strategy: `discovered` is the backend's own `externalAuthConfigRef`, `backends`
 * and `default` are fields of the VirtualMCPServer. `none`: the backend has no strategy; `unknown`: a field is
 * unreadable, or has a value that only releases define.
 */
export type From = 'discovered' | 'backends' | 'default' | 'none' | 'unknown'

/** A backend of a VirtualMCPServer, and the MCPExternalAuthConfig that the VirtualMCPServer uses for it. */
export interface Backend {
  readonly name: string
  /** The workload that is the backend; absent for a key of `backends` that no workload in the group has as name. */
  readonly member?: ObjectName
  readonly from: From
  readonly config?: string
  /** The path at which the VirtualMCPServer names the MCPExternalAuthConfig; absent when the workload names it. */
  readonly at?: () => readonly Segment[]
}

/** `outgoingAuth.source`, given or default; undefined when it is unreadable. Specification 2.2, decision 10. */
export function sourceOf({ spec }: Gateway): 'discovered' | 'inline' | undefined {
  if (spec === undefined) return undefined
  if (isAbsent(spec, 'outgoingAuth')) return 'discovered'
  const { outgoingAuth } = spec
  if (outgoingAuth === undefined) return undefined
  return isAbsent(outgoingAuth, 'source') ? 'discovered' : outgoingAuth.source
}

/**
 * All backends of a VirtualMCPServer: the workloads of its group, by kind and name, and with source `inline` also the
 * keys of `backends` that no workload has as name. Specification 5.2.
 */
export function backendsOf(gateway: Gateway, cluster: Cluster): readonly Backend[] {
  const group = groupOf(gateway)
  const members = group === undefined ? [] : [...membersOf(cluster, group)]
  const source = sourceOf(gateway)
  if (source === 'discovered')
    return members.map((member) => ({
      ...discoveredBackend(gateway, member.name, getWorkload(cluster, member) ?? {}, cluster),
      member,
    }))
  if (source !== 'inline') return members.map((member) => ({ name: member.name, member, from: 'unknown' }))
  const listed = new Set(members.map(({ name }) => name))
  const strangers = (keysOf(gateway) ?? []).filter((key) => !listed.has(key))
  return [
    ...members.map((member) => ({
      ...inlineBackend(gateway, member.name, counting(getWorkload(cluster, member), cluster)),
      member,
    })),
    ...strangers.map((key) => inlineBackend(gateway, key)),
  ]
}

/** The first release that uses `backends` and `default` also with source `discovered`. */
const FALLS_BACK_FROM = '0.47'

/**
 * Whether a known release uses `backends` and `default` also with source `discovered`, for backends without a reference
 * of their own (decision 10).
 */
export const fallsBack = ({ release }: Cluster): boolean =>
  release !== undefined && compareReleases(release, FALLS_BACK_FROM) >= 0

/** The strategy of a backend with source `discovered`. */
function discoveredBackend(gateway: Gateway, name: string, workload: Workload, cluster: Cluster): Backend {
  const own = ownConfigOf(workload)
  return own.from === 'none' && fallsBack(cluster) ? inlineBackend(gateway, name) : { name, ...own }
}

type Own = Pick<Backend, 'from' | 'config'>

/**
 * With source `inline`: the strategy of a workload's own `externalAuthConfigRef`, which only operator releases use
 * (decision 10); undefined when no release is known.
 */
const counting = (workload: Workload | undefined, { release }: Cluster): Own | undefined =>
  release === undefined || workload === undefined ? undefined : ownConfigOf(workload)

/** The strategy that a workload's own `externalAuthConfigRef` gives. Specification 5.2. */
export function ownConfigOf({ spec }: Workload): Own {
  if (spec === undefined) return { from: 'unknown' }
  if (isAbsent(spec, 'externalAuthConfigRef')) return { from: 'none' }
  const config = spec.externalAuthConfigRef?.name
  return config === undefined ? { from: 'unknown' } : { from: 'discovered', config }
}

/** The strategy that `backends` and `default` give; `own`: the one of the backend's own `externalAuthConfigRef`. */
function inlineBackend({ spec }: Gateway, name: string, own?: Own): Backend {
  if (spec !== undefined && isAbsent(spec, 'outgoingAuth')) return { name, from: 'none' }
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
  return { name, ...(own === undefined || own.from === 'none' ? defaultOf({ spec: { outgoingAuth } }) : own) }
}

/** The strategy in `outgoingAuth.default`, for backends that `outgoingAuth.backends` does not list. */
export function defaultOf({ spec }: Gateway): Pick<Backend, 'from' | 'config' | 'at'> {
  const outgoingAuth = spec?.outgoingAuth ?? {}
  if (isAbsent(outgoingAuth, 'default')) return { from: 'none' }
  const fallback = outgoingAuth.default
  const config = fallback?.externalAuthConfigRef?.name
  if (config !== undefined) return { from: 'default', config, at: () => DEFAULT }
  return { from: fallback !== undefined && isAbsent(fallback, 'externalAuthConfigRef') ? 'none' : 'unknown' }
}

const DEFAULT = ['spec', 'outgoingAuth', 'default', 'externalAuthConfigRef', 'name']

const GATEWAY = ['VirtualMCPServer']

/** A VirtualMCPServer and its `outgoingAuth.source`. */
export interface NamedGateway {
  readonly name: ObjectName
  readonly gateway: Gateway
  readonly source: 'discovered' | 'inline' | undefined
}

/** The VirtualMCPServers whose `groupRef` names the group, sorted by name. */
export const frontersOf = oncePerCluster((group: string, cluster) =>
  gatewaysAmong(cluster.referrers('MCPGroup', group, GATEWAY), cluster),
)

function gatewaysAmong(names: readonly ObjectName[], cluster: Cluster): NamedGateway[] {
  const found: NamedGateway[] = []
  for (const name of names) {
    const gateway = getGateway(cluster, name.name)
    if (gateway !== undefined) found.push({ name, gateway, source: sourceOf(gateway) })
  }
  return found
}

/** A VirtualMCPServer whose group has a workload, and the strategy with which it contacts the workload. */
export interface Fronting extends Backend {
  readonly gateway: ObjectName
  readonly source: 'discovered' | 'inline' | undefined
}

/** The VirtualMCPServers whose group has the workload, each with its strategy for the workload. */
export function frontingsOf(name: string, workload: Workload, cluster: Cluster): Fronting[] {
  const group = groupOf(workload)
  if (group === undefined) return []
  return frontersOf(group, cluster).map(({ name: gateway, gateway: found, source }) => {
    if (source === 'discovered')
      return { gateway, source, ...discoveredBackend(found, name, workload, cluster) }
    return source === 'inline'
      ? { gateway, source, ...inlineBackend(found, name, counting(workload, cluster)) }
      : { name, gateway, source, from: 'unknown' }
  })
}

/**
 * The VirtualMCPServers that contact a workload without credentials: with source `discovered` (`discovering`) and
 * `inline` (`listing`). Excludes a VirtualMCPServer if operator releases use the workload's own reference, although the
 * specification does not (decision 10).
 */
export function gatewaysWithoutStrategy(name: string, workload: Workload, cluster: Cluster) {
  const without = frontingsOf(name, workload, cluster).filter(({ from }) => from === 'none')
  const hasOwn = ownConfigOf(workload).from !== 'none'
  const ofSource = (wanted: Fronting['source']) =>
    without.filter(({ source }) => source === wanted).map(({ gateway }) => gateway)
  return { discovering: ofSource('discovered'), listing: hasOwn ? [] : ofSource('inline') }
}

/** Whether `outgoingAuth.backends` lists the name; true when the field is unreadable, because it may list the name. */
export const isListed = ({ spec }: Gateway, name: string): boolean => {
  const outgoingAuth = spec?.outgoingAuth ?? {}
  const { backends } = outgoingAuth
  return backends === undefined ? !isAbsent(outgoingAuth, 'backends') : Object.hasOwn(backends, name)
}

/** Whether a VirtualMCPServer uses the own `externalAuthConfigRef` of the backend `name`. */
const usesOwnReference = (
  { gateway, source }: Pick<NamedGateway, 'gateway' | 'source'>,
  name: string,
  { release }: Cluster,
): boolean =>
  source === 'discovered' || (source === 'inline' && release !== undefined && !isListed(gateway, name))

/** The VirtualMCPServers of the workload's group that use its own `externalAuthConfigRef`. */
export function discoverersOf(name: string, workload: Workload, cluster: Cluster): NamedGateway[] {
  const group = groupOf(workload)
  return group === undefined
    ? []
    : frontersOf(group, cluster).filter((each) => usesOwnReference(each, name, cluster))
}

/** Whether a group has VirtualMCPServers, and all list another MCPExternalAuthConfig than `config` for a workload. */
export function isUnused(
  name: string,
  { group, config }: { readonly group: string; readonly config: string },
  cluster: Cluster,
): boolean {
  const fronters = frontersOf(group, cluster)
  return (
    fronters.length > 0 &&
    fronters.every(({ gateway, source }) => {
      if (source !== 'inline' || !isListed(gateway, name)) return false
      const found = inlineBackend(gateway, name)
      return found.from !== 'unknown' && found.config !== config
    })
  )
}

/** The keys of `outgoingAuth.backends`; undefined when the field is unreadable. */
function keysOf({ spec }: Gateway): readonly string[] | undefined {
  const outgoingAuth = spec?.outgoingAuth ?? {}
  const { backends } = outgoingAuth
  if (backends !== undefined) return Object.keys(backends)
  return isAbsent(outgoingAuth, 'backends') ? [] : undefined
}

/**
 * An MCPExternalAuthConfig that a VirtualMCPServer uses because one of its fields or a backend names it, and the
 * backends (`members`) for which the MCPExternalAuthConfig is used.
 */
export interface Reached {
  readonly config: string
  /** The MCPExternalAuthConfig itself; undefined when the object is not known. */
  readonly auth: AuthConfig | undefined
  readonly at?: () => readonly Segment[]
  readonly members: readonly ObjectName[]
}

/**
 * Says where the reference to an MCPExternalAuthConfig is, in two texts: the word `place` and the path of the field in
 * the VirtualMCPServer, or the word `group` and the name of the group whose backends have the reference.
 */
export const routeOf = ({ at }: Reached, gateway: Gateway): readonly string[] =>
  at === undefined ? ['group', groupOf(gateway) ?? ''] : ['place', pathText(at())]

/**
 * The MCPExternalAuthConfigs that a VirtualMCPServer uses, once for each field that names them. With source `inline`
 * the default is included even if `backends` lists every backend.
 */
export const configsReached = oncePerCluster((gateway: Gateway, cluster): readonly Reached[] => {
  const source = sourceOf(gateway)
  const reached = (
    config: string,
    members: readonly ObjectName[],
    at?: () => readonly Segment[],
  ): Reached => ({ config, auth: getAuthConfig(cluster, config), members, ...(at && { at }) })
  if (source === 'discovered') {
    const members = membersByConfig(groupOf(gateway) ?? '', cluster)
    const own = Array.from(members, ([config, names]) =>
      config === undefined ? [] : reached(config, names),
    ).flat()
    const others = fallsBack(cluster) ? (members.get(undefined) ?? []) : []
    const byEntry = Map.groupBy(others, ({ name }) => (isListed(gateway, name) ? name : undefined))
    const fallbacks = Array.from(byEntry, ([key, names]) => {
      const { config, at } = key === undefined ? defaultOf(gateway) : inlineBackend(gateway, key)
      return config === undefined ? [] : reached(config, names, at)
    }).flat()
    return [...own, ...fallbacks]
  }
  if (source !== 'inline') return []
  const found: Reached[] = []
  for (const { key, members } of listedIn(gateway, cluster)) {
    const { config, at } = inlineBackend(gateway, key)
    if (config !== undefined) found.push(reached(config, members, at))
  }
  const { config, at } = defaultOf(gateway)
  const byOwn = unlistedByOwn(gateway, cluster)
  for (const [own, members] of byOwn) if (own !== undefined) found.push(reached(own, members))
  if (config !== undefined) found.push(reached(config, byOwn.get(undefined) ?? [], at))
  return found
})

/**
 * All MCPExternalAuthConfigs that the VirtualMCPServer itself names: operator releases convert all of them for vMCP,
 * whatever the `outgoingAuth.source`.
 */
export const configsNamed = (
  gateway: Gateway,
  cluster: Cluster,
): readonly (Reached & Required<Pick<Reached, 'at'>>)[] =>
  referencesOf('VirtualMCPServer', gateway, 'MCPExternalAuthConfig').map(({ to, at }) => ({
    config: to.name,
    auth: getAuthConfig(cluster, to.name),
    members: [],
    at,
  }))

/**
 * The backends of a group, by the name of the MCPExternalAuthConfig that they refer to; backends that refer to none
 * have the key undefined.
 */
const membersByConfig = oncePerCluster((group: string, cluster) => {
  const found = new Map<string | undefined, ObjectName[]>()
  for (const member of membersOf(cluster, group)) {
    const { from, config } = ownConfigOf(getWorkload(cluster, member) ?? {})
    if (from === 'unknown') continue
    const names = found.get(config)
    if (names === undefined) found.set(config, [member])
    else names.push(member)
  }
  return found
})

/** Each key of `outgoingAuth.backends`, with the workloads of the group that have this name. */
export const listedIn = oncePerCluster((gateway: Gateway, cluster) => {
  const group = groupOf(gateway)
  return (keysOf(gateway) ?? []).map((key) => ({
    key,
    members: group === undefined ? [] : membersNamed(cluster, group, key),
  }))
})

/**
 * The backends that `outgoingAuth.backends` does not list, by the MCPExternalAuthConfig that they name themselves. The
 * key undefined is for backends that name none; when no operator release is known, it is for all backends.
 */
function unlistedByOwn(gateway: Gateway, cluster: Cluster): Map<string | undefined, ObjectName[]> {
  const rest = unlisted(gateway, cluster)
  if (cluster.release === undefined) return new Map([[undefined, [...rest]]])
  const known = rest.map((member) => ({ member, ...ownConfigOf(getWorkload(cluster, member) ?? {}) }))
  const found = new Map<string | undefined, ObjectName[]>()
  for (const { member, from, config } of known) {
    if (from === 'unknown') continue
    const names = found.get(config)
    if (names === undefined) found.set(config, [member])
    else names.push(member)
  }
  return found
}

/**
 * The backends that the VirtualMCPServer contacts without credentials. Excludes a backend if operator releases
 * use its own `externalAuthConfigRef`, although the specification does not (decision 10).
 */
export function withoutStrategy(gateway: Gateway, cluster: Cluster): readonly ObjectName[] {
  const source = sourceOf(gateway)
  if (source === 'inline' && defaultOf(gateway).from === 'none')
    return unlisted(gateway, cluster).filter(
      (member) => ownConfigOf(getWorkload(cluster, member) ?? {}).from === 'none',
    )
  if (source !== 'discovered') return []
  const without = membersByConfig(groupOf(gateway) ?? '', cluster).get(undefined) ?? []
  return fallsBack(cluster)
    ? without.filter(({ name }) => inlineBackend(gateway, name).from === 'none')
    : without
}

/** The workloads of the VirtualMCPServer's group that `outgoingAuth.backends` does not list. */
export function unlisted(gateway: Gateway, cluster: Cluster): readonly ObjectName[] {
  const group = groupOf(gateway)
  const keys = keysOf(gateway)
  if (group === undefined || keys === undefined) return []
  const listed = new Set(keys)
  return membersOf(cluster, group).filter(({ name }) => !listed.has(name))
}

/** The VirtualMCPServers that use the MCPExternalAuthConfig, or have a backend that names it; sorted by name. */
export const reachersOf = oncePerCluster((config: string, cluster): readonly NamedGateway[] => {
  const found: NamedGateway[] = []
  for (const { through, gateways, users } of candidates(config, cluster)) {
    for (const each of gateways)
      if (
        each.source === through ||
        users?.some(({ name }) => usesOwnReference(each, name, cluster)) ||
        isUsedByName(each.gateway, config, cluster)
      )
        found.push(each)
  }
  if (found.length < 2) return found
  found.sort((a, b) => compareNames(a.name, b.name))
  return found.filter(({ name }, i) => name.name !== found[i - 1]?.name.name)
})

/** The backends for which a VirtualMCPServer, one of `reachersOf`, uses the MCPExternalAuthConfig. */
export const membersFor = (
  { gateway, source }: NamedGateway,
  config: string,
  cluster: Cluster,
): readonly ObjectName[] =>
  source === 'inline' || isUsedByName(gateway, config, cluster)
    ? configsReached(gateway, cluster).flatMap((each) => (each.config === config ? each.members : []))
    : (membersByConfig(groupOf(gateway) ?? '', cluster).get(config) ?? [])

/** The names of the MCPExternalAuthConfigs that a VirtualMCPServer uses because its `backends` or `default` name them. */
export const configsUsedByName = oncePerCluster(
  (gateway: Gateway, cluster): ReadonlySet<string> =>
    new Set(configsReached(gateway, cluster).flatMap(({ config, at }) => (at === undefined ? [] : config))),
)

/**
 * Whether a VirtualMCPServer with source `discovered` uses the MCPExternalAuthConfig because its `backends` or `default`
 * name it. Asks the cheap questions first: many VirtualMCPServers may be asked about one configuration.
 */
export const isUsedByName = (gateway: Gateway, config: string, cluster: Cluster): boolean =>
  sourceOf(gateway) === 'discovered' &&
  fallsBack(cluster) &&
  referencesOf('VirtualMCPServer', gateway, 'MCPExternalAuthConfig').some(({ to }) => to.name === config) &&
  configsUsedByName(gateway, cluster).has(config)

/** Whether a VirtualMCPServer whose `outgoingAuth.source` is unreadable may use the MCPExternalAuthConfig. */
export const mayBeReached = (config: string, cluster: Cluster): boolean =>
  candidates(config, cluster).some(({ gateways }) =>
    gateways.some(({ source }) => source !== 'inline' && source !== 'discovered'),
  )

interface Candidates {
  readonly through: 'inline' | 'discovered'
  readonly gateways: readonly NamedGateway[]
  /** The workloads of a group that themselves name the MCPExternalAuthConfig. */
  readonly users?: readonly ObjectName[]
}

/**
 * The VirtualMCPServers that use the MCPExternalAuthConfig if their `outgoingAuth.source` has the value `through`, or
 * may use it by a field that releases read with the other source too.
 */
const candidates = oncePerCluster((config: string, cluster): readonly Candidates[] => {
  const naming = cluster.referrers('MCPExternalAuthConfig', config, GATEWAY)
  const found: Candidates[] = [{ through: 'inline', gateways: gatewaysAmong(naming, cluster) }]
  for (const [group, users] of usersByGroup(config, cluster)) {
    found.push({ through: 'discovered', gateways: frontersOf(group, cluster), users })
  }
  return found
})

/** The workloads whose `externalAuthConfigRef` names the MCPExternalAuthConfig, by the name of their group. */
export function usersByGroup(config: string, cluster: Cluster): ReadonlyMap<string, readonly ObjectName[]> {
  const groups = new Map<string, ObjectName[]>()
  for (const name of cluster.referrers('MCPExternalAuthConfig', config, BACKEND_KINDS)) {
    const workload = getWorkload(cluster, name)
    const group = workload === undefined ? undefined : groupOf(workload)
    if (group === undefined || workload?.spec?.externalAuthConfigRef?.name !== config) continue
    const users = groups.get(group)
    if (users === undefined) groups.set(group, [name])
    else users.push(name)
  }
  return groups
}
