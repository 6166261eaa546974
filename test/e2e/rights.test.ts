import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import root, { type Test } from 'tap'
import { authServer, backend, gateway, headerConfig, oidcConfig } from '../../src/relations/examples.ts'
import { API_VERSION, DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { freePort } from '../support/free-port.ts'
import { startServer } from '../support/server.ts'
import { installCrds, installReports, kubectl } from './cluster.ts'
import {
  ACCOUNT,
  applyAll,
  documentsIn,
  type Grant,
  type Installed,
  installedRights,
  kubeconfigOf,
  LEADER,
  NAMESPACE,
} from './installed.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

/** The part of a SubjectAccessReview that the test reads. */
interface Asked {
  readonly user?: string
  readonly resourceAttributes?: Partial<
    Record<'group' | 'resource' | 'subresource' | 'name' | 'namespace' | 'verb', string>
  >
  readonly nonResourceAttributes?: { readonly path: string }
}

/** The permissions that the server needs only with certain flags. */
const MORE_RIGHTS = ['secrets', 'reports', 'reports-lease'].flatMap((name) =>
  documentsIn(`deploy/rbac/${name}.yaml`),
)

const ACCOUNTS = [ACCOUNT, LEADER]
const userOf = (account: string) => `system:serviceaccount:${NAMESPACE}:${account}`
const asked: Asked[] = []

/**
 * An authorization webhook that records the requests of the product's service accounts and has no opinion, so that RBAC
 * decides.
 */
const authorizer = createServer((request, response) => {
  void json(request).then((review) => {
    const { spec } = review as { spec: Asked }
    if (ACCOUNTS.some((account) => spec.user === userOf(account))) asked.push(spec)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ ...(review as object), status: { allowed: false } }))
  })
}).listen(0, '127.0.0.1')
await once(authorizer, 'listening')
const folder = mkdtempSync(join(tmpdir(), 'vmcp-rights-'))
root.teardown(() => {
  authorizer.close()
  authorizer.closeAllConnections()
  rmSync(folder, { recursive: true })
})
const webhook = join(folder, 'authorizer')
const { port: authorizerPort } = authorizer.address() as AddressInfo
writeFileSync(
  webhook,
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${authorizerPort}` } }],
    users: [{ name: 'a', user: {} }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  }),
)

/**
 * The webhook comes before RBAC. Answers that the API server caches do not matter, because their question was recorded
 * before.
 */
const AUTHORIZER = [
  '--authorization-mode=Webhook,RBAC',
  `--authorization-webhook-config-file=${webhook}`,
  '--authorization-webhook-version=v1',
]

await withApiServer(
  root,
  async (t, api) => {
    await installCrds(api, 'crds')
    await applyAll(api, [...installedRights(), ...MORE_RIGHTS])
    for (const { metadata } of MORE_RIGHTS) {
      const place = metadata.name.endsWith('-lease')
        ? ['rolebinding', '-n', NAMESPACE]
        : ['clusterrolebinding']
      const account = `--serviceaccount=${NAMESPACE}:${ACCOUNT}`
      await kubectl(api, ['create', ...place, metadata.name, account, `--clusterrole=${metadata.name}`])
    }
    const port = await freePort()
    const start = async (role: string, account: string, ...more: string[]) => {
      const kubeconfig = join(folder, account)
      writeFileSync(kubeconfig, await kubeconfigOf(account, api))
      const server = await startServer(
        [
          ...['--role', role, '--kubeconfig', kubeconfig, '--namespace', NAMESPACE, '--arming', 'on'],
          ...['--certificates', 'self-managed', '--leaf-lifetime', '30'],
          ...['--webhook-url', `https://127.0.0.1:${port}`, ...more],
        ],
        folder,
      )
      t.teardown(() => server.stop('SIGKILL'))
      return server
    }
    const judging = ['--check-secrets=any-caller', '--reports']
    const refusing = ['--severity', 'deleted-resource-unreferenced=error']
    const leader = await start('leader', LEADER, '--owner-cluster-role', ACCOUNT)
    const hasReport = async (plural: string) =>
      (await kubectl(api, ['get', plural, '-A', '-o', 'name'])).includes('unfinished')
    const apply = (object: object) =>
      api.kubectl(['apply', '-f', '-'], {
        stdin: JSON.stringify({ apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, ...object }),
      })

    await t.test('reports are written by the API that is there', async (t) => {
      await installReports(api, 'policyreports')
      t.equal((await apply(gateway('unfinished'))).code, 0)
      const keeper = await start('webhook', ACCOUNT, '--reports')
      await waitFor(() => hasReport('policyreports'), { seconds: 60, what: 'a PolicyReport' })
      t.equal(await keeper.stop(), 0)
      await installReports(api, 'openreports')
    })

    const server = await start('webhook', ACCOUNT, ...judging, ...refusing, '--port', String(port))
    const metric = async (line: RegExp) => line.test(await (await fetch(`${server.probeUrl}/metrics`)).text())
    await waitFor(() => metric(/^vmcp_admission_armed 1$/m), { seconds: 40, what: 'the webhook to be armed' })

    await t.test('every kind is read', async (t) => {
      // The server reads the objects that are missing in its cache.
      const first = await apply(
        gateway('tools', {
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'people' }, audience: 'tools' },
          authServerConfig: { ...authServer('okta'), hmacSecretRefs: [{ name: 'hmac', key: 'key' }] },
        }),
      )
      t.equal(first.code, 0)
      for (const text of [/MCPGroup/, /MCPOIDCConfig/, /Secret/]) t.match(first.stderr, text)
      const members = ['MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'] as const
      for (const kind of members)
        t.equal((await apply(backend('jira', `of-${kind}`.toLowerCase(), kind))).code, 0)
      // The server reads the referrers before it refuses a deletion, once its cache has the references.
      for (const target of [
        ...members.map((kind) => headerConfig(`of-${kind}`.toLowerCase())),
        oidcConfig('people'),
        { kind: 'MCPGroup', metadata: { name: 'tools' }, spec: {} },
      ]) {
        const isKept = async () => {
          await apply(target)
          const { stderr } = await api.kubectl(['delete', '--wait=false', target.kind, target.metadata.name])
          return stderr.includes('deleted-resource-unreferenced')
        }
        await waitFor(isKept, {
          seconds: 20,
          what: `the deletion of ${target.kind} ${target.metadata.name} to be refused`,
        })
      }
    })

    await t.test('reports are written by another API, and removed', async (t) => {
      const isOther = async () => (await hasReport('reports')) && !(await hasReport('policyreports'))
      await waitFor(isOther, { seconds: 40, what: 'Reports in place of PolicyReports' })
      await kubectl(api, ['delete', 'virtualmcpserver', 'unfinished'])
      await waitFor(async () => !(await hasReport('reports')), {
        seconds: 40,
        what: 'its Report to be removed',
      })
      t.pass('removed')
    })

    await t.test('its Secret is emptied', async (t) => {
      const secret = ['secret', 'vmcp-admission-ca', '-n', NAMESPACE]
      await kubectl(api, ['patch', ...secret, '--type=merge', '-p', '{"data":null}'])
      const isBack = async () => (await kubectl(api, ['get', ...secret, '-o', 'jsonpath={.data}'])) !== ''
      await waitFor(isBack, { seconds: 60, what: 'the CA to be written again' })
      t.pass('written again')
    })

    await t.test('every right is used, and none is missed', async (t) => {
      for (const each of [server, leader]) t.equal(await each.stop(), 0)
      for (const account of ACCOUNTS) check(t, account, installedRights())
    })
  },
  { flags: AUTHORIZER, longestMs: 480_000 },
)

