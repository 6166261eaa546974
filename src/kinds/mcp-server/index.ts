import { AGE, type Kind } from '../kind.ts'
import { AuthzConfig, AuthzConfigRef } from '../newer-parts.ts'
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
  parts: [
    { schema: AuthzConfig, at: ['spec', 'authzConfig'] },
    { schema: AuthzConfigRef, at: ['spec', 'authzConfigRef'] },
  ],
}
