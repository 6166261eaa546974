import type { Kind } from '../kinds/kind.ts'
import { nearest } from '../rule/nearest.ts'
import type { Segment } from '../rule/path.ts'
import { isObject } from '../rule/resource.ts'
import type { Finding } from './finding.ts'
import type { SchemaNode } from './pointer.ts'

/**
 * Fields that the specification does not name, where it names all of them (decision 2). For the CLI: at the webhook
 * the API server has dropped what its CRD does not know, so what is left belongs to a newer CRD.
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
      found.push(unknownField([...at, name], name, Object.keys(properties)))
    }
  }
}

function unknownField(at: readonly Segment[], name: string, known: readonly string[]): Finding {
  const near = nearest(name, known)
  const advice =
    near === undefined
      ? 'is not in the specification; a cluster whose CRD does not know it drops or refuses it'
      : `is not in the specification; did you mean '${near}'`
  return { id: 'unknown-field', severity: 'warning', error: { type: 'advice', at, detail: advice } }
}
