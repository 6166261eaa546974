import type { Static } from 'typebox'
import {
  type Cluster,
  type Given,
  isAbsent,
  isBeingDeleted,
  isObject,
  type ObjectName,
  oncePerCluster,
} from '../rule/index.ts'
import { grantsWithoutLogin } from '../kinds/embedded-auth-server/effective.ts'
import type { MCPExternalAuthConfig, MCPOIDCConfig, MCPServer, VirtualMCPServer } from '../kinds/schemas.ts'
import { nameIn } from './references.ts'

/** An MCPExternalAuthConfig, as rules read it through `context.cluster`. */
export type AuthConfig = Given<Static<typeof MCPExternalAuthConfig>>
export type OidcConfig = Given<Static<typeof MCPOIDCConfig>>
export type Gateway = Given<Static<typeof VirtualMCPServer>>
/** A workload: MCPServer, MCPRemoteProxy and MCPServerEntry share one schema. */
export type Workload = Given<Static<typeof MCPServer>>

/** The kinds that a backend of a group can have. Specification 1; decision 10. */
export const BACKEND_KINDS: readonly string[] = ['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry']

/** The kinds whose authorization server can have only one upstream provider. Specification 2.4.3. */
export const SINGLE_PROVIDER_KINDS: readonly string[] = ['MCPServer', 'MCPRemoteProxy']

export const authConfigNamed = (name: string): ObjectName => ({ kind: 'MCPExternalAuthConfig', name })
export const oidcConfigNamed = (name: string): ObjectName => ({ kind: 'MCPOIDCConfig', name })

/** The MCPExternalAuthConfig with this name; undefined when `cluster` does not contain it. */
export const getAuthConfig = (cluster: Cluster, name: string) =>
  cluster.get('MCPExternalAuthConfig', name) as AuthConfig | undefined
/** The MCPOIDCConfig with this name; undefined when `cluster` does not contain it. */
export const getOidcConfig = (cluster: Cluster, name: string) =>
  cluster.get('MCPOIDCConfig', name) as OidcConfig | undefined
/** The VirtualMCPServer with this name; undefined when `cluster` does not contain it. */
export const getGateway = (cluster: Cluster, name: string) =>
  cluster.get('VirtualMCPServer', name) as Gateway | undefined
/** The workload with this kind and name; undefined when `cluster` does not contain it. */
export const getWorkload = (cluster: Cluster, { kind, name }: ObjectName) =>
  cluster.get(kind, name) as Workload | undefined

/** Whether a workload refuses callers without a token; never for an MCPServerEntry, which has no proxy. */
export const checksTokens = (kind: string, { spec }: Workload): boolean =>
  kind !== 'MCPServerEntry' && spec !== undefined && !isAbsent(spec, 'oidcConfigRef')

/** The backends of a group: the workloads that name it, whether or not the MCPGroup exists (decision 10). */
export const membersOf = (cluster: Cluster, group: string): readonly ObjectName[] => members(group, cluster)

const members = oncePerCluster((group: string, cluster) =>
  cluster.referrers('MCPGroup', group, BACKEND_KINDS),
)

/** The backends with this name in a group: at most one of each kind, and none that is being deleted. */
export const membersNamed = (cluster: Cluster, group: string, name: string): readonly ObjectName[] =>
  BACKEND_KINDS.map((kind) => ({ kind, name })).filter((named) => {
    const workload = getWorkload(cluster, named)
    return workload !== undefined && !isBeingDeleted(workload) && groupOf(workload) === group
  })

/** The name of the group of a workload or VirtualMCPServer; for older releases `groupRef` is a text (decision 5). */
export function groupOf(resource: Workload | Gateway): string | undefined {
  const ref = resource.spec?.groupRef
  const name = typeof ref === 'string' ? ref : ref?.name
  return name === '' ? undefined : name
}

/** The group in `spec.config.groupRef`, the field of older releases. */
export function olderGroupOf({ spec }: Gateway): string | undefined {
  const { config } = (spec ?? {}) as { readonly config?: unknown }
  const ref = isObject(config) ? config.groupRef : undefined
  const name = nameIn(ref, 'MCPGroup')
  return typeof name === 'string' && name !== '' ? name : undefined
}

/** Whether a VirtualMCPServer has source `inline`, but neither an entry in `backends` nor a `default`. */
export function hasNoStrategy({ spec }: Gateway): boolean {
  const outgoingAuth = spec?.outgoingAuth
  if (outgoingAuth?.source !== 'inline' || !isAbsent(outgoingAuth, 'default')) return false
  const { backends } = outgoingAuth
  return backends === undefined ? isAbsent(outgoingAuth, 'backends') : Object.keys(backends).length === 0
}

