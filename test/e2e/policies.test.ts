import fc from 'fast-check'
import root, { type Test } from 'tap'
import { heldPlaces } from '../../src/generate/policies.ts'
import { DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import { examplesAt } from '../../src/kinds/places.ts'
import { judgeOf } from '../support/review.ts'
import { resources } from '../support/arbitrary.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, minorOf, pathOf } from './cluster.ts'
import {
  deniedBy,
  errorIds,
  EVERYTHING_WRONG,
  HELD,
  HOSTS,
  idIn,
  kindOf,
  withProviders,
} from './policy-answers.ts'
import { create, merge, type Outcome, remove, type Resource, update } from './resources.ts'
import { dryRunAll, inBatches, ruleExamples, type Status } from './rule-examples.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const JUDGE = judgeOf()
const DRY_RUN = '?dryRun=All'

/** The admission policies alone; no webhook is registered. */
await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const stored = await storeBroken(api)
  const finalized = await storeFinalized(api)
  await apply(api, 'trial')
  await answering(api, ({ status, warnings }) => status === 201 && warnings.length > 0)

  await t.test('a trial warns of every rule that is broken, and denies nothing', async (t) => {
    const { status, warnings } = await create(api, EVERYTHING_WRONG, DRY_RUN)
    t.equal(status, 201)
    const ids = errorIds(EVERYTHING_WRONG).filter((id) => HELD.has(id))
    t.strictSame(warnings.map(idIn).toSorted(), ids)
    t.ok(ids.length > 3, ids.join())
  })

  await apply(api, 'deny')
  await answering(api, ({ status }) => status === 422)

  await t.test('every example of every rule, at every place', (t) => judgesAsRulesDo(t, api))
  await t.test('made-up objects of every kind', (t) => judgesMadeUp(t, api))
  await t.test('URLs, host by host', (t) => judgesUrls(t, api))
  await t.test('an object that is too large to judge is admitted', async (t) => {
    t.ok(deniedBy(await create(api, withProviders(20, 'provider-0'), DRY_RUN)))
    t.equal((await create(api, withProviders(1_000), DRY_RUN)).status, 201)
    t.equal((await create(api, withProviders(1_000, 'provider-998'), DRY_RUN)).status, 201)
  })

  await t.test('an update is denied where it breaks a rule that the stored object keeps', (t) =>
    judgesUpdates(t, api, stored),
  )
  await t.test('metadata may change whatever the spec is', async (t) => {
    for (const resource of stored) {
      const outcome = await merge(api, resource, { metadata: { labels: { team: 'a' } } })
      t.equal(outcome.status, 200, String(outcome.body.message))
    }
  })
  await t.test('what is being deleted may be changed', async (t) => {
    const changed = { ...finalized, spec: EVERYTHING_WRONG.spec }
    t.ok(deniedBy(await update(api, changed)))
    await remove(api, finalized)
    t.equal((await update(api, changed)).status, 200)
    t.equal((await merge(api, finalized, { metadata: { finalizers: null } })).status, 200)
  })

  await installCrds(api, 'crds-strict')
  await t.test('on top of CRDs with constraints', (t) => judgesAsRulesDo(t, api, { strict: true }))
})

/** Stores an object that breaks each rule in each place, before the policies exist. */
async function storeBroken(api: ApiServer): Promise<Resource[]> {
  const broken = heldPlaces().flatMap((place, i) => {
    const example = examplesAt(place, `broken-${i}`).find(({ findings }) => findings.length > 0)
    return example === undefined ? [] : [example.resource as unknown as Resource]
  })
  return inBatches(broken, async (resource) => {
    const { status, body } = await create(api, resource)
    if (status !== 201) throw new Error(`${resource.metadata.name} was answered with ${status}`)
    return body
  })
}

async function storeFinalized(api: ApiServer): Promise<Resource> {
  const metadata = { name: 'finalized', namespace: 'default', finalizers: ['example.com/wait'] }
  const { body } = await create(api, { ...EVERYTHING_WRONG, metadata, spec: { type: 'unauthenticated' } })
  return body
}

async function apply(api: ApiServer, variant: 'trial' | 'deny'): Promise<void> {
  await kubectl(api, ['apply', '--server-side', '-f', `deploy/policies/${variant}.yaml`])
}

/** Waits until the policies of all kinds give such an answer to an object that breaks a rule. */
async function answering(api: ApiServer, isSo: (outcome: Outcome) => boolean): Promise<void> {
  const kinds = [...new Set(heldPlaces().map(({ kind }) => kind))]
  for (const kind of kinds) {
    const place = heldPlaces().find((place) => place.kind === kind && place.at.length === 0)
    const broken = place && examplesAt(place).find(({ findings }) => findings.length > 0)
    const what = `the policy of ${kind.kind}`
    await waitFor(async () => isSo(await create(api, broken?.resource as unknown as Resource, DRY_RUN)), {
      seconds: 30,
      what,
    })
  }
}

