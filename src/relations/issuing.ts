import { type Cluster, end, type ObjectName, type Related } from '../rule/index.ts'
import { advertisedScopes } from '../kinds/embedded-auth-server/advertised-scopes.ts'
import { type Issuing, issuingOf } from '../kinds/virtual-mcp-server/issued-tokens.ts'
import { AUTH_CONFIG, GATEWAY } from './ends.ts'
import { oidcReferenceOf, oidcReferencePath } from './oidc-reference.ts'
import { type Gateway, getAuthConfig, type Workload } from './related-resources.ts'
import { authServersOf, heldServersOf } from './workload-auth-server.ts'

/** An embedded authorization server, and the path `at` of the OIDC reference that has the audience of its tokens. */
export interface IssuingServer extends Issuing {
  /** The MCPExternalAuthConfig with this authorization server; undefined for one inside a VirtualMCPServer. */
  readonly to: ObjectName | undefined
  readonly at: ReturnType<typeof oidcReferencePath>
}

/** The embedded authorization server in a VirtualMCPServer, or the servers that a workload references. */
export function issuingBeside(
  resource: Gateway | Workload,
  { kind }: ObjectName,
  cluster: Cluster,
): readonly IssuingServer[] {
  if (kind === 'VirtualMCPServer') {
    const own = issuingOf((resource as Gateway).spec)
    return own === undefined ? [] : [{ ...own, to: undefined, at: oidcReferencePath(kind) }]
  }
  const workload: Workload = resource
  const reference = oidcReferenceOf(workload, kind)
  if (reference === undefined) return []
  return authServersOf(kind, workload, cluster).map(({ server, to }) => ({
    server,
    to,
    ...issuedBy(reference),
    at: oidcReferencePath(kind),
  }))
}

const issuedBy = (reference: NonNullable<ReturnType<typeof oidcReferenceOf>>): Omit<Issuing, 'server'> => ({
  scopes: advertisedScopes(reference),
  resourceUrl: reference.resourceUrl === '' ? undefined : reference.resourceUrl,
})

/** The authorization server in the judged MCPExternalAuthConfig, with what a workload, `holder`, makes of it. */
export interface HeldIssuing extends Issuing {
  readonly holder: ObjectName
}

/** The authorization server in the judged MCPExternalAuthConfig, once for each workload that names it. */
export const issuingHere = (resource: object, self: ObjectName, cluster: Cluster): readonly HeldIssuing[] =>
  heldServersOf(resource, self, cluster).flatMap(({ server, holder, workload }) => {
    const reference = oidcReferenceOf(workload, holder.kind)
    return reference === undefined ? [] : [{ server, holder, ...issuedBy(reference) }]
  })

/**
 * Whether a resource has an embedded authorization server, or refers to an object that may contain one but is
 * unreadable or not found.
 */
export function mayIssue(resource: Gateway | Workload, { kind }: ObjectName, cluster: Cluster): boolean {
  if (resource.spec === undefined) return true
  if (kind === 'VirtualMCPServer') return Object.hasOwn(resource.spec, 'authServerConfig')
  const { spec = {} }: Workload = resource
  if (Object.hasOwn(spec, 'authServerRef')) return true
  if (!Object.hasOwn(spec, 'externalAuthConfigRef')) return false
  const name = spec.externalAuthConfigRef?.name
  const type = name === undefined ? undefined : getAuthConfig(cluster, name)?.spec?.type
  return type === undefined || type === 'embeddedAuthServer'
}

/** Points to the embedded authorization server, for the field `related` of an error; `text` is a phrase about it. */
export function serverEnd({ to }: IssuingServer, self: ObjectName, text: string): Related {
  const at = to === undefined ? GATEWAY.spec.authServerConfig : AUTH_CONFIG.spec.embeddedAuthServer
  return end(to ?? self, at, text)
}
