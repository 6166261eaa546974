import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root from 'tap'
import { runCli } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { matchesGolden, transcript } from './golden.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const CONFIGURATIONS = 'validatingwebhookconfiguration,mutatingwebhookconfiguration'
const POLICIES =
  'custom-columns=KIND:.kind,WEBHOOKS:.webhooks[*].name,FAILUREPOLICY:.webhooks[*].failurePolicy'

const BAD = ['apply', '-f', 'examples/bad/redis-without-settings.yaml', '--dry-run=server']

await withApiServer(root, async (t, api) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-life-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  await installCrds(api, 'crds')
  const port = await freePort()
  const flags = [
    ...['--kubeconfig', api.kubeconfig, '--certificates', 'self-managed', '--namespace', 'default'],
    ...['--port', String(port), '--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const start = async (arming: string) => {
    const server = await startServer([...flags, '--arming', arming])
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const parts: string[] = []
  const say = (text: string) => parts.push(`# ${text}\n`)
  const see = async (...args: string[]) => parts.push(await transcript(api, [args]))
  const shown = () => see('get', CONFIGURATIONS, 'vmcp-admission', '-o', POLICIES)
  const apply = () => see(...BAD)
  const cli = async (...args: string[]) => {
    const all = [...args, '--kubeconfig', api.kubeconfig]
    const { status, stdout, stderr } = await runCli(all, { cwd: folder })
    parts.push(`$ vmcp-admission ${args.join(' ')}\n${stdout}${stderr}(exit code ${status})\n`)
  }
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  const raw = (query: string) => kubectl(api, ['get', '--raw', path + query])
  const policies = (texts: readonly string[]) =>
    texts.map((text) => /"failurePolicy":"(\w+)"/.exec(text)?.[1] ?? 'none')
  /** Starts a server, waits until the stored failure policy is `wanted`, and records the policies on the way. */
  const until = async (wanted: string, begin: () => Promise<RunningServer>) => {
    const before = await raw('')
    const since = /"resourceVersion":"(\d+)"/.exec(before)?.[1] ?? ''
    const server = await begin()
    const isThere = async () => policies([await raw('')])[0] === wanted
    await waitFor(isThere, { seconds: 40, what: wanted })
    const events = (await raw(`?watch=true&timeoutSeconds=1&resourceVersion=${since}`)).trim().split('\n')
    const seen = policies([before, ...events]).filter((policy, i, all) => policy !== all[i - 1])
    parts.push(`failurePolicy: ${seen.join(', then ')}\n`)
    return server
  }
  /** Waits until the API server refuses a bad resource, or admits it if `refused` is false. */
  const acts = (refused: boolean) =>
    waitFor(async () => ((await transcript(api, [BAD])).includes('exit code') ? refused : !refused), {
      seconds: 20,
      what: refused ? 'a bad resource to be refused' : 'a bad resource to pass',
    })

  say(
    'The server starts with --arming on: it writes failurePolicy Ignore, and Fail once the API server has reached it.',
  )
  const first = await until('Fail', () => start('on'))
  await acts(true)
  await shown()
  await apply()
  await cli('doctor', '--namespace', 'default')

  say('Every replica is stopped: writes that change a spec are refused.')
  await first.stop()
  await apply()
  await cli('doctor', '--namespace', 'default')

  say('Disarmed with --arming ignore; then that server stops too.')
  const second = await until('Ignore', () => start('ignore'))
  await acts(true)
  await shown()
  await apply()
  await second.stop()
  await acts(false)
  await apply()

  say('Armed again, and uninstalled after the server has stopped.')
  const third = await until('Fail', () => start('on'))
  await third.stop()
  await cli('uninstall', '--namespace', 'default', '--all')
  await acts(false)
  await shown()
  await apply()
  await cli('uninstall', '--namespace', 'default', '--all')

  const text = parts
    .join('\n')
    .replace(/[0-9A-F]{2}(:[0-9A-F]{2}){31}/g, 'FINGERPRINT')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'DATE')
    .replace(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    // Replaces the numbers of rules, which change whenever a rule is added.
    .replace(/\b[1-9]\d+ (rules|deny|warn)\b/g, 'N $1')
  await matchesGolden(t, 'life.txt', text)
  for (const sign of ['(storage-redis-configured)', 'all is well', 'nothing listens at', 'nothing to remove'])
    t.match(text, sign)
})
