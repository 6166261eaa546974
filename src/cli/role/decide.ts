import type { Static } from 'typebox'
import type { RoleMapping, RoleMappings } from '../../kinds/mcp-external-auth-config/role-mappings.ts'
import { mcpExternalAuthConfig } from '../../kinds/mcp-external-auth-config/index.ts'
import type { MCPExternalAuthConfig } from '../../kinds/mcp-external-auth-config/schema.ts'
import type { Finding } from '../../review/finding.ts'
import { findingsBeforeDeployment } from '../../review/index.ts'
import { shape } from '../../review/shape.ts'
import { type Given, isAbsent } from '../../rule/resource.ts'
import { described, fromJson } from './cel/values.ts'
import { type Claims, claimPath, filledOr } from './claims.ts'
import type { Evaluation } from './matcher.ts'
import { type SessionName, sessionNameFrom } from './session-name.ts'

type ExternalAuthConfig = Given<Static<typeof MCPExternalAuthConfig>>

export type Outcome = 'match' | 'noMatch' | 'skipped' | 'stopped' | 'refused'

/** What one mapping does with the claims. */
export interface MappingOutcome {
  readonly index: number
  readonly claim?: string
  readonly matcher?: string
  readonly priority?: number
  readonly roleArn?: string
  readonly outcome: Outcome
  readonly reason: string
  /** Why no caller ever gets its role, as role-mapping-reachable says it. */
  readonly unreachable?: string
}

export interface RoleDecision {
  readonly role?: string
  /** The mapping that gives the role, or where else it comes from. */
  readonly from: number | 'fallback' | 'nowhere'
  readonly reason: string
  /** In the order tried. */
  readonly mappings: readonly MappingOutcome[]
  readonly sessionName: SessionName
  readonly notes: readonly string[]
}

/** The texts that `decideRole` asks about. */
export function matchersOf(value: unknown): string[] {
  return mappingsOf(configOf(value)).flatMap((mapping) => mapping?.matcher ?? [])
}

/**
 * The role that a configuration, any JSON, gives to a caller, and why (specification 2.4.1). Pure: what becomes of
 * each matcher is asked for.
 */
export function decideRole(
  value: unknown,
  claims: Claims,
  evaluationOf: (matcher: string) => Evaluation | undefined,
): RoleDecision {
  const config = configOf(value)
  const { roleClaim, sessionNameClaim, fallbackRoleArn } = config.spec?.awsSts ?? {}
  const { findings } = findingsBeforeDeployment(mcpExternalAuthConfig, value)
  const unreachable = unreachableMappings(findings)
  const tried = mappingsOf(config)
    .map((mapping, index) => ({ index, mapping }))
    .toSorted((a, b) => priorityOf(a.mapping) - priorityOf(b.mapping))
    .map(({ index, mapping }): MappingOutcome => {
      const outcome = outcomeOf(mapping, roleClaim, claims, evaluationOf)
      const why = unreachable.get(index)
      return { index, ...given(mapping), ...outcome, ...(why === undefined ? {} : { unreachable: why }) }
    })
  const winner = tried.find(({ outcome }) => outcome === 'match')
  const mappings = tried.map((each) => afterWinner(each, winner))
  return {
    ...choose(mappings, winner, fallbackRoleArn),
    mappings,
    sessionName: sessionNameFrom(claims, sessionNameClaim),
    notes: [...uncertainties(mappings, winner), ...errorNotes(findings)],
  }
}

function configOf(value: unknown): ExternalAuthConfig {
  return (shape(mcpExternalAuthConfig, value).resource ?? {}) as ExternalAuthConfig
}

const mappingsOf = ({ spec }: ExternalAuthConfig): RoleMappings => spec?.awsSts?.roleMappings ?? []

const LAST = Number.MAX_VALUE
const priorityOf = (mapping: RoleMapping | undefined) => mapping?.priority ?? LAST

function given(mapping: RoleMapping | undefined): Partial<MappingOutcome> {
  const { claim, matcher, priority, roleArn } = mapping ?? {}
  return {
    ...(claim === undefined ? {} : { claim }),
    ...(matcher === undefined ? {} : { matcher }),
    ...(priority === undefined ? {} : { priority }),
    ...(roleArn === undefined ? {} : { roleArn }),
  }
}

