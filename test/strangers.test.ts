/** Attacks of an untrusted folder on the user who runs a command on it. contributing/bounds.md links to each row. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import { COMPILE_CACHE } from './support/compile-cache.ts'
import { programFile } from './support/programs.ts'

const MAIN = programFile('cli')

/** Is in files that must not be read, so no output may contain it. */
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
  /** stdout and stderr. */
  readonly all: string
}

/** Runs the CLI in a process of its own with bounded memory and time. */
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
/** A resource that has an error. */
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
 * Disguises `deploy/` as a bare git repository whose branch `main` has the same files as `deploy/`. A blob is missing
 * there, so git would fetch it from `origin`; every git setting that can name a program names one.
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
  // Shows that the attack works: plain git in this folder runs the planted program to fetch the blob.
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

  // A `git` inside the folder is not used, even if the PATH contains its folder.
  write(checkout, { 'bin/git': `#!/bin/sh\ntouch ${marker}\n` })
  chmodSync(join(checkout, 'bin/git'), 0o755)
  const paths = `${join(checkout, 'bin')}:../bin:.::${process.env.PATH ?? ''}`
  t.match(run(deploy, ['access', 'git:main', '.'], { environment: { PATH: paths } }).all, access)
  t.equal(existsSync(marker), false, 'a program of the tree is not run')

  // Without an enclosing repository, the planted one is not used as a repository either.
  const alone = join(outer, 'alone')
  spawnSync('cp', ['-r', deploy, alone])
  const { status, stderr } = run(alone, ['access', 'git:main', '.'])
  t.match([status, stderr], [2, /git: there is no repository here/])
  t.equal(existsSync(marker), false, 'nothing was run')
  t.end()
})

void t.test('git: a submodule, a partial clone and links', (t) => {
  const outer = newFolder(t)
  const [source, checkout] = [join(outer, 'source'), join(outer, 'checkout')]
  write(source, { 'aws.yaml': aws('strangers'), 'deep/link.yaml': '' })
  rmSync(join(source, 'deep/link.yaml'))
  symlinkSync('../aws.yaml', join(source, 'deep/link.yaml'))
  symlinkSync('../../../secret.yaml', join(source, 'deep/out.yaml'))
  git(source, 'init', '-q', '-b', 'main')
  git(source, 'add', '.')
  git(source, 'commit', '-q', '-m', 'theirs')
  write(checkout, { 'a.yaml': group('a') })
  git(checkout, 'init', '-q', '-b', 'main')
  git(checkout, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source, 'deploy')
  git(checkout, 'add', '.')
  git(checkout, 'commit', '-q', '-m', 'base')
  const inside = run(join(checkout, 'deploy'), ['access', 'git:main', '.'])
  t.match([inside.status, inside.stderr], [2, /is a submodule of .*checkout/])

  const endless = newFolder(t, { 'a.yaml': aws('admins'), '.git': 'gitdir: ' })
  truncateSync(join(endless, '.git'), 2 ** 40)
  const unread = run(endless, ['access', 'git:main', '.'])
  t.match([unread.status, unread.stderr], [2, /\.git is too large to name a repository/])

  const linked = run(source, ['check', '--output', 'line', '.'])
  t.match(linked.all, /deep\/out\.yaml: cannot read/)
  const base = run(source, ['access', '--who', '*', 'git:main:deep'])
  t.match(
    [base.status, base.all],
    [3, /out\.yaml: cannot read: a link that leads to no file of the revision/],
  )
  t.match(base.stdout, /Admin/, 'a link inside the revision is followed')

  const blob = git(source, 'rev-parse', 'main:aws.yaml')
  rmSync(join(source, '.git/objects', blob.slice(0, 2), blob.slice(2)), { force: true })
  const partial = run(source, ['access', 'git:main', '.'])
  t.match([partial.status, partial.stderr], [2, /is not in this clone, and is not fetched here/])
  t.end()
})

