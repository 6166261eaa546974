import root, { type Test } from 'tap'
import {
  authServer,
  backend,
  exchangeConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  oidcConfig,
  otherOf,
} from '../../src/relations/examples.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { allRules } from '../../src/kinds/places.ts'
import type { Other } from '../../src/rule/rule.ts'
import {
  expectsNowhere,
  isShownHere,
  type Placed,
  placedExamples,
  RULES_SHOWN,
  rulesShown,
  SHARED,
  canBeStored,
} from '../support/between-examples.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, kubectl, register } from './cluster.ts'
import { matchesGolden, transcript } from './golden.ts'
import {
  apply,
  causes,
  create,
  createNamespaces,
  EXCEPT_STORED,
  merge,
  remove,
  type Resource,
  resourceIn,
  settled,
  currentFindingsIn,
  store,
  storeAll,
  stored,
  update,
} from './resources.ts'
import { inBatches, warningOf } from './rule-examples.ts'
import { withApiServer } from './suite.ts'

const ANNOTATION = `${DEFAULT_API_GROUP}/subject-provider-written`

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const flags = ['--kubeconfig', api.kubeconfig, '--check-secrets=any-caller', '--check-config-maps']
  await withServer(t, api, [...flags, '--service-account-audience', 'tools'], async (server) => {
    await t.test('examples of rules between resources', (t) => judgeExamples(t, api, server))
    await t.test('what a person sees', (t) => showTranscripts(t, api, server))
    await t.test('subject providers', (t) => writeSubjectProviders(t, api, server))
    await t.test('audiences of service accounts', (t) => writeAudiences(t, api, server))
  })
  await withServer(t, api, [...flags, '--profile', 'strict'], async (server) => {
    await t.test('both ends of a contradiction are refused', (t) => refuseBothEnds(t, api, server))
    await t.test('deletions are refused', (t) => refuseDeletions(t, api, server))
  })
})

/** Runs a server on this machine that the API server calls as a webhook, until `work` ends. */
async function withServer(
  t: Test,
  api: ApiServer,
  flags: readonly string[],
  work: (server: RunningServer) => Promise<void>,
): Promise<void> {
  const server = await startServer(flags)
  try {
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await called(api, server)
    await work(server)
    t.notMatch(server.log(), /"level":"(error|fatal)"/, 'nothing went wrong inside')
  } finally {
    await server.stop('SIGKILL')
  }
}

async function judgeExamples(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const all = placedExamples().filter(({ before }) => canBeStored(before))
  const sections: { readonly title: string; readonly answer: string }[] = []
  await createNamespaces(api, [SHARED, ...all.map(({ namespace }) => namespace)])
  for (const examples of [all.filter(expectsNowhere), all.filter((example) => !expectsNowhere(example))]) {
    await storeAll(
      api,
      examples.flatMap(({ before, namespace }) => [...before, ...knownBy(namespace, before)]),
    )
    await settled(api, server)
    const verdicts = await inBatches(examples, (example) => submit(api, example), 4)
    for (const [i, example] of examples.entries()) {
      const verdict = verdicts[i]
      if (verdict === undefined) continue
      showsItsFindings(t, example, verdict)
      if (example.isShown) sections.push({ title: example.title, answer: verdict.answer })
    }
  }
  const ids = allRules().flatMap((rule) => (isShownHere(rule) ? [rule.id] : []))
  t.comment(`${all.length} examples of ${ids.length} rules, ${sections.length} of them through kubectl`)
  const shows = (id: string) =>
    sections.some(({ title, answer }) => title.startsWith(`${id} on `) && answer.includes(`(${id})\n`))
  t.strictSame(
    ids.filter((id) => !shows(id)),
    [],
    'each rule is shown through kubectl',
  )
  await matchesGolden(t, RULES_SHOWN, rulesShown(sections))
  // Later tests read the current findings from a metric that lists at most a thousand.
  const stored = all.flatMap(({ before, resource }) => [...before, resource])
  await inBatches(stored, (resource) => remove(api, resource))
}

/**
 * An object of the seven kinds for a namespace that has only Secrets and ConfigMaps, so that the server knows the
 * namespace: all namespaces without objects share one limit of reads.
 */
function knownBy(namespace: string, before: readonly Resource[]): Resource[] {
  const isOurs = ({ kind }: Resource) => kindNamed.has(kind)
  if (before.length === 0 || before.some(isOurs)) return []
  return [resourceIn(namespace, { kind: 'MCPGroup', metadata: { name: 'unrelated' }, spec: {} })]
}

/** The result of a submission. */
interface Verdict {
  readonly isDenied: boolean
  /** The causes of a denial, or else the warnings. */
  readonly texts: readonly string[]
  /** The whole output of kubectl, or the response, for the golden file and for messages. */
  readonly answer: string
}

function submit(api: ApiServer, example: Placed): Promise<Verdict> {
  return example.isShown ? submitWithKubectl(api, example) : submitInRequest(api, example)
}

