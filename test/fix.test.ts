import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { stringify } from 'yaml'
import { judgeAlone } from '../src/cli/commands/judge-documents.ts'
import { withDefaults } from '../src/cli/fix/fix-all.ts'
import { loadDocuments } from '../src/cli/input/load.ts'
import { documentsOf } from '../src/cli/input/texts.ts'
import { knownRelease } from '../src/configuration/known-releases.ts'
import { DEFAULT_API_GROUP } from '../src/kinds/index.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { authServer as authServerOf, backend, gateway, group } from '../src/relations/examples.ts'
import { isObject } from '../src/rule/resource.ts'
import { runCli } from './support/cli.ts'
import { fixed, HEAD, JUDGING, NEWEST, type Written, writtenAs } from './support/fixed.ts'

const folder = await mkdtemp(join(tmpdir(), 'vmcp-admission-fix-'))
t.teardown(() => rm(folder, { recursive: true }))
t.setTimeout(300_000)

const findings = (text: string, release?: typeof NEWEST) =>
  judgeAlone(documentsOf(new Map([['a.yaml', text]])), { ...JUDGING, release }).report.findings

const API = `${DEFAULT_API_GROUP}/v1beta1`
const ROLE = 'arn:aws:iam::123456789012:role/reader'
const sts = (spec: string) => `${HEAD}spec:\n${spec}`
const STS = `  type: awsSts\n  awsSts:\n    region: eu-central-1\n    fallbackRoleArn: ${ROLE}\n`

t.test('comments and layout stay', async (t) => {
  const rows: [title: string, before: string, after: string, left?: number][] = [
    [
      'a misspelt kind',
      sts(STS).replace('MCPExternalAuthConfig', 'MCPExternalAuthConfg # x'),
      sts(STS).replace('MCPExternalAuthConfig', 'MCPExternalAuthConfig # x'),
    ],
    ['a group of an older domain', sts(STS).replace('stacklok.dev', 'stacklok.io'), sts(STS)],
    [
      'a comment behind the value',
      sts(STS.replace('eu-central-1', 'eu-central-1a  # zone')),
      sts(STS.replace('eu-central-1', 'eu-central-1  # zone')),
    ],
    [
      'double quotes',
      sts(STS.replace('awsSts\n', '"aws_sts"\n')),
      sts(STS.replace('awsSts\n', '"awsSts"\n')),
    ],
    [
      'single quotes',
      sts(STS.replace('awsSts\n', "'AWSSTS' # x\n")),
      sts(STS.replace('awsSts\n', "'awsSts' # x\n")),
    ],
    [
      'snake case, and a comment above',
      sts(STS.replace('    fallbackRoleArn', '    # who\n    fallback_role_arn')),
      sts(STS.replace('    fallbackRoleArn', '    # who\n    fallbackRoleArn')),
    ],
    [
      'flow style',
      sts(`  {type: awsSts, aws_sts: {region: eu-central-1, fallbackRoleArn: "${ROLE}"}}\n`),
      sts(`  {type: awsSts, awsSts: {region: eu-central-1, fallbackRoleArn: "${ROLE}"}}\n`),
    ],
    [
      'the old version, with a comment',
      sts(STS).replace('v1beta1', 'v1alpha1 # old'),
      sts(STS).replace('v1beta1', 'v1beta1 # old'),
    ],
    [
      'CRLF',
      sts(STS.replace('eu-central-1', 'eu-central-1b')).replaceAll('\n', '\r\n'),
      sts(STS).replaceAll('\n', '\r\n'),
    ],
    ['a byte order mark', `\ufeff${sts(STS).replace('v1beta1', 'v1alpha1')}`, `\ufeff${sts(STS)}`],
    [
      'several documents',
      `${sts(STS)}---\n# second\n${sts(STS.replace('region', 'Region'))}---\nkind: Other\n`,
      `${sts(STS)}---\n# second\n${sts(STS)}---\nkind: Other\n`,
    ],
    ['no line end', sts(STS.replace('region', 'Region')).trimEnd(), sts(STS).trimEnd()],
    [
      'both spellings are given',
      sts(`${STS}    fallback_role_arn: ${ROLE}\n`),
      sts(`${STS}    fallback_role_arn: ${ROLE}\n`),
    ],
    [
      'another type than the field has',
      sts(STS.replace('region: eu-central-1', 'Region: [eu-central-1]')),
      sts(STS.replace('region: eu-central-1', 'Region: [eu-central-1]')),
    ],
    [
      'a part that an alias shares',
      sts(`${STS}    roleMappings:\n      - &m\n        roleArn: ${ROLE}\n        clam: a\n      - *m\n`),
      sts(`${STS}    roleMappings:\n      - &m\n        roleArn: ${ROLE}\n        clam: a\n      - *m\n`),
      1,
    ],
    [
      'a bare reference, and one in JSON',
      'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: a}\nspec:\n  groupRef: {name: a}\n  incomingAuth:\n    type: oidc\n    oidcConfigRef: {name: a, audience: a}\n  outgoingAuth:\n    source: inline\n    default:\n      type: externalAuthConfigRef\n      externalAuthConfigRef: jira # mine\n',
      'apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: a}\nspec:\n  groupRef: {name: a}\n  incomingAuth:\n    type: oidc\n    oidcConfigRef: {name: a, audience: a}\n  outgoingAuth:\n    source: inline\n    default:\n      type: externalAuthConfigRef\n      externalAuthConfigRef: {name: jira} # mine\n',
    ],
    [
      'JSON',
      JSON.stringify(
        {
          apiVersion: 'toolhive.stacklok.dev/v1alpha1',
          kind: 'MCPExternalAuthConfig',
          metadata: { name: 'a' },
          spec: { type: 'aws_sts', aws_sts: { region: 'eu-central-1', fallbackRoleArn: ROLE } },
        },
        null,
        2,
      ),
      JSON.stringify(
        {
          apiVersion: 'toolhive.stacklok.dev/v1beta1',
          kind: 'MCPExternalAuthConfig',
          metadata: { name: 'a' },
          spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', fallbackRoleArn: ROLE } },
        },
        null,
        2,
      ),
    ],
    [
      'a List',
      `apiVersion: v1\nkind: List\nitems:\n  - ${sts(STS.replace('eu-central-1', 'eu-central-1c')).trimEnd().replaceAll('\n', '\n    ')}\n`,
      `apiVersion: v1\nkind: List\nitems:\n  - ${sts(STS).trimEnd().replaceAll('\n', '\n    ')}\n`,
    ],
  ]
  for (const [title, before, after, left = 0] of rows) {
    const found = fixed(before)
    t.equal(found.text, after, title)
    t.equal(found.left.length, left, `${title}: ${String(found.left[0]?.message)}`)
    t.equal(fixed(found.text).text, found.text, `${title}: a second time`)
  }
})