void t.test('a link prints nothing of what it leads to', (t) => {
  const yaml = `a: [${SECRET}\n  b: '${SECRET}`
  const rows: [title: string, link: string, to: string, args: string[], status: number, said: RegExp][] = [
    ['a configuration in .git', 'vmcp-admission.yaml', '.git/config', ['check', '.'], 2, /a link into \.git/],
    [
      'a configuration outside',
      'vmcp-admission.yaml',
      '../secret.yaml',
      ['check', '.'],
      2,
      /a link that leads out of/,
    ],
    [
      'a configuration by its other name',
      'vmcp-admission.yml',
      '../secret.yaml',
      ['check', '.'],
      2,
      /leads out of/,
    ],
    [
      'a configuration that is named',
      'c.yaml',
      '../secret.yaml',
      ['check', '--config-file', 'c.yaml', '.'],
      2,
      /leads out of/,
    ],
    [
      'a configuration that is no configuration',
      'vmcp-admission.yaml',
      '.npmrc',
      ['check', '.'],
      2,
      /another kind/,
    ],
    [
      'a manifest in .git',
      'x.yaml',
      '.git/config',
      ['check', '.'],
      3,
      /x\.yaml: cannot read: a link into \.git/,
    ],
    [
      'a manifest outside',
      'x.yaml',
      '../secret.yaml',
      ['check', '.'],
      3,
      /x\.yaml: cannot read: a link that leads out/,
    ],
    [
      'a manifest of /proc',
      'x.yaml',
      '/proc/self/environ',
      ['check', '.'],
      3,
      /x\.yaml: cannot read: a link/,
    ],
    [
      'a manifest that is none',
      'x.yaml',
      '.npmrc',
      ['check', '.'],
      3,
      /x\.yaml: cannot read: a link to a file of another/,
    ],
    ['a manifest that is named', 'x.yaml', '../secret.yaml', ['check', 'x.yaml'], 3, /leads out of/],
    [
      'a folder that is named',
      'deploy',
      '..',
      ['check', 'deploy'],
      3,
      /deploy: cannot read: a link that leads out/,
    ],
    ['a file in such a folder', 'deploy', '..', ['check', 'deploy/secret.yaml'], 3, /leads out of/],
    ['fix', 'x.yaml', '../secret.yaml', ['fix', '.'], 3, /leads out of/],
    ['plan', 'x.yaml', '../secret.yaml', ['plan', '.'], 3, /leads out of/],
    ['access', 'x.yaml', '../secret.yaml', ['access', 'a.yaml', '.'], 3, /leads out of/],
    ['steps', 'x.yaml', '../secret.yaml', ['steps', 'a.yaml', '.'], 3, /leads out of/],
    ['role', 'x.yaml', '../secret.yaml', ['role', '--config', 'x.yaml', '--claims', '-'], 3, /leads out of/],
    ['CRDs', 'x.yaml', '../secret.yaml', ['check', '--crds', 'x.yaml', 'a.yaml'], 2, /leads out of/],
    ...['human', 'json', 'sarif', 'github', 'gitlab', 'junit'].map(
      (output): [string, string, string, string[], number, RegExp] => [
        `as ${output}`,
        'x.yaml',
        '.git/config',
        ['check', '--output', output, '.'],
        3,
        /a link into \.git is not read/,
      ],
    ),
  ]
  for (const [title, link, to, args, status, said] of rows) {
    const outer = newFolder(t, { 'secret.yaml': yaml, 'tree/.git/config': yaml, 'tree/.npmrc': yaml })
    const tree = join(outer, 'tree')
    write(tree, { 'a.yaml': group('a') })
    symlinkSync(to, join(tree, link))
    const ran = run(tree, args)
    t.equal(ran.status, status, `${title}: ${ran.all}`)
    t.match(ran.all, said, title)
    t.notMatch(ran.all, SECRET, title)
  }

  const kept = newFolder(t, { '..data/a.yaml': BAD, 'b/c.yaml': group('c') })
  symlinkSync('..data/a.yaml', join(kept, 'a.yaml'))
  symlinkSync('b/c.yaml', join(kept, 'c.yaml'))
  t.match(
    run(kept, ['check', '.']).all,
    /2 errors?|1 error/,
    'a link inside the tree is read, as in a mounted ConfigMap',
  )
  t.end()
})