async function submitInRequest(api: ApiServer, { place, resource, old }: Placed): Promise<Verdict> {
  const change = old === undefined ? create : update
  const outcome = await (place.rule.when === 'delete' ? remove : change)(api, resource)
  const isDenied = outcome.status >= 400
  const texts = isDenied ? causes(outcome) : outcome.warnings
  return { isDenied, texts, answer: outcome.body.message ?? 'admitted' }
}

async function submitWithKubectl(api: ApiServer, { place, resource, namespace }: Placed): Promise<Verdict> {
  const command =
    place.rule.when === 'delete'
      ? ['delete', place.kind.kind.toLowerCase(), resource.metadata.name, `--namespace=${namespace}`]
      : ['apply', `--namespace=${namespace}`, '-f', '-']
  const stdin = JSON.stringify(resource)
  const answer = await transcript({ ...api, kubectl: (args) => api.kubectl(args, { stdin }) }, [command])
  const isDenied = answer.endsWith('(exit code 1)\n')
  const line = isDenied ? /^(?:\* |The \w+ "\S+" is invalid: )(.+)$/gm : /^Warning: (.+)$/gm
  return { isDenied, texts: Array.from(answer.matchAll(line), ([, text = '']) => text), answer }
}

function showsItsFindings(t: Test, { title, place, resource, findings }: Placed, verdict: Verdict): void {
  const { id, severity } = place.rule
  const isDenied = findings.length > 0 && severity === 'error'
  t.equal(verdict.isDenied, isDenied, `${title}: ${verdict.answer}`)
  const own = verdict.texts.filter((text) => text.endsWith(` (${id})`))
  const expected = isDenied
    ? findings
    : findings.map((finding) => warningOf(place, resource.metadata.name, finding))
  t.strictSame(own.toSorted(), expected.toSorted(), `${title}: exactly its findings`)
}

/** The output of kubectl for a consistent directory: refusals, warnings, and the difference of a dry run. */
async function showTranscripts(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const folder = 'test/e2e/manifests'
  await createNamespaces(api, ['team'])
  await kubectl(api, ['apply', '--namespace=team', '-f', `${folder}/tools.yaml`])
  const applied = (name: string) => ['apply', '--namespace=team', '-f', `${folder}/${name}.yaml`]
  const shown: Readonly<Record<string, readonly (readonly string[])[]>> = {
    'provider-not-there': [applied('provider-not-there')],
    'dry-run': [[...applied('provider-not-there'), '--dry-run=server']],
    'other-issuer': [applied('other-issuer'), applied('another-server')],
    'second-provider': [applied('second-provider')],
    misspelt: [applied('misspelt')],
    deletion: [
      ['delete', 'mcpgroup', 'tools', '--namespace=team'],
      ['delete', 'mcpoidcconfig', 'corporate', '--namespace=team'],
    ],
  }
  for (const [name, commands] of Object.entries(shown)) {
    const texts: string[] = []
    for (const command of commands) {
      await settled(api, server)
      texts.push(await transcript(api, [command]))
    }
    await matchesGolden(t, `between/${name}.txt`, texts.join('\n'))
  }
}

/** The stored value of the field that /mutate writes, and its annotation about that. */
async function written(api: ApiServer, config: Resource): Promise<readonly (string | undefined)[]> {
  const { spec, metadata } = (await stored(api, config)) ?? {}
  const { tokenExchange } = spec as { tokenExchange: { subjectProviderName?: string } }
  return [tokenExchange.subjectProviderName, metadata?.annotations?.[ANNOTATION]]
}

async function writeSubjectProviders(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  await createNamespaces(api, ['subjects'])
  const here = (object: Other) => resourceIn('subjects', object)
  const providing = (name: string, ...providers: readonly string[]) =>
    here(gateway(name, { authServerConfig: authServer(...providers) }))
  const config = here(exchangeConfig('jira'))
  const exchange = (tokenExchange: object) => merge(api, config, { spec: { tokenExchange } })
  await storeAll(api, [here(backend('jira', 'jira')), providing('tools', 'okta', 'github')])
  await settled(api, server)

  t.equal((await apply(api, config)).status, 201)
  t.strictSame(
    await written(api, config),
    ['okta', 'okta'],
    'the first provider is written, and that we wrote it',
  )
  const { metadata: before } = (await stored(api, config)) ?? {}
  await merge(api, config, { metadata: { labels: { team: 'jira' } } })
  const { metadata: after } = (await stored(api, config)) ?? {}
  t.match(
    after,
    { labels: { team: 'jira' }, generation: before?.generation },
    'a label leaves the spec alone',
  )

  const renamed = await apply(api, providing('tools', 'github'))
  t.equal(renamed.status, 200, 'a value that /mutate wrote does not refuse another provider')
  t.match(renamed.warnings.join('\n'), /written by default; .* \(written-subject-provider-exists\)$/m)
  await settled(api, server)
  await apply(api, config)
  t.strictSame(await written(api, config), ['okta', 'okta'], 'the same file again writes nothing')
  const standing = await currentFindingsIn(server, 'subjects')
  t.ok(standing.includes('VirtualMCPServer/tools subject-provider-exists error'), 'which shows')
  await exchange({ audience: 'other' })
  t.strictSame(await written(api, config), ['github', 'github'], 'the next write of the spec replaces it')

  await store(api, providing('other', 'okta'))
  await settled(api, server)
  const disagreed = await exchange({ audience: 'third' })
  t.strictSame(await written(api, config), [undefined, undefined], 'two that disagree: it is dropped')
  t.match(disagreed.warnings.join('\n'), /no default is written, .* \(subject-provider-agreed\)$/m)

  await remove(api, providing('other', 'okta'))
  await settled(api, server)
  await exchange({ audience: 'fourth' })
  t.strictSame(await written(api, config), ['github', 'github'], 'one is left, which decides')
  await exchange({ subjectProviderName: 'okta' })
  t.strictSame(await written(api, config), ['okta', undefined], "an own value is kept, and is nobody else's")
}