t.test('what is fixed, by the finding', async (t) => {
  const login = (lifespan: string, issuer = 'https://auth.example.com') =>
    sts(
      `  type: embeddedAuthServer\n  embeddedAuthServer:\n    issuer: ${issuer}\n    tokenLifespans:\n      refreshTokenLifespan: ${lifespan}\n    upstreamProviders: [{name: okta, type: oidc, oidcConfig: {issuerUrl: "https://idp.example.com", clientId: a}}]\n`,
    )
  const rows: [before: string, titles: string[]][] = [
    [login('7d'), ["write '168h'"]],
    [login('168h', 'https://auth.example.com/'), ['remove the slash at its end']],
    [login('7d', 'https://auth.example.com/'), ['remove the slash at its end', "write '168h'"]],
    [
      `${login('168h', 'https://auth.example.com/')
        .replace('MCPExternalAuthConfig', 'VirtualMCPServer')
        .replace(
          '  type: embeddedAuthServer\n  embeddedAuthServer:\n',
          '  incomingAuth: {type: oidc, oidcConfigRef: {name: login, audience: a}}\n  authServerConfig:\n',
        )}---\n${sts('  type: inline\n  inline: {issuer: "https://auth.example.com/"}\n')
        .replace('MCPExternalAuthConfig', 'MCPOIDCConfig')
        .replace('name: a', 'name: login')}`,
      ['remove the slash at its end', "write 'https://auth.example.com'"],
    ],
    [login('7'), []],
    [login('168h').replace('okta', 'Okta'), []],
    ...misspeltFields(),
    [sts(STS).replace('spec:', 'Spec:'), ["rename it to 'spec', which takes effect then"]],
  ]
  for (const [before, titles] of rows) t.strictSame(fixed(before).titles, titles, titles.join())
})

