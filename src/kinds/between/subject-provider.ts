import type { Cluster } from '../../rule/cluster.ts'
import { BACKEND_KINDS, type Gateway, providersOf } from './neighbours.ts'
import { mayBeReached, reachersOf } from './reach.ts'

/**
 * The provider whose token a VirtualMCPServer exchanges when none is named; undefined when it has none, or none that can
 * be read. Section 2.4.5.
 */
export function firstProvider({ spec }: Gateway): string | undefined {
  const name = spec?.authServerConfig?.upstreamProviders?.[0]?.name
  return name === '' ? undefined : name
}

/** For each VirtualMCPServer that reaches a configuration and has an embedded server: its first provider. */
export function subjectProviders(
  config: string,
  cluster: Cluster,
): { readonly gateway: string; readonly provider: string }[] {
  return reachersOf(config, cluster).flatMap(({ name, gateway }) => {
    const provider = firstProvider(gateway)
    return provider === undefined ? [] : [{ gateway: name.name, provider }]
  })
}

/**
 * The provider on which all of them agree (decision 25); undefined when they differ, when there is none, and when one of
 * them has no first provider that can be read.
 */
export function agreedProvider(config: string, cluster: Cluster): string | undefined {
  const gateways = reachersOf(config, cluster).map(({ gateway }) => gateway)
  if (mayBeReached(config, cluster)) return undefined
  const embedded = gateways.filter(({ spec }) => providersOf(spec, 'authServerConfig') !== undefined)
  const providers = new Set(embedded.map(firstProvider))
  return providers.size === 1 ? [...providers][0] : undefined
}

const DECIDED_BY = ['VirtualMCPServer', ...BACKEND_KINDS]

/** Whether everybody is known who can reach a configuration. */
export const knowsReachers = (cluster: Cluster): boolean => DECIDED_BY.every((kind) => cluster.knows(kind))
