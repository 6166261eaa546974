/**
 * Runs git, but only to read commits. The working tree may come from a stranger: it can contain a bare repository as
 * plain files, whose configuration names programs to run. So this module itself finds the repository and passes it to
 * git. Git reads no settings of the user or the machine, starts no programs and uses no network.
 */
import { spawnSync } from 'node:child_process'
import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type Environment, UsageError } from '../../configuration/flags.ts'
import { findProgram, searchPath } from './program.ts'
import { type Allowance, MOST_BYTES, TOO_LARGE, TOO_MUCH } from './regular-file.ts'

/** The repository that contains the working folder. */
export interface Repository {
  readonly git: string
  readonly top: string
  /** The path from the top of the repository to the working folder; empty at the top. */
  readonly prefix: string
  readonly environment: Readonly<Record<string, string>>
}

/** A file in a commit: the id of its content in git, and whether it is a symbolic link. */
export interface BlobName {
  readonly id: string
  readonly isLink: boolean
}

/** The most bytes that git may print (apart from contents of files), and the most seconds that it may take. */
const [MOST_OUTPUT, MOST_SECONDS] = [2 ** 28, 120]

/** Finds the git repository that contains the working folder. Throws UsageError. */
export function openRepository(environment: Environment): Repository {
  const cwd = process.cwd()
  const top = topAbove(cwd)
  if (top === undefined) throw new UsageError('git: there is no repository here: no folder above has a .git')
  const owner = superproject(top)
  if (owner !== undefined)
    throw new UsageError(
      `git: ${top} is a submodule of ${owner}, which names its repository: compare folders, such as that of git worktree add`,
    )
  const git = findProgram('git', environment, top)
  if (git === undefined) throw new UsageError('there is no git here, which git: needs')
  const path = searchPath(environment, top).join(process.platform === 'win32' ? ';' : ':')
  const prefix = relative(top, cwd).split(sep).join('/')
  return { git, top, prefix, environment: { ...OWN_ENVIRONMENT, ...windows(environment), PATH: path } }
}

/**
 * The environment variables of git. They inherit nothing from this process: GIT_DIR, GIT_EXEC_PATH or
 * GIT_CONFIG_PARAMETERS would change which files and programs are used.
 */
const OWN_ENVIRONMENT = {
  LC_ALL: 'C',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
} as const

/** The variable SYSTEMROOT, without which Windows starts no program. */
const windows = ({ SYSTEMROOT }: Environment): Record<string, string> =>
  SYSTEMROOT === undefined ? {} : { SYSTEMROOT }

/** Git settings that take precedence over the configuration of the repository, so that git starts no other program. */
const OWN_SETTINGS = [
  'safe.bareRepository=explicit',
  'protocol.allow=never',
  'core.sshCommand=false',
  'core.gitProxy=none',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'core.alternateRefsCommand=false',
  'credential.helper=',
].flatMap((setting) => ['-c', setting])

/** The nearest folder with a `.git`, from this folder upwards; undefined for none. A commit cannot contain a `.git`. */
function topAbove(folder: string): string | undefined {
  if (statSync(join(folder, '.git'), { throwIfNoEntry: false }) !== undefined) return folder
  const above = dirname(folder)
  return above === folder ? undefined : topAbove(above)
}

/** The beginning of a `.git` file, and the most bytes of such a file, as in git. */
const [GITDIR, MOST_NAMING] = ['gitdir: ', 2 ** 20]

/**
 * The repository that contains the repository at `top` as a submodule; undefined for none. The author of the outer
 * `.gitmodules` chose the URL of the submodule and thus its branches, so that a branch of the submodule cannot be
 * trusted as the old state in a comparison.
 */
