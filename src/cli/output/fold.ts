import type { ReportedFinding } from './report.ts'

/** A finding to print, with findings of other objects about the same contradiction. */
export interface Told {
  readonly finding: ReportedFinding
  readonly others: readonly ReportedFinding[]
}

/**
 * Groups findings with a common cause. The most severe finding of each group is printed; of several equally severe
 * findings, the one whose object is mentioned by the most findings of the group.
 */
export function foldCauses(findings: readonly ReportedFinding[]): Told[] {
  const groups = new Map<string, ReportedFinding[]>()
  const alone: ReportedFinding[] = []
  for (const finding of findings) {
    if (finding.causes.length === 0) {
      alone.push(finding)
      continue
    }
    const known = new Set(finding.causes.flatMap((cause) => groups.get(cause) ?? []))
    const joined = [...known, finding]
    const causes = new Set(joined.flatMap((each) => each.causes))
    for (const cause of causes) groups.set(cause, joined)
  }
  const order = new Map(findings.map((finding, i) => [finding, i]))
  const told = [
    ...alone.map((finding) => ({ finding, others: [] })),
    ...Array.from(new Set(groups.values()), (group) => toldOf(group)),
  ]
  const place = ({ finding }: Told) => order.get(finding) ?? 0
  return told.toSorted((a, b) => place(a) - place(b))
}

const WEIGHTS = { error: 0, warning: 1, advice: 2 } as const

function toldOf(group: readonly ReportedFinding[]): Told {
  const named = new Map<string, number>()
  for (const { related } of group)
    for (const name of new Set(related.map(nameOf))) named.set(name, (named.get(name) ?? 0) + 1)
  const [finding, ...others] = group.toSorted(
    (a, b) =>
      WEIGHTS[a.severity] - WEIGHTS[b.severity] || (named.get(nameOf(b)) ?? 0) - (named.get(nameOf(a)) ?? 0),
  )
  if (finding === undefined) throw new Error('a group has a finding')
  return { finding, others }
}

const nameOf = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind}/${name}`
