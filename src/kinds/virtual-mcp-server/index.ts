import { EmbeddedAuthServer } from '../embedded-auth-server/schema.ts'
import { AGE, type Kind } from '../kind.ts'
import { AuthzConfig, AuthzConfigRef } from '../newer-parts.ts'
import { VirtualMCPServer } from './schema.ts'

export const virtualMcpServer: Kind = {
  kind: 'VirtualMCPServer',
  plural: 'virtualmcpservers',
  shortNames: [],
  printerColumns: [
    { name: 'Group', jsonPath: '.spec.groupRef.name', type: 'string' },
    { name: 'Incoming', jsonPath: '.spec.incomingAuth.type', type: 'string' },
    AGE,
  ],
  schema: VirtualMCPServer,
  parts: [
    { schema: EmbeddedAuthServer, at: ['spec', 'authServerConfig'] },
    { schema: AuthzConfig, at: ['spec', 'incomingAuth', 'authzConfig'] },
    { schema: AuthzConfigRef, at: ['spec', 'incomingAuth', 'authzConfigRef'] },
  ],
}
