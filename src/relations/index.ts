export {
  authorizationOf,
  type Authorization,
  chosenProvider,
  claimsText,
  grouplessProvider,
  opaqueIssuer,
  providerOfClaims,
} from './authorization.ts'
export {
  type AwsSts,
  awsStsOf,
  consequenceOf,
  type Foreign,
  foreignMappings,
  foreignRolesCause,
  foreignSessionCause,
  foundBehind,
  type Front,
  frontOfGateway,
  type Fronts,
  frontsOf,
  issuingEnd,
  mayHaveClaim,
  opaqueCause,
  opaqueSubject,
  opaqueTexts,
  ownClaimsText,
  providerEnd,
  refusedSubject,
  roleClaimOf,
  sessionNameClaimOf,
  sessionRemedy,
  signingConfigs,
  subjectOf,
  unfitSessionName,
  type UsedAwsSts,
} from './aws-callers.ts'
export { exchangesCallerToken, isWithoutTokens } from './caller-token.ts'
export { changesFor, type HeldValue, heldIn, isChanged } from './change.ts'
export {
  configMapFacts,
  configMapReferencesOf,
  getConfigMap,
  type PolicyValue,
  seesConfigMaps,
} from './config-maps.ts'
export {
  AUTH_CONFIG,
  contactedWithout,
  GATEWAY,
  NAME,
  nearEnds,
  OIDC_CONFIG,
  referenceEnds,
  withoutCredentials,
  WORKLOAD,
} from './ends.ts'
export {
  authServer,
  backend,
  bearerConfig,
  checking,
  exchangeConfig,
  exchangeConfigIn,
  exchangeConfigWritten,
  gateway,
  gatewayOf,
  githubServer,
  group,
  GROUPS_POLICY,
  headerConfig,
  injectConfig,
  inline,
  joiningAs,
  mappedConfig,
  oidcConfig,
  PERMIT,
  policiesInline,
  policiesConfig,
  policiesMap,
  serverConfig,
  serving,
  signingProxy,
  stsConfig,
  WITH_POLICIES_CONFIG,
  WITH_POLICIES_MAP,
  withPolicies,
  workload,
} from './examples.ts'
export {
  exchangedAgain,
  exchangedBefore,
  exchangedTwice,
  exchangedTwiceCause,
  repeated,
  type SecondExchange,
} from './exchange.ts'
export {
  acceptingEnd,
  differenceText,
  issuerText,
  type Refusal,
  refusalBy,
  refusalOf,
  refusedCause,
} from './issuers.ts'
export { issuingServersOf as issuingBeside, mayIssue, serverEnd } from './issuing.ts'
export {
  allUnsuited,
  hasIgnoredHeader,
  isForNoBackend,
  needsGateway,
  NOT_FOR_BACKENDS,
  someNeedsGateway,
  unsuited,
  unsuitedCause,
  unsuitedForBackends,
  unusedText,
  useOf,
} from './matrix.ts'
export { requestedScopes } from '../kinds/embedded-auth-server/effective.ts'
export { ASSERTION_CLAIMS, OWN_CLAIMS } from '../kinds/embedded-auth-server/own-claims.ts'
export { ANONYMOUS, deniedBy, foreignClaims, havingOnly, lackingGroups } from './policy-claims.ts'
export { judgementsOf } from './policy-judgements.ts'
export {
  getPolicies,
  isPolicyKind,
  policiesOf,
  POLICY_KINDS,
  policyFacts,
  type PolicyKind,
  policyReferencesOf,
} from './policy-kinds.ts'
export { ownReferenceErrors, ownReferenceOf } from './own-reference.ts'
export { quoted, shortType } from './policy-texts.ts'
export { aboutPolicies, configMapPolicies, entitiesRead, policyListOf } from './policy-lists.ts'
export {
  configEnd,
  gatewayEnd,
  neededProvider,
  unserved,
  unservedBy,
  unservedCause,
  unservedText,
} from './providers.ts'
export {
  type Backend,
  backendsOf,
  configsNamed,
  configsReached,
  frontersOf,
  discoverersOf,
  frontingsOf,
  gatewaysWithoutStrategy,
  isListed,
  isUnused,
  listedIn,
  type NamedGateway,
  ownConfigOf,
  REACHED_KINDS,
  reachersOf,
  routeOf,
  sourceOf,
  withoutStrategy,
} from './reach.ts'
export { nameIn, REFERENCES, referencesOf, visitTargets } from './references.ts'
export {
  addsHeaderFromSecret,
  type AuthConfig,
  authConfigNamed,
  BACKEND_KINDS,
  checksTokens,
  type Gateway,
  getAuthConfig,
  getGateway,
  getOidcConfig,
  getWorkload,
  groupOf,
  hasNoStrategy,
  leavesSubjectProvider,
  membersOf,
  namedProvider,
  newerSubjectProvider,
  type OidcConfig,
  oidcConfigNamed,
  olderGroupOf,
  type Providers,
  providersOf,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  writtenAnnotation,
  writtenProvider,
} from './related-resources.ts'
export { oidcReferenceOf, oidcReferencePath, validationOf } from './oidc-reference.ts'
export { audienceErrors, gatewayChecker, namespaceOf, proxyPortOf } from './resource-url.ts'
export { bytesAt, getSecret, secretFacts, secretReferencesOf, seesSecrets } from './secrets.ts'
export {
  agreedProvider,
  choiceEnds,
  choicesText,
  firstProvider,
  isDecided,
  knowsReachers,
  subjectProviders,
  undecidedCause,
} from './subject-provider.ts'
export { authServersOf, configsOf, type HeldServer, heldServersOf } from './workload-auth-server.ts'
