import { type Path, pathTo } from '../rule/index.ts'
import type { Gateway, Workload } from './related-resources.ts'

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
