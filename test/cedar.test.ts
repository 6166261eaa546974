import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CedarAnswer, CedarQuestion, CedarRequest } from '../bench/cedar-go.ts'
import { outcomeOf, type CedarPolicy, parsePolicy } from '../src/cedar/index.ts'
import { JUDGEMENT } from '../src/engine/rules.ts'
import { PolicyEntities, readEntities } from '../src/relations/policy-entities.ts'
import { excludesEachOther, needsOfPolicy } from '../src/relations/policy-needs.ts'
import { ANYBODY, KnownRequests, REQUESTS } from '../src/relations/policy-requests.ts'
import { Budget, findingText, withinBudget } from '../src/rule/index.ts'
import { runCli } from './support/cli.ts'
import { fileOf, judgeOf, resourceOf } from './support/review.ts'

/** The recorded results of cedar-go 1.8: whether it accepts policies or entities, and its decisions about requests. */
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
      (row) =>
        (readEntities((row as { readonly entities: string }).entities, new Budget(1e6)).kind ===
          'entities') !==
        row.ok,
    ),
    [],
  )
})

function policyOf(text: string): CedarPolicy {
  const parsed = parsePolicy(text)
  if (parsed.kind !== 'policy') throw new Error(text)
  return parsed.policy
}

/** The rows that record a decision about a request. */
function decisions() {
  return golden.flatMap((row) => {
    if (!('policies' in row)) return []
    const { policies, entities = '[]', request } = row
    const kind = REQUESTS.find(({ action }) => action === request.action)
    if (kind === undefined) throw new Error(request.action)
    const read = readEntities(entities, new Budget(1e6))
    const requests = new KnownRequests(kind, {
      groupType: request.group,
      groupClaims: ['groups'],
      hasClaimSets: false,
      hasBackends: false,
      kinds: REQUESTS,
      entities: new PolicyEntities(() => (read.kind === 'entities' ? read.entities : undefined)),
      server: request.server,
      callers: ANYBODY,
    })
    return [{ ...row, policy: policyOf(policies[0] ?? ''), requests }]
  })
}

t.test('what cedar-go decides is possible', async (t) => {
  let decided = 0
  for (const row of decisions()) {
    const { policies, request } = row
    const { isTrue, isFalse, fails, scope } = outcomeOf(row.policy, row.requests, new Budget(JUDGEMENT))
    const isPossible =
      row.errors !== undefined ? fails : row.reasons !== undefined ? isTrue : isFalse || scope !== 'all'
    if (!isPossible) t.fail(`${policies[0] ?? ''} ${JSON.stringify(request)}`)
    decided++
  }
  t.ok(decided > 300)
})

/** A policy whose conditions hold for this request only. */
function policyAbout({ type, name, claims, args, hints, groups, group }: CedarRequest): CedarPolicy {
  const values = [
    ...Object.entries(claims).map(([key, value]) => [`principal.claim_${key}`, value]),
    ...Object.entries(args).map(([key, value]) => [`context.arg_${key}`, value]),
    ...Object.entries(hints).map(([key, value]) => [`resource.${key}`, value]),
  ].filter(([, value]) => typeof value === 'string' || typeof value === 'boolean')
  const isSo = [
    ...values.map(([what, value]) => `${String(what)} == ${JSON.stringify(value)}`),
    ...groups.map((id) => `principal in ${group}::"${id}"`),
    ...['email', 'groups', 'b'].map((key) => `${key in claims ? '' : '!'}(principal has claim_${key})`),
    ...['n', 's'].map((key) => `${key in args ? '' : '!'}(context has arg_${key})`),
    ...(Array.isArray(claims.groups) && claims.groups.includes('x')
      ? ['principal.claim_groups.contains("x")']
      : []),
  ]
  return policyOf(
    `permit(principal == Client::"${String(claims.sub)}", action, resource == ${type}::"${name}") when { ${isSo.join(' && ')} };`,
  )
}

