import { outsideStringLiterals } from '../cel/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Finding, isObject, MOST_FINDINGS, type Resource, type Segment } from '../rule/index.ts'
import type { FindPlaceholder } from './own-placeholders.ts'
import { fieldOf, isKeyOfMap, type SchemaNode, segmentsOf } from '../shape/index.ts'

/** A placeholder in a string or map key that a tool should have replaced (decision 28, specification 5.3). */
export interface Placeholder {
  readonly at: readonly Segment[]
  /** The placeholder as written: `${REGION}`. */
  readonly text: string
  /** For a map: the paths of its members with a placeholder in their key. Absent for a placeholder in a string. */
  readonly members?: readonly (readonly Segment[])[]
}

const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
/**
 * The placeholders that are searched in a matcher. `$NAME`, and `{{ … }}` inside other text, are not: they may be
 * part of the CEL expression.
 */
const IN_EXPRESSION = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>|^\s*\{\{[^{}]*\}\}\s*$/
/**
 * The placeholders that are searched in fields that the specification does not name. `$NAME` and `{{ … }}` are not:
 * there they may be shell code, or a template for run time.
 */
const IN_OPEN_FIELD = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

/** The first characters of every placeholder, plain or escaped in JSON. */
const SIGNS = ['$', '<', '{{', '\\u00']

/** Whether a string in the JSON text may contain a placeholder. Nearly always false: then the search is skipped. */
export const mayHoldPlaceholders = (json: string): boolean => SIGNS.some((sign) => json.includes(sign))

/**
 * Whether `text` contains a placeholder of any common form, or one that the configuration file defines (`own`). Not
 * for matchers and fields outside the specification, where some of these forms may have another meaning.
 */
export const holdsPlaceholder = (text: string, own?: FindPlaceholder): boolean =>
  PLACEHOLDER.test(text) || own?.(text) !== undefined

/**
 * The placeholders in the strings and map keys of the spec: the first one of each string, and one for all keys of a
 * map, before the placeholders inside the map. At most `MOST_FINDINGS` in all.
 */
export function placeholdersIn(kind: Kind, { spec }: Resource, own?: FindPlaceholder): Placeholder[] {
  const found: Placeholder[] = []
  const keys: (string | number)[] = ['spec']
  const search = (value: unknown, node: SchemaNode | undefined): void => {
    if (found.length === MOST_FINDINGS) return
    if (typeof value === 'string') {
      const text = own?.(value) ?? placeholder(value, node === undefined ? IN_OPEN_FIELD : PLACEHOLDER, keys)
      if (text !== undefined) found.push({ at: segmentsOf(kind.schema, keys), text })
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) step(i, value[i], node?.items)
    } else if (isObject(value)) {
      const names = Object.keys(value)
      const keysOfMap = node?.additionalProperties === undefined ? [] : names
      const templates = keysOfMap.filter((key) => holdsPlaceholder(key, own) && isKeyOfMap(node, key))
      const text =
        templates[0] === undefined
          ? undefined
          : (own?.(templates[0]) ?? placeholder(templates[0], PLACEHOLDER, keys))
      if (text !== undefined) {
        const at = segmentsOf(kind.schema, keys)
        found.push({ at, text, members: templates.map((key) => [...at, { key }]) })
      }
      for (const key of names) step(key, value[key], fieldOf(node, key))
    }
  }
  const step = (key: string | number, value: unknown, node: SchemaNode | undefined): void => {
    keys.push(key)
    search(value, node)
    keys.pop()
  }
  search(spec, fieldOf(kind.schema, 'spec'))
  return found
}

/** The warning of the webhook that an object was applied although a placeholder in it was not replaced. */
export function unresolved({ at, text }: Placeholder): Finding {
  const detail = `holds the placeholder ${shown(text)}, which nothing filled in, so the text is used as it stands; write the value`
  return { id: 'unresolved-placeholder', severity: 'warning', error: { type: 'advice', at, detail } }
}

function placeholder(text: string, sign: RegExp, keys: readonly (string | number)[]): string | undefined {
  if (!text.includes('$') && !text.includes('<') && !text.includes('{{')) return undefined
  if (keys.at(-1) === 'matcher') return IN_EXPRESSION.exec(outsideStringLiterals(text))?.[0].trim()
  return sign.exec(text)?.[0]
}

const shown = (text: string) => (text.length <= 60 ? text : `${text.slice(0, 60)}…`)
