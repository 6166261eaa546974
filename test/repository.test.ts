import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import manifest from '../package.json' with { type: 'json' }
import { releaseNotes, versionProblems } from '../src/generate/version.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const file = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const WORKFLOWS = globSync(['action.yml', '.github/{workflows,actions}/**/*.yaml'], { cwd: ROOT })

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
}

interface Workflow {
  readonly on?: Readonly<Record<string, unknown>> | null
  readonly permissions?: object
  readonly concurrency?: object
  readonly jobs?: Readonly<Record<string, Job>>
  readonly runs?: { readonly steps: readonly Step[] }
}

interface Job {
  readonly permissions?: object
  readonly steps?: readonly Step[]
  readonly 'timeout-minutes'?: number
}

/** Problems that a security review of a GitHub workflow or action would report. */
function workflowProblems(text: string): string[] {
  const { on, permissions, concurrency, jobs, runs } = parse(text) as Workflow
  const steps = [...Object.values(jobs ?? {}).flatMap(({ steps = [] }) => steps), ...(runs?.steps ?? [])]
  const used = [...text.matchAll(/uses: ([^.\s]\S*)(.*)/g)].filter(
    ([, action = '', comment = '']) => !/@[0-9a-f]{40}$/.test(action) || !/^ # v\d+\.\d+\.\d+$/.test(comment),
  )
  return [
    ...used.map(([, action = '']) => `${action}: not pinned to a commit with its version as a comment`),
    ...['pull_request_target', 'workflow_run'].filter((event) => event in (on ?? {})),
    ...(jobs === undefined || JSON.stringify(permissions) === '{}' ? [] : ['rights for every job']),
    ...(jobs === undefined || concurrency !== undefined ? [] : ['no concurrency']),
    ...Object.entries(jobs ?? {}).flatMap(([name, job]) => [
      ...(job.permissions === undefined ? [`${name}: no permissions`] : []),
      ...(job.steps === undefined || job['timeout-minutes'] !== undefined ? [] : [`${name}: no timeout`]),
    ]),
    ...steps.flatMap(({ uses = '', run = '', with: input = {} }) => [
      ...(uses.startsWith('actions/checkout@') && input['persist-credentials'] !== false
        ? ['checkout keeps credentials']
        : []),
      ...(run.includes('${{') ? [`an expression in a script: ${run}`] : []),
      ...[...run.matchAll(/npm run (\S+)/g)].flatMap(([, script = '']) =>
        script in manifest.scripts ? [] : [`no script ${script}`],
      ),
      ...[...run.matchAll(/(?<![\w./])(?:src|test|deploy)\/[\w./-]+\.(?:ts|sh|yaml)/g)].flatMap(([path]) =>
        existsSync(join(ROOT, path)) ? [] : [`no file ${path}`],
      ),
    ]),
  ]
}

t.test('workflows pin what they use, have the least rights, and call scripts that exist', async (t) => {
  t.ok(WORKFLOWS.length > 3)
  for (const path of WORKFLOWS) t.strictSame(workflowProblems(file(path)), [], path)

  const versions = WORKFLOWS.flatMap((path) => file(path).match(/(?<=uses: )[^.\s].*/g) ?? [])
  const actions = new Map(versions.map((use) => [use.split('@')[0], use]))
  t.strictSame(new Set(versions), new Set(actions.values()), 'each action in one version')

  const careless = `
on: { pull_request_target: }
permissions: write-all
jobs:
  one:
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020
      - run: 'echo \${{ github.head_ref }} && npm run nothing && node src/nothing.ts'`
  t.strictSame(workflowProblems(careless), [
    'actions/checkout@v5: not pinned to a commit with its version as a comment',
    'actions/setup-node@820762786026740c76f36085b0efc47a31fe5020: not pinned to a commit with its version as a comment',
    'pull_request_target',
    'rights for every job',
    'no concurrency',
    'one: no permissions',
    'one: no timeout',
    'checkout keeps credentials',
    'an expression in a script: echo ${{ github.head_ref }} && npm run nothing && node src/nothing.ts',
    'no script nothing',
    'no file src/nothing.ts',
  ])
})

