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
/** Milliseconds after which a bundle is deleted: a test run that began before a source changed may still use it. */
const IN_USE = 600_000
/** The files that a bundled program reads from the parent folder of `dist`. */
const ABOVE = ['package.json', 'docs']

/** A hash that changes when the size or modification time of one of the files does. */
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
    // Another test file may have made the same bundle in the meantime.
    if (!existsSync(bundle)) throw error
  }
  for (const name of outdated) rmSync(join(BUNDLES, name), { recursive: true, force: true })
}

// The bundle is made on import: a program may be started in a cgroup with too little memory for bundling.
const bundle = join(BUNDLES, stampOf('src', 'releases', 'package-lock.json'))
if (!existsSync(bundle)) makeBundle(bundle)

/**
 * The entry file of a program, bundled from the current sources as in the npm package. It needs half the CPU time of
 * `src/…/main.ts` to start.
 */
export const programFile = (name: 'cli' | 'server'): string => join(bundle, `dist/${name}/main.js`)
