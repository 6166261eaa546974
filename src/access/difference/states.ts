import type { Claims } from '../role/claims.ts'
import { type Generation } from '../../kinds/mcp-external-auth-config/generations.ts'
import { type Budget, deepEqual, OutOfBudget, withinBudget } from '../../rule/index.ts'
import { releasesOf } from '../role/releases.ts'
import {
  UNKNOWN_TOKENS,
  arriving,
  type CallerTokens,
  type TokenChange,
  tokenChanges,
} from '../role/caller-tokens.ts'
import { type Choice, NOTHING, type Outcome } from './choice.ts'
import {
  type CallerChange,
  COMPARISON,
  compareChoices,
  type Difference,
  type UndecidedChange,
} from './compare.ts'
import { type Entry, entryKey } from './entries.ts'
import { grantsOf } from './grants.ts'

/** An `awsSts` or a policy (`Entry`) in the old and the new state; undefined in a state that does not have it. */
export interface Pair {
  readonly old: Entry | undefined
  readonly new: Entry | undefined
}

/** The operator releases to which a result applies. */
export interface ForReleases {
  readonly releases: string
}

/** The differences in the access that role mappings, or the policy of a trusted issuer, grant. */
export interface PartDifference extends Pair {
  readonly changes: readonly (CallerChange & ForReleases)[]
  readonly undecided: readonly (UndecidedChange & ForReleases)[]
  /** Whether callers may also get other combinations of an old and a new access than those in `changes`. */
  readonly more: boolean
  /** Changes of the token that is sent to STS. */
  readonly tokens: readonly TokenChange[]
}

/** Pairs each `awsSts` or policy of the old state with its new version, by resource and by key in the resource. */
export function pairsOf(old: readonly Entry[], now: readonly Entry[]): Pair[] {
  const before = new Map(old.map((entry) => [entryKey(entry), entry]))
  const after = new Map(now.map((entry) => [entryKey(entry), entry]))
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  return keys.map((key) => ({ old: before.get(key), new: after.get(key) }))
}

/** The `awsSts` or policy of a pair, from the new state or, if it is missing there, from the old state. */
export const entryOf = ({ old, new: now }: Pair): Entry => now ?? old ?? NO_ENTRY

const NO_ENTRY: Entry = {
  kind: '',
  namespace: '',
  name: '',
  document: -1,
  at: [],
  key: '',
  settings: undefined,
  choice: () => NOTHING,
  callerTokens: UNKNOWN_TOKENS,
}

export const choiceOf = (entry: Entry | undefined, generation: Generation): Choice =>
  entry === undefined ? NOTHING : entry.choice(generation)

/** The differences in the access that one `awsSts` or policy grants; one in several releases is listed once. */
export function differenceOf(pair: Pair, generations: readonly Generation[], budget: Budget): PartDifference {
  const found: { readonly generation: Generation; readonly difference: Difference }[] = []
  for (const generation of generations.toReversed()) {
    const difference = comparison(pair, generation, {
      budget: budget.part(COMPARISON),
      callers: found[0]?.difference.changes.map(({ witness }) => witness) ?? [],
    })
    found.push({ generation, difference })
  }
  const each = <T extends object>(of: (difference: Difference) => readonly T[]) =>
    grouped(found.map(({ generation, difference }) => ({ generation, values: of(difference) })))
  return {
    ...pair,
    changes: each(({ changes }) => changes),
    undecided: each(({ undecided }) => undecided),
    more: found.some(({ difference }) => difference.more),
    tokens: tokenChanges(pair.old?.callerTokens ?? UNKNOWN_TOKENS, pair.new?.callerTokens ?? UNKNOWN_TOKENS),
  }
}

function comparison(pair: Pair, generation: Generation, settings: Settings): Difference {
  const [old, now] = [choiceOf(pair.old, generation), choiceOf(pair.new, generation)]
  const [before, after] = [
    pair.old?.callerTokens ?? pair.new?.callerTokens,
    pair.new?.callerTokens ?? pair.old?.callerTokens,
  ]
  if (before === undefined || after === undefined) return compareChoices(old, now, settings)
  if ((before.lacks === undefined) !== (after.lacks === undefined))
    return acrossIssuers([old, before], [now, after], settings)
  // Equal settings grant equal access. No proof is tried, because some matchers cannot be analysed.
  if (pair.old !== undefined && deepEqual(pair.old.settings, pair.new?.settings))
    return { changes: [], more: false, undecided: [] }
  return compareChoices(old, now, {
    ...settings,
    callerTokens: {
      lacks: before.lacks && ((claim) => before.lacks?.(claim) === true && after.lacks?.(claim) === true),
      partly: after.partly ?? before.partly,
    },
  })
}

