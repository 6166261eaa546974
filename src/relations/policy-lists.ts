import { type Parsed, parsePolicy } from '../cedar/index.ts'
import {
  advice,
  type Context,
  dependingOn,
  end,
  type FieldError,
  goField,
  isAbsent,
  isObject,
  type Memo,
  type ObjectName,
  oncePerReview,
  type Path,
  pathTo,
  relatedTo,
  type Segment,
  segmentsOf,
  shortQuote,
  shortText,
} from '../rule/index.ts'
import type { Budget } from '../rule/index.ts'
import type { AuthzConfig, AuthzConfigRef } from './authorization.ts'
import { getConfigMap, POLICIES_KEY, type PolicyValue, policyValue } from './config-maps.ts'
import { getPolicies } from './policy-kinds.ts'
import { type EntitiesRead, PolicyEntities, readEntities } from './policy-entities.ts'
import { ANYBODY, DEFAULT_GROUP_TYPE, GROUP_CLAIMS, kindsAskedIn, type Setting } from './policy-requests.ts'

/** A Cedar policy of a resource, read from its spec, a ConfigMap or an MCPAuthzConfig. */
export interface ListedPolicy {
  /** The text of the policy; undefined when it is unreadable. */
  readonly text: string | undefined
  readonly parsed: Parsed | undefined
  /** The path for findings about the policy. Messages begin with `named`: the other object with the policy, or ''. */
  readonly at: () => Path<unknown>
  readonly named: string
}

export interface PolicyList {
  readonly policies: readonly ListedPolicy[]
  /** The text of `entitiesJson`; undefined when it is absent or unreadable. */
  readonly entities:
    { readonly text: string; readonly at: () => Path<unknown>; readonly named: string } | undefined
  readonly setting: Setting
  /** The other object that contains the policies, and the path there; undefined if the judged object contains them. */
  readonly source: { readonly name: ObjectName; readonly at: readonly Segment[] } | undefined
}

type Inline = NonNullable<AuthzConfig['inline']>
type Around = Pick<Context<unknown>, 'cluster' | 'self' | 'memo' | 'budget'>
type Within = Around & { readonly path: Path<AuthzConfig> }

/**
 * The Cedar policies of an `authzConfig`, inside it or in a ConfigMap that was read, or of the MCPAuthzConfig that an
 * `authzConfigRef` names; undefined when there are none.
 */
export const policyListOf = (
  given: AuthzConfig | AuthzConfigRef,
  context: Around & { path: Path<unknown> },
) =>
  isReference(context.path)
    ? referred(given as AuthzConfigRef, context)
    : listed(given as AuthzConfig, { ...context, path: context.path as Path<AuthzConfig> })

const isReference = (path: Path<unknown>): boolean => segmentsOf(path).at(-1) === 'authzConfigRef'

const referred = oncePerReview(
  (reference: AuthzConfigRef, context: Around & { path: Path<unknown> }): PolicyList | undefined => {
    const { path, cluster, self, budget, memo } = context
    const { name } = reference
    if (name === undefined || name === '') return undefined
    const of = { kind: 'MCPAuthzConfig', name } as const
    const { type, config } = getPolicies(cluster, of) ?? {}
    if (type !== 'cedarv1' || config === undefined) return undefined
    const at = () => pathTo<unknown>([...segmentsOf(path), 'name'])
    return listOf({
      ...readFrom(config),
      authzConfig: {},
      ...{ self, budget, memo },
      place: {
        policy: at,
        entities: at,
        named: `in the MCPAuthzConfig ${shortQuote(shortText(name, 60))}, `,
      },
      source: { name: of, at: ['spec', 'config'] },
    })
  },
)

/** Reads Cedar policies and entities in the format that ConfigMaps and MCPAuthzConfigs have in common. */
function readFrom(cedar: object): Pick<Listing, 'cedar' | 'texts' | 'entities'> {
  const policies = goField(cedar, 'policies')
  const entities = settingIn(cedar, 'entities_json') ?? ''
  return {
    cedar,
    texts: (Array.isArray(policies) ? policies : []).map((text) =>
      typeof text === 'string' ? text : undefined,
    ),
    entities: typeof entities === 'string' ? entities : undefined,
  }
}

const listed = oncePerReview((authzConfig: AuthzConfig, context: Within): PolicyList | undefined => {
  const { path: at, self, budget, memo } = context
  if (authzConfig.inline !== undefined) {
    const { inline } = authzConfig
    return listOf({
      texts: inline.policies ?? [],
      entities: entitiesIn(inline),
      authzConfig,
      self,
      budget,
      memo,
      place: { policy: (i) => at.inline.policies.at(i), entities: () => at.inline.entitiesJson, named: '' },
    })
  }
  const found = configMapPolicies(authzConfig, context)
  if (found?.value.kind !== 'read' || !isObject(found.value.value)) return undefined
  const cedar = goField(found.value.value, 'cedar')
  if (!isObject(cedar)) return undefined
  return listOf({
    ...readFrom(cedar),
    authzConfig,
    self,
    budget,
    memo,
    place: {
      policy: () => at.configMap,
      entities: () => at.configMap,
      named: `${shownConfigMap(found.name)}, `,
    },
    source: { name: { kind: 'ConfigMap', name: found.name }, at: ['data', { key: found.key }] },
  })
})

const shownConfigMap = (name: string): string => `in the ConfigMap ${shortQuote(shortText(name, 60))}`

const entitiesIn = (inline: Inline): string | undefined =>
  isAbsent(inline, 'entitiesJson') ? '' : inline.entitiesJson

interface ConfigMapPolicies {
  readonly name: string
  readonly key: string
  readonly value: PolicyValue
}

