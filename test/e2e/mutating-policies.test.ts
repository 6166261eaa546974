import { Agent } from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import root, { type Test } from 'tap'
import { mutatingWebhookConfiguration } from '../../src/registration/webhook-configurations.ts'
import { type DefaultsHolder, writtenDefaults } from '../../src/generate/mutating-policies.ts'
import { DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import { shape } from '../../src/shape/shape.ts'
import { resources } from '../support/arbitrary.ts'
import { knownReleases } from '../support/releases.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, pathOf } from './cluster.ts'
import { exampleFiles } from './example-files.ts'
import { deniedBy, kindOf, withProviders } from './policy-answers.ts'
import { installRelease } from './release-crds.ts'
import {
  create,
  merge,
  type Outcome,
  pathTo,
  type Resource,
  resourceIn,
  stored,
  update,
} from './resources.ts'
import { inBatches, ruleExamples } from './rule-examples.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const DRY_RUN = '?dryRun=All'
const WITH_DEFAULTS = KINDS.filter((kind) => writtenDefaults(kind).length > 0)

const EMBEDDED = withProviders(1)
/** A resource of each kind that gets defaults; each gets some inside lists and some outside. */
const PROBES = [
  EMBEDDED,
  resourceIn('default', {
    kind: 'VirtualMCPServer',
    metadata: { name: 'example' },
    spec: {
      groupRef: { name: 'tools' },
      incomingAuth: { type: 'anonymous' },
      authServerConfig: EMBEDDED.spec.embeddedAuthServer,
    },
  }),
]

const CASES = cases()
const EVERY_FIFTH = everyFifth(CASES)

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const old = { ...EMBEDDED, metadata: { ...EMBEDDED.metadata, name: 'old' } }
  t.equal((await create(api, old)).status, 201)
  const [webhook, outsideLists] = await Promise.all([
    startServer(),
    startServer(['--defaults', 'outside-lists']),
  ])
  t.teardown(() => Promise.all([webhook.stop(), outsideLists.stop()]))

  await register(api, outsideLists)
  await writes(api, 'outside lists')
  const byWebhookOutside = await createAll(api, EVERY_FIFTH)
  await register(api, webhook)
  await writes(api, 'everywhere')
  const byWebhook = await createAll(api, CASES)
  await unregister(api)

  await t.test('policies write what /mutate writes', async (t) => {
    await apply(api, 'defaults')
    await writes(api, 'everywhere')
    const start = performance.now()
    const byPolicies = await createAll(api, CASES)
    t.comment(`${CASES.length} dry runs in ${Math.round(performance.now() - start)} ms`)
    agree(t, CASES, byPolicies, byWebhook)
    t.strictSame(
      placesWritten(CASES, byPolicies),
      placesOf(() => true),
      'each default is written somewhere',
    )
  })

  await t.test('what is there already is not written again', async (t) => {
    const first = await create(api, EMBEDDED)
    t.match(first, { status: 201, body: { metadata: { generation: 1 } } })
    const { resourceVersion } = first.body.metadata
    for (const spec of [EMBEDDED.spec, first.body.spec]) {
      const { status, body } = await update(api, { ...EMBEDDED, spec })
      t.match([status, body.metadata], [200, { generation: 1, resourceVersion }])
    }
  })

  await t.test('a change beside the spec writes nothing, a change of the spec does', async (t) => {
    await merge(api, old, { metadata: { labels: { team: 'a' } } })
    await api.request('PUT', `${pathTo(old)}/status`, { ...(await stored(api, old)), status: {} })
    const now = await stored(api, old)
    t.match(now?.metadata, { labels: { team: 'a' }, generation: 1 })
    t.strictSame(now?.spec, old.spec)
    const issuer = 'https://other.example.com'
    const { body } = await merge(api, old, { spec: { embeddedAuthServer: { issuer } } })
    t.match(body.spec, { embeddedAuthServer: { issuer, storage: { type: 'memory' } } })
  })

  await t.test('beside the webhook nothing is written twice', async (t) => {
    const before = webhook.log().length
    await register(api, webhook)
    await waitFor(
      async () => {
        await writes(api, 'everywhere')
        return webhook.log().length > before
      },
      { seconds: 30, what: 'the API server to call the webhook' },
    )
    agree(t, EVERY_FIFTH, await createAll(api, EVERY_FIFTH), everyFifth(byWebhook))
    const reviews = [
      ...webhook
        .log()
        .slice(before)
        .matchAll(/"webhook":"mutate".*"added":(\d+)/g),
    ]
    t.ok(reviews.length > EVERY_FIFTH.length / 2, `${reviews.length} reviews`)
    t.strictSame([...new Set(reviews.map(([, added]) => added))], ['0'], 'the webhook adds nothing')
    await unregister(api)
  })

  await t.test('outside of lists only', async (t) => {
    await apply(api, 'defaults-outside-lists')
    await writes(api, 'outside lists')
    const byPolicies = await createAll(api, EVERY_FIFTH)
    agree(t, EVERY_FIFTH, byPolicies, byWebhookOutside)
    t.strictSame(
      placesWritten(EVERY_FIFTH, byPolicies),
      placesOf(({ list }) => list === undefined),
    )
  })

  await t.test('with the CRDs of a release of the operator', async (t) => {
    const release = knownReleases().at(-1)
    if (release === undefined) throw new Error('no release')
    await kubectl(api, ['delete', '-f', 'deploy/policies/defaults.yaml'])
    await installRelease(api, release)
    await register(api, webhook)
    await writes(api, 'everywhere')
    const byWebhook = await createAll(api, EVERY_FIFTH)
    await unregister(api)
    await apply(api, 'defaults')
    await writes(api, 'everywhere')
    agree(t, EVERY_FIFTH, await createAll(api, EVERY_FIFTH), byWebhook)
    t.comment(`${release.version}: ${byWebhook.filter(({ status }) => status === 201).length} admitted`)
  })

  await t.test('policies only, as the operator is installed: applied, and removed', async (t) => {
    await kubectl(api, ['delete', '-f', 'deploy/policies/defaults.yaml'])
    await kubectl(api, ['apply', '-k', 'deploy/kustomize/policies-only'])
    await writes(api, 'everywhere')
    const { embeddedAuthServer } = EMBEDDED.spec
    const spec = {
      ...EMBEDDED.spec,
      embeddedAuthServer: { ...embeddedAuthServer, issuer: 'http://a.example.com' },
    }
    const wrong = { ...EMBEDDED, metadata: { ...EMBEDDED.metadata, name: 'wrong' }, spec }
    const denied = async () => deniedBy(await create(api, wrong, DRY_RUN))
    const isDenied = async () => (await denied()) === 'auth-server-url-https-or-loopback'
    await waitFor(isDenied, { seconds: 30, what: 'a denial' })
    t.equal((await installed(api)).length, 5, 'two policies for defaults, three for rules, no webhook')
    await kubectl(api, ['delete', '-k', 'deploy/kustomize/policies-only'])
    t.strictSame(await installed(api), [])
    const isFree = async () => (await denied()) === undefined
    await waitFor(isFree, { seconds: 30, what: 'the policies to be gone' })
    t.match(await create(api, wrong, DRY_RUN), { status: 201 })
  })
})

