import { WORKLOAD_RULES } from '../between/workload-rules.ts'
import { AGE, type Kind } from '../kind.ts'
import { MCPRemoteProxy } from './schema.ts'

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
  rules: WORKLOAD_RULES,
  parts: [],
}
