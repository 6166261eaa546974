import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { makeAuthority, signLeaf } from './x509.ts'

/** PEM texts of a serving pair, and of the CA that signed it when the folder holds one. */
export interface ServingPair {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}

const DAY = 24 * 60 * 60 * 1_000

/**
 * The pair in the folder (`tls.crt`, `tls.key`, `ca.crt`); makes a local CA and a certificate for localhost and `host`
 * when there is none. Throws an Error that names the file when one half is missing, cannot be read, or does not fit the other.
 */
export async function localPair(
  folder: string,
  host: string,
): Promise<ServingPair & { readonly made: boolean }> {
  const [certificate, key, ca] = await Promise.all(
    ['tls.crt', 'tls.key', 'ca.crt'].map((name) => read(folder, name)),
  )
  if (certificate === undefined && key === undefined) return { ...(await make(folder, host)), made: true }
  if (certificate === undefined) throw new Error(`${join(folder, 'tls.crt')} is missing beside tls.key`)
  if (key === undefined) throw new Error(`${join(folder, 'tls.key')} is missing beside tls.crt`)
  try {
    createSecureContext({ cert: certificate, key })
  } catch (error) {
    throw new Error(
      `tls.crt and tls.key in ${folder} are no certificate and its key in PEM: ${(error as Error).message}`,
    )
  }
  return { certificate, key, ...(ca === undefined ? {} : { ca }), made: false }
}

async function read(folder: string, name: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, name), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`cannot read ${join(folder, name)}: ${(error as Error).message}`)
  }
}

/** A CA whose key is thrown away after it signed one certificate: nobody can sign another with it. */
async function make(folder: string, host: string): Promise<ServingPair> {
  const life = { now: Date.now(), lifetime: 365 * DAY }
  const authority = await makeAuthority('vmcp-admission local CA', life)
  const leaf = await signLeaf(authority, ['localhost', '127.0.0.1', '::1', host], life)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'ca.crt'), authority.certificate)
  await writeFile(join(folder, 'tls.crt'), leaf.certificate)
  await writeFile(join(folder, 'tls.key'), leaf.key, { mode: 0o600 })
  return { ...leaf, ca: authority.certificate }
}
