import { cpSync, rmSync } from 'node:fs'
import { writeInventory } from './bundled-packages.ts'
import { bundledModules, PROGRAMS, ROOT } from './bundling.ts'
import { writePages } from './pages.ts'

/** Writes the files of the image: programs, chunks, `releases/`, pages, and the licences of third parties. */
async function bundle(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  writeInventory(folder, [await bundledModules(folder, PROGRAMS), ...(await writePages(`${folder}/pages`))])
  cpSync(`${ROOT}releases`, `${folder}/releases`, { recursive: true })
}

await bundle(process.argv[2] ?? `${ROOT}dist`)
