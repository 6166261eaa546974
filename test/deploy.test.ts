import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { readFlags } from '../src/configuration/flags.ts'
import { localPair } from '../src/certificates/local.ts'
import { KINDS } from '../src/kinds/index.ts'
import { ALL_IDS } from '../src/engine/engine-ids.ts'
import { parseSeveritySetting } from '../src/engine/settings.ts'
import { doctor } from '../src/cli/commands/doctor.ts'
import { SERVER_FLAGS } from '../src/server/configuration.ts'
import { inBatches } from './e2e/rule-examples.ts'
import {
  CHART,
  hasHelm,
  helm,
  helmPath,
  type Manifest,
  rendered,
  renderedTest,
  rendersTo,
  setArguments,
  templateArguments,
  type TestPod,
} from './support/helm.ts'
import { waitUntilReady } from './support/server.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Values that enable every part of the chart. */
const EVERYTHING = {
  watchNamespaces: ['team-a', 'team-b'],
  checkSecrets: true,
  checkConfigMaps: true,
  reports: true,
  hostNetwork: true,
  'ports.webhook': 8443,
  'serviceMonitor.enabled': true,
  'prometheusRule.enabled': true,
  'dashboard.enabled': true,
  'crds.enabled': true,
  'certificates.mode': 'files',
  'certificates.certManager.enabled': true,
  'certificates.certManager.issuerRef.name': 'internal',
  'clientAuthentication.configMapName': 'client-ca',
  'clientAuthentication.names': ['kube-apiserver', 'probe'],
  mostInFlight: 50,
  'config.file': { namespaces: { leaveOut: ['kube-*'] } },
  mode: 'warn',
  profile: 'strict',
  severities: ['schema-enum:spec.type=warning@team-a,team-b', 'upstream-url-https=error'],
  installedRelease: false,
  defaults: 'outside-lists',
  serviceAccountAudience: 'vmcp',
  'arming.namespaceSelector': 'kubernetes.io/metadata.name notin (team-a,team-b),!untouched',
  'networkPolicy.webhookFrom': [{ ipBlock: { cidr: '192.0.2.0/24' } }],
  'networkPolicy.metricsFrom': [{ namespaceSelector: { matchLabels: { team: 'a' } } }],
  'networkPolicy.egress': [{ ports: [{ port: 6443 }] }],
  priorityClassName: 'system-cluster-critical',
  imagePullSecrets: [{ name: 'registry' }],
  tolerations: [{ operator: 'Exists' }],
  podLabels: { team: 'identity' },
  podAnnotations: { note: 'a' },
  extraArgs: ['--log-level=debug'],
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=300' }],
  affinity: { nodeAffinity: {} },
  'global.imagePullSecrets': [{ name: 'registry' }, { name: 'mirror' }],
  'image.registry': 'mirror.example:5000/pulled',
  'arming.objectSelector': '!untouched',
  'arming.timeoutSeconds': 10,
  'service.labels': { team: 'network' },
  commonLabels: { team: 'platform', 'cost-center': '7' },
  deploymentAnnotations: { note: 'a' },
  extraVolumes: [{ name: 'proxy-ca', configMap: { name: 'proxy-ca' } }],
  extraVolumeMounts: [{ name: 'proxy-ca', mountPath: '/proxy-ca', readOnly: true }],
}
const FILES = { 'certificates.mode': 'files' }
const TOGETHER = { 'leader.separate': false }
const UNARMED = { ...FILES, 'arming.enabled': false }
const CERT_MANAGER = {
  ...FILES,
  'certificates.certManager.enabled': true,
  'certificates.certManager.issuerRef.name': 'internal',
}
const CLIENTS = { 'clientAuthentication.configMapName': 'client-ca' }
const MONITOR = { 'serviceMonitor.enabled': true }
const ALERTS = { 'prometheusRule.enabled': true }
const CONFIG = { 'config.file': { profile: 'strict', severities: ['upstream-url-https=advice'] } }
const DASHBOARD = { 'dashboard.enabled': true }

/**
 * For each value of the chart: a value that is not its default, and other values that must be set so that it has an
 * effect.
 */
