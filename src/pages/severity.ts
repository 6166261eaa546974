import type { ReportedFinding } from '../cli/output/report.ts'
import { h, svg } from './dom.ts'

type Severity = ReportedFinding['severity']

const SHAPES: Readonly<Record<Severity, string>> = {
  error: 'M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2zM8 4.2v4.6M8 11.2v.8',
  warning: 'M8 1.6 15.2 14.4H.8zM8 6v4.2M8 12v.6',
  advice: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1M8 7.2v4.4M8 4.4v.8',
}

/** A sign and the name of a severity; signs differ in shape, because not everyone can see colours. */
export const badge = (severity: Severity): HTMLElement =>
  h(
    'span',
    { class: `badge ${severity}` },
    svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: SHAPES[severity] })),
    severity,
  )
