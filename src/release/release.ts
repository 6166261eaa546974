import { isObject } from '../rule/index.ts'
import { ANYTHING, compared, type ReleaseSchema } from './schema.ts'

/** The schemas by which the API server of a cluster accepts resources, of its CustomResourceDefinitions. */
export interface Release {
  /** For messages: `operator release 0.44`, or `the installed operator`. */
  readonly name: string
  /** Its minor version, `0.44`, where it is named; CustomResourceDefinitions do not say theirs. */
  readonly version?: string
  /** The schema of each kind that is known; the others are judged by the specification alone. */
  readonly schemas: ReadonlyMap<string, ReleaseSchema>
}

/** The annotation of the CRDs that this project generates: they say no more than the specification. */
export const OWN_CRD = 'vmcp-admission/generated-from'

const VERSIONS = ['v1beta1', 'v1alpha1']

/**
 * The release of the CustomResourceDefinitions of a group (apiextensions.k8s.io/v1); undefined where none of them is of
 * an operator. Of each kind the served version v1beta1 counts, or else v1alpha1. Anything that is not a CRD is ignored.
 */
export function releaseOf(crds: Iterable<unknown>, group: string, name: string): Release | undefined {
  const schemas = new Map<string, ReleaseSchema>()
  for (const crd of crds) {
    const found = schemaOf(crd, group)
    if (found !== undefined) schemas.set(found.kind, found.schema)
  }
  return schemas.size === 0 ? undefined : { name, schemas }
}

function schemaOf(crd: unknown, group: string): { kind: string; schema: ReleaseSchema } | undefined {
  if (!isObject(crd) || crd.kind !== 'CustomResourceDefinition' || !isObject(crd.spec)) return undefined
  const { metadata, spec } = crd
  const annotations = isObject(metadata) && isObject(metadata.annotations) ? metadata.annotations : {}
  if (OWN_CRD in annotations || spec.group !== group || !isObject(spec.names)) return undefined
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject)
  const served = VERSIONS.map((version) =>
    versions.find(({ name, served }) => name === version && served === true),
  )
  const schema = served.find((version) => version !== undefined)?.schema
  if (!isObject(schema) || !isObject(schema.openAPIV3Schema)) return undefined
  const root = compared(schema.openAPIV3Schema)
  // The API server knows the rest of metadata, and ignores the status that a write holds.
  const properties = { ...root.properties, metadata: ANYTHING, status: ANYTHING }
  return { kind: String(spec.names.kind), schema: { ...root, properties } }
}
