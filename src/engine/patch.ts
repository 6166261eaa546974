import { jsonPointer } from '../rule/index.ts'
import type { FieldChange } from './defaults.ts'

/** One operation of an RFC 6902 patch; `add` also replaces a field that exists already. */
export type PatchOperation =
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** The changes of /mutate as an RFC 6902 patch, in the same order. */
export function jsonPatch(changes: readonly FieldChange[]): PatchOperation[] {
  return changes.map(({ at, value }) => {
    const path = jsonPointer(at)
    return value === undefined ? { op: 'remove', path } : { op: 'add', path, value }
  })
}