/** Asserts that an account uses each of its permissions and lacks none that it uses. */
function check(t: Test, account: string, objects: readonly Installed[]): void {
  const bound = objects.filter(({ kind, metadata }) =>
    objects.some(
      (each) =>
        each.roleRef?.kind === kind &&
        each.roleRef.name === metadata.name &&
        each.metadata.namespace === metadata.namespace &&
        each.subjects?.some(({ name }) => name === account),
    ),
  )
  const granted = rightsIn(account === ACCOUNT ? [...bound, ...MORE_RIGHTS] : bound)
  t.ok(granted.length > 8, account)
  const used = asked.flatMap(({ user, resourceAttributes, nonResourceAttributes }) =>
    user === userOf(account) ? [{ ...resourceAttributes, path: nonResourceAttributes?.path }] : [],
  )
  const unused = granted.filter((right) => !used.some((use) => covers(right, use)))
  t.strictSame(unused.map(textOf), [], `${account}: granted and never used`)
  const missed = used.filter((use) => !granted.some((right) => covers(right, use)))
  t.strictSame(missed, [], `${account}: wanted and not granted`)
}

interface Right {
  readonly namespace: string
  readonly group: string
  readonly resource: string
  readonly name: string
  readonly verb: string
}

type Use = NonNullable<Asked['resourceAttributes']>

function rightsIn(objects: readonly Installed[]): Right[] {
  return objects.flatMap(({ metadata, rules = [] }) =>
    rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }: Grant) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) =>
            verbs.map((verb) => ({ namespace: metadata.namespace ?? '', group, resource, name, verb })),
          ),
        ),
      ),
    ),
  )
}

function covers(right: Right, use: Use): boolean {
  return (
    right.verb === use.verb &&
    right.resource === use.resource &&
    right.group === (use.group ?? '') &&
    (right.name === '' || right.name === use.name) &&
    (right.namespace === '' || right.namespace === use.namespace)
  )
}

function textOf({ verb, resource, group, name, namespace }: Right): string {
  return [verb, `${resource}.${group}`, name, namespace].filter((part) => part !== '').join(' ')
}
