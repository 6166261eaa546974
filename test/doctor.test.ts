import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { wantedConfigurations } from '../src/arming/reconcile.ts'
import { probeAnswer } from '../src/arming/index.ts'
import { register, type TemporaryCluster } from '../src/arming/temporary.ts'
import { makeAuthority } from '../src/certificates/x509.ts'
import { doctor, doctorWith } from '../src/cli/commands/doctor.ts'
import { examine } from '../src/cli/commands/doctor/examine.ts'
import { type DoctorFinding, part } from '../src/cli/commands/doctor/findings.ts'
import { openInstallation } from '../src/cli/input/live/index.ts'
import { uninstall } from '../src/cli/commands/uninstall.ts'
import { UsageError } from '../src/configuration/flags.ts'
import { DEFAULT_API_GROUP as GROUP, KINDS } from '../src/kinds/index.ts'
import { isStrictError } from '../src/engine/index.ts'
import { allRules } from '../src/kinds/places.ts'
import { crd } from '../src/registration/index.ts'
import { probeAnnotation } from '../src/registration/webhook-configurations.ts'
import { runCli, runHere } from './support/cli.ts'
import { problemWithOutput } from './support/output-schemas.ts'
import { type Answer, fakeApiServer, json, refusal } from './support/fake-api-server.ts'

t.setTimeout(120_000)
const NOW = Date.parse('2026-01-01T00:00:00Z')
const DAY = 86_400_000
const NAMESPACE = 'vmcp-system'
const GOLDEN = new URL('golden/doctor.txt', import.meta.url)

const authority = (issued: number, days: number) =>
  makeAuthority('test CA', { now: NOW + issued * DAY, lifetime: days * DAY })
const ours = await authority(0, 365)
const other = await authority(0, 100)
const old = await authority(-100, 99)
const ending = await authority(-95, 100)
const future = await authority(400, 365)

const base64 = (text: string) => Buffer.from(text).toString('base64')
const bundle = (pair: { readonly certificate: string }) => base64(pair.certificate)

type Json = Record<string, unknown>

/** An installation in a fake cluster: the objects that the API server returns by path. Each test damages it. */
interface Cluster {
  readonly objects: Map<string, Json>
  /** Errors for requests to a path with any method. */
  readonly refusals: Map<string, [status: number, message: string]>
  /** Verbs and resources that the service account is denied. */
  readonly forbidden: Set<string>
  /** The answer to the dry run; undefined when the API server calls the webhook. */
  probe: Answer | undefined
  /** Milliseconds by which this machine's clock is ahead of the API server's. */
  offset: number
  /** The metrics of each pod, by the pod's name. */
  readonly metrics: Map<string, string>
}

