/**
 * The requests for which Cedar policies are evaluated, as releases of toolhive make them from a token and an MCP call
 * (stacklok/toolhive, pkg/authz/authorizers/cedar). The code was read in release 0.44 and run in 0.63; a comment here
 * that names no release is about behaviour that is older than 0.26.
 */

import {
  type Attribute,
  type EntityName,
  JSON_TYPES,
  type Requests,
  TYPE,
  type Variable,
} from '../cedar/index.ts'
import type { PolicyEntities } from './policy-entities.ts'

/**
 * The kinds of requests for which policies are evaluated. Listing has no action of its own: a list shows the items for
 * which these actions are permitted.
 */
export const REQUESTS = [
  { action: 'call_tool', type: 'Tool', what: 'tool call' },
  { action: 'get_prompt', type: 'Prompt', what: 'prompt' },
  { action: 'read_resource', type: 'Resource', what: 'resource read' },
] as const
/** Reading a skill: a kind of request that release 0.63 has, and perhaps some earlier releases. */
const SKILLS = { action: 'get_skill', type: 'Skill', what: 'skill' } as const
export type RequestKind = (typeof REQUESTS)[number] | typeof SKILLS

const WITH_SKILLS: readonly RequestKind[] = [...REQUESTS, SKILLS]
/** The kinds of requests for which these policies are evaluated; reading skills only when a policy mentions them. */
export const kindsAskedIn = (texts: readonly (string | undefined)[]): readonly RequestKind[] =>
  texts.some((text) => text !== undefined && /skill/i.test(text)) ? WITH_SKILLS : REQUESTS

export const ACTIONS: readonly string[] = WITH_SKILLS.map(({ action }) => action)
export const RESOURCE_TYPES: readonly string[] = WITH_SKILLS.map(({ type }) => type)
/** Actions that older documentation names but that releases never use, each with the action that they use instead. */
export const LISTS: ReadonlyMap<string, string> = new Map([
  ['list_tools', 'call_tool'],
  ['list_prompts', 'get_prompt'],
  ['list_resources', 'read_resource'],
  ['list_skills', 'get_skill'],
])

