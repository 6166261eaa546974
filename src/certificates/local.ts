import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import * as x509 from '@peculiar/x509'

/** PEM texts of a serving pair, and of the CA that signed it when the folder holds one. */
export interface ServingPair {
  readonly certificate: string
  readonly key: string
  readonly ca?: string
}

const DAY = 24 * 60 * 60 * 1_000
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

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
  x509.cryptoProvider.set(webcrypto as Crypto)
  const notBefore = new Date(Date.now() - DAY / 24)
  const notAfter = new Date(Date.now() + 365 * DAY)
  const caKeys = await generateKeys()
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=vmcp-admission local CA',
    notBefore,
    notAfter,
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(caKeys.publicKey),
    ],
  })
  const keys = await generateKeys()
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=vmcp-admission',
    issuer: ca.subject,
    notBefore,
    notAfter,
    publicKey: keys.publicKey,
    signingKey: caKeys.privateKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names(host)),
      await x509.AuthorityKeyIdentifierExtension.create(ca.publicKey),
    ],
  })
  const pair = { certificate: leaf.toString('pem'), key: await pem(keys.privateKey), ca: ca.toString('pem') }
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'ca.crt'), `${pair.ca}\n`)
  await writeFile(join(folder, 'tls.crt'), `${pair.certificate}\n`)
  await writeFile(join(folder, 'tls.key'), `${pair.key}\n`, { mode: 0o600 })
  return pair
}

function generateKeys(): Promise<CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<CryptoKeyPair>
}

async function pem(key: CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
}

function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16))
  bytes[0] = (bytes[0] ?? 0) & 0x7f
  return Buffer.from(bytes).toString('hex')
}

function names(host: string): x509.JsonGeneralName[] {
  return [...new Set(['localhost', '127.0.0.1', '::1', host])].map((value) => ({
    type: isIP(value) === 0 ? 'dns' : 'ip',
    value,
  }))
}
