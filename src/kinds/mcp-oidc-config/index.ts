import { AGE, type Kind } from '../kind.ts'
import { MCPOIDCConfig } from './schema.ts'

export const mcpOidcConfig: Kind = {
  kind: 'MCPOIDCConfig',
  plural: 'mcpoidcconfigs',
  shortNames: [],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPOIDCConfig,
  parts: [],
}
