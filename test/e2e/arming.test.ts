import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { applyAll, installedRights, kubeconfigOfServer, NAMESPACE } from './installed.ts'
import { withApiServer } from './suite.ts'
import { freePort } from '../support/free-port.ts'
import { waitFor } from './wait-for.ts'

const VALIDATING = 'validatingwebhookconfiguration'
const MUTATING = 'mutatingwebhookconfiguration'

await withApiServer(t, async (t, api) => {
  await installCrds(api, 'crds')
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await applyAll(api, installedRights())
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, await kubeconfigOfServer(api))
  const port = await freePort()
  const flags = [
    ...['--kubeconfig', kubeconfig, '--namespace', NAMESPACE],
    ...['--certificates', 'self-managed', '--arming', 'on', '--owner-cluster-role', 'vmcp-admission'],
    ...['--port', String(port), '--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const first = await startServer(flags, folder)
  t.teardown(() => first.stop('SIGKILL'))
  const policyOf = (kind: string) =>
    kubectl(api, ['get', kind, 'vmcp-admission', '-o', 'jsonpath={.webhooks[0].failurePolicy}']).catch(
      () => '',
    )
  const armed = { seconds: 40, what: 'the webhook to be armed' }
  const isArmed = async () => (await policyOf(VALIDATING)) === 'Fail'

  await t.test('with the rights of the installation and no others, it arms', async (t) => {
    await waitFor(isArmed, armed)
    t.equal(await policyOf(MUTATING), 'Ignore')
    const denied = await api.kubectl(['apply', '-f', 'examples/bad/aws-sts-without-role.yaml'])
    t.match(denied.stderr, /aws-sts-role-configured/)
    t.notMatch(first.log(), /forbidden/i, 'nothing was refused to it')
    const owner = await kubectl(api, [
      ...['get', VALIDATING, 'vmcp-admission'],
      ...['-o', 'jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}'],
    ])
    t.equal(owner, 'ClusterRole/vmcp-admission')
    const metrics = await (await fetch(`${first.probeUrl}/metrics`)).text()
    for (const line of ['armed 1', 'leads 1', 'proved 1'])
      t.match(metrics, new RegExp(`^vmcp_admission_${line}$`, 'm'))
    t.notMatch(metrics, /^vmcp_admission_reviews_total\{[^}]*MCPExternalAuthConfig[^}]*admitted/m)
  })

  await t.test('the probe is refused before anything else, and stores nothing', async (t) => {
    const probe = {
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPExternalAuthConfig',
      metadata: { name: 'probe', annotations: { 'toolhive.stacklok.dev/vmcp-admission-probe': 'hello' } },
      spec: { type: 'unauthenticated' },
    }
    const { stderr } = await api.kubectl(['create', '--dry-run=server', '-f', '-'], {
      stdin: JSON.stringify(probe),
    })
    t.match(stderr, /denied the request: vmcp-admission is here: hello/)
    const stored = await api.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(probe) })
    t.equal(stored.code, 0, 'a real create is judged as any other')
  })

  await t.test('what others change comes back', async (t) => {
    const webhooks = () => kubectl(api, ['get', VALIDATING, 'vmcp-admission', '-o', 'jsonpath={.webhooks}'])
    const before = await webhooks()
    for (const [title, patch] of [
      ['the policy', [{ op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' }]],
      ['the bundle', [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value: '' }]],
      [
        'a namespace left out',
        [
          {
            op: 'replace',
            path: '/webhooks/0/namespaceSelector',
            value: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
          },
        ],
      ],
      [
        'conditions on deletions',
        [
          {
            op: 'add',
            path: '/webhooks/1/matchConditions',
            value: [{ name: 'never', expression: 'false' }],
          },
        ],
      ],
      [
        'a bundle that nobody can read',
        [
          {
            op: 'replace',
            path: '/webhooks/0/clientConfig/caBundle',
            value: Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString(
              'base64',
            ),
          },
        ],
      ],
    ] as const) {
      await kubectl(api, ['patch', VALIDATING, 'vmcp-admission', '--type=json', '-p', JSON.stringify(patch)])
      const isBack = async () => (await webhooks()) === before
      await waitFor(isBack, { seconds: 20, what: `${title} to come back` })
      if (title !== 'the policy') await waitFor(isArmed, { ...armed, what: `${title}: to be armed again` })
      t.pass(title)
    }
    await waitFor(isArmed, armed)
    await kubectl(api, ['delete', VALIDATING, 'vmcp-admission'])
    await waitFor(isArmed, { seconds: 40, what: 'a deleted configuration to come back' })
  })

  await t.test('what other field managers apply is taken over whole', async (t) => {
    const entry = {
      name: 'extra.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/extra' },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
    }
    const extra = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'vmcp-admission' },
      webhooks: [entry],
    }
    const written = async (kind: string) => {
      const text = await kubectl(api, ['get', kind, 'vmcp-admission', '-o', 'json'])
      const { webhooks } = JSON.parse(text) as { webhooks: { name: string; clientConfig: object }[] }
      return webhooks.map(({ name, clientConfig }) => [name, Object.keys(clientConfig).toSorted()])
    }
    const before = [await written(VALIDATING), await written(MUTATING)]
    for (const [title, command, stdin] of [
      ['an entry of theirs', ['apply', '--server-side', '--force-conflicts'], JSON.stringify(extra)],
      [
        'a Service in place of the URL',
        ['replace'],
        readFileSync(`${ROOT}deploy/static-webhooks.yaml`, 'utf8'),
      ],
    ] as const) {
      await kubectl(api, [...command, '-f', '-'], stdin)
      const isBack = async () =>
        JSON.stringify([await written(VALIDATING), await written(MUTATING)]) === JSON.stringify(before)
      await waitFor(isBack, { seconds: 20, what: `${title} to go` })
      await waitFor(isArmed, { ...armed, what: `${title}: to be armed again` })
      t.pass(title)
    }
  })

  await t.test('a replica with a CA that nobody knows yet is not ready until it is trusted', async (t) => {
    await kubectl(api, ['delete', 'secret', 'vmcp-admission-ca', '-n', NAMESPACE])
    const late = await startServer([...flags, '--port', '0'], folder)
    const isReady = async () => (await fetch(`${late.probeUrl}/readyz`)).status === 200
    await waitFor(isReady, { seconds: 80, what: 'it to be ready' })
    const bundle = await kubectl(api, [
      ...['get', VALIDATING, 'vmcp-admission'],
      ...['-o', 'jsonpath={.webhooks[0].clientConfig.caBundle}'],
    ])
    t.equal(await trustProblem(late.url, Buffer.from(bundle, 'base64').toString()), undefined)
    await late.stop()
  })

  await t.test('with every replica dead, only what would change a spec has to wait', async (t) => {
    const name = 'orphan'
    const stdin = JSON.stringify({
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      kind: 'MCPExternalAuthConfig',
      metadata: { name, finalizers: ['example.com/hold'] },
      spec: { type: 'unauthenticated' },
    })
    await kubectl(api, ['create', '-f', '-'], stdin)
    await first.stop('SIGKILL')
    const run = async (...args: string[]) => (await api.kubectl(args)).code
    t.equal(await run('label', 'mcpexternalauthconfig', name, 'a=b'), 0, 'a label')
    t.equal(await run('delete', 'mcpexternalauthconfig', name, '--wait=false'), 0, 'a deletion')
    const finalizers = '{"metadata":{"finalizers":null}}'
    t.equal(
      await run('patch', 'mcpexternalauthconfig', name, '--type=merge', '-p', finalizers),
      0,
      'the removal of a finalizer',
    )
    const changed = await api.kubectl([
      ...['patch', 'mcpexternalauthconfig', 'probe', '--type=merge'],
      ...['-p', '{"spec":{"type":"bearerToken"}}'],
    ])
    t.not(changed.code, 0)
    t.match(changed.stderr, /failed calling webhook/)
  })

  await t.test('its successor takes over the CA and the Lease', async (t) => {
    const second = await startServer(flags, folder)
    const leads = async () =>
      /^vmcp_admission_leads 1$/m.test(await (await fetch(`${second.probeUrl}/metrics`)).text())
    await waitFor(leads, { seconds: 40, what: 'the successor to lead' })
    const denied = await api.kubectl(['apply', '-f', 'examples/bad/aws-sts-without-role.yaml'])
    t.match(denied.stderr, /aws-sts-role-configured/)
    t.notMatch(second.log(), /"change":"created"/, 'the CA is the one that was there')
    t.equal(await second.stop(), 0)
    const holder = await kubectl(api, [
      ...['get', 'lease', 'vmcp-admission', '-n', NAMESPACE],
      ...['-o', 'jsonpath={.spec.holderIdentity}'],
    ])
    t.equal(holder, '', 'and lets go of it in the end')
  })
})

/** What a client that trusts only these CAs finds wrong with the certificate. */
function trustProblem(url: string, ca: string): Promise<string | undefined> {
  const { hostname: host, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), ca }, () => {
      resolve(undefined)
      socket.end()
    })
    socket.on('error', (error: Error) => resolve(error.message))
  })
}
