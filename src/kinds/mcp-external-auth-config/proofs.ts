import {
  type CelGoVersion,
  isText,
  isTrueWithoutClaims,
  type Literal,
  type Program,
  type Programs,
  programsOf,
  provedConstant,
  read,
  solve,
  ClaimsWorld,
} from '../../cel/index.ts'
import { BoundedCache, Budget, OutOfBudget, withinBudget } from '../../rule/index.ts'
import { type MappingCondition, eachIsReached } from './callers.ts'
import { LIST_CLAIMS } from './claim-shapes.ts'
import { COMPILED_PER_UNIT } from './matcher-verdicts.ts'
import { GENERATIONS, NEWEST, type RoleSelection } from './generations.ts'

/** The most units of `Budget` for a proof about one matcher; the next constant is for a list of role mappings. */
const MATCHER_UNITS = 3_000
const LIST_UNITS = 15_000
/** The most role mappings in a list about which proofs are attempted. */
export const MOST_MAPPINGS = 32

/**
 * The literal in the formula `world` that is true when the caller's claim `roleClaim` contains the text `claim`,
 * which is the value of the field `claim` in a role mapping.
 */
export function hasInClaim(
  world: ClaimsWorld,
  roleClaim: string,
  claim: string,
  selection: RoleSelection,
): Literal {
  const place = world.memberAt(world.root, roleClaim)
  const { forms } = place
  const elements = world.elements(place)
  const isElement = elements.and(elements.root.forms.string, elements.text(elements.root, isText(claim)))
  const inList = world.and(forms.list, world.atLeast(place, 1, isElement))
  const other =
    selection.roleClaim === 'asList'
      ? world.and(forms.string, world.text(place, isText(claim)))
      : world.and(forms.map, -world.memberAt(place, claim).forms.absent)
  return world.or(inList, other)
}

/** The budget for proofs about matchers, with the programs compiled so far. */
interface Asked {
  readonly budget: Budget
  /** The compiled programs by the text of the matcher. */
  readonly programs: Map<string, Programs>
}

/** The compiled program, or the error that prevents it. Throws OutOfBudget. */
function compiled(matcher: string, celGo: CelGoVersion, { budget, programs }: Asked): Program | string {
  budget.spend(matcher.length / COMPILED_PER_UNIT)
  let found = programs.get(matcher)
  if (found === undefined) programs.set(matcher, (found = programsOf(matcher)))
  return found[celGo]
}

/**
 * The result of `of` for a matcher, if it is the same with both versions of cel-go; undefined when the results differ,
 * or when a version refuses the matcher.
 */
function inBoth<T>(matcher: string, budget: Budget, of: (program: Program) => T | undefined): T | undefined {
  const asked: Asked = { budget, programs: new Map() }
  const newer = compiled(matcher, '0.33', asked)
  const found = typeof newer === 'string' ? undefined : of(newer)
  if (found === undefined) return undefined
  const older = compiled(matcher, '0.32', asked)
  return typeof older !== 'string' && of(older) === found ? found : undefined
}

/** A cached answer to a question about matchers, and the units of `Budget` that it cost. */
interface Answer<T> {
  readonly value: T
  readonly spent: number
}

interface Question<T> {
  readonly answers: BoundedCache<Answer<T>>
  /** The most budget units that one answer to the question may cost. */
  readonly units: number
}

/**
 * Computes or looks up the answer to a question about matchers. A cached answer is charged its original cost, so that
 * the cache changes no verdict; for the same reason it is not cached when `budget` is spent, which may have ended the
 * search. Throws OutOfBudget.
 */
function answered<T>(
  { answers, units }: Question<T>,
  key: string,
  budget: Budget,
  find: (budget: Budget) => T,
): T {
  const before = answers.get(key)
  if (before !== undefined && before.spent <= Math.min(units, budget.left)) {
    budget.spend(before.spent)
    return before.value
  }
  const own = budget.part(units)
  const value = find(own)
  if (budget.left > 0) answers.set(key, { value, spent: own.spent }, 0)
  return value
}

const CONSTANT: Question<boolean | undefined> = {
  answers: new BoundedCache('constants of matchers', 2 ** 20),
  units: MATCHER_UNITS,
}
const OPEN: Question<boolean> = {
  answers: new BoundedCache('matchers without claims', 4 * 2 ** 20),
  units: MATCHER_UNITS,
}

/**
 * The value of a matcher (true or false) if it is proved to be the same whatever the claims of the caller, in every
 * release; else undefined. Throws OutOfBudget.
 */
export const constantOfAllReleases = (matcher: string, budget: Budget): boolean | undefined =>
  answered(CONSTANT, matcher, budget, (own) =>
    inBoth(matcher, own, (program) => provedConstant(program, own)),
  )

/** Whether a matcher is true for a caller without any claim. Throws OutOfBudget. */
export const acceptsNoClaims = (matcher: string, budget: Budget): boolean =>
  answered(
    OPEN,
    matcher,
    budget,
    (own) => inBoth(matcher, own, (program) => isTrueWithoutClaims(program, own)) === true,
  )

/** A role mapping with a single condition, `claim` or `matcher`. */
export interface Conditional {
  readonly index: number
  readonly claim?: string | undefined
  readonly matcher?: string | undefined
}

/** The earlier mappings that together match all callers of a mapping; `by` is empty when the mapping matches nobody. */
export interface Taken {
  readonly by: readonly number[]
  /** Whether a single earlier mapping matches exactly the same callers. */
  readonly isSame: boolean
}

