import type { Static } from 'typebox'
import { advice, type Context, defineRule, type Given, isAbsent, says } from '../../../rule/index.ts'
import { mappingTo } from '../examples.ts'
import { MOST_MAPPINGS, type Taken, takenByEarlier } from '../proofs.ts'
import type { Compiling } from '../matcher-verdicts.ts'
import { MATCHER_TYPES, factsAbout, type RoleMapping, type RoleMappings } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const roleMappingReachable = defineRule({
  id: 'role-mapping-reachable',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'warning',
  summary: 'Every role mapping can be reached: none that is tried earlier matches the same callers.',
  why: 'The role is never assumed; callers get the role of the earlier mapping.',
  sources: [
    says('2.4.1', 'Lower priority first; without one last; configuration order breaks ties.'),
    'decision 21',
  ],
  *check({ spec }, context) {
    const mappings = spec?.awsSts?.roleMappings
    if (mappings === undefined || !mayHide(mappings, context)) return
    const conditions = conditionsOf(mappings, context)
    const order = inOrderTried(mappings).filter((i) => conditions[i] !== undefined)
    const proved = provedIn(spec?.awsSts, order, context)
    const first = { claim: new Map<string, number>(), matcher: new Map<string, number>() }
    let always: number | undefined
    let misfits: ReadonlySet<number> | undefined
    for (const i of order) {
      const { by, text } = conditions[i] ?? NEVER
      const taken = proved.get(i)
      const here = context.path.spec.awsSts.roleMappings.at(i)
      const earlier = by === 'claim' || by === 'matcher' ? first[by].get(text) : undefined
      if (by === 'never' || taken?.by.length === 0) {
        misfits ??= misfitsIn(mappings, context)
        if (!misfits.has(i)) yield advice(here.matcher, 'is never true, so the role is never assumed')
      } else if (always !== undefined)
        yield advice(
          here,
          `is never reached: roleMappings[${always}] is tried first and always matches; give this one the lower \`priority\``,
        )
      else if (earlier !== undefined)
        yield advice(
          here,
          `is never reached: roleMappings[${earlier}] is tried first and matches the same; remove one of the two`,
        )
      else if (taken !== undefined) yield advice(here, takenText(taken))
      else if (by === 'always') always = i
      else first[by].set(text, i)
    }
  },
  examples: {
    'different conditions, and a last one for everyone': {
      value: mappingTo({
        reader: { matcher: 'true' },
        admin: { claim: 'admins', priority: 0 },
        editor: { claim: 'editors', priority: 0 },
      }),
    },
    'one that fails at run time, of which another rule tells': {
      value: mappingTo({
        admin: { matcher: '"a" in claims.scope && claims.scope == "b" && claims.scope == "c"' },
      }),
    },
    'conditions that overlap, and leave somebody to each': {
      value: mappingTo({
        admin: { matcher: '"ops" in claims.groups && claims.groups.size() > 1' },
        agent: { matcher: '"ops" in claims.groups && has(claims.act)' },
        editor: { claim: 'ops' },
        reader: { matcher: 'claims.email.endsWith("@example.com")' },
      }),
    },
    'two claims': {
      value: mappingTo({ admin: { claim: 'admins' }, reader: { claim: 'readers' } }),
    },
    'a matcher that fails without its claim, and one for those who do not have it': {
      value: mappingTo({
        admin: { matcher: '!(claims.env == "dev" && claims.env == "test")' },
        reader: { matcher: '!has(claims.env)' },
      }),
    },
    'two matchers that fail for a text, and one for this text': {
      value: mappingTo({
        admin: { matcher: 'double(claims.score) * 100.0 >= 50.0' },
        editor: { matcher: 'double(claims.score) * 100.0 < 50.0' },
        reader: { matcher: 'claims.score == "n/a"' },
      }),
    },
    'a claim between two values': {
      value: mappingTo({ admin: { matcher: 'claims.level > 2.0 && claims.level < 3.0' } }),
    },
    'the same claim later in the list': {
      value: mappingTo({ admin: { claim: 'admins' }, reader: { claim: 'admins' } }),
      findings:
        'spec.awsSts.roleMappings[1]: is never reached: roleMappings[0] is tried first and matches the same; remove one of the two',
    },
    'the same matcher with a higher priority value': {
      value: mappingTo({
        admin: { matcher: '"admins" in claims.groups', priority: 10 },
        reader: { matcher: '"admins" in claims.groups', priority: 1 },
      }),
      findings:
        'spec.awsSts.roleMappings[0]: is never reached: roleMappings[1] is tried first and matches the same; remove one of the two',
    },
    'a mapping after one for everyone': {
      value: mappingTo({ admin: { claim: 'admins' }, reader: { matcher: 'true', priority: 0 } }),
      findings:
        'spec.awsSts.roleMappings[0]: is never reached: roleMappings[1] is tried first and always matches; give this one the lower `priority`',
    },
    'a narrower matcher after a wider one': {
      value: mappingTo({
        reader: { claim: 'admins' },
        admin: { matcher: '"admins" in claims.groups && claims.groups.size() > 1' },
      }),
      findings:
        'spec.awsSts.roleMappings[1]: is never reached: roleMappings[0] is tried first and takes all its callers; give this one the lower `priority`',
    },
    'two mappings that together leave nobody': {
      value: mappingTo({
        agent: { matcher: '"ops" in claims.groups && has(claims.act)' },
        admin: { matcher: '"ops" in claims.groups && !has(claims.act)' },
        reader: { matcher: '"ops" in claims.groups && claims.email_verified == true' },
      }),
      findings:
        'spec.awsSts.roleMappings[2]: is never reached: roleMappings[0], roleMappings[1] are tried first and together take all its callers; give this one the lowest `priority`',
    },
    'the same condition in other words': {
      value: mappingTo({
        admin: { matcher: 'claims.azp in ["gateway", "agent"]' },
        reader: { matcher: 'claims.azp == "agent" || claims.azp == "gateway"' },
      }),
      findings:
        'spec.awsSts.roleMappings[1]: is never reached: roleMappings[0] is tried first and matches the same; remove one of the two',
    },
    'two values of one claim at once': {
      value: mappingTo({ admin: { matcher: 'claims.level > 3.0 && claims.level < 2.0' } }),
      findings: 'spec.awsSts.roleMappings[0].matcher: is never true, so the role is never assumed',
    },
    'a mapping for no one': {
      value: mappingTo({ admin: { matcher: 'false' } }),
      findings: 'spec.awsSts.roleMappings[0].matcher: is never true, so the role is never assumed',
    },
  },
})

