import { Budget, withinBudget } from '../../rule/index.ts'
import { type Literal, solve, ClaimsWorld } from '../../cel/index.ts'
import type { Claims } from '../role/claims.ts'
import { type Choice, type Condition, everyone, type Alternative } from './choice.ts'
import { BOUND, COMPARISON } from './compare.ts'
import { sampled, whyNotDecided } from './samples.ts'
import { UNKNOWN_TOKENS, type CallerTokens, canExist } from '../role/caller-tokens.ts'
import { shrink } from './shrink.ts'
import { onlyThose, soughtFirst } from './usual.ts'

/** A field that grants an access (such as a role), and the callers who get the access from this field. */
export interface Grant {
  readonly access: string
  /** The field that grants the access, such as `roleMappings[0]`. */
  readonly by: string
  /** The condition of the field on callers, in the words of the manifest; null when all callers satisfy it. */
  readonly callers: string | null
  /** Callers who satisfy the condition, but to whom an earlier field gives another access or no access. */
  readonly except: readonly Taken[]
  /** Whether it is proved that no part of `callers` and `except` can be left out. */
  readonly isMinimal: boolean
  readonly answer: Answer
}

type Description = Pick<Grant, 'callers' | 'except' | 'isMinimal'>

type Answer =
  | { readonly is: 'somebody'; readonly example: Claims }
  /** Proved: callers do not get the access from this field; `takenBy` names earlier fields that match them first. */
  | { readonly is: 'nobody'; readonly why: string; readonly takenBy: readonly string[] }
  | { readonly is: 'not decided'; readonly why: string }

interface Taken {
  readonly callers: string
  readonly by: string
  /** The access that these callers get instead; null when they get no access. */
  readonly access: string | null
}

/** The result of `grantsOf` when the role mappings, or the policy, are too large for the budget. */
const UNREAD: Grant = {
  access: '',
  by: '',
  callers: null,
  except: [],
  isMinimal: false,
  answer: { is: 'not decided', why: BOUND },
}

interface Settings {
  readonly budget?: Budget
  /** The claims of callers that are tried first as the example of a caller who gets the access. */
  readonly callers?: readonly Claims[]
  /** The tokens that callers can have: only claims that at least one of these tokens has are considered. */
  readonly callerTokens?: CallerTokens
}

/** The fields of role mappings or a policy that grant a wanted access, and the callers who get it from each field. */
export function grantsOf(
  choice: Choice,
  isAsked: (access: string) => boolean,
  { budget = new Budget(COMPARISON), callers = [], callerTokens = UNKNOWN_TOKENS }: Settings = {},
): Grant[] {
  const read = withinBudget(() => {
    const world = new ClaimsWorld(budget, ['map'])
    const alternatives = choice.alternatives(world)
    onlyThose(world, callerTokens)
    return { world, alternatives }
  })
  if (read === undefined) return [UNREAD]
  const { world, alternatives } = read
  return alternatives.flatMap((alternative, i): Grant[] => {
    const { access } = alternative
    if (access === undefined || !isAsked(access)) return []
    const earlier = alternatives.slice(0, i)
    const answer = withinBudget(() =>
      answerFor({ choice, world, callers, callerTokens }, alternative, earlier),
    ) ?? {
      is: 'not decided',
      why: BOUND,
    }
    const described =
      answer.is === 'nobody' ? as(alternative.condition, [], true) : describe(world, alternative, earlier)
    return [{ access, by: alternative.by, ...described, answer }]
  })
}

interface Search {
  readonly choice: Choice
  readonly world: ClaimsWorld
  readonly callers: readonly Claims[]
  readonly callerTokens: CallerTokens
}