const V1 = `/api/v1/namespaces/${NAMESPACE}`
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const VALIDATING = `${ADMISSION}/validatingwebhookconfigurations`
const MUTATING = `${ADMISSION}/mutatingwebhookconfigurations`
const POLICIES = `${ADMISSION}/validatingadmissionpolicies`
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/vmcp-admission`
const LEADER = `${DEPLOYMENT}-leader`
const HOME = `/api/v1/namespaces/${NAMESPACE}`
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/vmcp-admission`
const SERVICE = `${V1}/services/vmcp-admission`
const SLICES = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`
const SECRET = `${V1}/secrets/vmcp-admission-ca`
const crdPath = (plural: string) =>
  `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${GROUP}`

function healthy(): Cluster {
  const [validating, mutating] = wantedConfigurations({
    group: GROUP,
    failurePolicy: 'Fail',
    clientConfig: (path) => ({
      service: { namespace: NAMESPACE, name: 'vmcp-admission', port: 443, path },
      caBundle: bundle(ours),
    }),
    owner: undefined,
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 5,
    manager: `Lease ${NAMESPACE}/vmcp-admission`,
    breakGlass: '',
  })
  const args = [
    '--arming=on',
    '--certificates=self-managed',
    '--owner-cluster-role=vmcp-admission',
    '--check-secrets=any-caller',
    '--reports',
  ]
  const objects = new Map<string, Json>(
    Object.entries({
      [DEPLOYMENT]: {
        spec: {
          replicas: 2,
          template: { spec: { serviceAccountName: 'vmcp-admission', containers: [{ args }] } },
        },
        status: { readyReplicas: 2 },
      },
      [HOME]: {},
      [SERVICE]: { spec: { ports: [{ port: 443 }], selector: { app: 'vmcp' } } },
      [SLICES]: { items: [{ endpoints: [{ conditions: { ready: true } }] }] },
      [SECRET]: {
        data: {
          'ca.crt': bundle(ours),
          'current.crt': bundle(ours),
          'current.key': base64('hush'),
        },
      },
      [LEASE]: {
        metadata: { resourceVersion: '7' },
        spec: { holderIdentity: 'one', renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds: 15 },
      },
      [`${VALIDATING}/vmcp-admission`]: structuredClone(validating),
      [`${MUTATING}/vmcp-admission`]: structuredClone(mutating),
      [VALIDATING]: { items: [validating] },
      [MUTATING]: { items: [mutating] },
      [POLICIES]: { items: [] },
    }) as [string, Json][],
  )
  for (const { plural } of KINDS)
    objects.set(crdPath(plural), {
      spec: {
        versions: [
          { name: 'v1beta1', served: true, schema: { openAPIV3Schema: { properties: { spec: {} } } } },
        ],
      },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    })
  return {
    objects,
    refusals: new Map(),
    forbidden: new Set(),
    probe: undefined,
    offset: 0,
    metrics: new Map(),
  }
}

/** Answers requests as the API server of this cluster. */
function answerOf(cluster: Cluster): Answer {
  return (response) => {
    const { method = '', url = '' } = response.req
    const path = url.replace(/\?.*/, '')
    const parts: Buffer[] = []
    response.req.on('data', (each: Buffer) => void parts.push(each))
    response.req.on('end', () => {
      const body = parts.length === 0 ? {} : (JSON.parse(Buffer.concat(parts).toString()) as Json)
      const refused = cluster.refusals.get(path)
      const found = cluster.objects.get(path)
      if (refused !== undefined) refusal(...refused)(response)
      else if (path.endsWith('/subjectaccessreviews')) {
        const [verb, resource] = ['verb', 'resource'].map((key) =>
          part(body, 'spec', 'resourceAttributes', key),
        )
        json(201, { status: { allowed: !cluster.forbidden.has(`${String(verb)} ${String(resource)}`) } })(
          response,
        )
      } else if (url.endsWith('dryRun=All')) {
        const nonce = String(part(body, 'metadata', 'annotations', probeAnnotation(GROUP)))
        const answer = cluster.probe ?? refusal(400, `denied the request: ${probeAnswer(nonce)}`)
        answer(response)
      } else if (path.endsWith('/proxy/metrics')) {
        const text = cluster.metrics.get(path.split('/')[6] ?? '')
        if (text === undefined) refusal(503, 'error trying to reach service')(response)
        else response.end(text)
      } else if (found === undefined) refusal(404, 'not found')(response)
      else {
        if (method === 'DELETE') cluster.objects.delete(path)
        json(200, found)(response)
      }
    })
  }
}

async function serve(t: Test, cluster: Cluster) {
  return fakeApiServer(t, '', { lists: [answerOf(cluster)] })
}

/** Runs the examination at a fixed time, with a short wait for the Lease. */
async function diagnose(t: Test, cluster: Cluster) {
  const server = await serve(t, cluster)
  const opened = await openInstallation({ kubeconfig: server.kubeconfig, group: GROUP }, NAMESPACE, {})
  const place = {
    opened: { ...opened, clockOffset: () => cluster.offset },
    group: GROUP,
    namespace: NAMESPACE,
    service: 'vmcp-admission',
    leaseWaitMs: 50,
  }
  try {
    return await examine({ ...place, now: () => NOW })
  } finally {
    opened.close()
  }
}

const lineOf = ({ level, id, object, message, remedy }: DoctorFinding) =>
  `${level} (${id}): ${object}: ${message}${remedy === '' ? '' : `; ${remedy}`}`

const names = new Map<string, string>()
/** Replaces the fingerprints, which are random, by names. */
const stable = (text: string) =>
  text.replace(/(?:[0-9A-F]{2}:){31}[0-9A-F]{2}/g, (found) => {
    if (!names.has(found)) names.set(found, `FINGERPRINT ${'ABCDE'[names.size]}`)
    return names.get(found) ?? ''
  })

/** Sets the value at a path inside an object; undefined deletes it. */
function set({ objects }: Cluster, path: string, at: string, value: unknown): void {
  const keys = at.split('.')
  const last = keys.pop() ?? ''
  const holder = part(objects.get(path), ...keys) as object
  if (value === undefined) Reflect.deleteProperty(holder, last)
  else Reflect.set(holder, last, value)
}

function add({ objects }: Cluster, path: string, at: string, ...values: unknown[]): void {
  ;(part(objects.get(path), ...at.split('.')) as unknown[]).push(...values)
}

const FIRST = `${VALIDATING}/vmcp-admission`
const BOTH = [FIRST, `${MUTATING}/vmcp-admission`]
/** Sets a field of the validating webhook that judges writes. */
const setEntry = (cluster: Cluster, at: string, value: unknown) =>
  set(cluster, FIRST, `webhooks.0.${at}`, value)
/** Sets the clientConfig of every webhook. */
function setClients(cluster: Cluster, clientConfig: (path: unknown) => object): void {
  for (const path of BOTH)
    for (const each of part(cluster.objects.get(path), 'webhooks') as Json[])
      each.clientConfig = clientConfig(part(each, 'clientConfig', 'service', 'path'))
}
const setBundles = (cluster: Cluster, caBundle: string) =>
  setClients(cluster, (path) => ({
    service: { namespace: NAMESPACE, name: 'vmcp-admission', port: 443, path },
    caBundle,
  }))
const failing = (problem: string) =>
  refusal(
    500,
    `Internal error occurred: failed calling webhook "validate.vmcp-admission.${GROUP}": failed to call webhook: ${problem}`,
  )
function setArg(cluster: Cluster, from: string, to: string): void {
  const args = part(cluster.objects.get(DEPLOYMENT), ...ARGS.split('.')) as string[]
  args[args.indexOf(from)] = to
}
const ARGS = 'spec.template.spec.containers.0.args'

/** Changes the installation to the chart's default: a leader Deployment beside the webhook pods, which do not write. */
function separate(cluster: Cluster): void {
  const deployment = structuredClone(cluster.objects.get(DEPLOYMENT) ?? {})
  cluster.objects.set(LEADER, deployment)
  add(cluster, DEPLOYMENT, ARGS, '--role=webhook')
  add(cluster, LEADER, ARGS, '--role=leader')
  set(cluster, LEADER, 'spec.template.spec.serviceAccountName', 'vmcp-admission-leader')
}

const BROKEN: readonly [title: string, breakIt: (cluster: Cluster) => unknown][] = [
  ['healthy', () => undefined],
  [
    'nothing is there',
    (cluster) => {
      cluster.objects.clear()
      cluster.probe = refusal(404, 'the server could not find the requested resource')
    },
  ],
  [
    'nothing is there but the CRDs and the namespace',
    ({ objects }) => {
      for (const path of objects.keys())
        if (path !== HOME && !path.includes('/customres')) objects.delete(path)
    },
  ],
  [
    'no namespace, and a server outside of the cluster',
    (cluster) => {
      for (const path of [HOME, DEPLOYMENT, SERVICE, LEASE]) cluster.objects.delete(path)
      setClients(cluster, (path) => ({
        url: `https://example.com:8443${String(path)}`,
        caBundle: bundle(ours),
      }))
    },
  ],
  ['a leader of its own', separate],
  [
    'a leader of its own that is missing',
    (cluster) => {
      separate(cluster)
      cluster.objects.delete(LEADER)
      cluster.objects.delete(LEASE)
    },
  ],
  [
    'a leader of its own that is scaled down, and lacks rights',
    (cluster) => {
      separate(cluster)
      set(cluster, LEADER, 'spec.replicas', 0)
      set(cluster, LEASE, 'spec.holderIdentity', '')
      for (const right of ['patch validatingwebhookconfigurations', 'list mcpgroups', 'patch secrets'])
        cluster.forbidden.add(right)
    },
  ],
  [
    'another installation',
    (cluster) => {
      for (const path of BOTH)
        set(cluster, path, 'metadata.annotations', {
          'vmcp-admission/managed-by': 'Lease other/vmcp-admission',
        })
    },
  ],
  ['no Deployment', ({ objects }) => objects.delete(DEPLOYMENT)],
  ['one replica is not ready', (cluster) => set(cluster, DEPLOYMENT, 'status.readyReplicas', 1)],
  [
    'one replica is not ready, by its clock',
    (cluster) => {
      set(cluster, DEPLOYMENT, 'status.readyReplicas', 1)
      const pods = ['good', 'silent', 'ahead', 'behind'].map((name) => ({ metadata: { name } }))
      cluster.objects.set(`${V1}/pods`, { items: pods })
      const port = encodeURIComponent(':9090')
      for (const [name, seconds] of [
        ['good', 2],
        ['ahead', 400 * 86_400],
        ['behind', -3 * 3_600],
      ] as const)
        cluster.metrics.set(`${name}${port}`, `# HELP\nvmcp_admission_clock_offset_seconds ${seconds}\n`)
      add(cluster, DEPLOYMENT, ARGS, '--probe-port=9090')
    },
  ],
  ['the clock of this machine is wrong', (cluster) => (cluster.offset = -3 * 3_600_000)],
  [
    'the clock of the leader is wrong',
    (cluster) => {
      set(cluster, LEASE, 'spec.renewTime', '2027-02-05T00:00:00.250000Z')
      set(cluster, LEASE, 'metadata.managedFields', [
        { manager: 'node', time: '2025-11-01T00:00:00Z' },
        { manager: 'node', time: '2026-01-01T00:00:00Z' },
        { manager: 'other' },
      ])
    },
  ],
  [
    'a Lease that a clock ahead renewed long ago',
    (cluster) => {
      set(cluster, LEASE, 'spec.renewTime', '2026-01-01T03:00:00.000000Z')
      set(cluster, LEASE, 'metadata.managedFields', [{ time: '2025-12-31T23:59:00Z' }])
    },
  ],
  [
    'a clock that was ahead made the CA',
    (cluster) => {
      set(cluster, SECRET, 'data', { 'current.crt': bundle(future) })
      setBundles(cluster, bundle(future))
    },
  ],
  ['scaled down', (cluster) => set(cluster, DEPLOYMENT, 'spec.replicas', 0)],
  ['no Service', ({ objects }) => objects.delete(SERVICE)],
  ['another port', (cluster) => set(cluster, SERVICE, 'spec.ports.0.port', 8443)],
  ['no endpoints', (cluster) => set(cluster, SLICES, 'items', [])],
  [
    'an endpoint that is not ready',
    (cluster) => set(cluster, SLICES, 'items.0.endpoints.0.conditions.ready', false),
  ],
  [
    'rights are missing',
    ({ forbidden }) => {
      for (const right of [
        'patch leases',
        'get secrets',
        'list mcpgroups',
        'watch mcpgroups',
        'get clusterroles',
        'delete reports',
        'get customresourcedefinitions',
      ])
        forbidden.add(right)
    },
  ],
  [
    'rights may not be reviewed',
    ({ refusals }) =>
      refusals.set('/apis/authorization.k8s.io/v1/subjectaccessreviews', [
        403,
        'subjectaccessreviews.authorization.k8s.io is forbidden: User "ann" cannot create resource "subjectaccessreviews"',
      ]),
  ],
  [
    'the Deployment may not be read',
    ({ refusals }) =>
      refusals.set(DEPLOYMENT, [
        403,
        'deployments.apps is forbidden: User "ann" cannot get resource "deployments"',
      ]),
  ],
  ['one CRD is missing', ({ objects }) => objects.delete(crdPath('mcpgroups'))],
  ['a CRD of another version', (cluster) => set(cluster, crdPath('mcpgroups'), 'spec.versions.0.name', 'v1')],
  [
    'a CRD that is not established',
    (cluster) => set(cluster, crdPath('mcpgroups'), 'status.conditions.0.status', 'False'),
  ],
  [
    'a CRD that accepts more',
    (cluster) => {
      const text = { type: 'string' }
      set(cluster, crdPath('mcpexternalauthconfigs'), 'spec.versions.0.schema.openAPIV3Schema', {
        required: ['spec'],
        properties: {
          spec: {
            properties: {
              type: { type: 'string', enum: ['tokenExchange', 'magic'] },
              awsSts: {
                properties: { region: text, roleMappings: { items: { properties: { role: text } } } },
              },
            },
          },
        },
      })
    },
  ],
  [
    'a CRD that accepts more, which is not to count',
    (cluster) => {
      set(cluster, crdPath('mcpexternalauthconfigs'), 'spec.versions.0.schema.openAPIV3Schema', {
        properties: { spec: { properties: { type: { type: 'string', enum: ['magic'] } } } },
      })
      setArg(cluster, '--arming=on', '--installed-release=off')
      cluster.forbidden.add('get customresourcedefinitions')
    },
  ],
  ['no webhook configuration', ({ objects }) => objects.delete(`${VALIDATING}/vmcp-admission`)],
  ['not armed', (cluster) => setEntry(cluster, 'failurePolicy', 'Ignore')],
  [
    'not armed, on purpose',
    (cluster) => {
      setEntry(cluster, 'failurePolicy', 'Ignore')
      setArg(cluster, '--arming=on', '--arming=ignore')
    },
  ],
  [
    'not armed, and written by hand',
    (cluster) => {
      setEntry(cluster, 'failurePolicy', 'Ignore')
      setArg(cluster, '--arming=on', '--arming=off')
    },
  ],
  [
    'an old matchCondition',
    (cluster) => setEntry(cluster, 'matchConditions.0.expression', "request.operation != 'UPDATE'"),
  ],
  [
    'rules that lack kinds',
    (cluster) => setEntry(cluster, 'rules.0.resources', ['mcpexternalauthconfigs', 'virtualmcpservers']),
  ],
  ['rules for creations only', (cluster) => setEntry(cluster, 'rules.0.operations', ['CREATE'])],
  ['an entry is missing', (cluster) => set(cluster, FIRST, 'webhooks.length', 1)],
  ['an entry too many', (cluster) => add(cluster, FIRST, 'webhooks', { name: 'old.example.com' })],
  [
    'namespaces are excluded',
    (cluster) =>
      setEntry(cluster, 'namespaceSelector', {
        matchExpressions: [
          { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', 'team-a'] },
        ],
      }),
  ],
  [
    'namespaces are excluded, by hand',
    (cluster) => {
      setEntry(cluster, 'namespaceSelector', {
        matchExpressions: [
          { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] },
        ],
      })
      setArg(cluster, '--arming=on', '--arming=off')
    },
  ],
  [
    'namespaces are excluded, by the settings',
    (cluster) => {
      add(cluster, DEPLOYMENT, ARGS, '--namespace-selector=team=a')
      for (const path of BOTH)
        for (const each of part(cluster.objects.get(path), 'webhooks') as Json[])
          each.namespaceSelector = { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] }
    },
  ],
  [
    'namespaces that the settings exclude are asked about',
    (cluster) => add(cluster, DEPLOYMENT, ARGS, '--namespace-selector=team=a'),
  ],
  [
    'objects are excluded, by the settings',
    (cluster) => {
      add(cluster, DEPLOYMENT, ARGS, '--object-selector=!untouched')
      for (const path of BOTH)
        for (const each of part(cluster.objects.get(path), 'webhooks') as Json[])
          each.objectSelector = { matchExpressions: [{ key: 'untouched', operator: 'DoesNotExist' }] }
    },
  ],
  [
    'the API server waits as long as the settings say',
    (cluster) => {
      add(cluster, DEPLOYMENT, ARGS, '--webhook-timeout=10')
      for (const path of BOTH) set(cluster, path, 'webhooks.0.timeoutSeconds', 10)
    },
  ],
  ['the API server waits longer', (cluster) => setEntry(cluster, 'timeoutSeconds', 10)],
  [
    'objects are excluded',
    (cluster) => setEntry(cluster, 'objectSelector', { matchLabels: { checked: 'yes' } }),
  ],
  ['another Service is called', (cluster) => setEntry(cluster, 'clientConfig.service.name', 'old')],
  [
    'the caBundle is that of another CA',
    (cluster) => setEntry(cluster, 'clientConfig.caBundle', bundle(other)),
  ],
  ['the caBundle is empty', (cluster) => setEntry(cluster, 'clientConfig.caBundle', undefined)],
  [
    'the caBundle of cert-manager is empty',
    (cluster) => {
      setEntry(cluster, 'clientConfig.caBundle', undefined)
      setArg(cluster, '--certificates=self-managed', '--certificates=files')
    },
  ],
  [
    'the caBundle is not a certificate',
    (cluster) => setEntry(cluster, 'clientConfig.caBundle', base64('nonsense')),
  ],
  [
    'all has expired',
    (cluster) => {
      set(cluster, SECRET, 'data', { 'current.crt': bundle(old) })
      setBundles(cluster, bundle(old))
    },
  ],
  [
    'the CA expires soon',
    (cluster) => {
      set(cluster, SECRET, 'data', { 'current.crt': bundle(ending) })
      setBundles(cluster, bundle(ending))
    },
  ],
  ['no CA', ({ objects }) => objects.delete(SECRET)],
  ['no Lease', ({ objects }) => objects.delete(LEASE)],
  ['a Lease without a holder', (cluster) => set(cluster, LEASE, 'spec.holderIdentity', '')],
  [
    'a Lease that is not renewed',
    (cluster) => set(cluster, LEASE, 'spec.renewTime', '2025-12-31T23:00:00.000000Z'),
  ],
  [
    'others are asked too',
    (cluster) => {
      const rules = [{ apiGroups: ['*'], resources: ['*/*'] }]
      const constraints = { resourceRules: [{ apiGroups: [GROUP], resources: ['mcpgroups'] }] }
      add(cluster, VALIDATING, 'items', { metadata: { name: 'kyverno' }, webhooks: [{ rules }] })
      add(cluster, MUTATING, 'items', {
        metadata: { name: 'pods' },
        webhooks: [{ rules: [{ apiGroups: [''], resources: ['*'] }] }],
      })
      add(
        cluster,
        POLICIES,
        'items',
        { metadata: { name: 'teams' }, spec: { matchConstraints: constraints } },
        { metadata: { name: 'vmcp-admission-mcpgroups' }, spec: { matchConstraints: constraints } },
      )
    },
  ],
  [
    'reached by URL',
    (cluster) => {
      cluster.objects.delete(DEPLOYMENT)
      setClients(cluster, (path) => ({
        url: `https://example.com:8443${String(path)}`,
        caBundle: bundle(ours),
      }))
    },
  ],
  [
    'timeout',
    (cluster) =>
      (cluster.probe = failing(
        'Post "https://vmcp-admission.vmcp-system.svc:443/validate?timeout=5s": context deadline exceeded',
      )),
  ],
  [
    'x509',
    (cluster) =>
      (cluster.probe = failing(
        'Post "https://vmcp-admission.vmcp-system.svc:443/validate?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority',
      )),
  ],
  [
    'connection refused',
    (cluster) =>
      (cluster.probe = failing('Post "https://…": dial tcp 10.0.0.7:443: connect: connection refused')),
  ],
  [
    'no endpoints, says the API server',
    (cluster) => (cluster.probe = failing('no endpoints available for service "vmcp-admission"')),
  ],
  [
    'no Service, says the API server',
    (cluster) => (cluster.probe = failing('service "vmcp-admission" not found')),
  ],
  ['no name', (cluster) => (cluster.probe = failing('dial tcp: lookup example.com: no such host'))],
  ['no route', (cluster) => (cluster.probe = failing('dial tcp 10.0.0.7:443: connect: no route to host'))],
  ['a client certificate', (cluster) => (cluster.probe = failing('a client certificate is required'))],
  ['no tunnel', (cluster) => (cluster.probe = failing('No agent available'))],
  ['another failure', (cluster) => (cluster.probe = failing('EOF'))],
  [
    'another webhook fails',
    (cluster) =>
      (cluster.probe = refusal(
        500,
        'Internal error occurred: failed calling webhook "kyverno.example.com": failed to call webhook: EOF',
      )),
  ],
  [
    'another webhook refuses',
    (cluster) =>
      (cluster.probe = refusal(403, 'admission webhook "kyverno.example.com" denied the request: no')),
  ],
  ['stored without the answer of the webhook', (cluster) => (cluster.probe = json(201, {}))],
  ['no namespace', (cluster) => (cluster.probe = refusal(404, 'namespaces "vmcp-system" not found'))],
  [
    'no right to try',
    (cluster) =>
      (cluster.probe = refusal(
        403,
        `mcpexternalauthconfigs.${GROUP} is forbidden: User "ann" cannot create resource "mcpexternalauthconfigs"`,
      )),
  ],
]

