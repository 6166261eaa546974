import t from 'tap'
import { isInsideCluster, isPrivateAddress } from '../src/rule/address.ts'
import { isLoopback, parseUrl } from '../src/rule/url.ts'

/**
 * The scheme, whether there is user information, the host and the port; undefined where `net/url.Parse` of Go 1.26
 * returns an error.
 */
type Cut = readonly [scheme: string, hasUserInfo: boolean, host: string, port: string] | undefined

/** Results recorded from Go; percent-escapes in hosts are kept. */
const recorded: readonly (readonly [text: string, expected: Cut])[] = [
  ['', ['', false, '', '']],
  ['*', ['', false, '', '']],
  ['https://auth.example.com', ['https', false, 'auth.example.com', '']],
  ['http://auth.example.com:8080/mcp', ['http', false, 'auth.example.com', '8080']],
  ['HTTPS://Auth.Example.com', ['https', false, 'Auth.Example.com', '']],
  ['https://', ['https', false, '', '']],
  ['https:///auth', ['https', false, '', '']],
  ['https://:8443', ['https', false, '', '8443']],
  ['https:auth', ['https', false, '', '']],
  ['https:/auth', ['https', false, '', '']],
  ['/auth', ['', false, '', '']],
  ['//auth.example.com/x', ['', false, 'auth.example.com', '']],
  ['///auth', ['', false, '', '']],
  ['auth.example.com', ['', false, '', '']],
  ['auth.example.com:8080', ['auth.example.com', false, '', '']],
  ['a/b:c', ['', false, '', '']],
  [':80', undefined],
  ['1https://a', undefined],
  ['ht+tp.-://a', ['ht+tp.-', false, 'a', '']],
  ['ht_tp://a', undefined],
  ['mailto:%zz', ['mailto', false, '', '']],
  ['/%zz', undefined],
  ['https://a/%zz', undefined],
  ['https://a/%2', undefined],
  ['https://a/%2F', ['https', false, 'a', '']],
  ['https://a?%zz', ['https', false, 'a', '']],
  ['https://a#%zz', undefined],
  ['https://a#%20', ['https', false, 'a', '']],
  ['https://a#\n', ['https', false, 'a', '']],
  ['https://a?b#c', ['https', false, 'a', '']],
  ['https://a?//b@c', ['https', false, 'a', '']],
  ['http://localhost', ['http', false, 'localhost', '']],
  ['http://LOCALHOST:', ['http', false, 'LOCALHOST', '']],
  ['http://localhost:99999', ['http', false, 'localhost', '99999']],
  ['http://localhost:8x', undefined],
  ['http://localhost:-1', undefined],
  ['http://a:1:2', undefined],
  ['ftp://a:1:2', ['ftp', false, 'a:1', '2']],
  ['ftp://a:b:c', undefined],
  ['http://127.0.0.1', ['http', false, '127.0.0.1', '']],
  ['http://127.1', ['http', false, '127.1', '']],
  ['http://2130706433', ['http', false, '2130706433', '']],
  ['http://127.0.0.1\\@evil.com', undefined],
  ['http://127.0.0.1@evil.com', ['http', true, 'evil.com', '']],
  ['http://user:pass@host:1', ['http', true, 'host', '1']],
  ['http://a@b@c', ['http', true, 'c', '']],
  ['http://@host', ['http', true, 'host', '']],
  ['http://us er@host', undefined],
  ['http://us%20er@host', ['http', true, 'host', '']],
  ['http://us%2@host', undefined],
  ['http://üser@host', undefined],
  ['http://[::1]', ['http', false, '::1', '']],
  ['http://[::1]:8080/x', ['http', false, '::1', '8080']],
  ['http://[::1]:', ['http', false, '::1', '']],
  ['http://[::1]x', undefined],
  ['http://[::1', undefined],
  ['http://::1', undefined],
  ['http://x[::1]', undefined],
  ['http://[]', undefined],
  ['http://[1.2.3.4]', undefined],
  ['http://[::ffff:127.0.0.1]', ['http', false, '::ffff:127.0.0.1', '']],
  ['http://[::01.2.3.4]', undefined],
  ['http://[0:0:0:0:0:0:0:1]', ['http', false, '0:0:0:0:0:0:0:1', '']],
  ['http://[1::2::3]', undefined],
  ['http://[1:2:3:4:5:6:7::]', ['http', false, '1:2:3:4:5:6:7::', '']],
  ['http://[1:2:3:4:5:6:7:8::]', undefined],
  ['http://[00001::]', undefined],
  ['http://[fe80::1%25eth0]', ['http', false, 'fe80::1%25eth0', '']],
  ['http://[fe80::1%25]', undefined],
  ['http://[fe80::1%eth0]', undefined],
  ['http://[fe80::1%25a%20b]', ['http', false, 'fe80::1%25a%20b', '']],
  ['http://[fe80::1%25a%2Fb]', undefined],
  ['http://[fe80::1%25a%C3]', undefined],
  ['http://a b', undefined],
  ['http://a%20b', undefined],
  ['http://a%25b', ['http', false, 'a%25b', '']],
  ['http://a%C3%A9', ['http', false, 'a%C3%A9', '']],
  ['http://é.example', ['http', false, 'é.example', '']],
  ['http://ｌocalhost', ['http', false, 'ｌocalhost', '']],
  ['http://a\\b', undefined],
  ['http://a^b', undefined],
  ['http://a"<>b', ['http', false, 'a"<>b', '']],
  ['http://a]b', ['http', false, 'a]b', '']],
  ['http://a\u0000b', undefined],
  ['http://a\u007f', undefined],
  ['http://a\tb', undefined],
  ['http://a\u0085b', ['http', false, 'a\u0085b', '']],
  [' http://a', undefined],
  ['http://a ', undefined],
  ['http://😀', ['http', false, '😀', '']],
]

