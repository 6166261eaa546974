import { embeddedAuthServer } from '../embedded-auth-server/index.ts'
import { AGE, type Kind } from '../kind.ts'
import { roleMappingClaimOrMatcher } from './rules/role-mapping-claim-or-matcher.ts'
import { MCPExternalAuthConfig } from './schema.ts'

export const mcpExternalAuthConfig: Kind = {
  kind: 'MCPExternalAuthConfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPExternalAuthConfig,
  rules: [roleMappingClaimOrMatcher],
  parts: [{ part: embeddedAuthServer, at: ['spec', 'embeddedAuthServer'] }],
}