t.test('what is said of broken installations', async (t) => {
  const parts: string[] = []
  for (const [title, breakIt] of BROKEN) {
    const cluster = healthy()
    breakIt(cluster)
    const { findings, certificates, probe } = await diagnose(t, cluster)
    const lines = [
      ...findings.map(lineOf),
      ...(findings.some(({ id }) => /^(bundle|ca)-/.test(id)) || title === 'healthy'
        ? certificates.map((each) => `certificate: ${each.of}: ${each.fingerprint}, expires ${each.expires}`)
        : []),
      `probe: ${probe.outcome}`,
    ]
    const text = lines.join('\n')
    t.notMatch(text, /hush|aHVzaA/, `${title}: no key`)
    parts.push(`# ${title}\n${stable(text)}\n`)
  }
  const found = parts.join('\n')
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, found)
  const wanted = existsSync(GOLDEN) ? readFileSync(GOLDEN, 'utf8') : ''
  t.equal(found, wanted, 'test/golden/doctor.txt (UPDATE_GOLDEN=1 rewrites it)')
})

t.test('both fingerprints of a mismatch', async (t) => {
  const cluster = healthy()
  setEntry(cluster, 'clientConfig.caBundle', bundle(other))
  const { findings, certificates } = await diagnose(t, cluster)
  const all = new Set(certificates.map(({ fingerprint }) => fingerprint))
  t.equal(all.size, 2)
  const text = findings.map(lineOf).join('\n')
  for (const each of all) t.match(text, each)
})

