import { backendsOf, type Gateway, getGateway, groupOf, olderGroupOf } from '../relations/index.ts'
import { type Cluster, compareText } from '../rule/index.ts'
import type { ClusterState } from '../state/index.ts'
import { type AuthServer, authServerOf, type Incoming, incomingOf } from './incoming.ts'
import { type Outgoing, outgoingOf } from './outgoing.ts'
import { releaseNotesOfServer } from './releases.ts'
import { absence, unreadable } from './unknown.ts'

/** The effective authentication of one VirtualMCPServer, as JSON: unknown values are null, never absent. */
export interface Plan {
  readonly namespace: string
  readonly name: string
  readonly group: Group
  readonly incoming: Incoming
  readonly authServer: AuthServer | null
  /** The members of the group, by kind and name, then the keys of `outgoingAuth.backends` that name no member. */
  readonly backends: readonly Outgoing[]
  /** Differences between operator releases that concern the VirtualMCPServer as a whole. */
  readonly notes: readonly string[]
}

/** The MCPGroup whose members are the backends. */
export interface Group {
  readonly name: string | null
  /** Why the group is not known, such as because it does not exist. */
  readonly reason: string | null
}

/**
 * The effective authentication of the VirtualMCPServer; undefined when it does not exist. `writesDefaults`: whether
 * notes tell which provider /mutate will write next. `release`: the operator release, if known (decision 10).
 */
export function planOf(
  state: ClusterState,
  namespace: string,
  name: string,
  writesDefaults = true,
  release?: string,
): Plan | undefined {
  const cluster = state.in(namespace, release)
  const gateway = getGateway(cluster, name)
  if (gateway === undefined) return undefined
  const incoming = incomingOf(gateway, cluster)
  return {
    namespace,
    name,
    group: fronted(gateway, cluster),
    incoming,
    authServer: authServerOf(gateway),
    backends: backendsOf(gateway, cluster).map((backend) =>
      outgoingOf(gateway, backend, cluster, writesDefaults),
    ),
    notes: releaseNotesOfServer(gateway, { namespace, name }, cluster),
  }
}

/**
 * The effective authentication of all VirtualMCPServers, sorted by namespace and name. Plans of namespaces for which
 * `writesDefaultsIn` is false have no notes about the next write of /mutate, because /mutate writes nothing there.
 */
export function plansOf(
  state: ClusterState,
  writesDefaultsIn: (namespace: string) => boolean = () => true,
  release?: string,
): Plan[] {
  return [...state.all('VirtualMCPServer')]
    .toSorted((a, b) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name))
    .map(({ namespace, name }) => planOf(state, namespace, name, writesDefaultsIn(namespace), release))
    .filter((plan) => plan !== undefined)
}

const OLDER_GROUP = '`spec.config.groupRef` is of older releases and not read'

function fronted(gateway: Gateway, cluster: Cluster): Group {
  const name = groupOf(gateway)
  if (name === undefined) {
    const { spec = {} } = gateway
    const { groupRef } = spec
    const missing =
      groupRef === undefined ? unreadable(spec, 'groupRef') : unreadable(groupRef, 'name', 'groupRef.name')
    const older = olderGroupOf(gateway) === undefined ? '' : `; ${OLDER_GROUP}`
    return { name: null, reason: missing + older }
  }
  const found = cluster.get('MCPGroup', name) !== undefined
  return { name, reason: found ? null : absence('MCPGroup', cluster) }
}