async function writeAudiences(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  await createNamespaces(api, ['audiences'])
  const here = (object: Other) => resourceIn('audiences', object)
  const incoming = (name: string, oidcConfigRef: string, audience?: string) =>
    here(
      gateway(name, {
        incomingAuth: { type: 'oidc', oidcConfigRef: { name: oidcConfigRef }, ...(audience && { audience }) },
      }),
    )
  await storeAll(api, [
    here(oidcConfig('corporate')),
    here(
      otherOf('MCPOIDCConfig', 'cluster', { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} }),
    ),
  ])
  await settled(api, server)
  const rows: readonly (readonly [Resource, string | undefined, string])[] = [
    [incoming('none', 'cluster'), 'tools', 'written where none is set'],
    [incoming('own', 'cluster', 'own'), 'own', 'an own one is kept'],
    [incoming('inline', 'corporate'), undefined, 'none is written for other tokens'],
    [incoming('unknown', 'later'), undefined, 'none is written for what is not there'],
  ]
  for (const [resource, audience, title] of rows) {
    const { status } = await create(api, resource)
    t.equal(status, audience === undefined ? 422 : 201, title)
    const spec = (await stored(api, resource))?.spec as { incomingAuth?: { audience?: string } } | undefined
    t.equal(spec?.incomingAuth?.audience, audience, title)
  }
}

/**
 * Tests deletions that a severity of `error` refuses, except by the garbage collector and in a namespace that is being
 * deleted.
 */
async function refuseBothEnds(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  await createNamespaces(api, ['both-ends'])
  const here = (object: Other) => resourceIn('both-ends', object)
  const others = [group(), oidcConfig('corporate'), backend('jira', 'jira'), injectConfig('jira', 'okta')]
  await storeAll(api, [...others, gateway('tools', { authServerConfig: authServer('okta') })].map(here))
  await settled(api, server)
  const renamed = here(injectConfig('jira', 'github'))
  const dryRun = await apply(api, renamed, { dryRun: true })
  t.match(
    [dryRun.status, dryRun.warnings.join()],
    [200, /alone, this would be denied: .*\(auth-config-served\)/],
  )
  const refused = await apply(api, renamed)
  t.match([refused.status, causes(refused).join()], [422, /\(auth-config-served\)$/])
}

async function refuseDeletions(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  await createNamespaces(api, ['kept', 'leaving'])
  const objects = [headerConfig('key'), headerConfig('unused'), backend('jira', 'key')]
  await storeAll(
    api,
    ['kept', 'leaving'].flatMap((namespace) => objects.map((object) => resourceIn(namespace, object))),
  )
  await settled(api, server)
  const deletion = (name: string, namespace: string) =>
    ['delete', 'mcpexternalauthconfig', name, `--namespace=${namespace}`] as const
  const text = await transcript(api, [deletion('unused', 'kept'), deletion('key', 'kept')])
  await matchesGolden(t, 'between/deletion-refused.txt', text)

  const user = (name: string) => `system:serviceaccount:kube-system:${name}`
  const as = (name: string) => ({ as: { user: user(name), groups: ['system:masters'] } })
  const key = resourceIn('kept', headerConfig('key'))
  for (const cleaner of ['namespace-controller', 'generic-garbage-collector']) {
    const other = await api.kubectl(deletion('key', 'kept'), as('replicaset-controller'))
    t.equal(other.code, 1, `refused before: ${other.stderr}`)
    const { code, stderr } = await api.kubectl(deletion('key', 'kept'), as(cleaner))
    t.equal(code, 0, `${cleaner}: ${stderr}`)
    await store(api, key)
    await settled(api, server)
  }

  await api.request('DELETE', '/api/v1/namespaces/leaving')
  const { body } = await api.request<{ status: { phase: string } }>('GET', '/api/v1/namespaces/leaving')
  t.equal(body.status.phase, 'Terminating', 'no controller empties the namespace here')
  const { code, stderr } = await api.kubectl(deletion('key', 'leaving'))
  t.equal(code, 0, `deletions in a terminating namespace pass: ${stderr}`)
}
