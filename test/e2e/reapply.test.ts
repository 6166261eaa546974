import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import root, { type Test } from 'tap'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { mcpExternalAuthConfig } from '../../src/kinds/mcp-external-auth-config/index.ts'
import { freePort } from '../support/free-port.ts'
import { hasHelm, rendered } from '../support/helm.ts'
import { startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, pathOf } from './cluster.ts'
import { flagsOfChart, NAMESPACE } from './installed.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const NAME = 'vmcp-admission'
const MINUTE = 60_000
const APPLY_EVERY = 5_000
const ASK_EVERY = 250
const PATHS = ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'].map(
  (plural) => `/apis/admissionregistration.k8s.io/v1/${plural}/${NAME}`,
)
const SPECS = {
  good: { type: 'unauthenticated' },
  bad: { type: 'awsSts', awsSts: { region: 'eu-central-1' } },
}

interface Configuration {
  readonly metadata: {
    readonly resourceVersion: string
    readonly ownerReferences?: readonly { readonly uid: string }[]
    readonly managedFields: readonly { readonly manager: string }[]
  }
  readonly webhooks: readonly {
    readonly failurePolicy: string
    readonly clientConfig: { readonly caBundle?: string }
  }[]
}

if (hasHelm(root)) await withApiServer(root, suite)

async function suite(t: Test, api: ApiServer): Promise<void> {
  const { text, objects } = rendered()
  const apply = () => kubectl(api, ['apply', '--server-side', '--force-conflicts', '-f', '-'], text)
  await installCrds(api, 'crds')
  await kubectl(api, ['apply', '-f', 'deploy/kustomize/base/namespace.yaml'])
  await apply()
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-reapply-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const start = async (name: string) => {
    const process = await startServer(await flagsOfChart(api, folder, name, port), folder)
    t.teardown(() => process.stop('SIGKILL'))
    return process
  }
  const [server] = await Promise.all([start(`${NAME}-leader`), start(NAME)])
  const metrics = async () => {
    const lines = (await (await fetch(`${server.probeUrl}/metrics`)).text()).split('\n')
    return lines.filter((line) => /^vmcp_admission_(armed|leads|configuration_repairs) /.test(line))
  }
  await waitFor(async () => (await metrics()).includes('vmcp_admission_armed 1'), {
    seconds: 40,
    what: 'the webhook to be armed',
  })

  await t.test('the chart is applied every five seconds for a minute, and nothing is set back', async (t) => {
    const before = { stored: await ours(api), metrics: await metrics() }
    const start = performance.now()
    const [applied, seen, good, bad] = await Promise.all([
      every(APPLY_EVERY, apply),
      every(ASK_EVERY, () => look(api)),
      every(ASK_EVERY, (turn) => create(api, 'good', turn)),
      every(ASK_EVERY, (turn) => create(api, 'bad', turn)),
    ])
    t.ok(performance.now() - start >= MINUTE, 'a minute')
    t.strictSame(
      applied.map((lines) => lines.match(/ serverside-applied$/gm)?.length),
      Array(MINUTE / APPLY_EVERY).fill(objects.length),
      'each time every object of the chart is applied',
    )
    const [first = ''] = seen
    const asked = MINUTE / ASK_EVERY
    t.strictSame(tally(seen), { [first]: asked }, 'one version of the configurations, and no other')
    t.match(first, /^\d+ Fail:(\w+) Ignore:\1 \| \d+ Ignore:\1$/, 'armed, with one caBundle')
    t.strictSame(tally(good), { admitted: asked }, 'whatever is good is admitted')
    t.strictSame(tally(bad), { 'denied: aws-sts-role-configured': asked }, 'whatever is bad is denied')
    t.notMatch(await kubectl(api, ['get', mcpExternalAuthConfig.plural, '-o', 'name']), /bad/)
    const after = { stored: await ours(api), metrics: await metrics() }
    t.strictSame(after, before, 'the CA, the holder of the Lease, and nothing repaired')
    t.comment(`${applied.length} applies`, tally(seen), tally(good), tally(bad))
  })

  await t.test('the configurations are those of the server alone, and go with the ClusterRole', async (t) => {
    const uid = await kubectl(api, ['get', 'clusterrole', NAME, '-o', 'jsonpath={.metadata.uid}'])
    for (const { metadata } of await configurations(api)) {
      t.strictSame(
        metadata.managedFields.map(({ manager }) => manager),
        [NAME],
        'its manager',
      )
      t.strictSame(
        metadata.ownerReferences?.map((owner) => owner.uid),
        [uid],
        'its owner',
      )
    }
  })
}

/** Calls `work` now and then at this interval for a minute; resolves with all results. */
async function every<T>(milliseconds: number, work: (turn: number) => Promise<T>): Promise<T[]> {
  const start = performance.now()
  const until = (elapsed: number) => sleep(Math.max(0, Math.ceil(start + elapsed - performance.now())))
  const outcomes: T[] = []
  for (let turn = 0; turn * milliseconds < MINUTE; turn++) {
    await until(turn * milliseconds)
    outcomes.push(await work(turn))
  }
  await until(MINUTE)
  return outcomes
}

/** The number of occurrences of each outcome. */
function tally(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}

function configurations(api: ApiServer): Promise<Configuration[]> {
  return Promise.all(PATHS.map(async (path) => (await api.request<Configuration>('GET', path)).body))
}

/** Both webhook configurations as a line of text: resourceVersion, and failurePolicy and caBundle of each webhook. */
async function look(api: ApiServer): Promise<string> {
  const lines = (await configurations(api)).map(({ metadata, webhooks }) => {
    const entries = webhooks.map(({ failurePolicy, clientConfig }) => {
      const hash = createHash('sha256')
        .update(clientConfig.caBundle ?? '')
        .digest('hex')
      return `${failurePolicy}:${hash.slice(0, 12)}`
    })
    return [metadata.resourceVersion, ...entries].join(' ')
  })
  return lines.join(' | ')
}

/** The other objects that reapplying the chart could change: the CA Secret and the Lease. */
async function ours(api: ApiServer): Promise<string[]> {
  const rows = [
    ['secret/vmcp-admission-ca', '{.metadata.resourceVersion} {.data}'],
    ['lease/vmcp-admission', '{.metadata.uid} {.spec.holderIdentity} {.spec.leaseTransitions}'],
  ] as const
  return Promise.all(
    rows.map(([name, parts]) => kubectl(api, ['get', name, '-n', NAMESPACE, '-o', `jsonpath=${parts}`])),
  )
}

/** The result of creating an object. */
async function create(api: ApiServer, quality: keyof typeof SPECS, turn: number): Promise<string> {
  const { status, body } = await api.request<{ message?: string }>('POST', pathOf(mcpExternalAuthConfig), {
    apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`,
    kind: mcpExternalAuthConfig.kind,
    metadata: { name: `${quality}-${turn}` },
    spec: SPECS[quality],
  })
  if (status === 201) return 'admitted'
  const { message = '' } = body
  const rule = /denied the request: .* \(([\w-]+)\)$/s.exec(message)?.[1]
  return status === 422 && rule !== undefined ? `denied: ${rule}` : `${status} ${message}`
}
