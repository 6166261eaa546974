import { type Path, pathTo } from '../rule/index.ts'
import type { Gateway, Workload } from './related-resources.ts'

type OidcReference = NonNullable<NonNullable<Workload['spec']>['oidcConfigRef']>

/** What a resource says about the tokens that it accepts. */
export function oidcReferenceOf(resource: Gateway | Workload, kind: string): OidcReference | undefined {
  if (kind === 'VirtualMCPServer') return (resource as Gateway).spec?.incomingAuth?.oidcConfigRef
  const workload: Workload = resource
  return workload.spec?.oidcConfigRef
}

/** Where a resource of the kind says it. */
export const oidcReferencePath = (kind: string): Path<OidcReference> =>
  pathTo(kind === 'VirtualMCPServer' ? ['spec', 'incomingAuth', 'oidcConfigRef'] : ['spec', 'oidcConfigRef'])