t.test('a Lease by another clock, renewed while we look', async (t) => {
  const cluster = healthy()
  set(cluster, LEASE, 'spec.renewTime', '2025-12-31T23:00:00.000000Z')
  const metadata = part(cluster.objects.get(LEASE), 'metadata') as object
  let version = 7
  Object.defineProperty(metadata, 'resourceVersion', { enumerable: true, get: () => String(++version) })
  t.strictSame((await diagnose(t, cluster)).findings, [])
})

/** A healthy installation whose Lease was renewed just now: commands use the clock of this machine. */
function current(): Cluster {
  const cluster = healthy()
  set(cluster, LEASE, 'spec.renewTime', new Date().toISOString().replace(/Z$/, '000Z'))
  return cluster
}
const briefly = doctorWith({ pause: 20, lease: 20 }).run

t.test('doctor as a command', async (t) => {
  const cluster = current()
  const { kubeconfig, url } = await serve(t, cluster)
  const made = await makeAuthority('test CA', { now: Date.now(), lifetime: 100 * DAY })
  set(cluster, SECRET, 'data', { 'current.crt': bundle(made) })
  setBundles(cluster, bundle(made))

  const well = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
  t.equal(well.status, 0)
  t.match(well.stdout, new RegExp(`^installation in namespace vmcp-system of ${url}: all is well\n\n`))
  t.match(well.stdout, '\nprobe: reached: the API server called the webhook, and it answered\n')

  const service = cluster.objects.get(SERVICE) ?? {}
  cluster.objects.delete(SERVICE)
  const broken = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
  t.equal(broken.status, 1)
  t.match(broken.stdout, 'problem: Service vmcp-system/vmcp-admission: not found; install the chart')
  t.match(broken.stdout, /^installation in .*: 1 problem\n\nproblem: /)

  const printed = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--output', 'json'])
  t.equal(problemWithOutput(['doctor', '--output', 'json'], printed.stdout), undefined)
  const { findings, counts, probe } = JSON.parse(printed.stdout) as Json
  t.strictSame(counts, { problems: 1, notes: 0, unread: 0 })
  t.equal(part(findings, 0, 'id'), 'service-missing')
  t.equal(part(probe, 'outcome'), 'reached')

  setTimeout(() => cluster.objects.set(SERVICE, service), 300)
  const waited = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--wait', '20'])
  t.equal(waited.status, 0, 'waits until all is well')

  cluster.refusals.set(SERVICE, [401, 'Unauthorized'])
  const unknown = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
  t.equal(unknown.status, 3)
  t.match(unknown.stdout, 'not checked: API server: does not accept the credentials: 401 Unauthorized')
})