void t.test(
  'only regular files are read, and not without end',
  { skip: process.platform === 'win32' },
  (t) => {
    const tree = newFolder(t, { 'a.yaml': group('a') })
    spawnSync('mkfifo', [join(tree, 'pipe')])
    for (const name of ['pipe', '/dev/zero']) {
      const named = run(tree, ['check', name])
      t.match([named.status, named.stderr], [3, /cannot read: is not a regular file/], name)
      const configured = run(tree, ['check', '--config-file', name, 'a.yaml'])
      t.match([configured.status, configured.stderr], [2, /is not a regular file/], name)
    }
    const large = join(tree, 'large.yaml')
    writeFileSync(large, '')
    truncateSync(large, 2 ** 40)
    const tooLarge = run(tree, ['check', '.'])
    t.match([tooLarge.status, tooLarge.stderr], [3, /large\.yaml: cannot read: larger than 32 MB/])
    rmSync(large)
    t.match(
      run(tree, ['check', '-'], { input: Buffer.alloc(33 * 2 ** 20, '# ') }).stderr,
      /<stdin>: cannot read: larger than 32 MB/,
    )
    for (let i = 0; i < 5; i++) writeFileSync(join(tree, `${i}.yaml`), `# ${'x'.repeat(31 * 2 ** 20)}\n`)
    const tooMany = run(tree, ['check', '.'])
    t.match(
      [tooMany.status, tooMany.stderr],
      [3, /cannot read: all files of a run together are larger than 128 MB/],
    )
    for (let i = 0; i < 5; i++) rmSync(join(tree, `${i}.yaml`))
    writeFileSync(join(tree, 'marks.yaml'), '- {}\n'.repeat(5 * 2 ** 20))
    t.match(run(tree, ['check', '.']).stderr, /marks\.yaml: cannot read: .* more than a million keys/)
    rmSync(join(tree, 'marks.yaml'))
    for (const name of ['vmcp-admission.yaml', 'x.yaml']) {
      spawnSync('mkfifo', [join(tree, name)])
      t.match(run(tree, ['check', '.']).stderr, /is not a regular file/, name)
      rmSync(join(tree, name))
    }
    writeFileSync(join(tree, 'vmcp-admission.yaml'), `# ${'x'.repeat(2 ** 20)}\n`)
    t.match(run(tree, ['check', '.']).stderr, /vmcp-admission\.yaml: larger than 1 MB/)
    rmSync(join(tree, 'vmcp-admission.yaml'))
    writeFileSync(join(tree, 'vmcp-admission.yaml'), "release: '0.63'\n")
    const piped = spawnSync('sh', ['-c', `cat a.yaml | '${process.execPath}' '${MAIN}' check /dev/stdin`], {
      cwd: tree,
      encoding: 'utf8',
    })
    t.equal(piped.status, 0, 'what a shell names for a pipe')
    t.match(piped.stdout, /judged by operator release 0\.63/, 'with the configuration of the working folder')
    t.end()
  },
)

