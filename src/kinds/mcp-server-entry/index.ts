import { AGE, type Kind } from '../kind.ts'
import { MCPServerEntry } from './schema.ts'

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
  parts: [],
}
