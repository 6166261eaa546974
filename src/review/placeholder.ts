import { outsideStringLiterals } from '../cel/index.ts'
import type { Kind } from '../kinds/kind.ts'
import type { Segment } from '../rule/path.ts'
import type { Resource } from '../rule/resource.ts'
import { type Finding, MOST_FINDINGS } from './finding.ts'
import { segmentsOf } from './pointer.ts'

/** A string in which a deployment tool was to fill something in (decision 28, specification 5.3). */
export interface Placeholder {
  readonly at: readonly Segment[]
  /** As it stands: `${REGION}`. */
  readonly text: string
}

const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
const IN_EXPRESSION = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

/** The strings of the spec that hold a placeholder: the first one of each string, and of a thousand strings. */
export function placeholdersIn(kind: Kind, { spec }: Resource): Placeholder[] {
  const found: Placeholder[] = []
  const keys = ['spec']
  const search = (value: unknown): void => {
    if (found.length === MOST_FINDINGS) return
    if (typeof value === 'string') {
      const text = placeholder(value, keys)
      if (text !== undefined) found.push({ at: segmentsOf(kind.schema, keys), text })
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, field] of Object.entries(value)) {
        keys.push(key)
        search(field)
        keys.pop()
      }
    }
  }
  search(spec)
  return found
}

/** The advice of the webhook: the value was to be filled in on the way and was not. */
export function unresolved({ at, text }: Placeholder): Finding {
  const detail = `holds the placeholder ${shown(text)}, which nothing filled in on the way to the cluster`
  return { id: 'unresolved-placeholder', severity: 'warning', error: { type: 'advice', at, detail } }
}

function placeholder(text: string, keys: readonly string[]): string | undefined {
  if (!text.includes('$') && !text.includes('<') && !text.includes('{{')) return undefined
  return keys.at(-1) === 'matcher'
    ? IN_EXPRESSION.exec(outsideStringLiterals(text))?.[0]
    : PLACEHOLDER.exec(text)?.[0]
}

const shown = (text: string) => (text.length <= 60 ? text : `${text.slice(0, 60)}…`)
