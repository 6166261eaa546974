import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

// Where files are that come with the program: in the clone, in the bundle (whose folders all have the same depth), or
// as assets of a single-file executable, made by `generate/executables.ts`.
const IN_CLONE = import.meta.url.endsWith('.ts')
const WORKER = IN_CLONE
  ? new URL('commands/role/worker.ts', import.meta.url)
  : new URL('../cli/worker.js', import.meta.url)

/** A page from `generate/pages.ts`; a clone makes it at each call. */
export function readPage(name: 'playground' | 'audit'): string {
  if (isSea()) return getAsset(`pages/${name}.html`, 'utf8')
  if (!IN_CLONE) return readFileSync(new URL(`../pages/${name}.html`, import.meta.url), 'utf8')
  const build = fileURLToPath(new URL('../generate/page.ts', import.meta.url))
  return execFileSync(process.execPath, [build, name], { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/**
 * Starts the worker thread of `role`, without flags of Node.js, which may name files in the folder where the program
 * was started.
 */
export const startWorker = (options: WorkerOptions): Worker =>
  isSea()
    ? new Worker(getAsset('worker.js', 'utf8'), { ...options, execArgv: [], eval: true })
    : new Worker(WORKER, { ...options, execArgv: [] })
