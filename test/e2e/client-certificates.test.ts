import 'reflect-metadata'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import * as x509 from '@peculiar/x509'
import root, { type Test } from 'tap'
import { type KeyedCertificate, makeAuthority } from '../../src/certificates/x509.ts'
import { freePort } from '../support/free-port.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import { type ApiServer, startApiServer } from './api-server.ts'
import { installCrds, kubectl, register } from './cluster.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const BAD = 'examples/bad/aws-sts-without-role.yaml'
const GOOD = 'examples/unauthenticated.yaml'
const DRY_RUN = '--dry-run=server'
const REQUIRED = 'a client certificate is required'
const ANOTHER_NAME = 'the client certificate is for none of the allowed subjects'
/** The part of the server's message that the API server passes on. */
const REFUSED =
  /failed calling webhook "validate\.vmcp-admission\.[^"]+": failed to call webhook: (.* client certificate .*)$/m
/** Lifetimes in seconds; a certificate is renewed after two thirds of its lifetime. */
const BRISK = ['--leaf-lifetime', '30', '--ca-lifetime', '120', '--ca-propagation', '15']
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'

await withApiServer(root, async (t, plain) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-clients-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const authority = await makeAuthority('clients', { now: Date.now(), lifetime: 60 * 60 * 1_000 })
  const client = await clientCertificate(authority, 'kube-apiserver')
  const known = await freePort()
  const files = { folder, authority, client }
  const presenting = await startApiServer({ flags: admissionFlags(files, [`127.0.0.1:${known}`]) })
  t.teardown(() => presenting.stop())
  await Promise.all([plain, presenting].map((api) => installCrds(api, 'crds')))

  const start = async (t: Test, names: string, port: number, ...flags: string[]) => {
    const clients = ['--client-ca', join(folder, 'client-ca.crt'), '--client-names', names]
    const server = await startServer(['--port', String(port), ...clients, ...flags])
    t.teardown(() => server.stop('SIGKILL'))
    return server
  }
  const armed = (api: ApiServer, port: number) => [
    ...['--kubeconfig', api.kubeconfig, '--namespace', 'default', '--arming', 'on'],
    ...['--webhook-url', `https://127.0.0.1:${port}`],
  ]
  const selfManaged = ['--certificates', 'self-managed', ...BRISK]
  const first = await start(t, 'kube-apiserver', known, ...armed(presenting, known), ...selfManaged)

  await t.test('an API server that shows the certificate arms it, and is answered', async (t) => {
    await waitFor(async () => (await policyOf(presenting)) === 'Fail', {
      seconds: 40,
      what: 'the webhook to be armed',
    })
    await isJudged(t, presenting)
    t.equal(await refusals(first), 0)
  })

  await t.test('one that shows none never arms it', async (t) => {
    const port = await freePort()
    const server = await start(t, 'kube-apiserver', port, ...armed(plain, port))
    await waitFor(() => server.log().includes('the API server does not reach the webhook'), {
      seconds: 20,
      what: 'a proof that fails',
    })
    t.equal(await policyOf(plain), 'Ignore')
    t.equal((await apply(plain, BAD, DRY_RUN)).code, 0, 'the write is admitted')
    await server.stop()
  })

  await t.test('the next serving certificate is served to the same clients', async (t) => {
    await waitFor(() => first.log().includes('certificates: serving another one'), {
      seconds: 40,
      what: 'the next certificate',
    })
    t.strictSame(await ask(first), { status: 403, body: REQUIRED })
    t.match(await ask(first, client), { status: 404 })
    await isJudged(t, presenting)
    t.equal(await refusals(first), 1)
    await first.stop()
  })

  await t.test('a CA that is added to the file is known within seconds', async (t) => {
    const next = await makeAuthority('next clients', { now: Date.now(), lifetime: 60 * 60 * 1_000 })
    const nextClient = await clientCertificate(next, 'kube-apiserver')
    const server = await start(t, 'kube-apiserver', await freePort())
    t.match(await ask(server, nextClient), { status: 403, body: /is not accepted/ })
    writeFileSync(join(folder, 'client-ca.crt'), authority.certificate + next.certificate)
    await waitFor(async () => (await ask(server, nextClient)).status === 404, {
      seconds: 30,
      what: 'the CA to be read',
    })
    t.match(await ask(server, client), { status: 404 })
    await server.stop()
  })

  const rows = [
    ['a certificate for another name', presenting, 'somebody', known, ANOTHER_NAME],
    ['no user for this host and port', presenting, 'kube-apiserver', await freePort(), REQUIRED],
    ['no admission configuration', plain, 'kube-apiserver', await freePort(), REQUIRED],
  ] as const
  for (const [title, api, names, port, problem] of rows) {
    await t.test(`${title}: nothing is judged, and nothing let through`, async (t) => {
      const server = await start(t, names, port)
      await register(api, server)
      await waitFor(async () => REFUSED.test((await apply(api, BAD, DRY_RUN)).stderr), {
        seconds: 20,
        what: 'the call to be refused',
      })
      const good = await apply(api, GOOD, DRY_RUN)
      t.equal(good.code, 1)
      t.equal(REFUSED.exec(good.stderr)?.[1], problem)
      const told = `"problem":"${problem}","msg":"refusing a client"`
      await waitFor(() => server.log().includes(told), { seconds: 10, what: 'a line in the log' })
      t.strictSame(await ask(server), { status: 403, body: REQUIRED })
      const shown = await ask(server, client)
      t.match(shown, problem === ANOTHER_NAME ? { status: 403, body: problem } : { status: 404 })
      t.ok((await refusals(server)) >= 3)
      t.notMatch(await metricsOf(server), /^vmcp_admission_reviews_total\{/m)
      for (const path of ['/livez', '/readyz']) {
        const answers = async () => (await fetch(server.probeUrl + path)).status === 200
        await waitFor(answers, { seconds: 20, what: `${path}, which asks for no certificate` })
      }
      await server.stop()
    })
  }
})

