import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import root, { type Test } from 'tap'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { mcpExternalAuthConfig } from '../../src/kinds/mcp-external-auth-config/index.ts'
import { isObject } from '../../src/rule/resource.ts'
import { hasHelm, helmPath } from '../support/helm.ts'
import { startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, kubectl, register, ROOT } from './cluster.ts'
import { type Binaries, findBinaries } from './find-binaries.ts'
import { createNamespaces } from './resources.ts'
import { additions } from './stored-defaults.ts'
import { withApiServer } from './suite.ts'

/** The default values of IN_LIST are inside a list (`upstreamProviders`) and outside; those of OUTSIDE only outside. */
const IN_LIST = 'examples/embedded-auth-server.yaml'
const OUTSIDE = 'examples/token-exchange.yaml'

/** The arguments with which kubectl applies a file. */
const WAYS = {
  'client-side': ['apply'],
  'server-side': ['apply', '--server-side', '--field-manager=delivery'],
} as const
type Way = keyof typeof WAYS

/** The table of docs/gitops.md: for each `--defaults`, the result of applying an unchanged file again. */
const ROWS: readonly {
  readonly defaults: string
  readonly file: string
  readonly way: Way
  /** Whether the first apply stores fields that the file does not have. */
  readonly adds: boolean
  /** The result that kubectl prints for the second apply. */
  readonly again: 'unchanged' | 'configured' | 'serverside-applied'
  /** Whether the API server refuses the second apply while the webhook is down. */
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

/** Commands that apply a folder to a namespace. */
const COMMANDS: readonly {
  readonly namespace: string
  readonly command: string
  /** The command that shows the difference from the cluster. */
  readonly diff?: string
  /** Whether it stores the other files when one file has a mistake. */
  readonly storesOthers: boolean
  /** Whether it deletes objects whose file was removed. */
  readonly prunes: boolean
}[] = [
  {
    namespace: 'server-side',
    command: 'kubectl apply --server-side -n "$NAMESPACE" -f plain',
    diff: 'kubectl diff --server-side -n "$NAMESPACE" -f plain',
    storesOthers: true,
    prunes: false,
  },
  {
    namespace: 'components',
    command: 'kubectl apply -n "$NAMESPACE" -k overlay',
    diff: 'kubectl diff -n "$NAMESPACE" -k overlay',
    storesOthers: true,
    prunes: false,
  },
  {
    namespace: 'prune',
    command: `kubectl apply -n "$NAMESPACE" --prune --all --prune-allowlist=${DEFAULT_API_GROUP}/${API_VERSION}/${mcpExternalAuthConfig.kind} -f plain`,
    storesOthers: true,
    prunes: true,
  },
  {
    namespace: 'applyset',
    command: 'KUBECTL_APPLYSET=true kubectl apply -n "$NAMESPACE" --prune --applyset=fleet -f plain',
    storesOthers: true,
    prunes: true,
  },
  {
    namespace: 'helm',
    command: 'helm upgrade fleet chart -n "$NAMESPACE" --install --wait --atomic --timeout 1m',
    storesOthers: false,
    prunes: true,
  },
]

const MISTAKE =
  /"invoices-aws" is invalid: \W*spec\.awsSts: Required value: at least one of .* \(aws-sts-role-configured\)/

await withApiServer(
  root,
  async (t, api) => {
    await installCrds(api, 'crds')
    for (const defaults of ['all', 'outside-lists', 'off']) {
      const rows = ROWS.filter((row) => row.defaults === defaults)
      await t.test(`--defaults ${defaults}`, (t) => applyTwice(t, api, defaults, rows))
    }
    if (hasHelm(t)) await t.test('a mistake and its mending', (t) => mend(t, api))
  },
  { longestMs: 600_000 },
)

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
    // Flux, and Argo CD with ServerSideDiff, compare this result of a dry run with the stored object.
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

/** Writes the folders of a commit for all commands; the second file is in a kustomize component. */
function writeFleet(folder: string, files: readonly string[]): void {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const [i, file] of files.entries()) {
    const text = readFileSync(`${ROOT}examples/${file}`, 'utf8').replace(
      /^( {2}name:) reports-aws$/m,
      '$1 invoices-aws',
    )
    for (const place of ['plain', 'chart/templates', i === 0 ? 'component' : 'overlay'])
      write(`${place}/${i}.yaml`, text)
  }
  write('chart/Chart.yaml', 'apiVersion: v2\nname: fleet\nversion: 0.1.0\n')
  const kustomization = 'apiVersion: kustomize.config.k8s.io/'
  write('component/kustomization.yaml', `${kustomization}v1alpha1\nkind: Component\nresources: [0.yaml]\n`)
  const rest = files.slice(1).map((_, i) => `${i + 1}.yaml`)
  write(
    'overlay/kustomization.yaml',
    `${kustomization}v1beta1\nkind: Kustomization\nresources: [${rest.join()}]\ncomponents: [../component]\n`,
  )
}

