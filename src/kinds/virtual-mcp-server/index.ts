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
import { authServerTokensAccepted } from './rules/auth-server-tokens-accepted.ts'
import { upstreamInjectHasAuthServer } from './rules/upstream-inject-has-auth-server.ts'
import { upstreamInjectProviderExists } from './rules/upstream-inject-provider-exists.ts'
import { subjectProviderExists } from './rules/subject-provider-exists.ts'
import { writtenSubjectProviderExists } from './rules/written-subject-provider-exists.ts'
import { subjectProviderAgreedByGateways } from './rules/subject-provider-agreed-by-gateways.ts'
import { subjectProviderChosen } from './rules/subject-provider-chosen.ts'
import { groupHasBackends } from './rules/group-has-backends.ts'
import { outgoingAuthBackendIsMember } from './rules/outgoing-auth-backend-is-member.ts'
import { backendCredentialsConfigured } from './rules/backend-credentials-configured.ts'
import { backendAuthTypeSupported } from './rules/backend-auth-type-supported.ts'
import { incomingJwksPrivateIpNeeded } from './rules/incoming-jwks-private-ip-needed.ts'
import { referenceFound } from '../between/rules/reference-found.ts'
import { secretReferenceFound } from '../between/rules/secret-reference-found.ts'

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
    authServerTokensAccepted,
    upstreamInjectHasAuthServer,
    upstreamInjectProviderExists,
    subjectProviderExists,
    writtenSubjectProviderExists,
    subjectProviderAgreedByGateways,
    subjectProviderChosen,
    groupHasBackends,
    outgoingAuthBackendIsMember,
    backendCredentialsConfigured,
    backendAuthTypeSupported,
    incomingJwksPrivateIpNeeded,
    referenceFound,
    secretReferenceFound,
  ],
  parts: [{ part: embeddedAuthServer, at: ['spec', 'authServerConfig'] }],
}
