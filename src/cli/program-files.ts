import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { getAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

// Files that come with the program: in the clone, in the bundle (whose folders are all of the same depth), or as assets of
// a single-file executable, which `generate/executables.ts` makes.
const IN_CLONE = import.meta.url.endsWith('.ts')
const WORKER = IN_CLONE
  ? new URL('commands/role/worker.ts', import.meta.url)
  : new URL('../cli/worker.js', import.meta.url)

/** A page that `generate/pages.ts` makes; a clone makes it when it is asked for. */
export function readPage(name: 'playground' | 'audit'): string {
  if (isSea()) return getAsset(`pages/${name}.html`, 'utf8')
  if (!IN_CLONE) return readFileSync(new URL(`../pages/${name}.html`, import.meta.url), 'utf8')
  const build = fileURLToPath(new URL('../generate/page.ts', import.meta.url))
  return execFileSync(process.execPath, [build, name], { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/** Starts the thread of `role`, without flags of Node.js: they may name files in the folder where the program was started. */
export const startWorker = (options: WorkerOptions): Worker =>
  isSea()
    ? new Worker(getAsset('worker.js', 'utf8'), { ...options, execArgv: [], eval: true })
    : new Worker(WORKER, { ...options, execArgv: [] })
