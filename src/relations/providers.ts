import {
  about,
  type Cluster,
  dependingOn,
  end,
  type FieldError,
  invalid,
  MOST_HINTS,
  namesText,
  nameText,
  nearest,
  notFound,
  type ObjectName,
  oncePerCluster,
  type Path,
  pathTo,
  type Related,
  relatedTo,
  required,
  shortQuote,
  type ErrorSubject,
} from '../rule/index.ts'
import {
  authConfigNamed,
  type AuthConfig,
  type Gateway,
  type NamedProvider,
  namedProvider,
  type Providers,
  providersOf,
} from './related-resources.ts'
import { configsReached, type Reached, routeOf } from './reach.ts'
import { AUTH_CONFIG, GATEWAY, referenceEnds } from './ends.ts'

/** Why a VirtualMCPServer cannot get the token that an MCPExternalAuthConfig needs. */
export interface Unserved extends NamedProvider {
  readonly reason: 'no authorization server' | 'no such provider'
  readonly providers: Providers
}

const NONE: Providers = { names: [], complete: true, has: () => false }
/** Stands for a provider whose name is unreadable or absent in the MCPExternalAuthConfig. */
const ANY: NamedProvider = { field: 'upstreamInject.providerName', provider: '', written: false }

/** The upstream provider whose token an MCPExternalAuthConfig needs; undefined for none. `group`: the API group. */
export const neededProvider = (config: AuthConfig, group: string): NamedProvider | undefined =>
  namedProvider(config, group) ?? (config.spec?.type === 'upstreamInject' ? ANY : undefined)

/**
 * Why the VirtualMCPServer lacks the upstream provider that an MCPExternalAuthConfig needs (sections 2.4.5, 2.4.6 and
 * 5.2 of the specification); undefined when it has the provider, or when a field is unreadable.
 */
export function unserved(
  { spec }: Gateway,
  needed: NamedProvider,
  providers = providersOf(spec, 'authServerConfig'),
): Unserved | undefined {
  if (providers === undefined) return { ...needed, reason: 'no authorization server', providers: NONE }
  if (needed === ANY || !providers.complete || providers.has(needed.provider)) return undefined
  return { ...needed, reason: 'no such provider', providers }
}

/**
 * An error for each MCPExternalAuthConfig that a VirtualMCPServer uses although it lacks the provider that the config
 * needs. Skips an MCPExternalAuthConfig if `wanted` returns false.
 */
export function* unservedBy(
  gateway: Gateway,
  path: Path<Gateway>,
  { cluster, self }: { readonly cluster: Cluster; readonly self: ObjectName },
  wanted: (problem: Unserved, config: string) => boolean,
): Iterable<FieldError> {
  let hints = MOST_HINTS
  for (const { reached, problem } of allUnserved(gateway, cluster)) {
    if (!wanted(problem, reached.config)) continue
    const error = errorAt(reached, problem, path, hints-- > 0)
    const users = referenceEnds(reached.members, authConfigNamed(reached.config), cluster, 'uses it')
    const ends = [
      configEnd(reached.config, problem),
      ...(reached.at === undefined ? [] : [gatewayEnd(self, problem)]),
      ...users,
    ]
    yield relatedTo(about(error, 'unserved', reached.config, ...routeOf(reached, gateway)), ends, () => [
      unservedCause(reached.config),
    ])
  }
}

const allUnserved = oncePerCluster((gateway: Gateway, cluster) => {
  const providers = providersOf(gateway.spec, 'authServerConfig')
  return configsReached(gateway, cluster).flatMap((reached) => {
    const needed = reached.auth && neededProvider(reached.auth, cluster.group)
    const problem = needed && unserved(gateway, needed, providers)
    return problem === undefined ? [] : [{ reached, problem }]
  })
})

/** Points to the provider's name in an MCPExternalAuthConfig, or to its `type` if the name is absent or unreadable. */
export const configEnd = (config: string, { field, provider }: Unserved): Related =>
  provider === ''
    ? end(authConfigNamed(config), AUTH_CONFIG.spec.type, 'needs a provider')
    : end(authConfigNamed(config), pathTo(['spec', ...field.split('.')]), `names ${shortQuote(provider)}`)

