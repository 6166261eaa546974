import { embeddedAuthServer } from '../embedded-auth-server/index.ts'
import { AGE, type Kind } from '../kind.ts'
import { awsStsRoleConfigured } from './rules/aws-sts-role-configured.ts'
import { externalAuthConfigMatchesType } from './rules/external-auth-config-matches-type.ts'
import { externalAuthTypeAuthenticates } from './rules/external-auth-type-authenticates.ts'
import { headerInjectionNameIsToken } from './rules/header-injection-name-is-token.ts'
import { roleMappingClaimOrMatcher } from './rules/role-mapping-claim-or-matcher.ts'
import { roleMappingHasCondition } from './rules/role-mapping-has-condition.ts'
import { roleMappingMatcherCompiles } from './rules/role-mapping-matcher-compiles.ts'
import { roleMappingMatcherCompilesInNewerReleases } from './rules/role-mapping-matcher-compiles-in-newer-releases.ts'
import { roleMappingMatcherCompilesInOlderReleases } from './rules/role-mapping-matcher-compiles-in-older-releases.ts'
import { roleMappingMatcherTypeKnown } from './rules/role-mapping-matcher-type-known.ts'
import { roleMappingMatchersFit } from './rules/role-mapping-matchers-fit.ts'
import { roleMappingReachable } from './rules/role-mapping-reachable.ts'
import { tokenExchangeUrlAbsolute } from './rules/token-exchange-url-absolute.ts'
import { tokenExchangeUrlHttps } from './rules/token-exchange-url-https.ts'
import { MCPExternalAuthConfig } from './schema.ts'
import { upstreamProviderSingleForWorkloads } from './rules/upstream-provider-single-for-workloads.ts'
import { authConfigServed } from './rules/auth-config-served.ts'
import { authConfigTypeSuitsConsumers } from './rules/auth-config-type-suits-consumers.ts'
import { authConfigChangeMeant } from './rules/auth-config-change-meant.ts'
import { subjectProviderAgreed } from './rules/subject-provider-agreed.ts'
import { secretReferenceFound } from '../between/rules/secret-reference-found.ts'
import { deletedResourceUnreferenced } from '../between/rules/deleted-resource-unreferenced.ts'

export const mcpExternalAuthConfig: Kind = {
  kind: 'MCPExternalAuthConfig',
  plural: 'mcpexternalauthconfigs',
  shortNames: ['extauth', 'mcpextauth'],
  printerColumns: [{ name: 'Type', jsonPath: '.spec.type', type: 'string' }, AGE],
  schema: MCPExternalAuthConfig,
  rules: [
    externalAuthConfigMatchesType,
    awsStsRoleConfigured,
    roleMappingClaimOrMatcher,
    roleMappingMatcherCompiles,
    roleMappingMatchersFit,
    roleMappingHasCondition,
    roleMappingMatcherCompilesInNewerReleases,
    roleMappingMatcherCompilesInOlderReleases,
    roleMappingMatcherTypeKnown,
    roleMappingReachable,
    externalAuthTypeAuthenticates,
    tokenExchangeUrlHttps,
    tokenExchangeUrlAbsolute,
    headerInjectionNameIsToken,
    upstreamProviderSingleForWorkloads,
    authConfigServed,
    authConfigTypeSuitsConsumers,
    authConfigChangeMeant,
    subjectProviderAgreed,
    secretReferenceFound,
    deletedResourceUnreferenced,
  ],
  parts: [{ part: embeddedAuthServer, at: ['spec', 'embeddedAuthServer'] }],
}