/**
 * Compares the old and the new state when they accept tokens of different issuers: then no proof can cover all
 * callers. Evaluates an example caller of each role in both states, in each state with only those of the caller's
 * claims that the tokens of this state can have.
 */
function acrossIssuers(old: Side, now: Side, { budget, callers }: Settings): Difference {
  const examples = [old, now].flatMap(([choice, callerTokens]) =>
    grantsOf(choice, () => true, { budget: budget.part(COMPARISON / 2), callerTokens, callers }).flatMap(
      ({ answer }) => (answer.is === 'somebody' ? [answer.example] : []),
    ),
  )
  const outcomes = [...callers, ...examples, {}].flatMap(
    (witness) =>
      withinBudget(() => ({
        old: old[0].decide(arriving(witness, old[1]), budget),
        new: now[0].decide(arriving(witness, now[1]), budget),
        witness,
      })) ?? [],
  )
  const pairs = Map.groupBy(
    outcomes.filter((each) => each.old.access !== each.new.access),
    (each) => JSON.stringify([each.old.access, each.new.access]),
  )
  const changes = [...pairs.values()].flatMap((same) => same.slice(0, 1))
  return {
    changes,
    more: changes.length > 0,
    undecided: [{ access: '', question: 'gains', why: 'callers bring tokens of another issuer than before' }],
  }
}

type Side = readonly [Choice, CallerTokens]
interface Settings {
  readonly budget: Budget
  readonly callers: readonly Claims[]
}

/**
 * Merges equal values that were found for several generations (ranges of operator releases that choose a role in the
 * same way), and adds to each value the releases to which it applies.
 */
export function grouped<T extends object>(
  found: readonly { readonly generation: Generation; readonly values: readonly T[] }[],
): (T & ForReleases)[] {
  const groups = new Map<string, { readonly value: T; readonly holdsFor: Generation[] }>()
  for (const { generation, values } of found) {
    for (const value of values) {
      const key = JSON.stringify(value)
      const group = groups.get(key) ?? { value, holdsFor: [] }
      group.holdsFor.unshift(generation)
      groups.set(key, group)
    }
  }
  return Array.from(groups.values(), ({ value, holdsFor }) => ({ ...value, releases: releasesOf(holdsFor) }))
}

/** The access that one `awsSts` or policy grants a caller in the old and the new state. */
export interface CallerOutcome extends Pair {
  readonly releases: string
  /** Why an outcome is not decided; undefined when both are. */
  readonly undecided: string | undefined
  readonly oldOutcome: Outcome | undefined
  readonly newOutcome: Outcome | undefined
}

/** The access that one `awsSts` or policy grants a caller with these claims, by release. */
export function outcomesFor(
  pair: Pair,
  claims: Claims,
  generations: readonly Generation[],
  budget: Budget,
): CallerOutcome[] {
  const groups = Map.groupBy(generations, (generation) =>
    JSON.stringify([pair.old, pair.new].map((entry) => outcomeFor(entry, claims, generation, budget))),
  )
  return Array.from(groups, ([decided, holdsFor]) => {
    const [old = {}, now = {}] = JSON.parse(decided) as OneOutcome[]
    return {
      ...pair,
      releases: releasesOf(holdsFor),
      undecided: now.undecided ?? old.undecided,
      oldOutcome: old.outcome,
      newOutcome: now.outcome,
    }
  })
}

interface OneOutcome {
  readonly outcome?: Outcome
  /** Why there is no outcome: an evaluation reached its bound. */
  readonly undecided?: string
}

function outcomeFor(
  entry: Entry | undefined,
  claims: Claims,
  generation: Generation,
  budget: Budget,
): OneOutcome {
  const arrived = arriving(claims, entry?.callerTokens ?? UNKNOWN_TOKENS)
  try {
    return { outcome: choiceOf(entry, generation).decide(arrived, budget) }
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
    return { undecided: error.message }
  }
}