t.test('requests for which a policy holds are what it needs', async (t) => {
  const counts = { held: 0, excluded: 0 }
  for (const { policies, policy, requests, request, reasons = [] } of decisions()) {
    const budget = new Budget(JUDGEMENT)
    const needs = needsOfPolicy(policyAbout(request), requests, budget)
    const isExcluded = excludesEachOther(needs, needsOfPolicy(policy, requests, budget), budget)
    if (isExcluded) counts.excluded++
    if (reasons.length === 0) continue
    counts.held++
    if (isExcluded) t.fail(`${policies[0] ?? ''} ${JSON.stringify(request)}`)
  }
  t.ok(counts.held > 150 && counts.excluded > 10, JSON.stringify(counts))
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
  const kind = REQUESTS[0]
  const requests = new KnownRequests(kind, {
    groupType: 'THVGroup',
    groupClaims: [],
    hasClaimSets: false,
    hasBackends: false,
    kinds: REQUESTS,
    entities: new PolicyEntities(() => []),
    server: undefined,
    callers: ANYBODY,
  })
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
    `${SCOPE} when { ${`${'!'.repeat(99)}(`.repeat(40)}true${')'.repeat(40)} };`,
    `${SCOPE} when { ${'('.repeat(40)}context${`${'.a'.repeat(99)})`.repeat(40)} };`,
    `${SCOPE} when { ${'('.repeat(40)}context${` has a${'.a'.repeat(90)})`.repeat(40)} };`,
    `${SCOPE} when { ${`context${'.a'.repeat(99)}.contains(`.repeat(40)}true${')'.repeat(40)} };`,
  ])
    t.equal(parsePolicy(text).kind, 'unread', text.slice(0, 60))
  for (const text of [
    `${SCOPE} when { ${'(true && !'.repeat(49)}true${' || 1 + 1 == 2)'.repeat(49)} };`,
    `${SCOPE} when { context${'.a'.repeat(99)} };`,
    `${SCOPE} when { context has a${'.a'.repeat(99)} };`,
    `${SCOPE} when { ${'if context has a then '.repeat(98)}true${' else true'.repeat(98)} };`,
  ])
    t.doesNotThrow(() => outcomeOf(policyOf(text), requests, new Budget(1e6)), text.slice(0, 60))
  const long = parsePolicy(`${SCOPE} when { ${Array(1e5).fill('context has arg_a').join(' && ')} };`)
  t.equal(long.kind, 'policy')
  const { policy } = long as { policy: CedarPolicy }
  t.equal(
    withinBudget(() => outcomeOf(policy, requests, new Budget(JUDGEMENT))),
    undefined,
  )
  t.equal(
    readEntities(`[${'{"attrs":{"a":'.repeat(1e4)}1${'}}'.repeat(1e4)}]`, new Budget(1e6)).kind,
    'entities',
  )
})

/** A resource with policies and the findings about them; `right` marks policies without findings. */
interface PolicyRow {
  readonly right?: true
  readonly kind: string
  readonly spec: object
  readonly findings: readonly string[]
}
const POLICIES = new URL('golden/policies.jsonl', import.meta.url)

t.test('what is said of policies', async (t) => {
  const rows = readFileSync(POLICIES, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as PolicyRow)
  const judged = rows.map(({ right, kind, spec }) => {
    const object = resourceOf(kind, spec, { name: 'gw', namespace: 'default' })
    const { errors, warnings } = judgeOf({ release: undefined, settings: { severities: [] } }).file(
      fileOf(object),
    )
    const found = [...errors, ...warnings].filter(({ id }) => id.startsWith('authorization-'))
    return { ...(right && { right }), kind, spec, findings: found.map(findingText) }
  })
  if (process.env.UPDATE_GOLDEN === '1')
    writeFileSync(POLICIES, `${judged.map((row) => JSON.stringify(row)).join('\n')}\n`)
  t.same(
    judged.filter(({ right, findings }) => right && findings.length > 0),
    [],
  )
  t.ok(judged.filter(({ right }) => right).length >= 108)
  t.ok(judged.filter(({ findings }) => findings.length > 0).length >= 118)
  t.same(judged, rows)
})

