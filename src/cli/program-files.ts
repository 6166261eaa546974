import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { getAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { Worker, type WorkerOptions } from 'node:worker_threads'

// Whether the program runs in a clone of the repository. Files that come with the program are read from the clone,
// from the bundle (whose folders all have the same depth), or from the assets of a single-file executable, which
// `generate/executables.ts` makes.
const IN_CLONE = import.meta.url.endsWith('.ts')
const WORKERS = {
  'worker.js': IN_CLONE
    ? new URL('commands/role/worker.ts', import.meta.url)
    : new URL('../cli/worker.js', import.meta.url),
  'call.js': IN_CLONE
    ? new URL('mcp/worker.ts', import.meta.url)
    : new URL('../cli/call.js', import.meta.url),
}

/** The text of an HTML page from `generate/pages.ts`; a clone of the repository generates the page at each call. */
export function readPage(name: 'playground' | 'audit'): string {
  if (isSea()) return getAsset(`pages/${name}.html`, 'utf8')
  if (!IN_CLONE) return readFileSync(new URL(`../pages/${name}.html`, import.meta.url), 'utf8')
  const build = fileURLToPath(new URL('../generate/page.ts', import.meta.url))
  return execFileSync(process.execPath, [build, name], { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

/**
 * Starts the worker thread of the command `role`, or of a tool call in the command `mcp`. It gets no flags of Node.js,
 * because these may name files in the folder where the program was started.
 */
export const startWorker = (name: keyof typeof WORKERS, options: WorkerOptions): Worker =>
  isSea()
    ? new Worker(getAsset(name, 'utf8'), { ...options, execArgv: [], eval: true })
    : new Worker(WORKERS[name], { ...options, execArgv: [] })

/** Functions that read the pages in docs/, by page name; empty in a container image, which has no docs. */
export function readDocs(): ReadonlyMap<string, () => string> {
  if (isSea()) {
    const names = JSON.parse(getAsset('docs', 'utf8')) as string[]
    return new Map(names.map((name) => [name, () => getAsset(`docs/${name}.md`, 'utf8')]))
  }
  const folder = ['../docs/', '../../docs/']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url))
  const files = folder === undefined ? [] : readdirSync(folder).filter((file) => file.endsWith('.md'))
  return new Map(
    files
      .toSorted()
      .map((file) => [file.slice(0, -'.md'.length), () => readFileSync(new URL(file, folder), 'utf8')]),
  )
}
