import { EmbeddedAuthServer } from '../embedded-auth-server/schema.ts'
import { AGE, type Kind } from '../kind.ts'
import { MCPExternalAuthConfig } from './schema.ts'

export const mcpExternalAuthConfig: Kind = {
  kind: 'MCPExternalAuthConfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPExternalAuthConfig,
  parts: [{ schema: EmbeddedAuthServer, at: ['spec', 'embeddedAuthServer'] }],
}
