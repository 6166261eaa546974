import root from 'tap'
import { installCrds } from '../e2e/cluster.ts'
import { withApiServer } from '../e2e/suite.ts'
import { startFlux } from './flux.ts'
import { armedWebhook, findClients, folderFor } from './programs.ts'
import { serveRepository } from './repository.ts'
import { bothEnds, firstInstall, mistakes, outage, renames, type Stage, stays } from './stories.ts'

const clients = findClients(root, 'git')
if (clients !== undefined)
  await withApiServer(
    root,
    async (t, api) => {
      await installCrds(api, 'crds')
      const webhook = await armedWebhook(t, api, 'all')
      const repository = await serveRepository(folderFor(t))
      t.teardown(repository.close)
      const client = await startFlux(t, api, clients, repository.url)
      const stage: Stage = { api, client, repository }
      await t.test('first install, in any order', (t) => firstInstall(t, stage))
      await t.test('renames', (t) => renames(t, stage))
      await t.test('one commit changes both ends', (t) => bothEnds(t, stage, 'flux'))
      await t.test('a mistake and its mending', (t) => mistakes(t, stage, false))
      await t.test('defaults make no diff', (t) => stays(t, stage, ['install-0', 'install-1', 'install-2']))
      await t.test('an outage of the webhook', (t) => outage(t, stage, webhook))
    },
    { longestMs: 1_200_000 },
  )