void t.test('many documents cost what they are', (t) => {
  const rows: [title: string, text: string, status: number, said: RegExp][] = [
    ['a List of 200,000 items', `items:\n${'- {}\n'.repeat(200_000)}`, 0, /200000 documents of other kinds/],
    ['130,000 documents', 'a: 1\n---\n'.repeat(130_000), 0, /130000 documents of other kinds/],
    ['480 KB of wrong separators', '--- x\n'.repeat(80_000), 3, /and 79500 more that cannot be read/],
    [
      'comments before as many documents',
      '# vmcp-admission: ignore[a] b\na: 1\n---\n'.repeat(10_000),
      0,
      /10000 documents of other kinds/,
    ],
    ['nesting', '['.repeat(100_000), 3, /nest deeper than 500 levels/],
    [
      'aliases',
      `a: &a [x,x]\n${Array.from({ length: 30 }, (_, i) => `b${i}: &b${i} [*${i === 0 ? 'a' : `b${i - 1}`},*${i === 0 ? 'a' : `b${i - 1}`}]`).join('\n')}`,
      3,
      /excessive aliasing/,
    ],
    ['__proto__', `${BAD}\n__proto__: { polluted: true }\n`, 1, /2 errors/],
  ]
  for (const [title, text, status, said] of rows) {
    const ran = run(newFolder(t, { 'a.yaml': text }), ['check', '.'])
    t.equal(ran.status, status, title)
    t.match(ran.all, said, title)
    t.notMatch(ran.all, /call stack|heap|\n    at /, title)
  }
  const fixable = Array.from(
    { length: 250 },
    (_, i) =>
      `${group('a').replace('name: a', `name: a${i}`).replace('MCPGroup', 'MCPExternalAuthConfig')}spec: { type: token_exchange }\n`,
  ).join('---\n')
  const fixed = run(newFolder(t, { 'a.yaml': fixable }), ['fix', '.'])
  t.match([fixed.status, fixed.stderr], [1, /250 changes in 1 file/])
  t.end()
})

const MISSPELT = `${group('a').replace('MCPGroup', 'MCPExternalAuthConfig')}spec: { type: token_exchange }\n`

void t.test('fix writes the files of the tree, whole or not at all', (t) => {
  const outer = newFolder(t, { 'other.yaml': MISSPELT, 'tree/deep/a.yaml': MISSPELT })
  const tree = join(outer, 'tree')
  symlinkSync('../other.yaml', join(tree, 'out.yaml'))
  symlinkSync('deep/a.yaml', join(tree, 'in.yaml'))
  chmodSync(join(tree, 'deep/a.yaml'), 0o640)
  const ran = run(tree, ['fix', '--write', '.'])
  t.match([ran.status, ran.stderr], [3, /out\.yaml: cannot read: a link that leads out/])
  t.equal(readFileSync(join(outer, 'other.yaml'), 'utf8'), MISSPELT, 'a file outside stays')
  t.match(readFileSync(join(tree, 'deep/a.yaml'), 'utf8'), /tokenExchange/)
  t.equal(statSync(join(tree, 'deep/a.yaml')).mode & 0o777, 0o640, 'the mode stays')
  t.equal(lstatSync(join(tree, 'in.yaml')).isSymbolicLink(), true, 'a link inside stays one')
  t.strictSame(readdirSync(join(tree, 'deep')), ['a.yaml'], 'nothing is left beside it')

  const name = 'a\n--- a/victim.yaml\n+++ b/victim.yaml\n@@ -1,1 +1,1 @@\n-x\n+y\n.yaml'.replaceAll(
    '/',
    '\u2215',
  )
  const patched = newFolder(t, {
    [name]: MISSPELT,
    'b c.yaml': MISSPELT,
    'd"e.yaml': MISSPELT,
    'ü.yaml': MISSPELT,
  })
  const diff = run(patched, ['fix', '.'])
  t.strictSame(
    diff.stdout.split('\n').filter((line) => line.startsWith('+++ ')).length,
    4,
    'a name adds no file to the diff',
  )
  git(patched, 'init', '-q')
  for (const [program, ...args] of [
    ['git', 'apply', '--check', '-'],
    ['patch', '-p1', '--quiet'],
  ] as const) {
    const { status, stderr, error } = spawnSync(program, args, {
      cwd: patched,
      input: diff.stdout,
      encoding: 'utf8',
    })
    if (error === undefined) t.equal(status, 0, `${program}: ${stderr}`)
  }
  t.match(readFileSync(join(patched, name), 'utf8'), /tokenExchange/)
  t.end()
})

