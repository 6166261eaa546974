import { readFileSync } from 'node:fs'
import t from 'tap'
import type { CedarAnswer, CedarQuestion } from '../bench/cedar-go.ts'
import { outcomeOf, type CedarPolicy, parsePolicy } from '../src/cedar/index.ts'
import { JUDGEMENT } from '../src/engine/rules.ts'
import { PolicyEntities, readEntities } from '../src/relations/policy-entities.ts'
import { ANYBODY, KnownRequests, REQUESTS } from '../src/relations/policy-requests.ts'
import { Budget, withinBudget } from '../src/rule/index.ts'

/** What cedar-go 1.8 says: of a policy or of entities whether it accepts them, of a request what it decides. */
const golden = readFileSync(new URL('golden/cedar.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as CedarQuestion & CedarAnswer)

t.test('policies are accepted as by cedar-go', async (t) => {
  const rows = golden.filter((row) => 'policy' in row)
  t.ok(rows.length > 800 && rows.filter(({ ok }) => ok).length > 400)
  t.same(
    rows.filter((row) => 'policy' in row && (parsePolicy(row.policy).kind === 'policy') !== row.ok),
    [],
  )
})

t.test('entities are accepted as by cedar-go', async (t) => {
  const rows = golden.filter((row) => 'entities' in row && !('policies' in row))
  t.ok(rows.length > 250 && rows.filter(({ ok }) => ok).length > 100)
  t.same(
    rows.filter(
      (row) => (readEntities((row as { readonly entities: string }).entities).kind === 'entities') !== row.ok,
    ),
    [],
  )
})

t.test('what cedar-go decides is possible', async (t) => {
  let decided = 0
  for (const row of golden) {
    if (!('policies' in row)) continue
    const { policies, entities = '[]', request } = row
    const parsed = parsePolicy(policies[0] ?? '')
    const kind = REQUESTS.find(({ action }) => action === request.action)
    if (parsed.kind !== 'policy' || kind === undefined) throw new Error(policies[0])
    const read = readEntities(entities)
    const requests = new KnownRequests(kind, {
      groupType: request.group,
      groupClaims: ['groups'],
      hasClaimSets: false,
      entities: new PolicyEntities(read.kind === 'entities' ? read.entities : undefined),
      server: request.server,
      callers: ANYBODY,
    })
    const { isTrue, isFalse, fails, scope } = outcomeOf(parsed.policy, requests, new Budget(JUDGEMENT))
    const isPossible =
      row.errors !== undefined ? fails : row.reasons !== undefined ? isTrue : isFalse || scope !== 'all'
    if (!isPossible) t.fail(`${policies[0] ?? ''} ${JSON.stringify(request)}`)
    decided++
  }
  t.ok(decided > 300)
})

const SCOPE = 'permit(principal, action, resource)'

t.test('what is wrong in a text is said', async (t) => {
  const rows: readonly (readonly [text: string, hint: string])[] = [
    [`${SCOPE} when { principal.claim_sub = "x" };`, "compare with '=='"],
    [`${SCOPE} when { true and true };`, "write '&&'"],
    [`${SCOPE} when { not true };`, "write '!'"],
    [`${SCOPE} when { principal.claim_email.endsWith("x") };`, 'write \'like "*…"\' for endsWith'],
    [`${SCOPE} when { principal.claim_email.size() };`, 'there is no method .size'],
    [`${SCOPE} when { principal.claim_groups.contains("a", "b") };`, 'give .contains one argument'],
    [`${SCOPE} when { hasRole("x") };`, 'there is no function hasRole'],
    [`${SCOPE} when { groups };`, '"groups" is not principal, action, resource or context'],
    [`${SCOPE} when { "a\\q" == "b" };`, '\\q is not an escape; write \\\\ for \\'],
    [`${SCOPE}\nwhere { true };`, 'write ; before where in line 2'],
    [`${SCOPE} when { 1 + };`, '} is not expected in line 1'],
    [`${SCOPE} when { (1;`, 'close each bracket'],
    [
      'permit(principal, action == Action::call_tool, resource);',
      'write Action::"call_tool", with double quotes',
    ],
    [
      'permit(principal == ?principal, action, resource);',
      'name an entity; slots such as ?principal are for templates',
    ],
    [
      'permit(principal, action, resource in [Tool::"a"]);',
      'name one entity here; write when { resource in [ … ] } for several',
    ],
  ]
  for (const [text, hint] of rows) t.same(parsePolicy(text), { kind: 'refused', hint }, text)
})

t.test('nothing of a stranger is read without a bound', async (t) => {
  const deep = (open: string, close: string) =>
    `${SCOPE} when { ${open.repeat(1e5)}true${close.repeat(1e5)} };`
  for (const text of [
    deep('(', ')'),
    deep('[', ']'),
    deep('{a: ', '}'),
    deep('!', ''),
    `${SCOPE} when { context${'.a'.repeat(1e5)} };`,
    `${SCOPE} when { context has a${'.a'.repeat(1e5)} };`,
    deep('if true then ', ' else true'),
  ])
    t.equal(parsePolicy(text).kind, 'unread', text.slice(0, 60))
  const long = parsePolicy(`${SCOPE} when { ${Array(1e5).fill('context has arg_a').join(' && ')} };`)
  t.equal(long.kind, 'policy')
  const kind = REQUESTS[0]
  const requests = new KnownRequests(kind, {
    groupType: 'THVGroup',
    groupClaims: [],
    hasClaimSets: false,
    entities: new PolicyEntities([]),
    server: undefined,
    callers: ANYBODY,
  })
  const { policy } = long as { policy: CedarPolicy }
  t.equal(
    withinBudget(() => outcomeOf(policy, requests, new Budget(JUDGEMENT))),
    undefined,
  )
  t.equal(readEntities(`[${'{"attrs":{"a":'.repeat(1e4)}1${'}}'.repeat(1e4)}]`).kind, 'entities')
})
