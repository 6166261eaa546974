import { createPublicKey, type KeyObject } from 'node:crypto'
import { isObject, parsedJson } from '../rule/index.ts'
import type { Reader } from './target.ts'

/**
 * The key algorithms that each part of the operator accepts: TokenValidator wants RS and ES with a kid,
 * MultiIssuerTokenValidator does not accept ES512, and go-oidc accepts all that it knows.
 */
const ALGORITHMS: Readonly<Record<Reader, readonly string[]>> = {
  validator: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'],
  trusted: ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'EdDSA'],
  upstream: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
}

const OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/** The shortest RSA key, in bits, that the operator's library accepts for tokens of callers and trusted issuers. */
const LEAST_BITS = 2_048

/** Why no key in the text of a key set can be used; undefined when at least one key can be used. */
export function problemWithKeys(body: string, reader: Reader): string | undefined {
  const set = parsedJson(body)
  if (!isObject(set) || !Array.isArray(set.keys)) return 'is not a JSON Web Key Set'
  const keys = set.keys as readonly unknown[]
  if (keys.length === 0) return 'holds no key'
  const problems = keys.map((key) => problemWithKey(key, reader))
  return problems.includes(undefined)
    ? undefined
    : `holds no key that is used: ${[...new Set(problems)].join(', ')}`
}

function problemWithKey(value: unknown, reader: Reader): string | undefined {
  if (!isObject(value)) return 'one is not an object'
  const { use, alg, kid } = value
  if (use !== undefined && use !== 'sig') return `one is for use ${shown(use)}`
  if (reader === 'validator' && (typeof kid !== 'string' || kid === '')) return 'one has no kid'
  const key = readKey(value)
  if (key === undefined) return `one of type ${shown(value.kty)} cannot be read`
  if (isShort(key) && reader !== 'upstream') return `one of RSA has less than ${LEAST_BITS} bits`
  const possible = algorithmsOf(key)
  const named = typeof alg === 'string' ? possible.filter((each) => each === alg) : possible
  if (named.some((each) => ALGORITHMS[reader].includes(each))) return undefined
  return `one is for ${shown(alg ?? possible[0] ?? value.crv ?? value.kty)}`
}

function readKey(key: Record<string, unknown>): KeyObject | undefined {
  try {
    return createPublicKey({ key: key, format: 'jwk' })
  } catch {
    return undefined
  }
}

const isShort = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean =>
  type === 'rsa' && (details?.modulusLength ?? 0) < LEAST_BITS

function algorithmsOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string[] {
  if (type === 'rsa') return ['256', '384', '512'].flatMap((bits) => [`RS${bits}`, `PS${bits}`])
  if (type === 'ec') return [OF_CURVE[details?.namedCurve ?? '']].filter((each) => each !== undefined)
  return type === 'ed25519' ? ['EdDSA'] : []
}

const shown = (value: unknown): string => (typeof value === 'string' ? value.slice(0, 40) : 'unknown')
