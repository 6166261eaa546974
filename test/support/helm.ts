import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { parseAllDocuments } from 'yaml'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const CHART = join(ROOT, 'deploy/helm/vmcp-admission')

/** The fields of a rendered manifest that tests read. */
export interface Manifest {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels: object
    readonly annotations?: object
  }
  readonly automountServiceAccountToken?: boolean
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
  readonly spec: Spec
}

/** The pod that `helm test` starts. */
export interface TestPod {
  readonly kind: string
  readonly metadata: Manifest['metadata']
  readonly spec: Pod & { readonly serviceAccountName: string }
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

interface Spec {
  readonly replicas?: number
  readonly strategy?: unknown
  readonly selector: { readonly matchLabels: object }
  readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod }
  readonly ports?: unknown
  readonly podSelector?: unknown
  readonly policyTypes?: unknown
  readonly ingress?: unknown
  readonly names?: { readonly plural: string }
}

interface Pod {
  readonly securityContext: unknown
  readonly containers: readonly [Container, ...Container[]]
  readonly volumes?: readonly { readonly name: string }[]
  readonly imagePullSecrets?: unknown
  readonly automountServiceAccountToken?: boolean
  readonly topologySpreadConstraints?: unknown
  readonly terminationGracePeriodSeconds: number
  readonly hostNetwork?: boolean
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

interface Container {
  readonly image: string
  readonly command?: readonly string[]
  readonly args: readonly string[]
  readonly ports: unknown
  readonly securityContext: unknown
  readonly volumeMounts?: readonly { readonly name: string; readonly readOnly?: boolean }[]
  readonly resources: { readonly limits: Readonly<Record<string, string>> }
  readonly lifecycle?: unknown
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
}

/** The path of helm: $HELM, or in the folder of the end-to-end tests' binaries, or on the PATH. */
function findHelm(): string | undefined {
  const { HELM, KUBEBUILDER_ASSETS = '', PATH = '' } = process.env
  if (HELM !== undefined && HELM !== '') return HELM
  const folders = [KUBEBUILDER_ASSETS, ...PATH.split(delimiter)].filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'helm')).find((file) => existsSync(file))
}

const found = findHelm()

/** Whether helm is installed. Otherwise the tests are skipped, and in CI they fail. */
export function hasHelm(root: Test): boolean {
  if (found !== undefined) return true
  const missing = 'no helm; get it with export HELM=$(test/e2e/binaries/build.sh helm)'
  if (process.env.CI === 'true') root.fail(missing)
  else root.test('with helm', { skip: missing }, () => undefined)
  return false
}

/** Runs helm without the settings of the user who runs the tests. */
export function helm(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', ...environment }
  const { status, stdout, stderr } = spawnSync(found ?? 'helm', args, {
    encoding: 'utf8',
    env,
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

const SKIP_TESTS = ['--skip-tests']

/** The `--set-json` arguments for some values. */
export const setArguments = (values: object): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`])

/** The arguments that render the chart with these values, except the pod of `helm test`. */
export function templateArguments(values: object = {}, release = 'vmcp-admission'): string[] {
  return ['template', release, CHART, '--namespace', 'vmcp-system', ...SKIP_TESTS, ...setArguments(values)]
}

/** Renders the chart. Throws the error of helm if it refuses the values. */
export function rendered(values: object = {}): {
  readonly text: string
  readonly objects: readonly Manifest[]
} {
  return read(templateArguments(values))
}

/** Renders the objects that only `helm test` creates. */
export const renderedTest = (values: object = {}) =>
  read([
    ...templateArguments(values).filter((each) => !SKIP_TESTS.includes(each)),
    '--show-only',
    'templates/test.yaml',
  ])

function read(args: readonly string[]) {
  const { status, stdout, stderr } = helm(args)
  if (status !== 0) throw new Error(stderr)
  return { text: stdout, objects: parseAllDocuments(stdout).map((document) => document.toJS() as Manifest) }
}

/** Runs helm asynchronously and returns its stdout; rejects when helm fails. */
export async function helmMeanwhile(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: '/nonexistent', ...environment }
  const { stdout } = await promisify(execFile)(helmPath(), args, { env, maxBuffer: 2 ** 24 })
  return stdout
}

/** Renders the chart asynchronously, so that several can be rendered at a time. */
export const rendersTo = (values: object): Promise<string> => helmMeanwhile(templateArguments(values))

export const helmPath = (): string => found ?? 'helm'
