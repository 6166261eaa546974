import { isDeepStrictEqual } from 'node:util'
import root, { type Test } from 'tap'
import { mcpExternalAuthConfig } from '../../src/kinds/mcp-external-auth-config/index.ts'
import { isObject } from '../../src/rule/resource.ts'
import { startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, kubectl, register } from './cluster.ts'
import { createNamespaces } from './resources.ts'
import { additions } from './stored-defaults.ts'
import { withApiServer } from './suite.ts'

/** Its defaults are in a list (`upstreamProviders`) and outside; those of the second are outside lists only. */
const IN_LIST = 'examples/embedded-auth-server.yaml'
const OUTSIDE = 'examples/token-exchange.yaml'

/** How a tool applies a file: as Argo CD does by default, and as Flux does. */
const WAYS = {
  'client-side': ['apply'],
  'server-side': ['apply', '--server-side', '--field-manager=delivery'],
} as const
type Way = keyof typeof WAYS

/** What the table in docs/gitops.md says: for each setting, what happens to an unchanged file that is applied again. */
const ROWS: readonly {
  readonly defaults: string
  readonly file: string
  readonly way: Way
  /** Whether the first apply stores more than the file has. */
  readonly adds: boolean
  /** What kubectl prints of the second apply; Argo CD calls `configured` OutOfSync. */
  readonly again: 'unchanged' | 'configured' | 'serverside-applied'
  /** Whether the API server refuses the second apply while the webhook does not answer. */
  readonly refused: boolean
}[] = [
  { defaults: 'all', file: IN_LIST, way: 'client-side', adds: true, again: 'configured', refused: true },
  {
    defaults: 'all',
    file: IN_LIST,
    way: 'server-side',
    adds: true,
    again: 'serverside-applied',
    refused: true,
  },
  { defaults: 'all', file: OUTSIDE, way: 'client-side', adds: true, again: 'unchanged', refused: false },
  {
    defaults: 'all',
    file: OUTSIDE,
    way: 'server-side',
    adds: true,
    again: 'serverside-applied',
    refused: false,
  },
  ...(['outside-lists', 'off'] as const).flatMap((defaults) =>
    [IN_LIST, OUTSIDE].flatMap((file) => {
      const adds = defaults === 'outside-lists'
      return [
        { defaults, file, way: 'client-side', adds, again: 'unchanged', refused: false } as const,
        { defaults, file, way: 'server-side', adds, again: 'serverside-applied', refused: false } as const,
      ]
    }),
  ),
]

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  for (const defaults of ['all', 'outside-lists', 'off']) {
    const rows = ROWS.filter((row) => row.defaults === defaults)
    await t.test(`--defaults ${defaults}`, (t) => applyTwice(t, api, defaults, rows))
  }
})

async function applyTwice(t: Test, api: ApiServer, defaults: string, rows: typeof ROWS): Promise<void> {
  const server = await startServer(['--kubeconfig', api.kubeconfig, '--defaults', defaults])
  t.teardown(() => server.stop('SIGKILL'))
  await register(api, server)
  await called(api, server)
  const namespaceOf = (i: number) => `${defaults}-${i}`
  await createNamespaces(
    api,
    rows.map((_, i) => namespaceOf(i)),
  )
  const run = (row: (typeof ROWS)[number], i: number, ...more: string[]) =>
    api.kubectl([...WAYS[row.way], ...more, '-n', namespaceOf(i), '-f', row.file])
  const read = async (i: number) => {
    const text = await kubectl(api, [
      'get',
      mcpExternalAuthConfig.plural,
      '-n',
      namespaceOf(i),
      '-o',
      'json',
      '--show-managed-fields',
    ])
    return (JSON.parse(text) as { items: Record<string, unknown>[] }).items[0] ?? {}
  }
  for (const [i, row] of rows.entries()) {
    const title = `${row.way} ${row.file}`
    const first = await run(row, i)
    t.equal(first.code, 0, `${title}: ${first.stderr}`)
    const stored = await read(i)
    const given = JSON.parse(
      await kubectl(api, ['create', '--dry-run=client', '-o', 'json', '-f', row.file]),
    ) as Record<string, unknown>
    t.equal(!isDeepStrictEqual(stored.spec, given.spec), row.adds, `${title}: defaults are stored`)
    if (row.adds && row.file === OUTSIDE) {
      const added = Object.keys(additions(given.spec, stored.spec, 'spec')).map((path) =>
        path.split('.').at(-1),
      )
      const owned = JSON.stringify((stored.metadata as { managedFields?: unknown }).managedFields)
      t.ok(added.length > 0)
      for (const field of added) t.notMatch(owned, `"f:${field}"`, 'no manager owns a default')
    }
    // What Flux, and Argo CD with ServerSideDiff, compare with the stored object.
    const dryRun = await run(row, i, '--dry-run=server', '-o', 'json')
    const predicted = JSON.parse(dryRun.stdout) as Record<string, unknown>
    t.strictSame(predicted.spec, stored.spec, `${title}: a dry run sees no drift`)
    const again = await run(row, i)
    t.match(again.stdout, new RegExp(` ${row.again}\n$`), `${title}, again`)
    t.strictSame(versionOf(await read(i)), versionOf(stored), `${title}, again: nothing is written`)
  }
  await server.stop('SIGKILL')
  for (const [i, row] of rows.entries()) {
    const { code, stderr } = await run(row, i)
    t.equal(code !== 0, row.refused, `${row.way} ${row.file} while the webhook is down: ${stderr}`)
    if (row.refused) t.match(stderr, 'failed calling webhook')
  }
}

function versionOf({ metadata }: Record<string, unknown>): unknown {
  return isObject(metadata) ? [metadata.resourceVersion, metadata.generation] : undefined
}