const CHANGED: readonly (readonly [string, unknown, object?])[] = [
  ['global.imageRegistry', 'mirror.example'],
  ['global.imagePullSecrets', [{ name: 'registry' }]],
  ['image.registry', 'mirror.example'],
  ['image.repository', 'registry.example/vmcp-admission'],
  ['image.tag', 'next'],
  ['image.digest', `sha256:${'a'.repeat(64)}`],
  ['image.pullPolicy', 'Always'],
  ['imagePullSecrets', [{ name: 'registry' }]],
  ['replicas', 3],
  ['rollout.maxUnavailable', 1],
  ['rollout.maxSurge', 2],
  ['podDisruptionBudget.enabled', false],
  ['podDisruptionBudget.maxUnavailable', 2],
  ['mode', 'warn'],
  ['profile', 'strict'],
  ['severities', ['upstream-url-https=error']],
  ['config.file', { profile: 'strict' }],
  ['config.configMapName', 'settings'],
  ['apiGroup', 'vmcp.example'],
  ['watchNamespaces', ['team-a']],
  ['installedRelease', false],
  ['checkSecrets', true, CLIENTS],
  ['checkConfigMaps', true],
  ['reports', true],
  ['defaults', 'off'],
  ['serviceAccountAudience', 'vmcp'],
  ['arming.enabled', false, FILES],
  ['arming.failClosed', false],
  ['arming.namespaceSelector', 'team=a'],
  ['arming.objectSelector', 'team=a'],
  ['arming.timeoutSeconds', 10],
  ['leader.separate', false],
  ['leader.replicas', 2],
  ['leader.resources', { limits: { memory: '1Gi' } }],
  ['certificates.mode', 'files'],
  ['certificates.secretName', 'other', FILES],
  ['certificates.certManager.enabled', true, { ...CERT_MANAGER, 'certificates.certManager.enabled': false }],
  ['certificates.certManager.issuerRef.name', 'other', CERT_MANAGER],
  ['certificates.certManager.issuerRef.kind', 'Issuer', CERT_MANAGER],
  ['certificates.certManager.issuerRef.group', 'issuers.example', CERT_MANAGER],
  ['certificates.certManager.duration', '100h', CERT_MANAGER],
  ['certificates.certManager.renewBefore', '10h', CERT_MANAGER],
  ['clientAuthentication.configMapName', 'client-ca'],
  ['clientAuthentication.key', 'other.crt', CLIENTS],
  ['clientAuthentication.names', ['kube-apiserver'], CLIENTS],
  ['listenAddress', '::'],
  ['ports.webhook', 9443],
  ['ports.probe', 9000],
  ['hostNetwork', true, { 'ports.webhook': 8443 }],
  ['service.labels', { team: 'a' }],
  ['service.annotations', { note: 'a' }],
  ['shutdownDelay', 20],
  ['mostInFlight', 7],
  ['logLevel', 'debug'],
  ['extraArgs', ['--ca-propagation=1200']],
  ['extraEnv', [{ name: 'NOTE', value: 'a' }]],
  ['extraVolumes', [{ name: 'a', emptyDir: {} }]],
  ['extraVolumeMounts', [{ name: 'a', mountPath: '/a' }]],
  ['podSecurityContext', { runAsUser: null }],
  ['securityContext', { runAsUser: 1000 }],
  ['resources', { limits: { memory: '1Gi' } }],
  ['priorityClassName', 'system-cluster-critical'],
  ['topologySpreadConstraints', []],
  ['nodeSelector', { pool: 'a' }],
  ['tolerations', [{ operator: 'Exists' }]],
  ['affinity', { nodeAffinity: {} }],
  ['commonLabels', { team: 'a' }],
  ['deploymentAnnotations', { note: 'a' }],
  ['podLabels', { team: 'a' }],
  ['podAnnotations', { note: 'a' }],
  ['serviceAccount.annotations', { note: 'a' }],
  ['networkPolicy.enabled', false],
  ['networkPolicy.webhookFrom', [{ ipBlock: { cidr: '192.0.2.0/24' } }]],
  ['networkPolicy.metricsFrom', [{ namespaceSelector: {} }]],
  ['networkPolicy.egress', [{ ports: [{ port: 6443 }] }]],
  ['serviceMonitor.enabled', true],
  ['serviceMonitor.interval', '5s', MONITOR],
  ['serviceMonitor.labels', { team: 'a' }, MONITOR],
  ['prometheusRule.enabled', true],
  ['prometheusRule.labels', { team: 'a' }, ALERTS],
  ['dashboard.enabled', true],
  ['dashboard.labels', { team: 'a' }, DASHBOARD],
  ['crds.enabled', true],
  ['crds.keep', false, { 'crds.enabled': true }],
]

t.test('the bundle does what the sources do, unprivileged and without writing a file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-bundle-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const dist = join(folder, 'app', 'dist')
  const made = spawnSync(process.execPath, [join(ROOT, 'src/generate/bundle.ts'), dist], { encoding: 'utf8' })
  t.strictSame([made.status, made.stderr], [0, ''])
  spawnSync('cp', [join(ROOT, 'package.json'), join(folder, 'app')])
  const certificates = join(folder, 'certificates')
  await localPair(certificates, ['127.0.0.1'])
  const root = process.getuid?.() === 0
  spawnSync('chmod', ['-R', 'a+rX,a-w', folder])
  t.teardown(() => spawnSync('chmod', ['-R', 'u+w', folder]))
  chmodSync(folder, 0o755)
  const nobody = { cwd: '/', ...(root ? { uid: 65_532, gid: 65_532 } : {}) }

  const claims = '{"sub":"alice","groups":["billing-admins"]}'
  const role = ['role', '--config', join(ROOT, 'examples/aws-sts.yaml'), '--claims', '-']
  const released = ['check', '--release', '0.44', join(ROOT, 'examples/bad/forgotten-spec.yaml')]
  for (const [command, said] of [
    [role, /^role: arn:/m],
    [released, /operator release 0\.44/],
  ] as const) {
    const [source, bundled] = [join(ROOT, 'src/cli/main.ts'), join(dist, 'cli/main.js')].map((main) =>
      spawnSync(process.execPath, [main, ...command], { encoding: 'utf8', input: claims }),
    )
    t.equal(bundled?.stdout, source?.stdout)
    t.match(bundled?.stdout, said)
  }

  // Node's permission model denies all writes and child processes; `env -i` removes the variables of the test runner.
  const flags = ['--host=127.0.0.1', '--port=0', '--probe-port=0', `--cert-dir=${certificates}`]
  const args = [
    '-i',
    process.execPath,
    '--permission',
    '--allow-fs-read=*',
    join(dist, 'server/main.js'),
    ...flags,
  ]
  const child = spawn('env', args, { ...nobody, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (said += part))
  }
  for (
    let waited = 0;
    waited < 20_000 && child.exitCode === null && !said.includes('"listening"');
    waited += 20
  )
    await new Promise((resolve) => setTimeout(resolve, 20))
  t.match(said, /"msg":"listening"/)
  const { probeUrl = '' } = /"probeUrl":"(?<probeUrl>[^"]+)"/.exec(said)?.groups ?? {}
  await waitUntilReady(probeUrl)
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  t.strictSame(await ended, [0, null])
})

t.test('alerts and dashboard name metrics that the server has', async (t) => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const source = files.filter((name) => name.endsWith('.ts')).map((name) => read(`src/${name}`))
  const known = new Set(source.join().match(/(?<=')vmcp_admission_\w+(?=')/g))
  const dashboard = read('deploy/helm/vmcp-admission/files/dashboard.json')
  for (const file of [read('deploy/helm/vmcp-admission/files/alerts.yaml'), dashboard]) {
    const named = new Set(
      [...file.matchAll(/\bvmcp_admission_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
    )
    t.ok(named.size >= 8)
    for (const name of named) t.ok(known.has(name), name)
  }
  const { panels } = JSON.parse(dashboard) as { panels: { id: number; gridPos: Record<string, number> }[] }
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { gridPos } of panels) t.ok((gridPos.x ?? 0) + (gridPos.w ?? 0) <= 24)
})

