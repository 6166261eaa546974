import type { Segment } from '../rule/path.ts'
import type { Finding } from './finding.ts'

/** `${NAME}`, `$NAME`, `{{ … }}` and `<NAME>` (decision 28, specification 5.3). */
const PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|\$[A-Za-z_]\w*|\{\{[^{}]*\}\}|<[A-Z][A-Z0-9_-]*>/
const MATCHER_PLACEHOLDER = /\$\{[A-Za-z_]\w*\}|<[A-Z][A-Z0-9_-]*>/

export function placeholdersIn(_resource: unknown): Finding[] {
  return []
}
export { MATCHER_PLACEHOLDER, PLACEHOLDER, type Segment }
