import { isObject } from '../rule/index.ts'
import { ANYTHING, compared, type ReleaseSchema } from './schema.ts'

/** The schemas in the CustomResourceDefinitions of an operator release: they decide what an API server accepts. */
export interface Release {
  /** The name in messages: `operator release 0.44`, or `the installed operator`. */
  readonly name: string
  /** The minor version, such as `0.44`, when the user gave one; CustomResourceDefinitions do not contain it. */
  readonly version?: string
  /** The schemas by kind; kinds that are missing here are judged by the specification alone. */
  readonly schemas: ReadonlyMap<string, ReleaseSchema>
}

/** The annotation on the CRDs that this project generates: they do not come from an operator release. */
export const OWN_CRD = 'vmcp-admission/generated-from'

const VERSIONS = ['v1beta1', 'v1alpha1']

/**
 * Reads a release from the CustomResourceDefinitions of an API group (apiextensions.k8s.io/v1). Of each kind it reads
 * the version v1beta1 if it is served, or else v1alpha1. Ignores objects that are not CRDs. Undefined when no CRD
 * comes from an operator.
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
  // Any metadata and status are accepted: the API server itself validates metadata, and ignores the status in a write.
  const properties = { ...root.properties, metadata: ANYTHING, status: ANYTHING }
  return { kind: String(spec.names.kind), schema: { ...root, properties } }
}
