import { stateOf } from '../../src/documents/given-objects.ts'
import { DEFAULT_SETTINGS, parseSeveritySetting, type Settings } from '../../src/engine/settings.ts'
import { ALL_IDS } from '../../src/engine/engine-ids.ts'
import { planSteps, type StepsPlan } from '../../src/steps/plan.ts'
import { interruptions, versionsBetween } from '../../src/steps/versions.ts'
import {
  checkSteps,
  keyOf,
  type Manifest,
  observe,
  questionOf,
  RandomStates,
  READING,
  type StatePair,
  storedState,
  textOf,
  writeOf,
  wrongIn,
} from './step-pairs.ts'

/** An object that changes, with its intermediate versions and its last version; undefined stands for a deletion. */
interface Changed {
  readonly self: Manifest
  readonly between: readonly (Manifest | undefined)[]
  readonly last: Manifest | undefined
}

/**
 * A state between the old and the new one: the stored objects, the indexes of those that have their last version, and
 * of those that got an intermediate version.
 */
interface Reached {
  readonly stored: ReadonlyMap<string, Manifest>
  readonly done: ReadonlySet<number>
  readonly between: ReadonlySet<number>
}

interface Exploring {
  /** The most objects that get an intermediate version. */
  readonly between: number
  /** Whether an intermediate version may also be a deletion, or the object without its `externalAuthConfigRef`. */
  readonly interruptions: boolean
  readonly mostStates: number
  readonly settings?: Settings
}

/**
 * The cost of a state that gives unintended access; a state that takes access away costs 1. In the final state each
 * costs AT_THE_END times as much.
 */
const GIVING = 1_000_000
const AT_THE_END = 100

/**
 * The lowest cost of all orders of writes from the old state to the new one; undefined when the webhook refuses all of
 * them, `tooMany` when there are more than `mostStates` states.
 */
function leastCost(pair: StatePair, exploring: Exploring): number | undefined | 'tooMany' {
  const { settings = DEFAULT_SETTINGS, mostStates } = exploring
  const old = storedState(pair.old)
  const now = storedState(pair.new, old)
  const [before, after] = [observe(old.values()), observe(now.values())]
  const changed = changedObjects(pair, old, now, exploring)
  const costs = new Map<string, number>()
  const costOf = (stored: ReadonlyMap<string, Manifest>, text: string): number => {
    const cost = costs.get(text) ?? costIn(wrongIn(observe(stored.values()), before, after))
    costs.set(text, cost)
    return cost
  }
  const seen = new Set<string>()
  const open = new Map<number, Reached[]>([[0, [{ stored: old, done: new Set(), between: new Set() }]]])
  while (open.size > 0) {
    const cost = Math.min(...open.keys())
    const here = open.get(cost)?.pop()
    if (here === undefined) {
      open.delete(cost)
      continue
    }
    if (here.done.size === changed.length) return cost
    const key = JSON.stringify([[...here.done].toSorted(), [...here.between].toSorted(), textIn(here)])
    if (seen.has(key)) continue
    seen.add(key)
    if (seen.size > mostStates) return 'tooMany'
    for (const next of nextOf(here, changed, exploring.between, settings)) {
      const harm = costOf(next.stored, textIn(next)) * (next.done.size === changed.length ? AT_THE_END : 1)
      const same = open.get(cost + harm) ?? []
      open.set(cost + harm, same)
      same.push(next)
    }
  }
  return undefined
}

const textIn = ({ stored }: Reached): string =>
  JSON.stringify([...stored].toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The states after each write that the webhook admits. */
function* nextOf(
  here: Reached,
  changed: readonly Changed[],
  mostBetween: number,
  settings: Settings,
): Iterable<Reached> {
  const state = stateOf([...here.stored.values()], READING)
  for (const [i, { self, between, last }] of changed.entries()) {
    if (here.done.has(i)) continue
    const mayTakeOne = !here.between.has(i) && here.between.size < mostBetween
    for (const value of mayTakeOne ? [last, ...between] : [last]) {
      const result = writeOf(value, here.stored.get(keyOf(self)), self, state, settings)
      if ('refusal' in result) continue
      const stored = new Map(here.stored)
      if (result.stored === undefined) stored.delete(keyOf(self))
      else stored.set(keyOf(self), result.stored)
      yield value === last
        ? { stored, done: new Set([...here.done, i]), between: here.between }
        : { stored, done: here.done, between: new Set([...here.between, i]) }
    }
  }
}

const costIn = (wrong: ReturnType<typeof wrongIn>): number =>
  wrong.reduce((sum, { gives }) => sum + (gives ? GIVING : 1), 0)

/** The cost of a plan's steps, in the units of `leastCost`. */
function costOfPlan(pair: StatePair, { steps }: StepsPlan): number {
  const stored = storedState(pair.old)
  const [before, after] = [observe(stored.values()), observe(storedState(pair.new, stored).values())]
  let cost = 0
  for (const { number, verb, kind, namespace, name, value } of steps) {
    const self = { apiVersion: '', kind, metadata: { name, namespace } }
    const written = verb === 'delete' ? undefined : value
    const result = writeOf(written, stored.get(keyOf(self)), self, stateOf([...stored.values()], READING))
    if ('refusal' in result || result.stored === undefined) stored.delete(keyOf(self))
    else stored.set(keyOf(self), result.stored)
    cost +=
      costIn(wrongIn(observe(stored.values()), before, after)) * (number === steps.length ? AT_THE_END : 1)
  }
  return cost
}

function changedObjects(
  pair: StatePair,
  old: ReadonlyMap<string, Manifest>,
  now: ReadonlyMap<string, Manifest>,
  exploring: Pick<Exploring, 'interruptions'>,
): Changed[] {
  const [files, newFiles] = [pair.old, pair.new].map(
    (objects) => new Map(objects.map((each) => [keyOf(each), each])),
  )
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key): Changed[] => {
    const [stored, wanted, given] = [old.get(key), now.get(key), files?.get(key)]
    const self = given ?? wanted
    if (self === undefined || textOf(stored && writtenIn(stored)) === textOf(wanted && writtenIn(wanted)))
      return []
    const file = newFiles?.get(key)
    // `kubectl apply` of an unchanged file sends no request, so the object keeps what /mutate wrote.
    const last = textOf(given?.spec) === textOf(file?.spec) ? namingProvider(wanted) : file
    if (given === undefined || last === undefined) return [{ self, between: [], last }]
    const versions = [
      ...versionsBetween({ ...given }, { ...last }),
      ...(exploring.interruptions ? interruptions({ ...given }) : []),
    ]
    return [{ self, between: versions.map(({ value }) => value as Manifest | undefined), last }]
  })
}

