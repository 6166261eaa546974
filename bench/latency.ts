import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed, KINDS } from '../src/kinds/index.ts'
import {
  mutatingWebhookConfiguration,
  validatingWebhookConfiguration,
} from '../src/registration/webhook-configurations.ts'
import { type ApiServer, startApiServer } from '../test/e2e/api-server.ts'
import { installCrds, kubectl, ROOT } from '../test/e2e/cluster.ts'
import { waitFor } from '../test/e2e/wait-for.ts'
import { listening } from './cpu.ts'
import { median, milliseconds, percentile, table } from './figures.ts'
import { freshBodies, manifests, NUMBER } from './reviews.ts'
import { buildsGoWebhook, folder, ready, type Server, startServer } from './servers.ts'

/** How many creates are under way at a time, and how many a turn has. */
const TURNS = [
  [1, 100],
  [10, 100],
  [50, 200],
] as const
/** Turns of each way in turn, so that what else the machine does hits all of them; the first one is not counted. */
const ROUNDS = 8
/** The API group of the strict CRDs, which are installed beside ours. */
const STRICT_GROUP = 'strict.example.com'

/** What judges a create: the label of the namespace selects it, or the API group. */
const WAYS = {
  'no webhook': { namespace: 'none', group: DEFAULT_API_GROUP },
  'strict CRDs': { namespace: 'none', group: STRICT_GROUP },
  policies: { namespace: 'policies', group: DEFAULT_API_GROUP },
  'Go webhook': { namespace: 'go', group: DEFAULT_API_GROUP },
  'ours, validating': { namespace: 'validate', group: DEFAULT_API_GROUP },
  'ours, both': { namespace: 'both', group: DEFAULT_API_GROUP },
} as const
type Way = keyof typeof WAYS
const NAMES = Object.keys(WAYS) as Way[]
const LABEL = 'judged-by'

/** Latencies in milliseconds of a turn of each way. */
type Round = Readonly<Record<Way, readonly number[]>>

/** Creates through a real API server: how long they take, and what each way of judging adds. */
export async function latency(): Promise<string> {
  if (!buildsGoWebhook()) throw new Error('needs Go')
  const api = await startApiServer()
  const agent = new Agent({ ca: api.ca, keepAlive: true, maxSockets: Infinity })
  try {
    const bodies = await prepare(api, agent)
    const next = fresh(bodies)
    const rows: string[][] = []
    for (const isDryRun of [true, false]) {
      for (const [atATime, count] of TURNS) {
        const rounds: Round[] = []
        for (let round = 0; round <= ROUNDS; round++) {
          const taken: Partial<Record<Way, readonly number[]>> = {}
          for (let i = 0; i < NAMES.length; i++) {
            const way = NAMES[(i + round) % NAMES.length] ?? 'no webhook'
            taken[way] = await turn(api, agent, next, { way, atATime, count, isDryRun })
          }
          if (round > 0) rounds.push(taken as Round)
        }
        rows.push([isDryRun ? 'dry run' : 'stored', String(atATime), ...cells(rounds)])
      }
    }
    const head = ['creates', 'at once', 'no webhook', ...NAMES.slice(1)]
    return `${table(head, rows)}\n\np50 and p99 without a webhook, and what each way adds to them: medians of ${ROUNDS} turns. ${bodies.length} manifests of the examples, each with a name, claims and matchers that none before it had.`
  } finally {
    agent.destroy()
    await api.stop()
  }
}

interface Body {
  readonly plural: string
  readonly text: string
}

/** Installs what judges, stores what the manifests refer to, and answers with what every way admits. */
async function prepare(api: ApiServer, agent: Agent): Promise<Body[]> {
  await installCrds(api, 'crds')
  await apply(api, inOtherGroup(files('deploy/crds-strict')))
  for (const namespace of new Set(Object.values(WAYS).map((way) => way.namespace)))
    await apply(api, [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: { [LABEL]: namespace } } },
    ])
  const own = manifests('.', 0).filter(({ kind }) => kindNamed.has(kind))
  const texts = own.map(({ kind, metadata, spec }) => ({
    plural: kindNamed.get(kind)?.plural ?? '',
    // Hosts stay, because objects must agree on them.
    text: JSON.stringify({ kind, metadata, spec }).replaceAll(`team-0-${NUMBER}.example.com`, 'example.com'),
  }))
  const send = (way: Way, { plural, text }: Body, query: string) =>
    api.request('POST', pathOf(way, plural) + query, versioned(way, text), undefined, agent)
  for (const way of NAMES) for (const body of texts) await send(way, body, '')
  const inGo = await listening(await startServer('Go webhook'))
  const ours = await ready(await startServer('vmcp-admission', ['--kubeconfig', api.kubeconfig]))
  await register(api, inGo, ours)
  const renamed = texts.map((body) => ({
    ...body,
    text: body.text.replace(
      /("metadata":\{[^}]*"name":")([^"]+)"/,
      `$1$2-${NUMBER}","labels":{"made":"now"}`,
    ),
  }))
  const admitted: Body[] = []
  for (const body of renamed) {
    const statuses: number[] = []
    for (const way of NAMES) statuses.push((await send(way, body, '?dryRun=All')).status)
    if (statuses.every((status) => status === 201)) admitted.push(body)
  }
  if (admitted.length === 0) throw new Error('no manifest is admitted')
  return admitted
}

