import 'reflect-metadata'
import { webcrypto, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import * as x509 from '@peculiar/x509'
import { certificateBlocks } from '../rule/index.ts'

/** Milliseconds by which the notBefore of a new certificate is in the past: a client's clock may be slow. */
export const BACKDATE = 60 * 60 * 1_000

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** `CryptoKeyPair` of browsers, which Node's types do not have. */
type KeyPair = Parameters<typeof x509.X509CertificateGenerator.createSelfSigned>[0]['keys']

/** A CA as plain data; times are Unix milliseconds. */
export interface Authority {
  /** The certificate (PEM). */
  readonly certificate: string
  /** The SHA-256 fingerprint of the certificate, as OpenSSL prints it. */
  readonly fingerprint: string
  /** The time when the certificate was made, one hour after its notBefore. */
  readonly issued: number
  /** The time when the certificate expires (notAfter). */
  readonly expires: number
}

/** A certificate and its key (PEM). */
export interface KeyedCertificate {
  readonly certificate: string
  readonly key: string
}

export interface Lifetime {
  readonly now: number
  /** The lifetime of a certificate in milliseconds, counted from `now`. */
  readonly lifetime: number
}

/**
 * A self-signed CA that can sign leaves only. Each CA gets a unique name: in one bundle, two CAs with the same name and
 * different keys would differ only by key identifiers, which not every client compares.
 */
export async function makeAuthority(name: string, { now, lifetime }: Lifetime): Promise<KeyedCertificate> {
  x509.cryptoProvider.set(webcrypto as typeof crypto)
  const keys = await generateKeys()
  const serial = serialNumber()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial,
    name: `CN=${name} ${serial.slice(0, 8)}`,
    notBefore: new Date(now - BACKDATE),
    notAfter: new Date(now + lifetime),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return { certificate: pemOf(certificate), key: await keyPem(keys.privateKey) }
}

/** A serving certificate for the names and addresses, with a new key. It expires with its CA at the latest. */
export async function signLeaf(
  authority: KeyedCertificate,
  names: readonly string[],
  { now, lifetime }: Lifetime,
): Promise<KeyedCertificate> {
  x509.cryptoProvider.set(webcrypto as typeof crypto)
  const ca = new x509.X509Certificate(authority.certificate)
  const keys = await generateKeys()
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: 'CN=vmcp-admission',
    issuer: ca.subject,
    notBefore: new Date(now - BACKDATE),
    notAfter: new Date(Math.min(now + lifetime, ca.notAfter.getTime())),
    publicKey: keys.publicKey,
    signingKey: await signingKey(authority.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(generalNames(names)),
      await x509.AuthorityKeyIdentifierExtension.create(ca.publicKey),
    ],
  })
  return { certificate: pemOf(leaf), key: await keyPem(keys.privateKey) }
}

/** The certificates in a PEM text; skips other text between them. Throws an Error when one cannot be parsed. */
export function certificatesIn(pem: string): X509Certificate[] {
  return certificateBlocks(pem).map((block) => new X509Certificate(block))
}

/** The CAs of a caBundle (PEM), in its order. Throws an Error when a certificate cannot be parsed. */
export function authoritiesIn(bundle: string): Authority[] {
  return certificatesIn(bundle).map(authorityOf)
}

/** A certificate as plain data. */
export function authorityOf(certificate: X509Certificate): Authority {
  return {
    certificate: `${certificate.toString().trim()}\n`,
    fingerprint: certificate.fingerprint256,
    issued: Date.parse(certificate.validFrom) + BACKDATE,
    expires: Date.parse(certificate.validTo),
  }
}

/** The public fields of the CA, without its private key. */
export function publicPart({ certificate, fingerprint, issued, expires }: Authority): Authority {
  return { certificate, fingerprint, issued, expires }
}

function generateKeys(): Promise<KeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<KeyPair>
}

function signingKey(pem: string): Promise<KeyPair['privateKey']> {
  const [der] = x509.PemConverter.decode(pem)
  if (der === undefined) throw new Error('no key in PEM')
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']) as Promise<
    KeyPair['privateKey']
  >
}

function pemOf(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`
}

async function keyPem(key: KeyPair['privateKey']): Promise<string> {
  return `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
}

/** A positive number with 126 random bits, in hexadecimal; practically unique. */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16))
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return Buffer.from(bytes).toString('hex')
}

function generalNames(names: readonly string[]): x509.JsonGeneralName[] {
  return [...new Set(names)].map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))
}
