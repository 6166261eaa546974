import type { Expr } from '../ast.ts'
import { type CelGoVersion, check } from '../checker.ts'
import { checkMatcher, type MatcherError } from '../matcher.ts'
import { parse } from '../parser.ts'
import type { CompiledExpr } from './reading.ts'

/** Why that version of cel-go does not compile a matcher; undefined when it does. */
function refusalOf(text: string, celGo: CelGoVersion): string | undefined {
  const verdict = checkMatcher(text)
  const error: MatcherError | undefined = verdict.ok ? verdict.refusedBy : verdict
  if (error === undefined || (verdict.ok && verdict.refusedBy?.version !== celGo)) return undefined
  return `${error.line}:${error.column}: ${error.message}`
}

/** A matcher that a version of cel-go compiles. */
export interface Program extends CompiledExpr {
  readonly expr: Expr
}

/** The matcher as that version of cel-go compiles it, or why it does not: `line:column: message`. */
export function programOf(text: string, celGo: CelGoVersion): Program | string {
  const refusal = refusalOf(text, celGo)
  if (refusal !== undefined) return refusal
  const parsed = parse(text)
  return parsed.ok ? { expr: parsed.expr, settled: check(parsed.expr, celGo).settled, celGo } : parsed.message
}
