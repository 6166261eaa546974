import { execFileSync } from 'node:child_process'
import { posix } from 'node:path'
import { UsageError } from '../../configuration/flags.ts'
import { withoutPatches } from './kustomize.ts'
import type { ReadOptions } from './documents.ts'
import { type Documents, documentsIn } from './texts.ts'
import { MANIFEST } from './files.ts'

/** A state in git: `git:REVISION`, or `git:REVISION:PATH`. */
export interface Revision {
  readonly revision: string
  readonly path: string | undefined
}

export function readRevision(written: string): Revision | undefined {
  if (!written.startsWith('git:')) return undefined
  const [, revision = '', path] = /^git:([^:]*)(?::(.*))?$/s.exec(written) ?? []
  if (revision === '' || revision.startsWith('-'))
    throw new UsageError(`'${written}' names no revision: write git:main, or git:main:deploy/`)
  return { revision, path }
}

const MOST_BYTES = 2 ** 28

function git(args: readonly string[]): string {
  try {
    return execFileSync('git', args, {
      encoding: 'utf8',
      maxBuffer: MOST_BYTES,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    const { stderr, code } = error as { readonly stderr?: string; readonly code?: string }
    if (code === 'ENOENT') throw new UsageError('there is no git here, which git: needs')
    throw new UsageError(`git: ${(stderr ?? String(error)).trim().split('\n')[0] ?? ''}`)
  }
}

function commitOf(revision: string): string {
  git(['rev-parse', '--git-dir'])
  try {
    return git(['rev-parse', '--verify', '--end-of-options', `${revision}^{commit}`]).trim()
  } catch {
    throw new UsageError(`git knows no revision '${revision}' here`)
  }
}

/** Reads the manifests of a revision at a path, relative to this folder, as they are in git. Throws UsageError. */
export function readRevisionDocuments(
  { revision }: Revision,
  path: string,
  { filled, excluded }: ReadOptions,
): Documents {
  const commit = commitOf(revision)
  const names = git(['ls-tree', '-r', '-z', '--name-only', commit, '--', posix.normalize(path)])
    .split('\0')
    .filter((name) => isManifest(name) && !excluded(name))
  if (names.length === 0) throw new UsageError(`there is no manifest at ${path} in ${revision}`)
  const texts = new Map(
    names.map((name) => [`git:${revision}:${name}`, git(['cat-file', 'blob', `${commit}:./${name}`])]),
  )
  const read = Array.from(texts, ([file, text]) => documentsIn(file, text, filled))
  return {
    files: [...texts.keys()],
    texts,
    ...withoutPatches(read.flatMap(({ documents }) => documents)),
    unread: read.flatMap(({ unread }) => unread),
    empty: [],
  }
}

/** As in folders: hidden files and node_modules are left out. */
const isManifest = (path: string): boolean =>
  MANIFEST.test(posix.basename(path)) &&
  !path.split('/').some((name) => (name.startsWith('.') && name !== '..') || name === 'node_modules')
