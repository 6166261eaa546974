import { evaluate } from '../../cel/evaluate/evaluate.ts'
import { fromJson, type Spend, type Value } from '../../cel/evaluate/values.ts'
import type { Literal } from '../../cel/reason/solver.ts'
import type { World } from '../../cel/reason/world.ts'
import { hasInClaim } from '../../kinds/mcp-external-auth-config/proofs.ts'
import { isAbsent } from '../../rule/resource.ts'
import { type Claims, claimPath, filledOr } from '../role/claims.ts'
import { configOf, mappingsOf, placeOf, priorityOf } from '../role/decide.ts'
import { bounded, LIMITS, Stopped } from '../role/matcher.ts'
import { type Program, programOf } from '../../cel/reason/program.ts'
import type { RoleSelection } from '../role/releases.ts'
import {
  type Choice,
  type Condition,
  everyone,
  nobody,
  NOTHING,
  type Outcome,
  type Way,
  whole,
} from './choice.ts'
import { isTrue } from './condition.ts'

/** A mapping that a gateway can evaluate. */
export interface ReadMapping {
  readonly index: number
  readonly roleArn: string
  /** Neither: nobody matches. */
  readonly claim: string | undefined
  readonly program: Program | undefined
}

/** The mappings of a configuration in the order tried. */
export interface ReadMappings {
  readonly mappings: readonly ReadMapping[]
  readonly roleClaim: string
  readonly fallback: string | undefined
  /** Why the workload does not start. */
  readonly refused: string | undefined
}

/** Reads the role mappings of an awsSts configuration, any JSON, as gateways with this selection do. */
export function readMappings(value: unknown, { celGo }: RoleSelection): ReadMappings {
  const config = configOf(value)
  const { roleClaim, fallbackRoleArn } = config.spec?.awsSts ?? {}
  const refused: string[] = []
  const mappings = mappingsOf(config)
    .map((mapping, index) => ({ mapping, index }))
    .toSorted((a, b) => priorityOf(a.mapping) - priorityOf(b.mapping))
    .flatMap(({ mapping, index }): ReadMapping[] => {
      const program = mapping?.matcher && !mapping.claim ? programOf(mapping.matcher, celGo) : undefined
      const isTwice = mapping !== undefined && !isAbsent(mapping, 'claim') && !isAbsent(mapping, 'matcher')
      if (!mapping?.roleArn || isTwice || typeof program === 'string') {
        refused.push(placeOf({ index }))
        return []
      }
      return [
        { index, roleArn: mapping.roleArn, claim: mapping.claim === '' ? undefined : mapping.claim, program },
      ]
    })
  return {
    mappings,
    roleClaim: filledOr(roleClaim, 'groups'),
    fallback: fallbackRoleArn === '' ? undefined : fallbackRoleArn,
    refused:
      refused.length === 0 ? undefined : `the workload does not start because of ${refused.join(', ')}`,
  }
}

/** Which role callers get of an awsSts configuration; undefined stands for none. */
export function roleChoice(value: unknown, selection: RoleSelection): Choice {
  if (value === undefined) return NOTHING
  const read = readMappings(value, selection)
  return {
    ways: (world) => waysOf(world, read, selection),
    decide: (claims) => decide(claims, read, selection),
  }
}

function waysOf(world: World, read: ReadMappings, selection: RoleSelection): readonly Way[] {
  const { mappings, refused } = read
  const ways = (conditionFor: (mapping: ReadMapping) => Condition) =>
    mappings.map((mapping) => ({
      access: mapping.roleArn,
      by: placeOf(mapping),
      condition: conditionFor(mapping),
    }))
  if (refused !== undefined)
    return [...ways(() => nobody(world, refused)), { by: refused, condition: everyone(world) }]
  const closed = closedOf(world, read, selection)
  return [
    ...ways((mapping) => conditionOf(world, mapping, read, selection)),
    ...(closed === world.false
      ? []
      : [{ by: closedBy(read), condition: whole(closed, `${rolesOf(read)} is neither a list nor a text`) }]),
    { ...restOf(read), condition: everyone(world) },
  ]
}

const rolesOf = ({ roleClaim }: ReadMappings): string => claimPath(roleClaim)
const closedBy = (read: ReadMappings): string =>
  `no mapping matches, and ${rolesOf(read)} is neither a list nor a string`

/** What callers get whom no mapping takes. */
const restOf = ({ fallback }: ReadMappings): Outcome =>
  fallback === undefined
    ? { by: 'no mapping matches, and there is no fallbackRoleArn' }
    : { access: fallback, by: 'fallbackRoleArn' }

/** When a mapping matches. */
function conditionOf(
  world: World,
  { claim, program }: ReadMapping,
  read: ReadMappings,
  selection: RoleSelection,
): Condition {
  if (program !== undefined) return isTrue(world, program)
  if (claim === undefined) return nobody(world, 'it has neither a claim nor a matcher')
  return whole(
    hasInClaim(world, read.roleClaim, claim, selection),
    `${JSON.stringify(claim)} in ${rolesOf(read)}`,
  )
}

/** When the role claim has a form for which newer gateways give no role at all. */
function closedOf(world: World, { mappings, roleClaim }: ReadMappings, selection: RoleSelection): Literal {
  if (selection.roleClaim !== 'asList' || mappings.every(({ claim }) => claim === undefined))
    return world.false
  const { forms } = world.part(world.root, roleClaim)
  return world.and(-forms.absent, -forms.string, -forms.list)
}

function decide(claims: Claims, read: ReadMappings, selection: RoleSelection): Outcome {
  const { mappings, refused, roleClaim } = read
  if (refused !== undefined) return { by: refused }
  const value = fromJson(claims)
  const spend = bounded(LIMITS, Infinity, () => 0)
  for (const mapping of mappings) {
    if (matches(mapping, claims, value, { roleClaim, selection, spend }))
      return { access: mapping.roleArn, by: placeOf(mapping) }
  }
  return isClosed(claims, read, selection) ? { by: closedBy(read) } : restOf(read)
}

interface Lookup {
  readonly roleClaim: string
  readonly selection: RoleSelection
  readonly spend: Spend
}

function matches(
  { claim, program }: ReadMapping,
  claims: Claims,
  value: Value,
  { roleClaim, selection, spend }: Lookup,
): boolean {
  if (program !== undefined) return isTrueFor(program, value, spend)
  if (claim === undefined) return false
  const holder = Object.hasOwn(claims, roleClaim) ? claims[roleClaim] : undefined
  if (Array.isArray(holder)) return holder.includes(claim)
  if (selection.roleClaim === 'asList') return holder === claim
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, claim)
}

/** Whether the matcher is true; a failure and a value that is not a bool are not. */
export function isTrueFor(program: Program, claims: Value, spend: Spend): boolean {
  try {
    return evaluate(program.expr, { ...program, claims, spend }) === true
  } catch (error) {
    if (error instanceof Stopped) return false
    throw error
  }
}

function isClosed(claims: Claims, { mappings, roleClaim }: ReadMappings, selection: RoleSelection): boolean {
  if (selection.roleClaim !== 'asList' || mappings.every(({ claim }) => claim === undefined)) return false
  const holder = claims[roleClaim]
  return Object.hasOwn(claims, roleClaim) && !Array.isArray(holder) && typeof holder !== 'string'
}
