import { evaluate } from '../../cel/evaluate/evaluate.ts'
import { fromJson, type Spend, type Value } from '../../cel/evaluate/values.ts'
import { read } from '../../cel/reason/reader.ts'
import type { Literal } from '../../cel/reason/solver.ts'
import { isText } from '../../cel/reason/texts.ts'
import type { World } from '../../cel/reason/world.ts'
import { isAbsent } from '../../rule/resource.ts'
import { type Claims, filledOr } from '../role/claims.ts'
import { configOf, mappingsOf, placeOf, priorityOf } from '../role/decide.ts'
import { bounded, LIMITS, type Program, programOf, Stopped } from '../role/matcher.ts'
import type { RoleSelection } from '../role/releases.ts'
import { type Choice, firstOf, joined, NOTHING, type Outcome } from './choice.ts'

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
    encode: (world) => encode(world, read, selection),
    decide: (claims) => decide(claims, read, selection),
  }
}

function encode(world: World, read: ReadMappings, selection: RoleSelection): ReadonlyMap<string, Literal> {
  const { mappings, fallback, refused } = read
  if (refused !== undefined) return new Map([['', world.true]])
  const tried = mappings.map((mapping) => ({
    when: conditionOf(world, mapping, read, selection),
    access: mapping.roleArn,
  }))
  const { outcomes, rest } = firstOf(world, tried)
  const closed = closedOf(world, read, selection)
  const add = (access: string, literal: Literal) =>
    outcomes.set(access, [...(outcomes.get(access) ?? []), literal])
  add(fallback ?? '', world.and(rest, -closed))
  add('', world.and(rest, closed))
  return joined(world, outcomes)
}

/** When a mapping matches. */
export function conditionOf(
  world: World,
  { claim, program }: ReadMapping,
  { roleClaim }: ReadMappings,
  selection: RoleSelection,
): Literal {
  if (program !== undefined) return readProgram(world, program)
  if (claim === undefined) return world.false
  const place = world.part(world.root, roleClaim)
  const { forms } = place
  const elements = world.elements(place)
  const isElement = elements.and(elements.root.forms.string, elements.text(elements.root, isText(claim)))
  const inList = world.and(forms.list, world.atLeast(place, 1, isElement))
  const other =
    selection.roleClaim === 'asList'
      ? world.and(forms.string, world.text(place, isText(claim)))
      : world.and(forms.map, -world.part(place, claim).forms.absent)
  return world.or(inList, other)
}

const readProgram = (world: World, { expr, settled, celGo }: Program): Literal =>
  read(world, expr, { settled, celGo }).yes

/** When the role claim has a form for which newer gateways give no role at all. */
function closedOf(world: World, { mappings, roleClaim }: ReadMappings, selection: RoleSelection): Literal {
  if (selection.roleClaim !== 'asList' || mappings.every(({ claim }) => claim === undefined))
    return world.false
  const { forms } = world.part(world.root, roleClaim)
  return world.and(-forms.absent, -forms.string, -forms.list)
}

function decide(claims: Claims, read: ReadMappings, selection: RoleSelection): Outcome {
  const { mappings, fallback, refused, roleClaim } = read
  if (refused !== undefined) return { by: refused }
  const value = fromJson(claims)
  const spend = bounded(LIMITS, Infinity, () => 0)
  for (const mapping of mappings) {
    if (matches(mapping, claims, value, { roleClaim, selection, spend }))
      return { access: mapping.roleArn, by: placeOf(mapping) }
  }
  if (isClosed(claims, read, selection))
    return { by: `no mapping matches, and claims.${roleClaim} is neither a list nor a string` }
  return fallback === undefined
    ? { by: 'no mapping matches, and there is no fallbackRoleArn' }
    : { access: fallback, by: 'fallbackRoleArn' }
}

interface Way {
  readonly roleClaim: string
  readonly selection: RoleSelection
  readonly spend: Spend
}

function matches(
  { claim, program }: ReadMapping,
  claims: Claims,
  value: Value,
  { roleClaim, selection, spend }: Way,
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
