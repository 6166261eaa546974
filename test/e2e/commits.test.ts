import root, { type Test } from 'tap'
import { referencesOf } from '../../src/relations/references.ts'
import { pathText } from '../../src/rule/path.ts'
import type { Other } from '../../src/rule/rule.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { CHANGES, shuffled, TOOLS } from './changes.ts'
import { called, installCrds, register } from './cluster.ts'
import { type Deliver, withArgo, withFlux, withKubectl, withKubectlReversed } from './commits.ts'
import {
  apply,
  create,
  createNamespaces,
  EXCEPT_STORED,
  type Resource,
  resourceIn,
  settled,
  currentFindingsIn,
  stored,
  textOf,
} from './resources.ts'
import { inBatches } from './rule-examples.ts'
import { withApiServer } from './suite.ts'
import { randomNumbers } from '../../src/access/difference/random-numbers.ts'

const TOOLS_THAT_DELIVER: Readonly<Record<string, Deliver>> = {
  kubectl: withKubectl,
  'kubectl-reversed': withKubectlReversed,
  argo: withArgo,
  flux: withFlux,
}

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const server = await startServer(['--kubeconfig', api.kubeconfig])
  try {
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await called(api, server)
    await t.test('new resources in any order', (t) => applyInAnyOrder(t, api, server))
    await t.test('new resources at once', (t) => createAtOnce(t, api))
    await t.test('one commit changes both ends', (t) => changeBothEnds(t, api, server))
    t.notMatch(server.log(), /"level":"(error|fatal)"/, 'nothing went wrong inside')
  } finally {
    await server.stop('SIGKILL')
  }
})

function inNamespace(namespace: string, objects: readonly Other[]): Resource[] {
  return objects.map((object) => resourceIn(namespace, object))
}

async function applyInAnyOrder(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const random = randomNumbers(4)
  const orders = Array.from({ length: 24 }, (_, i) => inNamespace(`order-${i}`, shuffled(TOOLS, random)))
  await createNamespaces(
    api,
    orders.map((_, i) => `order-${i}`),
  )
  const results = await inBatches(
    orders,
    (items) => {
      const list = { apiVersion: 'v1', kind: 'List', items }
      return api.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(list) })
    },
    4,
  )
  for (const [i, order] of orders.entries()) {
    const { code, stderr } = results[i] ?? { code: -1, stderr: '' }
    const title = order.map(textOf).join(' ')
    t.equal(code, 0, `${title}: ${stderr}`)
    t.strictSame(saidToBeMissing(stderr), notYetThere(order), `${title}: exactly what is missing`)
  }
  await settled(api, server)
  for (const [i, order] of orders.entries()) {
    const errors = (await currentFindingsIn(server, `order-${i}`)).filter((text) => text.endsWith(' error'))
    t.strictSame(errors, [], `${order.map(textOf).join(' ')}: they fit together`)
  }
}

/** The expected warnings about references to resources that are applied later; kubectl prints equal warnings once. */
function notYetThere(order: readonly Resource[]): string[] {
  const texts = order.flatMap((resource, i) => {
    const later = new Set(order.slice(i + 1).map(textOf))
    return referencesOf(resource.kind, resource)
      .filter(({ to }) => later.has(`${to.kind}/${to.name}`))
      .map(({ at, to }) => `${pathText(at())} ${to.kind}/${to.name}`)
  })
  return [...new Set(texts)].toSorted()
}

function saidToBeMissing(stderr: string): string[] {
  const warnings = stderr.matchAll(/^Warning: \S+ \S+: (\S+): Not found: "(.*?)": no (\w+) of this name/gm)
  const texts = Array.from(warnings, ([, at = '', name = '', kind = '']) => `${at} ${kind}/${name}`)
  return [...new Set(texts)].toSorted()
}

async function createAtOnce(t: Test, api: ApiServer): Promise<void> {
  const namespaces = Array.from({ length: 6 }, (_, i) => `at-once-${i}`)
  await createNamespaces(api, namespaces)
  for (const namespace of namespaces) {
    const outcomes = await Promise.all(inNamespace(namespace, TOOLS).map((resource) => create(api, resource)))
    const refused = outcomes.flatMap(({ status, body }) => (status === 201 ? [] : [body.message]))
    t.strictSame(refused, [], namespace)
  }
}

async function changeBothEnds(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const tools = Object.entries(TOOLS_THAT_DELIVER)
  const runs = CHANGES.flatMap((change, i) =>
    tools.map(([tool, deliver]) => ({ change, tool, deliver, namespace: `change-${i}-${tool}` })),
  )
  const expected = CHANGES.map((_, i) => `change-${i}`)
  await createNamespaces(api, [...expected, ...runs.map(({ namespace }) => namespace)])
  for (const [i, { to }] of CHANGES.entries()) {
    for (const resource of inNamespace(`change-${i}`, to)) await apply(api, resource)
  }
  const before = (isOfKubectl: boolean) =>
    runs
      .filter(({ tool }) => tool.startsWith('kubectl') === isOfKubectl)
      .flatMap(({ change, namespace }) => inNamespace(namespace, change.from))
  const { done } = await withKubectl(api, before(true))
  const outcomes = await inBatches(before(false), (resource) => apply(api, resource))
  t.ok(done && outcomes.every(({ status }) => status === 201), 'what is there before is consistent')
  await settled(api, server)
  const deliveries = await inBatches(
    runs,
    ({ change, deliver, namespace }) => {
      const kept = new Set(inNamespace(namespace, change.to).map(textOf))
      const gone = inNamespace(namespace, change.from).filter((resource) => !kept.has(textOf(resource)))
      return deliver(api, inNamespace(namespace, change.to), gone)
    },
    4,
  )
  await settled(api, server)
  for (const [i, { change, tool, namespace }] of runs.entries()) {
    const { done, refused } = deliveries[i] ?? { done: false, refused: [] }
    const title = `${change.title}, with ${tool}`
    const stuck = change.stuck?.[tool]
    if (stuck !== undefined) {
      t.strictSame([done, refused], [false, Array(5).fill([stuck])], `${title}: stuck`)
      continue
    }
    t.ok(done, `${title}, after refusals: ${refused.flat().join(' ') || 'none'}`)
    for (const wanted of inNamespace(`change-${CHANGES.indexOf(change)}`, change.to)) {
      const [found, committed] = await Promise.all([
        stored(api, { ...wanted, metadata: { ...wanted.metadata, namespace } }),
        stored(api, wanted),
      ])
      t.strictSame(found?.spec, committed?.spec, `${title}: ${textOf(wanted)} is as committed`)
    }
    const errors = (await currentFindingsIn(server, namespace)).filter((text) => text.endsWith(' error'))
    t.strictSame(errors, [], `${title}: all fits together`)
  }
}
