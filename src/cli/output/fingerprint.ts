import { createHash } from 'node:crypto'
import type { ReportedFinding } from './report.ts'

type Fingerprinted = Pick<ReportedFinding, 'id' | 'file' | 'kind' | 'namespace' | 'name' | 'path'>

/**
 * A fingerprint for each finding, in their order: what is wrong, in which file, at which field of which object, and not on
 * which line, so that a line that is added above changes none. 64 hexadecimal digits, each one once.
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
