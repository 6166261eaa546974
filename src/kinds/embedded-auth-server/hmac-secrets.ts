import { bytesAt, NAME } from '../../relations/index.ts'
import {
  type Cluster,
  dependingOn,
  end,
  type FieldError,
  invalid,
  type Path,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import type { Server } from './effective.ts'

type Reference = NonNullable<Server['hmacSecretRefs']>[number]

/** The fewest bytes of an HMAC secret. Specification 8. */
const LEAST_BYTES = 32

/** The error about a reference to an HMAC secret that is known to be too short; undefined for any other. */
export function tooShort(
  reference: Reference,
  at: Path<NonNullable<Reference>>,
  cluster: Cluster,
  remedy: string,
): FieldError | undefined {
  const { name, key } = reference ?? {}
  if (name === undefined || key === undefined) return undefined
  const bytes = bytesAt(cluster, name, key)
  if (bytes === undefined || bytes >= LEAST_BYTES) return undefined
  const detail = `this key of the Secret ${shortQuote(name)} holds fewer than ${LEAST_BYTES} bytes, so the server does not start; ${remedy}`
  const named = { kind: 'Secret', name }
  return relatedTo(dependingOn(invalid(at.key, key, detail), named), [end(named, NAME, 'holds too little')])
}

/** A Secret with these values at its keys, for examples. */
export const secretOf = (stringData: Readonly<Record<string, string>>) =>
  ({ kind: 'Secret', metadata: { name: 'auth-server' }, stringData }) as never
