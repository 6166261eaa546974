import { cpSync, rmSync } from 'node:fs'
import { writeInventory } from './bundled-packages.ts'
import { bundledModules, PROGRAMS, ROOT } from './bundling.ts'

/** Writes what the image runs: the programs, chunks, `releases/`, and what third parties have a share in. */
async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  writeInventory(folder, await bundledModules(folder, PROGRAMS))
  cpSync(`${ROOT}releases`, `${folder}/releases`, { recursive: true })
}

await bundle(process.argv[2] ?? `${ROOT}dist`)
