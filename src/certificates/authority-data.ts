import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isObject, parsedJson } from '../rule/index.ts'
import { type AuthorityState, bundleOf, type FormerAuthority, type SigningAuthority } from './rotation.ts'
import { authorityOf, certificatesIn, type KeyedCertificate } from './x509.ts'

/** The values of a Secret as text. */
export type SecretData = Readonly<Record<string, string>>

/** The state of the CAs as read from a Secret, and its problems, which do not contain values of the Secret. */
export interface ReadState {
  readonly state: AuthorityState | undefined
  readonly problems: readonly string[]
}

const CURRENT = 'current'
const NEXT = 'next'
const FORMER = 'former.crt'
const TIMES = 'rotation.json'

/**
 * The state of the CAs as values of a Secret, in PEM and JSON; `ca.crt` is the bundle, for other tools. A missing part
 * becomes an empty text, so that no old value remains.
 */
export function formatState(state: AuthorityState): SecretData {
  const { current, next, former } = state
  const signing = next === undefined ? [current] : [current, next]
  const times = {
    longestLeafMilliseconds: Object.fromEntries(
      signing.map(({ fingerprint, longestLeaf }) => [fingerprint, longestLeaf]),
    ),
    trustedUntil: Object.fromEntries(
      former.map(({ fingerprint, until }) => [fingerprint, new Date(until).toISOString()]),
    ),
  }
  return {
    'ca.crt': joined(bundleOf(state)),
    [`${CURRENT}.crt`]: current.certificate,
    [`${CURRENT}.key`]: current.key,
    [`${NEXT}.crt`]: next?.certificate ?? '',
    [`${NEXT}.key`]: next?.key ?? '',
    [FORMER]: joined(former),
    [TIMES]: `${JSON.stringify(times)}\n`,
  }
}

/**
 * Reads the state of the CAs from the values of a Secret. A part that cannot be used is left out and reported. If only
 * the times of a CA are lost, the longest possible times are assumed; if the current CA is lost, the next CA replaces
 * it. A Secret with none of these values is not a problem: a chart may have created it for this server to fill.
 */
export function parseState(data: SecretData): ReadState {
  const problems: string[] = []
  const times = timesIn(data[TIMES])
  const signing = (name: string): SigningAuthority | undefined => {
    const pair = { certificate: data[`${name}.crt`] ?? '', key: data[`${name}.key`] ?? '' }
    if (pair.certificate === '' && pair.key === '') return undefined
    const read = readAuthority(pair)
    if (typeof read !== 'string') return withLongestLeaf(read, times.longestLeaf)
    problems.push(`${name}.crt and ${name}.key cannot be used: ${read}`)
    return undefined
  }
  const [stored, next] = [signing(CURRENT), signing(NEXT)]
  const former = formerIn(data[FORMER] ?? '', times.trustedUntil)
  if (former === undefined) problems.push(`${FORMER} cannot be used: no certificates in PEM`)
  if (stored === undefined && problems.length === 0 && holdsAnything(data))
    problems.push(`${CURRENT}.crt and ${CURRENT}.key are missing`)
  const current = stored ?? next
  if (current === undefined) return { state: undefined, problems }
  const isOther = ({ fingerprint }: { readonly fingerprint: string }) => fingerprint !== current.fingerprint
  return {
    state: {
      current,
      ...(next !== undefined && isOther(next) ? { next } : {}),
      former: (former ?? []).filter((each) => isOther(each) && each.fingerprint !== next?.fingerprint),
    },
    problems,
  }
}

/**
 * Reads a new CA, for use in an AuthorityState. `longestLeaf` is the longest lifetime, in milliseconds, of the leaf
 * certificates that the CA signs. Throws when the certificate is not that of a CA, or the key does not match.
 */
export function signingAuthority(pair: KeyedCertificate, longestLeaf: number): SigningAuthority {
  const read = readAuthority(pair)
  if (typeof read === 'string') throw new Error(read)
  return { ...read, longestLeaf }
}

/**
 * By fingerprint of a CA: the longest lifetime of its leaf certificates in milliseconds, and for a former CA the time
 * until which it is trusted.
 */
interface Times {
  readonly longestLeaf: Record<string, unknown>
  readonly trustedUntil: Record<string, unknown>
}

type Keyed = Omit<SigningAuthority, 'longestLeaf'>

function withLongestLeaf(read: Keyed, times: Times['longestLeaf']): SigningAuthority {
  const noted = times[read.fingerprint]
  const longest = read.expires - read.issued
  return { ...read, longestLeaf: typeof noted === 'number' && noted > 0 ? Math.min(noted, longest) : longest }
}

/** Reads a CA, or says why it cannot be used. The message does not repeat what OpenSSL reports about a key. */
function readAuthority({ certificate: pem, key }: KeyedCertificate): Keyed | string {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pem)
  } catch {
    return 'no certificate in PEM'
  }
  if (!certificate.ca) return 'the certificate is not that of a CA'
  try {
    if (!certificate.checkPrivateKey(createPrivateKey(key))) return 'the key is that of another certificate'
  } catch {
    return 'no private key in PEM'
  }
  return { ...authorityOf(certificate), key }
}

function formerIn(pem: string, trustedUntil: Times['trustedUntil']): FormerAuthority[] | undefined {
  try {
    const found = certificatesIn(pem).map(authorityOf)
    if (found.length === 0 && pem.trim() !== '') return undefined
    return found.map((authority) => {
      const until = Date.parse(String(trustedUntil[authority.fingerprint]))
      return { ...authority, until: Number.isNaN(until) ? authority.expires : until }
    })
  } catch {
    return undefined
  }
}

function timesIn(text: string | undefined): Times {
  const content = parsedJson(text ?? '')
  const { longestLeafMilliseconds: longestLeaf, trustedUntil } = isObject(content) ? content : {}
  return {
    longestLeaf: isObject(longestLeaf) ? longestLeaf : {},
    trustedUntil: isObject(trustedUntil) ? trustedUntil : {},
  }
}

function holdsAnything(data: SecretData): boolean {
  return Object.values(data).some((value) => value !== '')
}

function joined(authorities: readonly { readonly certificate: string }[]): string {
  return authorities.map(({ certificate }) => certificate).join('')
}