t.test('a message about a policy does not grow with its texts', async (t) => {
  const long = 'x'.repeat(500)
  const conditions = [
    `principal.${long} == "a"`,
    `context["${long}.${long}"] == "a"`,
    `resource.name.${long}()`,
    `${long}(1)`,
    `${long}::${long}`,
    `{${long}: 1, ${long}: 2}`,
    `"${long}" in principal.claim_groups`,
    `principal.claim_groups like "${long}"`,
    `principal.claim_sub.contains("${long}")`,
    `principal.claim_sub.${long} == "a"`,
    `resource == ${long}::"${long}"`,
    `resource is ${long}`,
    `action == Action::"${long}"`,
    `principal in ${long}::"${long}"`,
    `principal == ${long}Group::"${long}"`,
    `resource in MCP::"${long}"`,
    `decimal("${long}").lessThan(decimal("1.0"))`,
    `context has claim_${long} && context.claim_${long} > 5`,
    `principal.claim_${long} == "a"`,
    `context.arg_${long} == "a"`,
    `resource has uri && resource["uri ${long}"] == "a"`,
  ]
  const policies = [
    ...conditions.map((condition) => `${SCOPE} when { ${condition} };`),
    `@${long}("a") @${long}("b") ${SCOPE};`,
    `permit(principal, action == ${long}::${long}, resource);`,
    `permit(principal, action == ${long}, resource);`,
    `permit(principal, action, resource == ${long});`,
    `${long};`,
  ]
  const entities = [
    { uid: { type: long, id: long }, attrs: {}, parents: [] },
    { uid: { type: 'Tool', id: long }, attrs: { a: long } },
    { uid: `${long}::${long}` },
    { uid: { type: 'Team', id: long }, attrs: { a: { __extn: { fn: long, arg: long } } } },
    { uid: { type: 'Team', id: long }, [long]: 1 },
  ]
  const specs = [
    ...policies.map((policy) => ({ policies: [`${SCOPE};`, policy] })),
    ...entities.map((each) => ({ policies: [`${SCOPE};`], entitiesJson: JSON.stringify([each, each]) })),
  ]
  const judge = judgeOf({ release: undefined, settings: { severities: [] } })
  let told = 0
  for (const inline of specs)
    for (const more of [{}, { groupEntityType: long }]) {
      const object = resourceOf(
        'MCPServer',
        { image: 'x', authzConfig: { type: 'inline', ...more, inline } },
        { name: 'gw', namespace: 'default' },
      )
      const { errors, warnings } = judge.file(fileOf(object))
      const found = [...errors, ...warnings].filter(({ id }) => id.startsWith('authorization-'))
      for (const each of found) if (findingText(each).length > 350) t.fail(findingText(each))
      if (found.length > 0) told++
    }
  // Groups of the configured type are correct, and an entity may have any name.
  t.equal(told, 2 * specs.length - 3)
})

t.test('no rule fails on policies of another type, nor takes a workload for a gateway', async (t) => {
  const judge = judgeOf({ release: undefined, settings: { severities: [] } })
  for (const place of ['authzConfig', 'authzConfigRef'])
    for (const value of ['', 0, false, null, 'x', 7, true, [], [1], {}, { name: 0 }, { inline: '' }])
      for (const spec of [{ incomingAuth: { type: 'anonymous', [place]: value } }, { [place]: value }])
        for (const kind of ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy']) {
          const { failures } = judge.file(fileOf(resourceOf(kind, spec)))
          t.strictSame(failures, [], `${kind} ${JSON.stringify(spec)}`)
        }
})