/** The parts of an object that a plan changes: the spec, and the annotations that /mutate writes. */
const writtenIn = ({ spec, metadata }: Manifest): unknown => [
  spec,
  (metadata as { readonly annotations?: unknown }).annotations,
]

function namingProvider(object: Manifest | undefined): Manifest | undefined {
  const spec = object?.spec as { readonly tokenExchange: object } | undefined
  if (object === undefined || spec === undefined) return undefined
  return { ...object, spec: { ...spec, tokenExchange: { subjectProviderName: '', ...spec.tokenExchange } } }
}

const MOST_CHANGES = 5
const MOST_STATES = 20_000

/** What is wrong with a plan, compared with all orders of its writes; `tooMany` when there are too many to try. */
function wrongBesideEveryOrder(pair: StatePair, plan: StepsPlan, settings?: Settings): string | undefined {
  const wrong = plan.outcome === 'refused' ? undefined : checkSteps(pair, plan, settings)
  if (wrong !== undefined || plan.outcome === 'order' || plan.outcome === 'nothing') return wrong
  const old = storedState(pair.old)
  const changed = changedObjects(pair, old, storedState(pair.new, old), { interruptions: false })
  if (changed.length > MOST_CHANGES || !plan.isComplete) return 'tooMany'
  const exploring = { between: 3, mostStates: MOST_STATES, ...(settings === undefined ? {} : { settings }) }
  const least = leastCost(pair, { ...exploring, interruptions: true })
  if (least === 'tooMany') return least
  if (plan.outcome === 'refused') return least === undefined ? undefined : `an order costs ${least}`
  if (least === 0) return 'an order harms nobody'
  const cost = costOfPlan(pair, plan)
  const without = leastCost(pair, { ...exploring, interruptions: false })
  if (without === 'tooMany') return without
  // Deletions as intermediate versions count only if every other order gives somebody access that neither state gives.
  const best = (without ?? Infinity) < GIVING ? without : least
  return cost === best ? undefined : `it costs ${cost}, the best order ${best ?? ''}`
}

/** Settings with which some changes are refused in every order. */
const STRICT: Settings = {
  ...DEFAULT_SETTINGS,
  severities: [
    'deleted-resource-unreferenced',
    'auth-config-change-meant',
    'oidc-config-change-meant',
    'upstream-client-change-meant',
  ].map((id) => {
    const setting = parseSeveritySetting(`${id}=error`, ALL_IDS)
    if (typeof setting === 'string') throw new Error(setting)
    return setting
  }),
}

export interface Counts {
  order: number
  harm: number
  refused: number
  nothing: number
  contradiction: number
  tooMany: number
  wrong: number
}

/** Compares the plans for random pairs of states with all orders; calls `report` with each mistake. */
export function compareWithEveryOrder(count: number, seed: number, report: (text: string) => void): Counts {
  const random = new RandomStates(seed)
  const counts = { order: 0, harm: 0, refused: 0, nothing: 0, contradiction: 0, tooMany: 0, wrong: 0 }
  for (let i = 0; i < count; i++) {
    const pair = i % 2 === 0 ? random.pair() : random.exchange()
    const settings = i % 4 < 2 ? DEFAULT_SETTINGS : STRICT
    const plan = planSteps(questionOf(pair, { settings }))
    const wrong = wrongBesideEveryOrder(pair, plan, settings)
    counts[wrong === 'tooMany' ? wrong : plan.outcome] += 1
    if (wrong === undefined || wrong === 'tooMany') continue
    counts.wrong += 1
    report(`pair ${i}, ${plan.outcome}: ${wrong}\n    ${JSON.stringify(pair)}\n`)
  }
  return counts
}