/** The names of the product's policies and webhooks in the cluster as `kubectl get` prints them. */
async function installed(api: ApiServer): Promise<string[]> {
  const kinds = 'mutatingadmissionpolicies,validatingadmissionpolicies,mutatingwebhookconfigurations'
  return (await kubectl(api, ['get', kinds, '-o', 'name'])).split('\n').filter((line) => line !== '')
}

/** All examples, and 2,000 random objects of the kinds that get defaults; one in ten has wrong parts. */
function cases(): Resource[] {
  const objects = [
    ...exampleFiles().flatMap(({ resources }) => resources),
    ...ruleExamples().map(({ resource }) => resource as unknown as Resource),
    ...WITH_DEFAULTS.flatMap((kind) => [
      ...fc.sample(resources(kind), { numRuns: 900, seed: 7 }),
      ...fc.sample(resources(kind, { wrong: 4 }), { numRuns: 100, seed: 7 }),
    ]).map((object) => object as unknown as Resource),
  ]
  return objects.map(({ kind, spec }, i) =>
    resourceIn('default', { kind, metadata: { name: `case-${i}` }, spec }),
  )
}

function everyFifth<T>(list: readonly T[]): T[] {
  return list.filter((_, i) => i % 5 === 0)
}

/** Creates all cases as dry runs over few connections. */
async function createAll(api: ApiServer, cases: readonly Resource[]): Promise<Outcome[]> {
  const agent = new Agent({ keepAlive: true })
  try {
    return await inBatches(cases, (resource) =>
      api.request('POST', pathOf(kindOf(resource)) + DRY_RUN, resource, undefined, agent),
    )
  } finally {
    agent.destroy()
  }
}

