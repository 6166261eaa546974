import { type AuthConfig, groupOf, type Workload } from './related-resources.ts'
import { referencesOf } from './references.ts'
import type { Thing } from '../rule/index.ts'

/** The facts about a workload that decide whether the type of a configuration has an effect on it. */
interface Use {
  readonly kind: string
  /** The fields in which the workload names the configuration. */
  readonly fields: readonly string[]
  /** Whether the workload names a group; `group` is undefined where the name cannot be read. */
  readonly inGroup: boolean
  readonly group: string | undefined
  readonly validatesTokens: boolean
}

/** `authServerRef` and `oidcConfigRef` are fields of releases, which the specification does not name (decision 3). */
export function useOf(kind: string, workload: Workload, config: string): Use {
  const given: Readonly<Record<string, unknown>> = workload.spec ?? {}
  return {
    kind,
    fields: referencesOf(kind, workload, 'MCPExternalAuthConfig')
      .filter(({ to }) => to.name === config)
      .map(({ field }) => field),
    inGroup: Object.hasOwn(given, 'groupRef'),
    group: groupOf(workload),
    validatesTokens: Object.hasOwn(given, 'oidcConfigRef'),
  }
}

type AuthType = NonNullable<NonNullable<AuthConfig['spec']>['type']>
/** Types of releases that the specification does not name (decision 3). */
type NewerType = 'obo' | 'xaa'

/** The contradiction between the type of a configuration and those who use it. */
export const unsuitedCause = (config: string): Thing => ['unsuited type', config]

/** Types that releases of vMCP do not use for backends. */
export const NOT_FOR_BACKENDS: readonly AuthType[] = ['bearerToken', 'embeddedAuthServer']

/** Whether releases of vMCP cannot use the configuration for a backend. */
export function isForNoBackend(config: AuthConfig | undefined): boolean {
  const type = config?.spec?.type
  return type !== undefined && NOT_FOR_BACKENDS.includes(type)
}

/** Whether a configuration names a header that releases of vMCP ignore: the token goes into `Authorization`. */
export function hasIgnoredHeader({ spec }: AuthConfig): boolean {
  const header = spec?.tokenExchange?.externalTokenHeaderName ?? ''
  return spec?.type === 'tokenExchange' && header !== '' && header.toLowerCase() !== 'authorization'
}

const NO_STRATEGY = 'cannot be used for backends by ToolHive releases'

/** By kind and type: why the type has no effect on the workload itself, apart from its use by a VirtualMCPServer. */
const NOT_FOR_WORKLOAD: Readonly<Record<string, Readonly<Partial<Record<AuthType | NewerType, string>>>>> = {
  MCPServer: {
    headerInjection: 'has no effect on an MCPServer outside a group',
    upstreamInject: 'has no effect on an MCPServer outside a group',
    xaa: 'has no effect on an MCPServer outside a group',
    bearerToken: 'has no effect on an MCPServer, which has no remote URL',
    awsSts: 'makes an MCPServer fail, which has no remote URL',
  },
  MCPRemoteProxy: {
    headerInjection: 'has no effect on an MCPRemoteProxy outside a group',
    upstreamInject: 'has no effect on an MCPRemoteProxy outside a group',
    xaa: 'has no effect on an MCPRemoteProxy outside a group',
  },
  MCPServerEntry: {
    bearerToken: NO_STRATEGY,
    embeddedAuthServer: NO_STRATEGY,
  },
}

/** Why releases of vMCP ignore a configuration of a backend; undefined when they use it. */
export function unsuitedForBackends(config: AuthConfig): string | undefined {
  const type = config.spec?.type
  if (type !== undefined && NOT_FOR_BACKENDS.includes(type)) return NO_STRATEGY
  return hasIgnoredHeader(config)
    ? 'sets an `externalTokenHeaderName` that ToolHive releases ignore for backends'
    : undefined
}

/** The types that a VirtualMCPServer uses for a workload that is one of its backends. */
const USED_BY_GATEWAY: ReadonlySet<string> = new Set<AuthType | NewerType>([
  'headerInjection',
  'upstreamInject',
  'xaa',
])

/**
 * Why the type of a configuration does nothing for a workload that names it in the field, or makes it fail; undefined
 * when it works.
 * The specification lets every kind refer to every type (section 1); this is what releases do with it.
 */
export function unsuited(use: Use, field: string, { spec }: AuthConfig): string | undefined {
  const type = spec?.type as AuthType | NewerType | undefined
  if (type === undefined) return undefined
  if (type === 'obo') return 'is refused by open-source builds of the operator (EnterpriseRequired)'
  const { kind, inGroup, validatesTokens } = use
  if (type !== 'embeddedAuthServer' && field === 'authServerRef')
    return `cannot be the authorization server of an ${kind}`
  if (USED_BY_GATEWAY.has(type) && inGroup) return undefined
  if (type === 'embeddedAuthServer' && kind !== 'MCPServerEntry' && !validatesTokens) {
    return `needs an \`oidcConfigRef\` in the ${kind}, which checks its tokens; releases do not reconcile it without`
  }
  return NOT_FOR_WORKLOAD[kind]?.[type]
}

/** The reasons of `unsuited` for all fields in which the workload names the configuration, each reason once. */
export function allUnsuited(use: Use, config: AuthConfig): string[] {
  const reasons: string[] = []
  for (const field of use.fields) {
    const reason = unsuited(use, field, config)
    if (reason !== undefined && !reasons.includes(reason)) reasons.push(reason)
  }
  return reasons
}

/** Whether a configuration has an effect on the workload only when a VirtualMCPServer of the group uses it. */
export const needsGateway = ({ inGroup }: Use, field: string, { spec }: AuthConfig): boolean =>
  inGroup && field !== 'authServerRef' && USED_BY_GATEWAY.has(spec?.type ?? '')

/** `needsGateway` for any field in which the workload names the configuration. */
export const someNeedsGateway = (use: Use, config: AuthConfig): boolean =>
  use.fields.some((field) => needsGateway(use, field, config))

/** The message for a type of `needsGateway` that no VirtualMCPServer uses. */
export const unusedText = ({ kind }: Use): string =>
  `has no effect on an ${kind} where each VirtualMCPServer is inline and lists another configuration for it`
