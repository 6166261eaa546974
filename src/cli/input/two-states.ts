import { existsSync } from 'node:fs'
import { UsageError } from '../../configuration/flags.ts'
import { type ReadOptions, readDocuments } from './documents.ts'
import { readRevision, readRevisionDocuments } from './git.ts'
import type { Documents } from './texts.ts'

/** Reads an old and a new state of manifests: each a file, a folder, or a revision `git:main`. Throws UsageError. */
export async function readTwoStates(
  old: string,
  now: string,
  options: ReadOptions,
): Promise<readonly [old: Documents, now: Documents]> {
  if (old === '-' && now === '-') throw new UsageError('only one of the two can be standard input')
  return [await readState(old, [now], options), await readState(now, [old], options)]
}

/** Reads one of two states of manifests. A git revision without a path is read at the paths of the other state. */
export async function readState(
  name: string,
  others: readonly string[],
  options: ReadOptions,
): Promise<Documents> {
  const revision = readRevision(name)
  if (revision === undefined) return readDocuments([name], options)
  const otherPaths = others.flatMap((other) => readRevision(other)?.path ?? (existsSync(other) ? other : []))
  const paths = revision.path === undefined ? otherPaths : [revision.path]
  return readRevisionDocuments(revision, paths.length === 0 ? ['.'] : paths, options)
}
