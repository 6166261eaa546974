import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import root, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { chartMemory } from '../support/container.ts'
import { freePort } from '../support/free-port.ts'
import { CHART, hasHelm, helmMeanwhile, rendered, setArguments, type TestPod } from '../support/helm.ts'
import { recipe, shellOf } from '../support/recipes.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { transcript } from './golden.ts'
import { ACCOUNT, NAMESPACE } from './installed.ts'
import { lead, ROUTING } from './service-network.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

const NAME = 'vmcp-admission-test'
const IMAGE = `localhost/${NAME}`
/** The most megabytes that the image may add to its base image. */
const MOST_MEGABYTES = 6
const PROGRAMS = ['buildah', 'mmdebstrap', 'podman', 'runc']

let revision = ''
if (hasHelm(root) && mayBuild(root)) {
  root.setTimeout(600_000)
  revision = run('git', '-C', ROOT, 'rev-parse', 'HEAD')
  run(`${ROOT}test/image/build.sh`, NAME)
  await withApiServer(root, suite, { flags: [ROUTING] })
}

/** Whether this machine can build and run images. Otherwise the tests are skipped, and in CI they fail. */
function mayBuild(t: Test): boolean {
  const absent = PROGRAMS.filter((name) => spawnSync('which', [name]).status !== 0)
  const isRoot = process.getuid?.() === 0
  if (absent.length === 0 && isRoot) return true
  const missing = isRoot
    ? `${absent.join(', ')} missing: apt-get install --no-install-recommends ${PROGRAMS.join(' ')}`
    : 'only root can build and run the image here'
  if (process.env.CI === 'true') t.fail(missing)
  else t.test('the image', { skip: missing }, () => undefined)
  return false
}

/** Runs a program, which must succeed, and returns its stdout. */
function run(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 24 })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout.trim()
}

/** The arguments of `podman run` that correspond to the chart's security context and limits. */
function runArguments(...options: readonly string[]): string[] {
  return [
    ...['--runtime=runc', 'run', '--rm', '--network=host', '--read-only', '--read-only-tmpfs=false'],
    ...['--cap-drop=all', '--security-opt=no-new-privileges', `--memory=${chartMemory()}m`],
    // A sandbox may not let root set the higher default limits of Podman.
    ...['--ulimit=nofile=1024:1024', '--ulimit=nproc=1024:1024'],
    ...options,
    IMAGE,
  ]
}

