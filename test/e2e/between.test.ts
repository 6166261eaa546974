import root, { type Test } from 'tap'
import { examplesAt, type PlacedExample, type RulePlace, rulePlaces } from '../../src/kinds/places.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, register } from './cluster.ts'
import {
  causes,
  create,
  createNamespaces,
  EXCEPT_STORED,
  type Outcome,
  remove,
  type Resource,
  settled,
  storeAll,
  update,
} from './resources.ts'
import { inBatches } from './rule-examples.ts'
import { withApiServer } from './suite.ts'

/** The other namespace of examples. */
const SHARED = 'shared'

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const server = await startServer(['--kubeconfig', api.kubeconfig, '--check-secrets'])
  try {
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await called(api, server)
    await t.test('examples of rules between resources', (t) => judgeExamples(t, api, server))
    t.notMatch(server.log(), /"level":[56]0/, 'nothing went wrong inside')
  } finally {
    await server.stop('SIGKILL')
  }
})

/** An example of a rule between resources, in a namespace of its own. */
interface Placed extends PlacedExample {
  readonly resource: Resource & Record<string, unknown>
  readonly place: RulePlace
  readonly namespace: string
  /** What is stored before. */
  readonly before: readonly Resource[]
}

function placedExamples(): Placed[] {
  const places = rulePlaces().filter(({ rule }) => rule.reads.length > 0 || rule.when === 'delete')
  const examples = places.flatMap((place) => examplesAt(place).map((example) => ({ ...example, place })))
  return examples.map((example, i) => {
    const namespace = `e${i}`
    const here = (resource: unknown) => inNamespace(resource as Resource, namespace)
    const { place, old, resource, others, findings } = example
    const first = place.rule.when === 'delete' ? resource : old
    return {
      ...example,
      title: `${place.rule.id} on ${place.kind.kind}: ${example.title}`,
      namespace,
      resource: { ...here(resource) },
      before: [...others, ...(first === undefined ? [] : [first])].map(here),
      findings: findings.map((text) => text.replaceAll("namespace 'default'", `namespace '${namespace}'`)),
    }
  })
}

/** The resource in the namespace, unless its example puts it in another one than that of the example. */
function inNamespace(resource: Resource, namespace: string): Resource {
  const { metadata } = resource
  const isShared = metadata.namespace === SHARED
  return { ...resource, metadata: { ...metadata, namespace: isShared ? SHARED : namespace } }
}

/** Those come first that expect that no other namespace has a resource of some name. */
function expectsNowhere({ place, findings }: Placed): boolean {
  return place.rule.id === 'reference-found' && findings.some((text) => text.includes(' yet ('))
}

async function judgeExamples(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const all = placedExamples()
  const ids = new Set(all.map(({ place }) => place.rule.id))
  t.comment(`${all.length} examples of ${ids.size} rules`)
  await createNamespaces(api, [SHARED, ...all.map(({ namespace }) => namespace)])
  for (const examples of [all.filter(expectsNowhere), all.filter((example) => !expectsNowhere(example))]) {
    await storeAll(
      api,
      examples.flatMap(({ before }) => before),
    )
    await settled(api, server)
    const outcomes = await inBatches(examples, (example) => submit(api, example))
    for (const [i, example] of examples.entries()) {
      const outcome = outcomes[i]
      if (outcome !== undefined) showsItsFindings(t, example, outcome)
    }
  }
}

function submit(api: ApiServer, { place, resource, old }: Placed): Promise<Outcome> {
  if (place.rule.when === 'delete') return remove(api, resource)
  return (old === undefined ? create : update)(api, resource)
}

function showsItsFindings(t: Test, { title, place, findings }: Placed, outcome: Outcome): void {
  const own = (texts: readonly string[]) =>
    texts.filter((text) => text.endsWith(` (${place.rule.id})`)).toSorted()
  const isDenied = findings.length > 0 && place.rule.severity === 'error'
  const why = `${title}: ${outcome.body.message ?? 'admitted'}`
  t.equal(outcome.status >= 400, isDenied, why)
  if (isDenied) t.strictSame(own(causes(outcome)), findings.toSorted(), `${title}: exactly its causes`)
  else {
    const shown = findings.map((text) => fitted(text, place.rule.id)).toSorted()
    t.strictSame(own(outcome.warnings), shown, `${title}: exactly its warnings`)
  }
}

/** A warning as the API server passes it on: in 256 characters, with the id of its rule. */
function fitted(text: string, id: string): string {
  const end = `… (${id})`
  return text.length <= 256 ? text : text.slice(0, 256 - end.length) + end
}
