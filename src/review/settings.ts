import { pathTextWithoutIndexes, type Segment } from '../rule/path.ts'
import type { Severity } from '../rule/rule.ts'

/** How findings are weighed: the whole of what an operator can set about rules (decision 7). */
export interface Settings {
  readonly mode: 'enforce' | 'warn'
  /** The last one that applies counts. */
  readonly severities: readonly SeveritySetting[]
}

export interface SeveritySetting {
  readonly id: string
  /** A path without list indexes; every path when absent. */
  readonly path?: string
  /** Every namespace when absent. */
  readonly namespaces?: readonly string[]
  readonly severity: Severity
}

export const DEFAULT_SETTINGS: Settings = { mode: 'enforce', severities: [] }

/** A resource whose JSON types are wrong cannot be read by anyone, so this one is always an error. */
const FIXED = new Set(['schema-type', 'request-kind-agrees'])

/** The severity of a finding at a place, given the severity of its rule. */
export function severityAt(
  settings: Settings,
  finding: { readonly id: string; readonly at: readonly Segment[]; readonly namespace: string },
  severity: Severity,
): Severity {
  if (settings.severities.length === 0 || FIXED.has(finding.id)) return severity
  const set = settings.severities.findLast(
    ({ id, path, namespaces }) =>
      id === finding.id &&
      (path === undefined || path === pathTextWithoutIndexes(finding.at)) &&
      (namespaces?.includes(finding.namespace) ?? true),
  )
  return set?.severity ?? severity
}

const SETTING =
  /^([A-Za-z][A-Za-z0-9-]*)(?::([^=@]+))?=(error|warning|off)(?:@([a-z0-9-]+(?:,[a-z0-9-]+)*))?$/

/** Reads `ID[:PATH]=error|warning|off[@NAMESPACE,…]`; a string when it is not that: what to write instead. */
export function parseSeveritySetting(text: string, knownIds: ReadonlySet<string>): SeveritySetting | string {
  const match = SETTING.exec(text)
  if (match === null) return `'${text}' is not ID[:PATH]=error|warning|off[@NAMESPACE,...]`
  const [, id = '', path, severity, namespaces] = match
  if (!knownIds.has(id)) return `'${id}' is not the id of a rule; docs/rules.md lists them`
  if (FIXED.has(id)) return `'${id}' is always an error`
  return {
    id,
    ...(path === undefined ? {} : { path }),
    ...(namespaces === undefined ? {} : { namespaces: namespaces.split(',') }),
    severity: severity as Severity,
  }
}