t.test(
  'the verdict comes first, notes are folded, and each layer names the rules that it holds',
  async (t) => {
    const cluster = current()
    for (const kind of KINDS)
      cluster.objects.set(crdPath(kind.plural), {
        ...crd(kind, true, GROUP),
        status: { conditions: [{ type: 'Established', status: 'True' }] },
      })
    const policies = parseAllDocuments(
      readFileSync(new URL('../deploy/policies/deny.yaml', import.meta.url), 'utf8'),
    ).map((document) => document.toJS() as Json)
    const ofKind = (kind: string) => ({ items: policies.filter((each) => each.kind === kind) })
    const other = {
      metadata: { name: 'other' },
      webhooks: [{ rules: [{ apiGroups: ['*'], resources: ['*'] }] }],
    }
    cluster.objects.set(POLICIES, ofKind('ValidatingAdmissionPolicy'))
    cluster.objects.set(
      `${ADMISSION}/validatingadmissionpolicybindings`,
      ofKind('ValidatingAdmissionPolicyBinding'),
    )
    cluster.objects.set(MUTATING, { items: [other] })
    add(cluster, DEPLOYMENT, ARGS, '--severity=schema-enum=warning')
    add(cluster, DEPLOYMENT, ARGS, '--severity=group-has-backends=off')
    add(cluster, DEPLOYMENT, ARGS, '--profile=strict')
    const { kubeconfig } = await serve(t, cluster)
    const made = await makeAuthority('test CA', { now: Date.now(), lifetime: 100 * DAY })
    set(cluster, SECRET, 'data', { 'current.crt': bundle(made) })
    setBundles(cluster, bundle(made))

    const folded = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
    t.equal(folded.status, 0)
    t.match(
      folded.stdout,
      /^installation in .*: all is well, 7 notes\n\n7 notes \(crd-accepts-more, shadowed\): --notes prints them\ncertificate: /,
    )
    t.notMatch(folded.stdout, 'note: ')
    const all = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--notes'])
    t.match(all.stdout, '\nnote: MutatingWebhookConfiguration other: also applies to all seven kinds')

    const ids = (layer: string) => layers.find((each) => each.layer === layer)?.ids ?? []
    const printed = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--output', 'json'])
    const { layers } = JSON.parse(printed.stdout) as {
      layers: { layer: string; does: string; ids: string[] }[]
    }
    t.ok(['schema-enum', 'schema-pattern', 'schema-required'].every((id) => ids('CRDs').includes(id)))
    const written = new Set(
      allRules()
        .filter(({ id }) => JSON.stringify(policies).includes(`(${id})`))
        .map(({ id }) => id),
    )
    t.ok(written.size > 15, `${written.size} rules in the policies`)
    t.strictSame(new Set(ids('policies')), written)
    const on = allRules().filter(({ id }) => id !== 'group-has-backends')
    const denying = on.filter(({ id, severity }) => severity === 'error' || isStrictError(id)).length
    const warning = on.filter(({ id, severity }) => severity === 'warning' && !isStrictError(id)).length
    t.strictSame(ids('webhook'), on.map(({ id }) => id).toSorted())
    for (const line of [
      `  CRDs        ${ids('CRDs').length} rules: 7 CRDs; the API server denies`,
      `  policies    ${written.size} rules: the API server: Deny`,
      `  webhook     ${on.length} rules: ${denying} deny, ${warning} warn; fails closed`,
      `  background  ${on.length} rules: in vmcp_admission_current_findings`,
    ])
      t.ok(folded.stdout.includes(`\n${line}`), `${line}\n${folded.stdout}`)
    const listed = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--rules'])
    t.match(listed.stdout, /\n {2}webhook .*\n(?: {4}[a-z0-9-]+\n)+ {2}background /)

    cluster.refusals.set(POLICIES, [403, 'cannot list them'])
    const unlisted = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
    t.match(unlisted.stdout, /^ {2}policies {4}0 rules: not known: they cannot be listed$/m)
    cluster.probe = refusal(500, 'no endpoints available for service "vmcp-admission"')
    const lost = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
    t.match(lost.stdout, /^ {2}webhook {5}0 rules: not reached\n {2}background {2}0 rules: not reached$/m)
  },
)

