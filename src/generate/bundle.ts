import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { bundledModules, PROGRAMS, ROOT } from './bundling.ts'

/**
 * Writes what the image runs: the programs, chunks, and `releases/`. `compile-cache/` holds what Node compiled of them: read
 * through NODE_COMPILE_CACHE, it saves a quarter of the start. Another version of Node, or another place of the folder,
 * ignores it.
 */
async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  await bundledModules(folder, PROGRAMS)
  cpSync(`${ROOT}releases`, `${folder}/releases`, { recursive: true })
  const env = { ...process.env, NODE_COMPILE_CACHE: `${folder}/compile-cache` }
  for (const program of ['server', 'cli'])
    execFileSync(process.execPath, [`${folder}/${program}/main.js`, '--help'], { env, stdio: 'ignore' })
}

await bundle(process.argv[2] ?? `${ROOT}dist`)
