import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServingPair } from '../../src/certificates/serving-pair.ts'

/** Writes a pair, and its CA if it has one, as whoever owns the folder does. */
export function writePair(folder: string, { certificate, key, ca }: ServingPair): void {
  writeFileSync(join(folder, 'tls.crt'), certificate)
  writeFileSync(join(folder, 'tls.key'), key)
  if (ca !== undefined) writeFileSync(join(folder, 'ca.crt'), ca)
}

/** Writes a version as kubelet does: a new folder, then one rename of the symlink; the old folder goes. */
export function mountPair(folder: string, version: number, pair: ServingPair): void {
  mkdirSync(join(folder, `..v${version}`))
  writePair(join(folder, `..v${version}`), pair)
  symlinkSync(`..v${version}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (version === 1)
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) symlinkSync(join('..data', name), join(folder, name))
  else rmSync(join(folder, `..v${version - 1}`), { recursive: true })
}
