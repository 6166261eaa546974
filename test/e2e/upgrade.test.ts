import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import root, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { KINDS } from '../../src/kinds/index.ts'
import { hasHelm, helmMeanwhile, setArguments } from '../support/helm.ts'
import type { ApiServer } from './api-server.ts'
import { kubectl, pathOf, ROOT } from './cluster.ts'
import { ACCOUNT, LEADER, NAMESPACE } from './installed.ts'
import { endPod, type Pod, startPod } from './pods.ts'
import { ROUTING } from './service-network.ts'
import { Stream } from './stream.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

/**
 * The commit from which the test upgrades; its CRDs, policies, roles, chart and rules differ from the current ones.
 * Once there is a release, write its tag here.
 */
const PREVIOUS = 'd86b10e7cb35'
const AT_A_TIME = 4
/** Milliseconds between two writes. */
const PAUSE = 100
const VALUES = { 'crds.enabled': true, shutdownDelay: 2 }
/** A setting that only the current version has; it shows which version's webhook configurations are stored. */
const OURS = { ...VALUES, 'arming.timeoutSeconds': 10 }

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const WEBHOOKS = `${ADMISSION}/validatingwebhookconfigurations`
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** The sources of a version, with its chart and manifests. */
interface Version {
  readonly name: string
  readonly folder: string
}

interface Configuration {
  readonly webhooks: readonly [{ readonly failurePolicy: string; readonly timeoutSeconds: number }]
}

interface List {
  readonly metadata: { readonly resourceVersion: string }
  readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: unknown }[]
}

interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly versions: unknown }
}

interface Policy {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: { readonly validations: unknown }
}

if (hasHelm(root)) await withApiServer(root, suite, { flags: [ROUTING] })

