import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { COMMANDS } from '../../src/cli/commands.ts'
import { COMMAND_ROWS, writeInputs } from '../support/command-rows.ts'
import { ANSWERS, askOf } from '../support/mcp.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Needs Debian's qemu-user-static, libc6-arm64-cross and libstdc++6-arm64-cross; it runs arm64 programs slowly. */
const QEMU = '/usr/bin/qemu-aarch64-static'
const ARM64_LIBRARIES = '/usr/aarch64-linux-gnu'

const folder = mkdtempSync(join(tmpdir(), 'vmcp-executables-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
t.setTimeout(300_000)
const empty = join(folder, 'empty')
mkdirSync(empty)
writeInputs(empty)

/** Builds the executable and returns its path. */
function made(architecture: string): string {
  execFileSync(process.execPath, [join(ROOT, 'src/generate/executables.ts'), folder, architecture])
  const unpacked = join(folder, architecture)
  mkdirSync(unpacked)
  const archive = `${manifest.name}-${manifest.version}-linux-${architecture}.tar.gz`
  execFileSync('tar', ['-xzf', join(folder, archive), '-C', unpacked])
  t.strictSame(
    readdirSync(unpacked).sort(),
    ['LICENSE', 'LICENSE.node', manifest.name, 'sbom.cdx.json', 'third-party-licenses.txt'].sort(),
  )
  return join(unpacked, manifest.name)
}

/** Runs a program in a folder that has only its input files, without Node, network settings or a home folder. */
function run(program: string, args: readonly string[]) {
  const env = { PATH: '', HOME: empty }
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: empty, env, encoding: 'utf8' })
  return { status, said: stdout + stderr }
}

t.test('every command is tried', async (t) => {
  t.strictSame(
    [...COMMANDS.keys()].filter((name) => !COMMAND_ROWS.some(([args]) => args[0] === name)),
    [],
  )
})

const skipOn = (architecture: string) =>
  process.platform !== 'linux' || process.arch !== architecture
    ? `this machine is not Linux on ${architecture}`
    : false

t.test('every command, without Node on the machine', { skip: skipOn('x64') }, async (t) => {
  const executable = made('x64')
  for (const [args, status, said] of COMMAND_ROWS) {
    const ended = run(executable, args)
    t.equal(ended.status, status, args.join(' '))
    t.match(ended.said, said)
  }
  t.strictSame(await askOf(executable, [], empty, { PATH: '', HOME: empty }), ANSWERS)
})

const skip =
  process.env.CI !== 'true' &&
  !existsSync(QEMU) &&
  'arm64 runs with the Debian packages qemu-user-static, libc6-arm64-cross and libstdc++6-arm64-cross'
t.test('the executable for arm64', { skip: skip || skipOn('x64') }, async (t) => {
  const executable = made('arm64')
  const header = readFileSync(executable).subarray(0, 20)
  t.equal(header.toString('latin1', 0, 4), '\x7FELF')
  t.equal(header.readUInt16LE(18), 183, 'e_machine is EM_AARCH64')
  for (const command of ['--version', 'role']) {
    const rows = COMMAND_ROWS.filter(([args]) => args[0] === command)
    for (const [args, status, said] of rows) {
      const ended = run(QEMU, ['-L', ARM64_LIBRARIES, executable, ...args])
      t.equal(ended.status, status, args.join(' '))
      t.match(ended.said, said)
    }
  }
})
