import { allows } from '../release/allows.ts'
import type { Release } from '../release/release.ts'
import { valueAt } from '../rule/path.ts'
import type { Finding } from './finding.ts'

/**
 * The findings in an object of the kind, where the installed release goes first (decision 3): an error of a constraint
 * that it does not share is a warning that says so.
 */
export function yielding(
  findings: readonly Finding[],
  {
    kind,
    value,
    release,
  }: { readonly kind: string; readonly value: unknown; readonly release: Release | undefined },
): readonly Finding[] {
  const schema = release?.schemas.get(kind)
  if (schema === undefined || release === undefined) return findings
  return findings.map((finding) => {
    const { constraint: keyword, severity, error } = finding
    if (keyword === undefined || severity !== 'error') return finding
    if (!allows(schema, { keyword, at: error.at, value: valueAt(value, error.at) })) return finding
    const note = `${release.name} allows this; the specification does not`
    const detail = error.detail === '' ? note : `${error.detail}; ${note}`
    return { ...finding, severity: 'warning', error: { ...error, detail } }
  })
}
