/** Runs the commands of the docs that need a cluster, kubectl or helm. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import root, { type Test } from 'tap'
import { stringify } from 'yaml'
import { writeInputs } from '../support/command-rows.ts'
import { hasHelm, helmPath } from '../support/helm.ts'
import { commandsOf, isForm, type PageCommand } from '../support/page-commands.ts'
import { knownReleases } from '../support/releases.ts'
import type { ApiServer } from './api-server.ts'
import { installReports, kubectl, ROOT } from './cluster.ts'
import { crdsOfOthers } from './crds-of-others.ts'
import { findBinaries } from './find-binaries.ts'
import { applyAll, NAMESPACE } from './installed.ts'
import { runDeployments } from './pods.ts'
import { crdsOf, installRelease } from './release-crds.ts'
import { ROUTING } from './service-network.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'
import { programFile } from '../support/programs.ts'

/** Commands that other tests run, or that no test can run, with the reason. */
const ELSEWHERE: readonly (readonly [command: RegExp, where: string])[] = [
  [
    /^(npx --no-install )?vmcp-admission (?!.*(--cluster|--crds)|audit|doctor|uninstall)/,
    'test/docs.test.ts',
  ],
  [
    /^npm (ci|test|run (check|search))|^npx tap|^export [A-Z_]+=\$\(test/,
    '.ci/run, or as the README has it by hand',
  ],
  [
    /^npm (run pack|install --(global|save-dev) (\.|CLONE|git\+))/,
    'test/package.test.ts, with its own paths',
  ],
  [/^npm run executables|^\.\/vmcp-admission/, 'test/e2e/executables.test.ts'],
  [
    /^npm run (--silent )?(add-release|conformance)/,
    'test/generate.test.ts and test/e2e/conformance.test.ts',
  ],
  [/^npm run (--silent )?mistakes/, 'test/mistakes.test.ts'],
  [/^npm run (bench|parity)/, 'for minutes, by hand; test/e2e/parity.test.ts has a short form'],
  [/^npm run clients/, 'needs programs that take twenty minutes to build'],
  [/^npm start -- --local-cluster|^kubectl apply -f examples\//, 'test/e2e/local-cluster.test.ts'],
  [/^npm start/, 'the flags are read in test/docs.test.ts'],
  [/^docker /, 'test/e2e/image.test.ts, with buildah and podman'],
  [/^helm test /, 'test/e2e/image.test.ts: there is no kubelet here'],
  [/^kubectl krew/, 'test/e2e/pipelines.test.ts, from a server of its own'],
  [
    /^npm (version|audit signatures|install$)|^npx @vscode|^git push|^cosign|^flux/,
    'needs what is published, or an installed flux',
  ],
  [/^git worktree add/, 'writes outside of the folder'],
  [/^git show origin\/main:/, 'needs a remote; test/strangers.test.ts runs the flags'],
  [/^mkdir -p \/etc\/kubernetes/, 'test/e2e/static-policies.test.ts, in a folder of its own'],
]

/** Sections that expect a cluster without the webhook. */
const WITHOUT =
  /^README\.md#Install it$|^docs\/install\.md#(With Helm|Certificates)$|^docs\/(policies|webhook-configurations)\.md#/
/** Sections after which no other section can use the cluster. */
const SPOILS =
  /^README|^docs\/(install\.md#(Certificates|Break glass|Uninstall)|policies\.md|webhook-configurations\.md)|#uninstall$/

/** Expected exit codes other than 0: for findings, and for questions that are answered with no. */
const STATUS: readonly (readonly [command: RegExp, status: number])[] = [
  [/auth can-i create/, 1],
  [/^vmcp-admission uninstall --dry-run/, 1],
  [/^kubectl apply --dry-run=server --warnings-as-errors/, 1],
  [/^vmcp-admission (check|steps) /, 1],
]

if (hasHelm(root)) await withApiServer(root, suite, { flags: [ROUTING], longestMs: 600_000 })

async function suite(t: Test, api: ApiServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vmcp-docs-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const home = userFolder(folder)
  const clone = cloneFolder(folder)
  const packed = packedFolder(folder)
  const shell = async (script: string, page = '') => {
    const isOfClone = /\bdeploy\/\w/.test(script)
    // docs/policies.md needs the files of the npm package; other pages need those of a clone.
    const cwd = isOfClone ? (page === 'docs/policies.md' ? packed : clone) : home
    const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      cwd,
      env: {
        PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`,
        HOME: home,
        KUBECONFIG: api.kubeconfig,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      child.exitCode ?? once(child, 'exit'),
    ])
    return { status: child.exitCode, said: stdout + stderr }
  }
  const must = async (script: string) => {
    const { status, said } = await shell(script)
    if (status !== 0) throw new Error(`${script}: ${said}`)
  }
  const remove = async () => {
    await shell(`helm uninstall vmcp-admission -n ${NAMESPACE}`)
    await must('kubectl delete validatingwebhookconfiguration,mutatingwebhookconfiguration --all')
    await must(
      `kubectl -n ${NAMESPACE} delete --ignore-not-found secret/vmcp-admission-ca lease/vmcp-admission lease/vmcp-admission-reports`,
    )
  }
  const install = async () => {
    await must(
      `helm install vmcp-admission deploy/helm/vmcp-admission -n ${NAMESPACE} --create-namespace --set image.repository=registry.example/vmcp-admission,shutdownDelay=1 --wait`,
    )
    await waitFor(
      async () =>
        (await shell('kubectl get validatingwebhookconfiguration vmcp-admission -o yaml')).said.includes(
          'failurePolicy: Fail',
        ),
      { seconds: 60, what: 'the webhook to be armed' },
    )
  }

  await installRelease(api, newest())
  const others = crdsOfOthers()
  if ('missing' in others) t.comment(others.missing)
  else await applyAll(api, others)
  for (const name of ['openreports', 'policyreports'] as const) await installReports(api, name)
  await kubectl(api, ['create', 'namespace', NAMESPACE])
  await kubectl(api, ['create', 'namespace', 'tools'])
  await kubectl(api, ['apply', '-f', 'examples/virtual-mcp-server.yaml'])
  runDeployments(t, api, folder)

  const commands = globSync('**/*.md', {
    cwd: ROOT,
    exclude: (path) => /node_modules|^(dist|artifacts|CHANGELOG)/.test(path),
  })
    .sort()
    .flatMap((page) => commandsOf(page, readFileSync(ROOT + page, 'utf8')))
    .filter((command) => !isElsewhere(command))
  t.ok(commands.length > 40, `${commands.length} commands`)
  let state: 'none' | 'installed' | 'spoilt' = 'none'
  let last = ''
  for (const { page, section, text: script } of commands) {
    const place = `${page}#${section}`
    if (place !== last) {
      const isWithout = WITHOUT.test(place)
      if (state === 'spoilt' || (isWithout && state === 'installed')) await remove()
      if (!isWithout && state !== 'installed') await install()
      state = SPOILS.test(place) ? 'spoilt' : 'installed'
      last = place
    }
    const { status, said } = await shell(script, page)
    const expected = STATUS.find(([command]) => command.test(script))?.[1] ?? 0
    t.equal(status, expected, `${place}: ${script}: ${said.slice(-600)}`)
  }
}

function newest() {
  const release = knownReleases().at(-1)
  if (release === undefined) throw new Error('there are no releases')
  return release
}

function isElsewhere({ text: command }: PageCommand): boolean {
  return (
    (isForm(command) && !/^(helm|kubectl) /.test(command)) ||
    ELSEWHERE.some(([pattern]) => pattern.test(command))
  )
}

/** A user's folder with manifests, a kustomize overlay and a chart, and with the programs on the PATH. */
function userFolder(folder: string): string {
  const home = join(folder, 'home')
  const bin = join(folder, 'bin')
  for (const each of [
    home,
    bin,
    join(home, 'overlays/prod'),
    join(home, 'apps/vmcp'),
    join(home, 'chart/templates'),
  ])
    mkdirSync(each, { recursive: true })
  writeInputs(home)
  rmSync(join(home, 'crds'), { recursive: true })
  mkdirSync(join(home, 'crds'))
  writeFileSync(
    join(home, 'crds/operator.yaml'),
    crdsOf(newest())
      .map((crd) => stringify(crd))
      .join('---\n'),
  )
  cpSync(`${ROOT}examples/together`, join(home, 'deploy'), { recursive: true })
  for (const kustomization of ['overlays/prod', 'apps/vmcp']) {
    cpSync(`${ROOT}examples/aws-sts.yaml`, join(home, kustomization, 'aws.yaml'))
    writeFileSync(join(home, kustomization, 'kustomization.yaml'), 'resources: [aws.yaml]\n')
  }
  writeFileSync(join(home, 'chart/Chart.yaml'), 'apiVersion: v2\nname: chart\nversion: 1.0.0\n')
  cpSync(`${ROOT}examples/aws-sts.yaml`, join(home, 'chart/templates/aws.yaml'))
  const binaries = findBinaries()
  if ('missing' in binaries) throw new Error(binaries.missing)
  symlinkSync(binaries.kubectl, join(bin, 'kubectl'))
  symlinkSync(helmPath(), join(bin, 'helm'))
  for (const name of ['vmcp-admission', 'kubectl-vmcp_admission'])
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${programFile('cli')}' "$@"\n`, {
      mode: 0o755,
    })
  return home
}

/** Unpacks the npm package and returns its folder. */
function packedFolder(folder: string): string {
  execFileSync(process.execPath, [`${ROOT}src/generate/pack.ts`, join(folder, 'artifacts')])
  return join(folder, 'artifacts/package')
}

/** The files of a clone that the commands use, and the chart as `helm package` creates it. */
function cloneFolder(folder: string): string {
  const clone = join(folder, 'clone')
  for (const each of ['deploy', 'examples']) cpSync(ROOT + each, join(clone, each), { recursive: true })
  const charts = join(clone, 'deploy/helm')
  rmSync(join(charts, 'vmcp-admission'), { recursive: true })
  execFileSync(helmPath(), ['package', `${ROOT}deploy/helm/vmcp-admission`, '--destination', charts])
  execFileSync('tar', ['-xzf', globSync(join(charts, '*.tgz'))[0] ?? '', '-C', charts])
  writeFileSync(join(clone, 'vmcp-admission.yaml'), stringify({ severities: ['upstream-url-https=error'] }))
  return clone
}
