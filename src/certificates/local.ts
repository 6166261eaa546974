import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readRegularFile } from './regular-file.ts'
import { judgePair } from './verify.ts'
import type { ServingPair } from './serving-pair.ts'
import { makeAuthority, signLeaf } from './x509.ts'

const DAY = 24 * 60 * 60 * 1_000
/** The files of a certificate, in the order in which they are renamed; after a crash the renames can be finished. */
const FILES = ['ca.crt', 'tls.crt', 'tls.key'] as const
const TEMPORARY = '.new'
const REMEDY = `remove ${FILES.join(', ')} to have them made anew`

/**
 * Reads the serving certificate and its key from the folder (`tls.crt`, `tls.key`, `ca.crt`). If both are missing,
 * makes a local CA, and a certificate for localhost and the host names `names`. `now` is in Unix milliseconds. Throws
 * an Error that names the file or folder when the certificate or the key is missing or cannot be read, when they do not
 * match, and when the certificate is not valid now.
 */
export async function localPair(
  folder: string,
  names: readonly string[],
  now = Date.now(),
): Promise<ServingPair & { readonly made: boolean }> {
  await finishMoves(folder)
  const [ca, certificate, key] = await Promise.all(FILES.map((name) => read(folder, name)))
  if (certificate === undefined && key === undefined)
    return { ...(await makeFiles(folder, names, now)), made: true }
  if (certificate === undefined) throw new Error(`${join(folder, 'tls.crt')} is missing beside tls.key`)
  if (key === undefined) throw new Error(`${join(folder, 'tls.key')} is missing beside tls.crt`)
  const pair = { certificate, key, ...(ca === undefined ? {} : { ca }) }
  const { problem } = judgePair(pair, [], now)
  if (problem !== undefined) throw new Error(`${folder}: ${problem}; ${REMEDY}`)
  return { ...pair, made: false }
}

async function read(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readRegularFile(join(folder, name))
  } catch (error) {
    throw new Error(`${join(folder, name)} ${(error as Error).message}`)
  }
}

async function makeFiles(folder: string, names: readonly string[], now: number): Promise<ServingPair> {
  const pair = await makePair(names, now)
  const texts = { 'ca.crt': pair.ca, 'tls.crt': pair.certificate, 'tls.key': pair.key }
  await mkdir(folder, { recursive: true })
  for (const name of FILES) await rm(temporary(folder, name), { force: true })
  for (const name of FILES) {
    const mode = name === 'tls.key' ? 0o600 : 0o644
    await writeFile(temporary(folder, name), texts[name], { mode, flag: 'wx', flush: true })
  }
  for (const name of FILES) await rename(temporary(folder, name), join(folder, name))
  return pair
}

/** Makes a local CA, and with it a certificate for localhost and the host names, for a year; drops the CA's key. */
export async function makePair(names: readonly string[], now = Date.now()): Promise<Required<ServingPair>> {
  const life = { now, lifetime: 365 * DAY }
  const authority = await makeAuthority('vmcp-admission local CA', life)
  const leaf = await signLeaf(authority, [...new Set(['localhost', '127.0.0.1', '::1', ...names])], life)
  return { ...leaf, ca: authority.certificate }
}

const temporary = (folder: string, name: string) => join(folder, name + TEMPORARY)

/**
 * Renames the temporary files that a crash left, if they are complete: the first file is renamed only after all files
 * were written. If the first file was not renamed, this does nothing, and the files are made anew.
 */
async function finishMoves(folder: string): Promise<void> {
  const [first, ...rest] = FILES
  if ((await read(folder, first + TEMPORARY)) !== undefined) return
  for (const name of rest) {
    // Checks that there is a file to rename, so that a process without write permission can serve complete files.
    if ((await read(folder, name + TEMPORARY)) !== undefined)
      await rename(temporary(folder, name), join(folder, name))
  }
}
