import 'reflect-metadata'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import promises from 'node:fs/promises'
import { Agent, createServer, request } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import * as x509 from '@peculiar/x509'
import fc from 'fast-check'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import {
  type SecretData,
  formatState,
  parseState,
  signingAuthority,
} from '../src/certificates/authority-data.ts'
import { SelfManaged, type SelfManagedOptions, serviceNames } from '../src/certificates/authority.ts'
import { Propagation } from '../src/certificates/propagation.ts'
import {
  clientGate,
  clientTlsOptions,
  judgeClient,
  problemWithClientAuthorities,
} from '../src/certificates/clients.ts'
import { watchFiles, type WatchFilesOptions } from '../src/certificates/files.ts'
import { localPair } from '../src/certificates/local.ts'
import type { ServingPair } from '../src/certificates/serving-pair.ts'
import {
  type AuthorityState,
  type RotationChange,
  type Leaf,
  type Observed,
  problemWithSettings,
  ROTATION,
  type RotationSettings,
  type SigningAuthority,
  SLACK,
  step,
} from '../src/certificates/rotation.ts'
import { SecretConflict, type SecretStore } from '../src/certificates/secret-store.ts'
import { judgePair } from '../src/certificates/verify.ts'
import { readFlags } from '../src/configuration/flags.ts'
import { SERVER_FLAGS } from '../src/server/configuration.ts'
import { calledNames, servingNames } from '../src/server/names.ts'
import { clientConfigOf, openArming } from '../src/server/open-arming.ts'
import { ClientAuthorities } from '../src/server/client-authorities.ts'
import {
  authoritiesIn,
  certificatesIn,
  type KeyedCertificate,
  makeAuthority,
  signLeaf,
} from '../src/certificates/x509.ts'
import { ClusterConnection, fromKubeconfig } from '../src/cluster/index.ts'
import { waitFor } from './e2e/wait-for.ts'
import { type Answer, fakeApiServer, heard, json, refusal } from './support/fake-api-server.ts'
import { mountPair, writePair } from './support/mounted-secret.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const until = (what: string, condition: () => unknown) => waitFor(condition, { seconds: 20, what })

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-certificates-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const now = Date.now()
const long = { now, lifetime: DAY }
const root = await makeAuthority('root', long)
const stranger = await makeAuthority('stranger', long)
const good = await signLeaf(root, ['localhost', '127.0.0.1'], long)
const second = await signLeaf(root, ['localhost', '127.0.0.1'], long)
const certificateOf = ({ certificate }: { certificate: string }) => new X509Certificate(certificate)
const serial = (pair: { certificate: string }) => certificateOf(pair).serialNumber

t.test('certificates are what TLS clients want', async (t) => {
  const leaf = certificateOf(good)
  const ca = certificateOf(root)
  t.equal(leaf.checkIssued(ca) && leaf.verify(ca.publicKey), true)
  t.equal(ca.verify(ca.publicKey) && ca.ca && !leaf.ca, true)
  t.equal(ca.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  t.equal(leaf.subjectAltName, 'DNS:localhost, IP Address:127.0.0.1')
  for (const each of [leaf, ca])
    t.ok(Math.abs(each.validFromDate.getTime() - (now - HOUR)) <= SECOND, 'begins an hour back')
  t.ok(Math.abs(leaf.validToDate.getTime() - (now + DAY)) <= SECOND)
  t.not(ca.subject, certificateOf(stranger).subject, 'no two CAs have one name')
  t.equal(new Set([root, stranger, good, second].map(serial)).size, 4)
  const late = await signLeaf(root, ['localhost'], { now, lifetime: 10 * DAY })
  t.equal(certificateOf(late).validTo, ca.validTo, 'a leaf never outlives its CA')
  t.strictSame(
    authoritiesIn(`# two\n${root.certificate}\ntext\n${stranger.certificate}`).map(
      ({ fingerprint }) => fingerprint,
    ),
    [ca.fingerprint256, certificateOf(stranger).fingerprint256],
  )
  t.throws(() => authoritiesIn('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'))
  t.strictSame(serviceNames('hook', 'system', ['10.0.0.1', 'localhost']), [
    'hook.system.svc',
    'hook.system.svc.cluster.local',
    'hook.system',
    'localhost',
    '10.0.0.1',
  ])
})

/** A certificate with one fault. */
async function odd(
  issuer: KeyedCertificate | undefined,
  {
    ca = false,
    usages = ['1.3.6.1.5.5.7.3.1'],
    names = ['localhost'],
    subject = 'CN=odd',
    begins = -HOUR,
    ends = HOUR,
  },
): Promise<KeyedCertificate> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const [der] = issuer === undefined ? [] : x509.PemConverter.decode(issuer.key)
  const signingKey =
    der === undefined
      ? keys.privateKey
      : await crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign'])
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex'),
    subject,
    issuer: issuer === undefined ? subject : new x509.X509Certificate(issuer.certificate).subject,
    notBefore: new Date(now + begins),
    notAfter: new Date(now + ends),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(ca, undefined, true),
      ...(usages.length === 0 ? [] : [new x509.ExtendedKeyUsageExtension(usages)]),
      ...(names.length === 0
        ? []
        : [
            new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value }))),
          ]),
    ],
  })
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { certificate: `${certificate.toString('pem')}\n`, key: `${key}\n` }
}

t.test('a pair is judged before it is used', async (t) => {
  const middle = await odd(root, { ca: true, usages: [], subject: 'CN=middle' })
  const below = await odd(middle, {})
  const expiredMiddle = await odd(root, { ca: true, usages: [], subject: 'CN=old', ends: -MINUTE })
  const belowExpired = await odd(expiredMiddle, {})
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const rows: [string, ServingPair, RegExp | undefined, RegExp?][] = [
    ['good', good, undefined],
    ['with its CA', { ...good, ca: root.certificate }, undefined],
    ['with another CA', { ...good, ca: stranger.certificate }, undefined, /^no certificate in ca.crt signed/],
    [
      'with a broken CA',
      { ...good, ca: broken },
      undefined,
      /^ca.crt holds a certificate that cannot be read/,
    ],
    ['empty', { certificate: '', key: '' }, /^tls.crt holds no certificate in PEM$/],
    ['broken', { ...good, certificate: broken }, /^tls.crt holds a certificate that cannot be read$/],
    ['no key', { ...good, key: 'x' }, /^tls.key holds no private key in PEM, or one/],
    ['half written', { ...good, key: second.key }, /^tls.key is not the key of the first certificate/],
    ['with a chain', { ...below, certificate: below.certificate + middle.certificate }, undefined],
    [
      'with a chain up to the root',
      {
        ...below,
        certificate: below.certificate + middle.certificate + root.certificate,
        ca: root.certificate,
      },
      undefined,
    ],
    [
      'chain in the wrong order',
      { ...below, certificate: below.certificate + root.certificate + middle.certificate },
      /^the chain in tls.crt is broken: certificate 2 did not sign certificate 1$/,
    ],
    [
      'leaf last',
      { ...below, certificate: middle.certificate + below.certificate },
      /^tls.key is not the key/,
    ],
    [
      'expired in the middle',
      { ...belowExpired, certificate: belowExpired.certificate + expiredMiddle.certificate },
      /^certificate 2 in tls.crt expired at 2/,
    ],
    ['expired', await odd(root, { ends: -SECOND }), /^certificate 1 in tls.crt expired at 2/],
    ['not yet', await odd(root, { begins: MINUTE }), /^certificate 1 in tls.crt is valid from 2.* only$/],
    [
      'for clients',
      await odd(root, { usages: ['1.3.6.1.5.5.7.3.2'] }),
      /^the certificate in tls.crt is not for servers/,
    ],
    ['for anything', await odd(root, { usages: [] }), undefined],
    ['of another name', await odd(root, { names: ['other'] }), undefined, /does not name localhost$/],
    ['self-signed', await odd(undefined, {}), undefined],
    [
      'a name in CN only',
      await odd(root, { names: [], subject: 'CN=localhost' }),
      undefined,
      /not name localhost$/,
    ],
  ]
  for (const [title, pair, problem, warning] of rows) {
    const judged = judgePair(pair, ['localhost'], now)
    t.match(judged.problem ?? '', problem ?? /^$/, title)
    t.match(judged.warnings.join(), warning ?? /^$/, title)
    t.notMatch(JSON.stringify(judged), /PRIVATE/)
  }
  t.match(judgePair(good, ['localhost', '127.0.0.1', '::1', 'a.b'], now).warnings, [
    /does not name ::1, a.b$/,
  ])
})

function followed(t: Test, folder: string, options: Partial<WatchFilesOptions> = {}) {
  const said: string[] = []
  const pairs: ServingPair[] = []
  const stopped = new AbortController()
  t.teardown(() => stopped.abort())
  const files = watchFiles(folder, {
    onPair: (pair) => pairs.push(pair),
    onProblem: (problem) => said.push(problem),
    onWarning: (warning) => said.push(`warning: ${warning}`),
    signal: stopped.signal,
    settle: 5,
    poll: HOUR,
    ...options,
  })
  const shows = (...expected: KeyedCertificate[]) =>
    until('the pairs', () => JSON.stringify(pairs.map(serial)) === JSON.stringify(expected.map(serial)))
  return { files, said, pairs, shows, stop: () => stopped.abort() }
}

