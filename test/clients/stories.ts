import type { Test } from 'tap'
import { randomNumbers } from '../../src/access/difference/random-numbers.ts'
import { API_VERSION, DEFAULT_API_GROUP, KINDS } from '../../src/kinds/index.ts'
import {
  authServer,
  backend,
  bearerConfig,
  gateway,
  group,
  headerConfig,
  injectConfig,
  oidcConfig,
  serverConfig,
  stsConfig,
} from '../../src/relations/examples.ts'
import type { Other } from '../../src/rule/rule.ts'
import type { ApiServer } from '../e2e/api-server.ts'
import { CHANGES, shuffled, TOOLS } from '../e2e/changes.ts'
import { apply, createNamespaces, type Resource, resourceIn, stored, textOf } from '../e2e/resources.ts'
import { inBatches } from '../e2e/rule-examples.ts'
import { waitFor } from '../e2e/wait-for.ts'
import type { Client } from './client.ts'
import type { Repository } from './repository.ts'

/** The cluster, client and repository of a test. */
export interface Stage {
  readonly api: ApiServer
  readonly client: Client
  readonly repository: Repository
}

/** The webhook of the cluster, which can be stopped for a while. */
export interface Webhook {
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Seconds that a client may need for all folders of a test on a busy machine. */
const SECONDS = 240

const inNamespace = (namespace: string, objects: readonly Other[]): Resource[] =>
  objects.map((object) => resourceIn(namespace, object))

/**
 * Commits the folders and waits until the client has applied them, except those in `stuck`, whose errors must match.
 * Returns the messages of the stuck ones.
 */
async function deliver(
  { client, repository }: Stage,
  folders: Readonly<Record<string, readonly Other[]>>,
  stuck: Readonly<Record<string, RegExp>> = {},
): Promise<readonly string[]> {
  const resources = Object.entries(folders).map(
    ([name, objects]) => [name, inNamespace(name, objects)] as const,
  )
  const commit = repository.commit(Object.fromEntries(resources))
  const said: string[] = []
  for (const name of Object.keys(folders)) {
    const refusal = stuck[name]
    const arrived = async () => {
      const report = await client.report(name)
      if (report.commit !== commit) await client.look([name])
      else if (refusal === undefined ? report.isDone : refusal.test(report.message)) return report
      throw new Error(JSON.stringify(report))
    }
    const what = refusal === undefined ? 'as committed' : `refused by ${refusal}`
    const { message } = await waitFor(arrived, {
      seconds: SECONDS,
      what: `${name} to be ${what} at ${commit}`,
    })
    if (refusal !== undefined) said.push(`${name}: ${message}`)
  }
  return said
}

/** Creates the namespaces and makes the client apply the folders of the same names. */
async function open({ api, client, repository }: Stage, folders: readonly string[]): Promise<void> {
  await createNamespaces(api, folders)
  repository.commit(Object.fromEntries(folders.map((name) => [name, inNamespace(name, [group('none')])])))
  await client.follow(folders)
}

/** The resources of the seven kinds in a namespace. */
async function resourcesIn(api: ApiServer, namespace: string): Promise<Resource[]> {
  const lists = await Promise.all(
    KINDS.map(async ({ kind, plural }) => {
      const path = `/apis/${DEFAULT_API_GROUP}/${API_VERSION}/namespaces/${namespace}/${plural}`
      const { items } = (await api.request<{ items: Omit<Resource, 'kind'>[] }>('GET', path)).body
      return items.map((item) => ({ ...item, kind }))
    }),
  )
  return lists.flat()
}

/**
 * Asserts that the namespace contains exactly these objects, equal to those that `kubectl apply` creates in the order
 * of kind and name: the defaults that /mutate writes depend on the objects that exist before.
 */
async function holds(t: Test, { api }: Stage, namespace: string, objects: readonly Other[]): Promise<void> {
  const expected = `${namespace}-expected`
  await createNamespaces(api, [expected])
  const ordered = inNamespace(expected, objects).toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
  for (const resource of ordered) await apply(api, resource)
  const found = await resourcesIn(api, namespace)
  t.strictSame(
    found.map(textOf).toSorted(),
    inNamespace(namespace, objects).map(textOf).toSorted(),
    namespace,
  )
  for (const resource of ordered) {
    const wanted = await stored(api, resource)
    const { spec } = found.find((each) => textOf(each) === textOf(resource)) ?? {}
    t.strictSame(spec, wanted?.spec, `${namespace}: ${textOf(resource)}`)
  }
}

/** Commits new resources of all kinds at once, in files in random order. */
export async function firstInstall(t: Test, stage: Stage): Promise<void> {
  const random = randomNumbers(7)
  const folders = Object.fromEntries(
    Array.from({ length: 3 }, (_, i) => [`install-${i}`, i === 0 ? TOOLS : shuffled(TOOLS, random)]),
  )
  await open(stage, Object.keys(folders))
  await deliver(stage, folders)
  for (const [name, objects] of Object.entries(folders)) await holds(t, stage, name, objects)
}

/**
 * Commits the changes of `e2e/commits.test.ts`. The client must get stuck at the same changes as its model in that test.
 */
export async function bothEnds(t: Test, stage: Stage, client: 'argo' | 'flux'): Promise<void> {
  const rows = CHANGES.map((change, i) => ({
    ...change,
    name: `change-${i}`,
    refused: change.stuck?.[client],
  }))
  const of = (objects: (row: (typeof rows)[number]) => readonly Other[], some = rows) =>
    Object.fromEntries(some.map((row) => [row.name, objects(row)]))
  await open(
    stage,
    rows.map(({ name }) => name),
  )
  await deliver(
    stage,
    of(({ from }) => from),
  )
  const stuck = rows.filter(({ refused }) => refused !== undefined)
  const refusals = stuck.map(({ name, refused = '' }) => {
    const [kind = '', object = ''] = refused.split('/')
    return [name, new RegExp(`${kind}/(?:${name}/)?${object}\\b[^]*\\([\\w-]+\\)`)] as const
  })
  await deliver(
    stage,
    of(({ to }) => to),
    Object.fromEntries(refusals),
  )
  for (const row of rows.filter((each) => !stuck.includes(each))) await holds(t, stage, row.name, row.to)
  if (stuck.length === 0) return
  const seen = stuck.map(({ name }) => stage.client.comparisons(name))
  for (const [i, { name, title, first = [] }] of stuck.entries()) {
    await waitFor(() => stage.client.comparisons(name) > (seen[i] ?? 0) + 3, {
      seconds: SECONDS,
      what: 'more tries',
    })
    const { isDone, message } = await stage.client.report(name)
    t.notOk(isDone, `${title}: stuck`)
    t.comment(`${title}: ${message}`)
    t.not(first.length, 0)
  }
  // The solution of docs/gitops.md: an intermediate commit.
  await deliver(
    stage,
    of(({ first = [] }) => first, stuck),
  )
  await deliver(
    stage,
    of(({ to }) => to, stuck),
  )
  for (const { name, to } of stuck) await holds(t, stage, name, to)
}

const providing = (...names: readonly string[]) =>
  gateway('tools', { authServerConfig: authServer(...names) })

/** Renames of objects together with the references to them. */
const RENAMES: Readonly<Record<string, { readonly from: readonly Other[]; readonly to: readonly Other[] }>> =
  {
    configuration: {
      from: [
        group(),
        backend('jira', 'jira'),
        injectConfig('jira', 'okta'),
        oidcConfig('corporate'),
        providing('okta'),
      ],
      to: [
        group(),
        backend('jira', 'tracker'),
        injectConfig('tracker', 'okta'),
        oidcConfig('corporate'),
        providing('okta'),
      ],
    },
    authorization: {
      from: [serverConfig('auth', 'okta'), oidcConfig('corporate'), gateway('tools')],
      to: [
        serverConfig('login', 'okta'),
        oidcConfig('staff'),
        gateway('tools', {
          incomingAuth: {
            type: 'oidc',
            oidcConfigRef: { name: 'staff', audience: 'https://auth.example.com/mcp' },
          },
        }),
      ],
    },
    gateway: {
      from: [group(), oidcConfig('corporate'), gateway('tools', { authServerConfig: authServer('okta') })],
      to: [group(), oidcConfig('corporate'), gateway('all-tools', { authServerConfig: authServer('okta') })],
    },
  }

export async function renames(t: Test, stage: Stage): Promise<void> {
  const rows = Object.entries(RENAMES).map(([name, row]) => ({ ...row, name: `rename-${name}` }))
  await open(
    stage,
    rows.map(({ name }) => name),
  )
  await deliver(stage, Object.fromEntries(rows.map(({ name, from }) => [name, from])))
  await deliver(stage, Object.fromEntries(rows.map(({ name, to }) => [name, to])))
  for (const { name, to } of rows) await holds(t, stage, name, to)
}

const INJECTED = [backend('jira', 'jira'), injectConfig('jira', 'okta')]

/** Commits with a mistake, and the error that the client must report. */
const MISTAKES: Readonly<
  Record<
    string,
    { readonly right: readonly Other[]; readonly wrong: readonly Other[]; readonly said: RegExp }
  >
> = {
  rule: {
    right: [headerConfig('key'), stsConfig('aws')],
    wrong: [
      headerConfig('key'),
      headerConfig('more'),
      { ...stsConfig('aws'), spec: { type: 'awsSts', awsSts: { region: 'eu-central-1' } } },
    ],
    said: /spec\.awsSts: [^]*\(aws-sts-role-configured\)/,
  },
  spelling: {
    right: [oidcConfig('corporate')],
    wrong: [
      { ...oidcConfig('corporate'), spec: { type: 'inlined', inline: { issuer: 'https://a.example.com' } } },
    ],
    said: /spec\.type: Unsupported value: "inlined"[^]*\(schema-enum\)/,
  },
  contradiction: {
    right: [...INJECTED, providing('okta')],
    wrong: [...INJECTED, providing('github')],
    said: /VirtualMCPServer[^]*"okta"[^]*\(upstream-inject-provider-exists\)/,
  },
}

export async function mistakes(t: Test, stage: Stage, appliesTheRest: boolean): Promise<void> {
  const rows = Object.entries(MISTAKES).map(([name, row]) => ({ ...row, name: `mistake-${name}` }))
  const right = Object.fromEntries(rows.map((row) => [row.name, row.right]))
  await open(
    stage,
    rows.map(({ name }) => name),
  )
  await deliver(stage, right)
  const said = await deliver(
    stage,
    Object.fromEntries(rows.map((row) => [row.name, row.wrong])),
    Object.fromEntries(rows.map((row) => [row.name, row.said])),
  )
  for (const message of said) t.comment(message)
  const more = await stored(stage.api, resourceIn('mistake-rule', headerConfig('more')))
  t.equal(more !== undefined, appliesTheRest, 'what else is in the commit')
  await deliver(stage, right)
  for (const { name, right } of rows) await holds(t, stage, name, right)
}

/**
 * While the webhook does not answer, changes are refused, and unchanged objects without defaults in lists stay applied.
 * Once it answers, the client applies the changes by itself.
 */
export async function outage(t: Test, stage: Stage, webhook: Webhook): Promise<void> {
  const before = [headerConfig('key'), group(), oidcConfig('corporate'), providing('okta')]
  const [changes, stays] = ['outage-changes', 'outage-stays']
  await open(stage, [changes, stays])
  await deliver(stage, { [changes]: before, [stays]: [headerConfig('key'), stsConfig('aws')] })
  await webhook.stop()
  const after = [...before, bearerConfig('more')]
  const said = await deliver(
    stage,
    { [changes]: after, [stays]: [headerConfig('key'), stsConfig('aws')] },
    { [changes]: /failed calling webhook/ },
  )
  for (const message of said) t.comment(message)
  await webhook.start()
  const isApplied = async () => (await stage.client.report(changes)).isDone
  await waitFor(isApplied, { seconds: SECONDS, what: 'the change to be applied' })
  await holds(t, stage, changes, after)
}

/** Asserts that repeated comparisons change nothing in a cluster that equals the commit. */
export async function stays(t: Test, stage: Stage, folders: readonly string[]): Promise<void> {
  const versions = async () => {
    const resources = (await inBatches(folders, (name) => resourcesIn(stage.api, name))).flat()
    return resources.map((each) => [textOf(each), each.metadata.resourceVersion, each.metadata.generation])
  }
  const [before, seen] = [await versions(), folders.map((name) => stage.client.comparisons(name))]
  for (const [i, name] of folders.entries()) {
    const isCompared = async () => {
      await stage.client.look([name])
      return stage.client.comparisons(name) >= (seen[i] ?? 0) + 4
    }
    await waitFor(isCompared, { seconds: SECONDS, what: `${name} to be compared four times` })
    const { isDone, message } = await stage.client.report(name)
    t.ok(isDone, `${name}: ${message}`)
  }
  t.strictSame(await versions(), before, 'nothing is written')
}