/** Misspelt fields in kinds whose fields the specification does not list completely. */
function misspeltFields(): [before: string, titles: string[]][] {
  const of = (kind: string, spec: string) =>
    `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: ${kind}\nmetadata: {name: a}\nspec:\n${spec}`
  const title = (name: string) => `rename it to '${name}', which takes effect then`
  return [
    [of('MCPRemoteProxy', '  remoteURL: https://a.example.com/mcp\n'), [title('remoteUrl')]],
    [
      of('MCPRemoteProxy', '  remoteURL: https://a.example.com/mcp\n  remoteUrl: https://b.example.com\n'),
      [],
    ],
    [of('MCPServer', '  Image: a\n'), [title('image')]],
    [of('MCPServer', '  Image: a\n  IMAGE: b\n'), [title('image')]],
    [of('MCPExternalAuthConfig', '  type: headerInjection\n  headerInjection: {headerValue: a}\n'), []],
    [of('VirtualMCPServer', '  minReplicas: 1\n'), []],
    [of('MCPServer', '  image: a\n  externalAuthConfig: {tokenUrl: b}\n'), []],
    [of('MCPServer', '  image: a\n  externalAuthConfig: {name: b}\n'), [title('externalAuthConfigRef')]],
    [of('MCPServer', '  Image: 1\n'), []],
    [of('MCPServer', '  image: a\n  resources: {limits: {gpu: "1"}}\n'), []],
    [of('MCPServer', '  image: a\n  podTemplateSpec: {specs: {}}\n'), []],
  ]
}

/** Rules whose fixes move fields; such a fix needs a known release. */
const MOVING = new Set([
  'delegation-in-inbound-grants',
  'primary-upstream-provider-in-auth-server',
  'session-storage-tls-in-spec',
])

t.test('every example of every rule: twice is once, and nothing that was fixed is found again', async (t) => {
  const seen = new Set<string>()
  let count = 0
  for (const place of rulePlaces()) {
    for (const { resource } of examplesAt(place)) {
      for (const value of [resource, ...misspelt(resource)]) {
        const object = { apiVersion: `${DEFAULT_API_GROUP}/v1alpha1`, kind: place.kind.kind, ...value }
        const json = JSON.stringify(object)
        if (seen.has(json)) continue
        seen.add(json)
        const text = count++ % 3 === 0 ? json : stringify(object)
        const release = MOVING.has(place.rule.id) ? NEWEST : undefined
        const once = fixed(text, { release })
        const title = `${place.rule.id}: ${text}`
        if (once.left.length > 0) t.fail(title)
        if (fixed(once.text, { release }).text !== once.text) t.fail(`twice: ${title}`)
        const again = findings(once.text, release).filter(({ fix }) => fix !== null)
        if (again.length > 0) t.strictSame(again, [], title)
      }
    }
  }
  t.ok(seen.size > 300, `${seen.size} resources`)
})

t.test('defaults on request', async (t) => {
  const before = sts(STS)
  const { text, titles } = fixed(before, { addDefaults: true })
  t.ok(titles.length > 0)
  t.equal(fixed(text, { addDefaults: true }).text, text, 'twice is once')
  for (const place of rulePlaces().filter((_, i) => i % 7 === 0)) {
    for (const { resource } of examplesAt(place).slice(0, 1)) {
      const object = { apiVersion: `${DEFAULT_API_GROUP}/v1beta1`, kind: place.kind.kind, ...resource }
      for (const text of [stringify(object), JSON.stringify(object, null, 2)]) {
        const once = fixed(text, { addDefaults: true })
        t.strictSame(once.left, [], `${place.rule.id} ${text}`)
        t.equal(fixed(once.text, { addDefaults: true }).text, once.text, place.rule.id)
      }
    }
  }
})

const authServer = (lines: string) =>
  `${HEAD}spec:\n  type: embeddedAuthServer\n  embeddedAuthServer:\n    issuer: https://auth.example.com\n${lines}`

t.test('a field is moved unless the release lacks its new place', async (t) => {
  const gateway = (spec: string) =>
    `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: a}\nspec:\n${spec}`
  const rows: [before: string, isMoved: readonly string[], isNotMoved: readonly string[]][] = [
    [
      authServer(
        '    delegateClients: [{clientId: a, clientSecretRef: {name: a, key: b}, scopes: [a], audiences: [b]}]\n',
      ),
      ['none', '0.47', '0.63'],
      ['0.43', '0.46'],
    ],
    [
      gateway(
        '  incomingAuth: {type: oidc, authzConfig: {type: inline, inline: {policies: [a], primaryUpstreamProvider: okta}}}\n  authServerConfig:\n    issuer: https://auth.example.com\n',
      ),
      ['none', '0.29', '0.63'],
      ['0.28'],
    ],
    [
      gateway(
        '  config: {sessionStorage: {tls: {}}}\n  sessionStorage:\n    provider: redis\n    address: redis:6379\n',
      ),
      ['none', '0.55', '0.63'],
      ['0.50'],
    ],
  ]
  for (const [before, isMoved, isNotMoved] of rows)
    for (const name of [...isMoved, ...isNotMoved]) {
      const { titles } = fixed(before, { release: name === 'none' ? undefined : knownRelease(name) })
      const moves = titles.filter((title) => title.startsWith('move it to'))
      t.equal(moves.length, isMoved.includes(name) ? 1 : 0, `${name}: ${before}`)
    }
})