/**
 * Asserts that the policies deny only for rules for which the webhook would deny, and deny whenever the webhook would
 * deny for a rule that is also a policy.
 */
async function judgesAsRulesDo(t: Test, api: ApiServer, { strict = false } = {}): Promise<void> {
  const denied = new Set<string>()
  for (const { example, answer } of await dryRunAll(api, ruleExamples())) {
    const id = deniedBy(answer)
    agrees(t, example, id, strict && id === undefined)
    if (id !== undefined) denied.add(`${id} on ${example.place.kind.kind}`)
    if (example.findings.length === 0) t.equal(answer.status, 201, example.title)
  }
  const places = heldPlaces().map(({ rule, kind }) => `${rule.id} on ${kind.kind}`)
  if (!strict) t.strictSame([...denied].toSorted(), places.toSorted(), 'each is denied at each place')
}

interface Sent {
  readonly title: string
  readonly resource: Record<string, unknown>
}

function agrees(t: Test, { title, resource }: Sent, id: string | undefined, refused: boolean): void {
  const ids = errorIds(resource).filter((id) => HELD.has(id))
  if (refused) return
  if (id === undefined) t.strictSame(ids, [], `${title}: admitted`)
  else t.ok(ids.includes(id), `${title}: denied by ${id}, not one of ${ids.join()}`)
}

async function judgesMadeUp(t: Test, api: ApiServer): Promise<void> {
  const count = { admitted: 0, denied: 0, mistyped: 0 }
  for (const kind of KINDS.filter((kind) => heldPlaces().some((place) => place.kind === kind))) {
    for (const wrong of [0, 4]) {
      const objects = fc.sample(resources(kind, { wrong }), { numRuns: 50, seed: 7 })
      const answers = await inBatches(objects, async (object) => {
        const resource = { ...object, metadata: { name: 'made-up', namespace: 'default' } }
        return { resource, answer: await api.request<Status>('POST', pathOf(kind) + DRY_RUN, resource) }
      })
      for (const { resource, answer } of answers) {
        const id = deniedBy(answer)
        const isMistyped = answer.status !== 201 && id === undefined
        agrees(t, { title: JSON.stringify(resource), resource }, id, isMistyped)
        count[isMistyped ? 'mistyped' : id === undefined ? 'admitted' : 'denied'] += 1
      }
    }
  }
  t.comment(JSON.stringify(count))
  t.ok(count.admitted > 15 && count.denied > 100, JSON.stringify(count))
}

async function judgesUrls(t: Test, api: ApiServer): Promise<void> {
  const isOld = (await minorOf(api)) < 36
  const urls = HOSTS.flatMap((host) => [`http://${host}`, `http://${host}/mcp`, `https://${host}`]).filter(
    // The URL parser of Go before 1.26 accepts IPv6 addresses without brackets.
    (url) => !isOld || url !== 'https://::1',
  )
  const others = ['ftp://localhost', 'http://localhost/', 'HTTP://localhost', 'http://localhost?a', '', 'x']
  await inBatches([...urls, ...others], async (issuer) => {
    const { spec, ...rest } = withProviders(1)
    const resource = {
      ...rest,
      spec: { ...spec, embeddedAuthServer: { ...spec.embeddedAuthServer, issuer } },
    }
    const outcome = await create(api, resource, DRY_RUN)
    agrees(t, { title: issuer, resource: { ...resource } }, deniedBy(outcome), false)
  })
}

async function judgesUpdates(t: Test, api: ApiServer, stored: readonly Resource[]): Promise<void> {
  const pairs = stored.flatMap((old) =>
    stored.filter(({ kind }) => kind === old.kind).map((other) => ({ old, spec: other.spec })),
  )
  const outcomes = await inBatches(pairs, async ({ old, spec }) => {
    const resource = { ...old, spec }
    const path = `${pathOf(kindOf(old))}/${old.metadata.name}${DRY_RUN}`
    return { old, resource, answer: await api.request<Status>('PUT', path, resource) }
  })
  for (const { old, resource, answer } of outcomes) {
    const title = `${old.metadata.name} becomes ${errorIds({ ...resource }).join()}`
    const before = errorIds({ ...old })
    const broken = errorIds({ ...resource }).filter((id) => HELD.has(id) && !before.includes(id))
    const id = deniedBy(answer)
    t.equal(id === undefined, broken.length === 0, title)
    if (id === undefined) t.equal(answer.status, 200, title)
    else t.ok(webhookDenies(old, resource).has(id), `${title}: the webhook denies it by ${id}`)
  }
}

function webhookDenies(oldObject: Resource, object: Resource): ReadonlySet<string> {
  const { kind, metadata } = object
  const request = { operation: 'UPDATE', subResource: '', dryRun: false, user: 'admin' } as const
  const submission = { ...request, group: DEFAULT_API_GROUP, kind, ...metadata, object, oldObject }
  return new Set(JUDGE.admit(submission).errors.map(({ id }) => id))
}