t.test('a mounted Secret is followed through the swap of its symlink', async (t) => {
  for (const [how, poll] of [
    ['watched', HOUR],
    ['polled', 20],
  ] as const) {
    const folder = folderOf(t)
    mountPair(folder, 1, { ...good, ca: root.certificate })
    const { said, pairs, shows, files } = followed(t, folder, { poll })
    await shows(good)
    t.equal(pairs[0]?.ca, root.certificate)
    mountPair(folder, 2, { ...second, ca: root.certificate })
    await shows(good, second)
    mountPair(folder, 3, { ...second, key: good.key })
    await until('the problem', () => said.length > 0)
    mountPair(folder, 4, good)
    await shows(good, second, good)
    await files.check()
    t.equal(pairs[2]?.ca, undefined)
    t.strictSame(said, ['tls.key is not the key of the first certificate in tls.crt'], how)
    t.match(files.status(), {
      pairs: 3,
      problem: undefined,
      expiry: { leaf: certificateOf(good).validToDate.getTime() },
    })
    t.ok(files.status().errors > 0)
  }
})

t.test('no pair is put together from two versions', async (t) => {
  const folder = folderOf(t)
  const versions = [second, { ...good, ca: root.certificate }]
  mountPair(folder, 1, versions[1] ?? good)
  const { pairs, files } = followed(t, folder, { poll: 5 })
  for (let version = 2; version <= 600; version++) {
    mountPair(folder, version, versions[version % 2] ?? good)
    const looked = files.check()
    await (version % 3 === 0 ? looked : new Promise(setImmediate))
  }
  await files.check()
  t.ok(pairs.length > 10, 'many are seen')
  t.strictSame(
    pairs.filter(({ certificate, ca }) => (certificate === good.certificate) !== (ca !== undefined)),
    [],
  )
})

t.test('files that are written one by one', async (t) => {
  const folder = folderOf(t)
  const inside = join(folder, 'inside')
  const { said, pairs, shows, files, stop } = followed(t, inside, { poll: 20 })
  await until('the problem', () => said.length > 0)
  t.strictSame(said, ['tls.crt is missing'])
  mkdirSync(inside)
  writePair(inside, good)
  await shows(good)
  unlinkSync(join(inside, 'tls.key'))
  await until('the next problem', () => said.includes('tls.key is missing'))
  writePair(inside, second)
  await shows(good, second)
  writePair(inside, second)
  await files.check()
  t.equal(pairs.length, 2, 'the same content is not a change')
  rmSync(inside, { recursive: true })
  await until('it is gone', () => files.status().problem === 'tls.crt is missing')
  mkdirSync(inside)
  writePair(inside, good)
  await shows(good, second, good)
  mkdirSync(join(folder, 'dir', 'tls.crt'), { recursive: true })
  renameSync(inside, join(folder, 'away'))
  renameSync(join(folder, 'dir'), inside)
  await until('no file', () => said.includes('tls.crt is not a regular file'))
  stop()
  t.notMatch(said.join(), /PRIVATE/)
})

t.test('a FIFO is refused, and nothing waits for its writer', async (t) => {
  const folder = folderOf(t)
  writePair(folder, good)
  unlinkSync(join(folder, 'tls.crt'))
  execFileSync('mkfifo', [join(folder, 'tls.crt')])
  const { files, pairs } = followed(t, folder)
  await files.check()
  t.equal(files.status().problem, 'tls.crt is not a regular file')
  t.equal(pairs.length, 0)
  await t.rejects(localPair(folder, ['localhost']), {
    message: `${join(folder, 'tls.crt')} is not a regular file`,
  })
})

