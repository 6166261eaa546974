import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import root, { type Test } from 'tap'
import { parse } from 'yaml'
import manifest from '../../package.json' with { type: 'json' }
import { runAction, type Runner } from '../support/action.ts'
import { recipe, USER_PATH } from '../support/recipes.ts'
import type { ApiServer } from './api-server.ts'
import { installCrds, kubectl, ROOT } from './cluster.ts'
import { findBinaries } from './find-binaries.ts'
import { withApiServer } from './suite.ts'

const OWNER = 'OWNER/vmcp-admission'
const NODE = dirname(process.execPath)

const folder = mkdtempSync(join(tmpdir(), 'vmcp-pipelines-'))
root.teardown(() => rmSync(folder, { recursive: true, force: true }))
root.setTimeout(600_000)

const release = join(folder, 'release')
/** A user's workspace with two folders of manifests; `old deploy` has mistakes. */
const workspace = join(folder, 'workspace')

if (process.platform === 'linux' && process.arch === 'x64') {
  publish()
  const server = await serve()
  root.teardown(() => server.close())
  await root.test('the GitHub Action', (t) => action(t, server.url))
  await root.test('the script of GitLab CI', gitLab)
  const missing = unready()
  if (missing === false) await withApiServer(root, (t, api) => plugin(t, api, server.url))
  else if (process.env.CI === 'true') root.fail(missing)
  else await root.test('the plugin of kubectl', { skip: missing }, () => undefined)
} else root.plan(0, 'executables are made on Linux x64')

/** Builds the files of a release with the commands of .github/workflows/release.yaml. */
function publish(): void {
  for (const maker of ['pack', 'executables'])
    execFileSync(process.execPath, [`${ROOT}src/generate/${maker}.ts`, release], { stdio: 'pipe' })
  rmSync(join(release, 'package'), { recursive: true })
  writeFileSync(
    join(release, 'krew.yaml'),
    execFileSync(process.execPath, [`${ROOT}src/generate/krew.ts`, release, OWNER]),
  )
  const sums = readdirSync(release).map((name) => {
    const sum = createHash('sha256').update(readFileSync(join(release, name)))
    return `${sum.digest('hex')}  ${name}\n`
  })
  writeFileSync(join(release, 'SHA256SUMS'), sums.join(''))
  for (const [to, from] of [
    ['deploy/gateway.yaml', 'examples/virtual-mcp-server.yaml'],
    ['old deploy/gateway.yaml', 'examples/together/three-mistakes.yaml'],
  ] as const)
    cpSync(ROOT + from, join(workspace, to), { recursive: true })
}

