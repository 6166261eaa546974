import { AGE, type Kind } from '../kind.ts'
import { AuthzConfig, AuthzConfigRef } from '../newer-parts.ts'
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
  parts: [
    { schema: AuthzConfig, at: ['spec', 'authzConfig'] },
    { schema: AuthzConfigRef, at: ['spec', 'authzConfigRef'] },
  ],
}
