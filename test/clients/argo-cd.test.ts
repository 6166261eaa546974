import { readFileSync } from 'node:fs'
import root, { type Test } from 'tap'
import { parse } from 'yaml'
import { installCrds, kubectl, ROOT } from '../e2e/cluster.ts'
import { ACCOUNT, flagsOfChart, LEADER } from '../e2e/installed.ts'
import type { ApiServer } from '../e2e/api-server.ts'
import { createNamespaces, merge, type Resource, stored } from '../e2e/resources.ts'
import { withApiServer } from '../e2e/suite.ts'
import { waitFor } from '../e2e/wait-for.ts'
import { freePort } from '../support/free-port.ts'
import { hasHelm } from '../support/helm.ts'
import { recipe } from '../support/recipes.ts'
import { startServer } from '../support/server.ts'
import { type ApplicationSettings, type ArgoCd, startArgoCd } from './argo-cd.ts'
import { armedWebhook, findClients, folderFor } from './programs.ts'
import { type Repository, serveRepository } from './repository.ts'
import { bothEnds, firstInstall, mistakes, outage, renames, type Stage, stays } from './stories.ts'

const SECONDS = 240
const SERVER_SIDE_APPLY = { syncPolicy: { automated: {}, syncOptions: ['ServerSideApply=true'] } }

/** Ways in which Argo CD compares objects; in none of them may defaults of /mutate inside lists appear as drift. */
const COMPARISONS: Readonly<Record<string, ApplicationSettings>> = {
  plain: {},
  'server-side-apply': { spec: SERVER_SIDE_APPLY },
  'server-side-diff': {
    annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' },
    spec: SERVER_SIDE_APPLY,
  },
  'with-webhook': {
    annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true,IncludeMutationWebhook=true' },
    spec: SERVER_SIDE_APPLY,
  },
}

const clients = findClients(root, 'git', 'redis-server')
if (clients !== undefined)
  await withApiServer(root, (t, api) => suite(t, api, clients), { longestMs: 1_800_000 })

async function suite(t: Test, api: ApiServer, clients: string): Promise<void> {
  await installCrds(api, 'crds')
  const webhook = await armedWebhook(t, api, 'outside-lists')
  const repository = await serveRepository(folderFor(t))
  t.teardown(repository.close)
  const client = await startArgoCd(t, api, clients, repository.url)
  const stage: Stage = { api, client, repository }
  await t.test('first install, in any order', (t) => firstInstall(t, stage))
  await t.test('renames', (t) => renames(t, stage))
  await t.test('one commit changes both ends', (t) => bothEnds(t, stage, 'argo'))
  await t.test('a mistake and its mending', (t) => mistakes(t, stage, true))
  await t.test('defaults make no diff', (t) => stays(t, stage, ['install-0', 'install-1', 'install-2']))
  await t.test('an outage of the webhook', (t) => outage(t, stage, webhook))

  await t.test('defaults in lists', async (t) => {
    await armedWebhook(t, api, 'all')
    const names = Object.keys(COMPARISONS)
    await createNamespaces(api, names)
    const file = parse(readFileSync(`${ROOT}examples/embedded-auth-server.yaml`, 'utf8')) as Resource
    const commit = repository.commit(Object.fromEntries(names.map((name) => [name, [file]])))
    for (const [name, settings] of Object.entries(COMPARISONS)) {
      await client.follow([name], settings)
      const isDelivered = async () => {
        const { phase, syncResult } = (await client.application(name)).status?.operationState ?? {}
        return phase === 'Succeeded' && syncResult?.revision === commit
      }
      await waitFor(isDelivered, { seconds: SECONDS, what: `${name} to be delivered` })
      await compared(client, name)
      const resource = { ...file, metadata: { ...file.metadata, namespace: name } }
      const { spec } = (await stored(api, resource)) ?? {}
      t.match(JSON.stringify(spec), '"scopes":["openid","offline_access"]', `${name}: the default is written`)
      t.equal((await client.application(name)).status?.sync?.status, 'Synced', name)
    }
    // It must still see changes that others make to fields of the commit.
    const name = 'server-side-diff'
    const drift = { spec: { embeddedAuthServer: { tokenLifespans: { accessTokenLifespan: '45m' } } } }
    await merge(api, { ...file, metadata: { ...file.metadata, namespace: name } }, drift)
    const isSeen = async () => {
      await client.look([name])
      return (await client.application(name)).status?.sync?.status === 'OutOfSync'
    }
    await waitFor(isSeen, { seconds: SECONDS, what: 'the drift to be seen' })
  })

  if (hasHelm(t)) await t.test('the chart of the webhook', (t) => chart(t, api, client, repository))
}

/**
 * Installs the product's chart by the recipe of docs/gitops.md: what the server writes into the cluster must not appear
 * as drift.
 */
async function chart(t: Test, api: ApiServer, client: ArgoCd, repository: Repository): Promise<void> {
  const name = 'vmcp-admission'
  const recipeOf = parse(recipe('Argo CD', 'gitops.md')) as {
    spec: { source: { path: string; repoURL: string; targetRevision: string } }
  }
  const { source } = recipeOf.spec
  Object.assign(source, { repoURL: repository.url, targetRevision: 'main' })
  repository.copy(source.path)
  repository.commit({})
  await kubectl(api, ['delete', 'validatingwebhookconfiguration,mutatingwebhookconfiguration', name])
  await kubectl(api, ['apply', '-f', '-'], JSON.stringify(recipeOf))
  const isSynced = async () => (await client.application(name)).status?.sync?.status === 'Synced'
  await waitFor(isSynced, { seconds: SECONDS, what: 'the chart to be applied' })

  const [folder, port] = [folderFor(t), await freePort()]
  const start = async (account: string) => {
    const server = await startServer(await flagsOfChart(api, folder, account, port), folder)
    t.teardown(() => server.stop('SIGKILL'))
  }
  await Promise.all([start(LEADER), start(ACCOUNT)])
  const policies = () =>
    kubectl(api, [
      'get',
      'validatingwebhookconfiguration',
      name,
      '-o',
      'jsonpath={.webhooks[*].failurePolicy}',
    ])
  const isArmed = async () => (await policies()) === 'Fail Ignore'
  await waitFor(isArmed, { seconds: SECONDS, what: 'the webhook to be armed' })
  await compared(client, name)
  t.ok(await isSynced())
  t.ok(await isArmed())
}

/** Waits until Argo CD has compared an Application four more times. */
async function compared(client: ArgoCd, name: string): Promise<void> {
  const seen = client.comparisons(name)
  const isCompared = async () => {
    await client.look([name])
    return client.comparisons(name) >= seen + 4
  }
  await waitFor(isCompared, { seconds: SECONDS, what: `${name} to be compared` })
}