t.test('defaults of fields that are empty, and of a namespace that nobody has named', async (t) => {
  const SERVICE =
    '    storage:\n      type: redis\n      redis:\n        sentinelConfig:\n          masterName: a\n          sentinelService:\n            name: redis\n'
  const inTools = (text: string) => text.replace('  name: a\n', '  name: a\n  namespace: tools\n')
  const namespaceOf = (text: string) =>
    /sentinelService:\n(?: {12}.*\n)*? {12}namespace: (\w+)/.exec(text)?.[1]
  for (const [text, namespace, written] of [
    [authServer(SERVICE), '', undefined],
    [authServer(SERVICE), 'prod', 'prod'],
    [inTools(authServer(SERVICE)), '', 'tools'],
    [inTools(authServer(SERVICE)), 'prod', 'tools'],
  ] as const)
    t.equal(namespaceOf(fixed(text, { addDefaults: true, namespace }).text), written, text)

  const LIFESPANS = '{accessTokenLifespan: 1h, refreshTokenLifespan: 168h, authCodeLifespan: 10m}'
  const oidc = (scopes: string) =>
    `    upstreamProviders:\n      - name: okta\n        type: oidc\n        oidcConfig:\n          ${scopes}\n          issuerUrl: https://a.example.com\n          clientId: a\n`
  const inJson = (embeddedAuthServer: object) => ({
    apiVersion: 'toolhive.stacklok.dev/v1beta1',
    kind: 'MCPExternalAuthConfig',
    metadata: { name: 'a' },
    spec: { type: 'embeddedAuthServer', embeddedAuthServer },
  })
  const rows: [before: string, after: string][] = [
    [
      authServer(`    tokenLifespans: # how long\n    storage: null\n${oidc('scopes: ~ # as usual')}`),
      authServer(
        `    tokenLifespans: ${LIFESPANS} # how long\n    storage: {type: memory}\n${oidc('scopes: [openid, offline_access] # as usual')}`,
      ),
    ],
    [
      // The value of the object's first key is empty, and the fix inserts another key before it.
      authServer(oidc('scopes:')).replace('    issuer:', '    storage:\n    issuer:'),
      authServer(oidc('scopes: [openid, offline_access]')).replace(
        '    issuer:',
        `    tokenLifespans: ${LIFESPANS}\n    storage: {type: memory}\n    issuer:`,
      ),
    ],
    [
      // Comments stay above the key that they are about.
      authServer('').replace('    issuer:', '    # Ours.\n\n    # Of the team.\n    issuer:'),
      authServer('').replace(
        '    issuer:',
        `    storage: {type: memory}\n    tokenLifespans: ${LIFESPANS}\n    # Ours.\n\n    # Of the team.\n    issuer:`,
      ),
    ],
    [
      authServer(
        '    storage: {type: }\n    tokenLifespans: {accessTokenLifespan: null, authCodeLifespan: 5m}\n',
      ),
      authServer(
        '    storage: {type: memory }\n    tokenLifespans: {refreshTokenLifespan: 168h, accessTokenLifespan: 1h, authCodeLifespan: 5m}\n',
      ),
    ],
    [
      JSON.stringify(inJson({ storage: null, tokenLifespans: { authCodeLifespan: null } }), null, 2),
      JSON.stringify(
        inJson({
          storage: '@',
          tokenLifespans: {
            refreshTokenLifespan: '168h',
            accessTokenLifespan: '1h',
            authCodeLifespan: '10m',
          },
        }),
        null,
        2,
      ).replace('"@"', '{"type":"memory"}'),
    ],
  ]
  for (const [before, after] of rows) {
    const { text, left } = fixed(before, { addDefaults: true })
    t.strictSame(left, [], before)
    t.equal(text, after)
    t.equal(fixed(text, { addDefaults: true }).text, text, 'twice is once')
  }
})

