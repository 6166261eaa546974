import type { Plan } from '../../access/effective-authentication.ts'
import { readPage } from '../program-files.ts'
import { describedAs } from './id-page.ts'
import type { Format, JudgedResource, Located, ReportedFinding } from './report.ts'

/** The data of an audit page. Contains no fixes, because these include text of the objects. */
export interface AuditData {
  readonly scope: string
  readonly findings: readonly ReportedFinding[]
  readonly judged: readonly JudgedResource[]
  readonly notes: readonly Located[]
  readonly unread: readonly Located[]
  readonly ignored: number
  readonly plans: readonly Plan[]
  /** The descriptions of the rules that have findings, by id. */
  readonly about: Readonly<Record<string, { readonly summary: string; readonly why: string }>>
}

/** A single HTML file: the findings by namespace, and the effective authentication. */
export const printHtml: Format = (
  { findings, judged, notes, notJudged, unread, ignored },
  { scope, plans },
) => {
  const ids = new Set(findings.map(({ id }) => id))
  const about = [...ids].flatMap((id) => {
    const found = describedAs(id)
    return found === undefined ? [] : [[id, { summary: found.summary, why: found.why }] as const]
  })
  const data: AuditData = {
    scope,
    findings: findings.map((finding) => ({ ...finding, fix: null })),
    judged,
    notes: [...notJudged, ...notes],
    unread,
    ignored: ignored.length,
    plans: plans(),
    about: Object.fromEntries(about),
  }
  const json = JSON.stringify(data).replaceAll('<', '\\u003c')
  return readPage('audit').replace(
    /(<script type="application\/json" id="audit">)\s*null\s*</,
    (_, head: string) => `${head}${json}<`,
  )
}
