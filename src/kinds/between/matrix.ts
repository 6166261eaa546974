import { isAbsent } from '../../rule/resource.ts'
import type { AuthConfig, Workload } from './neighbours.ts'
import type { Reference } from './references.ts'

type AuthType = NonNullable<NonNullable<AuthConfig['spec']>['type']>

/** Types that releases of vMCP do not use for backends. */
export const NOT_FOR_BACKENDS: readonly AuthType[] = ['bearerToken', 'embeddedAuthServer']

/** Of a workload itself, beside what vMCP makes of its reference: what a type does not do. */
const NOT_FOR_WORKLOAD: Readonly<Record<string, Readonly<Partial<Record<AuthType, string>>>>> = {
  MCPServer: {
    headerInjection: 'has no effect on an MCPServer outside a group',
    upstreamInject: 'has no effect on an MCPServer outside a group',
    bearerToken: 'has no effect on an MCPServer, which has no remote URL',
    awsSts: 'makes an MCPServer fail, which has no remote URL',
  },
  MCPRemoteProxy: {
    headerInjection: 'has no effect on an MCPRemoteProxy outside a group',
    upstreamInject: 'has no effect on an MCPRemoteProxy outside a group',
  },
  MCPServerEntry: {
    bearerToken: 'cannot be used for backends by ToolHive releases',
    embeddedAuthServer: 'cannot be used for backends by ToolHive releases',
  },
}

/** What vMCP uses by itself when the workload is one of its backends. */
const USED_BY_GATEWAY: ReadonlySet<string> = new Set<AuthType>(['headerInjection', 'upstreamInject'])

/**
 * Why the type of a configuration does nothing for a workload of the kind that refers to it, or makes it fail; undefined
 * when it works.
 * The specification lets every kind refer to every type (section 1); this is what releases do with it.
 */
export function unsuited(
  kind: string,
  workload: Workload,
  config: AuthConfig,
  { at }: Reference,
): string | undefined {
  const type = config.spec?.type
  if (type === undefined) return undefined
  if (type !== 'embeddedAuthServer' && at()[1] === 'authServerRef')
    return `cannot be the authorization server of an ${kind}`
  if (USED_BY_GATEWAY.has(type) && inGroup(workload)) return undefined
  if (type === 'embeddedAuthServer' && kind !== 'MCPServerEntry' && !validatesTokens(workload)) {
    return `issues tokens that an ${kind} checks only with an \`oidcConfigRef\``
  }
  return NOT_FOR_WORKLOAD[kind]?.[type]
}

const inGroup = ({ spec }: Workload): boolean => spec !== undefined && !isAbsent(spec, 'groupRef')

/** `oidcConfigRef` of a workload is a field of releases, which the specification does not name. */
const validatesTokens = ({ spec }: Workload): boolean => Object.hasOwn(spec ?? {}, 'oidcConfigRef')