t.test('a provider that other objects of the text decide is written with its record', (t) => {
  const others = [gateway('vmcp', { authServerConfig: authServerOf('okta') }), group(), backend('jira', 'a')]
    .map((other) => `---\n${stringify({ apiVersion: API, ...other })}`)
    .join('')
  const annotation = `${DEFAULT_API_GROUP}/subject-provider-written`
  const team = { team: 'a' }
  const rows: readonly (readonly [metadata: string, provider: string, annotations: object])[] = [
    ['metadata:\n  name: a\n', '', {}],
    ['metadata: {name: a}\n', '', {}],
    ['metadata:\n  name: a\n  annotations:\n', '', {}],
    ['metadata:\n  name: a\n  annotations: {}\n', '', {}],
    ['metadata:\n  name: a\n  annotations:\n    team: a\n', '', team],
    [`metadata:\n  name: a\n  annotations:\n    ${annotation}: github\n`, 'github', {}],
    ['metadata:\n  name: a\n', "''", {}],
    ['metadata:\n  name: a\n', 'null', {}],
  ]
  const complete = (text: string) => withDefaults(new Map([['a.yaml', text]]), JUDGING).get('a.yaml') ?? ''
  for (const [metadata, provider, annotations] of rows) {
    const given = provider === '' ? '' : `    subjectProviderName: ${provider}\n`
    const config = `apiVersion: ${API}\nkind: MCPExternalAuthConfig\n${metadata}spec:\n  type: tokenExchange\n  tokenExchange:\n    tokenUrl: https://idp.example.com/token\n    audience: jira\n${given}`
    const text = complete(config + others)
    const [first] = loadDocuments(text)
    const value = first !== undefined && 'value' in first ? first.value : undefined
    t.match(
      value,
      {
        metadata: { annotations: { ...annotations, [annotation]: 'okta' } },
        spec: { tokenExchange: { subjectProviderName: 'okta' } },
      },
      config,
    )
    t.equal(complete(text), text, 'twice is once')
  }
  t.end()
})

t.test('the command', async (t) => {
  const wrong = sts(STS.replace('eu-central-1', 'eu-central-1a'))
  await writeFile(join(folder, 'a.yaml'), wrong)
  const run = (...args: string[]) => runCli(['fix', ...args], { cwd: folder })
  t.strictSame(await run('a.yaml'), {
    status: 1,
    stdout: [
      '--- a/a.yaml',
      '+++ b/a.yaml',
      '@@ -5,5 +5,5 @@',
      ' spec:',
      '   type: awsSts',
      '   awsSts:',
      '-    region: eu-central-1a',
      '+    region: eu-central-1',
      `     fallbackRoleArn: ${ROLE}`,
      '',
    ].join('\n'),
    stderr: '1 change in 1 file; --write makes them\n',
  })
  t.equal(await readFile(join(folder, 'a.yaml'), 'utf8'), wrong, 'the diff changes nothing')
  t.strictSame(await run('--write', 'a.yaml'), {
    status: 0,
    stdout: "a.yaml:8:13: spec.awsSts.region: write 'eu-central-1' (schema-pattern)\n",
    stderr: '1 change in 1 file\n',
  })
  t.equal(await readFile(join(folder, 'a.yaml'), 'utf8'), sts(STS))
  t.strictSame(await run('a.yaml'), { status: 0, stdout: '', stderr: '0 changes in 0 files\n' })
  await writeFile(join(folder, 'wide.yaml'), Buffer.from(`\ufeff${wrong}`, 'utf16le'))
  t.match(await run('--write', 'wide.yaml'), {
    status: 3,
    stderr: /wide\.yaml: not written: it is not in UTF-8, or has changed/,
  })
  await symlink('a.yaml', join(folder, 'link.yaml'))
  for (const other of ['./a.yaml', 'link.yaml']) {
    await writeFile(join(folder, 'a.yaml'), wrong)
    t.match(await run('--write', 'a.yaml', other), { status: 0, stderr: '1 change in 1 file\n' }, other)
    t.equal(await readFile(join(folder, 'a.yaml'), 'utf8'), sts(STS), other)
  }
  t.match(await run('--write', '-'), { status: 2, stderr: /--write changes files, not standard input/ })
  t.match(await run(), { status: 2, stderr: /name the files or folders to fix/ })
})