/** Makes write or rename number `fatal` fail as in a crash: a write leaves half of the file. */
function crashingAt(t: Test, fatal: number): void {
  const { rename, writeFile } = promises
  let operations = 0
  const crash = () => Object.assign(new Error('crash'), { code: 'CRASH' })
  const restore = () => {
    Object.assign(promises, { rename, writeFile })
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  Object.assign(promises, {
    rename: async (from: string, to: string) => {
      if (operations++ === fatal) throw crash()
      await rename(from, to)
    },
    writeFile: async (path: string, text: string, options: object) => {
      if (operations++ !== fatal) return writeFile(path, text, options)
      await writeFile(path, text.slice(0, text.length / 2), options)
      throw crash()
    },
  })
  syncBuiltinESMExports()
}

t.test('a local pair is whole, wherever the process that makes it was killed', async (t) => {
  for (let fatal = 0; fatal < 6; fatal++)
    await t.test(`at step ${fatal}`, async (t) => {
      const folder = folderOf(t)
      await t.test('the crash', async (t) => {
        crashingAt(t, fatal)
        await t.rejects(localPair(folder, ['localhost']), { message: 'crash' })
      })
      const left = readdirSync(folder)
      t.notOk(
        left.includes('tls.crt') && left.includes('tls.key') && left.some((name) => name.endsWith('.new')),
        'no pair while a file of another one waits',
      )
      const pair = await localPair(folder, ['localhost'])
      t.equal(judgePair(pair, ['localhost'], now).problem, undefined)
      t.strictSame(judgePair(pair, ['localhost'], now).warnings, [], 'the CA is that of the pair')
      t.strictSame(readdirSync(folder).toSorted(), ['ca.crt', 'tls.crt', 'tls.key'])
      t.equal(readFileSync(join(folder, 'tls.key'), 'utf8'), pair.key)
      t.equal(statSync(join(folder, 'tls.key')).mode & 0o777, 0o600)
      t.equal((await localPair(folder, ['localhost'])).made, false)
    })
})

t.test('a local pair that is not valid now is not served', async (t) => {
  for (const [title, made, problem] of [
    ['by a clock that was ahead', 400 * DAY, /is valid from 2.* only; remove ca.crt, tls.crt, tls.key/],
    ['long ago', -400 * DAY, /expired at 2.*; remove ca.crt, tls.crt, tls.key to have them made anew$/],
  ] as const) {
    const folder = folderOf(t)
    await localPair(folder, ['localhost'], now + made)
    await t.rejects(localPair(folder, ['localhost'], now), { message: problem }, title)
  }
})

t.test('files written within the time to settle are not a problem', async (t) => {
  const folder = folderOf(t)
  writePair(folder, good)
  const { said, shows, files } = followed(t, folder, { settle: 500 })
  await shows(good)
  writeFileSync(join(folder, 'tls.crt'), second.certificate)
  const looked = files.check()
  writeFileSync(join(folder, 'tls.key'), second.key)
  await looked
  await shows(good, second)
  t.strictSame(said, [])
})

t.test('time alone makes a pair a problem, or good', async (t) => {
  const folder = folderOf(t)
  let clock = now
  writePair(folder, await odd(root, { begins: MINUTE, names: ['other'] }))
  const { said, pairs, files } = followed(t, folder, { now: () => clock, names: ['localhost'] })
  await files.check()
  t.match(said, [/is valid from/])
  clock += 2 * MINUTE
  await files.check()
  t.equal(pairs.length, 1)
  t.match(said.slice(1), [/^warning: .*localhost/])
  clock += HOUR
  await files.check()
  await files.check()
  t.match(said.slice(2), [/expired at/])
  t.equal(said.length, 3, 'once')
  t.equal(pairs.length, 1)
})

t.test('a pair that could not be used is handed over again', async (t) => {
  const folder = folderOf(t)
  writePair(folder, good)
  let calls = 0
  const onPair = () => {
    calls += 1
    if (calls === 1) throw new Error('not now')
  }
  const { files, said } = followed(t, folder, { onPair })
  await files.check()
  await files.check()
  t.strictSame([calls, said], [2, ['Error: not now']])
  t.match(files.status(), { pairs: 1, problem: undefined })
})

const MODEL: RotationSettings = {
  authorityLifetime: 300 * MINUTE,
  leafLifetime: 40 * MINUTE,
  propagation: 10 * MINUTE,
}

/** A CA for the state machine; its PEM texts are placeholders. */
function authority(name: string, issued: number, settings: RotationSettings = MODEL): SigningAuthority {
  return {
    certificate: `certificate of ${name}`,
    fingerprint: name,
    issued,
    expires: issued + settings.authorityLifetime,
    key: `key of ${name}`,
    longestLeaf: settings.leafLifetime,
  }
}
const leafOf = (ca: SigningAuthority, issued: number): Leaf => ({
  authority: ca,
  issued,
  expires: Math.min(issued + MODEL.leafLifetime, ca.expires),
})
const carrying = (minutes: Record<string, number>) =>
  new Map(Object.entries(minutes).map(([name, carried]) => [name, carried * MINUTE]))

t.test('what a step does', async (t) => {
  const [a, b, c] = [authority('a', 0), authority('b', 200 * MINUTE), authority('c', 0)]
  const fresh = authority('fresh', 0)
  const state = (
    current: SigningAuthority,
    next?: SigningAuthority,
    ...former: SigningAuthority[]
  ): AuthorityState => ({
    current,
    ...(next === undefined ? {} : { next }),
    former: former.map((each) => ({ ...each, until: 250 * MINUTE })),
  })
  interface Row {
    readonly title: string
    readonly stored: AuthorityState | undefined
    readonly at: number
    readonly observed?: Partial<Observed>
    readonly wants?: boolean
    readonly changes?: readonly RotationChange[]
    readonly bundle: string
    readonly sign?: string
    readonly next?: number
  }
  const rows: Row[] = [
    { title: 'nothing is stored', stored: undefined, at: 0, wants: true, bundle: '' },
    {
      title: 'it is made',
      stored: undefined,
      at: 0,
      observed: { fresh },
      changes: ['created'],
      bundle: 'fresh',
    },
    { title: 'the first one signs at once', stored: state(a), at: 0, bundle: 'a', sign: 'a' },
    {
      title: 'a leaf serves',
      stored: state(a),
      at: 1,
      observed: { leaf: leafOf(a, 0) },
      bundle: 'a',
      next: 60,
    },
    {
      title: 'a leaf is due at two thirds',
      stored: state(a),
      at: 27,
      observed: { leaf: leafOf(a, 0) },
      bundle: 'a',
      sign: 'a',
    },
    { title: 'almost', stored: state(a), at: 26.5, observed: { leaf: leafOf(a, 0) }, bundle: 'a', next: 10 },
    {
      title: 'a leaf from the future is from before the clock was set',
      stored: state(a),
      at: 3,
      observed: { leaf: leafOf(a, 10 * MINUTE) },
      bundle: 'a',
      sign: 'a',
    },
    { title: 'a CA is due at two thirds', stored: state(a), at: 200, wants: true, bundle: 'a', sign: 'a' },
    {
      title: 'it is prepared',
      stored: state(a),
      at: 200,
      observed: { fresh },
      changes: ['prepared'],
      bundle: 'a fresh',
      sign: 'a',
    },
    {
      title: 'it does not sign yet',
      stored: state(a, b),
      at: 205,
      observed: { propagatedFor: carrying({ a: 99, b: 9.9 }) },
      bundle: 'a b',
      sign: 'a',
    },
    {
      title: 'it may sign',
      stored: state(a, b),
      at: 210,
      observed: { propagatedFor: carrying({ a: 99, b: 10 }) },
      changes: ['promoted'],
      bundle: 'a b',
      sign: 'a',
    },
    {
      title: 'it signs',
      stored: state(b, undefined, a),
      at: 211,
      observed: { propagatedFor: carrying({ a: 99, b: 10 }), leaf: leafOf(a, 200 * MINUTE) },
      bundle: 'a b',
      sign: 'b',
    },
    {
      title: 'we have not seen it yet',
      stored: state(b, undefined, a),
      at: 211,
      observed: { propagatedFor: carrying({ a: 99, b: 9 }), leaf: leafOf(a, 200 * MINUTE) },
      bundle: 'a b',
    },
    {
      title: 'better than none',
      stored: state(b, undefined, a),
      at: 238.5,
      observed: { leaf: leafOf(a, 200 * MINUTE) },
      bundle: 'a b',
      sign: 'b',
    },
    {
      title: 'the old one stays',
      stored: state(b, undefined, a),
      at: 249.9,
      observed: { leaf: leafOf(b, 240 * MINUTE) },
      bundle: 'a b',
      next: 6,
    },
    {
      title: 'and leaves',
      stored: state(b, undefined, a),
      at: 250,
      observed: { leaf: leafOf(b, 240 * MINUTE) },
      changes: ['retired'],
      bundle: 'b',
    },
    {
      title: 'but not while we use it',
      stored: state(b, undefined, a),
      at: 250,
      observed: { leaf: leafOf(a, 240 * MINUTE) },
      changes: ['amended'],
      bundle: 'a b',
    },
    {
      title: 'a CA has expired: nobody waits',
      stored: state(a, b),
      at: 300,
      changes: ['replaced'],
      bundle: 'b',
    },
    { title: 'and none was prepared', stored: state(a), at: 300, wants: true, bundle: 'a' },
    {
      title: 'so one is made',
      stored: state(a),
      at: 300,
      observed: { fresh: authority('fresh', 300 * MINUTE) },
      changes: ['replaced'],
      bundle: 'fresh',
    },
    {
      title: 'a prepared one has expired',
      stored: state(b, c),
      at: 300,
      observed: { leaf: leafOf(b, 300 * MINUTE) },
      changes: ['amended'],
      bundle: 'b',
    },
    {
      title: 'near its end a CA signs no better leaves',
      stored: state(a, b),
      at: 299,
      observed: { leaf: leafOf(a, 290 * MINUTE) },
      bundle: 'a b',
    },
    {
      title: 'a CA that is not valid yet is replaced, and signs nothing',
      stored: state(authority('x', 500 * MINUTE)),
      at: 0,
      observed: { fresh },
      changes: ['replaced'],
      bundle: 'fresh',
    },
    {
      title: 'by the next one, if that is valid',
      stored: state(authority('x', 500 * MINUTE), b),
      at: 205,
      changes: ['replaced'],
      bundle: 'b',
    },
    {
      title: 'a next one that is not valid yet goes',
      stored: state(a, authority('x', 500 * MINUTE)),
      at: 10,
      changes: ['amended'],
      bundle: 'a',
      sign: 'a',
    },
    {
      title: 'a former one that is not valid yet goes, and the CA of the leaf stays',
      stored: state(authority('x', 500 * MINUTE), undefined, authority('y', 400 * MINUTE), c),
      at: 10,
      observed: { fresh, leaf: leafOf(a, 0) },
      changes: ['replaced', 'amended', 'retired'],
      bundle: 'a c fresh',
    },
    {
      title: 'a leaf that is not valid yet is not used',
      stored: state(a),
      at: 10,
      observed: { leaf: leafOf(authority('x', 500 * MINUTE), 500 * MINUTE) },
      bundle: 'a',
      sign: 'a',
    },
    {
      title: 'what we remember is not valid yet',
      stored: undefined,
      at: 10,
      observed: { remembered: state(authority('x', 500 * MINUTE), a), fresh },
      changes: ['created'],
      bundle: 'fresh',
    },
    {
      title: 'what we remember has a next one that is not valid yet',
      stored: undefined,
      at: 10,
      observed: { remembered: state(a, authority('x', 500 * MINUTE)), fresh },
      changes: ['restored', 'prepared'],
      bundle: 'a fresh',
    },
    {
      title: 'the Secret is gone: we remember',
      stored: undefined,
      at: 1,
      observed: { remembered: state(a) },
      changes: ['restored'],
      wants: true,
      bundle: 'a',
    },
    {
      title: 'and begin anew',
      stored: undefined,
      at: 1,
      observed: { remembered: state(a), fresh },
      changes: ['restored', 'prepared'],
      bundle: 'a fresh',
    },
    {
      title: 'unless that has begun',
      stored: undefined,
      at: 205,
      observed: { remembered: state(a, b) },
      changes: ['restored'],
      bundle: 'a b',
    },
    {
      title: 'what we remember has expired',
      stored: undefined,
      at: 300,
      observed: { remembered: state(a), fresh: authority('fresh', 300 * MINUTE) },
      changes: ['created'],
      bundle: 'fresh',
    },
    {
      title: 'a backup came back that does not know our leaf',
      stored: state(c),
      at: 150,
      observed: { leaf: leafOf(b, 149 * MINUTE) },
      changes: ['amended'],
      bundle: 'c b',
    },
    {
      title: 'a longer life is written down first',
      stored: state({ ...a, longestLeaf: MINUTE }),
      at: 0,
      changes: ['amended'],
      bundle: 'a',
      sign: 'a',
    },
    {
      title: 'but none that is longer than that of the CA',
      stored: state({ ...a, expires: 30 * MINUTE, longestLeaf: 30 * MINUTE }),
      at: 0,
      bundle: 'a',
      sign: 'a',
    },
  ]
  for (const { title, stored, at, observed, wants = false, changes = [], bundle, sign, next } of rows) {
    const before = JSON.stringify(stored)
    const result = step(stored, at * MINUTE, { propagatedFor: new Map(), ...observed }, MODEL)
    t.strictSame(
      [
        result.wantsFresh,
        result.changes,
        result.bundle.map(({ fingerprint }) => fingerprint).join(' '),
        result.sign?.authority.fingerprint,
      ],
      [wants, changes, bundle, sign],
      title,
    )
    if (changes.length === 0) t.equal(result.state, stored, `${title}: nothing to write`)
    if (next !== undefined) t.equal(result.nextCheck, next * SECOND, title)
    t.ok(result.nextCheck >= SECOND && result.nextCheck <= MINUTE, title)
    t.equal(JSON.stringify(stored), before)
  }
  const short = step(state({ ...a, longestLeaf: MINUTE }), 0, { propagatedFor: new Map() }, MODEL)
  t.equal(short.sign?.lifetime, MINUTE, 'and until then what is written down holds')
  t.equal(short.state?.current.longestLeaf, MODEL.leafLifetime)
  const promoted = step(state(a, b), 210 * MINUTE, { propagatedFor: carrying({ b: 10 }) }, MODEL).state
    ?.former[0]
  t.equal(promoted?.until, 300 * MINUTE, 'no longer than the CA itself')
  t.notOk(promoted !== undefined && 'key' in promoted)
  const big = step(
    state({ ...a, expires: DAY }, b),
    210 * MINUTE,
    { propagatedFor: carrying({ b: 10 }) },
    MODEL,
  )
  t.equal(big.state?.former[0]?.until, 250 * MINUTE + SLACK)
})

t.test('a week for leaves, renewed at two thirds, and ten minutes for a new CA to be known', async (t) => {
  t.strictSame(ROTATION, { authorityLifetime: 365 * DAY, leafLifetime: 7 * DAY, propagation: 10 * MINUTE })
  const one = replica(new MemorySecret(), { settings: ROTATION })
  await one.self.check()
  const first = certificateOf(one.pairs[0] ?? good)
  t.ok(Math.abs(first.validToDate.getTime() - (now + 7 * DAY)) <= SECOND)
  await one.after(4 * DAY + 16 * HOUR - MINUTE)
  t.equal(one.pairs.length, 1)
  await one.after(2 * MINUTE)
  t.equal(one.pairs.length, 2)
})

t.test('settings that cannot work', async (t) => {
  t.equal(problemWithSettings(ROTATION), undefined)
  t.equal(problemWithSettings(MODEL), undefined)
  const minutes = { authorityLifetime: 6 * MINUTE, leafLifetime: 2 * MINUTE, propagation: 30 * SECOND }
  t.equal(problemWithSettings(minutes), undefined)
  const rows: [fits: Partial<RotationSettings>, doesNot: Partial<RotationSettings>, problem: RegExp][] = [
    [{ leafLifetime: 30 * SECOND }, { leafLifetime: 30 * SECOND - 1 }, /30 seconds/],
    [{ leafLifetime: 2 * MINUTE }, { leafLifetime: 2 * MINUTE + 1 }, /three times/],
    [{ propagation: MINUTE }, { propagation: MINUTE + 1 }, /six times/],
  ]
  for (const [fits, doesNot, problem] of rows) {
    t.equal(problemWithSettings({ ...minutes, ...fits }), undefined, JSON.stringify(fits))
    t.match(problemWithSettings({ ...minutes, ...doesNot }), problem, JSON.stringify(doesNot))
  }
})

t.test('carried means: by every entry, without a break, up to the last look', async (t) => {
  let clock = 1_000
  const carried = new Propagation(() => clock)
  const look = (after: number, ...entries: string[][]) => {
    clock += after
    carried.observe(entries)
    return Object.fromEntries(carried.propagatedFor())
  }
  t.strictSame(look(0), {})
  t.strictSame(look(5, ['a', 'b'], ['a']), { a: 0 })
  t.strictSame(look(5, ['a', 'b'], ['b', 'a']), { a: 5, b: 0 })
  clock += 100
  t.strictSame(Object.fromEntries(carried.propagatedFor()), { a: 5, b: 0 })
  t.strictSame(look(0, ['b'], ['b', 'a']), { b: 100 })
  t.strictSame(look(1, ['a', 'b'], ['b', 'a']), { a: 0, b: 101 })
  t.strictSame(look(1), {})
})

/**
 * A simulated cluster for the rotation: the Secret, both webhook configurations, API servers that see them late, and
 * the replicas.
 */
class Model {
  now = 0
  stored: { state: AuthorityState | undefined; version: number } | undefined
  readonly replicas: Replica[]
  /** The CAs in both configurations since a time, oldest first. */
  readonly history: { readonly since: number; readonly carried: readonly ReadonlySet<string>[] }[] = [
    { since: -Infinity, carried: [new Set(), new Set()] },
  ]
  readonly violations: string[] = []
  made = 0
  #version = 0

  constructor(skews: readonly number[]) {
    this.replicas = skews.map((skew) => new Replica(this, skew))
  }

  get carried(): readonly ReadonlySet<string>[] {
    return this.history.at(-1)?.carried ?? []
  }

  write(state: AuthorityState | undefined): void {
    this.#version += 1
    this.stored = { state, version: this.#version }
  }

  carry(index: number, fingerprints: Iterable<string>): void {
    const carried = this.carried.map((each, at) => (at === index ? new Set(fingerprints) : each))
    this.history.push({ since: this.now, carried })
    for (const { carried: seen } of this.replicas) seen.observe(carried)
  }

  /**
   * Whether an API server that sees the configurations `late` milliseconds late accepts leaf certificates of the CA
   * now.
   */
  accepts(fingerprint: string, late: number): boolean {
    const seen = this.history.findLast(({ since }) => since <= this.now - late)
    return seen?.carried.every((each) => each.has(fingerprint)) ?? false
  }

  acceptsEverywhere(fingerprint: string): boolean {
    return [0, 0.3, 0.6, 0.99].every((part) => this.accepts(fingerprint, part * MODEL.propagation))
  }

  /** Simulates minutes. In each minute all replicas check; if `isWriting`, the first one then writes the CA bundles. */
  run(minutes: number, isWriting: boolean, judge: () => void = () => undefined): void {
    for (let minute = 0; minute < minutes; minute++) {
      this.now += MINUTE
      for (const replica of this.replicas) replica.carried.observe(this.carried)
      const turn = minute % 2 === 0 ? this.replicas : this.replicas.toReversed()
      for (const replica of turn) replica.check()
      judge()
      if (isWriting) this.replicas[0]?.sync()
    }
  }
}

class Replica {
  leaf: Leaf | undefined
  remembered: AuthorityState | undefined
  carried: Propagation
  readonly #model: Model
  readonly #skew: number
  #read: Model['stored']

  constructor(model: Model, skew: number) {
    this.#model = model
    this.#skew = skew
    this.carried = new Propagation(() => model.now)
  }

  restart(): void {
    this.leaf = undefined
    this.remembered = undefined
    this.carried = new Propagation(() => this.#model.now)
    this.#read = undefined
  }

  check(): void {
    for (let attempt = 0; attempt < 6; attempt++) {
      this.read()
      if (!this.change()) return
    }
  }

  read(): void {
    this.#read = this.#model.stored
    this.remembered = this.#read?.state ?? this.remembered
  }

  /**
   * Takes the rotation's next step for the state read last, which may be outdated. Returns whether there are more
   * steps.
   */
  change(): boolean {
    const model = this.#model
    const read = this.#read
    const now = model.now + this.#skew
    const observed = {
      propagatedFor: this.carried.propagatedFor(),
      leaf: this.leaf,
      remembered: this.remembered,
    }
    let next = step(read?.state, now, observed, MODEL)
    if (next.wantsFresh)
      next = step(read?.state, now, { ...observed, fresh: authority(`ca${model.made++}`, now) }, MODEL)
    if (next.state === read?.state) {
      if (next.sign !== undefined) this.#sign(next.sign.authority, next.sign.lifetime, now)
      return false
    }
    if (model.stored?.version === read?.version) model.write(next.state)
    return true
  }

  sync(): void {
    const { remembered } = this
    if (remembered === undefined) return
    const bundle = [remembered.current, ...(remembered.next ? [remembered.next] : []), ...remembered.former]
    for (const index of [0, 1])
      this.#model.carry(
        index,
        bundle.map(({ fingerprint }) => fingerprint),
      )
  }

  #sign(by: SigningAuthority, lifetime: number, now: number): void {
    const { leaf } = this
    const model = this.#model
    const isLate = leaf === undefined || now >= leaf.expires - (leaf.expires - leaf.issued) / 20
    const isOther = leaf?.authority.fingerprint !== by.fingerprint
    if (isOther && !isLate && !model.acceptsEverywhere(by.fingerprint))
      model.violations.push(`${by.fingerprint} signed before it was known`)
    this.leaf = { authority: by, issued: now, expires: Math.min(now + lifetime, by.expires) }
  }
}

/** Clock skews below a third of a leaf's lifetime: with more, a leaf expires before a slow clock renews it. */
const skews = fc.array(
  fc.integer({ min: -10, max: 10 }).map((minutes) => minutes * MINUTE),
  {
    minLength: 1,
    maxLength: 3,
  },
)
const who = fc.nat({ max: 2 })
/** Events of normal operation. */
const usual = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('run' as const),
      off: fc.nat({ max: 20 }),
      on: fc.integer({ min: 12, max: 60 }),
    }),
  },
  fc.record({ kind: fc.constant('restart' as const), who }),
  fc.record({
    kind: fc.constant('interleave' as const),
    order: fc.array(fc.record({ who, reads: fc.boolean() }), { maxLength: 12 }),
  }),
)
/**
 * Damage from outside: the Secret is lost or restored from a backup, a bundle is emptied, or a CA of the future is
 * stored.
 */
