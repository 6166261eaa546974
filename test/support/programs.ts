import { execFileSync } from 'node:child_process'
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
/** Milliseconds for which a run that began before a source changed may need its bundle. */
const IN_USE = 600_000
/** What the programs read from the folder above their own. */
const ABOVE = ['package.json', 'docs']

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

function makeBundle(bundle: string): void {
  mkdirSync(BUNDLES, { recursive: true })
  const now = Date.now()
  const outdated = readdirSync(BUNDLES).filter((name) => statSync(join(BUNDLES, name)).mtimeMs < now - IN_USE)
  const folder = mkdtempSync(join(BUNDLES, 'new-'))
  execFileSync(process.execPath, [join(ROOT, 'src/generate/bundle.ts'), join(folder, 'dist')])
  for (const name of ABOVE) symlinkSync(join(ROOT, name), join(folder, name))
  try {
    renameSync(folder, bundle)
  } catch (error) {
    rmSync(folder, { recursive: true })
    // Otherwise another test file has made it meanwhile.
    if (!existsSync(bundle)) throw error
  }
  for (const name of outdated) rmSync(join(BUNDLES, name), { recursive: true, force: true })
}

// When this is loaded, not when a program starts, which may be in a cgroup with little memory.
const bundle = join(BUNDLES, stampOf('src', 'releases', 'package-lock.json'))
if (!existsSync(bundle)) makeBundle(bundle)

/**
 * The file of a program as the package has it, bundled from the sources of now: it starts with half the CPU time of
 * `src/…/main.ts`.
 */
export const programFile = (name: 'cli' | 'server'): string => join(bundle, `dist/${name}/main.js`)