/** Copies of a resource that each have one field in another spelling: snake case or lower case. */
function misspelt(resource: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  const names = new Set<string>()
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect)
    else if (isObject(value))
      for (const [name, member] of Object.entries(value)) {
        if (/[A-Z]/.test(name)) names.add(name)
        collect(member)
      }
  }
  collect(resource.spec)
  const renamed = (value: unknown, from: string, to: string): unknown =>
    Array.isArray(value)
      ? value.map((item) => renamed(item, from, to))
      : isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([name, member]) => [
              name === from ? to : name,
              renamed(member, from, to),
            ]),
          )
        : value
  return [...names].slice(0, 2).map((name, i) => {
    const to =
      i === 0 ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name.toLowerCase()
    return { ...resource, spec: renamed(resource.spec, name, to) }
  })
}

/** The result of `fix` for the newest release. */
const fixedNow = (text: string) => fixed(text, { release: NEWEST })

t.test('what is deprecated is moved, with its comments', async (t) => {
  const server = authServer
  const CLIENTS =
    '# who may act\n- clientId: agent # the first\n  clientSecretRef: {name: agent, key: secret}\n  scopes: [openid]\n  audiences:\n    - https://mcp.example.com\n'
  const indented = (text: string, by: number) => text.replaceAll(/^(?=.)/gm, ' '.repeat(by))
  const rows: [title: string, before: string, after: string, left?: number][] = [
    [
      'delegate clients',
      server(
        `    # exchanges\n    delegateClients:\n${indented(CLIENTS, 6)}    upstreamProviders: [] # none\n`,
      ),
      server(
        `    upstreamProviders: [] # none\n    inboundGrants:\n      tokenExchange:\n        # exchanges\n        delegateClients:\n${indented(CLIENTS, 10)}`,
      ),
    ],
    [
      'delegate clients at the indent of their key, beside another grant',
      server(`    inboundGrants:\n      jwtBearer: {}\n\n    delegateClients:\n${indented(CLIENTS, 4)}`),
      server(
        `    inboundGrants:\n      jwtBearer: {}\n      tokenExchange:\n        delegateClients:\n${indented(CLIENTS, 8)}\n`,
      ),
    ],
    [
      'the policies of two issuers',
      server(
        `    trustedIssuers:\n      - issuerUrl: https://login.partner.example/a\n        # of ours\n        expectedAudience: https://mcp.example.com\n        allowedDelegateClients: ["*"]\n        allowedActors:\n          - orchestrator\n      - expectedAudience: https://mcp.example.com\n        allowedDelegateClients: [agent]\n        name: other\n        issuerUrl: https://other.example\n        allowMayAct: true # they know\n`,
      ),
      server(
        `    trustedIssuers:\n      - issuerUrl: https://login.partner.example/a\n        name: login.partner.example\n      - name: other\n        issuerUrl: https://other.example\n    inboundGrants:\n      tokenExchange:\n        issuerPolicies:\n          - issuerRef: login.partner.example\n            allowMayAct: false\n            # of ours\n            expectedAudience: https://mcp.example.com\n            allowedActors:\n              - orchestrator\n            allowedDelegateClients: ["*"]\n          - issuerRef: other\n            expectedAudience: https://mcp.example.com\n            allowedDelegateClients: [agent]\n            allowMayAct: true # they know\n`,
      ),
    ],
    [
      'the policies of both grants, and clients',
      server(
        `    delegateClients:\n${indented(CLIENTS, 6)}    trustedIssuers:\n      - name: ci\n        issuerUrl: https://ci.example\n        jwtBearerGrant:\n          maxAssertionAge: 5m\n          subjectBindings:\n            - {subject: ci, allowedResources: [https://mcp.example.com]}\n`,
      ),
      server(
        `    trustedIssuers:\n      - name: ci\n        issuerUrl: https://ci.example\n    inboundGrants:\n      tokenExchange:\n        delegateClients:\n${indented(CLIENTS, 10)}      jwtBearer:\n        issuerPolicies:\n          - issuerRef: ci\n            maxAssertionAge: 5m\n            subjectBindings:\n              - {subject: ci, allowedResources: [https://mcp.example.com]}\n`,
      ),
    ],
  ]
  for (const [title, before, after, left = 0] of rows) {
    const result = fixedNow(before)
    t.equal(result.text, after, title)
    t.equal(result.left.length, left, `${title}: left`)
    t.notOk(
      findings(result.text).some(({ id }) => id === 'delegation-in-inbound-grants'),
      title,
    )
    t.equal(fixedNow(before.replaceAll('\n', '\r\n')).text, after.replaceAll('\n', '\r\n'), `${title}: CRLF`)
  }
  const POLICY =
    '        issuerUrl: https://ci.example\n        expectedAudience: a\n        allowedDelegateClients: [b]\n'
  for (const empty of [
    server(`    inboundGrants:\n    delegateClients:\n${indented(CLIENTS, 6)}`),
    server(`    trustedIssuers:\n      - name:\n${POLICY}`),
  ]) {
    const { text, left } = fixedNow(empty)
    t.strictSame([text, left.length], [empty, 1], 'no key is written twice')
  }
  const gateway = (spec: string) =>
    `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: VirtualMCPServer\nmetadata: {name: a}\nspec:\n${spec}`
  const POLICIES =
    '  incomingAuth:\n    type: oidc\n    authzConfig:\n      type: inline\n      inline:\n        policies: [a]\n'
  t.equal(
    fixedNow(
      gateway(
        `${POLICIES}        primaryUpstreamProvider: okta # claims\n  authServerConfig:\n    issuer: https://auth.example.com\n`,
      ),
    ).text,
    gateway(
      `${POLICIES}  authServerConfig:\n    issuer: https://auth.example.com\n    primaryUpstreamProvider: okta # claims\n`,
    ),
    'the primary provider',
  )
  t.equal(
    fixedNow(
      gateway(
        '  config:\n    sessionStorage:\n      tls:\n        # ours\n        caCertSecretRef: {name: a, key: b}\n    audit: {}\n  sessionStorage:\n    provider: redis\n    address: redis:6379\n',
      ),
    ).text,
    gateway(
      '  config:\n    audit: {}\n  sessionStorage:\n    provider: redis\n    address: redis:6379\n    tls:\n      # ours\n      caCertSecretRef: {name: a, key: b}\n',
    ),
    'TLS of the session storage, whose holder is empty then',
  )
  const shown: [title: string, before: string, after: string][] = [
    [
      'into braces',
      gateway(
        '  sessionStorage: {provider: redis, address: "redis:6379"}\n  config:\n    sessionStorage:\n      provider: redis\n      tls:\n        insecureSkipVerify: false\n',
      ),
      gateway(
        '  sessionStorage: {provider: redis, address: "redis:6379", tls: {insecureSkipVerify: false}}\n  config:\n    sessionStorage:\n      provider: redis\n',
      ),
    ],
    [
      'out of brackets',
      server(
        '    trustedIssuers: [{name: a, issuerUrl: "https://a.example", expectedAudience: b, allowedDelegateClients: [agent], allowedActors: [c]}]\n',
      ),
      server(
        '    trustedIssuers: [{name: a, issuerUrl: "https://a.example"}]\n    inboundGrants:\n      tokenExchange:\n        issuerPolicies:\n          - issuerRef: a\n            expectedAudience: b\n            allowedActors: [c]\n            allowedDelegateClients: [agent]\n',
      ),
    ],
    [
      'out of braces in an item',
      server(
        '    trustedIssuers:\n      - {issuerUrl: "https://a.example", expectedAudience: b, allowedDelegateClients: ["*"], allowedActors: [c]}\n',
      ),
      server(
        '    trustedIssuers:\n      - {issuerUrl: "https://a.example", name: a.example}\n    inboundGrants:\n      tokenExchange:\n        issuerPolicies:\n          - issuerRef: a.example\n            allowMayAct: false\n            expectedAudience: b\n            allowedActors: [c]\n            allowedDelegateClients: ["*"]\n',
      ),
    ],
  ]
  for (const [title, before, after] of shown) t.equal(fixedNow(before).text, after, title)
})