t.test('a trial of --local-cluster is told as one, and misses nothing', async (t) => {
  const cluster = current()
  for (const path of [DEPLOYMENT, SERVICE, LEASE, SECRET, SLICES]) cluster.objects.delete(path)
  const trial = {
    group: GROUP,
    url: 'https://10.0.0.1:8443',
    ca: ours.certificate,
    namespaces: ['tools'],
    holder: 'process 7 on desk',
  }
  await register(
    {
      readConfiguration: () => Promise.resolve(undefined),
      applyConfiguration: async (each: Json) =>
        void cluster.objects.set(`${ADMISSION}/${String(each.kind).toLowerCase()}s/vmcp-admission`, each),
      tryProbe: (_: string, nonce: string) => Promise.resolve(probeAnswer(nonce)),
    } as unknown as TemporaryCluster,
    trial,
    { milliseconds: 0, signal: AbortSignal.timeout(10_000) },
  )
  cluster.objects.set(VALIDATING, { items: [] })
  cluster.objects.set(MUTATING, { items: [] })
  const { kubeconfig } = await serve(t, cluster)
  const found = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
  t.equal(found.status, 0)
  t.match(
    found.stdout,
    /^trial of --local-cluster \(process 7 on desk, https:\/\/10\.0\.0\.1:8443\) for the namespace tools of .*: all is well\n/,
  )
  t.match(found.stdout, 'probe: not known: it judges other namespaces: --namespace tools tries it there\n')
  t.notMatch(found.stdout, /problem|Service|Lease/)
  const there = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--namespace', 'tools'])
  t.match(there.stdout, '\nprobe: reached: ')
  const removal = ['--kubeconfig', kubeconfig, '--dry-run']
  t.match(await runHere(t, uninstall.run, removal), {
    status: 1,
    stderr:
      'vmcp-admission: warning: process 7 on desk serves this cluster with --local-cluster: end it first\n',
  })
  cluster.probe = refusal(
    500,
    'failed calling webhook "validate.vmcp-admission.toolhive.stacklok.dev": dial tcp 10.0.0.1:8443: connect: connection refused',
  )
  const gone = await runHere(t, briefly, ['--kubeconfig', kubeconfig, '--namespace', 'tools'])
  t.match(gone.stdout, /; check that the server runs at https:\/\/10\.0\.0\.1:8443$/m)
  t.notMatch(gone.stdout, 'Service')
  t.match(await runHere(t, uninstall.run, removal), { status: 0, stderr: '' })
  cluster.probe = undefined
  t.match(there.stdout, /^ {2}webhook .* deny, .* warn; fails open; as by default$/m)

  for (const [path, object] of cluster.objects) {
    const { metadata, webhooks, ...rest } = object as { metadata: Json; webhooks?: Json[] }
    if (webhooks === undefined) continue
    const open = webhooks.map((each) => ({ ...each, namespaceSelector: {} }))
    cluster.objects.set(path, { ...rest, metadata: { ...metadata, annotations: {} }, webhooks: open })
  }
  const edited = await runHere(t, briefly, ['--kubeconfig', kubeconfig])
  t.match(edited.stdout, /^trial of --local-cluster \(another process, https:.*\) for all namespaces of /)
})