/** What role-mapping-reachable says of a mapping or of its matcher. */
function unreachableMappings(findings: readonly Finding[]): ReadonlyMap<number, string> {
  const ours = findings.filter(({ id }) => id === 'role-mapping-reachable')
  return new Map(ours.map(({ error }) => [Number(error.at[3]), error.detail]))
}

type Told = Pick<MappingOutcome, 'outcome' | 'reason'>

const told = (outcome: Outcome, detail: string): Told => ({ outcome, reason: `${outcome}: ${detail}` })
const NO_MATCH: Told = { outcome: 'noMatch', reason: 'no match' }
const MATCH: Told = { outcome: 'match', reason: 'match' }

function outcomeOf(
  mapping: RoleMapping | undefined,
  roleClaim: string | undefined,
  claims: Claims,
  evaluationOf: (matcher: string) => Evaluation | undefined,
): Told {
  if (mapping === undefined) return told('refused', 'it is no mapping')
  const { claim, matcher, roleArn } = mapping
  if (!roleArn) return told('refused', 'it has no roleArn')
  if (!isAbsent(mapping, 'claim') && !isAbsent(mapping, 'matcher'))
    return told('refused', 'it has both a claim and a matcher')
  if (claim) return claimOutcome(claim, filledOr(roleClaim, 'groups'), claims)
  if (matcher) return matcherOutcome(evaluationOf(matcher))
  return told('noMatch', 'never: it has neither a claim nor a matcher (releases do not start with it)')
}

/** `claim in claims[roleClaim]`, as CEL evaluates it. */
function claimOutcome(claim: string, roleClaim: string, claims: Claims): Told {
  const path = claimPath(roleClaim)
  if (!Object.hasOwn(claims, roleClaim)) return told('skipped', `there is no ${path}`)
  const holder = claims[roleClaim]
  if (Array.isArray(holder)) return holder.includes(claim) ? MATCH : NO_MATCH
  if (typeof holder === 'object' && holder !== null) return Object.hasOwn(holder, claim) ? MATCH : NO_MATCH
  return told('skipped', `${path} is ${described(fromJson(holder))}, and \`in\` needs a list`)
}

function matcherOutcome(evaluation: Evaluation | undefined): Told {
  switch (evaluation?.kind) {
    case undefined:
      return told('stopped', 'it was not evaluated')
    case 'value':
      return evaluation.value ? MATCH : NO_MATCH
    case 'otherType':
      return told('skipped', `the result is ${evaluation.type}, and only true matches`)
    case 'failed':
      return told('skipped', evaluation.message)
    case 'refused':
      return told('refused', evaluation.message)
    case 'stopped':
      return { outcome: 'stopped', reason: `stopped ${evaluation.message}` }
  }
}

function afterWinner(mapping: MappingOutcome, winner: MappingOutcome | undefined): MappingOutcome {
  if (mapping.outcome !== 'match' || winner === undefined || mapping === winner) return mapping
  return { ...mapping, reason: `match, but ${placeOf(winner)} comes first` }
}

export const placeOf = ({ index }: Pick<MappingOutcome, 'index'>): string => `roleMappings[${index}]`

/** A mapping that is refused takes the whole configuration with it. */
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
  const reason = mappings.length === 0 ? 'there are no role mappings' : 'no mapping matches'
  if (fallbackRoleArn)
    return { role: fallbackRoleArn, from: 'fallback', reason: `fallbackRoleArn, as ${reason}` }
  return { from: 'nowhere', reason: `${reason}, and there is no fallbackRoleArn` }
}

/** A mapping that was stopped and would come first decides, should the gateway get to its end. */
function uncertainties(mappings: readonly MappingOutcome[], winner: MappingOutcome | undefined): string[] {
  const before = winner === undefined ? mappings : mappings.slice(0, mappings.indexOf(winner))
  return before
    .filter(({ outcome }) => outcome === 'stopped')
    .map((mapping) => `${placeOf(mapping)} was stopped: the gateway may get further and give its role`)
}

function errorNotes(findings: readonly Finding[]): string[] {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  if (errors === 0) return []
  return [
    `'vmcp-admission check' finds ${errors === 1 ? 'an error' : `${errors} errors`} in this configuration`,
  ]
}
