import { arriving, leftOutOf } from '../../access/role/caller-tokens.ts'
import {
  commonRole,
  decideForReleases,
  type MappingOutcome,
  placeOf,
  type ReleaseDecision,
  sessionNameClaimOf,
} from '../../access/role/decide.ts'
import { bounded, evaluateMatcher } from '../../access/role/matcher.ts'
import { generationsOf } from '../../access/role/releases.ts'
import { type SessionName, sessionNameFrom } from '../../access/role/session-name.ts'
import { fromJson } from '../../cel/index.ts'
import { type ReadClaims, readClaims } from '../../cli/input/claims.ts'
import { leftOutNotes } from '../../cli/output/role.ts'
import { errorMessage } from '../../rule/index.ts'
import { breakable, type Child, element, h } from '../dom.ts'
import type { AwsConfig, JudgedText } from './judged.ts'

/** The limits for evaluating matchers. The time is shorter than in the CLI, because the page cannot react meanwhile. */
const LIMITS = { cost: 1_000_000, milliseconds: 500, megabytes: 0 }

const SAMPLE = `{
  "sub": "alice",
  "email": "alice@example.com",
  "groups": ["billing-admins", "developers"]
}
`

/** A panel that shows the role that a caller gets from an MCPExternalAuthConfig in the text of the editor. */
export class RolePanel {
  readonly #select = element('role-config', HTMLSelectElement)
  readonly #claims = element('claims', HTMLTextAreaElement)
  readonly #form = element('role-form', HTMLFormElement)
  readonly #none = element('role-none', HTMLElement)
  readonly #result = element('role-result', HTMLElement)
  #configs: readonly AwsConfig[] = []
  #release = ''

  constructor() {
    this.#claims.value = SAMPLE
    for (const input of [this.#select, this.#claims])
      input.addEventListener('input', () => {
        this.#decide()
      })
  }

  show({ configs }: JudgedText, release: string): void {
    this.#release = release
    this.#configs = configs
    const chosen = this.#select.value
    this.#select.replaceChildren(
      ...configs.map(({ key, name }) => h('option', { value: key, selected: key === chosen }, name)),
    )
    this.#form.hidden = configs.length === 0
    this.#result.hidden = configs.length === 0
    this.#none.hidden = configs.length > 0
    this.#decide()
  }

  #decide(): void {
    const config = this.#configs[this.#select.selectedIndex]
    if (config === undefined) {
      this.#result.replaceChildren()
      return
    }
    const read = this.#readClaims()
    if (read === undefined) return
    const callerTokens = config.tokens()
    const claims = arriving(read.claims, callerTokens)
    const outcomes = this.#outcomesOf(config.value, claims)
    const session = sessionNameFrom(claims, sessionNameClaimOf(config.value))
    const leftOut = leftOutOf(read.claims, claims)
    const notes = [
      ...(read.fromToken ? ['The claims are the payload of a JWT, whose signature is not verified.'] : []),
      ...leftOutNotes({ callerTokens, leftOut }),
    ]
    this.#result.replaceChildren(...resultOf(outcomes, session, notes))
  }

  #readClaims(): ReadClaims | undefined {
    const problem = element('claims-problem', HTMLElement)
    try {
      const read = readClaims(this.#claims.value)
      this.#claims.removeAttribute('aria-invalid')
      problem.textContent = ''
      return read
    } catch (error) {
      this.#claims.setAttribute('aria-invalid', 'true')
      problem.textContent = errorMessage(error)
      this.#result.replaceChildren()
      return undefined
    }
  }

  #outcomesOf(value: unknown, claims: ReadClaims['claims']): ReleaseDecision[] {
    const values = fromJson(claims)
    const now = () => performance.now()
    const until = now() + LIMITS.milliseconds
    return decideForReleases(
      value,
      claims,
      generationsOf(this.#release),
      ({ celGo }) =>
        (matcher) =>
          evaluateMatcher(matcher, values, celGo, bounded(LIMITS, until, now)),
    )
  }
}

function resultOf(
  outcomes: readonly ReleaseDecision[],
  session: SessionName,
  notes: readonly string[],
): Child[] & Node[] {
  const same = commonRole(outcomes)
  return [
    ...(outcomes.length > 1 && same === undefined
      ? [h('p', { class: 'notice' }, 'The role depends on the release of the operator.')]
      : []),
    ...outcomes.map((outcome) => decision(outcome, outcomes.length > 1)),
    h(
      'p',
      { class: session.problem === undefined ? 'session' : 'session notice' },
      'Session name in CloudTrail: ',
      h('code', {}, ...breakable(session.value ?? 'none')),
      session.problem === undefined ? '' : `. The gateway answers 401: ${session.problem}.`,
    ),
    ...notes.map((note) => h('p', { class: 'hint' }, note)),
  ]
}

function decision(
  { releases, role, reason, mappings, notes }: ReleaseDecision,
  isNamed: boolean,
): HTMLElement {
  return h(
    'section',
    { class: 'decision' },
    isNamed ? h('h3', {}, `Release ${releases}`) : undefined,
    h(
      'p',
      { class: `role ${role === undefined ? 'none' : 'given'}` },
      h('strong', {}, ...(role === undefined ? ['No role'] : breakable(role))),
      h('span', {}, reason),
    ),
    mappings.length === 0 ? undefined : tried(mappings),
    ...notes.map((note) => h('p', { class: 'hint' }, note)),
  )
}

const tried = (mappings: readonly MappingOutcome[]): HTMLElement =>
  h('ol', { class: 'mappings', 'aria-label': 'Role mappings in the order tried' }, ...mappings.map(row))

function row(mapping: MappingOutcome): HTMLElement {
  const { claim, matcher, priority, roleArn, outcome, reason, unreachable } = mapping
  return h(
    'li',
    { class: outcome },
    h('p', {}, h('code', {}, placeOf(mapping)), ` priority ${priority ?? 'last'}`),
    h('p', {}, h('code', {}, ...breakable(matcher ?? (claim === undefined ? 'none' : `claim ${claim}`)))),
    h('p', {}, h('code', {}, ...breakable(roleArn ?? 'no role'))),
    h('p', { class: 'outcome' }, reason),
    unreachable === undefined ? undefined : h('p', { class: 'hint' }, unreachable),
  )
}
