import type { Static } from 'typebox'
import { DEFAULT_API_GROUP as group } from '../../kinds/index.ts'
import type { RoleMapping, RoleMappings } from '../../kinds/mcp-external-auth-config/role-mappings.ts'
import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import type { MCPExternalAuthConfig } from '../../kinds/schemas.ts'
import { type Finding, type Given, isAbsent } from '../../rule/index.ts'
import { ALL_DEFAULTS, createJudge, DEFAULT_SETTINGS } from '../../engine/index.ts'
import { shape } from '../../shape/index.ts'
import { described, fromJson } from '../../cel/index.ts'
import { type Claims, claimPath, filledOr } from './claims.ts'
import type { Evaluation } from './matcher.ts'
import { type Generation, type RoleSelection } from '../../kinds/mcp-external-auth-config/generations.ts'
import { releasesOf } from './releases.ts'

type ExternalAuthConfig = Given<Static<typeof MCPExternalAuthConfig>>

type Outcome = 'match' | 'noMatch' | 'skipped' | 'failsClosed' | 'stopped' | 'refused'

/** Whether one role mapping matches the caller's claims, and why. */
export interface MappingOutcome {
  readonly index: number
  readonly claim?: string
  readonly matcher?: string
  readonly priority?: number
  readonly roleArn?: string
  readonly outcome: Outcome
  readonly reason: string
  /** Why no caller can get the role of this mapping: the message of the rule role-mapping-reachable. */
  readonly unreachable?: string
}

export interface RoleDecision {
  readonly role?: string
  /** The index of the mapping that grants the role, `fallback` for `fallbackRoleArn`, or `nowhere` for no role. */
  readonly from: number | 'fallback' | 'nowhere'
  readonly reason: string
  /** The outcomes of the mappings, in the order in which the gateway tries them. */
  readonly mappings: readonly MappingOutcome[]
  readonly notes: readonly string[]
}

/** A decision about a caller's role, and the operator releases to which it applies. */
export interface ReleaseDecision extends RoleDecision {
  readonly releases: string
}

type EvaluationOf = (matcher: string) => Evaluation | undefined

/** The matchers of an MCPExternalAuthConfig (any JSON value), which must be evaluated before `decideRole` is called. */
export function matchersOf(value: unknown): string[] {
  return mappingsOf(configOf(value)).flatMap((mapping) => mapping?.matcher ?? [])
}

/** The decision for each range of operator releases; ranges with the same decision for all mappings are merged. */
export function decideForReleases(
  value: unknown,
  claims: Claims,
  generations: readonly Generation[],
  evaluationsOf: (selection: RoleSelection) => EvaluationOf,
): ReleaseDecision[] {
  const groups = Map.groupBy(generations, (generation) =>
    JSON.stringify(decideRole(value, claims, generation, evaluationsOf(generation))),
  )
  return Array.from(groups, ([decision, holdsFor]) => ({
    releases: releasesOf(holdsFor),
    ...(JSON.parse(decision) as RoleDecision),
  }))
}

/** The role, if all decisions grant the same one; else undefined. */
export function commonRole(decisions: readonly RoleDecision[]): string | undefined {
  const roles = new Set(decisions.map(({ role }) => role))
  return roles.size === 1 ? decisions[0]?.role : undefined
}

const ALONE = createJudge({
  group,
  settings: DEFAULT_SETTINGS,
  release: 'specification',
  state: 'no cluster',
  defaults: ALL_DEFAULTS,
})

/**
 * The role that an MCPExternalAuthConfig (any JSON value) grants a caller, and why (specification 2.4.1).
 * `evaluationOf` returns the result of a matcher.
 */
