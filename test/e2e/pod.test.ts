import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { hasHelm, rendered } from '../support/helm.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { ACCOUNT, NAMESPACE } from './installed.ts'
import { lead, ROUTING } from './service-network.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

if (hasHelm(root) && mayUnshare(root)) await withApiServer(root, suite, { flags: [ROUTING] })

/** Whether we may make mount namespaces. Where not, this is skipped with one line; in CI that is a failure. */
function mayUnshare(t: Test): boolean {
  const { status } = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'])
  if (status === 0) return true
  const missing = 'unshare --mount is not permitted: run it as root'
  if (process.env.CI === 'true') t.fail(missing)
  else t.test('in a root file system of its own', { skip: missing }, () => undefined)
  return false
}

async function suite(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-pod-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  chmodSync(folder, 0o755)
  const [app, account, chroot] = ['app', 'account', 'root'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const each of [app, account, chroot]) mkdirSync(each)

  // What the Dockerfile puts into the image.
  const bundle = spawnSync(process.execPath, [`${ROOT}src/generate/bundle.ts`, join(app, 'dist')])
  if (bundle.status !== 0) throw new Error(String(bundle.stderr))
  copyFileSync(`${ROOT}package.json`, join(app, 'package.json'))

  await installCrds(api, 'crds')
  await kubectl(api, ['apply', '-f', 'deploy/kustomize/base/namespace.yaml'])
  const port = await freePort()
  const probe = await freePort()
  const { text, objects } = rendered({
    'ports.webhook': port,
    'ports.probe': probe,
    // One process with every right: what both Deployments do.
    'leader.separate': false,
  })
  await kubectl(api, ['apply', '--server-side', '-f', '-'], text)
  await lead(api, ACCOUNT, NAMESPACE, port)
  const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec
  if (pod === undefined) throw new Error('the chart has no Deployment')
  const [{ args, volumeMounts }] = pod.containers

  // What the kubelet mounts.
  writeFileSync(
    join(account, 'token'),
    (await kubectl(api, ['create', 'token', ACCOUNT, '-n', NAMESPACE])).trim(),
  )
  writeFileSync(join(account, 'ca.crt'), api.ca)
  writeFileSync(join(account, 'namespace'), NAMESPACE)
  const { hostname, port: apiPort } = new URL(api.url)
  const environment = [
    `PATH=${process.env.PATH}`,
    `KUBERNETES_SERVICE_HOST=${hostname}`,
    `KUBERNETES_SERVICE_PORT=${apiPort}`,
    'NODE_ENV=production',
  ]
  const script = [`${ROOT}test/e2e/pod.sh`, chroot, process.execPath, app, account]
  const given = args.map((arg) => arg.replace('$(POD_NAMESPACE)', NAMESPACE))
  // env clears what the runner of the tests adds.
  const child = spawn('env', ['-i', ...environment, 'unshare', '--mount', ...script, ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const said = listen(child)
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${probe}/readyz`).catch(() => undefined)
    return answer?.status === 200
  }
  await waitFor(isReady, { seconds: 60, what: 'the pod to be ready' }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${said()}`)
  })

  await t.test('it runs without privileges, on a file system that is read-only', async (t) => {
    t.equal(volumeMounts, undefined, 'the chart declares no mount')
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const is = (field: string) => new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(status)?.[1]
    t.strictSame(['Uid', 'Gid', 'CapEff', 'CapPrm', 'NoNewPrivs'].map(is), [
      '65532',
      '65532',
      '0000000000000000',
      '0000000000000000',
      '1',
    ])
    const mounts = readFileSync(`/proc/${child.pid}/mounts`, 'utf8').trim().split('\n')
    const writable = mounts.flatMap((line) => {
      const [, at = '', , options = ''] = line.split(' ')
      return options.split(',').includes('ro') ? [] : [at]
    })
    t.strictSame(writable, ['/dev/null', '/dev/urandom', '/proc'])
  })

  await t.test('it arms by way of its Service, and judges', async (t) => {
    const policy = 'jsonpath={.webhooks[0].failurePolicy} {.webhooks[0].clientConfig.service.name}'
    const get = ['get', 'validatingwebhookconfiguration', 'vmcp-admission', '-o', policy]
    const isArmed = async () => (await kubectl(api, get).catch(() => '')) === 'Fail vmcp-admission'
    await waitFor(isArmed, { seconds: 60, what: 'the webhook to be armed' })
    const bad = await api.kubectl(['apply', '-f', 'examples/bad/aws-sts-without-role.yaml'])
    t.match([bad.code, bad.stderr], [1, 'aws-sts-role-configured'])
    t.match(await kubectl(api, ['apply', '-f', 'examples/token-exchange.yaml']), 'created')
  })

  await t.test('it ends in order, within the time that the kubelet gives it', async (t) => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), pod.terminationGracePeriodSeconds * 1_000)
    t.strictSame(await ended, [0, null])
    clearTimeout(killTimer)
    t.notMatch(said(), /"level":[56]0|forbidden|EROFS|EACCES/i)
  })
}

/** What a process says, so far. */
function listen(child: ChildProcess): () => string {
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => (said += part))
  return () => said
}