function answerFor(
  { choice, world, callers, callerTokens }: Search,
  alternative: Alternative,
  earlier: readonly Alternative[],
): Answer {
  const gets = (claims: Claims) => {
    if (!canExist(claims, callerTokens)) return false
    const { access, by } = choice.decide(claims, world.budget)
    return access === alternative.access && by === alternative.by
  }
  const somebody = (claims: Claims): Answer => ({ is: 'somebody', example: shrink(claims, gets) })
  const known = callers.find(gets)
  if (known !== undefined) return somebody(known)
  const assumptions = [alternative.condition.when, ...earlier.map(({ condition }) => -condition.when)]
  const found = soughtFirst(world, callerTokens, (more) =>
    solve(world, [...assumptions, ...more], (value) => gets(value as Claims)),
  )
  if (found.is === 'possible') return somebody(found.value as Claims)
  if (found.is === 'impossible') {
    const taking = earlier.filter(({ condition }) => found.because.includes(-condition.when))
    const takenBy = needed(world, alternative, taking).map(({ by }) => by)
    return nobodyAs(alternative, takenBy, callerTokens)
  }
  const tried = sampled(world, gets)
  return tried === undefined ? { is: 'not decided', why: whyNotDecided(world) } : somebody(tried)
}

function nobodyAs({ condition }: Alternative, takenBy: readonly string[], { issued }: CallerTokens): Answer {
  const taken =
    takenBy.length === 1 ? `${takenBy.join()} takes every caller` : `${takenBy.join(', ')} take every caller`
  const why =
    condition.never ??
    (takenBy.length === 0 ? `no caller satisfies it${issued === '' ? '' : `; ${issued}`}` : taken)
  return { is: 'nobody', why, takenBy }
}

/** Removes alternatives from `taking` as long as the rest still match all callers who satisfy `condition`. */
function needed(
  world: ClaimsWorld,
  { condition }: Alternative,
  taking: readonly Alternative[],
): readonly Alternative[] {
  let left = taking
  for (const each of taking.toReversed()) {
    const rest = left.filter((other) => other !== each)
    if (isImpossible(world, [condition.when, ...rest.map((other) => -other.condition.when)])) left = rest
  }
  return left
}

const isImpossible = (world: ClaimsWorld, literals: readonly Literal[]): boolean =>
  solve(world, literals).is === 'impossible'

/**
 * Describes the callers who get an access from a field, in the words of the manifest, without superfluous parts. An
 * earlier field that gives the same access is not listed as an exception.
 */
function describe(
  world: ClaimsWorld,
  alternative: Alternative,
  earlier: readonly Alternative[],
): Description {
  let { condition } = alternative
  let except = earlier.filter(({ access }) => access !== alternative.access)
  const outside = (others: readonly Alternative[]) => others.map((other) => -other.condition.when)
  const isMinimal = withinBudget(() => {
    for (const each of except) {
      const rest = except.filter((other) => other !== each)
      if (isImpossible(world, [condition.when, each.condition.when, ...outside(rest)])) except = rest
    }
    condition = smallest(world, condition, outside(except))
    for (const [i, each] of except.entries()) {
      const shown = smallest(world, each.condition, [condition.when])
      except = except.with(i, { ...each, condition: shown })
    }
    return true
  })
  return as(condition, except, isMinimal === true)
}

const as = ({ text }: Condition, except: readonly Alternative[], isMinimal: boolean): Description => ({
  callers: text ?? null,
  except: except.map(({ condition, by, access = null }) => ({
    callers: condition.text ?? 'everyone',
    by,
    access,
  })),
  isMinimal,
})

/** The smallest condition found that is equivalent to `condition` for all callers who satisfy all of `around`. */
function smallest(world: ClaimsWorld, condition: Condition, around: readonly Literal[]): Condition {
  const saysTheSame = (other: Condition) =>
    isImpossible(world, [...around, condition.when, -other.when]) &&
    isImpossible(world, [...around, -condition.when, other.when])
  const all = everyone(world)
  if (isImpossible(world, [...around, -condition.when]) && !isImpossible(world, around)) return all
  let found = condition
  for (let next: Condition | undefined = found; next !== undefined;) {
    found = next
    next = undefined
    for (const smaller of found.withoutOneOperand()) {
      if (!saysTheSame(smaller)) continue
      next = smaller
      break
    }
  }
  return found
}
