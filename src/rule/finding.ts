import { errorBody, type FieldError } from './field-error.ts'
import type { Undecided } from './budget.ts'
import { jsonKey, pathText, type Segment, shownPath } from './path.ts'
import { compareText } from './compare-text.ts'

/** A field error, the id of the rule or constraint it comes from, and how severe it is. */
export interface Finding {
  readonly id: string
  readonly severity: 'error' | 'warning' | 'advice'
  readonly error: FieldError
  /** The JSON Schema keyword that is violated: set by the schema of the kind, or by a rule that has a `constraint`. */
  readonly constraint?: string
  /** The start of the text when an error became a warning: `would be denied: `. */
  readonly prefix?: string
  /**
   * Set where an error became a warning: in a trial or a dry run, when other objects could not be read, or by the
   * ratchet.
   */
  readonly wasError?: true
  /** Set for a refusal of a CRD that an error of the specification reports too. */
  readonly repeats?: true
  /** The exception that the rule threw; for the log. */
  readonly failure?: unknown
  /** Set when this finding represents several others that are not shown. */
  readonly more?: true
}

/** The most findings of one rule, or of the schema, for one object: a request may hold a million mistakes. */
export const MOST_FINDINGS = 1_000

/** The id of the error which says that part of an object was not judged. */
export const NOT_JUDGED = 'object-judged-whole'

/** An error at the first violation that is not shown; it says that the object was not judged beyond this violation. */
export const andNotJudged = (at: readonly Segment[]): Finding => ({
  id: NOT_JUDGED,
  severity: 'error',
  error: {
    type: 'forbidden',
    at,
    detail: `over ${MOST_FINDINGS} violations of the schema; the object is not judged further until they are fewer`,
  },
  more: true,
})

/** The id of the finding which says that a check ran out of budget. */
export const UNDECIDED = 'decided-within-budget'

/** The finding which says that the check of the value at a path ran out of budget; all other rules ran as usual. */
export const notDecided = ({ at, isCompiled }: Undecided): Finding => ({
  id: UNDECIDED,
  severity: 'warning',
  error: {
    type: 'advice',
    at,
    detail: isCompiled
      ? 'is not fully checked within the budget of one object, so findings about it may be missing; write it with fewer parts'
      : 'is not compiled within the budget of one object, so its errors and those of later expressions are not reported; write shorter ones',
  },
})

/** The finding that replaces all findings beyond `MOST_FINDINGS`, at the path of the first of them. */
export function andMore({ id, severity, error: { at } }: Finding): Finding {
  const detail = `and more; only the first ${MOST_FINDINGS} are shown`
  return { id, severity, error: { type: 'advice', at, detail }, more: true }
}

/** The text of a finding without its path, as a `StatusCause` has it: `Required value: detail (id)`. */
export function causeText({ error, id }: Finding): string {
  return `${errorBody(error)} (${id})`
}

/** The fields of a finding that reports of every format have. */
export interface DescribedFinding {
  readonly severity: Finding['severity']
  readonly id: string
  /** The path of the field; empty for the whole object. */
  readonly path: string
  readonly message: string
}

export const describeFinding = (finding: Finding): DescribedFinding => ({
  severity: finding.severity,
  id: finding.id,
  path: finding.error.at.length === 0 ? '' : pathText(finding.error.at),
  message: (finding.prefix ?? '') + causeText(finding),
})

/** The text of a finding with its path: `spec.type: Required value (id)`. */
export function findingText(finding: Finding): string {
  return withPlace(finding, causeText(finding))
}

/** The prefix and the path of the finding, then the text `cause`. */
export function withPlace({ error, prefix = '' }: Finding, cause: string): string {
  const place = error.at.length === 0 ? '' : `${shownPath(error.at)}: `
  return prefix + place + cause
}

/**
 * Orders findings by path (list items in order, names alphabetically), then by id, then by text; "and more" comes last.
 * So the order in which rules run does not matter.
 */
export function compareFindings(a: Finding, b: Finding): number {
  return (
    Number(a.more ?? false) - Number(b.more ?? false) ||
    compareSegments(a.error.at, b.error.at) ||
    compareText(a.id, b.id) ||
    compareText(a.error.detail, b.error.detail)
  )
}

function compareSegments(a: readonly Segment[], b: readonly Segment[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [jsonKey(a[i] ?? ''), jsonKey(b[i] ?? '')]
    const order = typeof x === 'number' && typeof y === 'number' ? x - y : compareText(String(x), String(y))
    if (order !== 0) return order
  }
  return a.length - b.length
}
