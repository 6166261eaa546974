import type { Kind } from '../kinds/kind.ts'
import { nearest } from '../rule/nearest.ts'
import type { Segment } from '../rule/path.ts'
import { isObject } from '../rule/resource.ts'
import type { Finding } from './finding.ts'
import type { SchemaNode } from './pointer.ts'

const OF_AUTH_SERVER = [
  'allowConfidentialClientRegistration',
  'baselineClientScopes',
  'cimd',
  'delegateClients',
  'disableUpstreamTokenInjection',
  'forceConfidentialRedirectUris',
  'inboundGrants',
  'insecureAllowConfidentialOverLoopbackHTTP',
  'primaryUpstreamProvider',
  'trustedIssuers',
]

/** Fields of newer releases that no rule reads, by the name of the object that has them. */
const NEWER: ReadonlyMap<string, readonly string[]> = new Map([
  ['spec', ['obo', 'xaa']],
  ['awsSts', ['subjectProviderName']],
  ['embeddedAuthServer', OF_AUTH_SERVER],
  ['authServerConfig', OF_AUTH_SERVER],
  ['oauth2Config', ['allowPrivateIPs']],
  ['oidcConfig', ['subjectClaim']],
  ['redis', ['clusterMode']],
])

/**
 * Fields that the specification does not name, where it names all of them (decision 2). For the CLI only: before the
 * webhook the API server drops fields that its CRD does not know, so an unknown field belongs to a newer CRD.
 */
export function unknownFields(kind: Kind, resource: unknown): Finding[] {
  const found: Finding[] = []
  search(kind.schema, resource, [], found)
  return found
}

function search(node: SchemaNode, value: unknown, at: readonly Segment[], found: Finding[]): void {
  const { open, properties, additionalProperties, items } = node
  if (Array.isArray(value) && items !== undefined) {
    for (const [i, item] of value.entries()) search(items, item, [...at, i], found)
  }
  if (!isObject(value)) return
  for (const [name, field] of Object.entries(value)) {
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
    if (known !== undefined) {
      search(known, field, [...at, name], found)
    } else if (additionalProperties !== undefined) {
      search(additionalProperties, field, [...at, { key: name }], found)
    } else if (properties !== undefined && !open) {
      const near = meant(name, Object.keys(properties))
      const isReported = name === value.type && near === undefined && isUnsupported(name, properties.type)
      if (!isReported) found.push(unknownField([...at, name], name, near))
    }
  }
}

/** The nearest known name, or else the only one with this beginning: `valueSecretRef` for `value`. */
function meant(name: string, known: readonly string[]): string | undefined {
  const near = nearest(name, known)
  if (near !== undefined || name.length < 4) return near
  const start = name.toLowerCase()
  const [first, second] = known.filter((each) => each.toLowerCase().startsWith(start))
  return second === undefined ? first : undefined
}

/** The settings of an unknown type are not reported: the type has a finding. */
const isUnsupported = (type: string, known: SchemaNode | undefined): boolean =>
  known?.enum?.includes(type) === false

function unknownField(at: readonly Segment[], name: string, near: string | undefined): Finding {
  const holder = at.at(-2)
  const isNewer = typeof holder === 'string' && NEWER.get(holder)?.includes(name) === true
  const what = isNewer ? 'is of newer releases' : 'is not in the specification'
  const advice =
    near === undefined || isNewer
      ? 'a cluster whose CRD does not know it drops or refuses it'
      : `did you mean '${near}'`
  return {
    id: 'unknown-field',
    severity: 'warning',
    error: { type: 'advice', at, detail: `${what}; ${advice}` },
  }
}
