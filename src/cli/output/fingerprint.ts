import { createHash } from 'node:crypto'
import type { ReportedFinding } from './report.ts'

type Fingerprinted = Pick<ReportedFinding, 'id' | 'file' | 'kind' | 'namespace' | 'name' | 'path'>

/**
 * A fingerprint for each finding, in the same order, made of the id, the file, the object and the field. The line is
 * not included, so that adding a line above changes no fingerprint. Each has 64 hexadecimal digits and is unique.
 */
export function fingerprints(findings: readonly Fingerprinted[]): string[] {
  const seen = new Map<string, number>()
  return findings.map(({ id, file, kind, namespace, name, path }) => {
    const what = JSON.stringify([id, file, kind, namespace, name, path])
    const count = seen.get(what) ?? 0
    seen.set(what, count + 1)
    return createHash('sha256').update(`${what}${count}`).digest('hex')
  })
}
