import root, { type Test } from 'tap'
import { KINDS } from '../../src/kinds/index.ts'
import { CHART, hasHelm, helm, rendered, renderedTest, setArguments } from '../support/helm.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl } from './cluster.ts'
import { crdsOfOthers } from './crds-of-others.ts'
import { applyAll } from './installed.ts'
import { withApiServer } from './suite.ts'

const NAMESPACE = 'vmcp-system'
if (hasHelm(root)) await withApiServer(root, suite)

async function suite(t: Test, api: ApiServer): Promise<void> {
  const apply = (args: readonly string[], stdin?: string) =>
    kubectl(api, ['apply', '--dry-run=server', '--warnings-as-errors', ...args], stdin)
  const run = (...args: string[]) =>
    helm([...args, '--namespace', NAMESPACE], { KUBECONFIG: api.kubeconfig, HELM_DRIVER: 'configmap' })

  await kubectl(api, ['apply', '-f', 'deploy/kustomize/base/namespace.yaml'])
  for (const name of ['team-a', 'team-b']) await kubectl(api, ['create', 'namespace', name])

  await t.test('the API server accepts what the chart renders', async (t) => {
    const rows: object[] = [
      {},
      { 'certificates.mode': 'files', 'arming.enabled': false },
      { 'leader.separate': false, 'arming.namespaceSelector': 'kubernetes.io/metadata.name notin (team-a)' },
      { 'certificates.mode': 'files', 'clientAuthentication.configMapName': 'client-ca' },
      { watchNamespaces: ['team-a', 'team-b'], checkSecrets: 'any-caller', 'dashboard.enabled': true },
      {
        mode: 'warn',
        'crds.enabled': true,
        'networkPolicy.egress': [{ ports: [{ port: 6443 }] }],
        'networkPolicy.webhookFrom': [{ ipBlock: { cidr: '192.0.2.0/24' } }],
        'networkPolicy.metricsFrom': [{ namespaceSelector: {} }],
        priorityClassName: 'system-cluster-critical',
        severities: ['upstream-url-https=error'],
        tolerations: [{ operator: 'Exists' }],
      },
      {
        podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
        'image.registry': 'mirror.example:5000/pulled',
        'image.digest': `sha256:${'a'.repeat(64)}`,
        'global.imagePullSecrets': [{ name: 'registry' }],
        commonLabels: { team: 'platform' },
        podLabels: { team: 'identity' },
        'service.labels': { team: 'network' },
        deploymentAnnotations: { note: 'a' },
      },
      {
        'arming.objectSelector': 'vmcp-checked in (yes,no),!untouched',
        'arming.timeoutSeconds': 10,
        extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/proxy-ca/ca.crt' }],
        extraVolumes: [{ name: 'proxy-ca', configMap: { name: 'proxy-ca' } }],
        extraVolumeMounts: [{ name: 'proxy-ca', mountPath: '/proxy-ca', readOnly: true }],
        'resources.limits': { memory: '1Gi', cpu: 2 },
      },
    ]
    const others = crdsOfOthers()
    if ('missing' in others)
      t.comment(`without Certificate, ServiceMonitor and PrometheusRule: ${others.missing}`)
    else {
      await applyAll(api, others)
      const named = others.map(({ metadata }) => `crd/${metadata.name}`)
      await kubectl(api, ['wait', '--for=condition=Established', ...named])
      rows.push({
        'certificates.mode': 'files',
        'certificates.certManager.enabled': true,
        'certificates.certManager.issuerRef.name': 'internal',
        'serviceMonitor.enabled': true,
        'prometheusRule.enabled': true,
        commonLabels: { team: 'platform' },
      })
    }
    for (const values of rows) {
      for (const { text, objects } of [rendered(values), renderedTest(values)]) {
        // A pod, unlike a pod template, needs a service account that exists.
        const stored = text.replace('serviceAccountName: vmcp-admission-test', 'serviceAccountName: default')
        const applied = (await apply(['-f', '-'], stored)).trim().split('\n')
        t.equal(applied.length, objects.length, JSON.stringify(values))
        t.ok(applied.every((line) => line.endsWith('(server dry run)')))
      }
    }
    const { text } = rendered({ hostNetwork: true, 'ports.webhook': 8443 })
    await t.rejects(apply(['-f', '-'], text), /Warning: would violate PodSecurity.*hostNetwork=true/)
    t.match(
      await kubectl(api, ['apply', '--dry-run=server', '-f', '-'], text),
      'deployment.apps/vmcp-admission',
    )
  })

  await t.test('and install.yaml, both kustomizations and the static webhooks', async (t) => {
    t.match(await apply(['-f', 'deploy/install.yaml']), /deployment.apps\/vmcp-admission created/)
    t.match(await apply(['-f', 'deploy/static-webhooks.yaml']), /validating.*created[^]*mutating.*created/)
    for (const folder of ['base', 'trial']) {
      const built = await kubectl(api, ['kustomize', `deploy/kustomize/${folder}`])
      t.match(await apply(['-f', '-'], built), /deployment.apps\/vmcp-admission created/)
      for (const flag of ['--mode=warn', '--arming=ignore'])
        t.equal(built.includes(flag), folder === 'trial', `${folder}: ${flag}`)
    }
  })

  await t.test('its pods may run where the standard for pods is restricted', async (t) => {
    for (const values of [{}, { 'certificates.mode': 'files' }]) {
      const deployments = rendered(values).objects.filter(({ kind }) => kind === 'Deployment')
      t.equal(deployments.length, 2)
      for (const { spec, metadata } of deployments) {
        const pod = { apiVersion: 'v1', kind: 'Pod', ...spec.template }
        const named = { ...pod, metadata: { ...pod.metadata, name: metadata.name, namespace: NAMESPACE } }
        t.match(
          await apply(['-f', '-'], JSON.stringify(named)),
          `pod/${metadata.name} created (server dry run)`,
        )
      }
    }
    const wrong = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'wrong', namespace: NAMESPACE } }
    const plain = { ...wrong, spec: { containers: [{ name: 'a', image: 'a' }] } }
    await t.rejects(apply(['-f', '-'], JSON.stringify(plain)), /violates PodSecurity "restricted/)
  })

  await t.test('CRDs of others are left alone, ours are brought up to date', async (t) => {
    const install = () =>
      run('install', 'vmcp-admission', CHART, '--dry-run=server', '--set', 'crds.enabled=true')
    t.equal(install().status, 0)
    await installCrds(api, 'crds')
    const { status, stderr } = install()
    t.equal(status, 1)
    t.match(stderr, /the CRD \w+\.toolhive\.stacklok\.dev is in the cluster and is not ours/)
    const names = KINDS.map(({ plural }) => `${plural}.toolhive.stacklok.dev`)
    await kubectl(api, ['label', 'crd', ...names, 'vmcp-admission/crds=true'])
    t.notMatch(install().stderr, /is not ours/)
  })

  await t.test('the notes have the leader gone before they remove anything', async (t) => {
    await Promise.resolve()
    for (const [values, leader] of [
      [{}, 'vmcp-admission-leader'],
      [{ 'leader.separate': false }, 'vmcp-admission'],
    ] as const) {
      const { stdout } = run('install', 'vmcp-admission', CHART, '--dry-run=server', ...setArguments(values))
      t.strictSame(stdout.split('Break glass.')[1]?.match(/(?<=^ {4}kubectl ).*/gm), [
        `-n ${NAMESPACE} scale deployment ${leader} --replicas=0`,
        `-n ${NAMESPACE} wait --for=delete pod -l app.kubernetes.io/name=${leader} --timeout=60s`,
        'delete validatingwebhookconfiguration,mutatingwebhookconfiguration vmcp-admission',
      ])
      const named = rendered(values).objects.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name === leader,
      )
      t.match(named?.spec.template.metadata.labels, { 'app.kubernetes.io/name': leader })
    }
    const unarmed = setArguments({ 'certificates.mode': 'files', 'arming.enabled': false })
    const { stdout } = run('install', 'vmcp-admission', CHART, '--dry-run=server', ...unarmed)
    t.match(
      stdout,
      /also before `helm uninstall`, which leaves these two:\n\n {4}kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration vmcp-admission\n/,
    )
  })

  await t.test('it is installed once in a cluster, upgraded and uninstalled', async (t) => {
    const ours = async () => {
      const kinds =
        'deployment,service,role,rolebinding,poddisruptionbudget,networkpolicy,clusterrole,clusterrolebinding'
      const listed = await kubectl(api, [
        'get',
        kinds,
        '-A',
        '-l',
        'app.kubernetes.io/part-of=vmcp',
        '-o',
        'name',
      ])
      return listed
        .trim()
        .split('\n')
        .filter((line) => line !== '')
    }
    const installed = run('install', 'vmcp-admission', CHART)
    t.equal(installed.status, 0, installed.stderr)
    t.match(installed.stdout, /The server writes the webhook configurations itself/)
    t.equal((await ours()).length, 18)
    const second = helm(['install', 'other', CHART, '--namespace', 'team-a'], {
      KUBECONFIG: api.kubeconfig,
      HELM_DRIVER: 'configmap',
    })
    t.equal(second.status, 1)
    t.match(second.stderr, /ClusterRole "vmcp-admission\S*" in namespace "" exists and cannot be imported/)
    const upgraded = run('upgrade', 'vmcp-admission', CHART, '--set', 'mode=warn', '--set', 'replicas=3')
    t.equal(upgraded.status, 0, upgraded.stderr)
    const replicas = [
      'get',
      'deployment',
      'vmcp-admission',
      '-n',
      NAMESPACE,
      '-o',
      'jsonpath={.spec.replicas}',
    ]
    t.equal(await kubectl(api, replicas), '3')
    t.equal(run('rollback', 'vmcp-admission', '1').status, 0)
    t.equal(await kubectl(api, replicas), '2')
    t.equal(run('uninstall', 'vmcp-admission').status, 0)
    t.strictSame(await ours(), [])
  })
}