t.test('each alert leads to a section of the troubleshooting page', async (t) => {
  const { groups } = parse(read('deploy/helm/vmcp-admission/files/alerts.yaml')) as {
    groups: { rules: { alert: string; annotations: { runbook_url?: string } }[] }[]
  }
  const headings = read('docs/troubleshooting.md').match(/(?<=^## ).+$/gm) ?? []
  const anchors = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^a-z -]/g, '')
      .replaceAll(' ', '-'),
  )
  const rules = groups.flatMap((group) => group.rules)
  t.ok(rules.length >= 17)
  for (const { alert, annotations } of rules) {
    const [page, anchor = ''] = (annotations.runbook_url ?? '').split('#')
    t.equal(page, 'https://git.example/vmcp-admission/blob/main/docs/troubleshooting.md', alert)
    t.ok(anchors.includes(anchor), `${alert}: ${anchor}`)
  }
})

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: unknown
}

if (hasHelm(t)) chartTests()

function chartTests(): void {
  const kinds = (objects: readonly Manifest[]) => [...new Set(objects.map(({ kind }) => kind))].sort()
  const only = (objects: readonly Manifest[], kind: string): Manifest => {
    const [one, ...more] = objects.filter((each) => each.kind === kind)
    if (one === undefined || more.length > 0) throw new Error(`not one ${kind}`)
    return one
  }
  const named = (objects: readonly Manifest[], kind: string, name: string): Manifest =>
    only(
      objects.filter(({ metadata }) => metadata.name === name),
      kind,
    )
  const webhookOf = (objects: readonly Manifest[]) => named(objects, 'Deployment', 'vmcp-admission')
  const leaderOf = (objects: readonly Manifest[]) => named(objects, 'Deployment', 'vmcp-admission-leader')
  const podOf = (objects: readonly Manifest[]) => webhookOf(objects).spec.template.spec
  const podsOf = (objects: readonly Manifest[]) =>
    objects.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec.template.spec)
  const testPodOf = (values: object) => only(renderedTest(values).objects, 'Pod') as unknown as TestPod
  const argsOf = (objects: readonly Manifest[]) => podOf(objects).containers[0].args
  const leaderArgsOf = (objects: readonly Manifest[]) =>
    leaderOf(objects).spec.template.spec.containers[0].args

  t.test('two renders are the same, without keys, a CA or webhook configurations', async (t) => {
    for (const values of [{}, EVERYTHING, UNARMED, TOGETHER]) {
      const { text, objects } = rendered(values)
      t.equal(rendered(values).text, text)
      t.notMatch(text, /caBundle|PRIVATE KEY|BEGIN CERTIFICATE|LS0tLS1/)
      t.notMatch(kinds(objects), ['Secret'])
      t.notOk(kinds(objects).some((kind) => kind.endsWith('WebhookConfiguration') || kind === 'Secret'))
      for (const { metadata } of objects)
        t.match(metadata.name, /^vmcp-admission|^\w+\.toolhive\.stacklok\.dev$/)
    }
    for (const file of readdirSync(CHART, { recursive: true, encoding: 'utf8' })) {
      if (/\.(yaml|tpl|txt|json)$/.test(file))
        t.notMatch(read(`deploy/helm/vmcp-admission/${file}`), /caBundle(?!Ref)/, file)
    }
  })

  t.test('helm finds nothing to complain about', async (t) => {
    for (const values of [{}, EVERYTHING, TOGETHER]) {
      const { status, stdout } = helm(['lint', '--strict', CHART, ...setArguments(values)])
      t.equal(status, 0, stdout)
    }
  })

  t.test('everything is there by default but what needs the CRDs of others', async (t) => {
    t.strictSame(kinds(rendered().objects), [
      'ClusterRole',
      'ClusterRoleBinding',
      'Deployment',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Role',
      'RoleBinding',
      'Service',
      'ServiceAccount',
    ])
    const more = ['Certificate', 'ConfigMap', 'CustomResourceDefinition', 'PrometheusRule', 'ServiceMonitor']
    const all = kinds(rendered(EVERYTHING).objects)
    for (const kind of more) t.ok(all.includes(kind), kind)
  })

  t.test('wrong values are refused with their path', async (t) => {
    const rows: [object, RegExp][] = [
      [{ mode: 'audit' }, /at '\/mode': value must be one of 'enforce', 'warn'/],
      [{ replicas: 0 }, /at '\/replicas': minimum: got 0, want 1/],
      [{ replica: 3 }, /additional properties 'replica' not allowed/],
      [{ 'image.tg': 'x' }, /at '\/image': additional properties 'tg' not allowed/],
      [{ 'image.digest': 'latest' }, /at '\/image\/digest'/],
      [{ 'ports.webhook': 443 }, /at '\/ports\/webhook': minimum: got 443, want 1,024/],
      [{ 'ports.webhook': '8443' }, /at '\/ports\/webhook': got string, want integer/],
      [
        { severities: ['upstream-url-https'] },
        /at '\/severities\/0': 'upstream-url-https' does not match pattern/,
      ],
      [
        { severities: ['upstream-url-htps=error'] },
        /severities: 'upstream-url-htps=error': upstream-url-htps is not the id of a rule; docs\/rules\.md/,
      ],
      [{ severities: ['schema-maxItem=off@a'] }, /schema-maxItem is not the id of a rule/],
      [{ severities: ['schema-type:spec=off'] }, /schema-type is always an error/],
      [
        { severities: ['schema-enum:spec.awsSts.regio=warning'] },
        /spec\.awsSts\.regio is not a field of any kind; docs\/fields\.md lists them/,
      ],
      [
        { severities: ['schema-required:spec.outgoingAuth.backends.jira.type=off'] },
        /spec\.outgoingAuth\.backends\.jira\.type is not a field/,
      ],
      [{ severities: ['schema-enum:spec.awsSts.roleMappings[0].role=off'] }, /leave list indexes out/],
      [
        { 'config.file': { profiles: 'strict' } },
        /config\.file: there is no key 'profiles'; the keys are profile, /,
      ],
      [{ 'config.file': 'profiles: strict' }, /config\.file: there is no key 'profiles'/],
      [{ 'config.file': { severities: ['a=off'] } }, /severities: 'a=off': a is not the id of a rule/],
      [{ 'config.file': { exemptions: [{ id: 'schema-enum' }] } }, /an exemption needs an id and a reason/],
      [
        { 'config.file': { exemptions: [{ id: 'a', reason: 'x' }] } },
        /exemptions: a is not the id of a rule/,
      ],
      [{ ...CONFIG, 'config.configMapName': 'a' }, /config\.configMapName: leave it out beside config\.file/],
      [{ 'arming.namespaceSelector': 'team in a' }, /at '\/arming\/namespaceSelector'/],
      [{ 'arming.objectSelector': 'team in a' }, /at '\/arming\/objectSelector'/],
      [{ 'arming.timeoutSeconds': 31 }, /at '\/arming\/timeoutSeconds': maximum: got 31, want 30/],
      [{ 'image.registry': 'https://mirror.example' }, /at '\/image\/registry'/],
      [{ commonLabels: { 'app.kubernetes.io/name': 'a' } }, /at '\/commonLabels\/app\.kubernetes\.io~1name'/],
      [{ podLabels: { 'app.kubernetes.io/part-of': 'a' } }, /at '\/podLabels\/app/],
      [{ extraVolumes: [{ name: 'client-ca', emptyDir: {} }] }, /at '\/extraVolumes\/0\/name'/],
      [{ extraVolumeMounts: [{ name: 'a' }] }, /missing property 'mountPath'/],
      [{ 'resources.limits': { memory: true } }, /at '\/resources\/limits\/memory'/],
      [{ watchNamespaces: ['Team A'] }, /at '\/watchNamespaces\/0'/],
      [{ extraArgs: ['mode=warn'] }, /at '\/extraArgs\/0'/],
      [{ apiGroup: 'toolhive' }, /at '\/apiGroup'/],
      [{ 'certificates.mode': 'local' }, /at '\/certificates\/mode': value must be one of/],
      [{ 'ports.probe': 10_250 }, /ports\.probe: must be another port than ports\.webhook/],
      [{ hostNetwork: true }, /ports\.webhook: 10250 is the kubelet's with hostNetwork/],
      [{ 'arming.enabled': false }, /arming\.enabled: false leaves nobody to write the CA/],
      [{ 'certificates.certManager.enabled': true }, /certManager\.enabled: needs certificates\.mode files/],
      [{ ...FILES, 'certificates.certManager.enabled': true }, /issuerRef\.name: name the issuer/],
      [{ 'rollout.maxSurge': 0 }, /rollout: maxSurge and maxUnavailable cannot both be 0/],
      [{ checkSecrets: true }, /checkSecrets: true tells whoever reaches the port which Secrets exist; set/],
      [{ defaults: 'none' }, /at '\/defaults': value must be one of/],
      [
        { defaults: 'off', serviceAccountAudience: 'a' },
        /serviceAccountAudience: has no effect with defaults off/,
      ],
      [{ 'clientAuthentication.names': ['a'] }, /need the CA in clientAuthentication\.configMapName/],
    ]
    for (const [values, message] of rows) {
      const { status, stderr } = helm(templateArguments(values))
      t.equal(status, 1, JSON.stringify(values))
      t.match(stderr, message)
    }
  })

  t.test(
    'the chart refuses the severities with which the server does not start, and no others',
    async (t) => {
      const settings = [
        ...['upstream-url-https=error', 'upstream-url-htps=error', 'schema-enum=off@a,b', 'schema-enums=off'],
        ...['schema-type=off', 'schema-required:spec=off', 'schema-enum:spec.type=warning@team-a'],
        ...[
          'schema-enum:spec.anything.goes=off',
          'schema-enum:spec.awsSts.regio=off',
          'schema-enum:status=off',
        ],
        ...['schema-enum:spec.outgoingAuth.backends.<name>.type=off', 'schema-enum:specs=off'],
        ...['schema-enum:spec.outgoingAuth.backends[my.jira].type=off', 'schema-enum:spec.type.of=off'],
        ...[
          'schema-enum:spec.outgoingAuth.backends.jira.type=off',
          'schema-enum:spec.outgoingAuth.backends=off',
        ],
        'schema-minLength:spec.awsSts.roleMappings.claim=off',
        'schema-minLength:spec.awsSts.roleMappings[].claim=off',
        'schema-minLength:spec.awsSts.roleMappings[].claims=off',
        'upstream-oidc-client-id-configured:upstreamProviders[].oidcConfig.clientId=off',
        'upstream-oidc-client-id-configured:upstreamProviders.oidcConfig.client=off',
        'schema-enum:oidcConfig=off',
        'schema-required:spec.embeddedAuthServer.storage.redis.aclUserConfig.usernameSecretRef=off',
      ]
      const refusedByServer = settings.filter(
        (each) => typeof parseSeveritySetting(each, ALL_IDS) === 'string',
      )
      t.ok(refusedByServer.length > 4 && refusedByServer.length < settings.length - 4)
      const refused = settings.filter((each) => helm(templateArguments({ severities: [each] })).status !== 0)
      t.strictSame(refused, refusedByServer)
    },
  )

  t.test('every value is in the schema and in the README, and does something', async (t) => {
    const leaves = (value: unknown, schema: Schema, at: string): string[] => {
      const known = Object.keys(schema.properties ?? {})
      if (known.length === 0 || at.endsWith('resources')) return [at]
      // `global` is shared with other charts, so its other keys are not the chart's.
      t.equal(schema.additionalProperties, at === 'global' ? undefined : false, at)
      const ofParent = at === '' ? ['enabled'] : []
      t.strictSame([...ofParent, ...Object.keys(value as object)].sort(), known.sort(), at)
      return Object.entries(value as object).flatMap(([key, inner]) =>
        leaves(inner, schema.properties?.[key] ?? {}, at === '' ? key : `${at}.${key}`),
      )
    }
    const schema = JSON.parse(read('deploy/helm/vmcp-admission/values.schema.json')) as Schema
    const readme = read('deploy/helm/vmcp-admission/README.md')
    const paths = leaves(parse(read('deploy/helm/vmcp-admission/values.yaml')), schema, '')
    for (const path of paths) t.ok(readme.includes(`| \`${path.replace(/(issuerRef)\..*/, '$1')}\` |`), path)
    t.strictSame(paths.toSorted(), CHANGED.map(([path]) => path).toSorted())
    const renders = new Map<string, Promise<string>>()
    const rendering = (values: object) => {
      const known = renders.get(JSON.stringify(values)) ?? rendersTo(values)
      renders.set(JSON.stringify(values), known)
      return known
    }
    await inBatches(CHANGED, async ([path, value, beside = {}]) => {
      const [without, changed] = await Promise.all([
        rendering(beside),
        rendering({ ...beside, [path]: value }),
      ])
      t.not(changed, without, path)
    })
  })

  t.test('a chart above may have it under a condition', async (t) => {
    const dependency = { name: 'vmcp-admission', version: '>=0', condition: 'vmcp-admission.enabled' }
    const parent = { apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies: [dependency] }
    const folder = t.testdir({
      'Chart.yaml': JSON.stringify(parent),
      charts: { 'vmcp-admission': t.fixture('symlink', CHART) },
    })
    for (const enabled of [true, false]) {
      const { status, stdout, stderr } = helm([
        ...['template', 'parent', folder],
        ...setArguments({ 'vmcp-admission.enabled': enabled, 'vmcp-admission.mode': 'warn' }),
      ])
      t.equal(status, 0, stderr)
      t.equal(stdout.includes('--mode=warn'), enabled)
    }
    t.match(helm(templateArguments({ enabled: false })), { status: 1, stderr: /enabled/ }, 'nothing reads it')
  })

  t.test('arguments are flags of the server', async (t) => {
    for (const values of [{}, EVERYTHING, UNARMED, TOGETHER, { 'clientAuthentication.configMapName': 'a' }]) {
      for (const { containers } of podsOf(rendered(values).objects)) {
        const args = containers[0].args.map((arg) => arg.replace('$(POD_NAMESPACE)', 'vmcp-system'))
        t.doesNotThrow(() => readFlags(SERVER_FLAGS, args, {}), args.join(' '))
      }
    }
    const set = [{}, EVERYTHING].flatMap((values) =>
      podsOf(rendered(values).objects).flatMap(({ containers }) => containers[0].args),
    )
    const shown = set.map((arg) => /^--([\w-]+)/.exec(arg)?.[1])
    // Flags that users set with extraArgs, or that have no use in a pod.
    const others = [
      'help',
      'kubeconfig',
      'local-cluster',
      'webhook-url',
      'body-memory',
      'cache-memory',
      'ca-lifetime',
      'leaf-lifetime',
      'ca-propagation',
    ]
    for (const name of Object.keys(SERVER_FLAGS))
      t.ok(shown.includes(name) || others.includes(name), `--${name}`)
    const { values: left } = readFlags(SERVER_FLAGS, [], {})
    const seconds = [left['ca-lifetime'], left['leaf-lifetime'], left['ca-propagation']]
    t.strictSame(seconds, [365 * 86_400, 7 * 86_400, 600])
    for (const { containers } of podsOf(rendered({ 'arming.failClosed': false }).objects))
      t.ok(containers[0].args.includes('--arming=ignore'))
    const common = [
      '--host=0.0.0.0',
      '--probe-port=8080',
      '--certificates=self-managed',
      '--service=vmcp-admission',
      '--namespace=$(POD_NAMESPACE)',
      '--api-group=toolhive.stacklok.dev',
      '--log-level=info',
      '--arming=on',
    ]
    const owner = '--owner-cluster-role=vmcp-admission'
    const judging = ['--mode=enforce', '--shutdown-delay=10']
    const { objects } = rendered()
    t.strictSame(argsOf(objects), ['--role=webhook', '--port=10250', ...common, ...judging])
    t.strictSame(leaderArgsOf(objects), ['--role=leader', ...common, owner])
    const together = rendered(TOGETHER).objects
    t.equal(podsOf(together).length, 1)
    t.strictSame(argsOf(together), ['--role=all', '--port=10250', ...common, owner, ...judging])
    t.strictSame(podsOf(rendered(UNARMED).objects).length, 1, 'without arming nobody leads')
    t.ok(
      argsOf(rendered(EVERYTHING).objects).includes('--severity=schema-enum:spec.type=warning@team-a,team-b'),
    )
  })

  t.test(
    'pipelines read what the webhook reads, by a role that the chart never makes or removes',
    async (t) => {
      const [check, ...ofServer] = ['check', 'view', 'release'].map(
        (name) => parse(read(`deploy/rbac/${name}.yaml`)) as Manifest,
      )
      t.strictSame(
        check?.rules,
        ofServer.flatMap(({ rules = [] }) => rules),
      )
      const others = readdirSync(join(ROOT, 'deploy/rbac')).filter((name) => name !== 'check.yaml')
      for (const name of others)
        t.not((parse(read(`deploy/rbac/${name}`)) as Manifest).metadata.name, check?.metadata.name, name)
      for (const values of [{}, EVERYTHING])
        t.notOk(rendered(values).objects.some(({ metadata }) => metadata.name === check?.metadata.name))
      for (const page of ['cluster', 'pipelines'])
        t.strictSame(
          read(`docs/${page}.md`).match(/(?<=--clusterrole=)[\w-]+/g),
          [check?.metadata.name],
          page,
        )
    },
  )

  /** The permissions of a service account, from all roles bound to it. */
  const rights = (objects: readonly Manifest[], account: string) =>
    objects
      .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
      .filter(({ kind, metadata }) =>
        objects.some(
          (each) =>
            each.kind === `${kind}Binding` &&
            each.roleRef?.name === metadata.name &&
            each.metadata.namespace === metadata.namespace &&
            each.subjects?.some(({ name }) => name === account),
        ),
      )
      .flatMap(({ kind, metadata, rules = [] }) =>
        rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
          resources.map((resource) => {
            const where = kind === 'Role' ? metadata.namespace : 'cluster'
            const names = resourceNames === undefined ? '' : ` named ${resourceNames.join()}`
            return `${where}: ${resource}.${apiGroups.join()}${names}: ${verbs.join()}`
          }),
        ),
      )
      .sort()
  const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io'
  const view = (where: string, group = 'toolhive.stacklok.dev') => [
    ...KINDS.map(({ plural }) => `${where}: ${plural}.${group}: get,list,watch`),
    `${where}: namespaces.: get`,
    ...(where === 'cluster'
      ? [`cluster: ${DEFINITIONS} named ${KINDS.map(({ plural }) => `${plural}.${group}`).join()}: get`]
      : []),
  ]
  const arming = (group = 'toolhive.stacklok.dev') => [
    'cluster: clusterroles.rbac.authorization.k8s.io named vmcp-admission: get',
    ...['mutating', 'validating'].flatMap((which) => {
      const resource = `${which}webhookconfigurations.admissionregistration.k8s.io`
      return [`cluster: ${resource} named vmcp-admission: get,watch,create,patch`]
    }),
    'vmcp-system: leases.coordination.k8s.io named vmcp-admission: get,patch',
    'vmcp-system: leases.coordination.k8s.io: create',
    `vmcp-system: mcpexternalauthconfigs.${group}: create`,
  ]
  const authority = [
    'vmcp-system: secrets. named vmcp-admission-ca: get,patch',
    'vmcp-system: secrets.: create',
  ]

  /** What webhook pods may read of the configurations that the leader writes. */
  const reading = ['mutating', 'validating'].map(
    (which) =>
      `cluster: ${which}webhookconfigurations.admissionregistration.k8s.io named vmcp-admission: get,watch`,
  )
  const authorityRead = 'vmcp-system: secrets. named vmcp-admission-ca: get'

  const reporting = (where: string) => [
    ...['reports.openreports.io', 'policyreports.wgpolicyk8s.io'].map(
      (resource) => `${where}: ${resource}: list,create,patch,delete`,
    ),
    'vmcp-system: leases.coordination.k8s.io named vmcp-admission-reports: get,patch',
    'vmcp-system: leases.coordination.k8s.io: create',
  ]

  t.test('rights are these and no others', async (t) => {
    const rows: [values: object, webhook: string[], leader: string[]][] = [
      [{}, [...view('cluster'), ...reading, authorityRead], [...arming(), ...authority]],
      [
        { checkSecrets: 'any-caller' },
        [...view('cluster'), ...reading, authorityRead, 'cluster: secrets.: get'],
        [...arming(), ...authority],
      ],
      // The leader does not judge objects: the webhook pods write the reports.
      [
        { reports: true },
        [...view('cluster'), ...reading, authorityRead, ...reporting('cluster')],
        [...arming(), ...authority],
      ],
      [TOGETHER, [...view('cluster'), ...arming(), ...authority], []],
      [FILES, [...view('cluster'), ...reading], arming()],
      [{ ...FILES, ...TOGETHER }, [...view('cluster'), ...arming()], []],
      [UNARMED, view('cluster'), []],
      [
        { apiGroup: 'vmcp.example' },
        [...view('cluster', 'vmcp.example'), ...reading, authorityRead],
        [...arming('vmcp.example'), ...authority],
      ],
      [
        { watchNamespaces: ['team-a', 'team-b'] },
        [...view('team-a'), ...view('team-b'), ...reading, authorityRead],
        [...arming(), ...authority],
      ],
      // Without arming, the chart creates no cluster-wide permission.
      [
        { ...UNARMED, watchNamespaces: ['team-a'], checkSecrets: 'any-caller', reports: true },
        [...view('team-a'), 'team-a: secrets.: get', ...reporting('team-a')],
        [],
      ],
    ]
    for (const [values, webhook, leader] of rows) {
      const { objects } = rendered(values)
      t.strictSame(rights(objects, 'vmcp-admission'), webhook.toSorted(), JSON.stringify(values))
      t.strictSame(rights(objects, 'vmcp-admission-leader'), leader.toSorted(), JSON.stringify(values))
      const bound = objects.filter(({ kind }) => kind.endsWith('RoleBinding'))
      const roles = objects.filter(({ kind }) => kind.endsWith('Role'))
      t.equal(bound.length, roles.length)
      for (const { kind, metadata, roleRef, subjects } of bound) {
        const [role] = roles.filter(
          (each) => each.metadata.name === roleRef?.name && each.metadata.namespace === metadata.namespace,
        )
        t.equal(role?.kind, kind.replace('Binding', ''))
        const [subject, ...more] = subjects ?? []
        t.match(subject, { kind: 'ServiceAccount', namespace: 'vmcp-system' })
        t.ok(objects.some((each) => each.kind === subject?.kind && each.metadata.name === subject.name))
        t.strictSame(more, [])
      }
    }
  })

  t.test('the pod has no privilege, and writes nowhere', async (t) => {
    for (const pod of [{}, EVERYTHING, TOGETHER].flatMap((values) => podsOf(rendered(values).objects))) {
      t.strictSame(pod.securityContext, {
        runAsNonRoot: true,
        runAsUser: 65_532,
        runAsGroup: 65_532,
        fsGroup: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      })
      t.equal(pod.containers.length, 1)
      t.strictSame(pod.containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
      })
      for (const mount of pod.containers[0].volumeMounts ?? []) t.equal(mount.readOnly, true)
      t.notOk(pod.containers[0].resources.limits.cpu)
    }
    t.equal(podOf(rendered().objects).volumes, undefined)
    const { volumes } = podOf(rendered(EVERYTHING).objects)
    t.strictSame(volumes, [
      { name: 'certificates', secret: { secretName: 'vmcp-admission-tls', defaultMode: 0o440 } },
      { name: 'client-ca', configMap: { name: 'client-ca' } },
      { name: 'config', configMap: { name: 'vmcp-admission-config' } },
      { name: 'proxy-ca', configMap: { name: 'proxy-ca' } },
    ])
    const accounts = rendered().objects.filter(({ kind }) => kind === 'ServiceAccount')
    t.strictSame(
      accounts.map(({ automountServiceAccountToken }) => automountServiceAccountToken),
      [false, false],
    )
    for (const pod of podsOf(rendered().objects)) t.equal(pod.automountServiceAccountToken, true)
  })

  t.test('labels, security contexts, volumes and images are those of the values', async (t) => {
    const { objects } = rendered(EVERYTHING)
    for (const { kind, metadata } of objects) {
      const team = kind === 'Service' && metadata.name === 'vmcp-admission' ? 'network' : 'platform'
      t.match(metadata.labels, { team, 'cost-center': '7' }, `${kind} ${metadata.name}`)
    }
    for (const { kind, metadata, spec } of objects) {
      if (kind !== 'Deployment') continue
      t.match(metadata.annotations, { note: 'a' })
      t.match(spec.template.metadata.labels, { team: 'identity', 'cost-center': '7' }, 'podLabels count more')
      const pod = spec.template.spec
      t.strictSame(pod.imagePullSecrets, [{ name: 'registry' }, { name: 'mirror' }])
      t.ok(pod.containers[0].volumeMounts?.some(({ name }) => name === 'proxy-ca'))
      t.ok(pod.volumes?.some(({ name }) => name === 'proxy-ca'))
    }
    const openShift = { 'podSecurityContext.runAsUser': null, 'podSecurityContext.runAsGroup': null }
    for (const values of [
      { ...openShift, 'podSecurityContext.fsGroup': null },
      { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } },
    ]) {
      const pods = [...podsOf(rendered(values).objects), testPodOf(values).spec]
      t.equal(pods.length, 3)
      for (const pod of pods)
        t.strictSame(pod.securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    }
    const less = { 'securityContext.capabilities': null, podSecurityContext: null, securityContext: { a: 1 } }
    for (const pod of podsOf(rendered(less).objects)) {
      t.equal(pod.securityContext, undefined)
      t.match(pod.containers[0].securityContext, { a: 1 })
    }
    const digest = `sha256:${'a'.repeat(64)}`
    for (const [image, expected] of [
      [{}, 'vmcp-admission:0.1.0'],
      [{ 'image.tag': 'next' }, 'vmcp-admission:next'],
      [{ 'image.tag': 'next', 'image.digest': digest }, `vmcp-admission@${digest}`],
      [{ 'global.imageRegistry': 'a.example' }, 'a.example/vmcp-admission:0.1.0'],
      [
        { 'global.imageRegistry': 'a.example', 'image.registry': 'b.example:5000/x', 'image.digest': digest },
        `b.example:5000/x/vmcp-admission@${digest}`,
      ],
    ] as const)
      for (const pod of [...podsOf(rendered(image).objects), testPodOf(image).spec])
        t.equal(pod.containers[0].image, expected)
  })

  t.test('helm test asks with the image, without a shell, as an account with two rights', async (t) => {
    for (const values of [{}, EVERYTHING, UNARMED]) {
      const { objects } = renderedTest(values)
      t.strictSame(kinds(objects), ['Pod', 'Role', 'RoleBinding', 'ServiceAccount'])
      for (const { metadata } of objects)
        t.match(metadata, {
          name: 'vmcp-admission-test',
          namespace: 'vmcp-system',
          annotations: { 'helm.sh/hook': 'test' },
        })
      t.strictSame(rights(objects, 'vmcp-admission-test'), [
        'vmcp-system: deployments.apps named vmcp-admission,vmcp-admission-leader: get',
        'vmcp-system: mcpexternalauthconfigs.toolhive.stacklok.dev: create',
      ])
      const { metadata, spec } = testPodOf(values)
      const [{ command = [], args }] = spec.containers
      t.equal(spec.serviceAccountName, 'vmcp-admission-test')
      const [node = '', main = ''] = command
      const dockerfile = read('Dockerfile')
      t.match(dockerfile, `ENTRYPOINT ["${node}", "/app/dist/`)
      t.match([main, dockerfile], ['/app/dist/cli/main.js', /COPY --from=build \/app \/app/])
      t.equal(args[0], 'doctor')
      t.doesNotThrow(() => readFlags(doctor.flags, args.slice(1), {}))
      // A Service has the pod labels in spec.selector itself.
      for (const { kind, spec: one } of rendered({ ...values, ...MONITOR }).objects) {
        if (kind !== 'Service') continue
        const isSelected = Object.entries(one.selector).every(
          ([label, value]) => Reflect.get(metadata.labels, label) === value,
        )
        t.notOk(isSelected, 'no Service leads to the pod of the test')
      }
    }
    t.notOk(rendered().text.includes('vmcp-admission-test'))
  })

  t.test('who chose to fail open is not told of it for ever', async (t) => {
    const alerts = (values: object) =>
      rendered({ ...ALERTS, ...values })
        .text.match(/(?<=alert: )\w+/g)
        ?.toSorted() ?? []
    const all = alerts({})
    t.ok(all.includes('VmcpAdmissionNotArmed') && all.length > 10)
    const others = all.filter((name) => name !== 'VmcpAdmissionNotArmed')
    t.strictSame(alerts({ 'arming.failClosed': false }), others)
    t.strictSame(alerts(UNARMED), others)
  })

  t.test('a rollout, a drain and a lost node leave a replica', async (t) => {
    const { objects } = rendered()
    const { spec } = webhookOf(objects)
    t.equal(spec.replicas, 2)
    t.strictSame(spec.strategy, { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } })
    const { labels } = spec.template.metadata
    t.match(labels, spec.selector.matchLabels)
    const budget = only(objects, 'PodDisruptionBudget').spec
    t.strictSame(budget, {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: spec.selector,
    })
    t.strictSame(only(objects, 'Service').spec.selector, spec.selector.matchLabels)
    t.strictSame(named(objects, 'NetworkPolicy', 'vmcp-admission').spec.podSelector, spec.selector)
    const leader = leaderOf(objects).spec
    t.match(leader.template.metadata.labels, leader.selector.matchLabels)
    const isSelected = Object.entries(spec.selector.matchLabels).every(
      ([label, value]) => Reflect.get(leader.template.metadata.labels, label) === value,
    )
    t.notOk(isSelected, 'no Service leads to the leader')
    t.strictSame(named(objects, 'NetworkPolicy', 'vmcp-admission-leader').spec.podSelector, leader.selector)
    const keys = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone']
    const pod = podOf(objects)
    t.strictSame(
      pod.topologySpreadConstraints,
      keys.map((topologyKey) => ({
        maxSkew: 1,
        topologyKey,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: spec.selector,
        matchLabelKeys: ['pod-template-hash'],
      })),
    )
    const [container] = pod.containers
    t.equal(container.lifecycle, undefined)
    for (const [delay, grace] of [
      [0, 20],
      [10, 30],
      [60, 80],
    ]) {
      const slow = podOf(rendered({ shutdownDelay: delay }).objects)
      t.equal(slow.terminationGracePeriodSeconds, grace)
    }
    t.equal(podOf(rendered({ 'arming.timeoutSeconds': 30 }).objects).terminationGracePeriodSeconds, 55)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      t.equal(container[probe].httpGet.port, 'probe')
    t.equal(container.readinessProbe.httpGet.path, '/readyz')
    t.equal(container.livenessProbe.httpGet.path, '/livez')
  })

  t.test('ports, host network, network policy', async (t) => {
    const { objects } = rendered()
    t.strictSame(only(objects, 'Service').spec.ports, [
      { name: 'webhook', port: 443, targetPort: 'webhook', protocol: 'TCP' },
    ])
    const policies = (all: readonly Manifest[]) =>
      ['vmcp-admission', 'vmcp-admission-leader'].map((name) => named(all, 'NetworkPolicy', name).spec)
    const webhookPort = [{ port: 'webhook', protocol: 'TCP' }]
    t.strictSame(
      policies(objects).map(({ policyTypes, ingress }) => [policyTypes, ingress]),
      [
        [['Ingress'], [{ ports: webhookPort }]],
        [['Ingress'], []],
      ],
      'nobody reaches metrics, nor the leader',
    )
    const from = [{ namespaceSelector: { matchLabels: { team: 'a' } } }]
    const metrics = { from, ports: [{ port: 'probe', protocol: 'TCP' }] }
    const open = rendered({
      'networkPolicy.webhookFrom': [{ ipBlock: { cidr: '192.0.2.0/24' } }],
      'networkPolicy.metricsFrom': from,
    }).objects
    t.strictSame(
      policies(open).map(({ ingress }) => ingress),
      [[{ ports: webhookPort, from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }, metrics], [metrics]],
    )
    t.equal(podOf(objects).hostNetwork, undefined)
    const everything = rendered(EVERYTHING).objects
    t.match(podOf(everything), { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' })
    t.strictSame(podOf(everything).containers[0].ports, [
      { name: 'webhook', containerPort: 8443, protocol: 'TCP' },
      { name: 'probe', containerPort: 8080, protocol: 'TCP' },
    ])
    for (const { policyTypes } of policies(everything)) t.strictSame(policyTypes, ['Ingress', 'Egress'])
    const monitor = rendered(MONITOR)
    const [monitored] = monitor.objects.filter(({ metadata }) => metadata.name === 'vmcp-admission-metrics')
    t.notMatch(monitor.text, /jobLabel|relabel/, 'so `job` is the name of the Service')
    const jobs = read('deploy/helm/vmcp-admission/files/dashboard.json').match(/(?<=\bjob=\\")[^\\]+/g)
    t.strictSame(new Set(jobs), new Set([monitored?.metadata.name]))
    for (const { spec } of [webhookOf(objects), leaderOf(objects)])
      t.match(spec.template.metadata.labels, monitored?.spec.selector, 'Prometheus finds both')
    t.strictSame(
      podsOf(everything).map(({ hostNetwork }) => hostNetwork),
      [true, undefined],
    )
  })

  t.test('the CRDs of the chart are those of deploy/crds, of the group in use', async (t) => {
    const { objects } = rendered({ 'crds.enabled': true, apiGroup: 'vmcp.example' })
    const crds = objects.filter(({ kind }) => kind === 'CustomResourceDefinition')
    t.equal(crds.length, KINDS.length)
    for (const { metadata, spec } of crds) {
      const ours = parse(read(`deploy/crds/${spec.names?.plural ?? ''}.yaml`)) as Manifest
      t.strictSame(spec, { ...ours.spec, group: 'vmcp.example' })
      t.equal(metadata.name, `${spec.names?.plural ?? ''}.vmcp.example`)
      t.match(metadata, {
        labels: { 'vmcp-admission/crds': 'true' },
        annotations: { 'helm.sh/resource-policy': 'keep' },
      })
    }
  })

  t.test('install.yaml and the base of kustomize are what the chart renders', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'vmcp-render-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const env = { ...process.env, HELM: helmPath() }
    const { status, stderr } = spawnSync(join(ROOT, 'deploy/render.sh'), [folder], { encoding: 'utf8', env })
    t.equal(status, 0, stderr)
    for (const file of ['install.yaml', 'kustomize/base/vmcp-admission.yaml'])
      t.ok(
        readFileSync(join(folder, file), 'utf8') === read(`deploy/${file}`),
        `${file}: run deploy/render.sh`,
      )
  })
}
