import { oidcReferencePath } from '../relations/index.ts'
import { objectKey, segmentsOf } from '../rule/index.ts'
import { isUpdate, type ChangedObject, type Version, valueIn, withValue } from './versions.ts'

/** Longest name of a Kubernetes object. */
const LONGEST_NAME = 253

/**
 * Adds to the changes, for each MCPOIDCConfig that changes, a temporary copy of its new version with another name. An
 * object that changes together with the MCPOIDCConfig can first refer to the copy, and later to the original. Undefined
 * when no object could use a copy.
 */
export function withCopies(
  changes: readonly ChangedObject[],
  isTaken: (key: string) => boolean,
): readonly ChangedObject[] | undefined {
  const named = new Set(changes.map(namedBy))
  const copies = new Map(
    changes.flatMap((change) => {
      const copy =
        change.kind.kind === CONFIG && isUpdate(change) && named.has(change.key)
          ? copyOf(change, isTaken)
          : undefined
      return copy === undefined ? [] : [[change.key, copy] as const]
    }),
  )
  if (copies.size === 0) return undefined
  const taking = changes.map((change) => {
    const copy = copies.get(namedBy(change) ?? '')
    const [first, ...others] = change.versions
    const versions = copy === undefined ? [] : versionWith(change, copy)
    return { ...change, versions: [first, ...versions, ...others] as const }
  })
  return [...taking, ...copies.values()]
}

const CONFIG = 'MCPOIDCConfig'
const referenceOf = ({ kind }: ChangedObject) => segmentsOf(oidcReferencePath(kind.kind).name).map(String)

/** The key of the MCPOIDCConfig to which the object's new version refers; undefined unless the change is an update. */
function namedBy(change: ChangedObject): string | undefined {
  const { namespace, versions } = change
  const name = isUpdate(change) ? valueIn(versions.at(-1)?.value, referenceOf(change)) : undefined
  return typeof name === 'string' ? objectKey({ kind: CONFIG, namespace, name }) : undefined
}

/** The temporary copy of an MCPOIDCConfig; undefined when every name for it is taken or too long. */
function copyOf(change: ChangedObject, isTaken: (key: string) => boolean): ChangedObject | undefined {
  const { kind, namespace, name, versions } = change
  const keyIn = (copy: string) => objectKey({ kind: kind.kind, namespace, name: copy })
  let copy = `${name}-next`
  while (copy.length <= LONGEST_NAME && isTaken(keyIn(copy))) copy += '-next'
  if (copy.length > LONGEST_NAME) return undefined
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

/** The new version of an object, with its reference to the MCPOIDCConfig changed to the copy; empty for a deletion. */
function versionWith(change: ChangedObject, copy: ChangedObject): Version[] {
  const { value } = change.versions.at(-1) ?? {}
  if (value === undefined) return []
  return [
    {
      is: 'copy',
      value: withValue(value, referenceOf(change), copy.name),
      words: `the new version, with MCPOIDCConfig ${copy.name}`,
    },
  ]
}