const disaster = fc.oneof(
  fc.record({ kind: fc.constant('lose' as const), garbage: fc.boolean() }),
  fc.record({ kind: fc.constant('backup' as const), ago: fc.nat({ max: 30 }) }),
  fc.record({ kind: fc.constant('wipe' as const), index: fc.nat({ max: 1 }) }),
  fc.record({
    kind: fc.constant('poison' as const),
    ahead: fc.integer({ min: 61, max: 1_000 }),
    place: fc.constantFrom('current' as const, 'next' as const),
  }),
)
type Command = typeof usual extends fc.Arbitrary<infer U> ? U : never
type Disaster = typeof disaster extends fc.Arbitrary<infer U> ? U : never

function perform(
  model: Model,
  command: Command | Disaster,
  judge: () => void,
  backups: AuthorityState[],
): void {
  const replica = (index: number) => model.replicas[index % model.replicas.length]
  switch (command.kind) {
    case 'run':
      model.run(command.off, false, judge)
      model.run(command.on, true, judge)
      break
    case 'restart':
      replica(command.who)?.restart()
      replica(command.who)?.check()
      break
    case 'interleave':
      for (const { who, reads } of command.order) {
        if (reads) replica(who)?.read()
        else replica(who)?.change()
      }
      break
    case 'lose':
      if (command.garbage) model.write(undefined)
      else model.stored = undefined
      break
    case 'backup':
      model.write(backups.at(-1 - command.ago) ?? backups[0])
      break
    case 'wipe':
      model.carry(command.index, [])
      break
    case 'poison': {
      const made = authority(`poison${model.made++}`, model.now + command.ahead * MINUTE)
      model.write({ current: made, former: [], ...model.stored?.state, [command.place]: made })
      break
    }
  }
}

