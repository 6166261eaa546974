import { AGE, type Kind } from '../kind.ts'
import { MCPServerEntry } from './schema.ts'
import { referenceFound } from '../between/rules/reference-found.ts'
import { workloadAuthTypeSuited } from '../between/rules/workload-auth-type-suited.ts'
import { workloadCredentialsConfigured } from '../between/rules/workload-credentials-configured.ts'
import { backendAuthServed } from '../between/rules/backend-auth-served.ts'

export const mcpServerEntry: Kind = {
  kind: 'MCPServerEntry',
  plural: 'mcpserverentries',
  shortNames: [],
  printerColumns: [
    { name: 'Group', jsonPath: '.spec.groupRef.name', type: 'string' },
    { name: 'Auth', jsonPath: '.spec.externalAuthConfigRef.name', type: 'string' },
    AGE,
  ],
  schema: MCPServerEntry,
  rules: [referenceFound, workloadAuthTypeSuited, backendAuthServed, workloadCredentialsConfigured],
  parts: [],
}
