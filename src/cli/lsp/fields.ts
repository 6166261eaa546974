import { kindOf, type DocumentReading } from '../../documents/index.ts'
import { kindNamed } from '../../kinds/index.ts'
import { constraintTexts, defaultText, typeText } from '../../kinds/schema-fields.ts'
import type { SchemaTree } from '../../kinds/schema-tree.ts'
import { isObject } from '../../rule/index.ts'
import type { JsonPath } from './symbols.ts'

/** The schema for an object whose kind this project judges; the object may still lack its `apiVersion`. */
export function schemaOf(object: unknown, reading: DocumentReading): SchemaTree | undefined {
  if (!isObject(object)) return undefined
  const kind =
    kindOf(object, reading) ??
    (object.apiVersion === undefined ? kindNamed.get(String(object.kind)) : undefined)
  return kind?.schema as SchemaTree | undefined
}

/** The schema of the value at a path; undefined when there is none. */
export function nodeAt(node: SchemaTree | undefined, path: JsonPath): SchemaTree | undefined {
  let found = node
  for (const step of path)
    found =
      typeof step === 'number' ? found?.items : (found?.properties?.[step] ?? found?.additionalProperties)
  return found
}

const code = (text: string): string => `\`${text}\``

/** The description of a field, in Markdown. */
export function fieldText(name: string, node: SchemaTree, required: boolean): string {
  const written = defaultText(node, code)
  const facts = [
    `${typeText(node)}${required ? ', required' : ''}`,
    ...(written === undefined ? [] : [`default ${written}`]),
    ...constraintTexts(node, code),
  ]
  return [`**${name}**: ${facts.join('; ')}`, node.description ?? ''].join('\n\n').trimEnd()
}
