import {
  isAbsent,
  isBeingDeleted,
  isObject,
  type ObjectName,
  type Resource,
  type Segment,
} from '../rule/index.ts'

/** A reference from one resource to another in the same namespace. */
export interface Reference {
  readonly to: ObjectName
  /** The field of the spec that contains the reference. */
  readonly field: string
  /** The path of the name in the reference; computed on demand, for a finding. */
  readonly at: () => readonly Segment[]
}

interface Field {
  /** The path of a field with references; `*` stands for any key of a map. */
  readonly at: readonly string[]
  readonly to: string
  /** Whether the reference in `holder` has an effect; absent when the reference always has an effect. */
  readonly isRead?: (holder: Readonly<Record<string, unknown>>) => boolean
}

const GROUP: Field = { at: ['spec', 'groupRef'], to: 'MCPGroup' }
const AUTH: Field = { at: ['spec', 'externalAuthConfigRef'], to: 'MCPExternalAuthConfig' }
/** The fields with references that operator releases have, but the specification does not (decision 3). */
const OF_RELEASES: readonly Field[] = [
  { at: ['spec', 'authServerRef'], to: 'MCPExternalAuthConfig', isRead: isToConfig },
  { at: ['spec', 'oidcConfigRef'], to: 'MCPOIDCConfig' },
]

/**
 * Whether an entry of `backends` uses the MCPExternalAuthConfig that it names. With the type `discovered` of operator
 * releases, the backend's own MCPExternalAuthConfig is used (decision 5); an unreadable type may be `discovered`.
 */
export function isOwnStrategy(entry: { readonly type?: unknown }): boolean {
  return entry.type === undefined ? isAbsent(entry, 'type') : entry.type !== 'discovered'
}

/** Whether `authServerRef` names an MCPExternalAuthConfig, and not an object of another kind. */
function isToConfig({ authServerRef: reference }: Readonly<Record<string, unknown>>): boolean {
  return !isObject(reference) || isAbsent(reference, 'kind') || reference.kind === 'MCPExternalAuthConfig'
}

/**
 * For each kind, the fields that refer to other objects. A rule about a new reference needs an entry here.
 * Specification 1, 2.2; decision 5.
 */
export const REFERENCES: Readonly<Record<string, readonly Field[]>> = {
  VirtualMCPServer: [
    GROUP,
    { at: ['spec', 'incomingAuth', 'oidcConfigRef'], to: 'MCPOIDCConfig' },
    {
      at: ['spec', 'outgoingAuth', 'backends', '*', 'externalAuthConfigRef'],
      to: 'MCPExternalAuthConfig',
      isRead: isOwnStrategy,
    },
    { at: ['spec', 'outgoingAuth', 'default', 'externalAuthConfigRef'], to: 'MCPExternalAuthConfig' },
  ],
  MCPServer: [GROUP, AUTH, ...OF_RELEASES],
  MCPRemoteProxy: [GROUP, AUTH, ...OF_RELEASES],
  MCPServerEntry: [GROUP, AUTH],
}

/** All references of the resource, in the order of the specification; with `to`, only references to that kind. */
export function referencesOf(kind: string, resource: { readonly spec?: unknown }, to?: string): Reference[] {
  const found: Reference[] = []
  for (const field of REFERENCES[kind] ?? []) {
    if (to !== undefined && field.to !== to) continue
    visit(resource, field, 0, '', (name, key, isNamed) =>
      found.push({
        to: { kind: field.to, name },
        field: field.at[1] ?? '',
        at: () => placeOf(field, key, isNamed),
      }),
    )
  }
  return found
}

/**
 * Calls `found` for each object of which the resource is a referrer; for none while the resource is being deleted: what
 * it refers to may change or go. Makes no `Reference` objects: thousands would take more memory than the names.
 */
export function visitTargets(
  kind: string,
  resource: Resource,
  found: (kind: string, name: string) => void,
): void {
  if (isBeingDeleted(resource)) return
  for (const field of REFERENCES[kind] ?? []) visit(resource, field, 0, '', (name) => found(field.to, name))
}

/** The name in a reference; in older releases a reference to a group is a bare name (decision 5). */
export function nameIn(reference: unknown, to: string): unknown {
  if (isObject(reference)) return reference.name
  return to === 'MCPGroup' ? reference : undefined
}

/**
 * Calls `found` for each name in the field, with the name, the map key at the `*` of the field's path, and whether
 * the name is in an object `{name}` rather than a bare text.
 */
function visit(
  value: unknown,
  field: Field,
  depth: number,
  key: string,
  found: (name: string, key: string, isNamed: boolean) => void,
): void {
  const step = field.at[depth]
  if (step === undefined) {
    const name = nameIn(value, field.to)
    if (typeof name === 'string' && name !== '') found(name, key, isObject(value))
  } else if (isObject(value)) {
    if (depth === field.at.length - 1 && field.isRead?.(value) === false) return
    if (step === '*') {
      for (const each of Object.keys(value)) visit(value[each], field, depth + 1, each, found)
    } else if (Object.hasOwn(value, step)) {
      visit(value[step], field, depth + 1, key, found)
    }
  }
}

function placeOf({ at }: Field, key: string, named: boolean): Segment[] {
  const segments = at.map((step) => (step === '*' ? { key } : step))
  return named ? [...segments, 'name'] : segments
}