const GATEWAY = `apiVersion: toolhive.stacklok.dev/v1beta1
kind: VirtualMCPServer
metadata: { name: g }
spec: { groupRef: { name: g }, incomingAuth: { type: oidc, oidcConfigRef: { name: a, audience: b } } }
`

void t.test('the diff of fix shows no password', (t) => {
  const url = `https://user:${SECRET}@idp.example.com/`
  const tree = newFolder(t, { 'a.yaml': `${MISSPELT}# ${url}\n`, 'b.yaml': MISSPELT })
  const { status, stdout, stderr } = run(tree, ['fix', '.'])
  t.match(
    [status, stdout, stderr],
    [1, /https:\/\/\*\*\*@idp/, /a\.yaml: the diff leaves out the user information/],
  )
  t.notMatch(stdout + stderr, SECRET)
  t.notMatch(stderr, /b\.yaml/)
  const long = `${MISSPELT.replace('MCPExternalAuthConfig', 'MCPOIDCConfig').replace(/spec.*/, '')}spec: { type: inline, inline: { issuer: '${'//a/'.repeat(300)}${url}' } }\n---\n${GATEWAY}`
  const planned = run(newFolder(t, { 'a.yaml': long }), ['plan', '--output', 'json', '.'])
  t.match(planned.stdout, /\*\*\*@idp/, 'a long text is masked to its end')
  t.notMatch(planned.all, SECRET)
  t.end()
})

void t.test('fix on a full disk', (t) => {
  const disk = newFolder(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { encoding: 'utf8' })
  if (mounted.status !== 0) {
    t.pass('needs the right to mount a small disk', { skip: mounted.stderr || String(mounted.error) })
    t.end()
    return
  }
  try {
    write(disk, { 'a.yaml': MISSPELT, 'b.yaml': MISSPELT })
    const size = () =>
      Number(spawnSync('df', ['--output=avail', '-B1', disk], { encoding: 'utf8' }).stdout.split('\n')[1])
    writeFileSync(join(disk, 'filler'), Buffer.alloc(size()))
    const ran = run(disk, ['fix', '--write', '.'])
    t.equal(ran.status, 3)
    t.match(ran.stderr, /a\.yaml: not written: it is as it was: no space is left/)
    t.match(ran.stderr, /0 changes in 0 files; 2 files not written/)
    t.strictSame(
      [readFileSync(join(disk, 'a.yaml'), 'utf8'), readdirSync(disk)],
      [MISSPELT, ['a.yaml', 'b.yaml', 'filler']],
    )
  } finally {
    spawnSync('umount', [disk])
  }
  t.end()
})