/** Whether a workload itself adds a header from a Secret to each request; an MCPServer cannot. */
export function addsHeaderFromSecret({ spec }: Workload): boolean {
  const { headerForward } = (spec ?? {}) as { readonly headerForward?: unknown }
  const headers = isObject(headerForward) ? headerForward.addHeadersFromSecret : undefined
  return Array.isArray(headers) && headers.length > 0
}

/** The names of the upstream providers of an authorization server, in order. */
export interface Providers {
  readonly names: readonly string[]
  /**
   * Whether `names` is complete: false when a name is unreadable, and when the list is absent although nobody gets a
   * token without a login at a provider.
   */
  readonly complete: boolean
  has(name: string): boolean
}

type AuthServer = NonNullable<NonNullable<Gateway['spec']>['authServerConfig']>

/** The upstream providers of the authorization server in this field of the spec; undefined when the field is absent. */
export function providersOf<F extends string>(
  spec: Readonly<Partial<Record<F, AuthServer | undefined>>> | undefined,
  field: F,
): Providers | undefined {
  if (spec === undefined) return { names: [], complete: false, has: () => false }
  if (isAbsent(spec, field)) return undefined
  const server: AuthServer | undefined = spec[field]
  const given = server?.upstreamProviders
  const names = (given ?? [])
    .map((provider) => provider?.name)
    .filter((name): name is string => name !== undefined && name !== '')
  const isLeftOut =
    server !== undefined && isAbsent(server, 'upstreamProviders') && grantsWithoutLogin(server, false)
  const complete = isLeftOut || given?.length === names.length
  let known: ReadonlySet<string> | undefined
  return { names, complete, has: (name) => (known ??= new Set(names)).has(name) }
}

const WRITTEN = '/subject-provider-written'

/** The annotation in which /mutate records the provider that it wrote, in the given API group (decision 25). */
export const writtenAnnotation = (group: string): string => group + WRITTEN

/** The value that /mutate wrote into subjectProviderName; undefined when it wrote none (decision 25). */
export function writtenProvider({ metadata }: AuthConfig, group: string): string | undefined {
  const annotations = isObject(metadata?.annotations) ? metadata.annotations : {}
  const written = annotations[writtenAnnotation(group)]
  return typeof written === 'string' ? written : undefined
}

/** The upstream provider whose token an MCPExternalAuthConfig uses, and the field that names it. */
export interface NamedProvider {
  readonly field: 'upstreamInject.providerName' | `${'tokenExchange' | 'xaa' | 'awsSts'}.subjectProviderName`
  readonly provider: string
  /** Whether an earlier /mutate wrote the value, rather than the user. */
  readonly written: boolean
}

/** The provider that an MCPExternalAuthConfig names; undefined when it names none. Specification 2.4.5, 2.4.6. */
export function namedProvider(config: AuthConfig, group: string): NamedProvider | undefined {
  const { type, upstreamInject, tokenExchange } = config.spec ?? {}
  const injected = upstreamInject?.providerName ?? ''
  if (type === 'upstreamInject' && injected !== '')
    return { field: 'upstreamInject.providerName', provider: injected, written: false }
  const subject = tokenExchange?.subjectProviderName
  if (type !== 'tokenExchange' || subject === undefined || subject === '') return undefined
  const written = writtenProvider(config, group) === subject
  return { field: 'tokenExchange.subjectProviderName', provider: subject, written }
}

/** The `subjectProviderName` of an MCPExternalAuthConfig of type xaa or awsSts, a field of newer releases. */
export function newerSubjectProvider({ spec }: AuthConfig): NamedProvider | undefined {
  const type: string | undefined = spec?.type
  if (type !== 'xaa' && type !== 'awsSts') return undefined
  const provider = spec?.[type]?.subjectProviderName ?? ''
  return provider === '' ? undefined : { field: `${type}.subjectProviderName`, provider, written: false }
}

/**
 * Whether /mutate chooses the subject provider of a token exchange: `subjectProviderName` is absent, empty or written
 * by an earlier /mutate. Specification 2.4.5.
 */
export function leavesSubjectProvider(config: AuthConfig, group: string): boolean {
  const { type, tokenExchange } = config.spec ?? {}
  if (type !== 'tokenExchange' || tokenExchange === undefined) return false
  if (isAbsent(tokenExchange, 'subjectProviderName')) return true
  const { subjectProviderName } = tokenExchange
  return (
    subjectProviderName === '' ||
    (subjectProviderName !== undefined && writtenProvider(config, group) === subjectProviderName)
  )
}
