import { AGE, type Kind } from '../kind.ts'
import { oidcConfigIssuerAbsolute } from './rules/oidc-config-issuer-absolute.ts'
import { oidcConfigMatchesType } from './rules/oidc-config-matches-type.ts'
import { MCPOIDCConfig } from './schema.ts'

export const mcpOidcConfig: Kind = {
  kind: 'MCPOIDCConfig',
  plural: 'mcpoidcconfigs',
  shortNames: [],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPOIDCConfig,
  rules: [oidcConfigMatchesType, oidcConfigIssuerAbsolute],
  parts: [],
}