t.test('every URL is cut as Go cuts it', async (t) => {
  for (const [text, expected] of recorded) {
    const url = parseUrl(text)
    t.strictSame(url && [url.scheme, url.hasUserInfo, url.host, url.port], expected, JSON.stringify(text))
  }
})

t.test('hosts that are loopback, and hosts that only look so', async (t) => {
  for (const host of ['localhost', 'LocalHost', '127.0.0.1', '127.255.0.9', '::1']) {
    t.equal(isLoopback(host), true, host)
  }
  for (const host of NOT_LOOPBACK) t.equal(isLoopback(host), false, host)
})

const NOT_LOOPBACK = [
  '',
  '127.1',
  '127.0.0.01',
  '127.0.0.256',
  '127.0.0.1.',
  '127.0.0.1.nip.io',
  '0127.0.0.1',
  '0x7f.0.0.1',
  '2130706433',
  '128.0.0.1',
  '0.0.0.0',
  '0:0:0:0:0:0:0:1',
  '::01',
  '::ffff:127.0.0.1',
  '::1%25lo',
  '::',
  'localhost.',
  'app.localhost',
  'localhost\n',
  'localho\u017ft',
  '\uff4cocalhost',
  '\u0661\u0662\u0667.0.0.1',
]

t.test('a long text takes linear time', async (t) => {
  const size = 7 * 1024 * 1024
  const texts = [
    'a'.repeat(size),
    `http://${'@'.repeat(size)}`,
    `http://${'%25'.repeat(size / 4)}`,
    `http://[${'1:'.repeat(size / 2)}]`,
    `http://[::1%25${'%41'.repeat(size / 4)}]`,
    `http://a:${'8'.repeat(size)}x`,
  ]
  for (const text of texts) t.doesNotThrow(() => parseUrl(text), `${text.slice(0, 12)}…`)
})

t.test('hosts at private addresses, as the operator sees them', async (t) => {
  const rows: [host: string, isPrivate: boolean, isInside: boolean][] = [
    ['10.0.0.7', true, true],
    ['172.16.0.1', true, true],
    ['172.32.0.1', false, false],
    ['100.64.0.1', true, true],
    ['192.168.1.20', true, true],
    ['203.0.113.9', true, true],
    ['8.8.8.8', false, false],
    ['10.0.0', false, false],
    ['::1', true, true],
    ['::ffff:10.0.0.1', true, true],
    ['::ffff:8.8.8.8', false, false],
    ['fd00::1', true, true],
    ['2001:4860::1', false, false],
    ['keycloak', false, true],
    ['keycloak.auth.svc', false, true],
    ['keycloak.auth.svc.cluster.local', false, true],
    ['localhost', false, false],
    ['idp.example.com', false, false],
    ['x.svc.example.com', false, false],
  ]
  for (const [host, isPrivate, isInside] of rows) {
    t.equal(isPrivateAddress(host), isPrivate, host)
    t.equal(isInsideCluster(host), isInside, host)
  }
})
