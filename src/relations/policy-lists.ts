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
  shortQuote,
  shortText,
} from '../rule/index.ts'
import type { Budget } from '../rule/index.ts'
import type { AuthzConfig } from './authorization.ts'
import { getConfigMap, POLICIES_KEY, type PolicyValue, policyValue } from './config-maps.ts'
import { type EntitiesRead, PolicyEntities, readEntities } from './policy-entities.ts'
import { ANYBODY, DEFAULT_GROUP_TYPE, GROUP_CLAIMS, kindsAskedIn, type Setting } from './policy-requests.ts'

/** The Cedar policies of a resource, from its spec or a ConfigMap. */

export interface ListedPolicy {
  /** The text of the policy; undefined where it cannot be read. */
  readonly text: string | undefined
  readonly parsed: Parsed | undefined
  /** The place of a finding about the policy; `named` is the beginning of its text. */
  readonly at: () => Path<unknown>
  readonly named: string
}

export interface PolicyList {
  readonly policies: readonly ListedPolicy[]
  /** The text of the entities; undefined where there is none, or none that can be read. */
  readonly entities:
    { readonly text: string; readonly at: () => Path<unknown>; readonly named: string } | undefined
  readonly setting: Setting
  /** The ConfigMap that has the policies, and its key; undefined where the spec has them. */
  readonly configMap: { readonly name: ObjectName; readonly key: string } | undefined
}

type Inline = NonNullable<AuthzConfig['inline']>
type Within = Pick<Context<AuthzConfig>, 'path' | 'cluster' | 'self' | 'memo' | 'budget'>

/** The policies of an `authzConfig`, from itself or from a ConfigMap that is known; undefined where there are none. */
export const policyListOf = (authzConfig: AuthzConfig, context: Within) => listed(authzConfig, context)

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
  const policies = goField(cedar, 'policies')
  const entities = goField(cedar, 'entities_json') ?? ''
  return listOf({
    texts: (Array.isArray(policies) ? policies : []).map((text) =>
      typeof text === 'string' ? text : undefined,
    ),
    entities: typeof entities === 'string' ? entities : undefined,
    authzConfig,
    cedar,
    self,
    budget,
    memo,
    place: {
      policy: () => at.configMap,
      entities: () => at.configMap,
      named: `${shownConfigMap(found.name)}, `,
    },
    configMap: { name: { kind: 'ConfigMap', name: found.name }, key: found.key },
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

/** The value of the ConfigMap that an `authzConfig` names; undefined where it is not known, or the budget does not suffice. */
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
  /** The text of the entities; empty where there are none, undefined where they cannot be read. */
  readonly entities: string | undefined
  readonly authzConfig: AuthzConfig
  /** The settings in the ConfigMap; those of the spec take precedence. */
  readonly cedar?: object
  readonly self: ObjectName
  readonly budget: Budget
  readonly memo: Memo
  readonly place: {
    readonly policy: (index: number) => Path<unknown>
    readonly entities: () => Path<unknown>
    readonly named: string
  }
  readonly configMap?: PolicyList['configMap']
}

/** So many characters of a policy cost one unit of a budget. */
const READ_PER_UNIT = 8

function listOf(listing: Listing): PolicyList {
  const { texts, entities, authzConfig, cedar, self, budget, place, configMap } = listing
  const isOfConfigMap = cedar !== undefined
  const option = (name: string) => (cedar === undefined ? undefined : goField(cedar, name))
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
    named: isOfConfigMap ? `${place.named}policies[${i}]: ` : '',
  }))
  const groupType = chosen(authzConfig, 'groupEntityType', option('group_entity_type')) ?? ''
  const groupClaim = chosen(authzConfig, 'groupClaimName', option('group_claim_name'))
  const roleClaim = chosen(authzConfig, 'roleClaimName', option('role_claim_name'))
  const claims = [groupClaim, roleClaim, ...GROUP_CLAIMS]
  const text = entities === '' ? undefined : entities
  const given =
    text === undefined
      ? undefined
      : { text, at: place.entities, named: isOfConfigMap ? `${place.named}entities_json: ` : '' }
  return {
    policies,
    entities: given,
    setting: {
      kinds: kindsAskedIn(texts),
      groupType: groupType === UNKNOWN ? undefined : groupType || DEFAULT_GROUP_TYPE,
      groupClaims: claims.includes(UNKNOWN)
        ? undefined
        : claims.filter((each): each is string => typeof each === 'string' && each !== ''),
      hasClaimSets: Array.isArray(option('multi_valued_claims')),
      entities: new PolicyEntities(() => {
        if (entities === '') return []
        const read = entitiesRead({ entities: given }, listing)
        return read?.kind === 'entities' ? read.entities : undefined
      }),
      server: self.name === '' ? undefined : self.name,
      hasBackends: self.kind === 'VirtualMCPServer',
      callers: ANYBODY,
    },
    configMap,
  }
}

const UNKNOWN = Symbol('a value that cannot be read')

/** A setting from the spec or, where that has none, from the ConfigMap. */
function chosen(
  config: AuthzConfig,
  field: 'groupEntityType' | 'groupClaimName' | 'roleClaimName',
  other: unknown,
): string | undefined | typeof UNKNOWN {
  const own = isAbsent(config, field) ? '' : (config[field] ?? UNKNOWN)
  if (own !== '') return own
  return typeof other === 'string' ? other : undefined
}

type Reading = Pick<Context<unknown>, 'memo' | 'budget'>

/** The parsed entities of a list; undefined where there are none, or the budget does not suffice. */
export const entitiesRead = ({ entities }: Pick<PolicyList, 'entities'>, context: Reading) =>
  entities && readOnce(entities, context)

const readOnce = oncePerReview(
  ({ text, at }: NonNullable<PolicyList['entities']>, { budget }: Reading): EntitiesRead | undefined =>
    budget.decide(at, () => readEntities(text, budget)),
)

/** A finding about policies or entities; it names the ConfigMap that has them. */
export function aboutPolicies({ configMap }: PolicyList, at: Path<unknown>, text: string): FieldError {
  const finding = advice(at, text)
  if (configMap === undefined) return finding
  const { name, key } = configMap
  return relatedTo(dependingOn(finding, name), [
    end(name, pathTo(['data', { key }]), 'the policies are here'),
  ])
}