async function suite(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-image-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const mounted = run('podman', 'image', 'mount', IMAGE)
  t.teardown(() => void spawnSync('podman', ['image', 'unmount', IMAGE]))
  const bundle = join(folder, 'dist')
  run(process.execPath, `${ROOT}src/generate/bundle.ts`, bundle)

  await t.test('one small layer comes on top of the base image', async (t) => {
    const copy = join(folder, 'copy')
    run('podman', 'push', '--quiet', '--compress', '--format=oci', IMAGE, `dir:${copy}`)
    const { layers } = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as {
      layers: { size: number; digest: string }[]
    }
    const sizes = run('podman', 'history', '--format={{.Size}}', IMAGE).split('\n')
    const unpacked = sizes.filter((size) => size !== '0 B')
    for (const [i, { size, digest }] of layers.entries())
      t.comment(`layer ${i}: ${(size / 1e6).toFixed(2)} MB, unpacked ${unpacked.at(-1 - i)}: ${digest}`)
    t.equal(layers.length, 2)
    t.ok((layers[1]?.size ?? Infinity) < MOST_MEGABYTES * 1e6)
  })

  await t.test(
    'it holds the bundle of these sources, byte by byte, and nothing that runs a script',
    async (t) => {
      t.equal(run('diff', '--recursive', '--brief', bundle, join(mounted, 'app/dist')), '')
      t.strictSame(readdirSync(join(mounted, 'app')).sort(), ['LICENSE', 'dist', 'package.json'])
      for (const shell of ['bin/sh', 'usr/bin/env', 'bin/busybox'])
        t.notOk(existsSync(join(mounted, shell)), shell)
    },
  )

  await t.test('its labels say what it was built from', async (t) => {
    const labels = JSON.parse(run('podman', 'image', 'inspect', '--format={{json .Labels}}', IMAGE)) as object
    t.match(labels, {
      'org.opencontainers.image.title': 'vmcp-admission',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': /^\d+\.\d+\.\d+/,
      'org.opencontainers.image.revision': revision,
      'org.opencontainers.image.created': /^\d{4}-.*Z$/,
      'org.opencontainers.image.source': /^https:/,
    })
  })

  await t.test('its SBOM names the packages of the bundle, and their licences are there', async (t) => {
    const text = readFileSync(join(mounted, 'app/dist/sbom.cdx.json'), 'utf8')
    t.equal(await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(text), null)
    const { components } = JSON.parse(text) as { components: { name: string; version: string }[] }
    const names = components.map(({ name }) => name)
    for (const bundled of ['fastify', 'yaml', '@bufbuild/re2']) t.ok(names.includes(bundled), bundled)
    for (const other of ['undici', 'esbuild', 'ws']) t.notOk(names.includes(other), other)
    const licences = readFileSync(join(mounted, 'app/dist/third-party-licenses.txt'), 'utf8')
    const without = components.filter(({ name, version }) => !licences.includes(`=== ${name}@${version}: `))
    t.strictSame(without, [])
  })

  await t.test('its help says how it is run', async (t) => {
    t.match(run('podman', ...runArguments(), '--help'), /^Usage: docker run IMAGE \[flags\]$/m)
  })

  await t.test('it starts as the bundle does', async (t) => {
    await Promise.resolve()
    // The shortest of three starts, timed inside the container, so that creating the container is not included.
    const script = (main: string) => `
      const times = [1, 2, 3].map(() => {
        const begun = performance.now()
        child_process.execFileSync(process.execPath, ['${main}', '--help'])
        return performance.now() - begun
      })
      console.log(Math.min(...times))`
    const node = ['--entrypoint=/nodejs/bin/node']
    const image = Number(run('podman', ...runArguments(...node), '-e', script('/app/dist/server/main.js')))
    const alone = Number(run(process.execPath, '-e', script(`${bundle}/server/main.js`)))
    t.comment(`--help: ${alone.toFixed(0)} ms, in the image ${image.toFixed(0)} ms`)
    t.ok(image < 3 * alone, `${image} ms, and ${alone} ms`)
  })

  await t.test('as a pod', async (t) => asPod(t, api, folder))
}