/** Registers only the mutating webhook. */
async function register(api: ApiServer, { url, ca }: RunningServer): Promise<void> {
  const configuration = mutatingWebhookConfiguration({
    group: DEFAULT_API_GROUP,
    failurePolicy: 'Ignore',
    clientConfig: (path) => ({ url: url + path, caBundle: Buffer.from(ca).toString('base64') }),
  })
  await kubectl(api, ['apply', '--server-side', '-f', '-'], JSON.stringify(configuration))
}

async function unregister(api: ApiServer): Promise<void> {
  await kubectl(api, ['delete', 'mutatingwebhookconfiguration', 'vmcp-admission'])
}

async function apply(api: ApiServer, file: string): Promise<void> {
  await kubectl(api, ['apply', '--server-side', '-f', `deploy/policies/${file}.yaml`])
}

/** Waits until the API server adds the defaults to resources of each kind. */
async function writes(api: ApiServer, where: 'everywhere' | 'outside lists'): Promise<void> {
  const isSo = async () => {
    const answers = await inBatches(PROBES, (probe) =>
      create(api, { ...probe, metadata: { ...probe.metadata, name: 'probe' } }, DRY_RUN),
    )
    const texts = answers.map(({ body }) => JSON.stringify(body.spec ?? {}))
    return texts.every(
      (text) => text.includes('memory') && text.includes('offline_access') === (where === 'everywhere'),
    )
  }
  await waitFor(isSo, { seconds: 30, what: `defaults to be written ${where}` })
}

/**
 * Asserts equal answers with equal specs. Objects with a wrong JSON type are not compared: the webhook then writes
 * nothing, while a CRD checks the types of declared fields only.
 */
function agree(
  t: Test,
  cases: readonly Resource[],
  some: readonly Outcome[],
  others: readonly Outcome[],
): void {
  const differences = cases.flatMap((resource, i) => {
    if (shape(kindOf(resource), resource).mistyped) return []
    const [one, other] = [some[i], others[i]].map((answer) => [answer?.status, answer?.body.spec])
    return isDeepStrictEqual(one, other) ? [] : [{ resource, one, other }]
  })
  t.strictSame(differences.slice(0, 3), [])
}

/** The distinct paths of fields that were added, without list indexes: `KIND spec.list[].field`. */
function placesWritten(cases: readonly Resource[], outcomes: readonly Outcome[]): string[] {
  const places = cases.flatMap(({ kind, spec }, i) => {
    const after = outcomes[i]?.body.spec
    return after === undefined ? [] : [...added(spec, after, `${kind} spec`)]
  })
  return [...new Set(places)].toSorted()
}

function* added(before: unknown, after: unknown, path: string): Iterable<string> {
  if (typeof after !== 'object' || after === null) return
  for (const [key, value] of Object.entries(after)) {
    const place = Array.isArray(after) ? `${path}[]` : `${path}.${key}`
    const given = (before as Record<string, unknown>)[key]
    if ((given ?? null) === null && value !== null) yield place
    else yield* added(given, value, place)
  }
}

function placesOf(isMeant: (holder: DefaultsHolder) => boolean): string[] {
  const places = WITH_DEFAULTS.flatMap((kind) =>
    writtenDefaults(kind)
      .filter(isMeant)
      .flatMap(({ list, at, defaults }) => {
        const steps = list === undefined ? at : [`${list.join('.')}[]`, ...at]
        return defaults.map(([field]) => `${kind.kind} ${[...steps, field].join('.')}`)
      }),
  )
  return places.toSorted()
}