export function decideRole(
  value: unknown,
  claims: Claims,
  selection: RoleSelection,
  evaluationOf: EvaluationOf,
): RoleDecision {
  const config = configOf(value)
  const { roleClaim, fallbackRoleArn } = config.spec?.awsSts ?? {}
  const { errors, warnings } = ALONE.file({
    kind: mcpExternalAuthConfig,
    namespace: '',
    name: '',
    object: value,
    stored: 'nothing',
    ignores: [],
    strict: false,
    placeholders: undefined,
  })
  const unreachable = unreachableMappings(warnings)
  const tried = mappingsOf(config)
    .map((mapping, index) => ({ index, mapping }))
    .toSorted((a, b) => priorityOf(a.mapping) - priorityOf(b.mapping))
    .map(({ index, mapping }): MappingOutcome => {
      const outcome = outcomeOf(mapping, { selection, roleClaim, claims, evaluationOf })
      const why = unreachable.get(index)
      return { index, ...given(mapping), ...outcome, ...(why === undefined ? {} : { unreachable: why }) }
    })
  const winner = tried.find(({ outcome }) => outcome === 'match')
  const mappings = tried.map((each) => afterWinner(each, winner))
  return {
    ...choose(mappings, winner, fallbackRoleArn),
    mappings,
    notes: [...uncertainties(mappings, winner), ...errorNotes(errors.length)],
  }
}

/** The claim whose value becomes the name of the AWS session, as written in the MCPExternalAuthConfig. */
export function sessionNameClaimOf(value: unknown): string | undefined {
  return configOf(value).spec?.awsSts?.sessionNameClaim
}

/** The MCPExternalAuthConfig without parts of a wrong JSON type. */
export function configOf(value: unknown): ExternalAuthConfig {
  return (shape(mcpExternalAuthConfig, value).resource ?? {}) as ExternalAuthConfig
}

export const mappingsOf = ({ spec }: ExternalAuthConfig): RoleMappings => spec?.awsSts?.roleMappings ?? []

const LAST = Number.MAX_VALUE
/** The priority of a mapping; mappings with a lower number are tried first. */
export const priorityOf = (mapping: RoleMapping | undefined) => mapping?.priority ?? LAST

function given(mapping: RoleMapping | undefined): Partial<MappingOutcome> {
  const { claim, matcher, priority, roleArn } = mapping ?? {}
  return {
    ...(claim === undefined ? {} : { claim }),
    ...(matcher === undefined ? {} : { matcher }),
    ...(priority === undefined ? {} : { priority }),
    ...(roleArn === undefined ? {} : { roleArn }),
  }
}

/** The messages of the rule role-mapping-reachable, by index of the role mapping. */
function unreachableMappings(findings: readonly Finding[]): ReadonlyMap<number, string> {
  const ours = findings.filter(({ id }) => id === 'role-mapping-reachable')
  return new Map(ours.map(({ error }) => [Number(error.at[3]), error.detail]))
}

type Decided = Pick<MappingOutcome, 'outcome' | 'reason'>

const decided = (outcome: Outcome, detail: string): Decided => ({
  outcome,
  reason: `${outcome === 'failsClosed' ? 'fails closed' : outcome}: ${detail}`,
})
const NO_MATCH: Decided = { outcome: 'noMatch', reason: 'no match' }
const MATCH: Decided = { outcome: 'match', reason: 'match' }

interface Caller {
  readonly selection: RoleSelection
  readonly roleClaim: string | undefined
  readonly claims: Claims
  readonly evaluationOf: EvaluationOf
}

function outcomeOf(mapping: RoleMapping | undefined, caller: Caller): Decided {
  if (mapping === undefined) return decided('refused', 'it is not a mapping')
  const { claim, matcher, roleArn } = mapping
  if (!roleArn) return decided('refused', 'it has no roleArn')
  if (!isAbsent(mapping, 'claim') && !isAbsent(mapping, 'matcher'))
    return decided('refused', 'it has both a claim and a matcher')
  if (claim) return claimOutcome(claim, caller)
  if (matcher) return matcherOutcome(caller.evaluationOf(matcher))
  return decided('refused', 'it has neither a claim nor a matcher')
}

/** Whether a mapping with this `claim` matches the claims, and why. */
export function claimOutcome(
  claim: string,
  { selection, roleClaim, claims }: Omit<Caller, 'evaluationOf'>,
): Decided {
  const name = filledOr(roleClaim, 'groups')
  const path = claimPath(name)
  if (!Object.hasOwn(claims, name)) return decided('skipped', `there is no ${path}`)
  const holder = claims[name]
  if (Array.isArray(holder)) return holder.includes(claim) ? MATCH : NO_MATCH
  return selection.roleClaim === 'asList' ? inList(claim, path, holder) : inAsItIs(claim, path, holder)
}

