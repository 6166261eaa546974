import { type Cluster, isAbsent, type ObjectName, type Path, pathTo } from '../rule/index.ts'
import {
  type Gateway,
  getGateway,
  getOidcConfig,
  type OidcConfig,
  oidcConfigNamed,
  type Workload,
} from './related-resources.ts'

type OidcReference = NonNullable<NonNullable<Workload['spec']>['oidcConfigRef']>

/** A resource's reference to an MCPOIDCConfig, which determines the tokens that the resource accepts. */
export function oidcReferenceOf(resource: Gateway | Workload, kind: string): OidcReference | undefined {
  if (kind === 'VirtualMCPServer') return (resource as Gateway).spec?.incomingAuth?.oidcConfigRef
  const workload: Workload = resource
  return workload.spec?.oidcConfigRef
}

/** The path of `oidcConfigRef` in a resource of the kind. */
export const oidcReferencePath = (kind: string): Path<OidcReference> =>
  pathTo(kind === 'VirtualMCPServer' ? ['spec', 'incomingAuth', 'oidcConfigRef'] : ['spec', 'oidcConfigRef'])

/** An MCPOIDCConfig, and a VirtualMCPServer that validates tokens of others with it, because it issues none itself. */
export interface Validation {
  readonly config: OidcConfig
  readonly named: ObjectName
  readonly gateway: ObjectName
}

/** The validation in which a VirtualMCPServer or an MCPOIDCConfig takes part; of several, the first by name. */
export function validationOf(
  resource: Gateway | OidcConfig,
  self: ObjectName,
  cluster: Cluster,
): Validation | undefined {
  if (self.kind === 'VirtualMCPServer') {
    const name = validatesWith(resource as Gateway)
    const config = name === undefined ? undefined : getOidcConfig(cluster, name)
    return name === undefined || config === undefined
      ? undefined
      : { config, named: oidcConfigNamed(name), gateway: self }
  }
  const gateway = cluster
    .referrers(self.kind, self.name, ['VirtualMCPServer'])
    .find(({ name }) => validatesWith(getGateway(cluster, name) ?? {}) !== undefined)
  return gateway && { config: resource as OidcConfig, named: self, gateway }
}

/** The name of the MCPOIDCConfig with which a VirtualMCPServer validates tokens; undefined for one that issues them. */
export function validatesWith({ spec }: Gateway): string | undefined {
  const { type, oidcConfigRef } = spec?.incomingAuth ?? {}
  return spec !== undefined && type === 'oidc' && isAbsent(spec, 'authServerConfig')
    ? oidcConfigRef?.name
    : undefined
}
