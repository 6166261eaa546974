/**
 * Serving certificates and CAs that expire while the server runs: with rotation, without it, and after rotation
 * resumes.
 */
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import root, { type Test } from 'tap'
import { runCli } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { ACCOUNT, applyAll, installedRights, kubeconfigOf, LEADER, NAMESPACE } from './installed.ts'
import { metric } from './resources.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

/** The shortest lifetimes that the server accepts, in seconds. */
const LIVES = ['--ca-lifetime', '90', '--leaf-lifetime', '30', '--ca-propagation', '5']
const GOOD = ['apply', '--dry-run=server', '-f', 'examples/unauthenticated.yaml']
const BAD = ['apply', '--dry-run=server', '-f', 'examples/bad/aws-sts-without-role.yaml']

await withApiServer(
  root,
  async (t, api) => {
    await installCrds(api, 'crds')
    await applyAll(api, installedRights())
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-expiry-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const port = await freePort()
    const way = await openWay(t, port)
    const start = async (role: 'leader' | 'webhook', account: string) => {
      const kubeconfig = join(folder, account)
      writeFileSync(kubeconfig, await kubeconfigOf(account, api))
      const server = await startServer(
        [
          ...['--role', role, '--kubeconfig', kubeconfig, '--namespace', NAMESPACE, '--arming', 'on'],
          ...['--certificates', 'self-managed', ...LIVES, '--webhook-url', `https://127.0.0.1:${way.port}`],
          ...(role === 'webhook' ? ['--port', String(port)] : []),
        ],
        folder,
      )
      t.teardown(() => server.stop('SIGKILL'))
      return server
    }
    /** The expiry of the signing CA in Unix milliseconds. */
    const expiryOfCA = async () => {
      const path = ['-o', String.raw`jsonpath={.data.current\.crt}`]
      const secret = await kubectl(api, ['get', 'secret', 'vmcp-admission-ca', '-n', NAMESPACE, ...path])
      return new X509Certificate(Buffer.from(secret, 'base64')).validToDate.getTime()
    }
    const judges = async () => {
      const [good, bad] = await Promise.all([api.kubectl(GOOD), api.kubectl(BAD)])
      return good.code === 0 && bad.stderr.includes('aws-sts-role-configured')
    }
    const ready = async () => {
      const answer = await fetch(`${server.probeUrl}/readyz`)
      return { status: answer.status, text: await answer.text() }
    }
    const leaf = async () =>
      (await metric(server, 'vmcp_admission_certificate_expiry_timestamp_seconds')).get(
        'certificate="leaf"',
      ) ?? 0
    const doctor = () =>
      runCli(['doctor', '--kubeconfig', api.kubeconfig, '--namespace', NAMESPACE], { cwd: folder })

    const first = await start('leader', LEADER)
    const server = await start('webhook', ACCOUNT)
    await waitFor(async () => (await metric(server, 'vmcp_admission_armed')).get('') === 1, {
      seconds: 60,
      what: 'the webhook to be armed',
    })
    await waitFor(judges, { seconds: 30, what: 'writes to be judged' })

    await t.test('the first CA and its certificates expire: each write is judged', async (t) => {
      const end = (await expiryOfCA()) + 5_000
      let count = 0
      for (; Date.now() < end; count++) {
        if (!(await judges())) t.fail(`not judged, ${end - Date.now()} ms before the end`)
        await sleep(500)
      }
      t.ok(count > 10, `${count} times`)
      t.ok((await expiryOfCA()) > end, 'another CA signs')
      const rotations = await metric(server, 'vmcp_admission_certificate_rotations_total')
      t.ok((rotations.get('') ?? 0) >= 1)
      t.strictSame(await ready(), { status: 200, text: 'ok' })
    })

    await t.test('without a leader the CA expires, and everything says so', async (t) => {
      await first.stop('SIGKILL')
      await waitFor(async () => (await ready()).status === 503, { seconds: 120, what: 'not ready' })
      t.ok((await leaf()) * 1_000 <= Date.now(), 'the metric has a time that is past')
      // An open connection continues, because API servers verify the certificate only when they connect.
      way.cut()
      const refused = await api.kubectl(GOOD)
      t.match(refused.stderr, /failed calling webhook .* certificate has expired/s)
      t.match((await ready()).text, 'its certificate has expired')
      const { stdout } = await doctor()
      t.match(stdout, /problem: Secret \S+: the CA that signs: has expired/)
      await waitFor(() => /"level":"error".*expired/.test(server.log()), { seconds: 20, what: 'the log' })
      t.match(server.log(), /the CA in the Secret has expired: the leader/)
    })

    await t.test('a leader that comes back mends it', async (t) => {
      await start('leader', LEADER)
      await waitFor(judges, { seconds: 60, what: 'writes to be judged again' })
      await waitFor(async () => (await ready()).status === 200, { seconds: 60, what: 'ready' })
      t.ok((await leaf()) * 1_000 > Date.now())
      t.notMatch((await doctor()).stdout, 'expired')
    })
  },
  { longestMs: 480_000 },
)

/** A TCP proxy to a port of this machine whose connections the test can cut. */
async function openWay(t: Test, to: number): Promise<{ readonly port: number; readonly cut: () => void }> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    const other = connect(to, '127.0.0.1')
    for (const each of [socket, other]) {
      open.add(each)
      each
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(each)
          socket.destroy()
          other.destroy()
        })
    }
    socket.pipe(other).pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const each of open) each.destroy()
  }
  t.teardown(() => {
    server.close()
    cut()
  })
  return { port: (server.address() as AddressInfo).port, cut }
}