/** The mappings in a list that are proved to be unreachable. */
export interface Proved {
  /** For each unreachable mapping, by its index: the earlier mappings that match all its callers. */
  readonly taken: ReadonlyMap<number, Taken>
  /** The index of the mapping at which the budget ran out; undefined if all mappings were decided. */
  readonly undecided: number | undefined
}

/** The longest list of role mappings, in characters of JSON, in which unreachable mappings are searched by proof. */
const LONGEST_LIST = 64 * 1024
const TAKEN: Question<Proved> = {
  answers: new BoundedCache('proofs of role mappings', 2 ** 20),
  units: LIST_UNITS,
}

/**
 * The mappings that are never reached because earlier mappings, in the order of evaluation, match all their callers.
 * Proved for every release, and for tokens in which groups and roles are lists, as every identity provider issues them.
 */
export function takenByEarlier(mappings: readonly Conditional[], roleClaim: string, budget: Budget): Proved {
  if (mappings.length > MOST_MAPPINGS) return NOTHING
  const key = JSON.stringify([roleClaim, mappings])
  if (key.length > LONGEST_LIST) return NOTHING
  return answered(TAKEN, key, budget, (own) => {
    const programs = new Map<string, Programs>()
    const isPlain = isEachReached(mappings, roleClaim, { budget: own, programs })
    return isPlain ? NOTHING : proveTaken(mappings, roleClaim, own, programs)
  })
}

const NOTHING: Proved = { taken: new Map(), undecided: undefined }

/** The unreachable mappings of a list, searched only by proofs, without trying made-up callers first. */
export function proveTaken(
  mappings: readonly Conditional[],
  roleClaim: string,
  budget: Budget,
  programs = new Map<string, Programs>(),
): Proved {
  const taken = new Map<number, Taken>()
  let asked: number | undefined
  const worldOf = (selection: RoleSelection, some: readonly Conditional[]) => {
    const world = new ClaimsWorld(budget, ['map'])
    const conditions = some.map((each) => {
      asked = each.index
      return conditionOf(world, each, { roleClaim, selection, programs })
    })
    for (const [name, { forms }] of world.root.parts)
      if (LIST_CLAIMS.has(String(name))) world.clause([forms.list, forms.absent, forms.null])
    return { world, conditions }
  }
  try {
    const { world, conditions } = worldOf(NEWEST, mappings)
    for (const [i, mapping] of mappings.entries()) {
      asked = mapping.index
      const condition = conditions[i] ?? 0
      const by = coverOf(world, condition, conditions.slice(0, i))
      if (by === undefined) continue
      const covering = by.flatMap((place) => mappings[place] ?? [])
      const isProved = GENERATIONS.every((selection) => {
        if (selection === NEWEST) return true
        const other = worldOf(selection, [mapping, ...covering])
        const [own = 0, ...theirs] = other.conditions
        return solve(other.world, [own, ...theirs.map((each) => -each)]).is === 'impossible'
      })
      if (!isProved) continue
      const [only = 0] = by.map((place) => conditions[place] ?? 0)
      const isSame = by.length === 1 && solve(world, [only, -condition]).is === 'impossible'
      taken.set(mapping.index, { by: covering.map(({ index }) => index), isSame })
    }
    asked = undefined
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
  }
  return { taken, undecided: asked }
}

/** The most units of `Budget` for trying made-up callers before a proof, which for most lists is then unnecessary. */
const TRIED_UNITS = 500

/**
 * Whether made-up callers show that each mapping is reached. A failed attempt spends nothing of `asked.budget`, so that
 * all units remain for proofs.
 */
function isEachReached(mappings: readonly Conditional[], roleClaim: string, asked: Asked): boolean {
  const own = new Budget(Math.min(TRIED_UNITS, asked.budget.left))
  const isReached = withinBudget(() => {
    const conditions = mappings.flatMap(({ claim, matcher = '' }): MappingCondition[] => {
      if (claim !== undefined) return [{ claim }]
      const program = compiled(matcher, NEWEST.celGo, { ...asked, budget: own })
      return typeof program === 'string' ? [] : [{ program }]
    })
    return conditions.length === mappings.length && eachIsReached(conditions, roleClaim, own)
  })
  if (isReached !== true) return false
  asked.budget.spend(own.spent)
  return true
}

/**
 * The indexes of earlier conditions of which at least one is true whenever `condition` is true. Empty when `condition`
 * is never true; undefined when nothing is proved.
 */
function coverOf(world: ClaimsWorld, condition: Literal, earlier: readonly Literal[]): number[] | undefined {
  const all = solve(world, [condition, ...earlier.map((each) => -each)])
  if (all.is !== 'impossible') return undefined
  let by = [...earlier.keys()].filter((place) => all.because.includes(-(earlier[place] ?? 0)))
  for (const place of by.toReversed()) {
    const rest = by.filter((other) => other !== place)
    const covers = solve(world, [condition, ...rest.map((other) => -(earlier[other] ?? 0))])
    if (covers.is === 'impossible') by = rest
  }
  return by
}

function conditionOf(
  world: ClaimsWorld,
  { claim, matcher }: Conditional,
  {
    roleClaim,
    selection,
    programs,
  }: Pick<Asked, 'programs'> & {
    readonly roleClaim: string
    readonly selection: RoleSelection
  },
): Literal {
  if (claim !== undefined) return hasInClaim(world, roleClaim, claim, selection)
  const { budget } = world
  const program = matcher === undefined ? '' : compiled(matcher, selection.celGo, { budget, programs })
  return typeof program === 'string' ? world.false : read(world, program.expr, program).yes
}