async function asPod(t: Test, api: ApiServer, folder: string): Promise<void> {
  await installCrds(api, 'crds')
  await kubectl(api, ['apply', '-f', 'deploy/kustomize/base/namespace.yaml'])
  const port = await freePort()
  const probe = await freePort()
  const values = {
    'ports.webhook': port,
    'ports.probe': probe,
    // One Deployment that has all permissions and does the work of both.
    'leader.separate': false,
  }
  const { objects } = rendered(values)
  const helm = (command: string, ...args: readonly string[]) =>
    helmMeanwhile([command, 'vmcp-admission', '--namespace', NAMESPACE, ...args], {
      KUBECONFIG: api.kubeconfig,
      HELM_DRIVER: 'configmap',
    })
  await helm('install', CHART, ...setArguments(values))
  await lead(api, ACCOUNT, NAMESPACE, port)
  const pod = objects.find(({ kind }) => kind === 'Deployment')?.spec.template.spec
  if (pod === undefined) throw new Error('the chart has no Deployment')
  const [{ args, volumeMounts, securityContext }] = pod.containers

  run('chmod', '755', folder)
  const { hostname, port: apiPort } = new URL(api.url)
  /** Mounts a service account's token and CA as kubelet does; returns the arguments for podman. */
  const asAccount = async (name: string, namespace = NAMESPACE): Promise<string[]> => {
    const account = mkdtempSync(join(folder, 'account-'))
    run('chmod', '755', account)
    const token = await kubectl(api, ['create', 'token', name, '-n', namespace])
    writeFileSync(join(account, 'token'), token.trim())
    writeFileSync(join(account, 'ca.crt'), api.ca)
    writeFileSync(join(account, 'namespace'), namespace)
    return [
      `--volume=${account}:/var/run/secrets/kubernetes.io/serviceaccount:ro`,
      `--env=KUBERNETES_SERVICE_HOST=${hostname}`,
      `--env=KUBERNETES_SERVICE_PORT=${apiPort}`,
    ]
  }
  const container = `${NAME}-${process.pid}`
  const options = [`--name=${container}`, ...(await asAccount(ACCOUNT))]
  const given = args.map((arg) => arg.replace('$(POD_NAMESPACE)', NAMESPACE))
  const child = spawn('podman', [...runArguments(...options), ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => void spawnSync('podman', ['rm', '--force', '--ignore', '--time=0', container]))
  const said = listen(child)
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${probe}/readyz`).catch(() => undefined)
    return answer?.status === 200
  }
  await waitFor(isReady, { seconds: 60, what: 'the pod to be ready' }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${said()}`)
  })

  await t.test('it runs without privileges, on a file system that is read-only', async (t) => {
    t.match(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    t.equal(volumeMounts, undefined, 'the chart declares no mount')
    const process = `/proc/${run('podman', 'inspect', '--format={{.State.Pid}}', container)}`
    const status = readFileSync(`${process}/status`, 'utf8')
    const is = (field: string) => new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(status)?.[1]
    const none = '0000000000000000'
    t.strictSame(['Uid', 'Gid', 'CapEff', 'CapPrm', 'CapBnd', 'NoNewPrivs', 'Seccomp'].map(is), [
      '65532',
      '65532',
      none,
      none,
      none,
      '1',
      '2',
    ])
    const mounts = readFileSync(`${process}/mounts`, 'utf8').trim().split('\n')
    const writableDisks = mounts.filter((line) => /^(overlay|\/dev\/)\S* \S+ \S+ rw/.test(line))
    t.strictSame(writableDisks, [])
  })

  await t.test('it arms by way of its Service, and judges', async (t) => {
    const policy = 'jsonpath={.webhooks[0].failurePolicy} {.webhooks[0].clientConfig.service.name}'
    const get = ['get', 'validatingwebhookconfiguration', 'vmcp-admission', '-o', policy]
    const isArmed = async () => (await kubectl(api, get).catch(() => '')) === 'Fail vmcp-admission'
    await waitFor(isArmed, { seconds: 60, what: 'the webhook to be armed' })
    const commands = ['bad/aws-sts-without-role', 'token-exchange'].map((name) => [
      'apply',
      '-f',
      `examples/${name}.yaml`,
    ])
    const said = await transcript(api, commands)
    for (const line of said.split('\n')) t.comment(line)
    t.match(said, /aws-sts-role-configured[^]*exit code 1[^]*created/)
  })

  await t.test('helm test succeeds with its pod', async (t) => {
    const tested = helm('test')
    const pod = ['pod', 'vmcp-admission-test', '-n', NAMESPACE]
    const read = async () => JSON.parse(await kubectl(api, ['get', ...pod, '-o', 'json'])) as TestPod
    const { spec } = await waitFor(read, { seconds: 30, what: 'helm to make the pod' })
    const [{ command = [], args }] = spec.containers
    const [program = '', ...more] = command
    const asked = spawnSync(
      'podman',
      [
        ...runArguments(...(await asAccount(spec.serviceAccountName)), `--entrypoint=${program}`),
        ...more,
        ...args,
      ],
      { encoding: 'utf8' },
    )
    t.match([asked.status, asked.stdout], [0, /^probe: reached/m], asked.stderr)
    // Sets the phase that kubelet would set.
    const phase = { status: { phase: asked.status === 0 ? 'Succeeded' : 'Failed' } }
    await kubectl(api, ['patch', ...pod, '--subresource=status', '--type=merge', '-p', JSON.stringify(phase)])
    t.match(await tested, /Phase: +Succeeded/)
  })

  await t.test('the Job of docs/pipelines.md judges a commit beside the cluster', async (t) => {
    const app = join(folder, 'app')
    mkdirSync(join(app, 'check'), { recursive: true })
    writeFileSync(join(app, 'kustomization.yaml'), recipe('kustomization.yaml of the Application'))
    writeFileSync(join(app, 'check.yaml'), recipe('check.yaml'))
    await kubectl(api, ['create', 'namespace', 'tools'])
    run(
      'env',
      `KUBECONFIG=${api.kubeconfig}`,
      'bash',
      '-ec',
      `PATH=$KUBEBUILDER_ASSETS:$PATH\n${shellOf('Argo CD')}`,
    )
    for (const [file, status, said] of [
      ['virtual-mcp-server', 0, / 0 errors/],
      ['together/three-mistakes', 1, /upstream-inject-provider-exists[^]* 3 errors/],
    ] as const) {
      cpSync(`${ROOT}examples/${file}.yaml`, join(app, 'gateway.yaml'))
      const built = await kubectl(api, ['kustomize', app])
      const { job, configMap } = jobIn(built)
      if (status === 0) await kubectl(api, ['apply', '--dry-run=server', '-f', '-'], built)
      const manifests = join(folder, `manifests-${status}`)
      mkdirSync(manifests)
      for (const [name, text] of Object.entries(configMap.data)) writeFileSync(join(manifests, name), text)
      const { serviceAccountName, containers } = job.spec.template.spec
      const [
        {
          command = [],
          args,
          volumeMounts: [{ mountPath }],
        },
      ] = containers
      const [program = '', ...more] = command
      const account = await asAccount(serviceAccountName, 'tools')
      const volume = `--volume=${manifests}:${mountPath}:ro`
      const ended = spawnSync(
        'podman',
        [...runArguments(...account, volume, `--entrypoint=${program}`), ...more, ...args],
        { encoding: 'utf8' },
      )
      t.match(ended, { status, stdout: said }, ended.stderr)
    }
    await t.test('with Flux the Job is another one when a file changes', async (t) => {
      const hook = /argocd\.argoproj\.io\/hook: .*\n.*hook-delete-policy: .*/
      const forced = recipe('check.yaml').replace(hook, 'kustomize.toolkit.fluxcd.io/force: enabled')
      writeFileSync(join(app, 'check/check.yaml'), forced)
      writeFileSync(join(app, 'check/kustomization.yaml'), recipe('apps/vmcp/check/kustomization.yaml'))
      // Flux builds kustomizations without load restrictions too.
      const build = () =>
        kubectl(api, ['kustomize', '--load-restrictor=LoadRestrictionsNone', join(app, 'check')])
      const names: string[] = []
      for (const file of ['virtual-mcp-server', 'together/three-mistakes']) {
        cpSync(`${ROOT}examples/${file}.yaml`, join(app, 'gateway.yaml'))
        const built = await build()
        await kubectl(api, ['apply', '--dry-run=server', '-f', '-'], built)
        const { job, configMap } = jobIn(built)
        t.match(job.metadata.annotations, { 'kustomize.toolkit.fluxcd.io/force': 'enabled' })
        t.equal(job.spec.template.spec.volumes[0]?.configMap.name, configMap.metadata.name)
        names.push(configMap.metadata.name)
      }
      t.not(names[0], names[1])
    })
  })

  await t.test('it ends in order, within the time that the kubelet gives it', async (t) => {
    const ended = once(child, 'exit')
    run('podman', 'kill', '--signal=TERM', container)
    const killTimer = setTimeout(() => child.kill('SIGKILL'), pod.terminationGracePeriodSeconds * 1_000)
    t.strictSame(await ended, [0, null])
    clearTimeout(killTimer)
    t.notMatch(said(), /"level":"(error|fatal)"|forbidden|EROFS|EACCES/i)
  })
}

interface Job {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> }
  readonly spec: {
    readonly template: {
      readonly spec: TestPod['spec'] & {
        readonly volumes: readonly { readonly configMap: { readonly name: string } }[]
        readonly containers: readonly [{ readonly volumeMounts: readonly [{ readonly mountPath: string }] }]
      }
    }
  }
}

interface ConfigMap {
  readonly metadata: { readonly name: string }
  readonly data: Readonly<Record<string, string>>
}

/** The Job that Kustomize builds, and the ConfigMap with its manifests. */
function jobIn(built: string): { job: Job; configMap: ConfigMap } {
  const objects = parseAllDocuments(built).map((each) => each.toJS() as { kind: string })
  const one = (kind: string) => objects.find((object) => object.kind === kind) as unknown
  return { job: one('Job') as Job, configMap: one('ConfigMap') as ConfigMap }
}

/** Returns a function that gives the output of the process so far. */
function listen(child: ChildProcess): () => string {
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => (said += part))
  return () => said
}
