import { outsideStringLiterals } from '../cel/index.ts'
import type { Kind } from '../kinds/kind.ts'
import { type Finding, isObject, MOST_FINDINGS, type Resource, type Segment } from '../rule/index.ts'
import type { FindPlaceholder } from './own-placeholders.ts'
import { fieldOf, isKeyOfMap, type SchemaNode, segmentsOf } from '../shape/index.ts'

/** A string with a placeholder that a deployment tool should have replaced (decision 28, specification 5.3). */
export interface Placeholder {
  readonly at: readonly Segment[]
  /** The placeholder as written: `${REGION}`. */
  readonly text: string
  /** The paths of the members of a map whose keys contain placeholders; absent for a placeholder in a string. */
  readonly members?: readonly (readonly Segment[])[]
}

const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
/** Placeholders in a matcher: not `$NAME`, nor `{{ … }}` inside other text, which may be part of the CEL expression. */
const IN_EXPRESSION = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>|^\s*\{\{[^{}]*\}\}\s*$/
/**
 * Placeholders in fields that the specification does not name: not `$NAME`, which may be shell there, and not `{{ …
 * }}`, which may be a template for run time.
 */
const IN_OPEN_FIELD = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

/** The first characters of every placeholder, plain or escaped in JSON. */
const SIGNS = ['$', '<', '{{', '\\u00']

/** Whether a string in the JSON text may contain a placeholder. Nearly always false: then the search is skipped. */
export const mayHoldPlaceholders = (json: string): boolean => SIGNS.some((sign) => json.includes(sign))

/**
 * Whether the value of a field that the specification names contains a placeholder; `own` finds the placeholders that
 * the configuration file defines.
 */
export const holdsPlaceholder = (text: string, own?: FindPlaceholder): boolean =>
  PLACEHOLDER.test(text) || own?.(text) !== undefined

/**
 * The placeholders in the strings of the spec: the first one of each string, in at most a thousand strings. A map with
 * placeholders in its keys comes before the placeholders inside it, because its members are unknown.
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
