import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { runCli } from '../support/cli.ts'
import { freePort } from '../support/free-port.ts'
import { startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { kubectl, ROOT } from './cluster.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const TOGETHER = 'examples/together/three-mistakes.yaml'
const CONFIGURATIONS = 'validatingwebhookconfigurations,mutatingwebhookconfigurations'

/** The names of the webhook configurations and CRDs, which only this server creates here. */
const left = async (api: ApiServer) =>
  (await kubectl(api, ['get', `${CONFIGURATIONS},customresourcedefinitions`, '-o', 'name'])).trim()

/** The API server removes a deleted CustomResourceDefinition only after it has deleted the resources of that kind. */
const nothingLeft = (api: ApiServer) =>
  waitFor(async () => (await left(api)) === '', { seconds: 20, what: 'nothing to be left' })

async function serve(api: ApiServer) {
  const server = await startServer(['--local-cluster', api.kubeconfig])
  const isRegistered = () => server.talk().includes('Ctrl-C ends it')
  await waitFor(isRegistered, { seconds: 60, what: 'the process to be registered' })
  return server
}

/** Starts a server that must fail; returns its exit code and stderr. */
function failedStart(api: ApiServer, ...flags: readonly string[]) {
  const args = ['src/server/main.ts', '--port', '0', '--probe-port', '0', '--local-cluster', api.kubeconfig]
  const { status, stderr } = spawnSync(process.execPath, [...args, ...flags], { cwd: ROOT, encoding: 'utf8' })
  return { status, stderr }
}

await withApiServer(t, async (t, api) => {
  await t.test('the commands that it prints show a first denial; at the end nothing is left', async (t) => {
    const server = await serve(api)
    t.teardown(() => server.stop('SIGKILL'))
    const policies = ['get', CONFIGURATIONS, '-o', 'jsonpath={.items[*].webhooks[*].failurePolicy}']
    t.equal(await kubectl(api, policies), 'Ignore Ignore Ignore', 'fails open')
    const commands = server.talk().match(/(?<=^ {2}kubectl ).*/gm) ?? []
    const files = commands.map((command) => command.split(' apply -f ')[1] ?? '')
    t.equal(files.length, 2)
    for (const [i, command] of commands.entries()) {
      const { stderr, code } = await api.kubectl(command.split(' '))
      t.equal(code, 1, `${command} is denied`)
      t.match(stderr, i === 0 ? /role-mapping-claim-or-matcher/ : /upstream-inject-provider-exists/)
    }
    const wrong = 'examples/bad/misspelt-type.yaml'
    const { stdout } = await runCli(['check', '--output', 'json', wrong], { cwd: ROOT })
    const { findings } = JSON.parse(stdout) as { findings: { severity: string; id: string }[] }
    const errors = findings.filter(({ severity }) => severity === 'error').map(({ id }) => id)
    const { stderr: denial } = await api.kubectl(['apply', '-f', wrong])
    const causes = denial.replaceAll(/^Warning: .*$/gm, '')
    const denied = Array.from(causes.matchAll(/\(([a-z]+(?:-[a-zA-Z]+)+)\)/g), ([, id = '']) => id)
    t.ok(errors.length >= 3, 'beside our own CRDs it is judged as without a cluster')
    t.strictSame(denied.toSorted(), errors.toSorted())
    t.match(readFileSync(`${ROOT}README.md`, 'utf8'), `kubectl apply -f ${TOGETHER}`, 'README says it too')
    const second = failedStart(api)
    t.equal(second.status, 1)
    t.match(second.stderr, /process \d+ on \S+ serves this cluster with --local-cluster: end it first/)
    const doctor = ['doctor', '--kubeconfig', api.kubeconfig, '--namespace', 'default']
    const diagnosis = await runCli(doctor, { cwd: ROOT })
    t.match(
      diagnosis.stdout,
      /^trial of --local-cluster \(process \d+ on .*\) for the namespace default of .*: all is well/,
    )
    t.match(diagnosis.stdout, /^probe: reached/m)
    await kubectl(api, ['create', 'namespace', 'elsewhere'])
    const elsewhere = ['-n', 'elsewhere', 'apply', '-f', files[0] ?? '']
    t.equal((await api.kubectl(elsewhere)).code, 0, 'objects of other namespaces are not judged')
    t.equal(await server.stop('SIGINT'), 0)
    t.match(server.talk(), /removed ValidatingWebhookConfiguration .*\n.*\nremoved 7 CRDs, with 6 resources/)
    await nothingLeft(api)
  })

  await t.test('what a killed process left fails open, and goes with the next one', async (t) => {
    await (await serve(api)).stop('SIGKILL')
    t.match(await left(api), /validatingwebhookconfiguration/)
    const apply = ['apply', '-f', 'examples/bad/misspelt-type.yaml']
    t.equal((await api.kubectl(apply)).code, 0, 'a write passes while no server runs')
    const server = await serve(api)
    t.teardown(() => server.stop('SIGKILL'))
    t.match(server.talk(), /^removed the webhook configurations that process \d+ on \S+ left behind/)
    await kubectl(api, ['delete', '-f', 'examples/bad/misspelt-type.yaml'])
    t.equal((await api.kubectl(apply)).code, 1, 'and the next one judges')
    await kubectl(api, ['apply', '-f', 'examples/bearer-token.yaml'])
    t.equal(await server.stop(), 0)
    t.match(server.talk(), /removed 6 CRDs, with 0 resources\nkept CRD mcpexternalauthconfigs: 1 resources/)
    await (await serve(api)).stop('SIGKILL')
    const args = ['uninstall', '--kubeconfig', api.kubeconfig]
    const kept = await runCli(args, { cwd: t.testdir() })
    t.match(kept, { status: 0, stderr: /kept CRD mcpexternalauthconfigs: 1 resources are stored/ })
    await kubectl(api, ['delete', '-f', 'examples/bearer-token.yaml'])
    const removed = await runCli(args, { cwd: t.testdir() })
    t.match(removed, {
      status: 0,
      stdout: /^removed CRD mcpexternalauthconfigs, which --local-cluster left\n$/,
    })
    await nothingLeft(api)
  })

  await t.test('an end at any time, and an error, leave nothing', async (t) => {
    const port = await freePort()
    const unreached = failedStart(api, '--webhook-url', `https://127.0.0.1:${port}`)
    t.equal(unreached.status, 1)
    t.match(unreached.stderr, /does not reach https:\/\/127\.0\.0\.1:\d+: name an address of this machine/)
    await nothingLeft(api)
    const server = await startServer(['--local-cluster', api.kubeconfig])
    t.equal(await server.stop('SIGTERM'), 0, 'while it registers')
    await nothingLeft(api)
    const missing = failedStart(api, '--watch-namespaces', 'nowhere')
    t.match(missing, { status: 2, stderr: /has no namespace 'nowhere': create it/ })
  })

  await t.test('an installation is left alone', async (t) => {
    const webhook = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'MutatingWebhookConfiguration' }
    const installed = JSON.stringify({ ...webhook, metadata: { name: 'vmcp-admission' } })
    await kubectl(api, ['create', '-f', '-'], installed)
    t.match(failedStart(api), { status: 1, stderr: /has an installation already \(MutatingWebhook/ })
    t.match(await left(api), /^mutatingwebhookconfiguration\S+vmcp-admission$/)
  })
})
