import { jsonPointer } from '../rule/path.ts'
import type { DefaultAdded } from './defaults.ts'

/** One operation of an RFC 6902 patch; `add` also replaces a field that is null. */
export interface PatchOperation {
  readonly op: 'add'
  readonly path: string
  readonly value: unknown
}

export function jsonPatch(added: readonly DefaultAdded[]): PatchOperation[] {
  return added.map(({ at, value }) => ({ op: 'add', path: jsonPointer(at), value }))
}
