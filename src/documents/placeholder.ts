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
  /** For a map: the paths of the members whose keys hold a placeholder. */
  readonly members?: readonly (readonly Segment[])[]
}

const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
/** Placeholders in a matcher: `$` and `{` may be CEL there, except for a template that is the whole text. */
const IN_EXPRESSION = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>|^\s*\{\{[^{}]*\}\}\s*$/
/**
 * Placeholders in fields that the specification does not name: `$NAME` may be shell there, and `{{ … }}` a template for
 * run time.
 */
const IN_OPEN_FIELD = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

/** The first characters of every placeholder, plain or escaped in JSON. */
const SIGNS = ['$', '<', '{{', '\\u00']

/** Whether a string in the JSON text may hold a placeholder. Nearly always false, and then nothing searches for one. */
export const mayHoldPlaceholders = (json: string): boolean => SIGNS.some((sign) => json.includes(sign))

/**
 * Whether a text of a field that the specification names holds a placeholder; `own` finds those of the configuration
 * file.
 */
export const holdsPlaceholder = (text: string, own?: FindPlaceholder): boolean =>
  PLACEHOLDER.test(text) || own?.(text) !== undefined

/**
 * The strings of the spec that hold a placeholder: the first one in each string, in at most a thousand strings. A map
 * with one in a key comes before the placeholders in it, because its members are unknown.
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

/** The warning of the webhook: no tool replaced the placeholder before the object was applied. */
export function unresolved({ at, text }: Placeholder): Finding {
  const detail = `holds the placeholder ${shown(text)}, which nothing filled in on the way to the cluster`
  return { id: 'unresolved-placeholder', severity: 'warning', error: { type: 'advice', at, detail } }
}

function placeholder(text: string, sign: RegExp, keys: readonly (string | number)[]): string | undefined {
  if (!text.includes('$') && !text.includes('<') && !text.includes('{{')) return undefined
  if (keys.at(-1) === 'matcher') return IN_EXPRESSION.exec(outsideStringLiterals(text))?.[0].trim()
  return sign.exec(text)?.[0]
}

const shown = (text: string) => (text.length <= 60 ? text : `${text.slice(0, 60)}…`)
