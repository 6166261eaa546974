import { AGE, type Kind } from '../kind.ts'
import { oidcConfigUrlAbsolute } from './rules/oidc-config-url-absolute.ts'
import { oidcConfigUrlHttps } from './rules/oidc-config-url-https.ts'
import { oidcConfigMatchesType } from './rules/oidc-config-matches-type.ts'
import { MCPOIDCConfig } from './schema.ts'
import { authServerIssuersAccepted } from './rules/auth-server-issuers-accepted.ts'
import { oidcConfigChangeMeant } from './rules/oidc-config-change-meant.ts'
import { secretReferenceFound } from '../between/rules/secret-reference-found.ts'
import { deletedResourceUnreferenced } from '../between/rules/deleted-resource-unreferenced.ts'

export const mcpOidcConfig: Kind = {
  kind: 'MCPOIDCConfig',
  plural: 'mcpoidcconfigs',
  shortNames: [],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPOIDCConfig,
  rules: [
    oidcConfigMatchesType,
    oidcConfigUrlAbsolute,
    oidcConfigUrlHttps,
    authServerIssuersAccepted,
    oidcConfigChangeMeant,
    secretReferenceFound,
    deletedResourceUnreferenced,
  ],
  parts: [],
}