t.test('a cluster that cannot be reached, and wrong usage', async (t) => {
  const server = await serve(t, healthy())
  const dead = readFileSync(server.kubeconfig, 'utf8').replace(server.url, 'http://127.0.0.1:1')
  writeFileSync(`${server.folder}/dead`, dead)
  const unreachable = await runHere(t, briefly, ['--kubeconfig', `${server.folder}/dead`])
  t.equal(unreachable.status, 3)
  t.match(
    unreachable.stdout,
    'not checked: API server: does not answer: connect ECONNREFUSED 127.0.0.1:1; check',
  )
  const none = await runHere(t, briefly, ['--kubeconfig', `${server.folder}/none`])
  t.strictSame(none, {
    status: 3,
    stdout: '',
    stderr: `vmcp-admission: cannot open the cluster: kubeconfig ${server.folder}/none: no such file\n`,
  })
  await t.rejects(
    doctor.run(['file'], {}),
    new UsageError('doctor takes no files; --namespace names the installation'),
  )
  await t.rejects(
    doctor.run(['--wait', 'long'], {}),
    new UsageError("--wait: 'long' is not a whole number of seconds"),
  )
  await t.rejects(
    uninstall.run(['file'], {}),
    new UsageError('uninstall takes no files; --namespace names the installation'),
  )
})

t.test('with --probe-only the rights of the probe suffice', async (t) => {
  const cluster = healthy()
  add(cluster, DEPLOYMENT, ARGS, '--object-selector=checked=yes')
  for (const path of cluster.objects.keys()) {
    if (path !== DEPLOYMENT) cluster.refusals.set(path, [403, 'no'])
  }
  const { kubeconfig } = await serve(t, cluster)
  const args = ['--kubeconfig', kubeconfig, '--probe-only']
  const scope = `namespace ${NAMESPACE} of`
  const { status, stdout } = await runHere(t, doctor.run, args)
  t.equal(status, 0)
  t.match(
    stdout,
    new RegExp(
      `^installation in ${scope} .*: all is well\n\nprobe: reached: the API server called the webhook, and it answered\n$`,
    ),
  )
  cluster.probe = refusal(500, 'no endpoints available for service "vmcp-admission"')
  const lost = await runHere(t, doctor.run, args)
  t.equal(lost.status, 1)
  t.match(lost.stdout, /: 1 problem\n\nproblem: dry run in namespace /)
  const all = await runHere(t, doctor.run, ['--kubeconfig', kubeconfig])
  t.equal(all.status, 3, 'everything else needs more')
})

