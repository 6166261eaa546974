import { outsideStringLiterals } from '../cel/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Segment } from '../rule/path.ts'
import { isObject, type Resource } from '../rule/resource.ts'
import { type Finding, MOST_FINDINGS } from './finding.ts'
import { fieldOf, isKeyOfMap, type SchemaNode, segmentsOf } from './pointer.ts'

/** A string in which a deployment tool was to fill something in (decision 28, specification 5.3). */
export interface Placeholder {
  readonly at: readonly Segment[]
  /** As it stands: `${REGION}`. */
  readonly text: string
  /** For a map: the members whose keys hold one. */
  readonly members?: readonly (readonly Segment[])[]
}

const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
/** In a matcher `$` and `{` may be CEL; a template that is the whole text is never CEL. */
const IN_EXPRESSION = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>|^\s*\{\{[^{}]*\}\}\s*$/
/** In fields that the specification does not name `$NAME` may be shell and `{{ … }}` a template of run time. */
const IN_OPEN_FIELD = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

/** What every placeholder begins with, plain or as an escape. */
const SIGNS = ['$', '<', '{{', '\\u00']

/** Whether a string in the JSON text may hold a placeholder: nearly always not, and then none is searched for. */
export const mayHoldPlaceholders = (json: string): boolean => SIGNS.some((sign) => json.includes(sign))

/** Whether a text of a field that the specification names holds one. */
export const holdsPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

/**
 * The strings of the spec that hold a placeholder: the first one of each string, and of a thousand strings. For a key
 * of a map it is the map, and then those within: nobody knows which of its members there will be.
 */
export function placeholdersIn(kind: Kind, { spec }: Resource): Placeholder[] {
  const found: Placeholder[] = []
  const keys: (string | number)[] = ['spec']
  const search = (value: unknown, node: SchemaNode | undefined): void => {
    if (found.length === MOST_FINDINGS) return
    if (typeof value === 'string') {
      const text = placeholder(value, node === undefined ? IN_OPEN_FIELD : PLACEHOLDER, keys)
      if (text !== undefined) found.push({ at: segmentsOf(kind.schema, keys), text })
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) step(i, value[i], node?.items)
    } else if (isObject(value)) {
      const names = Object.keys(value)
      const keysOfMap = node?.additionalProperties === undefined ? [] : names
      const templates = keysOfMap.filter((key) => holdsPlaceholder(key) && isKeyOfMap(node, key))
      const text = templates[0] === undefined ? undefined : placeholder(templates[0], PLACEHOLDER, keys)
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

/** The advice of the webhook: the value was to be filled in on the way and was not. */
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
