import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { formatState, signingAuthority } from '../../src/certificates/authority-data.ts'
import { makeAuthority } from '../../src/certificates/x509.ts'
import { freePort } from '../support/free-port.ts'
import { runCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'
import { programFile } from '../support/programs.ts'

const MAIN = programFile('server')
const WRONG_CLOCK = new URL('../support/wrong-clock.ts', import.meta.url).href
const DAY = 86_400_000
const HOUR = 3_600_000
const CONFIGURATIONS = ['validatingwebhookconfiguration', 'mutatingwebhookconfiguration']

await withApiServer(t, async (t, api) => {
  await installCrds(api, 'crds')
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-clock-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const port = await freePort()
  const flags = (own: number) => [
    ...['--kubeconfig', api.kubeconfig, '--namespace', 'default', '--arming', 'on'],
    ...['--certificates', 'self-managed', '--leaf-lifetime', '60', '--ca-lifetime', '600'],
    ...['--ca-propagation', '5', '--port', String(own), '--webhook-url', `https://127.0.0.1:${port}`],
  ]

  const read = async (...args: readonly string[]) =>
    JSON.parse(await kubectl(api, ['get', ...args, '-o', 'json'])) as Record<string, unknown>
  const hasSecret = async () => (await api.kubectl(['get', 'secret', 'vmcp-admission-ca'])).code === 0
  /** The places of stored CAs and caBundles that are not valid now. */
  const invalid = async () => {
    const { data } = (await read('secret', 'vmcp-admission-ca')) as { data: Record<string, string> }
    const bundles: Record<string, string> = {}
    for (const kind of CONFIGURATIONS) {
      const { webhooks } = (await read(kind, 'vmcp-admission')) as {
        webhooks: { name: string; clientConfig: { caBundle?: string } }[]
      }
      for (const { name, clientConfig } of webhooks) bundles[name] = clientConfig.caBundle ?? ''
    }
    const stored = Object.entries(data).filter(([key]) => key.endsWith('.crt'))
    return [...stored, ...Object.entries(bundles)].flatMap(([where, value]) => {
      const pem = Buffer.from(value, 'base64').toString()
      const all = pem.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? []
      const now = Date.now()
      const isValid = (each: X509Certificate) =>
        each.validFromDate.getTime() <= now && now < each.validToDate.getTime()
      return all.every((each) => isValid(new X509Certificate(each))) ? [] : [where]
    })
  }
  const dryRun = (file: string) => api.kubectl(['apply', '--dry-run=server', '-f', `examples/${file}`])
  const judges = async () => {
    const good = await dryRun('unauthenticated.yaml')
    if (good.code !== 0) throw new Error(good.stderr)
    return (await dryRun('bad/aws-sts-without-role.yaml')).stderr.includes('aws-sts-role-configured')
  }
  const fails = async () => (await dryRun('unauthenticated.yaml')).stderr.includes('failed calling webhook')
  const isArmed = async () => {
    const path = '{.webhooks[0].failurePolicy}'
    return (
      (await kubectl(api, [
        'get',
        'validatingwebhookconfiguration',
        'vmcp-admission',
        '-o',
        `jsonpath=${path}`,
      ])) === 'Fail'
    )
  }

  const clockFile = join(folder, 'clock')
  const setClock = (ahead: number) => writeFileSync(clockFile, String(ahead))
  setClock(400 * DAY)
  const probePort = await freePort()
  const child = spawn(process.execPath, [MAIN, ...flags(0), '--probe-port', String(probePort)], {
    env: { ...process.env, NODE_OPTIONS: `--import=${WRONG_CLOCK}`, CLOCK_FILE: clockFile },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text))
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${probePort}${path}`)
    return { status: answer.status, text: await answer.text() }
  }
  const says = (words: string) =>
    waitFor(
      async () => {
        const { status, text } = await ask('/readyz')
        return status === 503 && text.includes(words)
      },
      { seconds: 40, what: `/readyz to say: ${words}` },
    )

  await t.test('a replica 400 days ahead makes no CA, and says why', async (t) => {
    await says("not ready: the clock of this replica is 400 days ahead of the API server's")
    t.equal((await ask('/livez')).status, 200)
    const metric = async (name: string) =>
      Number(new RegExp(`^vmcp_admission_${name} (.*)$`, 'm').exec((await ask('/metrics')).text)?.[1])
    await waitFor(async () => (await metric('certificate_errors_total')) > 1, {
      seconds: 20,
      what: 'two checks',
    })
    t.equal(Math.round(((await metric('clock_offset_seconds')) * 1_000) / DAY), 400)
    t.equal(log.split("400 days ahead of the API server's").length, 2, 'logged once')
    t.equal(await hasSecret(), false)
  })

  const right = await startServer(flags(port))
  t.teardown(() => right.stop('SIGKILL'))

  await t.test('a replica with the right time makes it, and arms', async (t) => {
    await waitFor(isArmed, { seconds: 40, what: 'the webhook to be armed' })
    await waitFor(judges, { seconds: 20, what: 'writes to be judged' })
    t.strictSame(await invalid(), [])
    t.equal((await ask('/readyz')).status, 503)
  })

  await t.test(
    'a clock that is set right makes the replica ready, and one that jumps does not',
    async (t) => {
      const isReady = async () => (await ask('/readyz')).status === 200
      setClock(0)
      await waitFor(isReady, { seconds: 60, what: 'the replica to be ready' })
      for (const [ahead, words] of [
        [250 * DAY, '250 days ahead of'],
        [3 * HOUR, '3 hours ahead of'],
        [-400 * DAY, '400 days behind'],
      ] as const) {
        setClock(ahead)
        await says(words)
        t.strictSame(await invalid(), [], words)
        t.ok(await judges())
      }
      child.kill('SIGTERM')
      t.strictSame(await once(child, 'exit'), [0, null])
    },
  )

  await t.test(
    'a CA that is not valid yet, stored and in force, is replaced by the next replica',
    async (t) => {
      await right.stop('SIGKILL')
      const made = await makeAuthority('poison', { now: Date.now() + 400 * DAY, lifetime: 365 * DAY })
      const data = Object.fromEntries(
        Object.entries(formatState({ current: signingAuthority(made, DAY), former: [] })).map(
          ([key, text]) => [key, Buffer.from(text).toString('base64')],
        ),
      )
      await kubectl(api, [
        'patch',
        'secret',
        'vmcp-admission-ca',
        '--type=merge',
        '-p',
        JSON.stringify({ data }),
      ])
      const value = Buffer.from(made.certificate).toString('base64')
      for (const kind of CONFIGURATIONS) {
        const { webhooks } = (await read(kind, 'vmcp-admission')) as { webhooks: unknown[] }
        const patch = webhooks.map((_, i) => ({
          op: 'replace',
          path: `/webhooks/${i}/clientConfig/caBundle`,
          value,
        }))
        await kubectl(api, ['patch', kind, 'vmcp-admission', '--type=json', '-p', JSON.stringify(patch)])
      }
      await waitFor(fails, { seconds: 20, what: 'writes to fail' })
      const found = await runCli(['doctor', '--kubeconfig', api.kubeconfig, '--namespace', 'default'], {
        cwd: folder,
      })
      t.match(found.stdout, 'Secret default/vmcp-admission-ca: the CA that signs: is not valid yet: SHA-256 ')
      t.match(
        found.stdout,
        /ValidatingWebhookConfiguration .* caBundle holds only certificates that are not valid yet: /,
      )

      const next = await startServer(flags(port))
      t.teardown(() => next.stop('SIGKILL'))
      await waitFor(judges, { seconds: 60, what: 'writes to recover' })
      await waitFor(async () => (await invalid()).length === 0, { seconds: 20, what: 'the bundles' })
      await kubectl(api, ['delete', 'secret', 'vmcp-admission-ca'])
      await waitFor(hasSecret, { seconds: 90, what: 'the Secret to come back' })
      t.strictSame(await invalid(), [])
      await waitFor(judges, { seconds: 20, what: 'writes to be judged' })
      t.equal(await next.stop(), 0)
      t.match(next.log(), /"problem":"the CA with SHA-256 \S+ is valid from \S+ only: /)
    },
  )
})
