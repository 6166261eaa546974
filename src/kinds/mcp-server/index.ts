import { WORKLOAD_RULES } from '../between/workload-rules.ts'
import { AGE, type Kind } from '../kind.ts'
import { MCPServer } from './schema.ts'

export const mcpServer: Kind = {
  kind: 'MCPServer',
  plural: 'mcpservers',
  shortNames: [],
  printerColumns: [
    { name: 'Group', jsonPath: '.spec.groupRef.name', type: 'string' },
    { name: 'Auth', jsonPath: '.spec.externalAuthConfigRef.name', type: 'string' },
    AGE,
  ],
  schema: MCPServer,
  rules: WORKLOAD_RULES,
  parts: [],
}
