import type { Kind } from '../kinds/kind.ts'
import { type Release, type ReleaseSchema, schemaAt } from '../release/index.ts'
import { type Finding, type Fix, isObject, jsonKey, nearest, type Segment } from '../rule/index.ts'
import { renameFix, type SchemaNode } from '../shape/index.ts'

/** A field that came with a release of the operator. */
export interface NewerField {
  readonly at: readonly Segment[]
  /** The release, such as `0.43`. */
  readonly since: string
}

/**
 * Fields that the specification does not name, where it names all of them (decision 2): as findings those that no release
 * has, and apart from them those that came with a release. Where the installed release is known, its schema says instead
 * which fields there are. For the CLI: at the webhook the API server has dropped what its CRD does not know.
 */
export function unknownFields(
  kind: Kind,
  resource: unknown,
  release?: Release,
): { readonly findings: readonly Finding[]; readonly newer: readonly NewerField[] } {
  const schema = release?.schemas.get(kind.kind)
  const installed = release === undefined || schema === undefined ? undefined : { name: release.name, schema }
  const searched: Search = { installed, findings: [], newer: [] }
  search(kind.schema, resource, [], searched)
  return searched
}

interface Search {
  readonly installed: { readonly name: string; readonly schema: ReleaseSchema } | undefined
  readonly findings: Finding[]
  readonly newer: NewerField[]
}

/** A field that only releases have: the installed one says which fields it holds. */
const ANY: SchemaNode = {}

function search(node: SchemaNode, value: unknown, at: readonly Segment[], searched: Search): void {
  const { installed, findings, newer } = searched
  const { open, properties, additionalProperties, items } = node
  const deeper = (child: SchemaNode, field: unknown, segment: Segment) =>
    search(child, field, [...at, segment], searched)
  if (Array.isArray(value) && items !== undefined) {
    for (const [i, item] of value.entries()) deeper(items, item, i)
  }
  if (!isObject(value)) return
  for (const [name, field] of Object.entries(value)) {
    const known = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
    const place = [...at, name]
    if (known === undefined && additionalProperties !== undefined) {
      deeper(additionalProperties, field, { key: name })
    } else if (installed !== undefined && at.length > 0) {
      if (schemaAt(installed.schema, place) === undefined) {
        const near = meant(name, Object.keys(schemaAt(installed.schema, at)?.properties ?? {}))
        const fix = fixOf(place, value, near, properties)
        findings.push(unknownField(place, `${installed.name} does not have this field`, near, fix, DROPPED))
      } else deeper(known ?? ANY, field, name)
    } else if (known?.since !== undefined && !open) {
      const told = name === value.type && isUnsupported(name, properties?.type)
      if (!told) newer.push({ at: place, since: known.since })
    } else if (known !== undefined) {
      deeper(known, field, name)
    } else if (properties !== undefined && !open) {
      const near = meant(name, Object.keys(properties))
      const told = name === value.type && near === undefined && isUnsupported(name, properties.type)
      if (!told)
        findings.push(
          unknownField(place, 'is not in the specification', near, fixOf(place, value, near, properties)),
        )
    }
  }
}

/** A near name is meant for certain, one that only begins alike is not. */
function fixOf(
  at: readonly Segment[],
  holder: Readonly<Record<string, unknown>>,
  near: string | undefined,
  properties: SchemaNode['properties'] = {},
): Fix | undefined {
  const isCertain =
    near !== undefined && near === nearest(String(jsonKey(at.at(-1) ?? '')), Object.keys(properties))
  return isCertain ? renameFix(at, holder, near, properties[near]) : undefined
}

/** A near name, or else the only one that begins so: `value` for `valueSecretRef`. */
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

const DROPPED = 'kubectl refuses it, and the API server drops it'

function unknownField(
  at: readonly Segment[],
  what: string,
  near: string | undefined,
  fix: Fix | undefined,
  consequence = 'a cluster whose CRD does not know it drops or refuses it',
): Finding {
  const advice = near === undefined ? consequence : `did you mean '${near}'`
  return {
    id: 'unknown-field',
    severity: 'warning',
    error: { type: 'advice', at, detail: `${what}; ${advice}`, ...(fix && { fix }) },
  }
}
