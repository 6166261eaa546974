import { API_VERSION, DEFAULT_API_GROUP } from '../kinds/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { mapSchema, type SchemaTree } from '../kinds/schema-tree.ts'
import { OWN_CRD } from '../release/index.ts'

const PRESERVE = 'x-kubernetes-preserve-unknown-fields'

/** Keywords for constraints of the specification; only strict CRDs have them. */
const CONSTRAINTS = ['enum', 'minLength', 'maxLength', 'minItems', 'minimum', 'maximum'] as const

interface Crd {
  readonly spec: SchemaTree
  readonly [field: string]: unknown
}

/** The CRD of a kind; if `strict`, with all constraints of the specification. */
export function crd(of: Kind, strict: boolean, group = DEFAULT_API_GROUP): Crd {
  const { kind, plural, shortNames, printerColumns, schema } = of
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { [OWN_CRD]: 'the specification' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length === 0 ? {} : { shortNames }),
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: printerColumns,
          schema: { openAPIV3Schema: root(mapSchema(schema, (node) => structural(node, strict))) },
        },
      ],
    },
  }
}

/** The root schema, in which `metadata` is only an object, because the API server itself validates metadata. */
function root({ properties, ...rest }: SchemaTree): SchemaTree {
  return { ...rest, properties: { ...properties, metadata: { type: 'object' } } }
}

/** Converts a node of a schema to a node of a structural schema; the children of `node` are already converted. */
function structural(node: SchemaTree, strict: boolean): SchemaTree {
  const untyped = typeof node.type !== 'string'
  const fields = Object.entries(node.properties ?? {})
  const declared = fields.filter(([, field]) => field !== NEWER)
  const holdsNewer = declared.length < fields.length
  if (node.newer === true) return NEWER
  return {
    description: node.description,
    ...(untyped ? {} : { type: node.type }),
    ...(node.format === undefined ? {} : { format: node.format }),
    ...(untyped || !strict ? {} : constraints(node)),
    ...(untyped || declared.length === 0 ? {} : { properties: Object.fromEntries(declared) }),
    ...(node.items && { items: node.items }),
    ...(node.additionalProperties && { additionalProperties: node.additionalProperties }),
    ...(untyped || node.open === true || holdsNewer ? { [PRESERVE]: true } : {}),
  }
}

/**
 * Stands for the schema of a field that only newer releases have. CRDs do not declare the field; its parent object
 * preserves unknown fields instead.
 */
const NEWER: SchemaTree = {}

function constraints(node: SchemaTree): SchemaTree {
  const decided = (node.decided ?? []) as readonly string[]
  const stated = CONSTRAINTS.filter((keyword) => keyword in node && !decided.includes(keyword))
  return {
    ...Object.fromEntries(stated.map((keyword) => [keyword, node[keyword]])),
    ...(node.rePattern === undefined ? {} : { pattern: node.rePattern }),
    ...(node.required === undefined || node.required.length === 0 ? {} : { required: node.required }),
  }
}
