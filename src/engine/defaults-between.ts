import {
  agreedProvider,
  type AuthConfig,
  type Gateway,
  getOidcConfig,
  knowsReachers,
  leavesSubjectProvider,
  writtenAnnotation,
  writtenProvider,
} from '../relations/index.ts'
import { type Release, schemaAt } from '../release/index.ts'
import { type Cluster, isAbsent, isObject, type Resource } from '../rule/index.ts'
import type { FieldChange } from './defaults.ts'

/** Facts on which the defaults of an object depend, in addition to the object. */
export interface Known {
  readonly cluster: Cluster
  readonly group: string
  /** Name of the object that gets the defaults. */
  readonly name: string
  /** The audience that the settings give to service account tokens; empty when not set (decision 4). */
  readonly serviceAccountAudience: string
  readonly release: Release | undefined
}

/** The defaults of a resource (with the JSON types of its schema, and no nulls) that depend on other objects. */
export function defaultsBetween(kind: string, resource: Resource, known: Known): FieldChange[] {
  if (kind === 'MCPExternalAuthConfig') return subjectProvider(resource as AuthConfig, known)
  if (kind === 'VirtualMCPServer') return audience(resource as Gateway, known)
  return []
}

const FIELD = ['spec', 'tokenExchange', 'subjectProviderName']

/**
 * The default of `subjectProviderName`, the upstream provider whose token is exchanged, and the annotation that records
 * it (specification 2.4.5, decision 25). A value that /mutate wrote counts as absent: it is written again, or removed
 * when no VirtualMCPServer determines the provider.
 */
function subjectProvider(config: AuthConfig, { cluster, group, name }: Known): FieldChange[] {
  const written = writtenProvider(config, group)
  const forget = written === undefined ? [] : [{ at: annotationAt(group) }]
  const type = config.spec?.type
  if (type !== 'tokenExchange') return type === undefined ? [] : forget
  if (!isObject(config.metadata) || !knowsReachers(cluster)) return []
  const tokenExchange = config.spec?.tokenExchange
  if (!leavesSubjectProvider(config, group)) return tokenExchange === undefined ? [] : forget
  const provider = agreedProvider(name, cluster)
  const given = tokenExchange?.subjectProviderName
  if (provider === undefined) return given === undefined || given === '' ? forget : [{ at: FIELD }, ...forget]
  if (given === provider && written === provider) return []
  return [{ at: FIELD, value: provider }, record(config, group, provider)]
}

/** Sets the annotation that records the provider, together with `metadata.annotations` when it is absent. */
const record = ({ metadata }: AuthConfig, group: string, provider: string): FieldChange =>
  isObject(metadata?.annotations)
    ? { at: annotationAt(group), value: provider }
    : { at: ['metadata', 'annotations'], value: { [writtenAnnotation(group)]: provider } }

const annotationAt = (group: string) => ['metadata', 'annotations', { key: writtenAnnotation(group) }]

/** The default audience of service account tokens, for a VirtualMCPServer that sets none (specification 2.3). */
function audience({ spec }: Gateway, { cluster, serviceAccountAudience, release }: Known): FieldChange[] {
  const incomingAuth = spec?.incomingAuth
  const reference = incomingAuth?.oidcConfigRef
  if (serviceAccountAudience === '' || incomingAuth?.type !== 'oidc' || reference?.name === undefined)
    return []
  if (!isAbsent(incomingAuth, 'audience') || !isAbsent(reference, 'audience')) return []
  if (getOidcConfig(cluster, reference.name)?.spec?.type !== 'kubernetesServiceAccount') return []
  const holder = demandsAudienceInReference(release) ? REFERENCE : REFERENCE.slice(0, -1)
  return [{ at: [...holder, 'audience'], value: serviceAccountAudience }]
}

const REFERENCE = ['spec', 'incomingAuth', 'oidcConfigRef']

/** Whether the release refuses a reference without an audience, and drops the field of the specification (decision 4). */
function demandsAudienceInReference(release: Release | undefined): boolean {
  const schema = release?.schemas.get('VirtualMCPServer')
  return schema !== undefined && schemaAt(schema, REFERENCE)?.required?.includes('audience') === true
}