/** Annotations of MCP tools, available as attributes of the resource; each may be absent. */
export const HINTS: readonly string[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

/** The types of well-known claims (bits of `TYPE`), and whether every token has the claim. Others have any type. */
const CLAIMS = new Map<string, readonly [types: number, presence: 'always' | 'maybe']>([
  ['sub', [TYPE.string, 'always']],
  ['iss', [TYPE.string, 'always']],
  ['aud', [TYPE.string | TYPE.set, 'always']],
  ['exp', [TYPE.decimal, 'always']],
  ['iat', [TYPE.decimal, 'always']],
  ['nbf', [TYPE.decimal, 'maybe']],
  ['auth_time', [TYPE.decimal, 'maybe']],
  ['email_verified', [TYPE.boolean | TYPE.string, 'maybe']],
])
for (const name of 'scope email name preferred_username upn given_name family_name nickname jti azp cid client_id'.split(
  ' ',
))
  CLAIMS.set(name, [TYPE.string, 'maybe'])
for (const name of 'tid oid hd locale sid typ acr'.split(' ')) CLAIMS.set(name, [TYPE.string, 'maybe'])
for (const name of ['groups', 'cognito:groups', 'amr', 'wids']) CLAIMS.set(name, [TYPE.set, 'maybe'])

/** Claims from which, by default, the groups of a caller are read. */
export const GROUP_CLAIMS: readonly string[] = ['groups', 'roles', 'cognito:groups']
export const DEFAULT_GROUP_TYPE = 'THVGroup'

/** Facts about the tokens of the callers for which policies are evaluated. */
export interface Callers {
  /** Whether a token of these callers can have the claim. */
  readonly canHave: (claim: string) => boolean
  /** Claims that all tokens of these callers have, in addition to those that every token has. */
  readonly always: ReadonlySet<string>
  /** The value of `sub` in all tokens of these callers; undefined when not known. */
  readonly subject: string | undefined
}

export const ANYBODY: Readonly<Callers> = { canHave: () => true, always: new Set(), subject: undefined }

/** The settings of a resource that determine for which requests its policies are evaluated. */
export interface Setting {
  readonly kinds: readonly RequestKind[]
  /** The Cedar entity type of groups; undefined when not known. */
  readonly groupType: string | undefined
  /** The claims that groups are read from; undefined when not known. */
  readonly groupClaims: readonly string[] | undefined
  /**
   * Whether requests have `claimset_…` attributes: since release 0.41, when a ConfigMap or MCPAuthzConfig sets
   * `multi_valued_claims`.
   */
  readonly hasClaimSets: boolean
  readonly entities: PolicyEntities
  /** The name of the resource, by which policies name its MCP server; undefined until the resource has a name. */
  readonly server: string | undefined
  /** Whether tools are members of a Cedar entity `Backend`, as for a VirtualMCPServer in release 0.63. */
  readonly hasBackends: boolean
  readonly callers: Callers
}

const CLAIM_SOURCE: Attribute = { presence: 'always', types: TYPE.string, key: 'thv_claim_source' }
const ABSENT: Attribute = { presence: 'never', types: 0, key: '' }

/** The requests of one kind; with `lacks`, only those without the attributes for which `lacks` is true. */
export class KnownRequests implements Requests {
  readonly #kind: RequestKind
  readonly #setting: Setting
  readonly #lacks: (key: string) => boolean

  constructor(kind: RequestKind, setting: Setting, lacks: (key: string) => boolean = () => false) {
    this.#kind = kind
    this.#setting = setting
    this.#lacks = lacks
  }

  attribute(of: Variable, name: string): Attribute {
    const found = this.#attribute(of, name)
    return found.presence !== 'never' && this.#lacks(found.key) ? { ...found, presence: 'never' } : found
  }

  #attribute(of: Variable, name: string): Attribute {
    if (of === 'action')
      return name === 'operation' ? { presence: 'always', types: TYPE.string, key: name } : ABSENT
    if (of === 'principal' || of === 'context') {
      if (name.startsWith('claim_')) return this.#claim(name.slice('claim_'.length))
      if (name.startsWith('claimset_')) return this.#claimSet(name)
    }
    // Release 0.63 has this attribute, and perhaps some earlier releases; releases up to 0.44 do not.
    if (name === 'thv_claim_source' && of !== 'resource') return CLAIM_SOURCE
    if (of === 'principal') return ABSENT
    if (name.startsWith('arg_'))
      return { presence: 'maybe', types: TYPE.string | TYPE.boolean | TYPE.decimal, key: name }
    if (of === 'context') return ABSENT
    const isOwn =
      ['name', 'operation', 'feature'].includes(name) ||
      (name === 'uri' && (this.#kind.type === 'Resource' || this.#kind.type === 'Skill'))
    if (isOwn) return { presence: 'always', types: TYPE.string, key: `resource.${name}` }
    return this.#kind.type === 'Tool' && HINTS.includes(name)
      ? { presence: 'maybe', types: TYPE.boolean, key: name }
      : ABSENT
  }

  #claim(name: string): Attribute {
    const key = `claim_${name}`
    const { callers } = this.#setting
    if (!callers.canHave(name)) return { presence: 'never', types: 0, key }
    const [types, presence] = CLAIMS.get(name) ?? [JSON_TYPES, 'maybe']
    return {
      presence: callers.always.has(name) ? 'always' : presence,
      types: this.#typesOf(types),
      key,
    }
  }

  /** The possible types (bits) of a claim; `multi_valued_claims`, which joins lists to strings, adds string and set. */
  #typesOf(types: number): number {
    return this.#setting.hasClaimSets ? types | TYPE.string | TYPE.set : types
  }

  #claimSet(name: string): Attribute {
    const canHave =
      this.#setting.hasClaimSets && this.#setting.callers.canHave(name.slice('claimset_'.length))
    return canHave ? { presence: 'maybe', types: TYPE.set, key: name } : ABSENT
  }

  typeOf(variable: Variable): string {
    if (variable === 'principal') return 'Client'
    return variable === 'action' ? 'Action' : this.#kind.type
  }

  is(variable: Variable, { type, id }: EntityName): 'always' | 'maybe' | 'never' {
    if (type !== this.typeOf(variable)) return 'never'
    if (variable === 'action') return id === this.#kind.action ? 'always' : 'never'
    const { subject } = this.#setting.callers
    if (variable === 'principal' && subject !== undefined) return id === subject ? 'always' : 'never'
    return 'maybe'
  }

  isIn(variable: Variable, entity: EntityName): 'always' | 'maybe' | 'never' {
    const itself = this.is(variable, entity)
    if (itself !== 'never' || variable === 'action') return itself
    const { server, entities, hasBackends } = this.#setting
    if (variable === 'resource') {
      if (entity.type === 'MCP' && (server === undefined || entity.id === server))
        return server === undefined ? 'maybe' : 'always'
      if (hasBackends && this.#kind.type === 'Tool')
        if (entity.type === 'Backend' || entities.hasAncestor('Backend', undefined, entity)) return 'maybe'
      return entities.hasAncestor('MCP', server, entity) ? 'maybe' : 'never'
    }
    return this.#isMember(entity) ? 'maybe' : 'never'
  }

  /**
   * Whether callers are assumed to have no groups when their tokens lack some of the group claims: true when no group
   * claim is left, or only default ones other than `groups`, because few callers have groups in two claims.
   */
  #lacksGroups(groupClaims: readonly string[] = []): boolean {
    const there = groupClaims.filter((claim) => !this.#lacks(`claim_${claim}`))
    return (
      there.length < groupClaims.length &&
      there.every((claim) => claim !== 'groups' && GROUP_CLAIMS.includes(claim))
    )
  }

  /** Whether a caller can be in the group: directly by a claim, or because a group of the caller descends from it. */
  #isMember(entity: EntityName): boolean {
    const { groupType, groupClaims, entities, callers } = this.#setting
    if (groupClaims !== undefined && !groupClaims.some((claim) => callers.canHave(claim))) return false
    if (this.#lacksGroups(groupClaims)) return false
    if (groupType === undefined || entity.type === groupType) return true
    return entities.hasAncestor(groupType, undefined, entity)
  }
}
