import type { Claims } from '../../access/role/claims.ts'
import { isObject } from '../../rule/index.ts'
import { readJson, skipSpace } from './json-text.ts'
import { ReadError, toValue } from './nodes.ts'

export interface ReadClaims {
  readonly claims: Claims
  /** Whether the claims were read from a JWT, whose signature is not verified. */
  readonly fromToken: boolean
}

/** The most bytes of JSON that the claims of a caller may have. */
export const LONGEST_CLAIMS = 64 * 1024

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/

/**
 * Reads a caller's claims from a JSON object, or from the payload of a compact JWT (RFC 7519, section 3). Throws
 * ReadError, whose message never contains a part of the text.
 */
export function readClaims(text: string): ReadClaims {
  const trimmed = text.trim()
  if (!TOKEN.test(trimmed)) return { claims: jsonObject(text), fromToken: false }
  return { claims: payloadOf(trimmed), fromToken: true }
}

function payloadOf(token: string): Claims {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    const bytes = Uint8Array.from(atob(payload), (byte) => byte.charCodeAt(0))
    return jsonObject(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof TooLong) throw error
    throw new ReadError('the text looks like a JWT, but its payload is no JSON object of claims', 0)
  }
}

class TooLong extends ReadError {}

function jsonObject(text: string): Claims {
  if (new TextEncoder().encode(text).length > LONGEST_CLAIMS)
    throw new TooLong('claims may have at most 64 KiB of JSON', 0)
  if (text.trim() === '')
    throw new ReadError('there are no claims: write a JSON object such as {"sub": "ann"}', 0)
  const { node, end } = readJson(text, 0)
  const rest = skipSpace(text, end)
  if (rest < text.length) throw new ReadError('there is more text behind the claims', rest)
  const value = toValue(node)
  if (!isObject(value)) throw new ReadError('claims must be a JSON object, or a JWT', 0)
  return value
}
