import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import { DEFAULT_API_GROUP } from '../../src/kinds/index.ts'
import { type Run, runCli } from '../support/cli.ts'
import { kubeconfigOf } from '../support/fake-api-server.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, installReports, kubectl } from './cluster.ts'
import { createNamespaces, pathTo, type Resource, resourceIn, store, storeAll } from './resources.ts'
import { withApiServer } from './suite.ts'

const ARN = 'arn:aws:iam::123456789012:role/reader'
const inTools = (kind: string, name: string, spec: object) =>
  resourceIn('tools', { kind, metadata: { name }, spec })

const group = inTools('MCPGroup', 'backends', {})
const wiki = inTools('MCPServer', 'wiki', {
  image: 'ghcr.io/example/wiki:1.2.3',
  groupRef: { name: 'backends' },
  externalAuthConfigRef: { name: 'wiki' },
})
const inject = (providerName: string) =>
  inTools('MCPExternalAuthConfig', 'wiki', { type: 'upstreamInject', upstreamInject: { providerName } })
const oidc = (issuer: string) => inTools('MCPOIDCConfig', 'clients', { type: 'inline', inline: { issuer } })
const ISSUER = 'https://mcp.example.com'
const gateway = (provider: string, more: object = {}) =>
  inTools('VirtualMCPServer', 'gateway', {
    groupRef: { name: 'backends' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: { name: 'clients', audience: ISSUER, resourceUrl: ISSUER },
    },
    authServerConfig: {
      issuer: 'https://mcp.example.com',
      signingKeySecretRefs: [{ name: 'auth', key: 'signing' }],
      hmacSecretRefs: [{ name: 'auth', key: 'hmac' }],
      storage: { type: 'redis', redis: { ...redis } },
      upstreamProviders: [
        {
          name: provider,
          type: 'oidc',
          oidcConfig: { issuerUrl: 'https://okta.example.com', clientId: 'vmcp' },
        },
      ],
    },
    ...more,
  })
const redis = {
  addr: 'redis:6379',
  tls: {},
  aclUserConfig: {
    usernameSecretRef: { name: 'redis', key: 'username' },
    passwordSecretRef: { name: 'redis', key: 'password' },
  },
}
const aws = (region: string, name = 'aws') =>
  resourceIn('shop', {
    kind: 'MCPExternalAuthConfig',
    metadata: { name },
    spec: { type: 'awsSts', awsSts: { region, fallbackRoleArn: ARN } },
  })

const REPORTS = '/apis/wgpolicyk8s.io/v1alpha2/namespaces'

