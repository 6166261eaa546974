import {
  type Cluster,
  end,
  type ObjectName,
  oncePerCluster,
  type Related,
  shortQuote,
  type ErrorSubject,
} from '../rule/index.ts'
import { BACKEND_KINDS, type Gateway, providersOf } from './related-resources.ts'
import { configsReached, mayBeReached, reachersOf } from './reach.ts'
import { GATEWAY } from './ends.ts'

/**
 * The provider whose token a VirtualMCPServer exchanges when `subjectProviderName` is absent: its first provider.
 * Undefined when there is no provider, or when its name is empty or of a wrong type. Specification 2.4.5.
 */
export function firstProvider({ spec }: Gateway): string | undefined {
  const name = spec?.authServerConfig?.upstreamProviders?.[0]?.name
  return name === '' ? undefined : name
}

/** A provider, and the names of the VirtualMCPServers that would exchange its token. */
interface Choice {
  readonly provider: string
  readonly gateways: readonly ObjectName[]
}

/**
 * The first providers of all VirtualMCPServers that use an MCPExternalAuthConfig and have an embedded authorization
 * server, without repeats.
 */
export const subjectProviders = oncePerCluster((config: string, cluster): readonly Choice[] => {
  const choices = new Map<string, ObjectName[]>()
  for (const { name, gateway } of reachersOf(config, cluster)) {
    const provider = firstProvider(gateway)
    if (provider === undefined) continue
    const gateways = choices.get(provider)
    if (gateways === undefined) choices.set(provider, [name])
    else gateways.push(name)
  }
  return Array.from(choices, ([provider, gateways]) => ({ provider, gateways }))
})

const MOST_CHOICES = 3
const MOST_GATEWAYS = 2

/** Each provider and where it would be used: `"okta" in VirtualMCPServer "a" and "c"; "github" in "b"`. */
export function choicesText(choices: readonly Choice[]): string {
  const texts = choices.slice(0, MOST_CHOICES).map(({ provider, gateways }, i) => {
    const names = gateways.slice(0, MOST_GATEWAYS).map(({ name }) => shortQuote(name))
    const rest = gateways.length - names.length
    const who = rest === 0 ? names.join(' and ') : `${names.join(', ')} and ${rest} more`
    return `${shortQuote(provider)} in ${i === 0 ? 'VirtualMCPServer ' : ''}${who}`
  })
  const more = choices.length - texts.length
  return [...texts, ...(more > 0 ? [`${more} more elsewhere`] : [])].join('; ')
}

/**
 * For each provider in `choices`, at most three: its `name` field in one of the VirtualMCPServers that would exchange
 * tokens of this provider.
 */
export const choiceEnds = (choices: readonly Choice[]): Related[] =>
  choices.slice(0, MOST_CHOICES).flatMap(({ provider, gateways: [gateway] }) => {
    const at = GATEWAY.spec.authServerConfig.upstreamProviders.at(0).name
    return gateway === undefined ? [] : [end(gateway, at, `would choose ${shortQuote(provider)}`)]
  })

/** The key that groups errors with one cause: VirtualMCPServers choose different providers for the same config. */
export const undecidedCause = (config: string): ErrorSubject => ['undecided provider', config]

/**
 * The first provider of all VirtualMCPServers that use the MCPExternalAuthConfig, if they agree (decision 25).
 * Undefined when the providers differ, when there is none, or when a relevant field has a wrong type.
 */
export function agreedProvider(config: string, cluster: Cluster): string | undefined {
  const isUndecided = ({ gateway }: { readonly gateway: Gateway }) =>
    providersOf(gateway.spec, 'authServerConfig') !== undefined && firstProvider(gateway) === undefined
  if (reachersOf(config, cluster).some(isUndecided) || mayBeReached(config, cluster)) return undefined
  const [choice, ...others] = subjectProviders(config, cluster)
  return others.length === 0 ? choice?.provider : undefined
}

/**
 * Whether /mutate can have written `provider`: it must be the first provider of a VirtualMCPServer that uses the
 * MCPExternalAuthConfig, in `cluster` or as stored before the write (`before`). The annotation of /mutate does not
 * prove this: every user can set it.
 */
export function isDecided(
  { config, provider }: { readonly config: string; readonly provider: string },
  cluster: Cluster,
  before: Gateway | undefined,
): boolean {
  if (reachersOf(config, cluster).some(({ gateway }) => firstProvider(gateway) === provider)) return true
  return (
    before !== undefined &&
    firstProvider(before) === provider &&
    configsReached(before, cluster).some((reached) => reached.config === config)
  )
}

const DECIDED_BY = ['VirtualMCPServer', ...BACKEND_KINDS]

/** Whether all VirtualMCPServers and backends were read: any of them may use an MCPExternalAuthConfig. */
export const knowsReachers = (cluster: Cluster): boolean => DECIDED_BY.every((kind) => cluster.knows(kind))
