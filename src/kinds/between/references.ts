import type { ObjectName } from '../../rule/cluster.ts'
import type { Segment } from '../../rule/path.ts'
import { isObject } from '../../rule/resource.ts'

/** A reference from one resource to another in the same namespace. */
export interface Reference {
  readonly to: ObjectName
  /** Where the name stands. */
  readonly at: readonly Segment[]
}

interface Field {
  /** Where the reference stands; `*` is every key of a map. */
  readonly at: readonly string[]
  readonly to: string
}

const GROUP: Field = { at: ['spec', 'groupRef'], to: 'MCPGroup' }
const AUTH: Field = { at: ['spec', 'externalAuthConfigRef'], to: 'MCPExternalAuthConfig' }
/** References of releases that the specification does not name (decision 3). */
const OF_RELEASES: readonly Field[] = [
  { at: ['spec', 'authServerRef'], to: 'MCPExternalAuthConfig' },
  { at: ['spec', 'oidcConfigRef'], to: 'MCPOIDCConfig' },
]

/** Where each kind refers to others. Sections 1, 2.2; decision 5. */
export const REFERENCES: Readonly<Record<string, readonly Field[]>> = {
  VirtualMCPServer: [
    GROUP,
    { at: ['spec', 'incomingAuth', 'oidcConfigRef'], to: 'MCPOIDCConfig' },
    {
      at: ['spec', 'outgoingAuth', 'backends', '*', 'externalAuthConfigRef'],
      to: 'MCPExternalAuthConfig',
    },
    { at: ['spec', 'outgoingAuth', 'default', 'externalAuthConfigRef'], to: 'MCPExternalAuthConfig' },
  ],
  MCPServer: [GROUP, AUTH, ...OF_RELEASES],
  MCPRemoteProxy: [GROUP, AUTH, ...OF_RELEASES],
  MCPServerEntry: [GROUP, AUTH],
}

/** Every reference that the resource makes, in the order in which the specification has them. */
export function referencesOf(kind: string, resource: { readonly spec?: unknown }): Reference[] {
  const found: Reference[] = []
  for (const { at, to } of REFERENCES[kind] ?? []) collect(resource, at, 0, [], to, found)
  return found
}

function collect(
  value: unknown,
  steps: readonly string[],
  depth: number,
  at: readonly Segment[],
  to: string,
  found: Reference[],
): void {
  const step = steps[depth]
  if (step === undefined) {
    // Older releases wrote groupRef as the bare name (decision 5).
    const name = isObject(value) ? value.name : value
    if (typeof name === 'string' && name !== '')
      found.push({ to: { kind: to, name }, at: isObject(value) ? [...at, 'name'] : at })
  } else if (isObject(value)) {
    if (step === '*') {
      for (const key of Object.keys(value)) {
        collect(value[key], steps, depth + 1, [...at, { key }], to, found)
      }
    } else if (Object.hasOwn(value, step)) {
      collect(value[step], steps, depth + 1, [...at, step], to, found)
    }
  }
}
