import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import root, { type Test } from 'tap'
import { stringify } from 'yaml'
import {
  authServer,
  backend,
  gateway,
  group,
  injectConfig,
  oidcConfig,
} from '../../src/relations/examples.ts'
import { spawnCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { placed, RandomStates } from '../support/step-pairs.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, kubectl, register } from './cluster.ts'
import { findBinaries } from './find-binaries.ts'
import { createNamespaces } from './resources.ts'
import { runPair, throughTheApi, withKubectl } from './step-runs.ts'
import { withApiServer } from './suite.ts'

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const server = await startServer(['--kubeconfig', api.kubeconfig])
  t.teardown(() => server.stop('SIGKILL'))
  await register(api, server)
  await called(api, server)
  await t.test('random pairs', (t) => randomPairs(t, api))
  await t.test('--apply', (t) => applied(t, api))
  t.notMatch(server.log(), /"level":"(error|fatal)"/, 'nothing went wrong inside')
})

/** A small sample of the pairs that `npm run prove:steps` tries. */
async function randomPairs(t: Test, api: ApiServer): Promise<void> {
  const random = new RandomStates(99)
  for (let i = 0; i < 30; i++) {
    const namespace = `pair-${i}`
    await createNamespaces(api, [namespace])
    const run = await runPair(api, random.pair(namespace), i % 5 === 0 ? withKubectl : throughTheApi)
    t.equal(run?.wrong, undefined, `pair ${i}: ${run?.plan.outcome ?? 'the old state was refused'}`)
    t.ok(run)
  }
}

async function applied(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-admission-steps-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const state = (provider: string, ...more: Parameters<typeof placed>[0]) =>
    placed(
      [
        group(),
        oidcConfig('corporate'),
        injectConfig('wiki', provider),
        backend('wiki', 'wiki'),
        gateway('gateway', { authServerConfig: authServer(provider) }),
        ...more,
      ],
      'default',
    )
  const write = (name: string, objects: ReturnType<typeof placed>) => {
    writeFileSync(join(folder, name), objects.map((each) => stringify(each)).join('---\n'))
    return join(folder, name)
  }
  const old = write('old.yaml', state('okta', backend('gone')))
  const labelled = ({ metadata, ...object }: ReturnType<typeof placed>[number]) => ({
    ...object,
    metadata: { ...metadata, ...(object.kind === 'MCPGroup' && { labels: { team: 'a' } }) },
  })
  const now = write('new.yaml', state('entra').map(labelled))
  await kubectl(api, ['apply', '-f', old])
  const byHand = { spec: { description: 'by hand' } }
  await kubectl(api, ['patch', 'MCPGroup', 'tools', '--type=merge', '-p', JSON.stringify(byHand)])
  const binaries = findBinaries()
  const path =
    'missing' in binaries ? '' : `${dirname(binaries.kubectl)}${delimiter}${process.env.PATH ?? ''}`
  const run = (...args: string[]) =>
    spawnCli(['steps', '--cluster', '--kubeconfig', api.kubeconfig, ...args, now], {
      cwd: folder,
      environment: { PATH: path, HOME: folder },
    })
  const asked = await run('--apply')
  t.match(asked, { status: 2, stderr: /--apply asks on a terminal first: write --yes/ })
  const { status, stderr } = await run('--apply', '--yes', '--previous', old)
  t.equal(status, 0, stderr)
  t.match(
    stderr,
    /^done: update VirtualMCPServer default\/gateway: the new version, which keeps upstreamProviders of the old one$/m,
  )
  t.match(stderr, /^done: delete MCPServer default\/gone$/m)
  const again = await run('--previous', old)
  t.match(again, { status: 0, stdout: 'no object changes\n' }, again.stderr)
  const stored = await kubectl(api, ['get', 'VirtualMCPServer', 'gateway', '-o', 'json'])
  t.notMatch(stored, /"name": "okta"/)
  const changed = await kubectl(api, ['get', 'MCPGroup', 'tools', '-o', 'json'])
  t.match(changed, /"team": "a"/)
  t.notMatch(changed, /"description"/, 'a field that kubectl did not write is removed too')
}
