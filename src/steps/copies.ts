import { objectKey } from '../rule/index.ts'
import { isUpdate, type ChangedObject, type Version, valueIn, withValue } from './versions.ts'

/** Where resources name the MCPOIDCConfig of their callers. */
const REFERENCES = [
  ['spec', 'incomingAuth', 'oidcConfigRef', 'name'],
  ['spec', 'oidcConfigRef', 'name'],
] as const

/**
 * The changes, with a copy of each new MCPOIDCConfig under another name, which is there on the way only: an object that changes
 * with its MCPOIDCConfig can take the copy at once, and the name that it had before when that is the new one. Undefined where
 * nothing could take a copy.
 */
export function withCopies(
  changes: readonly ChangedObject[],
  isTaken: (key: string) => boolean,
): readonly ChangedObject[] | undefined {
  const copies = changes.flatMap((change): readonly (readonly [ChangedObject, ChangedObject])[] => {
    const isNamed = (other: ChangedObject) =>
      isUpdate(other) && other.namespace === change.namespace && placeOf(other, change.name) !== undefined
    return change.kind.kind === 'MCPOIDCConfig' && isUpdate(change) && changes.some(isNamed)
      ? [[change, copyOf(change, isTaken)]]
      : []
  })
  if (copies.length === 0) return undefined
  const taking = changes.map((change) => {
    const versions = copies.flatMap(([original, copy]) => versionWith(change, original, copy))
    const [first, ...others] = change.versions
    return { ...change, versions: [first, ...versions, ...others] as const }
  })
  return [...taking, ...copies.map(([, copy]) => copy)]
}

function copyOf(change: ChangedObject, isTaken: (key: string) => boolean): ChangedObject {
  const { kind, namespace, name, versions } = change
  const keyIn = (copy: string) => objectKey({ kind: kind.kind, namespace, name: copy })
  let copy = `${name}-next`
  while (isTaken(keyIn(copy))) copy += '-next'
  const { value } = versions.at(-1) ?? versions[0]
  const copied = value && withValue(value, ['metadata', 'name'], copy)
  const none: Version = { is: 'old', value: undefined, words: '' }
  return {
    ...{ kind, namespace, name: copy, key: keyIn(copy) },
    versions: [
      none,
      { is: 'copy', value: copied, words: `a copy of the new ${name}, until nothing refers to it` },
      { ...none, is: 'new' },
    ],
  }
}

/** The new version of an object that refers to the original, with the copy in its place. */
function versionWith(
  change: ChangedObject,
  { namespace, name }: ChangedObject,
  copy: ChangedObject,
): Version[] {
  const at = change.namespace === namespace ? placeOf(change, name) : undefined
  const { value } = change.versions.at(-1) ?? {}
  if (!isUpdate(change) || at === undefined || value === undefined) return []
  return [
    {
      is: 'copy',
      value: withValue(value, at, copy.name),
      words: `the new version, with MCPOIDCConfig ${copy.name}`,
    },
  ]
}

const placeOf = ({ versions }: ChangedObject, name: string) =>
  REFERENCES.find((at) => valueIn(versions.at(-1)?.value, at) === name)
