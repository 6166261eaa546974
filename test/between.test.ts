/** What kubectl shows of the examples of rules between resources; test/e2e/between.test.ts asks kubectl and an API server. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch, type Operation } from 'rfc6902'
import { pino } from 'pino'
import t from 'tap'
import { localPair } from '../src/certificates/local.ts'
import { DEFAULT_API_GROUP, kindNamed } from '../src/kinds/index.ts'
import { buildWebhook } from '../src/server/app.ts'
import { Bodies } from '../src/server/bodies.ts'
import { CurrentFindings } from '../src/server/current-findings.ts'
import { LiveReads } from '../src/server/live.ts'
import { createMetrics } from '../src/server/metrics.ts'
import { ClusterState } from '../src/state/cluster-state.ts'
import { matchesGolden } from './e2e/golden.ts'
import type { Resource } from './e2e/resources.ts'
import {
  asApplied,
  expectsNowhere,
  type Placed,
  placedExamples,
  RULES_SHOWN,
  rulesShown,
} from './support/between-examples.ts'
import { judgeOf, reviewOf } from './support/review.ts'

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
t.teardown(() => rm(folder, { recursive: true }))

interface Response {
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly status?: {
    readonly message: string
    readonly details: { readonly causes: readonly { readonly field: string; readonly message: string }[] }
  }
}

/** The webhook with a map of objects in place of an API server. */
async function webhook() {
  const stored = new Map<string, object>()
  const keyOf = (kind: string, namespace: string, name: string) => `${kind}/${namespace}/${name}`
  const read = async (kind: string, namespace: string, name: string) =>
    stored.get(keyOf(kind, namespace, name))
  const state = new ClusterState({ group: DEFAULT_API_GROUP, knows: () => true })
  const judge = judgeOf({ state, defaults: { serviceAccountAudience: 'tools' } })
  const current = new CurrentFindings(state, () => judge)
  const connection = {
    read: (kind: { readonly kind: string }, namespace: string, name: string) =>
      read(kind.kind, namespace, name),
    readSecret: (namespace: string, name: string) => read('Secret', namespace, name),
    readConfigMap: (namespace: string, name: string) => read('ConfigMap', namespace, name),
    readNamespace: async () => ({ status: { phase: 'Active' } }),
  }
  const app = buildWebhook(
    {
      judge: () => judge,
      logger: pino({ enabled: false }),
      metrics: createMetrics(),
      live: new LiveReads(connection, current, () => undefined),
      mostInFlight: 10,
      bodies: new Bodies(0),
      isStopping: () => false,
    },
    await localPair(folder, ['127.0.0.1']),
  )
  t.teardown(() => app.close())
  return {
    store(resource: Resource): void {
      const { kind, metadata } = resource
      stored.set(keyOf(kind, metadata.namespace, metadata.name), inData(resource))
      const known = kindNamed.get(kind)
      if (known !== undefined) current.put(known, resource)
    },
    async ask(path: string, review: object): Promise<Response> {
      const headers = { 'content-type': 'application/json' }
      const sent = await app.inject({ method: 'POST', url: path, payload: JSON.stringify(review), headers })
      return (JSON.parse(sent.payload) as { response: Response }).response
    },
  }
}

/** The Secret as the API server stores it: with `data` in place of `stringData`. */
function inData(resource: Resource & { readonly stringData?: Readonly<Record<string, string>> }): object {
  const { stringData, ...rest } = resource
  if (stringData === undefined) return rest
  const data = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  return { ...rest, data: Object.fromEntries(data) as object }
}

type Webhook = Awaited<ReturnType<typeof webhook>>

/** The answer of /validate to an example, after /mutate (except for deletions). */
async function answerTo(
  { ask }: Webhook,
  { place, resource, old, namespace, before }: Placed,
): Promise<Response> {
  const { name } = resource.metadata
  if (place.rule.when === 'delete') {
    const oldObject = before.at(-1)
    return ask(
      '/validate',
      reviewOf(oldObject, { operation: 'DELETE', name, namespace, object: null, oldObject }),
    )
  }
  const request = {
    operation: old === undefined ? 'CREATE' : 'UPDATE',
    name,
    namespace,
    oldObject: old && before.at(-1),
  }
  const object = structuredClone(asApplied(resource))
  const { patch } = await ask('/mutate', reviewOf(object, request))
  if (patch !== undefined)
    applyPatch(object, JSON.parse(Buffer.from(patch, 'base64').toString()) as Operation[])
  return ask('/validate', reviewOf(object, request))
}

/** The answer as kubectl prints it. */
function asKubectl(
  { place, old, namespace, resource }: Placed,
  { allowed, warnings = [], status }: Response,
): string {
  const { kind } = place.kind
  const { name } = resource.metadata
  const isDeletion = place.rule.when === 'delete'
  const object = `${kind.toLowerCase()}.${DEFAULT_API_GROUP}`
  const command = isDeletion
    ? `$ kubectl delete ${kind.toLowerCase()} ${name} --namespace=${namespace}`
    : `$ kubectl apply --namespace=${namespace} -f -`
  const causes = (status?.details.causes ?? []).map(({ field, message }) => `${field}: ${message}`)
  const list = causes.length === 1 ? causes.join('') : ['', ...causes.map((text) => `* ${text}`)].join('\n')
  const outcome = !allowed
    ? [`The ${kind} "${name}" is invalid: ${list}`, '(exit code 1)']
    : isDeletion
      ? [`${object} "${name}" deleted from ${namespace} namespace`]
      : [`${object}/${name} ${old === undefined ? 'created' : 'configured'}`]
  return [command, ...warnings.map((text) => `Warning: ${text}`), ...outcome, ''].join('\n')
}

t.test('each rule between resources as kubectl shows it', async (t) => {
  const all = placedExamples()
  const server = await webhook()
  const sections: { readonly title: string; readonly answer: string }[] = []
  for (const examples of [all.filter(expectsNowhere), all.filter((each) => !expectsNowhere(each))]) {
    examples.flatMap(({ before }) => before).forEach(server.store)
    for (const example of examples.filter(({ isShown }) => isShown))
      sections.push({ title: example.title, answer: asKubectl(example, await answerTo(server, example)) })
  }
  t.ok(sections.length > 50, `${sections.length} examples`)
  await matchesGolden(t, RULES_SHOWN, rulesShown(sections))
})
