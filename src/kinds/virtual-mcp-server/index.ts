import { embeddedAuthServer } from '../embedded-auth-server/index.ts'
import { AGE, type Kind } from '../kind.ts'
import { authServerIncomingAuthOidc } from './rules/auth-server-incoming-auth-oidc.ts'
import { groupRefConfigured } from './rules/group-ref-configured.ts'
import { incomingAuthAudienceConfigured } from './rules/incoming-auth-audience-configured.ts'
import { incomingAuthAuthenticates } from './rules/incoming-auth-authenticates.ts'
import { incomingAuthConfigured } from './rules/incoming-auth-configured.ts'
import { incomingAuthInlineOidcChecked } from './rules/incoming-auth-inline-oidc-checked.ts'
import { incomingAuthOidcConfigRefConfigured } from './rules/incoming-auth-oidc-config-ref-configured.ts'
import { incomingAuthOidcConfigRefUsed } from './rules/incoming-auth-oidc-config-ref-used.ts'
import { outgoingAuthBackendRefConfigured } from './rules/outgoing-auth-backend-ref-configured.ts'
import { outgoingAuthDefaultRefConfigured } from './rules/outgoing-auth-default-ref-configured.ts'
import { outgoingAuthInlineConfigured } from './rules/outgoing-auth-inline-configured.ts'
import { outgoingAuthInlineUsed } from './rules/outgoing-auth-inline-used.ts'
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
  rules: [
    incomingAuthOidcConfigRefConfigured,
    incomingAuthAudienceConfigured,
    outgoingAuthBackendRefConfigured,
    incomingAuthConfigured,
    groupRefConfigured,
    incomingAuthAuthenticates,
    incomingAuthOidcConfigRefUsed,
    incomingAuthInlineOidcChecked,
    outgoingAuthInlineUsed,
    outgoingAuthInlineConfigured,
    outgoingAuthDefaultRefConfigured,
    authServerIncomingAuthOidc,
  ],
  parts: [{ part: embeddedAuthServer, at: ['spec', 'authServerConfig'] }],
}