async function suite(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-upgrade-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const previous = previousVersion(t, join(folder, 'previous'))
  const present: Version = { name: 'the present version', folder: ROOT }
  const helm = (...args: readonly string[]) =>
    helmMeanwhile([...args, '--namespace', NAMESPACE], {
      KUBECONFIG: api.kubeconfig,
      HELM_DRIVER: 'configmap',
    })
  const chartOf = (version: Version) => join(version.folder, 'deploy/helm/vmcp-admission')
  const policiesOf = (version: Version) => join(version.folder, 'deploy/policies/deny.yaml')
  const get = async (path: string) => (await api.request('GET', path)).body
  const start = (version: Version, account: string) => startPod(t, api, account, folder, version.folder)
  const end = async (pod: Pod) => t.equal(await endPod(api, pod), 0, `${pod.account} ends in order`)

  const armedWith = async (timeout: number) => {
    const isThere = async () => {
      const { webhooks } = (await get(`${WEBHOOKS}/vmcp-admission`)) as Configuration
      return webhooks[0].failurePolicy === 'Fail' && webhooks[0].timeoutSeconds === timeout
    }
    await waitFor(isThere, { seconds: 60, what: `arming with a timeout of ${timeout} s` })
  }

  await kubectl(api, ['apply', '-f', 'deploy/kustomize/base/namespace.yaml'])
  await helm('install', 'vmcp-admission', chartOf(previous), ...setArguments(VALUES))
  await kubectl(api, ['apply', '-f', policiesOf(previous)])
  let leader = await start(previous, LEADER)
  let pods = [await start(previous, ACCOUNT), await start(previous, ACCOUNT)] as const
  await armedWith(5)
  const files = readdirSync(`${ROOT}examples`).filter((name) => name.endsWith('.yaml'))
  const applyExamples = ['apply', ...files.flatMap((name) => ['-f', `examples/${name}`])]
  await kubectl(api, applyExamples)
  const examples = async () => {
    const lists = await Promise.all(KINDS.map((kind) => get(pathOf(kind))))
    const all = (lists as List[]).flatMap(({ items }) => items)
    return all.filter(({ metadata }) => !metadata.name.startsWith('create-'))
  }
  const before = await examples()
  t.ok(before.length > 10, 'there are resources of the previous version')
  const since = ((await get(WEBHOOKS)) as List).metadata.resourceVersion

  const stream = new Stream(api, AT_A_TIME, PAUSE)
  const streaming = stream.run()
  /** The number of reviews that a pod has answered. */
  const reviews = ({ server }: Pod) => server.log().match(/"webhook":"validate"/g)?.length ?? 0

  /** Acts as the controllers after `helm upgrade`: replaces the pods by those of the version, one at a time. */
  const rollOut = async (version: Version) => {
    stream.enter(`a leader of ${version.name} takes over`)
    const nextLeader = await start(version, LEADER)
    await end(leader)
    leader = nextLeader
    stream.enter(`both, until each pod is of ${version.name}`)
    const [first, second] = pods
    const firstNext = await start(version, ACCOUNT)
    const counts = () => [first, second, firstNext].map(reviews)
    const begun = counts()
    // The API server keeps its connections, so only new ones reach a new pod.
    const haveAnswered = async () => {
      await stream.burst(20)
      return counts().every((count, i) => count >= (begun[i] ?? 0) + 20)
    }
    await waitFor(haveAnswered, { seconds: 30, what: 'each of the three pods to answer reviews' })
    const [secondNext] = await Promise.all([start(version, ACCOUNT), end(first)])
    await end(second)
    pods = [firstNext, secondNext] as const
    stream.enter(`${version.name} alone`)
    await setTimeout(1_000)
  }
  /** Asserts that exactly the CRDs and policies of a version are stored. */
  const isStored = async (t: Test, version: Version) => {
    const files = readdirSync(join(version.folder, 'deploy/crds')).map((name) => `deploy/crds/${name}`)
    for (const file of files) {
      const ours = parse(readFileSync(join(version.folder, file), 'utf8')) as Definition
      const stored = (await get(`${CRDS}/${ours.metadata.name}`)) as Definition
      t.strictSame(stored.spec.versions, ours.spec.versions, file)
    }
    const policies = parseAllDocuments(readFileSync(policiesOf(version), 'utf8'))
    for (const policy of policies.map((each) => each.toJS() as Policy)) {
      if (policy.kind !== 'ValidatingAdmissionPolicy') continue
      const stored = (await get(`${POLICIES}/${policy.metadata.name}`)) as Policy
      t.strictSame(stored.spec.validations, policy.spec.validations, policy.metadata.name)
    }
  }

  await t.test('the present version takes the place of the previous one', async (t) => {
    stream.enter(previous.name)
    await setTimeout(1_000)
    stream.enter('the objects of the present version')
    await helm('upgrade', 'vmcp-admission', chartOf(present), ...setArguments(OURS))
    await kubectl(api, ['apply', '-f', policiesOf(present)])
    await rollOut(present)
    await armedWith(10)
    await isStored(t, present)
    t.strictSame(await examples(), before)
    t.match(await kubectl(api, applyExamples), /unchanged/)
  })

  await t.test('and the previous one that of the present version', async (t) => {
    stream.enter('the objects of the previous version')
    await helm('rollback', 'vmcp-admission', '1')
    await kubectl(api, ['apply', '-f', policiesOf(previous)])
    await rollOut(previous)
    await armedWith(5)
    await isStored(t, previous)
    t.strictSame(await examples(), before)
  })

  await t.test('every write was answered, and each refusal was a verdict', async (t) => {
    stream.stop()
    await streaming
    for (const { phase, counts, texts, faults } of stream.tallies) {
      t.comment(`${phase}: ${[...counts].map(([outcome, count]) => `${count} ${outcome}`).join(', ')}`)
      t.strictSame([faults, [...texts]], [0, []], phase)
      for (const outcome of ['admitted', 'denied'] as const)
        t.ok((counts.get(outcome) ?? 0) > 0, `${phase}: ${outcome}`)
    }
    const watched = `${WEBHOOKS}?watch=true&timeoutSeconds=1&resourceVersion=${since}`
    const policies = (await kubectl(api, ['get', '--raw', watched]))
      .trim()
      .split('\n')
      .map((event) => /"failurePolicy":"(\w+)"/.exec(event)?.[1])
    t.strictSame([...new Set(policies)], ['Fail'], 'the webhook stayed armed')
    await Promise.all([leader, ...pods].map(end))
  })
}

/** The sources of the previous version with the current dependencies; in a shallow clone, the current sources. */
function previousVersion(t: Test, folder: string): Version {
  const git = (...args: readonly string[]) => spawnSync('git', ['-C', ROOT, ...args], { maxBuffer: 2 ** 28 })
  const isThere = git('cat-file', '-e', `${PREVIOUS}^{commit}`).status === 0
  if (!isThere) t.comment(`this clone is shallow, without ${PREVIOUS}: both versions are the present one`)
  const { stdout } = git('archive', isThere ? PREVIOUS : 'HEAD', 'src', 'releases', 'deploy', 'package.json')
  spawnSync('mkdir', [folder])
  const { status, stderr } = spawnSync('tar', ['-x', '-C', folder], { input: stdout, encoding: 'utf8' })
  if (status !== 0) throw new Error(`no sources of ${PREVIOUS}: ${stderr}`)
  symlinkSync(`${ROOT}node_modules`, join(folder, 'node_modules'))
  return { name: 'the previous version', folder }
}
