/** What a tree that a stranger wrote can do to whoever runs the command on it. SECURITY.md names each row. */
import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { COMPILE_CACHE } from './support/compile-cache.ts'

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

/** Stands in files that must not be read, and so in no output. */
const SECRET = 'token-of-the-checkout-4711'

type Files = Readonly<Record<string, string>>

function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

function newFolder(t: Test, files: Files = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vmcp-stranger-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  write(folder, files)
  return folder
}

interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
  /** Both streams. */
  readonly all: string
}

/** As people run it: a process of its own, in the folder. The memory of the process is bounded, and so is its time. */
function run(
  cwd: string,
  args: readonly string[],
  {
    input = '',
    environment = {},
    megabytes = 1024,
  }: {
    readonly input?: string | Buffer
    readonly environment?: Readonly<Record<string, string>>
    readonly megabytes?: number
  } = {},
): Ran {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`--max-old-space-size=${megabytes}`, MAIN, ...args],
    {
      cwd,
      input,
      encoding: 'utf8',
      env: { ...COMPILE_CACHE, PATH: process.env.PATH, HOME: cwd, ...environment },
      timeout: 120_000,
      maxBuffer: 2 ** 28,
    },
  )
  return { status, stdout, stderr, all: stdout + stderr }
}

const group = (name: string) =>
  `apiVersion: toolhive.stacklok.dev/v1beta1\nkind: MCPGroup\nmetadata: { name: ${name} }\n`
/** A resource with an error. */
const BAD = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: bad }
spec: { type: no-such-type }
`
const aws = (claim: string) => `apiVersion: toolhive.stacklok.dev/v1beta1
kind: MCPExternalAuthConfig
metadata: { name: aws }
spec:
  type: awsSts
  awsSts:
    region: eu-central-1
    roleClaim: groups
    roleMappings:
      - { claim: ${claim}, roleArn: 'arn:aws:iam::111122223333:role/Admin' }
`

function git(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(
    'git',
    ['-c', 'user.email=a@example.com', '-c', 'user.name=a', ...args],
    {
      cwd,
      encoding: 'utf8',
    },
  )
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  return stdout.trim()
}

/**
 * A bare repository as plain files in `deploy/`, whose own `main` has what `deploy/` has, with a blob left out that its
 * `origin` would have, and programs to run in every setting that names one.
 */
function plant(folder: string, marker: string): void {
  const source = join(folder, '..', 'planted')
  mkdirSync(source)
  git(source, 'init', '-q', '-b', 'main')
  write(source, { 'aws.yaml': aws('strangers') })
  git(source, 'add', '.')
  git(source, 'commit', '-q', '-m', 'forged')
  const blob = git(source, 'rev-parse', 'main:aws.yaml')
  for (const part of ['HEAD', 'objects', 'refs'])
    spawnSync('cp', ['-r', join(source, '.git', part), join(folder, part)])
  const program = join(folder, 'run.sh')
  writeFileSync(program, `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
  writeFileSync(
    join(folder, 'config'),
    `[core]
	repositoryformatversion = 1
	bare = true
	sshCommand = ${program}
	fsmonitor = ${program}
	hooksPath = ${folder}
	pager = ${program}
	gitProxy = ${program}
[extensions]
	partialClone = origin
[remote "origin"]
	url = ssh://example.invalid/x
	promisor = true
	fetch = +refs/heads/*:refs/remotes/origin/*
	uploadpack = ${program}
[protocol]
	allow = always
[diff]
	external = ${program}
[credential]
	helper = ${program}
`,
  )
  rmSync(join(folder, 'objects', blob.slice(0, 2), blob.slice(2)))
}

void t.test('git: the base is that of the checkout, and nothing is started', (t) => {
  const outer = newFolder(t)
  const checkout = join(outer, 'checkout')
  const deploy = join(checkout, 'deploy')
  write(checkout, { 'deploy/aws.yaml': aws('admins') })
  git(checkout, 'init', '-q', '-b', 'main')
  git(checkout, 'add', '.')
  git(checkout, 'commit', '-q', '-m', 'base')
  git(checkout, 'checkout', '-q', '-b', 'change')
  write(checkout, { 'deploy/aws.yaml': aws('strangers') })
  const marker = join(outer, 'marker')
  plant(deploy, marker)
  // The attack is one: a git that looks around fetches the blob, and takes the program for that.
  spawnSync('git', ['cat-file', 'blob', 'main:aws.yaml'], { cwd: deploy })
  t.equal(existsSync(marker), true, 'git by itself runs the program')
  rmSync(marker, { force: true })

  const access = /access differs in 1 of 1 configuration/
  const steps = /update|apply/i
  const rows: [
    title: string,
    cwd: string,
    args: string[],
    said: RegExp,
    environment?: Record<string, string>,
  ][] = [
    ['access', deploy, ['access', 'git:main', '.'], access],
    ['access of a path', deploy, ['access', 'git:main:.', 'aws.yaml'], access],
    ['access at the top', checkout, ['access', 'git:main', 'deploy'], access],
    ['steps', deploy, ['steps', 'git:main', '.'], steps],
    ['steps at the top', checkout, ['steps', 'git:main', 'deploy'], steps],
    [
      'with settings of others in the environment',
      deploy,
      ['access', 'git:main', '.'],
      access,
      {
        GIT_DIR: deploy,
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'core.fsmonitor',
        GIT_CONFIG_VALUE_0: 'touch x',
      },
    ],
  ]
  for (const [title, cwd, args, said, environment = {}] of rows) {
    const { all } = run(cwd, args, { environment })
    t.match(all, said, `${title}: the base is that of the checkout`)
    t.notMatch(all, /no difference|nothing to/, title)
    t.equal(existsSync(marker), false, `${title}: nothing was run`)
  }

  // Without a repository above, the planted one is none.
  const alone = join(outer, 'alone')
  spawnSync('cp', ['-r', deploy, alone])
  const { status, stderr } = run(alone, ['access', 'git:main', '.'])
  t.match([status, stderr], [2, /git: there is no repository here/])
  t.equal(existsSync(marker), false, 'nothing was run')
  t.end()
})
