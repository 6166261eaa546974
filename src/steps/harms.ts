import { type Choice, NOTHING, outcomesOf, indivisible } from '../access/difference/choice.ts'
import { COMPARISON, compareChoices } from '../access/difference/compare.ts'
import { GENERATIONS } from '../kinds/mcp-external-auth-config/generations.ts'
import { type Budget, deepEqual } from '../rule/index.ts'
import type { Facts, Login, ChoicePart, SentCredentials } from './facts.ts'

/**
 * A harm in an intermediate state that neither the old nor the new state has, such as a backend without credentials.
 */
export interface Harm {
  readonly is: 'credentials' | 'other credentials' | 'open' | 'no login' | 'other login' | 'claims'
  /** Describes the harm: `backend MCPServer wiki of VirtualMCPServer default/tools is without credentials`. */
  readonly text: string
  /** The reason for the harm, which may differ between steps; empty when `text` says enough. */
  readonly why: string
}

/**
 * The weight of a harm in the cost of an order of steps: a harm that grants access weighs more than any number of harms
 * that remove access.
 */
export const weightOf = ({ is }: Harm): number => (is === 'credentials' || is === 'no login' ? 1 : GAIN)

export const GAIN = 1_000_000

/** Compares intermediate states with the old and the new one, and finds their harms. */
export class Comparison {
  readonly #old: Facts
  readonly #new: Facts
  readonly #budget: Budget
  readonly #gains = new Map<string, Harm | undefined>()

  /** Proofs about claims spend units of `budget`. */
  constructor(old: Facts, now: Facts, budget: Budget) {
    this.#old = old
    this.#new = now
    this.#budget = budget
  }

  harmsIn(facts: Facts): Harm[] {
    return [...this.#lost(facts), ...this.#sent(facts), ...this.#logins(facts), ...this.#parts(facts)]
  }

  /** Backends that get credentials in the old and the new state, but not in the intermediate state that is given. */
  *#lost({ sent, lacking }: Facts): Iterable<Harm> {
    for (const backend of this.#old.sent.keys()) {
      if (!this.#new.sent.has(backend) || sent.has(backend)) continue
      const why = lacking.get(backend) ?? 'it is not there'
      yield { is: 'credentials', text: `${backend} is without credentials`, why }
    }
  }

  *#sent({ sent }: Facts): Iterable<Harm> {
    for (const [backend, now] of sent) {
      const sides = [this.#old.sent.get(backend), this.#new.sent.get(backend)]
      // No credentials are sent to a backend that is only a key of `backends`, not a workload of the group.
      if (!now.isMember && !sides.every((side) => side !== undefined)) continue
      if (sides.some((side) => side !== undefined && isSameSent(side, now))) continue
      const text = `${backend} is sent other credentials than before and after`
      yield { is: 'other credentials', text, why: now.provider === null ? '' : `a token of ${now.provider}` }
    }
  }

  *#logins({ logins }: Facts): Iterable<Harm> {
    for (const [server, now] of logins) {
      const old = this.#old.logins.get(server)
      const after = this.#new.logins.get(server)
      const sides = [old, after].filter((side) => side !== undefined)
      const isOpenInOne = sides.some(({ isOpen }) => isOpen)
      if (now.isOpen && !isOpenInOne)
        yield { is: 'open', text: `${server} lets everybody in`, why: 'it does not check tokens' }
      else if (now.reason !== null && sides.length === 2 && sides.every(canLogIn))
        yield { is: 'no login', text: `${server} cannot check tokens`, why: now.reason }
      else if (canLogIn(now) && !sides.some((side) => isSameLogin(side, now)))
        yield {
          is: 'other login',
          text: `${server} takes other tokens than before and after`,
          why: `those of MCPOIDCConfig ${now.oidcConfig ?? ''} for audience ${now.audience ?? ''}`,
        }
    }
    for (const [server, old] of this.#old.logins) {
      const after = this.#new.logins.get(server)
      if (logins.has(server) || old.reason !== null || after?.reason !== null) continue
      yield { is: 'no login', text: `${server} is not there`, why: '' }
    }
  }

  *#parts({ parts }: Facts): Iterable<Harm> {
    for (const [key, part] of parts) {
      const sides = [this.#old.parts.get(key), this.#new.parts.get(key)]
      if (sides.some((side) => side !== undefined && deepEqual(side.settings, part.settings))) continue
      const memo = JSON.stringify([key, part.settings])
      if (!this.#gains.has(memo)) this.#gains.set(memo, gainIn(key, part, sides, this.#budget))
      const harm = this.#gains.get(memo)
      if (harm !== undefined) yield harm
    }
  }
}

/**
 * The harm when role mappings or a policy grant access in the intermediate state (`part`) but neither in the old nor
 * in the new state (`sides`); undefined when there is no such access.
 */
function gainIn(
  key: string,
  part: ChoicePart,
  sides: readonly (ChoicePart | undefined)[],
  budget: Budget,
): Harm | undefined {
  const [consumer = ''] = JSON.parse(key) as string[]
  const text =
    part.at.at(-1) === 'awsSts'
      ? `callers of ${consumer} get a role that they have neither before nor after`
      : `${consumer} exchanges tokens that it exchanges neither before nor after`
  for (const generation of GENERATIONS) {
    const [old = NOTHING, after = NOTHING] = sides.map((side) => side?.choice(generation))
    const now = part.choice(generation)
    const { changes, undecided } = compareChoices(nearest(old, after, now), now, {
      budget: budget.part(COMPARISON),
    })
    const gain = changes.find((change) => change.new.access !== undefined)
    if (gain !== undefined)
      return { is: 'claims', text, why: `${gain.new.access ?? ''} for ${JSON.stringify(gain.witness)}` }
    if (undecided.some(({ question }) => question === 'gains'))
      return { is: 'claims', text, why: 'whether that is so is not decided' }
  }
  return undefined
}

const isSameSent = (a: SentCredentials, b: SentCredentials): boolean =>
  a.type === b.type && a.token === b.token && a.provider === b.provider && deepEqual(a.settings, b.settings)

const canLogIn = ({ isOpen, reason }: Login): boolean => !isOpen && reason === null

/** Whether the server accepts the same tokens in both states; true if it validates no tokens in the state `side`. */
const isSameLogin = (side: Login, now: Login): boolean =>
  side.isOpen || (side.audience === now.audience && deepEqual(side.settings, now.settings))

/**
 * Gives a caller the access of the new state (`after`) if the intermediate state (`now`) gives the same access, else
 * the access of the old state. The result differs from `now` only for callers who get neither the old nor the new
 * access in `now`.
 */
const nearest = (old: Choice, after: Choice, now: Choice): Choice => ({
  alternatives(world) {
    const [here, later] = [now, after].map((choice) => outcomesOf(world, choice.alternatives(world)))
    const agreed = [...(here ?? [])].map(([access, when]) => ({
      ...(access === '' ? {} : { access }),
      by: '',
      condition: indivisible(world.and(when, later?.get(access) ?? world.false), access),
    }))
    return [...agreed, ...old.alternatives(world)]
  },
  decide(claims) {
    const later = after.decide(claims)
    return later.access === now.decide(claims).access ? later : old.decide(claims)
  },
})
