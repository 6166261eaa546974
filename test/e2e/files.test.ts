import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { makeAuthority, signLeaf } from '../../src/certificates/x509.ts'
import { freePort } from '../support/free-port.ts'
import { mountPair } from '../support/mounted-secret.ts'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { ACCOUNT, applyAll, installedRights, kubeconfigOf, LEADER, NAMESPACE } from './installed.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const KINDS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const
const [VALIDATING] = KINDS
/** The field manager of cert-manager. */
const INJECTOR = 'cert-manager-cainjector'

interface Configuration {
  readonly metadata: { readonly managedFields: readonly { readonly manager: string }[] }
  readonly webhooks: readonly {
    readonly name: string
    readonly failurePolicy: string
    readonly clientConfig: { readonly url: string; readonly caBundle?: string }
  }[]
}

await withApiServer(t, async (t, api) => {
  await installCrds(api, 'crds')
  await applyAll(api, installedRights())
  const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-'))
  t.teardown(() => rm(folder, { recursive: true }))
  for (const account of [ACCOUNT, LEADER])
    writeFileSync(join(folder, account), await kubeconfigOf(account, api))
  const life = { now: Date.now(), lifetime: 60 * 60 * 1_000 }
  const [authority, successor] = [await makeAuthority('first', life), await makeAuthority('second', life)]
  const leaf = () => signLeaf(authority, ['localhost', '127.0.0.1'], life)
  const pair = await leaf()
  mountPair(folder, 1, { ...pair, ca: authority.certificate })
  const port = await freePort()
  const settings = [
    ...['--namespace', NAMESPACE, '--certificates', 'files', '--arming', 'on'],
    ...['--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const start = async (role: string, account: string, more: readonly string[], certificates?: string) => {
    const flags = ['--role', role, '--kubeconfig', join(folder, account), ...settings, ...more]
    const server = await startServer(flags, certificates)
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const webhook = await start('webhook', ACCOUNT, ['--port', String(port)], folder)
  // A leader without a certificate: it serves no webhook.
  const leader = await start('leader', LEADER, [])

  const stored = async (kind: string) =>
    JSON.parse(
      await kubectl(api, ['get', kind, 'vmcp-admission', '-o', 'json', '--show-managed-fields']),
    ) as Configuration
  const bundles = async () =>
    (await Promise.all(KINDS.map(stored))).flatMap(({ webhooks }) =>
      webhooks.map(({ clientConfig }) => clientConfig.caBundle),
    )
  /** The field managers that own a caBundle in one of the configurations. */
  const owners = async () => {
    const managed = (await Promise.all(KINDS.map(stored))).flatMap(({ metadata }) => metadata.managedFields)
    const owning = managed.filter((each) => JSON.stringify(each).includes('f:caBundle'))
    return [...new Set(owning.map(({ manager }) => manager))]
  }
  const policy = async () => (await stored(VALIDATING)).webhooks[0]?.failurePolicy
  const isArmed = async (what: string) =>
    waitFor(async () => (await policy()) === 'Fail', { seconds: 30, what: `${what}: to be armed` })
  const patch = (kind: string, operations: readonly object[], manager: string) =>
    kubectl(api, [
      ...['patch', kind, 'vmcp-admission', '--type=json', '-p', JSON.stringify(operations)],
      ...['--field-manager', manager],
    ])
  const replaced = (path: string, value: unknown) => ({ op: 'add', path: `/webhooks/${path}`, value })
  const encoded = (...pems: readonly string[]) => Buffer.from(pems.join('')).toString('base64')
  /** Writes the caBundle as an injector that sends updates of what it has read. */
  const inject = async (caBundle: string) => {
    for (const kind of KINDS) {
      const { webhooks } = await stored(kind)
      const operations = webhooks.map((_, i) => replaced(`${i}/clientConfig/caBundle`, caBundle))
      await patch(kind, operations, INJECTOR)
    }
  }
  /** Writes the caBundle as an injector that uses server-side apply. */
  const apply = async (caBundle: string, ...flags: readonly string[]) => {
    for (const kind of KINDS) {
      const { webhooks } = await stored(kind)
      const applied = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: 'vmcp-admission' },
        webhooks: webhooks.map(({ name }) => ({ name, clientConfig: { caBundle } })),
      }
      const command = ['apply', '--server-side', '--field-manager', INJECTOR, ...flags, '-f', '-']
      await kubectl(api, command, JSON.stringify(applied))
    }
  }
  const dryRun = (file: string) => api.kubectl(['apply', '--dry-run=server', '-f', `examples/${file}`])
  /**
   * Waits until the API server uses the stored configurations: a valid object is admitted and an invalid one is denied.
   */
  const judges = (title: string) =>
    waitFor(
      async () => {
        const good = await dryRun('unauthenticated.yaml')
        if (good.code !== 0) throw new Error(good.stderr)
        return (await dryRun('bad/aws-sts-without-role.yaml')).stderr.includes('aws-sts-role-configured')
      },
      { seconds: 10, what: `${title}: to be judged` },
    )
  const first = encoded(authority.certificate)
  const both = encoded(authority.certificate, successor.certificate)

  await t.test('without an injected caBundle it fails open', async (t) => {
    await waitFor(() => leader.log().includes('the API server does not reach the webhook'), {
      seconds: 20,
      what: 'a proof that fails',
    })
    t.equal(await policy(), 'Ignore')
    t.strictSame(await bundles(), [undefined, undefined, undefined])
  })

  await t.test('with an injected bundle it arms, and the bundle stays the other one’s', async (t) => {
    await inject(first)
    await isArmed('injected')
    t.strictSame([await bundles(), await owners()], [[first, first, first], [INJECTOR]])
    await judges('armed')
  })

  await t.test('what others change comes back, and the bundle is kept', async (t) => {
    const before = (await stored(VALIDATING)).webhooks
    for (const [title, operations] of [
      ['the policy', [replaced('0/failurePolicy', 'Ignore')]],
      ['a namespace left out', [replaced('0/namespaceSelector', { matchLabels: { a: 'b' } })]],
      ['a name', [replaced('0/name', 'validate.example.com')]],
      ['all names', [replaced('0/name', 'a.example.com'), replaced('1/name', 'b.example.com')]],
      [
        'an entry of theirs',
        [
          replaced('-', {
            name: 'extra.example.com',
            clientConfig: { url: 'https://127.0.0.1:1/extra' },
            admissionReviewVersions: ['v1'],
            sideEffects: 'None',
            failurePolicy: 'Ignore',
          }),
        ],
      ],
    ] as const) {
      await patch(VALIDATING, operations, 'somebody')
      const isBack = async () =>
        JSON.stringify((await stored(VALIDATING)).webhooks) === JSON.stringify(before)
      await waitFor(isBack, { seconds: 30, what: `${title} to come back` })
      t.strictSame(await bundles(), [first, first, first], title)
      await judges(title)
    }
  })

  await t.test('a bundle that is exchanged stays, however it is done', async (t) => {
    for (const [title, exchange] of [
      ['by an update', () => inject(both)],
      ['by an apply', () => apply(first, '--force-conflicts')],
      ['by the next apply, which forces nothing', () => apply(both)],
    ] as const) {
      await exchange()
      const wanted = (await bundles())[0]
      await patch(VALIDATING, [replaced('0/timeoutSeconds', 1)], 'somebody')
      const isBack = async () => !JSON.stringify(await stored(VALIDATING)).includes('"timeoutSeconds":1,')
      await waitFor(isBack, { seconds: 20, what: `${title}: the timeout to come back` })
      await isArmed(title)
      t.strictSame([await bundles(), await owners()], [[wanted, wanted, wanted], [INJECTOR]], title)
      await judges(title)
    }
  })

  await t.test('a configuration that lost its bundle is armed when it has been proved again', async (t) => {
    await patch(
      VALIDATING,
      [replaced('0/failurePolicy', 'Ignore'), { op: 'remove', path: '/webhooks/0/clientConfig/caBundle' }],
      'somebody',
    )
    const { log } = leader
    const failures = () => log().split('the API server does not reach the webhook').length
    const before = failures()
    await waitFor(() => failures() > before, { seconds: 20, what: 'a proof that fails' })
    t.equal(await policy(), 'Ignore')
    await inject(both)
    await isArmed('injected again')
    await judges('armed again')
  })

  await t.test('the next pair is served, and one that is broken is not', async (t) => {
    const metric = async (name: string) => {
      const text = await (await fetch(`${webhook.probeUrl}/metrics`)).text()
      return Number(new RegExp(`^vmcp_admission_certificate_${name}_total (\\d+)$`, 'm').exec(text)?.[1])
    }
    const served = () => certificateServed(port)
    const serial = ({ certificate }: { readonly certificate: string }) =>
      new X509Certificate(certificate).serialNumber
    t.strictSame([await served(), await metric('rotations'), await metric('errors')], [serial(pair), 0, 0])
    const next = await leaf()
    mountPair(folder, 2, { ...next, ca: authority.certificate })
    await waitFor(async () => (await served()) === serial(next), { seconds: 20, what: 'the next pair' })
    t.equal(await metric('rotations'), 1)
    mountPair(folder, 3, { ...(await leaf()), key: next.key })
    await waitFor(async () => (await metric('errors')) > 0, { seconds: 20, what: 'the problem' })
    t.strictSame([await served(), await metric('rotations')], [serial(next), 1])
    await judges('with the pair of before')
  })

  for (const server of [webhook, leader]) t.equal(await server.stop(), 0)
})

/** The serial number of the certificate that a new connection gets. */
function certificateServed(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber)
      socket.end()
    })
    socket.on('error', reject)
  })
}