t.test(
  'a move changes nothing else of the text: values keep their digits, quotes and comments',
  async (t) => {
    const VALUES = ['a', '"a"', "'a'", '"{{ .a }}"', '"<A>"', '"${A}"', '"a\\u00e9, {b"']
    /** Makes a value unique, so that it can be found again after the fix. */
    const unique = (form: string, name: string) => form.replace(/a/i, (letter) => `${letter}${name}`)
    let moves = 0
    const sample = fc.record({
      style: fc.constantFrom('block', 'flow', 'lines', 'JSON', 'JSON in lines'),
      clients: fc.boolean(),
      values: fc.array(fc.constantFrom(...VALUES), { minLength: 8, maxLength: 8 }),
      big: fc.bigInt(2n ** 60n, 2n ** 90n),
      comments: fc.array(fc.nat(30), { maxLength: 4 }),
      eol: fc.constantFrom('\n', '\r\n'),
    })
    fc.assert(
      fc.property(sample, ({ style, clients, values, big, comments, eol }) => {
        const value = (i: number, mark: string) =>
          unique(
            style.startsWith('JSON')
              ? `"${(values[i] ?? '').replace(/^["']|["']$/g, '')}"`
              : (values[i] ?? ''),
            `_${mark}_${i}`,
          )
        const members = [
          { issuer: '"https://auth.example.com"', note: value(0, 'KEPT') },
          ...(clients ? [{ delegateClients: [{ clientId: value(1, 'MOVED'), limit: `${big}` }] }] : []),
          {
            trustedIssuers: [
              {
                expectedAudience: value(2, 'MOVED'),
                allowedActors: [value(3, 'MOVED'), value(4, 'MOVED')],
                name: '"partner"',
                label: value(5, 'KEPT'),
                allowedDelegateClients: ['"*"'],
                size: `1${big}.10`,
              },
              {
                name: '"other"',
                issuerUrl: '"https://a_KEPT_9.example"',
                jwtBearerGrant: { maxAssertionAge: value(6, 'MOVED'), turns: `${big}e3` },
              },
            ],
          },
          { upstreamProviders: [], last: value(7, 'KEPT') },
        ]
        const written = writtenAs(style, Object.assign({}, ...members) as Written)
        const before = commented(written, style, comments).replaceAll('\n', eol)
        const { text: after, titles } = fixedNow(before)
        const tokens = (text: string, mark: RegExp) => text.match(mark) ?? []
        const kept = /(?:[\"'<$]|\{\{ )*[^\s,{}[\]]*_KEPT_[^\s,}\]]*/g
        const moved = /(?:[\"'<$]|\{\{ )*[^\s,{}[\]]*_MOVED_[^\s,}\]]*|\d{19,}[.\de]*/g
        assert.deepEqual(tokens(after, kept), tokens(before, kept), `kept: ${before}\n${after}`)
        assert.deepEqual(
          tokens(after, moved).toSorted(),
          tokens(before, moved).toSorted(),
          `moved: ${before}\n${after}`,
        )
        const remarks = (text: string) =>
          tokens(text, /#.*/g)
            .map((remark) => remark.trim())
            .toSorted()
        assert.deepEqual(remarks(after), remarks(before), `comments: ${before}\n${after}`)
        if (comments.length === 0) assert.notEqual(titles.length, 0, `not moved: ${before}`)
        if (titles.length > 0) moves += 1
      }),
      { numRuns: 400 },
    )
    t.ok(moves > 200, `${moves} moves`)
  },
)

t.test('members are moved in each of many documents, beside other edits and what cannot be moved', (t) => {
  const issuer = (more: string) =>
    `    trustedIssuers:\n      - name: ci\n        issuerUrl: https://ci.example.com\n        ${more}expectedAudience: a\n        allowedDelegateClients: [b] # them\n        allowedActors: [agent]\n`
  const document = (i: number) => {
    const server = `${HEAD.replace('name: a', `name: a${i}`)}spec:\n  type: embeddedAuthServer\n  embeddedAuthServer:\n`
    const url = `    issuer: https://auth${i}.example.com\n`
    if (i % 50 === 1) return server + url.replace('issuer', 'isuer') + issuer('')
    return server + url + issuer(i % 50 === 2 ? 'expectedAudience: b\n        ' : '')
  }
  for (const style of ['\n', '\r\n']) {
    const text = Array.from({ length: 200 }, (_, i) => document(i))
      .join('---\n')
      .replaceAll('\n', style)
    const after = fixedNow(text)
    t.equal(after.text.match(/inboundGrants:/g)?.length, 200 - after.left.length)
    t.ok(after.left.length <= 4, after.left.map(({ message }) => message).join('\n'))
    t.notOk(after.left.some(({ message }) => message.includes('too many')))
    t.notMatch(after.text, 'isuer')
    t.equal(after.text.match(/\[b\] # them/g)?.length, 200)
  }
  t.end()
})

/** The text with comments added after or above some lines of the spec; JSON is returned unchanged. */
function commented(text: string, style: string, at: readonly number[]): string {
  if (style.startsWith('JSON')) return text
  const lines = text.split('\n')
  for (const [i, place] of at.entries()) {
    const index = 5 + (place % (lines.length - 5))
    const line = lines[index] ?? ''
    const indent = /^ */.exec(line)?.[0] ?? ''
    if (i % 2 === 0 && !line.includes('#') && line !== '') lines[index] = `${line} # remark ${i}`
    else lines.splice(index, 0, `${indent}# remark ${i}`)
  }
  return lines.join('\n')
}