/** Points to the upstream providers of a VirtualMCPServer, or says that it has no authorization server. */
export function gatewayEnd(gateway: ObjectName, { reason }: Pick<Unserved, 'reason'>): Related {
  const at = GATEWAY.spec.authServerConfig
  return reason === 'no authorization server'
    ? end(gateway, at, 'has no `authServerConfig`')
    : end(gateway, at.upstreamProviders, 'has these providers')
}

/** Identifies, for grouping errors, the cause that VirtualMCPServers lack the provider of an MCPExternalAuthConfig. */
export const unservedCause = (config: string): ErrorSubject => ['unserved', config]

/** The error, at the VirtualMCPServer's reference or, if only backends refer to the config, at `authServerConfig`. */
function errorAt(reached: Reached, problem: Unserved, path: Path<Gateway>, isHinted: boolean): FieldError {
  const { members, at } = reached
  const config = authConfigNamed(reached.config)
  const rests = [config, ...members.slice(0, 1)]
  const { field, provider, reason, written } = problem
  if (at !== undefined) {
    const detail = `${nameText(config)} ${claim(problem)}, and ${lacking(problem, isHinted)}`
    return dependingOn(invalid(pathTo<string>(at()), reached.config, detail), ...rests)
  }
  const users = `used by ${namesText(members)}`
  if (reason === 'no authorization server') {
    const detail = `set an authorization server with the provider, or use another configuration; ${nameText(config)} ${claim(problem)}, ${users}`
    return dependingOn(required(path.spec.authServerConfig, detail), ...rests)
  }
  const detail = written
    ? `calls fail until you set or remove ${field} in ${nameText(config)}, where it was written by default; ${users}`
    : `${nameText(config)} has it as ${field}${nearText(problem, isHinted)}; ${users}`
  return dependingOn(
    notFound(path.spec.authServerConfig.upstreamProviders as Path<unknown>, provider, detail),
    ...rests,
  )
}

/** How an MCPExternalAuthConfig names a provider, for a message: `has upstreamInject.providerName "okta"`. */
const claim = ({ field, provider }: Unserved): string =>
  provider === '' ? 'is of type upstreamInject' : `has ${field} ${shortQuote(provider)}`

/** Says that the VirtualMCPServer lacks the provider or the authorization server, for the end of a sentence. */
function lacking(problem: Unserved, isHinted: boolean): string {
  return problem.reason === 'no authorization server'
    ? 'there is no authServerConfig'
    : `authServerConfig has no such upstream provider${nearText(problem, isHinted)}`
}

function nearText({ provider, providers: { names } }: Unserved, isHinted: boolean): string {
  const near = isHinted ? nearest(provider, names.slice(0, 100)) : undefined
  if (near !== undefined) return `; did you mean ${shortQuote(near)}`
  return names.length === 0 ? '' : `; there is ${names.slice(0, 5).map(shortQuote).join(', ')}`
}

/**
 * Says that a VirtualMCPServer cannot get the token that an MCPExternalAuthConfig needs, for a finding at another
 * object: at a backend that names `config` or, without `config`, at the MCPExternalAuthConfig itself.
 */
export function unservedText(
  gateway: ObjectName,
  problem: Unserved,
  isHinted: boolean,
  config?: string,
): string {
  const { provider, reason, written } = problem
  const own = provider === '' ? 'needs a provider' : `names provider ${shortQuote(provider)}`
  const named = config === undefined ? own : `${nameText(authConfigNamed(config))} ${claim(problem)}`
  const calls = config === undefined ? 'its calls with this configuration' : 'its calls here'
  const [lacks, remedy] =
    reason === 'no authorization server'
      ? [`${nameText(gateway)} has no authServerConfig`, '; add one with the provider there']
      : [`${nameText(gateway)} has no such upstream provider`, nearText(problem, isHinted)]
  return `${named}${written ? ' (written by default)' : ''}, and ${lacks}, so ${calls} fail${remedy}`
}