t.test('API servers accept every replica at every moment of every rotation', async (t) => {
  let rotations = 0
  fc.assert(
    fc.property(skews, fc.array(usual, { maxLength: 40 }), (skews, commands) => {
      const model = new Model(skews)
      model.run(15, true)
      const judge = () => {
        for (const { leaf } of model.replicas) {
          if (leaf === undefined || leaf.expires <= model.now) throw new Error('a replica has no leaf')
          const { fingerprint } = leaf.authority
          if (!model.acceptsEverywhere(fingerprint)) throw new Error(`${fingerprint} is not accepted`)
          const { current, next, former } = model.stored?.state ?? {}
          const bundle = [current, next, ...(former ?? [])].map((each) => each?.fingerprint)
          if (!bundle.includes(fingerprint)) throw new Error(`${fingerprint} is not in the bundle`)
        }
        if (model.violations.length > 0) throw new Error(model.violations.join())
      }
      for (const command of commands) perform(model, command, judge, [])
      model.run(15, true, judge)
      const before = JSON.stringify(model.stored)
      for (const replica of model.replicas) replica.check()
      if (model.stored?.state?.next === undefined && JSON.stringify(model.stored) !== before)
        throw new Error('the replicas do not agree')
      const names = new Set(model.replicas.map(({ leaf }) => leaf?.authority.fingerprint))
      if (model.stored?.state?.next === undefined && names.size > 1)
        throw new Error('the replicas serve leaves of different CAs')
      if (model.now > 270 * MINUTE && model.stored?.state?.current.fingerprint === 'ca0')
        throw new Error('nothing was rotated')
      rotations += model.stored?.state?.current.fingerprint === 'ca0' ? 0 : 1
    }),
    { numRuns: 300 },
  )
  t.ok(rotations > 50, `${rotations} runs with rotations`)
})

t.test('whatever is done to the Secret and the configurations, it comes right again', async (t) => {
  fc.assert(
    fc.property(
      skews,
      fc.array(fc.oneof({ weight: 3, arbitrary: usual }, disaster), { maxLength: 30 }),
      (skews, commands) => {
        const model = new Model(skews)
        const backups: AuthorityState[] = []
        const note = () => {
          const state = model.stored?.state
          if (state !== undefined && state !== backups.at(-1)) backups.push(state)
          if (model.violations.length > 0) throw new Error(model.violations.join())
        }
        model.run(15, true, note)
        for (const command of commands) perform(model, command, note, backups)
        model.run(120, true, note)
        for (const { leaf, remembered } of model.replicas) {
          if (leaf === undefined || !model.acceptsEverywhere(leaf.authority.fingerprint))
            throw new Error('a replica is not accepted')
          if (leaf.authority.issued - HOUR > model.now) throw new Error('a CA is not valid yet')
          if (remembered?.current.fingerprint !== model.stored?.state?.current.fingerprint)
            throw new Error('the replicas do not agree')
        }
      },
    ),
    { numRuns: 300 },
  )
  t.pass()
})

/** A Secret in memory. Each entry of `failures` is thrown by one call. */
class MemorySecret implements SecretStore {
  stored: { readonly data: SecretData; readonly resourceVersion: string } | undefined
  readonly calls: string[] = []
  readonly failures: (Error | undefined)[] = []
  /** Functions to call before the next writes, one for each. */
  readonly before: (() => void)[] = []

  async read() {
    this.#call('read')
    return this.stored
  }

  async create(data: SecretData) {
    this.#call('create')
    if (this.stored !== undefined) throw new SecretConflict()
    this.put(data)
  }

  async update(data: SecretData, resourceVersion: string) {
    this.#call('update')
    if (this.stored?.resourceVersion !== resourceVersion) throw new SecretConflict()
    this.put({ ...this.stored.data, ...data })
  }

  put(data: SecretData | undefined) {
    const resourceVersion = String(Number(this.stored?.resourceVersion ?? 0) + 1)
    this.stored = data === undefined ? undefined : { data, resourceVersion }
  }

  #call(name: string) {
    this.calls.push(name)
    const failure = this.failures.shift()
    if (failure !== undefined) throw failure
    if (name !== 'read') this.before.shift()?.()
  }
}

/** Lifetimes of minutes instead of months. */
const BRISK: RotationSettings = {
  authorityLifetime: 30 * MINUTE,
  leafLifetime: 3 * MINUTE,
  propagation: MINUTE,
}

function replica(store: SecretStore, options: Partial<SelfManagedOptions> = {}) {
  /** The true time, and by how much this replica's clock is ahead. */
  const clock = { now, skew: 0 }
  const carried = new Propagation(() => clock.now)
  const said: string[] = []
  const pairs: ServingPair[] = []
  let bundle = ''
  const self = new SelfManaged({
    store,
    names: serviceNames('hook', 'system', ['127.0.0.1']),
    settings: BRISK,
    writes: true,
    propagatedFor: () => carried.propagatedFor(),
    onPair: (pair) => pairs.push(pair),
    onBundle: (next) => (bundle = next),
    onChange: (change) => said.push(change),
    onProblem: (problem) => said.push(`problem: ${problem}`),
    now: () => clock.now + clock.skew,
    clockOffset: () => clock.skew,
    ...options,
  })
  /** Lets time pass while both configurations contain the bundle, and then checks. */
  const after = async (milliseconds: number, carrying = bundle) => {
    const fingerprints = authoritiesIn(carrying).map(({ fingerprint }) => fingerprint)
    carried.observe([fingerprints, fingerprints])
    clock.now += milliseconds
    carried.observe([fingerprints, fingerprints])
    return self.check()
  }
  const signedBy = () => {
    const leaf = certificateOf(pairs.at(-1) ?? { certificate: '' })
    return authoritiesIn(bundle).find((each) => leaf.verify(certificateOf(each).publicKey))?.fingerprint
  }
  return { self, said, pairs, clock, after, signedBy, bundle: () => bundle }
}

const count = (bundle: string) => certificatesIn(bundle).length
const isFresh = ({ certificate }: { readonly certificate: string }, at: number) => {
  const { validFromDate, validToDate } = certificateOf({ certificate })
  return validFromDate.getTime() <= at && at < validToDate.getTime()
}

t.test('one that only reads signs by what is stored, and writes nothing', async (t) => {
  const store = new MemorySecret()
  const reader = replica(store, { writes: false })
  await reader.self.check()
  t.strictSame(
    [reader.pairs.length, reader.said.splice(0)],
    [0, ['problem: there is no CA in the Secret: the leader (--role leader) makes it']],
  )
  const leader = replica(store)
  await leader.self.check()
  const wait = await reader.self.check()
  t.ok(wait <= MINUTE)
  t.equal(reader.signedBy(), leader.signedBy())
  t.equal(reader.self.status().problem, undefined)
  for (let minute = 0; minute < 31; minute++) {
    await leader.after(MINUTE)
    await reader.after(MINUTE)
  }
  t.equal(reader.self.status().rotations, 1)
  t.equal(reader.signedBy(), leader.signedBy(), 'it follows a rotation')
  t.ok(reader.pairs.every(({ ca }) => ca !== ''))

  // The Secret and the leader are lost together. No other process has the CA of the leaf, so API servers stop trusting
  // it.
  const served = reader.pairs.length
  store.put(undefined)
  await reader.after(0)
  t.equal(reader.pairs.length, served, 'what is in use stays while nothing is stored')
  const successor = replica(store)
  successor.clock.now = reader.clock.now
  await successor.self.check()
  await reader.after(0)
  t.equal(reader.pairs.length, served + 1, 'a leaf of the new CA does not wait to be due')
  t.equal(reader.self.status().leafAuthority?.fingerprint, successor.self.status().authority?.fingerprint)
  const writes = store.calls.filter((call) => call !== 'read').length
  for (let i = 0; i < 3; i++) await reader.after(MINUTE)
  t.equal(store.calls.filter((call) => call !== 'read').length, writes)
  t.notOk(
    reader.said.some((each) => !each.startsWith('problem: ')),
    'it changed nothing',
  )
  reader.said.length = 0
  await reader.after(BRISK.authorityLifetime)
  t.strictSame(reader.said, [
    'problem: the CA in the Secret has expired: the leader (--role leader) makes another',
  ])
})

t.test('a replica makes the CA, rotates it and its leaf, and another one follows', async (t) => {
  const store = new MemorySecret()
  const one = replica(store)
  const wait = await one.self.check()
  t.ok(wait > 0 && wait <= MINUTE)
  t.strictSame(store.calls, ['read', 'create', 'read'])
  t.strictSame(one.said.splice(0), ['created'])
  t.equal(one.bundle(), one.pairs[0]?.ca)
  const first = one.signedBy()
  t.equal(one.self.status().authority?.fingerprint, first)
  t.notMatch(JSON.stringify(one.self.status()), /PRIVATE/)
  t.match(certificateOf(one.pairs[0] ?? good).subjectAltName, /hook\.system\.svc, .*IP Address:127\.0\.0\.1/)
  t.equal(judgePair(one.pairs[0] ?? good, ['hook.system.svc'], now).problem, undefined)

  const two = replica(store)
  await two.self.check()
  t.strictSame([two.signedBy(), two.said, count(two.bundle())], [first, [], 1])
  t.not(serial(two.pairs[0] ?? good), serial(one.pairs[0] ?? good))

  const both = async (milliseconds: number) => {
    await Promise.all([one.after(milliseconds), two.after(milliseconds)])
    await one.self.check()
  }
  await both(2 * MINUTE)
  t.equal(one.pairs.length, 2, 'renewed at two thirds')
  for (let minute = 2; minute < 20; minute++) await both(MINUTE)
  t.strictSame(
    [...one.said, ...two.said].filter((each) => each === 'prepared'),
    ['prepared'],
    'one of them prepares',
  )
  t.equal(count(one.bundle()), 2)
  t.equal(one.signedBy(), first)
  for (let minute = 0; minute < 4; minute++) await both(MINUTE)
  const next = one.signedBy()
  t.not(next, first)
  t.equal(two.signedBy(), next)
  t.match(one.self.status(), { rotations: 1, errors: 0, problem: undefined })
  t.equal(count(one.bundle()), 2, 'the old one stays')
  t.notMatch(store.stored?.data['former.crt'], /PRIVATE/)
  t.equal(store.stored?.data['next.key'], '')
  for (let minute = 24; minute < 31; minute++) await both(MINUTE)
  t.equal(count(one.bundle()), 1, 'and leaves')
  t.equal(two.bundle(), one.bundle())
  t.equal(two.bundle(), store.stored?.data['ca.crt'])
  t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now))
  const { expiry } = one.self.status()
  t.equal(expiry.authority, expiry.bundle)
  t.ok((expiry.leaf ?? 0) < (expiry.authority ?? 0))
})

