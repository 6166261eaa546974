import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { ACCOUNT, applyAll, installedRights, kubeconfigOf, LEADER, NAMESPACE } from './installed.ts'
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
  for (const account of [ACCOUNT, LEADER])
    writeFileSync(join(folder, account), await kubeconfigOf(account, api))
  const port = await freePort()
  const settings = [
    ...['--namespace', NAMESPACE, '--certificates', 'self-managed', '--arming', 'on'],
    ...['--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const selector = [
    ...['--namespace-selector', 'kubernetes.io/metadata.name notin (left-out)'],
    ...['--object-selector', 'tier notin (trial)', '--webhook-timeout', '7'],
  ]
  const flags = {
    webhook: [
      '--role',
      'webhook',
      '--kubeconfig',
      join(folder, ACCOUNT),
      '--port',
      String(port),
      ...settings,
    ],
    leader: [
      ...['--role', 'leader', '--kubeconfig', join(folder, LEADER), '--owner-cluster-role', 'vmcp-admission'],
      ...[...selector, ...settings],
    ],
  }
  const start = async (role: 'webhook' | 'leader', ...more: string[]) => {
    const server = await startServer([...flags[role], ...more], folder)
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const leader = await start('leader')
  const first = await start('webhook')
  const metricsOf = async ({ probeUrl }: { readonly probeUrl: string }) =>
    (await fetch(`${probeUrl}/metrics`)).text()
  const has = async (server: { readonly probeUrl: string }, ...lines: string[]) => {
    const metrics = await metricsOf(server)
    return lines.every((line) => new RegExp(`^vmcp_admission_${line}$`, 'm').test(metrics))
  }
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
    for (const { log } of [first, leader]) t.notMatch(log(), /forbidden/i, 'nothing was refused to it')
    const owner = await kubectl(api, [
      ...['get', VALIDATING, 'vmcp-admission'],
      ...['-o', 'jsonpath={.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}'],
    ])
    t.equal(owner, 'ClusterRole/vmcp-admission')
    t.ok(await has(leader, 'armed 1', 'leader 1', 'probe_success 1'))
    t.ok(await has(first, 'leader 0'))
    t.notMatch(await metricsOf(first), /^vmcp_admission_probe_success /m)
    t.equal(leader.url, '', 'the leader answers no reviews')
    t.notMatch(await metricsOf(leader), /certificate="leaf"|cluster_cache_state\{/)
    t.notMatch(
      await metricsOf(first),
      /^vmcp_admission_reviews_total\{[^}]*MCPExternalAuthConfig[^}]*admitted/m,
    )
  })

  await t.test(
    'the account that answers reviews may read what the leader writes, and write nothing',
    async (t) => {
      const as = async (...args: string[]) => {
        const { code, stderr } = await api.kubectl([...args, '--kubeconfig', join(folder, ACCOUNT)])
        return code === 0 ? 'done' : (/is forbidden|cannot \w+ resource/.exec(stderr)?.[0] ?? stderr)
      }
      const own = ['vmcp-admission', '-p', '{"metadata":{"labels":{"a":"b"}}}', '--type=merge']
      const other = 'test/e2e/manifests/other-webhook.yaml'
      for (const kind of [VALIDATING, MUTATING]) {
        t.equal(await as('get', kind, 'vmcp-admission'), 'done')
        t.equal(await as('patch', kind, ...own), 'is forbidden')
        t.equal(await as('delete', kind, 'vmcp-admission'), 'is forbidden')
      }
      t.equal(await as('create', '-f', other), 'is forbidden')
      t.equal(await as('apply', '--server-side', '-f', other), 'is forbidden')
      const secret = ['secret', 'vmcp-admission-ca', '-n', NAMESPACE]
      t.equal(await as('get', ...secret), 'done')
      t.equal(await as('patch', ...secret, '-p', '{"data":null}', '--type=merge'), 'is forbidden')
      t.equal(await as('create', 'secret', 'generic', 'another', '-n', NAMESPACE), 'is forbidden')
      const lease = ['lease', 'vmcp-admission', '-n', NAMESPACE]
      t.equal(
        await as('patch', ...lease, '-p', '{"spec":{"holderIdentity":""}}', '--type=merge'),
        'is forbidden',
      )
    },
  )

  await t.test(
    'the configurations say who manages them and what lasts; the namespaces are those of the settings',
    async (t) => {
      for (const kind of [VALIDATING, MUTATING]) {
        const text = await kubectl(api, ['get', kind, 'vmcp-admission', '-o', 'json'])
        const { metadata } = JSON.parse(text) as { metadata: { annotations: Record<string, string> } }
        t.equal(metadata.annotations['vmcp-admission/managed-by'], `Lease ${NAMESPACE}/vmcp-admission`)
        t.match(
          metadata.annotations['vmcp-admission/break-glass'],
          /^Changes of this object are undone .* kubectl delete/,
        )
      }
      await kubectl(api, ['create', 'namespace', 'left-out'])
      const bad = ['apply', '-f', 'examples/bad/aws-sts-without-role.yaml', '--dry-run=server']
      t.equal((await api.kubectl([...bad, '-n', 'left-out'])).code, 0)
      t.not((await api.kubectl([...bad, '-n', 'default'])).code, 0)
      const waits = ['get', VALIDATING, 'vmcp-admission', '-o', 'jsonpath={.webhooks[*].timeoutSeconds}']
      t.equal(await kubectl(api, waits), '7 2')
      const trial = {
        apiVersion: 'toolhive.stacklok.dev/v1beta1',
        kind: 'MCPExternalAuthConfig',
        metadata: { name: 'trial', labels: { tier: 'trial' } },
        spec: { type: 'awsSts', awsSts: { region: 'eu-central-1' } },
      }
      const create = (object: object) =>
        api.kubectl(['create', '--dry-run=server', '-f', '-'], { stdin: JSON.stringify(object) })
      t.equal((await create(trial)).code, 0, 'an object that the settings leave out')
      t.not((await create({ ...trial, metadata: { name: 'trial' } })).code, 0)
    },
  )

  await t.test('a server whose namespace is not there says so once, and counts', async (t) => {
    const lost = await startServer([
      ...['--kubeconfig', api.kubeconfig, '--namespace', 'nowhere', '--arming', 'on', '--role', 'leader'],
      ...['--webhook-url', `https://127.0.0.1:${port}`],
    ])
    t.teardown(() => lost.stop('SIGKILL'))
    await waitFor(() => has(lost, 'arming_errors_total [2-9]'), { seconds: 30, what: 'two looks' })
    await lost.stop()
    t.equal(lost.log().match(/there is no namespace nowhere for the Lease/g)?.length, 1)
  })

  await t.test('a second installation sees that the first is there, and writes nothing', async (t) => {
    await kubectl(api, ['create', 'namespace', 'second'])
    const version = () =>
      kubectl(api, ['get', VALIDATING, 'vmcp-admission', '-o', 'jsonpath={.metadata.resourceVersion}'])
    const before = await version()
    const second = await startServer([
      ...['--kubeconfig', api.kubeconfig, '--namespace', 'second', '--certificates', 'self-managed'],
      ...['--arming', 'on', '--role', 'leader', '--webhook-url', 'https://127.0.0.1:1'],
    ])
    t.teardown(() => second.stop('SIGKILL'))
    await waitFor(() => has(second, 'webhook_configurations_contested 1', 'arming_errors_total [3-9]'), {
      seconds: 40,
      what: 'three looks',
    })
    t.equal(await version(), before, 'neither wrote')
    t.ok(await has(leader, 'webhook_configurations_contested 0', 'leader 1'))
    await second.stop()
    t.equal(second.log().match(/those of another installation \(Lease vmcp-system/g)?.length, 1)
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
        'objects left out',
        [{ op: 'replace', path: '/webhooks/0/objectSelector', value: { matchLabels: { skip: 'no' } } }],
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
        'an unreadable bundle',
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
    // A server that writes creates a CA if there is none; one that only answers reviews waits for the leader to create
    // it.
    for (const late of [
      await start('leader', '--role', 'all', '--port', '0'),
      await start('webhook', '--port', '0'),
    ]) {
      const isReady = async () => (await fetch(`${late.probeUrl}/readyz`)).status === 200
      await waitFor(isReady, { seconds: 80, what: 'it to be ready' })
      const bundle = await kubectl(api, [
        ...['get', VALIDATING, 'vmcp-admission'],
        ...['-o', 'jsonpath={.webhooks[0].clientConfig.caBundle}'],
      ])
      t.equal(await trustProblem(late.url, Buffer.from(bundle, 'base64').toString()), undefined)
      await late.stop()
    }
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
    for (const server of [first, leader]) await server.stop('SIGKILL')
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
    const second = await start('leader')
    const answering = await start('webhook')
    await waitFor(() => has(second, 'leader 1'), { seconds: 40, what: 'the successor to lead' })
    const isReady = async () => (await fetch(`${answering.probeUrl}/readyz`)).status === 200
    await waitFor(isReady, { seconds: 80, what: 'it to be ready' })
    const denied = await api.kubectl(['apply', '-f', 'examples/bad/aws-sts-without-role.yaml'])
    t.match(denied.stderr, /aws-sts-role-configured/)
    for (const server of [second, answering]) t.equal(await server.stop(), 0)
    t.notMatch(second.log(), /"change":"created"/, 'the CA is the one that was there')
    const holder = await kubectl(api, [
      ...['get', 'lease', 'vmcp-admission', '-n', NAMESPACE],
      ...['-o', 'jsonpath={.spec.holderIdentity}'],
    ])
    t.equal(holder, '', 'and lets go of it in the end')
  })
})

/** The TLS error of a client that trusts only these CAs; undefined if it accepts the certificate. */
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
