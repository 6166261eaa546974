import root from 'tap'
import { audit } from '../../src/cli/commands/audit.ts'
import { REPORTS_LEASE } from '../../src/registration/index.ts'
import { runHere } from '../support/cli.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, installReports, kubectl } from './cluster.ts'
import { createNamespaces, metric, remove, resourceIn, store, storeAll } from './resources.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

interface Report {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly resourceVersion: string
    readonly ownerReferences: readonly object[]
    readonly managedFields: readonly { readonly manager: string; readonly operation: string }[]
  }
}

const aws = (name: string, region: string, namespace = 'shop') =>
  resourceIn(namespace, {
    kind: 'MCPExternalAuthConfig',
    metadata: { name },
    spec: {
      type: 'awsSts',
      awsSts: { region, fallbackRoleArn: 'arn:aws:iam::123456789012:role/reader' },
    },
  })
const backend = resourceIn('tools', {
  kind: 'MCPServer',
  metadata: { name: 'wiki' },
  spec: { image: 'wiki:1', groupRef: { name: 'tools' }, externalAuthConfigRef: { name: 'forgotten' } },
})

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  await createNamespaces(api, ['vmcp-system', 'tools', 'shop'])
  await storeAll(api, [aws('one', 'europe'), aws('two', 'asia'), aws('fine', 'eu-central-1'), backend])
  const start = async () => {
    const server = await startServer(['--kubeconfig', api.kubeconfig, '--reports'])
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const shown = (plural: string) => namesOf(api, plural)
  const ALL = [
    'shop mcpexternalauthconfig-one 0 1 0 0 0',
    'shop mcpexternalauthconfig-two 0 1 0 0 0',
    'tools mcpserver-wiki 0 0 2 0 0',
  ]

  await t.test('without a CRD of reports nothing is written', async (t) => {
    const server = await start()
    await waitFor(() => server.log().includes('"api":"none'), { seconds: 30, what: 'the first pass' })
    t.strictSame(await written(server), [])
    t.equal(await server.stop(), 0)
    const holder = [
      'get',
      'lease',
      REPORTS_LEASE,
      '-n',
      'vmcp-system',
      '-o',
      'jsonpath={.spec.holderIdentity}',
    ]
    t.equal(await kubectl(api, holder), '', 'the Lease is released')
  })

  await installReports(api, 'policyreports')
  await t.test('PolicyReports are kept where only they are installed', async (t) => {
    const server = await start()
    await waitFor(async () => (await shown('policyreports')).length === 3, {
      seconds: 30,
      what: 'three reports',
    })
    t.match(
      await shown('policyreports'),
      ALL.map((line) => line.split(' ', 2).join(' ')),
    )
    t.equal(await server.stop(), 0)
  })

  await installReports(api, 'openreports')
  const server = await start()
  const until = async (lines: readonly string[], what: string) => {
    const isSo = async () => (await shown('reports')).join('\n') === lines.join('\n')
    await waitFor(isSo, { seconds: 30, what }).catch(async (error: unknown) => {
      t.strictSame(await shown('reports'), lines, String(error))
    })
  }

  await t.test('Reports are preferred, and are those that audit prints', async (t) => {
    await until(ALL, 'the reports of what is stored')
    t.strictSame(await shown('policyreports'), [], 'the others are removed')
    const { items } = JSON.parse(await kubectl(api, ['get', 'reports', '-A', '-o', 'json'])) as {
      items: Report[]
    }
    const { stdout } = await runHere(t, audit.run, [
      ...['--kubeconfig', api.kubeconfig, '--output', 'openreports'],
    ])
    const printed = (JSON.parse(stdout) as { items: Report[] }).items
    t.strictSame(items.map(withoutMetadata).sort(byName), printed.map(withoutMetadata).sort(byName))
    const owner = await kubectl(api, [
      ...['get', 'mcpexternalauthconfig', 'one', '-n', 'shop', '-o', 'jsonpath={.metadata.uid}'],
    ])
    t.match(items.find(({ metadata }) => metadata.name.endsWith('-one'))?.metadata, {
      ownerReferences: [{ kind: 'MCPExternalAuthConfig', name: 'one', uid: owner }],
    })
    const managed = JSON.parse(
      await kubectl(api, ['get', 'reports', '-A', '-o', 'json', '--show-managed-fields']),
    ) as { items: Report[] }
    for (const { metadata } of managed.items)
      t.match(metadata.managedFields, [{ manager: 'vmcp-admission', operation: 'Apply' }])
  })

  await t.test('a change that leaves the findings alone writes nothing', async (t) => {
    const before = await written(server)
    await kubectl(api, ['label', '-n', 'shop', 'mcpexternalauthconfig', 'one', 'team=a'])
    await kubectl(api, ['label', '-n', 'shop', 'mcpexternalauthconfig', 'fine', 'team=a'])
    // This object is stored last, so once it has a report, the others have been judged too.
    await store(api, aws('three', 'africa'))
    await until(
      [...ALL.slice(0, 1), 'shop mcpexternalauthconfig-three 0 1 0 0 0', ...ALL.slice(1)],
      'a third',
    )
    t.strictSame(await written(server), [before[0], Number(before[1]) + 1])
  })

  await t.test('reports go with their findings and their objects', async (t) => {
    await store(api, aws('three', 'eu-central-1'))
    await until(ALL, 'the third to be mended')
    await remove(api, aws('two', ''))
    await until([ALL[0] ?? '', ALL[2] ?? ''], 'the second to be deleted')
    await store(api, aws('one', 'eu-central-1'))
    await remove(api, backend)
    await until([], 'all to go')
    const removed = await metric(server, 'vmcp_admission_report_writes_total')
    t.equal(removed.get('outcome="removed"'), 3 + 4, 'the PolicyReports too')
    t.equal(removed.get('outcome="failed"') ?? 0, 0)
  })

  await t.test('a CRD that goes and comes back', async (t) => {
    await kubectl(api, ['delete', 'crd', 'reports.openreports.io', 'policyreports.wgpolicyk8s.io'])
    await store(api, aws('one', 'europe'))
    await waitFor(() => server.log().includes('reports: cannot keep them'), {
      seconds: 30,
      what: 'the write to fail',
    })
    await installReports(api, 'openreports')
    await waitFor(async () => (await shown('reports')).length === 1, {
      seconds: 60,
      what: 'the report again',
    })
    t.notMatch(server.log(), /"level":"(error|fatal)"/)
  })

  await t.test('another replica takes over', async (t) => {
    const other = await start()
    await other.ready()
    t.equal(await server.stop(), 0)
    await store(api, aws('one', 'eu-central-1'))
    await until([], 'the other replica to remove it')
    t.equal((await metric(other, 'vmcp_admission_report_writes_total')).get('outcome="removed"'), 1)
  })
})

/** The rows of `kubectl get`: namespace, name, and for Reports the counts. */
async function namesOf(api: ApiServer, plural: string): Promise<string[]> {
  const text = await kubectl(api, ['get', plural, '--all-namespaces', '--no-headers'])
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) =>
    line
      .split(/ +/)
      .slice(0, plural === 'reports' ? -1 : 2)
      .join(' '),
  )
}

/** The counter of written reports; empty before the first report. */
async function written(server: RunningServer): Promise<(string | number)[]> {
  const samples = await metric(server, 'vmcp_admission_report_writes_total')
  return [...samples].filter(([labels]) => labels.includes('written')).flat()
}

function withoutMetadata({ metadata: { name, namespace }, ...rest }: Report) {
  return { name, namespace, ...rest }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}