t.test('a clock that jumps', async (t) => {
  const store = new MemorySecret()
  const one = replica(store)
  await one.self.check()
  await one.after(20 * MINUTE)
  t.strictSame(one.said, ['created', 'prepared'], 'a laptop that slept')
  t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now))
  await one.after(-2 * HOUR)
  t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now))
  t.equal(one.pairs.length, 3)
  await one.after(10 * DAY)
  t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now))
  t.strictSame(one.said.at(-1), 'replaced')
})

/** Clock errors, as rows of a title and milliseconds. */
const WRONG = [
  ['400 days ahead', 400 * DAY],
  ['250 days ahead', 250 * DAY],
  ['3 hours ahead', 3 * HOUR],
  ['3 hours behind', -3 * HOUR],
  ['400 days behind', -400 * DAY],
] as const

/** Whether an API server whose configurations contain the bundle accepts the certificate at the time. */
const isAccepted = (pair: ServingPair | undefined, bundle: string, at: number) =>
  pair !== undefined &&
  isFresh(pair, at) &&
  certificatesIn(bundle).some(
    (ca) => isFresh({ certificate: ca.toString() }, at) && certificateOf(pair).verify(ca.publicKey),
  )

/** The stored CAs that are not valid at that time. */
const invalidIn = (store: MemorySecret, at: number) =>
  certificatesIn(
    ['ca.crt', 'current.crt', 'next.crt', 'former.crt'].map((key) => store.stored?.data[key]).join(''),
  ).filter((ca) => !isFresh({ certificate: ca.toString() }, at))

t.test('a clock that is far off makes nothing, and follows what others store', async (t) => {
  for (const [title, skew] of WRONG)
    await t.test(title, async (t) => {
      const store = new MemorySecret()
      const [wrong, right] = [replica(store), replica(store)]
      wrong.clock.skew = skew
      const words = title.replace('ahead', 'ahead of')
      const problem = new RegExp(
        `^problem: the clock of this replica is ${words} the API server's: no certificate is made until`,
      )
      t.equal(await wrong.self.check(), 5 * SECOND)
      await wrong.after(5 * SECOND)
      t.strictSame([store.stored, wrong.pairs.length, wrong.said.length], [undefined, 0, 1], 'said once')
      t.match(wrong.said, [problem])
      t.match(wrong.self.status(), { errors: 2, clockProblem: problem.source.slice(10, 40) })

      await right.self.check()
      await wrong.after(5 * SECOND)
      t.equal(wrong.bundle(), right.bundle(), 'who leads writes the bundle of the others')
      t.equal(wrong.pairs.length, 0)
      wrong.clock.skew = 0
      await wrong.after(5 * SECOND)
      t.equal(wrong.self.status().clockProblem, undefined)
      t.equal(wrong.pairs.length, 1)

      const served = () => wrong.pairs.map(serial)
      const before = served()
      wrong.clock.skew = skew
      for (let minute = 0; minute < 40; minute++) {
        const calls = store.calls.length
        if (minute % 5 === 0) store.failures.push(new Error('away'))
        await wrong.after(MINUTE)
        t.ok(
          store.calls.slice(calls).every((call) => call === 'read'),
          'it writes nothing',
        )
        await right.after(MINUTE, wrong.bundle())
        t.strictSame(invalidIn(store, right.clock.now), [])
        t.ok(isAccepted(right.pairs.at(-1), wrong.bundle(), right.clock.now), 'by the bundle of both')
      }
      t.strictSame(served(), before)
      t.ok(right.self.status().rotations > 0)
      wrong.clock.skew = 0
      await wrong.after(MINUTE)
      t.ok(isAccepted(wrong.pairs.at(-1), right.bundle(), wrong.clock.now))
    })
})

