import type { Expr } from './ast.ts'
import { check } from './checker.ts'
import type { CelGoVersion, CheckProblem, CheckResult, SettledCalls } from './checker.ts'
import { parse } from './parser.ts'

/** The most UTF-8 bytes of a matcher, as in ToolHive. */
export const maxBytes = 10_000

/** `line` and `column` count from 1; columns count code points, as in cel-go. */
export interface MatcherError {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type MatcherVerdict =
  | {
      readonly ok: true
      readonly expr: Expr
      /**
       * The CEL type of the expression: `bool`, `dyn`, `int`, `map(string, dyn)`, …; the code that calls `checkMatcher`
       * decides which types a matcher may have.
       */
      readonly type: string
      /** The first error of the version of cel-go that refuses the matcher; absent when both versions compile it. */
      readonly refusedBy?: MatcherError & { readonly version: CelGoVersion }
      /**
       * For each version of cel-go: the calls whose argument types are fixed when the matcher is compiled; the
       * evaluation needs them.
       */
      readonly settled: Readonly<Record<CelGoVersion, SettledCalls>>
    }
  | (MatcherError & { readonly ok: false; readonly errors: readonly MatcherError[] })

/**
 * Parses and type-checks a CEL expression over the variable `claims: map(string, dyn)`, with the verdict of cel-go: not
 * ok when versions 0.32 and 0.33 both refuse it. Accepts any text; never throws. The message of a failure describes the
 * first error in the source. Source: CEL language definition.
 */
export function checkMatcher(source: string): MatcherVerdict {
  if (isLongerThan(source, maxBytes)) {
    return failure(source, [{ offset: 0, message: `expression is longer than ${maxBytes} bytes` }])
  }
  const parsed = parse(source)
  if (!parsed.ok) return failure(source, [parsed])
  const { expr } = parsed
  const older = check(expr, '0.32')
  const newer = older.dependsOnVersion ? check(expr, '0.33') : older
  if (!newer.ok && !older.ok) return failure(source, newer.problems)
  const settled = { '0.32': older.settled, '0.33': newer.settled }
  return { ok: true, expr, type: typeOfEither(newer, older), ...refusal(source, newer, older), settled }
}

function typeOfEither(newer: CheckResult, older: CheckResult): string {
  if (newer.ok) return newer.type
  return older.ok ? older.type : 'dyn'
}

function refusal(source: string, newer: CheckResult, older: CheckResult) {
  const version = newer.ok ? '0.32' : '0.33'
  const problems = newer.ok ? (older.ok ? [] : older.problems) : newer.problems
  const [error] = withPositions(source, problems)
  return error === undefined ? {} : { refusedBy: { version, ...error } as const }
}

function failure(source: string, problems: readonly CheckProblem[]): MatcherVerdict {
  const errors = withPositions(source, problems)
  const { line, column, message } = errors[0] ?? { line: 1, column: 1, message: 'invalid expression' }
  return { ok: false, line, column, message, errors }
}

/** Computes the lines and columns of all problems in one walk over the source; the problems are sorted by offset. */
function withPositions(source: string, problems: readonly CheckProblem[]): MatcherError[] {
  let line = 1
  let column = 1
  let offset = 0
  return problems.map((problem) => {
    while (offset < problem.offset) {
      const character = source.codePointAt(offset) ?? 0
      if (character === 10) {
        line++
        column = 1
      } else {
        column++
      }
      offset += character > 0xffff ? 2 : 1
    }
    return { line, column, message: problem.message }
  })
}

function isLongerThan(source: string, limit: number): boolean {
  if (source.length * 3 <= limit) return false
  return source.length > limit || utf8Length(source) > limit
}

/** The length of a text in UTF-8 bytes; a lone surrogate counts as U+FFFD, with three bytes. */
export function utf8Length(text: string): number {
  let bytes = 0
  for (const character of text) bytes += bytesOf(character.codePointAt(0) ?? 0)
  return bytes
}

function bytesOf(codePoint: number): number {
  if (codePoint < 0x80) return 1
  if (codePoint < 0x800) return 2
  return codePoint < 0x10000 ? 3 : 4
}