type AwsSts = NonNullable<NonNullable<Given<Static<typeof MCPExternalAuthConfig>>['spec']>['awsSts']>

/** The mappings that are proved to be unreachable; none when `roleClaim` has a wrong JSON type. */
function provedIn(
  awsSts: AwsSts | undefined,
  order: readonly number[],
  { budget, path }: Context<Static<typeof MCPExternalAuthConfig>>,
): ReadonlyMap<number, Taken> {
  const { roleClaim, roleMappings = [] } = awsSts ?? {}
  if (awsSts === undefined || (roleClaim === undefined && !isAbsent(awsSts, 'roleClaim'))) return new Map()
  if (order.length > MOST_MAPPINGS) return new Map()
  const conditional = order.map((index) => ({
    index,
    claim: roleMappings[index]?.claim,
    matcher: roleMappings[index]?.matcher,
  }))
  const claim = roleClaim === undefined || roleClaim === '' ? 'groups' : roleClaim
  const { taken, undecided } = takenByEarlier(conditional, claim, budget)
  if (undecided !== undefined) budget.leaveUndecided(path.spec.awsSts.roleMappings.at(undecided).matcher)
  return taken
}

function takenText({ by, isSame }: Taken): string {
  const [first = 0] = by
  if (isSame)
    return `is never reached: roleMappings[${first}] is tried first and matches the same; remove one of the two`
  const all = by.map((index) => `roleMappings[${index}]`).join(', ')
  return by.length === 1
    ? `is never reached: ${all} is tried first and takes all its callers; give this one the lower \`priority\``
    : `is never reached: ${all} are tried first and together take all its callers; give this one the lowest \`priority\``
}

/** The indexes of mappings whose matcher uses a string as a list or the reverse, which another rule reports. */
const misfitsIn = (mappings: RoleMappings, context: Compiling): ReadonlySet<number> =>
  new Set(
    factsAbout(mappings, context).notable.flatMap(({ index, verdict }) =>
      verdict.ok && verdict.misfit !== undefined ? [index] : [],
    ),
  )

/** The condition of a mapping: the text of its `claim` or `matcher`; `always` or `never` for a constant matcher. */
interface Condition {
  readonly by: 'claim' | 'matcher' | 'always' | 'never'
  readonly text: string
}

const ALWAYS: Condition = { by: 'always', text: '' }
const NEVER: Condition = { by: 'never', text: '' }
const LAST = Number.MAX_VALUE

/** Whether any mapping may be unreachable: mappings with `claim` are all reachable, unless two have the same claim. */
function mayHide(mappings: RoleMappings, context: Compiling): boolean {
  const { repeats, notable } = factsAbout(mappings, context)
  return (
    repeats ||
    notable.some(({ verdict }) => verdict.ok && verdict.constant !== undefined) ||
    mappings.some((mapping) => mapping?.matcher !== undefined)
  )
}

/** The condition of each mapping; undefined for mappings with no condition, two conditions, or an invalid matcher. */
function conditionsOf(mappings: RoleMappings, context: Compiling): readonly (Condition | undefined)[] {
  const conditions = mappings.map((mapping) => mapping && conditionOf(mapping))
  const { tooLong, notable } = factsAbout(mappings, context)
  for (const { index } of tooLong) conditions[index] = undefined
  for (const { index, verdict } of notable) {
    if (!verdict.ok || !MATCHER_TYPES.has(verdict.type)) conditions[index] = undefined
    else if (verdict.constant !== undefined && conditions[index] !== undefined)
      conditions[index] = verdict.constant ? ALWAYS : NEVER
  }
  return conditions
}

function conditionOf(mapping: RoleMapping): Condition | undefined {
  const { claim, matcher } = mapping
  if (claim && isAbsent(mapping, 'matcher')) return { by: 'claim', text: claim }
  return matcher && isAbsent(mapping, 'claim') ? { by: 'matcher', text: matcher } : undefined
}

/** The indexes of the mappings by priority, then position; mappings with an invalid priority are left out. */
function inOrderTried(mappings: RoleMappings): number[] {
  const priorities = mappings.map((mapping) =>
    mapping && isAbsent(mapping, 'priority') ? LAST : mapping?.priority,
  )
  const priorityOf = (i: number) => priorities[i] ?? -1
  return [...mappings.keys()].filter((i) => priorityOf(i) >= 0).sort((a, b) => priorityOf(a) - priorityOf(b))
}