t.test('how far a clock may be off', async (t) => {
  const rows: [skew: number | undefined, settings: RotationSettings, problem: RegExp | undefined][] = [
    [0, ROTATION, undefined],
    [30 * MINUTE, ROTATION, undefined],
    [-30 * MINUTE, ROTATION, undefined],
    [
      31 * MINUTE,
      ROTATION,
      /^the clock of this replica is 31 minutes ahead of the API server's: .* within 30 minutes$/,
    ],
    [-31 * MINUTE, ROTATION, /is 31 minutes behind the API server's: /],
    [20 * SECOND, BRISK, undefined],
    [40 * SECOND, BRISK, /is 40 seconds ahead of the API server's: .* within 30 seconds$/],
    [undefined, ROTATION, /^the clock cannot be compared: the API server's answers have no Date header/],
  ]
  for (const [skew, settings, problem] of rows) {
    const one = replica(new MemorySecret(), { settings, clockOffset: () => skew })
    await one.self.check()
    t.match(one.self.status().clockProblem ?? '', problem ?? /^$/, String(skew))
    t.equal(one.pairs.length, problem === undefined ? 1 : 0)
  }
})

t.test("two clocks at the ends of what is tolerated take each other's certificates", async (t) => {
  const store = new MemorySecret()
  const [ahead, behind] = [replica(store, { settings: ROTATION }), replica(store, { settings: ROTATION })]
  ahead.clock.skew = 30 * MINUTE
  behind.clock.skew = -30 * MINUTE
  await ahead.self.check()
  await behind.self.check()
  t.strictSame([ahead.said, behind.said], [['created'], []])
  for (const each of [ahead, behind]) t.ok(isAccepted(each.pairs[0], each.bundle(), now))
})

t.test('a CA of a clock that was far off is replaced, and does not come back', async (t) => {
  for (const [title, skew] of WRONG) {
    const poison = signingAuthority(
      await makeAuthority('poison', { now: now + skew, lifetime: 365 * DAY }),
      ROTATION.leafLifetime,
    )
    const places: [string, (state: AuthorityState) => AuthorityState][] = [
      ['alone', () => ({ current: poison, former: [] })],
      ['as the next one', (state) => ({ ...state, next: poison })],
      [
        'after a promotion',
        ({ current }) => ({ current: poison, former: [{ ...current, until: current.expires }] }),
      ],
      ['as a former one', (state) => ({ ...state, former: [{ ...poison, until: poison.expires }] })],
      [
        'everywhere',
        () => ({ current: poison, next: poison, former: [{ ...poison, until: poison.expires }] }),
      ],
    ]
    for (const [where, place] of places)
      await t.test(`${title}, ${where}`, async (t) => {
        const settings = ROTATION
        const store = new MemorySecret()
        const one = replica(store, { settings })
        await one.self.check()
        const state = parseState(store.stored?.data ?? {}).state
        if (state === undefined) throw new Error('no CA')
        store.put(formatState(place(state)))
        const poisoned = poison.certificate
        const late = replica(store, { settings })
        const isValidNow = isFresh(poison, now)
        for (let check = 0; check < 3; check++) {
          await one.after(SECOND, check === 0 ? poisoned : one.bundle())
          await late.after(SECOND, check === 0 ? poisoned : one.bundle())
          if (isValidNow) continue
          t.strictSame(invalidIn(store, now), [], 'it is not stored')
          for (const each of [one, late]) {
            t.notMatch(each.bundle(), poisoned, 'it is not in the bundle')
            t.ok(isAccepted(each.pairs.at(-1), one.bundle(), each.clock.now), 'writes pass')
          }
        }
        if (skew > 0 && !isValidNow)
          t.match(
            one.said.join('\n'),
            /^problem: the CA with SHA-256 .* is valid from 2.* only: a clock that/m,
          )
        t.equal(one.self.status().problem, undefined, 'it is mended')

        for (const data of [undefined, {}, formatState({ current: poison, former: [] })]) {
          store.put(data)
          for (let check = 0; check < 2; check++)
            for (const each of [one, late]) await each.after(SECOND, one.bundle())
          for (const each of [one, late]) {
            t.strictSame(isValidNow ? [] : invalidIn(store, now), [], 'it does not come back from memory')
            t.ok(isAccepted(each.pairs.at(-1), one.bundle(), each.clock.now), 'writes pass')
          }
        }
        t.equal(late.bundle(), one.bundle())
      })
  }
})

t.test('a cluster whose clocks were all ahead, and were set right', async (t) => {
  const store = new MemorySecret()
  const [one, two] = [replica(store, { settings: ROTATION }), replica(store, { settings: ROTATION })]
  for (const each of [one, two]) {
    each.clock.now = now + 250 * DAY
    await each.self.check()
  }
  for (const each of [one, two]) {
    each.clock.now = now
    await each.after(SECOND)
  }
  t.strictSame(invalidIn(store, now), [])
  for (const each of [one, two]) t.ok(isAccepted(each.pairs.at(-1), each.bundle(), now + SECOND))
  store.put(undefined)
  await one.after(SECOND)
  t.strictSame(invalidIn(store, now), [])
})

t.test('two replicas write at the same time', async (t) => {
  const store = new MemorySecret()
  const [one, two] = [replica(store), replica(store)]
  await Promise.all([one.self.check(), two.self.check(), one.self.check()])
  t.strictSame([...one.said, ...two.said], ['created'])
  t.equal(one.signedBy(), two.signedBy())
  t.equal(one.pairs.length, 1, 'checks at the same time are one')
  for (let time = 0; time < 6; time++) store.before.push(() => store.put(store.stored?.data))
  t.equal(await one.after(20 * MINUTE), 5 * SECOND)
  t.strictSame(one.said.at(-1), 'problem: the Secret changed 6 times while we wanted to write it')
  await one.self.check()
  t.strictSame(one.said.at(-1), 'prepared')
  t.equal(one.self.status().problem, undefined)
})

t.test('an API server that is away', async (t) => {
  const store = new MemorySecret()
  const down = new Error('no answer within 10 s')
  const one = replica(store)
  store.failures.push(down)
  t.equal(await one.self.check(), 5 * SECOND)
  t.equal(one.pairs.length, 0)
  await one.self.check()
  t.equal(one.pairs.length, 1)
  store.failures.push(down, down)
  await one.after(2 * MINUTE)
  t.equal(one.pairs.length, 2, 'a leaf that is due does not wait')
  await one.after(SECOND)
  t.strictSame(
    one.said,
    ['problem: no answer within 10 s', 'created', 'problem: no answer within 10 s'],
    'once',
  )
  t.match(one.self.status(), { errors: 3, problem: 'no answer within 10 s' })
  store.failures.push(undefined, new Error('403 forbidden'))
  await one.after(18 * MINUTE)
  t.strictSame(one.said.at(-1), 'problem: 403 forbidden')
  t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now), 'what is stored signs as long as it can')
})

t.test('a state of long ago signs nothing while a leaf still serves', async (t) => {
  const store = new MemorySecret()
  const settings = { authorityLifetime: 30 * DAY, leafLifetime: 3 * HOUR, propagation: MINUTE }
  const one = replica(store, { settings })
  await one.self.check()
  store.failures.push(...Array.from({ length: 2 }, () => new Error('away')))
  await one.after(2 * HOUR)
  t.equal(one.pairs.length, 1)
  await one.after(HOUR - 20 * SECOND)
  t.equal(one.pairs.length, 2, 'better than one that has expired until the next check')
})

t.test('a Secret of another installation, in the middle of a rotation and not to be written', async (t) => {
  const store = new MemorySecret()
  const [one, two] = [replica(store), replica(store)]
  await one.self.check()
  await two.self.check()
  const first = two.signedBy()
  await one.after(20 * MINUTE)
  await one.after(2 * MINUTE)
  await one.after(SECOND)
  t.not(one.signedBy(), first, 'one serves the next CA already, and two the first')
  const other = await makeAuthority('other', { now: one.clock.now, lifetime: HOUR })
  const foreign = formatState({ current: signingAuthority(other, BRISK.leafLifetime), former: [] })
  const before = one.bundle()
  store.put({ ...store.stored?.data, ...foreign })
  for (let check = 0; check < 3; check++) {
    store.failures.push(undefined, new Error('422 field is immutable'))
    await one.after(SECOND)
    for (const each of authoritiesIn(before))
      t.match(one.bundle(), each.certificate, 'the CA of each leaf stays in the bundle')
  }
  t.equal(count(one.bundle()), count(before) + 1)
  await one.after(SECOND)
  t.equal(one.bundle(), store.stored?.data['ca.crt'], 'and is written down when that works')
  await two.after(SECOND)
  t.equal(count(two.bundle()), count(before) + 1, 'so that the others learn of it')
  await one.after(2 * MINUTE)
  t.equal(one.signedBy(), authoritiesIn(other.certificate)[0]?.fingerprint)
})

t.test('a Secret that was deleted or spoilt', async (t) => {
  const fill = async () => {
    const store = new MemorySecret()
    const one = replica(store)
    await one.self.check()
    const first = one.signedBy()
    one.said.length = 0
    return { store, one, first, data: store.stored?.data ?? {} }
  }
  const other = await makeAuthority('other', { now, lifetime: DAY })
  const rows: [string, (data: SecretData) => SecretData | undefined, string[], number?][] = [
    ['deleted', () => undefined, ['restored', 'prepared']],
    ['emptied', () => ({}), ['restored', 'prepared']],
    [
      'garbage',
      (data) => ({ ...data, 'current.crt': 'x' }),
      ['restored', 'prepared', 'problem: current.crt and current.key cannot be used: no certificate in PEM'],
    ],
    [
      'the key of another',
      (data) => ({ ...data, 'current.key': other.key }),
      [
        'restored',
        'prepared',
        'problem: current.crt and current.key cannot be used: the key is that of another certificate',
      ],
    ],
    [
      'no key',
      (data) => ({ ...data, 'current.key': 'hush' }),
      ['restored', 'prepared', 'problem: current.crt and current.key cannot be used: no private key in PEM'],
    ],
    [
      'no CA',
      (data) => ({ ...data, 'current.crt': good.certificate, 'current.key': good.key }),
      [
        'restored',
        'prepared',
        'problem: current.crt and current.key cannot be used: the certificate is not that of a CA',
      ],
    ],
    [
      'of somebody else',
      () => ({ password: 'hush' }),
      ['restored', 'prepared', 'problem: current.crt and current.key are missing'],
    ],
    [
      'a next one that is none',
      (data) => ({ ...data, 'next.crt': 'x' }),
      ['problem: next.crt and next.key cannot be used: no certificate in PEM'],
      1,
    ],
    [
      'former ones that are none',
      (data) => ({ ...data, 'former.crt': 'x' }),
      ['problem: former.crt cannot be used: no certificates in PEM'],
      1,
    ],
    ['no times', (data) => ({ ...data, 'rotation.json': '{' }), [], 1],
    [
      'another CA',
      () => formatState({ current: signingAuthority(other, BRISK.leafLifetime), former: [] }),
      ['amended'],
    ],
    [
      'the next one is left',
      (data) => ({ ...data, 'current.crt': 'x', 'next.crt': other.certificate, 'next.key': other.key }),
      ['amended', 'problem: current.crt and current.key cannot be used: no certificate in PEM'],
    ],
  ]
  for (const [title, spoil, said, authorities = 2] of rows) {
    const { store, one, first, data } = await fill()
    store.put(spoil(data))
    await one.after(SECOND)
    t.strictSame(one.said, said, title)
    t.equal(count(one.bundle()), authorities, title)
    t.equal(one.signedBy(), first, `${title}: the leaf in use stays trusted`)
    t.notMatch(one.said.join(), /hush|PRIVATE/)
    await one.self.check()
    t.equal(one.self.status().problem, undefined, `${title}: is mended`)
    const stored = parseState(store.stored?.data ?? {})
    t.strictSame(stored.problems, [], title)
    if (title === 'of somebody else') t.equal(store.stored?.data.password, 'hush', 'what is not ours is kept')
    for (let minute = 0; minute < 3; minute++) await one.after(MINUTE)
    t.equal(one.signedBy(), one.self.status().authority?.fingerprint, title)
    t.ok(isFresh(one.pairs.at(-1) ?? good, one.clock.now), title)
  }
  const { store, data } = await fill()
  store.put({ ...data, 'current.key': 'x' })
  const late = replica(store)
  await late.self.check()
  t.match(late.said, ['created', /^problem: current.crt/], 'nobody remembers')
})

t.test('what is stored comes back as it was', async (t) => {
  const state: AuthorityState = {
    current: signingAuthority(root, 5 * MINUTE),
    next: signingAuthority(stranger, HOUR),
    former: authoritiesIn((await makeAuthority('old', long)).certificate).map((each) => ({
      ...each,
      until: now,
    })),
  }
  const data = formatState(state)
  t.strictSame(parseState(data), { state, problems: [] })
  t.strictSame(Object.keys(data), [
    'ca.crt',
    'current.crt',
    'current.key',
    'next.crt',
    'next.key',
    'former.crt',
    'rotation.json',
  ])
  t.equal(count(data['ca.crt'] ?? ''), 3)
  t.notMatch(data['ca.crt'], /PRIVATE/)
  const { state: assumed } = parseState({ ...data, 'rotation.json': '' })
  t.equal(assumed?.former[0]?.until, state.former[0]?.expires, 'the longest is assumed')
  t.equal(assumed?.current.longestLeaf, state.current.expires - state.current.issued)
  t.throws(() => signingAuthority(good, 1), /not that of a CA/)
})

t.test('run checks until it is stopped', async (t) => {
  const store = new MemorySecret()
  const one = replica(store)
  const stopped = new AbortController()
  const running = one.self.run(stopped.signal)
  await until('a leaf', () => one.pairs.length > 0)
  stopped.abort()
  await running
  t.throws(() => replica(store, { settings: { ...BRISK, leafLifetime: DAY } }), /three times/)
})

/** An HTTPS server that answers with the reason why it refuses the client; returns its port. */
async function gated(t: Test, policy: { ca: string; subjects: string[] }, at: () => number) {
  const gate = clientGate(policy, at)
  const server = createServer(
    { cert: good.certificate, key: good.key, ...clientTlsOptions(policy) },
    (request, response) => response.end(gate(request.socket) ?? 'welcome'),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return (client: Partial<KeyedCertificate>, agent?: Agent) =>
    new Promise<string>((resolve, reject) => {
      const { certificate: cert, key } = client
      const tls = { ca: root.certificate, ...(cert === undefined ? {} : { cert, key }) }
      request({ port, host: '127.0.0.1', ...tls, agent: agent ?? false }, (answer) => {
        let text = ''
        answer.on('data', (part: Buffer) => (text += part.toString())).on('end', () => resolve(text))
      })
        .on('error', reject)
        .end()
    })
}

t.test('clients are judged by their certificate', async (t) => {
  let clock = now
  const CLIENT = ['1.3.6.1.5.5.7.3.2']
  const policy = { ca: root.certificate, subjects: ['kube-apiserver', 'spiffe.example'] }
  const ask = await gated(t, policy, () => clock)
  const client = (subject: string, more: Parameters<typeof odd>[1] = {}, issuer = root) =>
    odd(issuer, { usages: CLIENT, names: [], subject, ...more })
  const rows: [string, Partial<KeyedCertificate>, RegExp][] = [
    ['none', {}, /^a client certificate is required$/],
    ['by CN', await client('CN=kube-apiserver'), /^welcome$/],
    ['by CN among others', await client('O=system:masters, CN=kube-apiserver'), /^welcome$/],
    ['by SAN', await client('CN=x', { names: ['spiffe.example'] }), /^welcome$/],
    [
      'another CN',
      await client('CN=somebody'),
      /^the client certificate is for none of the allowed subjects$/,
    ],
    ['another attribute', await client('O=kube-apiserver'), /for none of the allowed subjects$/],
    [
      'a CN that only looks so',
      await client('CN="x, CN=kube-apiserver"'),
      /for none of the allowed subjects$/,
    ],
    [
      'of another CA',
      await client('CN=kube-apiserver', {}, stranger),
      /^the client certificate is not accepted: UNABLE_TO/,
    ],
    [
      'self-signed',
      await odd(undefined, { usages: CLIENT, subject: 'CN=kube-apiserver' }),
      /is not accepted: /,
    ],
    [
      'for servers',
      await client('CN=kube-apiserver', { usages: ['1.3.6.1.5.5.7.3.1'] }),
      /is not accepted: INVALID_PURPOSE$/,
    ],
    ['expired', await client('CN=kube-apiserver', { ends: -MINUTE }), /is not accepted: CERT_HAS_EXPIRED$/],
  ]
  for (const [title, certificate, answer] of rows) t.match(await ask(certificate), answer, title)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const kept = await client('CN=kube-apiserver')
  t.equal(await ask(kept, agent), 'welcome')
  clock += 2 * HOUR
  t.equal(await ask(kept, agent), 'the client certificate has expired', 'on a connection that is kept')
  const all = await gated(t, { ...policy, subjects: [] }, () => now)
  t.equal(await all(await client('CN=somebody')), 'welcome')
  t.match(await all({}), /required/)
  t.match(
    judgeClient({ client: { names: [], begins: 5, expires: 9 }, refusal: undefined }, [], 4),
    /not valid yet/,
  )
  t.equal(problemWithClientAuthorities(root.certificate), undefined)
  t.equal(problemWithClientAuthorities('x'), 'no certificate in PEM')
  t.equal(
    problemWithClientAuthorities(root.certificate.repeat(2).slice(0, -60)),
    'the last certificate is cut off',
  )
  t.equal(problemWithClientAuthorities(good.certificate), 'one of the certificates is not that of a CA')
})

t.test('the CAs of clients are read again, and stay while the file is wrong', async (t) => {
  const file = join(t.testdir({ 'ca.crt': root.certificate }), 'ca.crt')
  const lines: unknown[] = []
  const logger = {
    info: (...said: unknown[]) => lines.push(said),
    error: (...said: unknown[]) => lines.push(said),
  }
  const clients = await ClientAuthorities.open(file, logger)
  const both = root.certificate + stranger.certificate
  const rows: [content: string | undefined, inUse: string, line: RegExp | undefined][] = [
    [root.certificate, root.certificate, undefined],
    ['x', root.certificate, /--client-ca: .*: no certificate in PEM.*the CAs in use stay/],
    ['y', root.certificate, undefined],
    [undefined, root.certificate, /--client-ca: .* does not exist.*the CAs in use stay/],
    [good.certificate, root.certificate, /not that of a CA.*the CAs in use stay/],
    [both, both, /other CAs are in use/],
    ['x', both, /no certificate in PEM.*the CAs in use stay/],
    [stranger.certificate, stranger.certificate, /other CAs are in use/],
  ]
  for (const [content, inUse, line] of rows) {
    if (content === undefined) rmSync(file)
    else writeFileSync(file, content)
    const before = clients?.tls.ca
    t.equal(await clients?.check(), before !== inUse)
    t.equal(clients?.tls.ca, inUse)
    t.match(JSON.stringify(lines.splice(0)), line ?? /^\[\]$/)
  }
  await t.rejects(ClientAuthorities.open(`${file}.other`, logger), {
    message: /^--client-ca: .* does not exist$/,
  })
  t.equal(await ClientAuthorities.open('', logger), undefined)
})

t.test('what a replica serves is what the bundle trusts, over TLS', async (t) => {
  const one = replica(new MemorySecret(), { settings: ROTATION })
  await one.self.check()
  const [pair] = one.pairs
  const server = createServer({ cert: good.certificate, key: good.key }, (_request, response) =>
    response.end('ok'),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  server.setSecureContext({ cert: pair?.certificate, key: pair?.key })
  const { port } = server.address() as AddressInfo
  const ask = (servername: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const target = { port, host: '127.0.0.1', servername, ca: one.bundle(), agent: false as const }
      request(target, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end()
    })
  t.equal(await ask('hook.system.svc'), 200)
  await t.rejects(ask('other.system.svc'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})

t.test(
  'a certificate from files needs the names by which it is called: of the Service, or of the URL alone',
  async (t) => {
    const names = (...args: string[]) => calledNames(readFlags(SERVER_FLAGS, args, {}).values)
    t.match(names(), ['vmcp-admission.vmcp-system.svc'])
    t.strictSame(names('--webhook-url', 'https://hooks.example.com:8443'), ['hooks.example.com'])
    t.strictSame(names('--webhook-url', 'https://[::1]:8443'), ['::1'])
    const { values } = readFlags(SERVER_FLAGS, ['--webhook-url', 'https://[fd00::1]:8443'], {})
    t.ok(servingNames(values).includes('fd00::1'), 'a self-managed one too, for an address')
  },
)

t.test('no configuration is written without the CA that the server manages', (t) => {
  const { values } = readFlags(SERVER_FLAGS, ['--certificates', 'self-managed'], {})
  t.throws(() => clientConfigOf(values, undefined, '/validate'), /the CA in the Secret is not known yet/)
  t.match(clientConfigOf(values, 'a', '/validate'), { caBundle: 'YQ==' })
  const { values: files } = readFlags(SERVER_FLAGS, ['--certificates', 'files'], {})
  t.notOk('caBundle' in clientConfigOf(files, undefined, '/validate'), 'another tool injects it')
  t.end()
})

t.test('who writes the webhook configurations, and what they say, by the flags', async (t) => {
  const requests: string[] = []
  const answer: Answer = (response) => {
    const isRead = response.req.method === 'GET'
    if (isRead) refusal(404, 'not found')(response)
    else json(response.req.method === 'POST' ? 201 : 200, {})(response)
  }
  const server = await fakeApiServer(t, '/apis/', { lists: [heard(requests, answer)] })
  const access = await fromKubeconfig(server.kubeconfig)
  const opened = (given: readonly string[], connection: ClusterConnection | undefined) =>
    openArming(readFlags(SERVER_FLAGS, given, {}).values, connection, undefined, pino({ level: 'silent' }))
  t.throws(() => opened(['--role', 'leader'], undefined), {
    message: '--role leader writes the webhook configurations: give --arming on or ignore',
  })
  t.throws(() => opened(['--arming', 'on'], undefined), {
    message: '--arming on writes to a cluster: give --kubeconfig FILE',
  })
  t.equal(opened(['--arming', 'off'], undefined), undefined)

  const scaled = (deployment: string) => `kubectl -n vmcp scale deployment ${deployment} --replicas=0`
  /** Flags, whether the process writes the configurations, and texts that the applied configurations contain. */
  const rows: [readonly string[], boolean, readonly string[]][] = [
    [
      [],
      true,
      [
        '"service":{"namespace":"vmcp","name":"vmcp-admission","port":443,"path":"/validate"}',
        scaled('vmcp-admission'),
      ],
    ],
    [['--role', 'leader'], true, [scaled('vmcp-admission-leader')]],
    [['--role', 'webhook'], false, []],
    [
      ['--webhook-url', 'https://hooks.example.com'],
      true,
      [
        '"url":"https://hooks.example.com/validate"',
        'First: stop every server that runs with --arming. Then:',
      ],
    ],
  ]
  for (const [given, writes, texts] of rows) {
    requests.length = 0
    const connection = new ClusterConnection(access)
    const ended = new AbortController()
    const arming = opened(['--arming', 'on', '--namespace', 'vmcp', ...given], connection)
    const run = arming?.run(ended.signal)
    const applied = () =>
      requests.find((each) => /^PATCH .*validatingwebhookconfigurations.*force=true/.test(each))
    await until('a pass', () => (writes ? applied() : requests.some((each) => each.startsWith('GET'))))
    ended.abort()
    await run
    connection.close()
    t.equal(applied() !== undefined, writes, given.join(' '))
    for (const text of texts) t.ok(applied()?.includes(text), `${given.join(' ')}: ${text}`)
  }
})