/** The bodies in turn, each with a name of its own. */
function* fresh(bodies: readonly Body[]): Generator<Body, never> {
  const texts = freshBodies(bodies.map(({ text }) => text))
  for (;;) for (const { plural } of bodies) yield { plural, text: texts.next().value.toString() }
}

const versioned = (way: Way, text: string) =>
  text.replace('{', `{"apiVersion":"${WAYS[way].group}/${API_VERSION}",`)

const pathOf = (way: Way, plural: string) =>
  `/apis/${WAYS[way].group}/${API_VERSION}/namespaces/${WAYS[way].namespace}/${plural}`

function files(path: string): object[] {
  return readdirSync(join(ROOT, path)).flatMap((name) => documents(`${path}/${name}`))
}

const documents = (path: string) =>
  parseAllDocuments(readFileSync(join(ROOT, path), 'utf8')).map((each) => each.toJS() as object)

const inOtherGroup = (objects: readonly object[]) =>
  JSON.parse(JSON.stringify(objects).replaceAll(DEFAULT_API_GROUP, STRICT_GROUP)) as object[]

async function apply(api: ApiServer, items: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  await kubectl(api, ['apply', '--server-side', '-f', '-'], list)
}

const inNamespace = (namespace: string) => ({
  namespaceSelector: { matchLabels: { [LABEL]: namespace } },
})

/** Has the policies and each webhook judge its namespace, and waits until they do. */
async function register(api: ApiServer, inGo: Server, ours: Server): Promise<void> {
  const caBundle = readFileSync(join(folder, 'ca.crt')).toString('base64')
  const registration = (server: Server) => ({
    group: DEFAULT_API_GROUP,
    failurePolicy: 'Fail' as const,
    clientConfig: (path: string) => ({ url: `https://127.0.0.1:${server.port}${path}`, caBundle }),
  })
  const named = (name: string, server: Server, make: (of: ReturnType<typeof registration>) => object) => {
    const { webhooks, ...rest } = make(registration(server)) as { webhooks: [object] }
    return {
      ...rest,
      metadata: { name },
      webhooks: [{ ...webhooks[0], ...inNamespace(name.replace(/-.*/, '')) }],
    }
  }
  const policies = ['deny', 'defaults'].flatMap((name) => documents(`deploy/policies/${name}.yaml`))
  await apply(api, [
    named('go', inGo, validatingWebhookConfiguration),
    named('validate', ours, validatingWebhookConfiguration),
    named('both', ours, validatingWebhookConfiguration),
    named('both-mutating', ours, mutatingWebhookConfiguration),
    ...policies.map((policy) => {
      const { kind, spec } = policy as { kind: string; spec: object }
      const isBinding = kind.endsWith('Binding')
      return isBinding ? { ...policy, spec: { ...spec, matchResources: inNamespace('policies') } } : policy
    }),
  ])
  const bad = { kind: 'MCPExternalAuthConfig', metadata: { name: 'bad' }, spec: { type: 'awsSts' } }
  // The strict CRDs admit it: they hold no rule of several fields.
  for (const way of NAMES.slice(2)) {
    const text = versioned(way, JSON.stringify(bad))
    await waitFor(
      async () => {
        const path = `${pathOf(way, 'mcpexternalauthconfigs')}?dryRun=All`
        return (await api.request('POST', path, text)).status !== 201
      },
      { seconds: 60, what: `${way} to judge` },
    )
  }
}

interface Turn {
  readonly way: Way
  readonly atATime: number
  readonly count: number
  readonly isDryRun: boolean
}

/** Milliseconds of each create. What was stored is deleted. */
async function turn(
  api: ApiServer,
  agent: Agent,
  bodies: Iterator<Body, never>,
  { way, atATime, count, isDryRun }: Turn,
): Promise<number[]> {
  const taken: number[] = []
  let left = count
  const work = async () => {
    while (left-- > 0) {
      const { plural, text } = bodies.next().value
      const path = pathOf(way, plural) + (isDryRun ? '?dryRun=All' : '')
      const start = performance.now()
      const { status, body } = await api.request('POST', path, versioned(way, text), undefined, agent)
      taken.push(performance.now() - start)
      if (status !== 201) throw new Error(`${way}: ${status}: ${JSON.stringify(body)}`)
    }
  }
  await Promise.all(Array.from({ length: atATime }, work))
  if (!isDryRun)
    for (const { plural } of KINDS)
      await api.request('DELETE', `${pathOf(way, plural)}?labelSelector=made`, undefined, undefined, agent)
  return taken
}

/** Of no webhook what it takes, of the others what they add in a round: medians of the rounds. */
function cells(rounds: readonly Round[]): string[] {
  const of = (way: Way, share: number) => (round: Round) => percentile(round[way], share)
  return NAMES.map((way) => {
    const figures = [0.5, 0.99].map((share) => {
      const own = of(way, share)
      const bare = of('no webhook', share)
      return median(rounds.map((round) => own(round) - (way === 'no webhook' ? 0 : bare(round))))
    })
    return figures.map(milliseconds).join(', ')
  })
}
