import { type AuthConfig, groupOf, type Workload } from './related-resources.ts'
import { referencesOf } from './references.ts'
import type { ErrorSubject } from '../rule/index.ts'

/** Facts about a workload that determine whether an MCPExternalAuthConfig has an effect on it. */
interface Use {
  readonly kind: string
  /** The fields in which the workload names the MCPExternalAuthConfig. */
  readonly fields: readonly string[]
  /** Whether the workload has a `groupRef`; `group` is undefined when the name in it is unreadable. */
  readonly inGroup: boolean
  readonly group: string | undefined
  readonly validatesTokens: boolean
}

/**
 * The facts about a workload that names the MCPExternalAuthConfig `config`. Workloads have `authServerRef` and
 * `oidcConfigRef` in operator releases, not in the specification (decision 3).
 */
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
/** Strategy types that operator releases have, but not the specification (decision 3). */
type NewerType = 'obo' | 'xaa'

/**
 * Identifies the cause that the type of an MCPExternalAuthConfig has no effect for an object that uses it, so that
 * findings with this cause are grouped.
 */
export const unsuitedCause = (config: string): ErrorSubject => ['unsuited type', config]

/** Strategy types that no release of vMCP uses for backends. */
export const NOT_FOR_BACKENDS: readonly AuthType[] = ['bearerToken', 'embeddedAuthServer']

/** Whether no release of vMCP uses the MCPExternalAuthConfig for a backend. */
export function isForNoBackend(config: AuthConfig | undefined): boolean {
  const type = config?.spec?.type
  return type !== undefined && NOT_FOR_BACKENDS.includes(type)
}

/** Whether the MCPExternalAuthConfig sets a token header other than `Authorization`; vMCP ignores such a header. */
export function hasIgnoredHeader({ spec }: AuthConfig): boolean {
  const header = spec?.tokenExchange?.externalTokenHeaderName ?? ''
  return spec?.type === 'tokenExchange' && header !== '' && header.toLowerCase() !== 'authorization'
}

const NO_STRATEGY =
  'cannot be used for backends by ToolHive releases, so vMCP leaves out a backend that relies on it'

/**
 * By kind and strategy type: why the type does not work for a workload. A type in USED_BY_GATEWAY works if the
 * workload is in a group.
 */
const NOT_FOR_WORKLOAD: Readonly<Record<string, Readonly<Partial<Record<AuthType | NewerType, string>>>>> = {
  MCPServer: {
    headerInjection: 'has no effect on an MCPServer without `groupRef`',
    upstreamInject: 'has no effect on an MCPServer without `groupRef`',
    xaa: 'has no effect on an MCPServer without `groupRef`',
    bearerToken: 'has no effect on an MCPServer, which has no remote URL',
    awsSts: 'stops the operator from reconciling an MCPServer, which has no remote URL',
  },
  MCPRemoteProxy: {
    headerInjection: 'has no effect on an MCPRemoteProxy without `groupRef`',
    upstreamInject: 'has no effect on an MCPRemoteProxy without `groupRef`',
    xaa: 'has no effect on an MCPRemoteProxy without `groupRef`',
  },
  MCPServerEntry: {
    bearerToken: NO_STRATEGY,
    embeddedAuthServer: NO_STRATEGY,
  },
}

/**
 * Why releases of vMCP ignore this MCPExternalAuthConfig, or its header, for a backend; undefined when they ignore
 * nothing.
 */
export function unsuitedForBackends(config: AuthConfig): string | undefined {
  const type = config.spec?.type
  if (type !== undefined && NOT_FOR_BACKENDS.includes(type)) return NO_STRATEGY
  return hasIgnoredHeader(config)
    ? 'sets an `externalTokenHeaderName` that ToolHive releases ignore for backends'
    : undefined
}

/** The strategy types that only a VirtualMCPServer applies to its backends; the proxy of a workload does not. */
const USED_BY_GATEWAY: ReadonlySet<string> = new Set<AuthType | NewerType>([
  'headerInjection',
  'upstreamInject',
  'xaa',
])

/**
 * Why an MCPExternalAuthConfig has no effect on a workload that names it in `field`, or makes the workload fail;
 * undefined when it works. Based on operator releases: the specification lets each kind refer to each type
 * (specification 1).
 */
export function unsuited(use: Use, field: string, { spec }: AuthConfig): string | undefined {
  const type = spec?.type as AuthType | NewerType | undefined
  if (type === undefined) return undefined
  if (type === 'obo') return 'is refused by open-source builds of the operator (EnterpriseRequired)'
  const { kind, inGroup, validatesTokens } = use
  if (type !== 'embeddedAuthServer' && field === 'authServerRef')
    return `cannot be the authorization server of an ${kind}, which is then not reconciled`
  if (USED_BY_GATEWAY.has(type) && inGroup) return undefined
  if (type === 'embeddedAuthServer' && kind !== 'MCPServerEntry' && !validatesTokens) {
    return `needs an \`oidcConfigRef\` in the ${kind}, which checks its tokens; releases do not reconcile the workload without one`
  }
  return NOT_FOR_WORKLOAD[kind]?.[type]
}

/** The reasons why the MCPExternalAuthConfig does not suit the workload in the fields that name it; no repeats. */
export function allUnsuited(use: Use, config: AuthConfig): string[] {
  const reasons: string[] = []
  for (const field of use.fields) {
    const reason = unsuited(use, field, config)
    if (reason !== undefined && !reasons.includes(reason)) reasons.push(reason)
  }
  return reasons
}

/** Whether an MCPExternalAuthConfig that a workload names in `field` has an effect only through a VirtualMCPServer. */
export const needsGateway = ({ inGroup }: Use, field: string, { spec }: AuthConfig): boolean =>
  inGroup && field !== 'authServerRef' && USED_BY_GATEWAY.has(spec?.type ?? '')

/** Whether a field of the workload names an MCPExternalAuthConfig that has an effect only by a VirtualMCPServer. */
export const someNeedsGateway = (use: Use, config: AuthConfig): boolean =>
  use.fields.some((field) => needsGateway(use, field, config))

/** The end of a message: no VirtualMCPServer uses an MCPExternalAuthConfig that only a VirtualMCPServer can use. */
export const unusedText = ({ kind }: Use): string =>
  `has no effect on an ${kind} for which each VirtualMCPServer (source inline) lists another configuration`
