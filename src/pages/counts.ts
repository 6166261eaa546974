import { counted, type ReportedFinding } from '../cli/output/report.ts'

/** The numbers of errors and warnings as text: `3 errors, 2 warnings`; `no errors, no warnings` for none. */
export function countText(findings: readonly ReportedFinding[]): string {
  const of = (severity: string) => findings.filter((finding) => finding.severity === severity).length
  const [errors, warnings, advice] = [of('error'), of('warning'), of('advice')]
  return [
    errors === 0 ? 'no errors' : counted(errors, 'error'),
    warnings === 0 ? 'no warnings' : counted(warnings, 'warning'),
    ...(advice === 0 ? [] : [`${advice} advice`]),
  ].join(', ')
}
