import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { serviceNames } from '../../src/certificates/authority.ts'
import { makeAuthority, signLeaf } from '../../src/certificates/x509.ts'
import { runCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { ACCOUNT, applyAll, documentsIn, installedRights, kubeconfigOf, NAMESPACE } from './installed.ts'
import { create, remove, type Resource, resourceIn, update } from './resources.ts'
import { lead, ROUTING } from './service-network.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const CONFIGURATIONS = [
  ['validatingwebhookconfiguration', 2],
  ['mutatingwebhookconfiguration', 1],
] as const

/** For each kind: a correct spec, a wrong one, and the id of the error. */
const KINDS: readonly (readonly [string, object, object, string])[] = [
  [
    'MCPExternalAuthConfig',
    { type: 'unauthenticated' },
    { type: 'awsSts', awsSts: { region: 'eu-central-1' } },
    'aws-sts-role-configured',
  ],
  [
    'VirtualMCPServer',
    { incomingAuth: { type: 'anonymous' } },
    { incomingAuth: { type: 'oidc' } },
    'incoming-auth-oidc-config-ref-configured',
  ],
  [
    'MCPOIDCConfig',
    { type: 'inline', inline: { issuer: 'https://idp.example.com' } },
    { type: 'inline' },
    'oidc-config-matches-type',
  ],
  ['MCPServer', {}, { externalAuthConfigRef: {} }, 'schema-required'],
  ['MCPGroup', {}, { description: '${TEAM}' }, 'unresolved-placeholder'],
  ['MCPRemoteProxy', {}, { externalAuthConfigRef: {} }, 'schema-required'],
  ['MCPServerEntry', {}, { externalAuthConfigRef: {} }, 'schema-required'],
]

/** For each kind: the kind and spec of a referrer, so that the deletion of the object is refused. */
const REFERRERS: readonly (readonly [string, string, object])[] = [
  ['MCPExternalAuthConfig', 'MCPServer', { externalAuthConfigRef: { name: 'needed' } }],
  [
    'MCPOIDCConfig',
    'VirtualMCPServer',
    { incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'needed' }, audience: 'a' } },
  ],
  ['MCPGroup', 'MCPServer', { groupRef: { name: 'needed' } }],
]

const HOUR = 60 * 60 * 1_000