t.test('every place names the version of package.json', async (t) => {
  t.strictSame(versionProblems(ROOT), [])
})

t.test('npm version writes a version everywhere, and its notes come from the changelog', async (t) => {
  const clone = t.testdir()
  const files = ['package*.json', '.npmrc', 'CHANGELOG.md', 'Dockerfile', 'deploy/**/*.yaml', 'docs/*.md']
  for (const path of [...globSync(files, { cwd: ROOT }), 'src/generate/version.ts']) {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    cpSync(join(ROOT, path), join(clone, path))
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: clone,
      encoding: 'utf8',
    })
  git('init', '--quiet')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'before')
  t.match(versionProblems(clone, 'v7.8.9'), [/^tag v7\.8\.9: /, /^CHANGELOG\.md: /])

  execFileSync('npm', ['version', '7.8.9'], {
    cwd: clone,
    stdio: 'pipe',
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.com',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.com',
    },
  })
  t.strictSame(versionProblems(clone, 'v7.8.9'), [])
  t.equal(git('status', '--porcelain'), '', 'all of it is in the commit')
  t.equal(git('log', '-1', '--format=%s %D').replace(/HEAD -> \S+, /, ''), 'Release 7.8.9 tag: v7.8.9\n')
  const said = (path: string) => readFileSync(join(clone, path), 'utf8')
  const chart = parse(said('deploy/helm/vmcp-admission/Chart.yaml')) as Record<string, unknown>
  t.match(chart, { version: '7.8.9', appVersion: '7.8.9' })
  t.match(said('deploy/install.yaml'), /image: "?vmcp-admission:7\.8\.9/)
  t.match(said('docs/gitops.md'), /targetRevision: v7\.8\.9/)
  t.match(said('docs/support.md'), /release\.yaml@refs\/tags\/v7\.8\.9\n/)
  t.match(said('docs/image.md'), /--build-arg VERSION=7\.8\.9 /)
  t.match(said('CHANGELOG.md'), /\n## Unreleased\n\n## 7\.8\.9 - \d{4}-\d\d-\d\d\n\n###/)

  writeFileSync(join(clone, 'docs/install.md'), said('docs/install.md').replace('ref=v7.8.9', 'ref=v7.8.8'))
  t.strictSame(versionProblems(clone), ['docs/install.md: has version 7.8.8, package.json has version 7.8.9'])
})

t.test('a clone with an older Node', async (t) => {
  const args = ['--no-strip-types', join(ROOT, 'bin/vmcp-admission.js'), 'check', join(ROOT, 'examples')]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  t.strictSame([status, stdout], [3, ''])
  t.match(
    stderr,
    /^vmcp-admission: Node v\S+ does not run the TypeScript sources of a clone: .*\n$/,
    'in one line',
  )
  // npm runs with this version itself, and would compare it with `engines` of the development tools.
  const folder = t.testdir({
    '.npmrc': file('.npmrc'),
    'package.json': JSON.stringify({ name: 'old', version: '1.0.0', engines: { node: '<1' } }),
  })
  const npm = spawnSync('npm', ['install', '--dry-run', '--offline'], { cwd: folder, encoding: 'utf8' })
  t.strictSame([npm.status, npm.stderr], [0, ''])
})

t.test('notes of a release', async (t) => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n## 1.10.0 - 2027-01-02\n\n### Added\n\n- b\n\n## 1.1.0 - 2027-01-01\n\n- a\n'
  for (const [version, notes] of [
    ['1.10.0', '### Added\n\n- b'],
    ['1.1.0', '- a'],
    ['1.1', undefined],
    ['Unreleased', ''],
  ] as const)
    t.equal(releaseNotes(changelog, version), notes, version)
})