t.test('what a ConfigMap of policies must hold', async (t) => {
  const whole = { version: '1.0', type: 'cedarv1', cedar: { policies: [`${SCOPE};`] } }
  const rows: readonly (readonly [text: string | undefined, said: string | undefined])[] = [
    [JSON.stringify(whole), undefined],
    [`version: "1.0"\ntype: cedarv1\ncedar:\n  policies: ['${SCOPE};']\n`, undefined],
    [JSON.stringify({ Version: '1.0', TYPE: 'cedarv1', Cedar: whole.cedar }), undefined],
    ['{"version": "${VERSION}"}', undefined],
    [JSON.stringify({ version: '1.0', type: 'httpv1' }), undefined],
    ['', 'is empty'],
    ['a: [', 'is neither JSON nor YAML: flow sequence in block collection must be'],
    [
      `a: &a [${'x,'.repeat(500)}]\nb: [${'*a,'.repeat(3e3)}]`,
      'is neither JSON nor YAML: document contains excessive aliasing',
    ],
    [`${'z'.repeat(500)}: {a: *${'y'.repeat(500)}}`, "is neither JSON nor YAML: unknown anchor 'yyy"],
    ['version: "1.0"\nversion: "1.0"\ntype: httpv1\n', undefined],
    [JSON.stringify({ ...whole, CEDAR: { Policies: ['allow;'] } }), "begin with 'permit' or 'forbid'"],
    [
      JSON.stringify({ ...whole, cedar: { ...whole.cedar, Entities_JSON: '{}' } }),
      'must be a JSON array of entities',
    ],
    [
      JSON.stringify({
        ...whole,
        cedar: {
          Policies: ['permit(principal in THVGroup::"a", action, resource);'],
          Group_Entity_Type: 'Team',
        },
      }),
      'write Team::"a"',
    ],
    ['[]', 'must be an object with version, type and cedar'],
    ['version: 1.0\ntype: cedarv1\n', 'version must be a text; write "version": "1.0"'],
    [JSON.stringify({ ...whole, type: '' }), 'has no type; write "type": "cedarv1"'],
    [JSON.stringify({ ...whole, type: 'opa' }), '"opa" is not a type; write "type": "cedarv1"'],
    [JSON.stringify({ ...whole, cedar: null }), 'has no cedar; write "cedar": {"policies": […]}'],
    [JSON.stringify({ ...whole, cedar: [] }), 'cedar must be an object with policies'],
    [JSON.stringify({ ...whole, cedar: { policies: 'x' } }), 'policies must be an array of texts'],
    [JSON.stringify({ ...whole, cedar: { policies: [1] } }), 'policies must be an array of texts'],
    [JSON.stringify({ ...whole, cedar: { policies: null } }), 'has no policies; write at least one'],
    [JSON.stringify({ ...whole, cedar: {} }), 'has no policies; write at least one'],
    [
      JSON.stringify({ ...whole, cedar: { ...whole.cedar, entities_json: [] } }),
      'entities_json must be a text of JSON, in quotes',
    ],
    [undefined, 'has no such key'],
  ]
  const cwd = t.testdir()
  const objects = rows.flatMap(([text], i) => [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${i}` },
      data: text === undefined ? {} : { 'authz.json': text },
    },
    {
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPServer',
      metadata: { name: `s${i}` },
      spec: {
        authzConfig: { type: 'configMap', configMap: { name: `c${i}`, ...(i % 2 === 0 && { key: '' }) } },
      },
    },
  ])
  writeFileSync(join(cwd, 'all.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
  const { stdout } = await runCli(['check', '--output', 'json', 'all.json'], { cwd })
  const { findings } = JSON.parse(stdout) as {
    findings: readonly { id: string; name: string; message: string }[]
  }
  for (const [i, [text, said]] of rows.entries()) {
    const found = findings.filter(
      ({ id, name }) => name === `s${i}` && /^(?:authorization|config-map)-/.test(id),
    )
    t.equal(found.length, said === undefined ? 0 : 1, `${text ?? ''}: ${JSON.stringify(found)}`)
    if (said !== undefined) t.match(found[0]?.message, said)
  }
})