await withApiServer(
  root,
  async (t, api) => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-static-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    await installCrds(api, 'crds')
    await applyAll(api, installedRights())
    await applyAll(
      api,
      documentsIn('deploy/install.yaml').filter(({ kind }) => kind === 'Service'),
    )
    // The content of the Secret that cert-manager would create, as it is mounted.
    const lifetime = { now: Date.now(), lifetime: HOUR }
    const authority = await makeAuthority('issuer', lifetime)
    const leaf = await signLeaf(authority, serviceNames('vmcp-admission', NAMESPACE), lifetime)
    writeFileSync(join(folder, 'tls.crt'), leaf.certificate)
    writeFileSync(join(folder, 'tls.key'), leaf.key)
    writeFileSync(join(folder, 'ca.crt'), authority.certificate)
    const kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, await kubeconfigOf(ACCOUNT, api))
    const server = await startServer(
      [
        ...['--host', '0.0.0.0', '--kubeconfig', kubeconfig, '--namespace', NAMESPACE],
        ...['--arming', 'off', '--certificates', 'files', '--service', ACCOUNT],
        ...['--severity', 'unresolved-placeholder=error'],
        ...['--severity', 'deleted-resource-unreferenced=error'],
      ],
      folder,
    )
    t.teardown(() => server.stop('SIGKILL'))
    await lead(api, ACCOUNT, NAMESPACE, Number(new URL(server.url).port))
    const resource = (kind: string, name: string, spec: object): Resource =>
      resourceIn('default', { kind, metadata: { name }, spec })
    const textOf = ({ body }: { readonly body: unknown }) => JSON.stringify(body)
    const good = resource('MCPExternalAuthConfig', 'good', { type: 'unauthenticated' })
    const generations = async () => {
      const path = 'jsonpath={.items[*].metadata.generation}'
      return kubectl(api, ['get', CONFIGURATIONS.map(([kind]) => kind).join(','), '-o', path])
    }

    await t.test('as the file is, nothing is admitted before the CA is in it', async (t) => {
      await kubectl(api, ['apply', '-f', 'deploy/static-webhooks.yaml'])
      const isRefused = async () =>
        textOf(await create(api, good, '?dryRun=All')).includes('failed calling webhook')
      await waitFor(isRefused, { seconds: 20, what: 'the API server to know the webhook' })
      t.pass('refused')
    })

    await t.test('with the CA, what is good goes in and what is bad does not', async (t) => {
      const value = Buffer.from(authority.certificate).toString('base64')
      for (const [kind, entries] of CONFIGURATIONS) {
        const patch = Array.from({ length: entries }, (_, i) => ({
          op: 'add',
          path: `/webhooks/${i}/clientConfig/caBundle`,
          value,
        }))
        const manager = '--field-manager=cert-manager-cainjector'
        const args = ['patch', kind, 'vmcp-admission', '--type=json', manager, '-p', JSON.stringify(patch)]
        await kubectl(api, args)
      }
      const isAdmitted = async () => (await create(api, good, '?dryRun=All')).status === 201
      await waitFor(isAdmitted, { seconds: 20, what: 'the API server to trust the webhook' })
      t.match(await kubectl(api, ['apply', '-f', 'examples/embedded-auth-server.yaml']), /created/)
      const lifespan = 'jsonpath={.items[*].spec.embeddedAuthServer.tokenLifespans.refreshTokenLifespan}'
      t.equal(
        await kubectl(api, ['get', 'mcpexternalauthconfigs', '-o', lifespan]),
        '168h',
        'with its defaults',
      )
      const bad = await api.kubectl(['apply', '-f', 'examples/bad/aws-sts-without-role.yaml'])
      t.equal(bad.code, 1)
      t.match(bad.stderr, /aws-sts-role-configured/)
    })

    await t.test('in CI the account of docs/cluster.md reads and cannot write', async (t) => {
      const page = readFileSync(`${ROOT}docs/cluster.md`, 'utf8')
      const recipe = page.slice(page.indexOf('## In CI, with an account')).matchAll(/^```sh\n([^`]*)/gm)
      const commands = [...recipe].map(([, block = '']) => block.replaceAll('deploy/', `${ROOT}deploy/`))
      const { stdout } = spawnSync('bash', ['-ec', commands.join('')], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: `${process.env.KUBEBUILDER_ASSETS}:${process.env.PATH}`, KUBECONFIG: api.kubeconfig },
      })
      t.equal(stdout.trim().split('\n').at(-1), 'no')
      const flags = ['--cluster', '--kubeconfig', join(folder, 'vmcp-check.kubeconfig')]
      const checked = await runCli(['check', ...flags, `${ROOT}examples/bad/misspelt-type.yaml`], {
        cwd: folder,
      })
      t.match(checked, { status: 1, stdout: /schema-enum/, stderr: '' })
    })

    await t.test('in CI a warning is as bad as a denial', async (t) => {
      const line = readFileSync(`${ROOT}docs/cluster.md`, 'utf8')
        .split('\n')
        .find((each) => each.startsWith('    kubectl apply '))
      const command = line?.trim().replace('kubectl ', '').split(' ') ?? []
      t.equal(command.pop(), 'deploy/')
      for (const [code, file, text] of [
        [0, 'examples/header-injection.yaml', ''],
        [1, 'examples/unauthenticated.yaml', 'Warning: '],
        [1, 'examples/bad/misspelt-type.yaml', 'is invalid'],
      ] as const) {
        const run = await api.kubectl([...command, file])
        t.match(run, { code, stderr: text }, file)
      }
      const { code } = await api.kubectl(['apply', '--dry-run=server', '-f', 'examples/unauthenticated.yaml'])
      t.equal(code, 0, 'warned of only')
    })

    await t.test('every kind, created and updated', async (t) => {
      for (const [kind, right, wrong, id] of KINDS) {
        const refused = await create(api, resource(kind, 'wrong', wrong))
        t.match([refused.status, textOf(refused)], [422, `(${id})`], `${kind} created`)
        t.equal((await create(api, resource(kind, 'right', right))).status, 201, kind)
        const changed = await update(api, resource(kind, 'right', wrong))
        t.match([changed.status, textOf(changed)], [422, `(${id})`], `${kind} updated`)
      }
    })

    await t.test('three kinds deleted', async (t) => {
      for (const [kind, referrer, spec] of REFERRERS) {
        const needed = resource(kind, 'needed', KINDS.find(([each]) => each === kind)?.[1] ?? {})
        t.equal((await create(api, needed)).status, 201, kind)
        const holder = resource(referrer, `holds-${kind.toLowerCase()}`, spec)
        t.equal((await create(api, holder)).status, 201, referrer)
        // It may take a moment until the server's cache has the referrer.
        let said = ''
        const isRefused = async () => {
          said = textOf(await remove(api, needed))
          if (!said.includes('deleted-resource-unreferenced')) await create(api, needed)
          return said.includes('deleted-resource-unreferenced')
        }
        await waitFor(isRefused, { seconds: 20, what: `the deletion of ${kind} to be refused` })
        t.match(said, '"code":422', kind)
      }
    })

    await t.test('in another version of the same API too', async (t) => {
      const version = {
        name: 'v1alpha1',
        served: true,
        storage: false,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      }
      const patch = JSON.stringify([{ op: 'add', path: '/spec/versions/-', value: version }])
      const crd = 'mcpexternalauthconfigs.toolhive.stacklok.dev'
      await kubectl(api, ['patch', 'crd', crd, '--type=json', '-p', patch])
      const path = '/apis/toolhive.stacklok.dev/v1alpha1/namespaces/default/mcpexternalauthconfigs'
      const isServed = async () => (await api.request('GET', path)).status === 200
      await waitFor(isServed, { seconds: 20, what: 'v1alpha1 to be served' })
      const wrong = resource('MCPExternalAuthConfig', 'older', { type: 'awsSts', awsSts: { region: 'a' } })
      const answer = await api.request('POST', path, {
        ...wrong,
        apiVersion: 'toolhive.stacklok.dev/v1alpha1',
      })
      t.match([answer.status, textOf(answer)], [422, '(aws-sts-role-configured)'])
    })

    await t.test('and the server leaves the configurations alone', async (t) => {
      const before = await generations()
      t.equal(await server.stop(), 0)
      t.equal(await generations(), before)
      const managers = 'jsonpath={.items[*].metadata.managedFields[*].manager}'
      const kinds = CONFIGURATIONS.map(([kind]) => kind).join(',')
      const wrote = await kubectl(api, ['get', kinds, '--show-managed-fields', '-o', managers])
      t.strictSame(
        [...new Set(wrote.split(' '))].toSorted(),
        ['cert-manager-cainjector', 'kubectl-client-side-apply'],
        'no other manager wrote',
      )
    })
  },
  { flags: [ROUTING] },
)