/** Serves the release at the paths of GitHub's downloads, and damaged files as version 6.6.6. */
async function serve(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    const [, version, name = ''] =
      /^\/OWNER\/vmcp-admission\/releases\/download\/v([\d.]+)\/([\w.-]+)$/.exec(request.url ?? '') ?? []
    const path = join(release, name.replace('6.6.6', manifest.version))
    if (version === undefined || !existsSync(path)) response.writeHead(404).end()
    else if (version === '6.6.6' && name !== 'SHA256SUMS') response.end('damaged')
    else if (version === '6.6.6')
      response.end(readFileSync(path, 'utf8').replaceAll(manifest.version, version))
    else createReadStream(path).pipe(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}

/** The program that the plugin test needs and that is missing here; false if none is. */
function unready(): string | false {
  if (spawnSync('go', ['version']).error !== undefined) return 'go is not on the PATH, which builds krew'
  const binaries = findBinaries()
  return 'missing' in binaries && binaries.missing
}

async function action(t: Test, url: string): Promise<void> {
  const linux: Omit<Runner, 'temp'> = {
    os: 'Linux',
    arch: 'X64',
    server: url,
    repository: OWNER,
    workspace,
    path: USER_PATH,
  }
  const job = parse(recipe('.github/workflows/vmcp.yaml')) as {
    jobs: { check: { steps: { uses: string; with: Record<string, string> }[] } }
  }
  const onPage = job.jobs.check.steps.find(({ uses }) => uses === `${OWNER}@v${manifest.version}`)
  /** The files for the recipe, which excludes templates. */
  const clean = join(folder, 'clean')
  for (const [to, from] of [
    ['deploy/gateway.yaml', 'virtual-mcp-server.yaml'],
    ['deploy/templates/chart.yaml', 'bad/misspelt-type.yaml'],
    ['overlays/prod/aws.yaml', 'bad/aws-sts-without-role.yaml'],
  ] as const)
    cpSync(`${ROOT}examples/${from}`, join(clean, to), { recursive: true })
  const mac: typeof linux = { ...linux, os: 'macOS', arch: 'ARM64', path: `${NODE}:${USER_PATH}` }
  const rows: [
    title: string,
    runner: typeof linux,
    inputs: Record<string, string>,
    status: number,
    said: RegExp,
  ][] = [
    [
      'the recipe',
      { ...linux, workspace: clean },
      onPage?.with ?? {},
      1,
      /^(?![^]*templates)[^]*::error file=overlays\/prod\/aws\.yaml,[^\n]*aws-sts-role-configured/,
    ],
    ['no error', linux, { paths: 'deploy' }, 0, /OK/],
    ['errors', linux, {}, 1, /^::error file=old deploy\/gateway\.yaml,line=37,/m],
    [
      'a path with a blank, and flags',
      linux,
      { paths: 'deploy\n"old deploy"', args: `--release 0.63 --exclude 'old deploy'` },
      0,
      /OK/,
    ],
    [
      'the package',
      mac,
      { paths: "'old deploy/gateway.yaml'", version: `v${manifest.version}` },
      1,
      /^::error file=/m,
    ],
    ['wrong usage', linux, { args: '--nope' }, 2, /there is no flag --nope/],
    ['a quote that is not closed', linux, { paths: "deploy team's/" }, 2, /unmatched single quote/],
    ['a file that is not there', linux, { paths: 'missing' }, 3, /missing/],
    ['a release that there is not', linux, { version: '9.9.9' }, 22, /404/],
    ['a damaged release', linux, { version: '6.6.6' }, 1, /FAILED/],
  ]
  for (const [i, [title, runner, inputs, status, said]] of rows.entries()) {
    const ran = await runAction({ ...runner, temp: join(folder, `runner ${i}`) }, inputs)
    t.equal(ran.status, status, `${title}: ${ran.said}`)
    t.match(ran.said, said, title)
    const hasFindings = status < 2 && said.source !== 'FAILED'
    if (hasFindings || status === 3) {
      const { runs } = JSON.parse(readFileSync(ran.outputs.sarif ?? '', 'utf8')) as {
        runs: { results: { level: string }[] }[]
      }
      t.equal(
        runs.flatMap(({ results }) => results).some(({ level }) => level === 'error'),
        status === 1,
        title,
      )
    } else t.strictSame(ran.outputs, {}, title)
  }
}

async function gitLab(t: Test): Promise<void> {
  const { vmcp } = parse(recipe('.gitlab-ci.yml')) as {
    vmcp: { script: string[]; artifacts: { reports: Record<string, string> } }
  }
  const { script, artifacts } = vmcp
  for (const [name, status] of [
    ['deploy', 0],
    ['old deploy', 1],
  ] as const) {
    const job = join(folder, `job ${status}`)
    cpSync(join(workspace, name), join(job, 'deploy'), { recursive: true })
    const published = `https://github.com/${OWNER}/releases/download/v${manifest.version}`
    const lines = script.map((line) => line.replace(published, release))
    const { status: ended, stdout } = spawnSync('sh', ['-ec', lines.join('\n')], {
      cwd: job,
      encoding: 'utf8',
      env: { PATH: `${job}/global/bin:${NODE}:${USER_PATH}`, HOME: job, NPM_CONFIG_PREFIX: `${job}/global` },
    })
    t.equal(ended, status, name)
    t.match(stdout, status === 0 ? / 0 errors/ : / 3 errors/)
    const report = (kind: string) => readFileSync(join(job, artifacts.reports[kind] ?? ''), 'utf8')
    const severities = (JSON.parse(report('codequality')) as { severity: string }[]).map(
      ({ severity }) => severity,
    )
    t.equal(severities.filter((severity) => severity === 'major').length > 0, status === 1, name)
    t.match(report('junit'), status === 0 ? /failures="0"/ : /<failure/, name)
  }
}

/** Installs the release with the real krew, and runs it as a kubectl plugin. */
async function plugin(t: Test, api: ApiServer, url: string): Promise<void> {
  const binaries = findBinaries()
  if ('missing' in binaries) return
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  for (const name of ['krew', 'validate-krew-manifest'])
    execFileSync(
      'go',
      [
        '-C',
        `${ROOT}test/krew`,
        'build',
        '-o',
        join(programs, `kubectl-${name}`),
        `sigs.k8s.io/krew/cmd/${name}`,
      ],
      {
        env: { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' },
        stdio: 'pipe',
      },
    )
  const env = {
    PATH: `${programs}:${dirname(binaries.kubectl)}:${folder}/krew/bin:${USER_PATH}`,
    HOME: folder,
    KREW_ROOT: `${folder}/krew`,
    KUBECONFIG: api.kubeconfig,
  }
  const run = (program: string, ...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: workspace, env, encoding: 'utf8' })
    return { status, said: stdout + stderr }
  }
  const local = join(programs, 'vmcp-admission.yaml')
  writeFileSync(local, readFileSync(join(release, 'krew.yaml'), 'utf8').replaceAll('https://github.com', url))

  // Installs the plugin for every platform and checks that there is a licence.
  const validated = await promised(
    join(programs, 'kubectl-validate-krew-manifest'),
    ['-manifest', local],
    env,
  )
  t.match(validated, { status: 0, said: /all 2 spec\.platforms installed fine/ })

  const installed = await promised('kubectl', ['krew', 'install', '--manifest', local], env)
  t.match(installed, { status: 0, said: /Installed plugin: vmcp-admission/ })
  await installCrds(api, 'crds')
  await kubectl(api, ['apply', '-f', 'examples/unauthenticated.yaml'])
  for (const [args, status, said] of [
    [['--help'], 0, /^Usage: kubectl vmcp-admission COMMAND/],
    [['plan', '--help'], 0, /Example: kubectl vmcp-admission plan deploy/],
    [['no-such-command'], 2, /^kubectl vmcp-admission --help shows how it is used$/m],
    [['check', '--output', 'human', 'old deploy'], 1, /^more on a finding: kubectl vmcp-admission explain /m],
    [['check', '--cluster', 'deploy'], 0, / 0 errors/],
    [['audit'], 0, /^1 resource in https:/m],
  ] as const)
    t.match(run('kubectl', 'vmcp-admission', ...args), { status, said }, args.join(' '))
}

function promised(program: string, args: readonly string[], env: Record<string, string>) {
  const { promise, resolve } = Promise.withResolvers<{ status: number | null; said: string }>()
  const child = spawn(program, args, { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.on('close', (status) => resolve({ status, said }))
  return promise
}