t.test('a Lease without its namespace is an error, and not a Lease of another one', async (t) => {
  const cluster = healthy()
  const path = LEASE.replace('/vmcp-admission', '')
  const server = await serve(t, cluster)
  const opened = await openInstallation({ kubeconfig: server.kubeconfig, group: GROUP }, NAMESPACE, {})
  t.teardown(() => opened.close())
  const create = () =>
    opened.registrations
      .lease('vmcp-admission')
      .create({ holder: 'a', renewed: '2026-01-01T00:00:00.000Z', seconds: 15, transitions: 0 })
  cluster.refusals.set(path, [409, 'leases.coordination.k8s.io "vmcp-admission" already exists'])
  t.equal(await create(), false, 'somebody was faster')
  cluster.refusals.set(path, [404, 'namespaces "vmcp-system" not found'])
  await t.rejects(create(), {
    message:
      'there is no namespace vmcp-system for the Lease: kubectl create namespace vmcp-system, or name another one with --namespace',
  })
})

t.test('uninstall', async (t) => {
  const cluster = current()
  const { kubeconfig } = await serve(t, cluster)
  const before = [...cluster.objects.keys()]
  const warning = (name: string) =>
    `vmcp-admission: warning: Deployment vmcp-system/${name} runs and would write the configurations again; first kubectl -n vmcp-system scale deployment ${name} --replicas=0\n`
  const held =
    'vmcp-admission: warning: one holds Lease vmcp-system/vmcp-admission and would write the configurations again; stop it first\n'
  const kept = 'vmcp-admission: nothing was removed; --force removes anyway\n'
  const both = (done: string) =>
    `${done} ValidatingWebhookConfiguration vmcp-admission\n${done} MutatingWebhookConfiguration vmcp-admission\n`
  const args = ['--kubeconfig', kubeconfig]
  const run = (...more: string[]) => runHere(t, uninstall.run, [...args, ...more])
  t.strictSame(await run(), { status: 1, stdout: '', stderr: warning('vmcp-admission') + kept })
  separate(cluster)
  t.strictSame(await run(), { status: 1, stdout: '', stderr: warning('vmcp-admission-leader') + kept })
  t.strictSame(await run('--dry-run'), {
    status: 1,
    stdout: both('would remove'),
    stderr: warning('vmcp-admission-leader'),
  })
  set(cluster, LEADER, 'spec.replicas', 0)
  t.strictSame(await run(), { status: 1, stdout: '', stderr: held + kept })
  // The clock of the Lease's holder is first behind and then ahead; managedFields has the API server's time of the
  // write.
  const HOUR = 3_600_000
  for (const [ahead, age, isHeld] of [
    [-HOUR, 0, true],
    [HOUR, HOUR / 2, false],
  ] as const) {
    set(cluster, LEASE, 'spec.renewTime', new Date(Date.now() + ahead).toISOString())
    const time = new Date(Date.now() - age).toISOString().replace(/\.\d+/, '')
    set(cluster, LEASE, 'metadata.managedFields', [{ time }])
    t.match(await run('--dry-run'), { status: isHeld ? 1 : 0, stderr: isHeld ? held : '' })
  }
  set(cluster, LEASE, 'metadata.managedFields', undefined)
  const annotations = { 'vmcp-admission/managed-by': 'Lease other/vmcp-admission' }
  set(cluster, FIRST, 'metadata.annotations', annotations)
  set(cluster, LEASE, 'spec.renewTime', '2026-01-01T00:00:00.000000Z')
  t.strictSame(await run(), {
    status: 1,
    stdout: '',
    stderr: `vmcp-admission: warning: the webhook configurations are managed by another installation (Lease other/vmcp-admission); --namespace names the installation\n${kept}`,
  })
  set(cluster, FIRST, 'metadata.annotations', undefined)
  cluster.refusals.set(LEASE, [403, 'no'])
  t.strictSame(await run(), {
    status: 3,
    stdout: '',
    stderr: `vmcp-admission: cannot see whether a server runs: 403 no\n${kept}`,
  })
  cluster.refusals.delete(LEASE)
  const reports = `${LEASE}-reports`
  cluster.objects.set(reports, structuredClone(cluster.objects.get(LEASE) ?? {}))
  const all =
    'would remove Lease vmcp-system/vmcp-admission\nwould remove Lease vmcp-system/vmcp-admission-reports\nwould remove Secret vmcp-system/vmcp-admission-ca\n'
  t.strictSame(await run('--dry-run', '--all'), {
    status: 0,
    stdout: both('would remove') + all,
    stderr: '',
  })
  t.strictSame([...cluster.objects.keys()], [...before, LEADER, reports], 'none of these removed anything')
  set(cluster, LEADER, 'spec.replicas', 1)
  t.strictSame(await run('--force'), {
    status: 1,
    stdout: both('removed'),
    stderr: warning('vmcp-admission-leader'),
  })
  set(cluster, LEADER, 'spec.replicas', 0)
  t.strictSame(await runHere(t, uninstall.run, [...args, '--all']), {
    status: 0,
    stdout: all.replaceAll('would remove', 'removed'),
    stderr: '',
  })
  t.strictSame(
    [LEASE, reports, SECRET, DEPLOYMENT].map((path) => cluster.objects.has(path)),
    [false, false, false, true],
  )
  cluster.refusals.set(`${VALIDATING}/vmcp-admission`, [403, 'no'])
  t.strictSame(await runHere(t, uninstall.run, args), {
    status: 3,
    stdout: '',
    stderr: `vmcp-admission: cannot see whether a server runs: 403 no\n${kept}`,
  })
  const missing = await runHere(t, uninstall.run, ['--kubeconfig', '/nowhere'])
  t.equal(missing.status, 3)
})

t.test('both from the command line', async (t) => {
  const server = await serve(t, healthy())
  const cwd = server.folder
  for (const command of ['doctor', 'uninstall'])
    t.equal((await runCli([command, '--kubeconfig', `${cwd}/none`], { cwd })).status, 3)
})
