import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BUNDLES = join(ROOT, 'node_modules/.cache/bundles')
/** What the programs read from the folder of the package. */
const BESIDE = ['package.json', 'docs']

/**
 * The file of a program as the package has it, bundled from the sources of now: it starts with half the CPU time of
 * `src/…/main.ts`. Bundles again after a source has changed.
 */
export async function programFile(name: 'cli' | 'server'): Promise<string> {
  const bundle = join(BUNDLES, stampOf('src', 'releases', 'package-lock.json'))
  if (!existsSync(bundle)) await makeBundle(bundle)
  return join(bundle, `dist/${name}/main.js`)
}

/** A text that differs once a file among these has another size or time of change. */
function stampOf(...paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) {
    const files = statSync(join(ROOT, path)).isDirectory()
      ? readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' }).map((file) => join(path, file))
      : [path]
    for (const file of files.toSorted()) {
      const { size, mtimeMs } = statSync(join(ROOT, file))
      hash.update(`${file} ${size} ${mtimeMs}\n`)
    }
  }
  return hash.digest('hex').slice(0, 16)
}

async function makeBundle(bundle: string): Promise<void> {
  const { bundledModules, PROGRAMS } = await import('../../src/generate/bundling.ts')
  mkdirSync(BUNDLES, { recursive: true })
  const outdated = readdirSync(BUNDLES).filter((name) => !name.startsWith('new-'))
  const folder = mkdtempSync(join(BUNDLES, 'new-'))
  await bundledModules(join(folder, 'dist'), PROGRAMS)
  for (const name of BESIDE) symlinkSync(join(ROOT, name), join(folder, name))
  symlinkSync(join(ROOT, 'releases'), join(folder, 'dist/releases'))
  try {
    renameSync(folder, bundle)
  } catch {
    // Another test file was faster.
    rmSync(folder, { recursive: true })
  }
  for (const name of outdated) rmSync(join(BUNDLES, name), { recursive: true, force: true })
}