/** Runs each command four times: with a mistake, without it, with it again, and without it again. */
async function mend(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-fleet-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [right, mistaken] = ['aws-sts.yaml', 'bad/aws-sts-without-role.yaml']
  const [stays, goes] = ['virtual-mcp-server.yaml', 'embedded-auth-server.yaml']
  for (const [commit, files] of Object.entries({
    right: [right, stays, goes],
    mistaken: [mistaken, stays, goes],
    smaller: [mistaken, stays],
    mended: [right, stays],
  }))
    writeFleet(join(folder, commit), files)
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(helmPath(), join(bin, 'helm'))
  const { kubectl: program } = findBinaries() as Binaries
  symlinkSync(program, join(bin, 'kubectl'))
  const run = (script: string, namespace: string, commit: string) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
      cwd: join(folder, commit),
      env: {
        PATH: `${bin}:${process.env.PATH}`,
        HOME: folder,
        HELM_DRIVER: 'configmap',
        KUBECONFIG: api.kubeconfig,
        NAMESPACE: namespace,
      },
      encoding: 'utf8',
    })
    return { status, said: stdout + stderr }
  }

  const server = await startServer(['--kubeconfig', api.kubeconfig])
  t.teardown(() => server.stop('SIGKILL'))
  await register(api, server)
  await called(api, server)
  await createNamespaces(
    api,
    COMMANDS.map(({ namespace }) => namespace),
  )
  const others = ['engineering-github', 'engineering-jira']
  const all = [...others, 'invoices-aws', 'wiki-login']
  for (const { namespace, command, diff, storesOthers, prunes } of COMMANDS) {
    const names = async () => {
      const listed = await kubectl(api, ['get', mcpExternalAuthConfig.plural, '-n', namespace, '-o', 'name'])
      return listed.match(/[^/\s]+$/gm) ?? []
    }
    for (const [commit, isMistaken, left] of [
      ['mistaken', true, storesOthers ? [...others, 'wiki-login'] : []],
      ['right', false, all],
      ['mistaken', true, all],
      ['smaller', true, all],
      ['mended', false, prunes ? all.slice(0, 3) : all],
    ] as const) {
      const title = `${namespace}, ${commit}`
      const ran = run(command, namespace, commit)
      t.equal(ran.status, isMistaken ? 1 : 0, `${title}: ${ran.said}`)
      if (isMistaken) t.match(ran.said, MISTAKE, title)
      t.strictSame((await names()).toSorted(), left, `${title}: what is stored`)
      if (diff === undefined) continue
      const shown = run(diff, namespace, commit)
      // Exit code 1 would mean that there is a difference.
      t.equal(shown.status, isMistaken ? 2 : 0, `${title}: ${diff}: ${shown.said}`)
      if (isMistaken) t.match(shown.said, MISTAKE, `${title}: ${diff}`)
    }
  }
  const dryRun = run('helm upgrade fleet chart -n helm --dry-run=server', 'helm', 'mistaken')
  t.equal(dryRun.status, 0, `a dry run of Helm asks no webhook: ${dryRun.said}`)
  // Helm 3 cannot roll back a failed upgrade that removed an object from the chart; the next upgrade repairs it.
  t.match(
    run('helm history fleet -n helm', 'helm', 'mended').said,
    /\n2 .*"invoices-aws" is invalid[^]*\n3 .*Rollback to 1[^]*\n5 .*Rollback "fleet" failed[^]*\n6 .*deployed/,
  )
}

function versionOf({ metadata }: Record<string, unknown>): unknown {
  return isObject(metadata) ? [metadata.resourceVersion, metadata.generation] : undefined
}