/** The findings of `audit` about objects that contradict each other. */
const CONTRADICTIONS = [
  `MCPExternalAuthConfig shop/aws: error: spec.awsSts.region: Invalid value: "europe": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
  'MCPExternalAuthConfig tools/wiki: warning: spec.upstreamInject.providerName: names provider "github", and VirtualMCPServer "gateway" has no such upstream provider, so its calls with this configuration fail; there is "okta" (auth-config-served)',
  `MCPOIDCConfig tools/clients: warning: spec.inline.issuer: every token that VirtualMCPServer "gateway" issues is refused, as its issuer is "${ISSUER}"; write that issuer, or change authServerConfig.issuer too (auth-server-issuers-accepted)`,
  'MCPServer tools/wiki: warning: spec.externalAuthConfigRef.name: MCPExternalAuthConfig "wiki" has upstreamInject.providerName "github", and VirtualMCPServer "gateway" has no such upstream provider, so its calls here fail; there is "okta" (backend-auth-served)',
  `VirtualMCPServer tools/gateway: error: spec.authServerConfig.issuer: Invalid value: "${ISSUER}": must equal the issuer of MCPOIDCConfig "clients", "https://okta.example.com" (auth-server-tokens-accepted)`,
  'VirtualMCPServer tools/gateway: error: spec.authServerConfig.upstreamProviders: Not found: "github": MCPExternalAuthConfig "wiki" has it as upstreamInject.providerName; there is "okta"; used by MCPServer "wiki" (upstream-inject-provider-exists)',
]
const CHANGED =
  'warning: MCPExternalAuthConfig wiki: spec.upstreamInject.providerName: changes from "github" for MCPServer "wiki" and VirtualMCPServer "gateway" at once; check that each works with the new value (auth-config-change-meant)'
const NEWER = 'note: addr: of operator release 0.27 and later; --release VERSION judges by what yours accepts'
const STORED_ISSUER = `warning: VirtualMCPServer gateway: spec.authServerConfig.issuer: stored before: Invalid value: "${ISSUER}": must equal the issuer of MCPOIDCConfig "clients", "https://okta.example.com" (auth-server-tokens-accepted)`

const CONDITION = {
  type: 'Valid',
  reason: 'Checked',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}

await withApiServer(root, async (t, api) => {
  const cli = await commandsOn(t, api)
  const { url } = api
  const all = [
    group,
    wiki,
    inject('github'),
    oidc('https://okta.example.com'),
    gateway('okta'),
    aws('europe'),
  ]

  await t.test('a cluster without our kinds', async (t) => {
    const note = `the cluster does not serve ${DEFAULT_API_GROUP}/v1beta1; are the CRDs installed? (--api-group names another group)`
    t.strictSame(await cli.run('audit'), {
      status: 0,
      stdout: `note: ${note}\n\n0 resources in ${url}: 0 errors, 0 warnings, 1 note\n`,
      stderr: '',
    })
    t.strictSame(await cli.run('plan', '--cluster'), {
      status: 0,
      stdout: 'no VirtualMCPServer found\n',
      stderr: `note: ${note}\n`,
    })
  })

  await installCrds(api, 'crds')
  await createNamespaces(api, ['tools', 'shop'])
  await storeAll(api, all)

  await t.test('policy reports are applied', async (t) => {
    const report = async () => (await cli.run('audit', '--output', 'policyreport')).stdout
    const stored = async () =>
      (
        await api.request<{ summary: object; results: object[] }>(
          'GET',
          `${REPORTS}/tools/policyreports/vmcp-admission`,
        )
      ).body
    await installReports(api, 'policyreports')
    await api.kubectl(['apply', '-f', '-'], { stdin: await report() })
    t.match(await stored(), { summary: { pass: 1, fail: 2, warn: 3 } })
    t.equal((await stored()).results.length, 5)
    t.match((await api.kubectl(['apply', '-f', '-'], { stdin: await report() })).stdout, 'unchanged')
  })

  await t.test('reports of OpenReports are applied, and shown by kubectl', async (t) => {
    await installReports(api, 'openreports')
    const { stdout } = await cli.run('audit', '--output', 'openreports')
    // With strict validation, the API server refuses fields that the CRD does not have.
    await api.kubectl(['apply', '--validate=strict', '-f', '-'], { stdin: stdout })
    const shown = await api.kubectl(['get', 'reports', '--all-namespaces', '--no-headers'])
    t.strictSame(
      shown.stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ +/).slice(0, -1).join(' ')),
      [
        'shop mcpexternalauthconfig-aws 0 1 0 0 0',
        'tools mcpexternalauthconfig-wiki 0 0 1 0 0',
        'tools mcpoidcconfig-clients 0 0 1 0 0',
        'tools mcpserver-wiki 0 0 1 0 0',
        'tools virtualmcpserver-gateway 0 2 0 0 0',
      ],
    )
    t.match((await api.kubectl(['apply', '-f', '-'], { stdin: stdout })).stdout, 'unchanged')
  })

  await t.test('what is stored in contradiction', async (t) => {
    const [human, json] = await Promise.all([
      cli.run('audit'),
      cli.run('audit', '--namespaces', 'shop', '--output', 'json'),
    ])
    const summary = `6 resources in ${url}: 3 errors, 3 warnings`
    t.strictSame(human, { status: 1, stdout: [...CONTRADICTIONS, '', summary, ''].join('\n'), stderr: '' })
    t.equal(json.status, 1)
    t.equal(
      json.stdout,
      `${JSON.stringify(
        {
          version: 1,
          findings: [
            {
              file: null,
              line: 0,
              column: 0,
              severity: 'error',
              id: 'schema-pattern',
              path: 'spec.awsSts.region',
              message: `Invalid value: "europe": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
              kind: 'MCPExternalAuthConfig',
              namespace: 'shop',
              name: 'aws',
              related: [],
              fix: null,
            },
          ],
          ignored: [],
          notes: [],
          notJudged: [],
          unread: [],
          counts: {
            files: 0,
            resources: 1,
            others: 0,
            errors: 1,
            warnings: 0,
            advice: 0,
            ignored: 0,
            notes: 0,
            notJudged: 0,
            unread: 0,
          },
        },
        undefined,
        2,
      )}\n`,
    )
  })

  await t.test('files as if applied onto it', async (t) => {
    const cart = resourceIn('shop', {
      kind: 'MCPServer',
      metadata: { name: 'cart' },
      spec: {
        image: 'ghcr.io/example/cart:1.2.3',
        groupRef: { name: 'carts' },
        externalAuthConfigRef: { name: 'awz' },
      },
    })
    const rows: [title: string, files: Resource[], status: number, expected: string[]][] = [
      ['one end, which mends it', [inject('okta')], 0, [CHANGED]],
      ['both ends', [inject('entra'), gateway('entra')], 0, [CHANGED, STORED_ISSUER, NEWER]],
      [
        'nothing new',
        [gateway('okta')],
        0,
        [
          STORED_ISSUER,
          NEWER,
          'warning: VirtualMCPServer gateway: spec.authServerConfig.upstreamProviders: stored before: Not found: "github": MCPExternalAuthConfig "wiki" has it as upstreamInject.providerName; there is "okta"; used by MCPServer "wiki" (upstream-inject-provider-exists)',
        ],
      ],
      [
        'an error that is stored, another one, and names that are nowhere',
        [aws('europe'), aws('america', 'aws-us'), cart],
        1,
        [
          `warning: MCPExternalAuthConfig aws: spec.awsSts.region: stored before: Invalid value: "europe": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
          `error: MCPExternalAuthConfig aws-us: spec.awsSts.region: Invalid value: "america": must be an AWS region, such as 'eu-central-1' (schema-pattern)`,
          `warning: MCPServer cart: spec.groupRef.name: Not found: "carts": no MCPGroup of this name in namespace 'shop' or the given files yet (reference-found)`,
          `warning: MCPServer cart: spec.externalAuthConfigRef.name: Not found: "awz": no MCPExternalAuthConfig of this name in namespace 'shop' or the given files; did you mean "aws" (reference-found)`,
        ],
      ],
    ]
    await twoAtATime(rows, async ([title, files, status, expected]) => {
      t.strictSame(await checked(cli, files), [status, expected], title)
    })
  })

  await t.test('plans', async (t) => {
    const plan = (token: string) => `VirtualMCPServer gateway (namespace tools), MCPGroup backends
  incoming: oidc: issuer https://okta.example.com, MCPOIDCConfig clients, audience ${ISSUER}
  embedded authorization server: issuer ${ISSUER}, login at okta

  BACKEND  STRATEGY        CONFIG  FROM        ${token}
`
    const now = `TOKEN   HEADER         NOTE
  wiki     upstreamInject  wiki    discovered  github  Authorization  NOT AVAILABLE: the embedded authorization server has no such provider`
    const then = `TOKEN  HEADER
  wiki     upstreamInject  wiki    discovered  okta   Authorization`
    const changes = `VirtualMCPServer gateway (namespace tools)
  ~ wiki: upstream token of github, NOT AVAILABLE (the embedded authorization server has no such provider) → upstream token of okta
`
    const rows: [() => Promise<Run>, string][] = [
      [() => cli.run('plan', '--cluster'), plan(now)],
      [() => cli.on([inject('okta')], 'plan'), changes],
      [() => cli.on([inject('okta')], 'plan', '--together'), plan(then)],
      [() => cli.on([gateway('okta'), group], 'plan'), 'nothing changes of what a plan shows\n'],
    ]
    await twoAtATime(rows, async ([run, stdout]) => {
      t.strictSame(await run(), { status: 0, stdout, stderr: '' })
    })
  })

  await t.test('a provider that /mutate wrote stays', async (t) => {
    const exchange = inTools('MCPExternalAuthConfig', 'wiki', {
      type: 'tokenExchange',
      tokenExchange: { tokenUrl: 'https://okta.example.com/token', audience: 'wiki' },
    })
    await store(api, exchange)
    t.strictSame(await cli.run('audit', '--namespaces', 'nope'), {
      status: 3,
      stdout: `0 resources in namespace nope of ${url}: 0 errors, 0 warnings, 1 that could not be read\n`,
      stderr: "cluster: cannot read: namespace 'nope' does not exist\n",
    })
    const { stdout } = await cli.run('audit', '--namespaces', 'tools')
    t.notMatch(stdout, /subject-provider-chosen/, 'a stored object is not about to be admitted')
    const { metadata, spec } = exchange as Resource & { spec: { tokenExchange: object } }
    const annotations = { [`${DEFAULT_API_GROUP}/subject-provider-written`]: 'okta' }
    const tokenExchange = { ...spec.tokenExchange, subjectProviderName: 'okta' }
    await store(api, {
      ...exchange,
      metadata: { ...metadata, annotations },
      spec: { ...spec, tokenExchange },
    })
    t.equal((await cli.on([exchange], 'plan')).stdout, 'nothing changes of what a plan shows\n')
    await store(api, inject('github'))
  })

  await t.test('roles', async (t) => {
    writeFileSync(join(cli.folder, 'claims.json'), '{"sub": "ann@example.com"}')
    const claims = ['--claims', 'claims.json']
    const found = `role: ${ARN} (fallbackRoleArn, as there are no role mappings)\nsession name: ann@example.com (claims.sub)\nnote: 'vmcp-admission check' finds an error in this configuration\n`
    const usage = '\nvmcp-admission role --help shows how it is used\n'
    const rows: [string, Run][] = [
      ['shop/aws', { status: 0, stdout: found, stderr: '' }],
      [
        'aws',
        {
          status: 2,
          stdout: '',
          stderr: `vmcp-admission: there is no MCPExternalAuthConfig 'aws' in namespace 'default' of ${url}${usage}`,
        },
      ],
    ]
    await twoAtATime(rows, async ([config, expected]) => {
      t.strictSame(await cli.run('role', '--cluster', '--config', config, ...claims), expected, config)
    })
  })

  await t.test('who may read one namespace only', async (t) => {
    await allowToRead(api, 'ann', 'shop')
    const kubeconfig = join(cli.folder, 'ann')
    const cluster = { 'certificate-authority-data': btoa(api.ca) }
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigOf(url, { token: api.token, as: 'ann' }, cluster)))
    const everything = await cli.run('audit', '--kubeconfig', kubeconfig)
    t.equal(everything.status, 3)
    const note =
      'note: the CRDs could not be read (403), so the installed release is not known: grant deploy/rbac/check.yaml, or write --release'
    t.equal(
      everything.stdout,
      `${note}\n\n0 resources in ${url}: 0 errors, 0 warnings, 1 note, 7 that could not be read\n`,
    )
    t.match(
      everything.stderr,
      `cluster: cannot read: MCPGroup: 403 mcpgroups.${DEFAULT_API_GROUP} is forbidden: User "ann" cannot list resource "mcpgroups"`,
    )
    const one = await cli.run('audit', '--kubeconfig', kubeconfig, '--namespaces', 'shop')
    const summary = `1 resource in namespace shop of ${url}: 1 error, 0 warnings, 1 note`
    t.strictSame(one, {
      status: 1,
      stdout: `${CONTRADICTIONS[0] ?? ''}\n${note}\n\n${summary}\n`,
      stderr: '',
    })
  })

  await t.test('what is mended, and files that break it again', async (t) => {
    await storeAll(api, [oidc(ISSUER), inject('okta'), aws('eu-central-1')])
    const clean = { status: 0, stdout: `6 resources in ${url}: 0 errors, 0 warnings\n`, stderr: '' }
    t.strictSame(await cli.run('audit'), clean)
    t.strictSame(
      await checked(cli, [gateway('okta'), inject('entra')]),
      [
        1,
        [
          NEWER,
          'error: VirtualMCPServer gateway: spec.authServerConfig.upstreamProviders: Not found: "entra": MCPExternalAuthConfig "wiki" has it as upstreamInject.providerName; there is "okta"; used by MCPServer "wiki" (upstream-inject-provider-exists)',
          'warning: MCPExternalAuthConfig wiki: spec.upstreamInject.providerName: changes from "okta" for MCPServer "wiki" and VirtualMCPServer "gateway" at once; check that each works with the new value (auth-config-change-meant)',
          'warning: MCPExternalAuthConfig wiki: spec.upstreamInject.providerName: names provider "entra", and VirtualMCPServer "gateway" has no such upstream provider, so its calls with this configuration fail; there is "okta" (auth-config-served)',
        ],
      ],
      'an error that the stored object has only with the files is none that it had before',
    )
  })

  await t.test('a status, and Secrets', async (t) => {
    const status = { conditions: [{ ...CONDITION, status: 'Maybe' }] }
    const merge = 'application/merge-patch+json'
    const patched = await api.request('PATCH', `${pathTo(aws(''))}/status`, { status }, merge)
    t.equal(patched.status, 200)
    await api.request('POST', '/api/v1/namespaces/tools/secrets', {
      metadata: { name: 'auth' },
      stringData: { signing: 'x', hmac: 'short' },
    })
    const missing = (field: string) =>
      `VirtualMCPServer tools/gateway: warning: spec.authServerConfig.storage.redis.aclUserConfig.${field}.name: Not found: "redis": no Secret of this name in namespace 'tools' yet; meanwhile the workload does not start, or fails at its first call (secret-reference-found)`
    const lines = [
      'MCPExternalAuthConfig shop/aws: error: status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown" (schema-enum)',
      `VirtualMCPServer tools/gateway: error: spec.authServerConfig.hmacSecretRefs[0].key: Invalid value: "hmac": this key of the Secret "auth" holds fewer than 32 bytes, so the server does not start; use 'openssl rand 32' (hmac-secret-long-enough)`,
      missing('passwordSecretRef'),
      missing('usernameSecretRef'),
      '',
      `6 resources in ${url}: 2 errors, 2 warnings`,
      '',
    ]
    const found = await cli.run('audit', '--check-secrets')
    t.strictSame(found, { status: 1, stdout: lines.join('\n'), stderr: '' })
  })
})

/** The exit code and the findings of `check`, without their positions. */
async function checked(cli: Commands, files: readonly Resource[]): Promise<[number | null, string[]]> {
  const { status, stdout } = await cli.on(files, 'check')
  const lines = stdout.split('\n').filter((line) => line.startsWith('<stdin>:'))
  return [status, lines.map((line) => line.replace(/^<stdin>:\d+:\d+: /, ''))]
}

interface Commands {
  readonly folder: string
  /** Runs a command with the kubeconfig in $KUBECONFIG, as kubectl would. */
  run(...args: string[]): Promise<Run>
  /** Runs a command with `--cluster` on these resources. */
  on(files: readonly Resource[], command: string, ...flags: string[]): Promise<Run>
}

async function commandsOn(t: Test, { kubeconfig }: ApiServer): Promise<Commands> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-audit-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const environment = { KUBECONFIG: kubeconfig }
  return {
    folder,
    run: (...args) => runCli(args, { cwd: folder, environment }),
    on(files, command, ...flags) {
      const input = files.map((each) => JSON.stringify(each)).join('\n---\n')
      return runCli([command, '--cluster', ...flags, '-'], { cwd: folder, environment, input })
    },
  }
}

async function allowToRead(api: ApiServer, name: string, namespace: string): Promise<void> {
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name, namespace }
  const apiVersion = `${rbac}/v1`
  const items = [
    {
      apiVersion,
      kind: 'Role',
      metadata,
      rules: [{ apiGroups: [DEFAULT_API_GROUP], resources: ['*'], verbs: ['list'] }],
    },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ apiGroup: rbac, kind: 'User', name }],
    },
  ]
  await kubectl(api, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
}

async function twoAtATime<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const work = async () => {
    for (const item of left) await act(item)
  }
  await Promise.all([work(), work()])
}
