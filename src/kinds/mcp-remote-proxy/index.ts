import { AGE, type Kind } from '../kind.ts'
import { MCPRemoteProxy } from './schema.ts'
import { referenceFound } from '../between/rules/reference-found.ts'
import { workloadAuthServerSingleProvider } from '../between/rules/workload-auth-server-single-provider.ts'
import { workloadAuthTypeSuited } from '../between/rules/workload-auth-type-suited.ts'
import { workloadCredentialsConfigured } from '../between/rules/workload-credentials-configured.ts'
import { backendAuthServed } from '../between/rules/backend-auth-served.ts'

export const mcpRemoteProxy: Kind = {
  kind: 'MCPRemoteProxy',
  plural: 'mcpremoteproxies',
  shortNames: [],
  printerColumns: [
    { name: 'Group', jsonPath: '.spec.groupRef.name', type: 'string' },
    { name: 'Auth', jsonPath: '.spec.externalAuthConfigRef.name', type: 'string' },
    AGE,
  ],
  schema: MCPRemoteProxy,
  rules: [
    referenceFound,
    workloadAuthServerSingleProvider,
    workloadAuthTypeSuited,
    backendAuthServed,
    workloadCredentialsConfigured,
  ],
  parts: [],
}
