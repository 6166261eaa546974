import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { makeAuthority } from '../../src/certificates/x509.ts'
import { type Diagnosis, examine } from '../../src/cli/commands/doctor/examine.ts'
import { openInstallation } from '../../src/cli/input/live/index.ts'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { runCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'
import { freePort } from '../support/free-port.ts'

const VALIDATING = 'validatingwebhookconfiguration'

await withApiServer(root, async (t, api) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-doctor-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { kubeconfig } = api
  const cli = (...args: string[]) => runCli([...args, '--kubeconfig', kubeconfig], { cwd: folder })

  /** The findings of `doctor`, which runs in this process to save time. */
  const look = async (namespace = 'default'): Promise<Diagnosis> => {
    const opened = await openInstallation({ kubeconfig, group: DEFAULT_API_GROUP }, namespace, {})
    const service = 'vmcp-admission'
    try {
      return await examine({
        opened,
        group: DEFAULT_API_GROUP,
        namespace,
        service,
        now: Date.now,
        leaseWaitMs: 500,
      })
    } finally {
      opened.close()
    }
  }
  const problems = ({ findings }: Diagnosis) =>
    findings.filter(({ level }) => level !== 'note').map(({ id, object }) => `${id} ${object}`)
  const messageOf = ({ findings }: Diagnosis, id: string) =>
    findings.find((finding) => finding.id === id)?.message ?? ''

  await installCrds(api, 'crds')
  const port = await freePort()
  const flags = [
    ...['--kubeconfig', kubeconfig, '--certificates', 'self-managed', '--arming', 'on'],
    ...['--namespace', 'default', '--port', String(port), '--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const first = await startServer(flags)
  t.teardown(() => first.stop('SIGKILL'))

  await t.test('all is well, after a while', async (t) => {
    const { status, stdout, stderr } = await cli('doctor', '--namespace', 'default', '--wait', '30')
    t.equal(status, 0, stdout + stderr)
    t.match(stdout, `installation in namespace default of ${api.url}: all is well, 1 note\n`)
    t.match(stdout, /^probe: reached/m)
    t.equal(new Set(stdout.match(/SHA-256 [0-9A-F:]{95}/g)).size, 1, 'one CA everywhere')
    t.notMatch(stdout, 'PRIVATE')
  })

  await t.test('the server has stopped', async (t) => {
    await first.stop()
    const found = await look()
    t.strictSame(problems(found), [
      'lease-free Lease default/vmcp-admission',
      'not-reached dry run in namespace default',
    ])
    t.match(
      messageOf(found, 'not-reached'),
      /^nothing listens at the address of the webhook: 500 .*connection refused$/,
    )
  })

  // While another holder has the Lease and does nothing, nobody repairs the webhook configurations.
  const holdLease = async (holderIdentity: string) => {
    const renewTime = new Date().toISOString().replace(/Z$/, '000Z')
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases/vmcp-admission'
    await api.request('PATCH', path, { spec: { holderIdentity, renewTime } }, 'application/merge-patch+json')
  }
  await holdLease('somebody')
  const holding = setInterval(() => void holdLease('somebody').catch(() => undefined), 2_000)
  t.teardown(() => clearInterval(holding))
  const second = await startServer(flags)
  t.teardown(() => second.stop('SIGKILL'))

  await t.test('another CA in the caBundle', async (t) => {
    const { certificate } = await makeAuthority('other CA', { now: Date.now(), lifetime: 86_400_000 })
    const value = Buffer.from(certificate).toString('base64')
    const patch = [{ op: 'replace', path: '/webhooks/0/clientConfig/caBundle', value }]
    await kubectl(api, ['patch', VALIDATING, 'vmcp-admission', '--type=json', '-p', JSON.stringify(patch)])
    const found = await waitFor(
      async () => {
        const seen = await look()
        return messageOf(seen, 'not-reached').includes('x509') && seen
      },
      { seconds: 15, what: 'the API server to use the other CA' },
    )
    t.strictSame(problems(found), [
      'bundle-mismatch ValidatingWebhookConfiguration vmcp-admission',
      'not-reached dry run in namespace default',
    ])
    const [signing] = found.certificates
    const mismatch = messageOf(found, 'bundle-mismatch')
    const { fingerprint256 } = new X509Certificate(certificate)
    t.match(mismatch, `holds SHA-256 ${fingerprint256} (expires `)
    t.match(mismatch, `Secret default/vmcp-admission-ca signs with SHA-256 ${signing?.fingerprint} (expires `)
    t.match(messageOf(found, 'not-reached'), /^the API server does not trust the certificate of the webhook/)
  })

  await t.test('a CRD and a webhook configuration are gone, and another webhook is there', async (t) => {
    await kubectl(api, ['delete', 'crd', `mcpgroups.${DEFAULT_API_GROUP}`, '--wait=false'])
    await kubectl(api, ['delete', VALIDATING, 'vmcp-admission'])
    const others = { name: 'any.example.com', admissionReviewVersions: ['v1'], sideEffects: 'None' }
    const kyverno = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'kyverno' },
      webhooks: [
        {
          ...others,
          clientConfig: { url: 'https://127.0.0.1:1/' },
          failurePolicy: 'Ignore',
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['DELETE'] }],
        },
      ],
    }
    await kubectl(api, ['create', '-f', '-'], JSON.stringify(kyverno))
    const found = await waitFor(
      async () => {
        const seen = await look()
        return messageOf(seen, 'not-reached').includes('stored') && problems(seen).length === 3 && seen
      },
      { seconds: 15, what: 'the API server to forget both' },
    )
    t.strictSame(problems(found), [
      `crd-missing CustomResourceDefinition mcpgroups.${DEFAULT_API_GROUP}`,
      'configuration-missing ValidatingWebhookConfiguration vmcp-admission',
      'not-reached dry run in namespace default',
    ])
    t.match(messageOf(found, 'shadowed'), 'all seven kinds')
  })

  await t.test('uninstall', async (t) => {
    await second.stop()
    clearInterval(holding)
    await holdLease('')
    const all = ['uninstall', '--namespace', 'default', '--all']
    t.strictSame(await cli(...all), {
      status: 0,
      stdout: [
        'removed MutatingWebhookConfiguration vmcp-admission',
        'removed Lease default/vmcp-admission',
        'removed Secret default/vmcp-admission-ca',
        '',
      ].join('\n'),
      stderr: '',
    })
    t.strictSame(await cli(...all), { status: 0, stdout: 'nothing to remove\n', stderr: '' })
  })

  await t.test('nothing is installed', async (t) => {
    await installCrds(api, 'crds')
    t.strictSame(problems(await look('vmcp-system')), ['not-installed Namespace vmcp-system'])
  })

  await t.test('the manifests are applied, and no pod starts', async (t) => {
    await installCrds(api, 'crds')
    await kubectl(api, ['apply', '--server-side', '-f', 'deploy/install.yaml'])
    const rest = [
      'configuration-missing ValidatingWebhookConfiguration vmcp-admission',
      'configuration-missing MutatingWebhookConfiguration vmcp-admission',
      'ca-missing Secret vmcp-system/vmcp-admission-ca',
      'lease-missing Lease vmcp-system/vmcp-admission',
      'not-reached dry run in namespace vmcp-system',
    ]
    const workload = [
      'replicas-not-ready Deployment vmcp-system/vmcp-admission',
      'replicas-not-ready Deployment vmcp-system/vmcp-admission-leader',
      'no-endpoints Service vmcp-system/vmcp-admission',
    ]
    t.strictSame(problems(await look('vmcp-system')), [...workload, ...rest], 'every right is there')
    await kubectl(api, ['delete', 'rolebinding', 'vmcp-admission', '-n', 'vmcp-system'])
    const right = 'right-missing ServiceAccount vmcp-system/vmcp-admission-leader'
    const found = await waitFor(
      async () => {
        const seen = await look('vmcp-system')
        return problems(seen).includes(right) && seen
      },
      { seconds: 15, what: 'the rights to be gone' },
    )
    t.strictSame(problems(found), [...workload, right, ...rest])
    t.equal(
      messageOf(found, 'right-missing'),
      `may not get, patch leases.coordination.k8s.io vmcp-admission, nor create leases.coordination.k8s.io, nor create mcpexternalauthconfigs.${DEFAULT_API_GROUP}, nor get, patch secrets vmcp-admission-ca, nor create secrets in namespace vmcp-system`,
    )
    const warned = await cli('uninstall')
    t.equal(warned.status, 1)
    t.match(warned.stderr, 'kubectl -n vmcp-system scale deployment vmcp-admission-leader --replicas=0')
    t.equal(warned.stdout, '', 'and removes nothing')
  })
})