/** The result of `claim in claims[roleClaim]` in CEL when the role claim is not a list. */
function inAsItIs(claim: string, path: string, holder: unknown): Decided {
  if (typeof holder === 'object' && holder !== null) return Object.hasOwn(holder, claim) ? MATCH : NO_MATCH
  return decided('skipped', `${path} is ${described(fromJson(holder))}, and \`in\` needs a list`)
}

function inList(claim: string, path: string, holder: unknown): Decided {
  if (typeof holder === 'string') return holder === claim ? MATCH : NO_MATCH
  return decided('failsClosed', `${path} is ${described(fromJson(holder))}, and must be a list or a string`)
}

function matcherOutcome(evaluation: Evaluation | undefined): Decided {
  switch (evaluation?.kind) {
    case undefined:
      return decided('stopped', 'it was not evaluated')
    case 'value':
      return evaluation.value ? MATCH : NO_MATCH
    case 'otherType':
      return decided('skipped', `the result is ${evaluation.type}, and only true matches`)
    case 'failed':
      return decided('skipped', evaluation.message)
    case 'refused':
      return decided('refused', evaluation.message)
    case 'stopped':
      return { outcome: 'stopped', reason: `stopped ${evaluation.message}` }
  }
}

function afterWinner(mapping: MappingOutcome, winner: MappingOutcome | undefined): MappingOutcome {
  if (mapping.outcome !== 'match' || winner === undefined || mapping === winner) return mapping
  return { ...mapping, reason: `match, but ${placeOf(winner)} comes first` }
}

/** The name of a mapping in messages: `roleMappings[0]`. */
export const placeOf = ({ index }: Pick<MappingOutcome, 'index'>): string => `roleMappings[${index}]`

/**
 * The role of the first mapping that matches, or why no role is granted: for example, the workload does not start when
 * one of the mappings is refused as invalid.
 */
function choose(
  mappings: readonly MappingOutcome[],
  winner: MappingOutcome | undefined,
  fallbackRoleArn: string | undefined,
): Pick<RoleDecision, 'role' | 'from' | 'reason'> {
  const refused = mappings.filter(({ outcome }) => outcome === 'refused').map(placeOf)
  if (refused.length > 0)
    return { from: 'nowhere', reason: `the workload does not start because of ${refused.join(', ')}` }
  if (winner?.roleArn !== undefined)
    return { role: winner.roleArn, from: winner.index, reason: placeOf(winner) }
  const closed = mappings.filter(({ outcome }) => outcome === 'failsClosed').map(placeOf)
  if (closed.length > 0)
    return {
      from: 'nowhere',
      reason: `the gateway answers 403 and uses no fallbackRoleArn: no mapping matches, and ${closed.join(', ')} fails closed`,
    }
  const reason = mappings.length === 0 ? 'there are no role mappings' : 'no mapping matches'
  if (fallbackRoleArn)
    return { role: fallbackRoleArn, from: 'fallback', reason: `fallbackRoleArn, as ${reason}` }
  return { from: 'nowhere', reason: `${reason}, and there is no fallbackRoleArn` }
}

/**
 * Notes about mappings before the winner whose matcher was stopped at a limit of this program: the gateway may evaluate
 * it further, and grant the role of the mapping.
 */
function uncertainties(mappings: readonly MappingOutcome[], winner: MappingOutcome | undefined): string[] {
  const before = winner === undefined ? mappings : mappings.slice(0, mappings.indexOf(winner))
  return before
    .filter(({ outcome }) => outcome === 'stopped')
    .map((mapping) => `${placeOf(mapping)} was stopped: the gateway may get further and give its role`)
}

function errorNotes(errors: number): string[] {
  if (errors === 0) return []
  return [
    `'vmcp-admission check' finds ${errors === 1 ? 'an error' : `${errors} errors`} in this configuration`,
  ]
}