/** The policies in a ConfigMap that an `authzConfig` names; undefined when not read, or the budget runs out. */
export const configMapPolicies = oncePerReview(
  (authzConfig: AuthzConfig, { path, cluster, budget }: Within): ConfigMapPolicies | undefined => {
    const { configMap } = authzConfig
    if (authzConfig.type === 'inline' || configMap?.name === undefined || configMap.name === '')
      return undefined
    const { name } = configMap
    if (configMap.key === undefined && !isAbsent(configMap, 'key')) return undefined
    const key = configMap.key === undefined || configMap.key === '' ? POLICIES_KEY : configMap.key
    const policies = getConfigMap(cluster, name)?.policies
    const text = policies !== undefined && Object.hasOwn(policies, key) ? policies[key] : undefined
    if (text === undefined) return undefined
    const value = budget.decide(
      () => path.configMap,
      () => policyValue(text, cluster, budget),
    )
    return value && { name, key, value }
  },
)

interface Listing {
  readonly texts: readonly (string | undefined)[]
  /** The text of the Cedar entities; empty when absent, undefined when unreadable. */
  readonly entities: string | undefined
  readonly authzConfig: AuthzConfig
  /** The Cedar settings in a ConfigMap or an MCPAuthzConfig; settings in the spec of the resource override them. */
  readonly cedar?: object
  readonly self: ObjectName
  readonly budget: Budget
  readonly memo: Memo
  readonly place: {
    readonly policy: (index: number) => Path<unknown>
    readonly entities: () => Path<unknown>
    readonly named: string
  }
  readonly source?: PolicyList['source']
}

/** Number of characters of a policy whose parsing costs one unit of a budget. */
const READ_PER_UNIT = 8

function listOf(listing: Listing): PolicyList {
  const { texts, entities, authzConfig, cedar, self, budget, place, source } = listing
  const isElsewhere = source !== undefined
  const option = (name: string) => (cedar === undefined ? undefined : settingIn(cedar, name))
  const policies = texts.map((text, i) => ({
    text,
    parsed:
      text === undefined
        ? undefined
        : budget.decide(
            () => place.policy(i),
            () => {
              budget.spend(text.length / READ_PER_UNIT)
              return parsePolicy(text)
            },
          ),
    at: () => place.policy(i),
    named: isElsewhere ? `${place.named}policies[${i}]: ` : '',
  }))
  const groupType = chosen(authzConfig, 'groupEntityType', option('group_entity_type')) ?? ''
  const groupClaim = chosen(authzConfig, 'groupClaimName', option('group_claim_name'))
  const roleClaim = chosen(authzConfig, 'roleClaimName', option('role_claim_name'))
  const claims = [groupClaim, roleClaim, ...GROUP_CLAIMS]
  const claimSets = option('multi_valued_claims')
  const text = entities === '' ? undefined : entities
  const given =
    text === undefined
      ? undefined
      : { text, at: place.entities, named: isElsewhere ? `${place.named}entities_json: ` : '' }
  return {
    policies,
    entities: given,
    setting: {
      kinds: kindsAskedIn(texts),
      groupType: groupType === UNKNOWN ? undefined : groupType || DEFAULT_GROUP_TYPE,
      groupClaims: claims.includes(UNKNOWN)
        ? undefined
        : claims.filter((each): each is string => typeof each === 'string' && each !== ''),
      hasClaimSets: claimSets === UNKNOWN || Array.isArray(claimSets),
      entities: new PolicyEntities(() => {
        if (entities === '') return []
        const read = entitiesRead({ entities: given }, listing)
        return read?.kind === 'entities' ? read.entities : undefined
      }),
      server: self.name === '' ? undefined : self.name,
      hasBackends: self.kind === 'VirtualMCPServer',
      callers: ANYBODY,
    },
    source,
  }
}

const UNKNOWN = Symbol('a value that cannot be read')

/** A setting in a ConfigMap or an MCPAuthzConfig; UNKNOWN when a deployment tool will replace it. */
function settingIn(cedar: object, name: string): unknown {
  const value = goField(cedar, name)
  const isThere = Object.keys(cedar).some((key) => key.toLowerCase() === name)
  return isThere && value === undefined ? UNKNOWN : value
}

/** A setting from the spec or, when absent there, from the ConfigMap or MCPAuthzConfig. */
function chosen(
  config: AuthzConfig,
  field: 'groupEntityType' | 'groupClaimName' | 'roleClaimName',
  other: unknown,
): string | undefined | typeof UNKNOWN {
  const own = isAbsent(config, field) ? '' : (config[field] ?? UNKNOWN)
  if (own !== '') return own
  return typeof other === 'string' || other === UNKNOWN ? other : undefined
}

type Reading = Pick<Context<unknown>, 'memo' | 'budget'>

/** The parsed Cedar entities of a policy list; undefined when it has none, or the budget runs out. */
export const entitiesRead = ({ entities }: Pick<PolicyList, 'entities'>, context: Reading) =>
  entities && readOnce(entities, context)

const readOnce = oncePerReview(
  ({ text, at }: NonNullable<PolicyList['entities']>, { budget }: Reading): EntitiesRead | undefined =>
    budget.decide(at, () => readEntities(text, budget)),
)

/** A finding about policies or entities, which may be in another object. */
export function aboutPolicies({ source }: PolicyList, at: Path<unknown>, text: string): FieldError {
  const finding = advice(at, text)
  if (source === undefined) return finding
  return relatedTo(dependingOn(finding, source.name), [
    end(source.name, pathTo(source.at), 'the policies are here'),
  ])
}
