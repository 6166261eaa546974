import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import manifest from '../package.json' with { type: 'json' }
import { OLDEST_NODE } from '../src/generate/bundling.ts'
import { COMMAND_ROWS, writeInputs } from './support/command-rows.ts'
import { ANSWERS, askOf } from './support/mcp.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OLDEST = Number(OLDEST_NODE.split('.')[0])

/** The path of a Node of the oldest supported version: NODE_OLDEST, or on the PATH. */
function oldestNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = [process.env.NODE_OLDEST ?? '', ...folders.map((folder) => join(folder, 'node'))]
  return candidates.find(
    (path) =>
      existsSync(path) &&
      spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.startsWith(`v${OLDEST}.`),
  )
}

const folder = mkdtempSync(join(tmpdir(), 'vmcp-package-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
execFileSync(process.execPath, [join(ROOT, 'src/generate/pack.ts'), folder])
const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`)
const project = join(folder, 'project')
mkdirSync(project)
writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}')
writeInputs(project)
const installed = join(project, 'node_modules', manifest.name)
const npm = (...args: string[]) =>
  execFileSync(
    'npm',
    ['install', '--offline', '--no-audit', '--no-fund', '--engine-strict', ...args, tarball],
    { cwd: project },
  )
npm()

const oldest = oldestNode()
/** Only the oldest Node runs all commands: test/e2e/executables.test.ts runs them with the current Node. */
const nodes: [title: string, node: string | undefined, rows: typeof COMMAND_ROWS][] = [
  [`Node ${OLDEST}`, oldest, COMMAND_ROWS],
  [
    `Node ${process.versions.node}`,
    process.execPath,
    oldest === undefined ? COMMAND_ROWS : COMMAND_ROWS.slice(0, 4),
  ],
]

/** Runs a program with an empty home and without the environment of this process. */
function run(node: string, program: string, args: readonly string[] = [], cwd = project) {
  const env = { PATH: dirname(node), HOME: project }
  const { status, stdout, stderr } = spawnSync(node, [program, ...args], { cwd, env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('the tarball is small, and needs nothing', async (t) => {
  t.ok(statSync(tarball).size < 3e6, `${statSync(tarball).size} bytes`)
  const { dependencies, optionalDependencies, scripts } = JSON.parse(
    readFileSync(join(installed, 'package.json'), 'utf8'),
  ) as Record<string, unknown>
  t.strictSame([dependencies, optionalDependencies, scripts], [undefined, undefined, undefined])
  const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n')
  t.strictSame(
    files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts')),
    [],
  )
  for (const path of [
    'deploy/crds/mcpgroups.yaml',
    'deploy/policies/deny.yaml',
    'schemas/vmcp.json',
    'releases/0.63.json',
  ])
    t.ok(files.includes(`package/${path}`), path)
})

t.test('installs for all folders', async (t) => {
  npm('--global', '--prefix', join(folder, 'global'))
  const { status, stdout } = run(
    process.execPath,
    join(folder, 'global/bin/vmcp-admission'),
    ['--version'],
    '/',
  )
  t.strictSame([status, stdout], [0, `${manifest.version}\n`])
  t.match(readFileSync(join(folder, 'global/share/man/man1/vmcp-admission.1'), 'utf8'), /^\.SS check$/m)
})

for (const [title, node, rows] of nodes) {
  const skip =
    node === undefined && process.env.CI !== 'true' && `no ${title} on the PATH, nor in NODE_OLDEST`
  t.test(title, { skip }, async (t) => {
    if (node === undefined) throw new Error(`CI needs ${title} on the PATH, or in NODE_OLDEST`)
    for (const [args, status, said] of rows) {
      const ended = run(node, join(project, 'node_modules/.bin/vmcp-admission'), args)
      t.equal(ended.status, status, args.join(' '))
      t.match(ended.stdout + ended.stderr, said)
    }
    const server = run(node, join(project, 'node_modules/.bin/vmcp-admission-server'), ['--help'])
    t.match(server.stdout, /^Usage: vmcp-admission-server \[flags\]$/m)
    const plugin = run(node, join(project, 'node_modules/.bin/kubectl-vmcp_admission'), ['plan', '--help'])
    t.match(plugin.stdout, /^ {2}kubectl vmcp-admission plan /m)
    t.notMatch(plugin.stdout, /(?<!kubectl )vmcp-admission plan/)
    await t.test('the server serves', (t) => serves(t, node))
    await t.test('an agent is served', async (t) => {
      const program = [join(project, 'node_modules/.bin/vmcp-admission')]
      const env = { PATH: dirname(node), HOME: project }
      t.strictSame(await askOf(node, program, project, env), ANSWERS)
    })
    await t.test('the example of docs/library.md prints what the page says', async (t) => {
      const page = readFileSync(join(ROOT, 'docs/library.md'), 'utf8')
      const [, code = ''] = /```js\n([^]*?)```/.exec(page) ?? []
      const [, expected] = /```text\n([^]*?)```/.exec(page) ?? []
      writeFileSync(join(project, 'example.mjs'), code)
      if (!existsSync(join(project, 'node_modules/yaml')))
        symlinkSync(join(ROOT, 'node_modules/yaml'), join(project, 'node_modules/yaml'))
      t.strictSame(run(node, 'example.mjs'), { status: 0, stdout: expected, stderr: '' })
    })
  })
}

function serves(t: Test, node: string): Promise<void> {
  return new Promise((resolve) => {
    const args = [
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--probe-port',
      '0',
      '--cert-dir',
      join(folder, 'certificates'),
    ]
    const child = spawn(node, [join(project, 'node_modules/.bin/vmcp-admission-server'), ...args], {
      cwd: project,
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => {
        said += part
        if (said.includes('"listening"')) child.kill()
      })
    child.on('exit', (code) => {
      t.equal(code, 0, said)
      resolve()
    })
  })
}

t.test('the types stand alone, however modules are resolved', async (t) => {
  writeFileSync(
    join(project, 'user.ts'),
    `import { type Finding, judge, type JudgeOptions, releaseOfCrds } from '${manifest.name}'
import release from '${manifest.name}/releases/0.63.json' with { type: 'json' }
const options: JudgeOptions = { release, profile: 'strict', severities: { 'unknown-field': 'off' } }
const findings: readonly Finding[] = judge([], { ...options, release: releaseOfCrds([]) }).findings
// @ts-expect-error: a profile that there is not
judge([], { profile: 'lax' })
export const keys: (string | number)[] = findings.flatMap(({ keys }) => [...keys])
`,
  )
  for (const resolution of ['nodenext', 'bundler']) {
    const module = resolution === 'bundler' ? 'esnext' : resolution
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--resolveJsonModule',
      '--target',
      'es2022',
    ]
    const tsc = [
      join(ROOT, 'node_modules/typescript/bin/tsc'),
      ...flags,
      '--module',
      module,
      '--moduleResolution',
      resolution,
    ]
    const { status, stdout } = spawnSync(process.execPath, [...tsc, 'user.ts'], {
      cwd: project,
      encoding: 'utf8',
    })
    t.strictSame([status, stdout], [0, ''], resolution)
  }
})
