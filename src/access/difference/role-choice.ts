import {
  evaluate,
  fromJson,
  type Literal,
  type Program,
  programOf,
  type Spend,
  type Value,
  type ClaimsWorld,
} from '../../cel/index.ts'
import { type Budget, isAbsent } from '../../rule/index.ts'
import { hasInClaim } from '../../kinds/mcp-external-auth-config/proofs.ts'
import { type Claims, claimPath, filledOr } from '../role/claims.ts'
import { claimOutcome, configOf, mappingsOf, placeOf, priorityOf } from '../role/decide.ts'
import { bounded, LIMITS, Stopped } from '../role/matcher.ts'
import type { RoleSelection } from '../../kinds/mcp-external-auth-config/generations.ts'
import {
  type Choice,
  type Condition,
  everyone,
  nobody,
  NOTHING,
  type Outcome,
  type Alternative,
  indivisible,
} from './choice.ts'
import { isTrue } from './condition.ts'

/** A role mapping in the form in which a gateway evaluates it. */
export interface ReadMapping {
  readonly index: number
  readonly roleArn: string
  /** The value that the role claim must contain, or the matcher. */
  readonly condition: string | Program
}

/** The role mappings of an `awsSts`, in the order in which the gateway tries them. */
export interface ReadMappings {
  readonly mappings: readonly ReadMapping[]
  readonly roleClaim: string
  readonly fallback: string | undefined
  /** Why the workload does not start with these role mappings; undefined when it starts. */
  readonly refused: string | undefined
}

/** Reads the role mappings of an MCPExternalAuthConfig (any JSON value) as releases with this cel-go version do. */
function readMappings(value: unknown, { celGo }: RoleSelection): ReadMappings {
  const config = configOf(value)
  const { roleClaim, fallbackRoleArn } = config.spec?.awsSts ?? {}
  const refused: string[] = []
  const mappings = mappingsOf(config)
    .map((mapping, index) => ({ mapping, index }))
    .toSorted((a, b) => priorityOf(a.mapping) - priorityOf(b.mapping))
    .flatMap(({ mapping, index }): ReadMapping[] => {
      const { claim, matcher, roleArn } = mapping ?? {}
      const compiled = matcher && !claim ? programOf(matcher, celGo) : undefined
      const program = typeof compiled === 'string' ? undefined : compiled
      const isTwice = mapping !== undefined && !isAbsent(mapping, 'claim') && !isAbsent(mapping, 'matcher')
      const condition = claim === '' ? program : (claim ?? program)
      if (!roleArn || isTwice || condition === undefined) {
        refused.push(placeOf({ index }))
        return []
      }
      return [{ index, roleArn, condition }]
    })
  return {
    mappings,
    roleClaim: filledOr(roleClaim, 'groups'),
    fallback: fallbackRoleArn === '' ? undefined : fallbackRoleArn,
    refused:
      refused.length === 0 ? undefined : `the workload does not start because of ${refused.join(', ')}`,
  }
}

/** The AWS roles that an MCPExternalAuthConfig grants to callers; when `value` is undefined, no caller gets a role. */
export function roleChoice(value: unknown, selection: RoleSelection): Choice {
  if (value === undefined) return NOTHING
  const read = readMappings(value, selection)
  return {
    alternatives: (world) => waysOf(world, read, selection),
    decide: (claims, budget) => decide(claims, read, { selection, budget }),
  }
}

function waysOf(world: ClaimsWorld, read: ReadMappings, selection: RoleSelection): readonly Alternative[] {
  const { mappings, refused } = read
  const alternatives = (conditionFor: (mapping: ReadMapping) => Condition) =>
    mappings.map((mapping) => ({
      access: mapping.roleArn,
      by: placeOf(mapping),
      condition: conditionFor(mapping),
    }))
  if (refused !== undefined)
    return [...alternatives(() => nobody(world, refused)), { by: refused, condition: everyone(world) }]
  const closed = closedOf(world, read, selection)
  return [
    ...alternatives((mapping) => conditionOf(world, mapping, read, selection)),
    ...(closed === world.false
      ? []
      : [
          {
            by: closedBy(read),
            condition: indivisible(closed, `${rolesOf(read)} is neither a list nor a text`),
          },
        ]),
    { ...restOf(read), condition: everyone(world) },
  ]
}

const rolesOf = ({ roleClaim }: Pick<ReadMappings, 'roleClaim'>): string => claimPath(roleClaim)
const closedBy = (read: Pick<ReadMappings, 'roleClaim'>): string =>
  `no mapping matches, and ${rolesOf(read)} is neither a list nor a string`

/** The outcome when no role mapping matches the caller: the fallback role, if one is set. */
const restOf = ({ fallback }: Pick<ReadMappings, 'fallback'>): Outcome =>
  fallback === undefined
    ? { by: 'no mapping matches, and there is no fallbackRoleArn' }
    : { access: fallback, by: 'fallbackRoleArn' }

/** The condition under which a role mapping matches the caller's claims. */
function conditionOf(
  world: ClaimsWorld,
  { condition }: ReadMapping,
  read: ReadMappings,
  selection: RoleSelection,
): Condition {
  if (typeof condition !== 'string') return isTrue(world, condition)
  return indivisible(
    hasInClaim(world, read.roleClaim, condition, selection),
    `${JSON.stringify(condition)} in ${rolesOf(read)}`,
  )
}

/** True when gateways of newer operator releases grant no role because the role claim has a wrong JSON type. */
function closedOf(
  world: ClaimsWorld,
  { mappings, roleClaim }: ReadMappings,
  selection: RoleSelection,
): Literal {
  if (selection.roleClaim !== 'asList' || mappings.every(({ condition }) => typeof condition !== 'string'))
    return world.false
  const { forms } = world.memberAt(world.root, roleClaim)
  return world.and(-forms.absent, -forms.string, -forms.list)
}

function decide(
  claims: Claims,
  { mappings, refused, ...read }: ReadMappings,
  { selection, budget }: Deciding,
): Outcome {
  if (refused !== undefined) return { by: refused }
  const value = fromJson(claims)
  const { roleClaim } = read
  let isClosed = false
  for (const mapping of mappings) {
    const { condition } = mapping
    if (typeof condition !== 'string') {
      if (isTrueFor(condition, value, budget)) return outcomeOf(mapping)
      continue
    }
    const { outcome } = claimOutcome(condition, { selection, roleClaim, claims })
    if (outcome === 'match') return outcomeOf(mapping)
    isClosed ||= outcome === 'failsClosed'
  }
  return isClosed ? { by: closedBy(read) } : restOf(read)
}

interface Deciding {
  readonly selection: RoleSelection
  readonly budget: Budget | undefined
}

const outcomeOf = (mapping: ReadMapping): Outcome => ({ access: mapping.roleArn, by: placeOf(mapping) })

/** Whether the matcher is true for these claims; false when it fails or is not a bool. Throws OutOfBudget. */
export function isTrueFor(program: Program, claims: Value, budget?: Budget): boolean {
  const within = bounded(LIMITS, Infinity, () => 0)
  const spend: Spend = (cost, work = cost / 4) => {
    within(cost)
    budget?.spend(work)
  }
  try {
    return evaluate(program.expr, { ...program, claims, spend }) === true
  } catch (error) {
    if (error instanceof Stopped) return false
    throw error
  }
}
