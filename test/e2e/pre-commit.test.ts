import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import root, { type Test } from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { recipe, USER_PATH } from '../support/recipes.ts'
import { ROOT } from './cluster.ts'

const REPOSITORY = 'https://github.com/OWNER/vmcp-admission'
const version = `v${manifest.version}`
const AUTHOR = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']

const folder = mkdtempSync(join(tmpdir(), 'vmcp-pre-commit-'))
root.teardown(() => rmSync(folder, { recursive: true, force: true }))
// Minutes, because npm installs the development dependencies, possibly without a cache.
root.setTimeout(900_000)

const isThere = spawnSync('pre-commit', ['--version']).error === undefined
const missing = 'pre-commit is missing: apt-get install --no-install-recommends pre-commit'
if (!isThere && process.env.CI === 'true') root.fail(missing)
else root.test('the hooks', { skip: !isThere && missing, timeout: 900_000 }, hooks)

async function hooks(t: Test): Promise<void> {
  const repository = join(folder, 'vmcp-admission')
  copySources(repository)
  execFileSync(process.execPath, [`${ROOT}src/generate/pack.ts`, folder], { stdio: 'pipe' })
  const tarball = join(folder, `vmcp-admission-${manifest.version}.tgz`)
  const download = `${REPOSITORY}/releases/download/${version}/vmcp-admission-${manifest.version}.tgz`

  for (const [name, title, hasFix] of [
    ['.pre-commit-config.yaml', 'of the repository', true],
    ['.pre-commit-config.yaml with the package', 'of the package', false],
  ] as const) {
    const user = join(folder, title)
    const deploy = join(user, 'deploy/gateway.yaml')
    mkdirSync(dirname(deploy), { recursive: true })
    const config = recipe(name).replace(download, tarball).replace(REPOSITORY, repository)
    writeFileSync(join(user, '.pre-commit-config.yaml'), config)
    cpSync(`${ROOT}examples/virtual-mcp-server.yaml`, deploy)
    git(user, 'init', '--quiet')
    const env = { ...process.env, PATH: USER_PATH, PRE_COMMIT_HOME: join(folder, 'home') }
    execFileSync('pre-commit', ['install'], { cwd: user, env, stdio: 'pipe' })
    const committed = () => {
      git(user, 'add', '--all')
      const args = [...AUTHOR, 'commit', '--message', 'resources']
      const { status, stdout, stderr } = spawnSync('git', args, { cwd: user, env, encoding: 'utf8' })
      return { status, stdout: stdout + stderr }
    }
    t.match(committed(), { status: 0, stdout: /check vMCP resources\.+Passed/ }, `${title}: no error`)

    const good = readFileSync(deploy, 'utf8')
    const misspelt = good.replaceAll('type: oidc', 'type: OIDC')
    t.not(misspelt, good)
    writeFileSync(deploy, misspelt)
    const refused = committed()
    if (hasFix) {
      t.match(refused, {
        status: 1,
        stdout: /fix vMCP resources\.+Failed[^]*files were modified by this hook/,
      })
      t.equal(readFileSync(deploy, 'utf8'), good, 'the fix')
    } else t.match(refused, { status: 1, stdout: /check vMCP resources\.+Failed[^]*schema-enum/ })

    cpSync(`${ROOT}examples/together/three-mistakes.yaml`, deploy)
    const wrong = committed()
    t.match(
      wrong,
      { status: 1, stdout: /check vMCP resources\.+Failed[^]*7 resources in 1 file: 3 errors/ },
      title,
    )
  }
}

/**
 * Copies the files under version control, with their current content, into a new repository that has the release's tag.
 */
function copySources(to: string): void {
  const files = git(ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0')
  for (const file of files) if (file !== '') cpSync(join(ROOT, file), join(to, file))
  git(to, 'init', '--quiet')
  git(to, 'add', '--all')
  git(to, 'commit', '--quiet', '--message', 'sources')
  git(to, 'tag', version)
}

function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', [...AUTHOR, ...args], { cwd, encoding: 'utf8', maxBuffer: 2 ** 24 })
}
