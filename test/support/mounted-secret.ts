import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServingPair } from '../../src/certificates/serving-pair.ts'

/** Writes a certificate, its key and its CA, if any, into a folder. */
export function writePair(folder: string, { certificate, key, ca }: ServingPair): void {
  writeFileSync(join(folder, 'tls.crt'), certificate)
  writeFileSync(join(folder, 'tls.key'), key)
  if (ca !== undefined) writeFileSync(join(folder, 'ca.crt'), ca)
}

/**
 * Updates a mounted Secret as kubelet does: writes a new folder, then renames the symlink, and deletes the old folder.
 */
export function mountPair(folder: string, version: number, pair: ServingPair): void {
  mkdirSync(join(folder, `..v${version}`))
  writePair(join(folder, `..v${version}`), pair)
  symlinkSync(`..v${version}`, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  if (version === 1)
    for (const name of ['tls.crt', 'tls.key', 'ca.crt']) symlinkSync(join('..data', name), join(folder, name))
  else rmSync(join(folder, `..v${version - 1}`), { recursive: true })
}