function superproject(top: string): string | undefined {
  const file = join(top, '.git')
  const stats = lstatSync(file)
  if (!stats.isFile()) return undefined
  if (stats.size > MOST_NAMING) throw new UsageError(`git: ${file} is too large to name a repository`)
  const text = readFileSync(file, 'utf8')
  const written = text.startsWith(GITDIR) ? text.slice(GITDIR.length).trimEnd() : ''
  const folder = resolve(top, written)
  const owner = topAbove(dirname(top))
  if (owner === undefined || !folder.split(sep).includes('modules')) return undefined
  const inOwner = relative(realpathSync(owner), folder)
  return inOwner.startsWith('..') ? undefined : owner
}

/** Runs git and returns its output, which may contain any bytes. Throws UsageError. */
function run(
  { git, top, environment }: Repository,
  args: readonly string[],
  input = '',
  most = MOST_OUTPUT,
): Buffer {
  const own = [`--git-dir=${join(top, '.git')}`, `--work-tree=${top}`, '--no-pager', ...OWN_SETTINGS]
  const { status, stdout, stderr, error } = spawnSync(git, [...own, ...args], {
    cwd: top,
    env: environment,
    input,
    maxBuffer: most,
    timeout: MOST_SECONDS * 1000,
    windowsHide: true,
  })
  if (error !== undefined) throw new UsageError(`git: ${whyFailed(error)}`)
  if (status !== 0) throw new UsageError(`git: ${stderr.toString().trim().split('\n')[0] ?? ''}`)
  return stdout
}

const whyFailed = ({ code, message }: NodeJS.ErrnoException): string =>
  code === 'ENOBUFS' ? 'there is too much in the revision' : message

/** The id of the commit that a revision, such as a branch, names. Throws UsageError. */
export function commitOf(repository: Repository, revision: string): string {
  run(repository, ['rev-parse', '--git-dir'])
  try {
    const args = ['rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`]
    return run(repository, args).toString().trim()
  } catch {
    throw new UsageError(`git knows no revision '${revision}' here`)
  }
}

/** All files of a commit by their path from the top, without submodules. Throws UsageError. */
export function filesOf(repository: Repository, commit: string): Map<string, BlobName> {
  const listing = run(repository, ['ls-tree', '-r', '-z', '--full-tree', commit]).toString()
  const files = new Map<string, BlobName>()
  for (const entry of listing.split('\0')) {
    const [, mode, type, id, path] = /^(\d+) (\w+) (\w+)\t(.*)$/s.exec(entry) ?? []
    if (type === 'blob' && id !== undefined && path !== undefined)
      files.set(path, { id, isLink: mode === '120000' })
  }
  return files
}

/** The contents of blobs by id; one process of git reads all sizes, and one all contents. Throws UsageError. */
export function blobsOf(
  repository: Repository,
  ids: readonly string[],
  allowance: Allowance,
): Map<string, Buffer> {
  const asked = [...new Set(ids)]
  if (asked.length === 0) return new Map()
  const input = asked.map((id) => `${id}\n`).join('')
  const sizes = run(repository, ['cat-file', '--batch-check'], input).toString().trimEnd().split('\n')
  let all = 0
  for (const line of sizes) {
    const [id, type, size] = line.split(' ')
    if (type !== 'blob')
      throw new UsageError(
        `git: the object ${id ?? ''} is not in this clone, and is not fetched here: run git fetch --refetch --no-filter first`,
      )
    if (Number(size) > MOST_BYTES.file) throw new UsageError(`git: the object ${id ?? ''} is ${TOO_LARGE}`)
    all += Number(size)
  }
  if (all > allowance.bytes) throw new UsageError(`git: ${TOO_MUCH}`)
  return contentsIn(run(repository, ['cat-file', '--batch'], input, all + asked.length * 100))
}

/** Parses the output of `git cat-file --batch`, which has `ID blob SIZE`, the content and a line end for each blob. */
function contentsIn(output: Buffer): Map<string, Buffer> {
  const contents = new Map<string, Buffer>()
  for (let at = 0; at < output.length;) {
    const end = output.indexOf('\n', at)
    const [id = '', , size] = output.toString('utf8', at, end).split(' ')
    const from = end + 1
    at = from + Number(size) + 1
    contents.set(id, output.subarray(from, at - 1))
  }
  return contents
}
