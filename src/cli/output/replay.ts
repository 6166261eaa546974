import type { GivenSubject } from '../../documents/index.ts'
import { counted } from './report.ts'
import { json, visible } from './visible.ts'

/** A finding, with the number and times of the writes that have it. */
export interface RepeatedFinding extends GivenSubject {
  readonly severity: 'error' | 'warning' | 'advice'
  readonly id: string
  readonly path: string
  readonly message: string
  readonly writes: number
  /** The time of the first write with the finding, as written in the log; `last` is the time of the last such write. */
  readonly first: string
  readonly last: string
  readonly users: readonly string[]
}

/** The verdicts on the writes of an audit log. */
export interface Replayed {
  readonly judged: number
  readonly denied: number
  /** Number of writes that would be admitted with a warning. */
  readonly warned: number
  /** Number of writes that the API server refused at the time; they are not judged. */
  readonly refused: number
  /** Number of updates of objects whose earlier content the log does not contain. */
  readonly unknownBefore: number
  /** Number of writes that are not judged, by reason. */
  readonly notJudged: Readonly<Record<string, number>>
  readonly findings: readonly RepeatedFinding[]
}

export const replayJson = (replayed: Replayed): string => json({ version: 1, ...replayed })

const HEADS = {
  error: 'would have been denied',
  warning: 'would have been admitted with a warning',
  advice: 'would have been admitted with advice',
}

/** The report as text: the findings, by verdict and object, then the counts, and the writes that were not judged. */
export function replayText(replayed: Replayed): string {
  const { judged, denied, warned, refused, unknownBefore, notJudged, findings } = replayed
  const left = Object.entries(notJudged)
  const parts = (['error', 'warning', 'advice'] as const).map((severity) =>
    findings.filter((finding) => finding.severity === severity),
  )
  const lines = [
    ...parts.flatMap(([first, ...more]) =>
      first === undefined ? [] : [HEADS[first.severity], ...[first, ...more].flatMap(linesOf), ''],
    ),
    `${counted(judged, 'write')} judged: ${denied} would have been denied, ${warned} admitted with a warning`,
    ...(refused === 0 ? [] : [`  ${refused} refused at that time, and not judged`]),
    ...left.map(([why, count]) => `  ${count} not judged: ${why}`),
    ...(unknownBefore === 0
      ? []
      : [
          `  ${counted(unknownBefore, 'update')} of objects that the log had not shown before: what they held already would be a warning`,
        ]),
  ]
  return lines.map((line) => `${visible(line)}\n`).join('')
}

function linesOf({
  kind,
  namespace,
  name,
  path,
  message,
  writes,
  first,
  last,
  users,
}: RepeatedFinding): string[] {
  const when = writes === 1 ? first : `${writes} writes, ${first} to ${last}`
  return [
    `  ${kind} ${namespace}/${name}: ${path === '' ? '' : `${path}: `}${message}`,
    `    ${when}, by ${users.join(', ')}`,
  ]
}
