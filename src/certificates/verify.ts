import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import type { ServingPair } from './serving-pair.ts'
import { certificatesIn } from './x509.ts'

/** The result of checking a certificate and its key; no text in the result quotes the key or an error of OpenSSL. */
export interface PairJudgement {
  /** Why the certificate must not be used; absent when it may be used. */
  readonly problem?: string
  /** Problems that do not prevent the use of the certificate. */
  readonly warnings: readonly string[]
  /** The earliest expiry of the certificates in the chain, in Unix milliseconds. */
  readonly expires?: number
}

const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'

/** Checks a certificate: key, chain, validity at `now` (Unix milliseconds), and whether it is for all these names. */
export function judgePair(pair: ServingPair, names: readonly string[], now: number): PairJudgement {
  try {
    const chain = chainIn(pair.certificate)
    return {
      warnings: [...warnAboutNames(chain[0], names), ...warnAboutAuthority(chain, pair.ca)],
      expires: checkPair(chain, pair, now),
    }
  } catch (error) {
    if (error instanceof PairProblem) return { problem: error.message, warnings: [] }
    throw error
  }
}

class PairProblem extends Error {}

type Chain = readonly [X509Certificate, ...X509Certificate[]]

function chainIn(pem: string): Chain {
  try {
    const [leaf, ...rest] = certificatesIn(pem)
    if (leaf !== undefined) return [leaf, ...rest]
  } catch {
    throw new PairProblem('tls.crt holds a certificate that cannot be read')
  }
  throw new PairProblem('tls.crt holds no certificate in PEM')
}

/** Checks the chain and its key. Returns the earliest expiry in the chain, in Unix milliseconds. Throws PairProblem. */
function checkPair(chain: Chain, { certificate, key }: ServingPair, now: number): number {
  const [leaf] = chain
  if (!leaf.checkPrivateKey(privateKeyIn(key)))
    throw new PairProblem('tls.key is not the key of the first certificate in tls.crt')
  checkChain(chain)
  chain.forEach((each, index) => checkTimes(each, index, now))
  // Node's `keyUsage` contains the extended key usages. A certificate without them allows any use: `keyUsage` is then
  // undefined, although its type does not say so.
  const usages = leaf.keyUsage as readonly string[] | undefined
  if (usages !== undefined && !usages.includes(SERVER_AUTH))
    throw new PairProblem('the certificate in tls.crt is not for servers (extended key usage serverAuth)')
  try {
    createSecureContext({ cert: certificate, key })
  } catch {
    throw new PairProblem('TLS does not accept tls.crt and tls.key; the key may be too weak')
  }
  return Math.min(...chain.map((each) => Date.parse(each.validTo)))
}

function privateKeyIn(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    throw new PairProblem('tls.key holds no private key in PEM, or one that needs a passphrase')
  }
}

function checkChain(chain: Chain): void {
  chain.forEach((issuer, index) => {
    const issued = chain[index - 1]
    if (issued !== undefined && !isIssuedBy(issued, issuer))
      throw new PairProblem(
        `the chain in tls.crt is broken: certificate ${index + 1} did not sign certificate ${index}`,
      )
  })
}

function checkTimes({ validFrom, validTo }: X509Certificate, index: number, now: number): void {
  const which = `certificate ${index + 1} in tls.crt`
  const [from, to] = [new Date(validFrom), new Date(validTo)]
  if (to.getTime() <= now) throw new PairProblem(`${which} expired at ${to.toISOString()}`)
  if (from.getTime() > now) throw new PairProblem(`${which} is valid from ${from.toISOString()} only`)
}

function warnAboutNames(leaf: X509Certificate, names: readonly string[]): string[] {
  const missing = names.filter((name) =>
    isIP(name) === 0 ? leaf.checkHost(name, { subject: 'never' }) === undefined : !leaf.checkIP(name),
  )
  return missing.length === 0 ? [] : [`the certificate in tls.crt does not name ${missing.join(', ')}`]
}

/** Warns when ca.crt did not sign the chain: with ca.crt as caBundle, the API server would refuse the certificate. */
function warnAboutAuthority(chain: Chain, ca: string | undefined): string[] {
  if (ca === undefined || ca.trim() === '') return []
  try {
    const authorities = certificatesIn(ca)
    const isTrusted = chain.some((each) =>
      authorities.some(
        (authority) => authority.fingerprint256 === each.fingerprint256 || isIssuedBy(each, authority),
      ),
    )
    return isTrusted ? [] : ['no certificate in ca.crt signed the chain in tls.crt']
  } catch {
    return ['ca.crt holds a certificate that cannot be read']
  }
}

function isIssuedBy(issued: X509Certificate, issuer: X509Certificate): boolean {
  return issued.checkIssued(issuer) && issued.verify(issuer.publicKey)
}