void t.test('what is not judged is named in every format, and fails where asked', (t) => {
  const rows: [title: string, files: Files, judged: boolean, named: RegExp][] = [
    [
      'a hidden file that a kustomization lists',
      { 'kustomization.yaml': 'resources: [.h/bad.yaml]\n', '.h/bad.yaml': BAD },
      true,
      /bad\.yaml/,
    ],
    [
      'a hidden folder',
      {
        'kustomization.yaml': 'components: [.h]\n',
        '.h/kustomization.yaml': 'resources: [deep/x.txt]\n',
        '.h/deep/x.txt': BAD,
      },
      true,
      /x\.txt/,
    ],
    [
      'a file of node_modules',
      { 'kustomization.yaml': 'resources: [node_modules/a/bad.yaml]\n', 'node_modules/a/bad.yaml': BAD },
      true,
      /bad\.yaml/,
    ],
    [
      'a file with another ending',
      { 'kustomization.yaml': 'resources: [bad.txt]\n', 'bad.txt': BAD },
      true,
      /bad\.txt/,
    ],
    ['what is not there', { 'kustomization.yaml': 'resources: [../base]\n' }, false, /lists '\.\.\/base'/],
    [
      'an address',
      { 'kustomization.yaml': "resources: ['https://example.com/x.yaml']\n" },
      false,
      /lists 'https:\/\/example\.com\/x\.yaml'/,
    ],
    [
      'a file that a nested kustomization calls a patch',
      { 'bad.yaml': BAD, 'evil/kustomization.yaml': 'patches: [{ path: ../bad.yaml }]\n' },
      false,
      /evil\/kustomization\.yaml uses it as a patch/,
    ],
    [
      'namespaces that are left out',
      { 'bad.yaml': BAD, 'vmcp-admission.yaml': "namespaces: { leaveOut: ['*'] }\n" },
      false,
      /not judged: in namespaces that vmcp-admission\.yaml leaves out[^]*default\/bad/,
    ],
  ]
  for (const [title, files, judged, named] of rows) {
    const tree = newFolder(t, { 'good.yaml': group('good'), ...files })
    // All formats report every row alike, so only one row is tested with all of them.
    const stands = title.startsWith('namespaces')
    for (const output of stands ? ['human', 'json', 'sarif', 'github', 'gitlab', 'junit'] : ['line']) {
      // A width at which no line is wrapped, so that the pattern matches.
      const options = { environment: { COLUMNS: '500' } }
      const { status, stdout } = run(tree, ['check', '--quiet', '--output', output, '.'], options)
      t.equal(status, judged ? 1 : 0, `${title} as ${output}: ${stdout}`)
      t.match(stdout, named, `${title} as ${output}`)
      if (judged || !['line', 'gitlab', 'junit'].includes(output)) continue
      const failed = run(tree, ['check', '--fail-on-not-judged', '--output', output, '.'], options)
      t.match([failed.status, failed.all], [3, named], `${title} as ${output}, with the flag`)
    }
    if (judged) continue
    // `access` and `plan` report all namespaces, also those that the configuration leaves out.
    const isToldAnyway = files['vmcp-admission.yaml'] !== undefined
    for (const [command, ...args] of [
      ...(isToldAnyway ? [] : [['access', 'good.yaml'], ['plan']]),
      ['steps', 'good.yaml'],
      ['fix'],
      ['probe', '--list'],
    ] as [string, ...string[]][]) {
      // `probe --list` prints only its list; with the flag, the error names the objects that were not judged.
      const shown = run(tree, [command, ...args, '.'])
      if (command !== 'probe') t.match(shown.all, named, `${title}: ${command}`)
      const failed = run(tree, [command, '--fail-on-not-judged', ...args, '.'])
      t.match([failed.status, failed.all], [3, named], `${title}: ${command}, with the flag`)
    }
  }
  t.end()
})

void t.test('a trusted side names its own settings', (t) => {
  const tree = newFolder(t, {
    'a.yaml': `# vmcp-admission: ignore[schema-enum] mine\n# vmcp-admission: ignore[external-auth-config-matches-type] mine\n${BAD}`,
    'vmcp-admission.yaml':
      'severities: [schema-enum=off, external-auth-config-matches-type=off]\nallowIgnores: all\n',
  })
  const trusted = join(newFolder(t, { 'trusted.yaml': 'profile: strict\n' }), 'trusted.yaml')
  const rows: [args: string[], status: number][] = [
    [[], 0],
    [['--config-file', trusted], 0],
    [['--config-file', trusted, '--no-ignores'], 1],
    [['--config-file', 'off', '--no-ignores'], 1],
  ]
  for (const [args, status] of rows) {
    const ran = run(tree, ['check', ...args, '.'])
    t.equal(ran.status, status, `${args.join(' ')}: ${ran.all}`)
  }
  for (const count of [99, 100, 1000]) {
    const keys = Array.from({ length: count }, (_, i) => `k${i}: 1\n`).join('')
    const folder = newFolder(t, {
      'a.yaml': BAD,
      'vmcp-admission.yaml': `${keys}namespaces: { leaveOut: ['*'] }\n`,
    })
    t.match(
      run(folder, ['check', '.']),
      { status: 2, stderr: /there is no key "k0"/ },
      `${count} unknown keys`,
    )
  }
  t.end()
})