interface Files {
  readonly folder: string
  readonly authority: KeyedCertificate
  readonly client: KeyedCertificate
}

/**
 * Writes the admission configuration files with which the API server shows its certificate to webhooks at these hosts;
 * returns its flags.
 */
function admissionFlags({ folder, authority, client }: Files, hosts: readonly string[]): string[] {
  const at = (name: string) => join(folder, name)
  const user = { 'client-certificate': 'client.crt', 'client-key': 'client.key' }
  const kubeconfig = { apiVersion: 'v1', kind: 'Config', users: hosts.map((name) => ({ name, user })) }
  const apiVersion = 'apiserver.config.k8s.io/v1'
  const configuration = {
    apiVersion,
    kind: 'WebhookAdmissionConfiguration',
    kubeConfigFile: at('kubeconfig'),
  }
  const plugins = ['ValidatingAdmissionWebhook', 'MutatingAdmissionWebhook'].map((name) => ({
    name,
    configuration,
  }))
  writeFileSync(at('client-ca.crt'), authority.certificate)
  writeFileSync(at('client.crt'), client.certificate)
  writeFileSync(at('client.key'), client.key, { mode: 0o600 })
  writeFileSync(at('kubeconfig'), JSON.stringify(kubeconfig))
  writeFileSync(at('admission.yaml'), JSON.stringify({ apiVersion, kind: 'AdmissionConfiguration', plugins }))
  return [`--admission-control-config-file=${at('admission.yaml')}`]
}

/** A certificate for client authentication only, with this common name. */
async function clientCertificate(authority: KeyedCertificate, name: string): Promise<KeyedCertificate> {
  const [der = new ArrayBuffer()] = x509.PemConverter.decode(authority.key)
  const signingKey = await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign'])
  const { publicKey, privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: new x509.X509Certificate(authority.certificate).subject,
    publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.ExtendedKeyUsageExtension([CLIENT_AUTH])],
  })
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY')
  return { certificate: certificate.toString('pem'), key }
}

function apply(api: ApiServer, file: string, ...flags: string[]) {
  return api.kubectl(['apply', '-f', file, ...flags])
}

async function isJudged(t: Test, api: ApiServer): Promise<void> {
  const bad = await apply(api, BAD)
  t.equal(bad.code, 1)
  t.match(bad.stderr, /^\* spec\.awsSts: Required value: .* \(aws-sts-role-configured\)$/m)
  const good = await apply(api, GOOD)
  t.equal(good.code, 0)
  t.match(good.stderr, /Warning: MCPExternalAuthConfig \S+: spec\.type: /, 'admitted with our warning')
  await kubectl(api, ['delete', '-f', GOOD])
}

function policyOf(api: ApiServer): Promise<string> {
  const policy = ['-o', 'jsonpath={.webhooks[0].failurePolicy}', '--ignore-not-found']
  return kubectl(api, ['get', 'validatingwebhookconfiguration', 'vmcp-admission', ...policy])
}

async function metricsOf({ probeUrl }: RunningServer): Promise<string> {
  return (await fetch(`${probeUrl}/metrics`)).text()
}

/** The number of requests that the server answered with 403. */
async function refusals(server: RunningServer): Promise<number> {
  const metrics = await metricsOf(server)
  return Number(/^vmcp_admission_refused_requests_total\{status="403"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)
}

/** Sends a request without an API server in between: 404 if the server accepts the client, otherwise 403. */
async function ask(
  { url }: RunningServer,
  client?: KeyedCertificate,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const tls = client && { cert: client.certificate, key: client.key }
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { ...tls, agent: false, rejectUnauthorized: false }, resolve)
      .on('error', reject)
      .end()
  })
  return { status: response.statusCode, body: await text(response) }
}
