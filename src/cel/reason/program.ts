import type { Expr } from '../ast.ts'
import type { CelGoVersion } from '../checker.ts'
import { checkMatcher } from '../matcher.ts'
import type { CompiledExpr } from './reading.ts'

/** A matcher that a version of cel-go compiles. */
export interface Program extends CompiledExpr {
  readonly expr: Expr
}

/** By version of cel-go: the compiled matcher, or why it does not compile, `line:column: message`. */
export type Programs = Readonly<Record<CelGoVersion, Program | string>>

/** A matcher compiled for every version of cel-go, which share its syntax tree. */
export function programsOf(text: string): Programs {
  const verdict = checkMatcher(text)
  const error = verdict.ok ? verdict.refusedBy : verdict
  const refusal = error === undefined ? '' : `${error.line}:${error.column}: ${error.message}`
  if (!verdict.ok) return { '0.32': refusal, '0.33': refusal }
  const { expr, settled, refusedBy } = verdict
  const programFor = (celGo: CelGoVersion) =>
    refusedBy?.version === celGo ? refusal : { expr, settled: settled[celGo], celGo }
  return { '0.32': programFor('0.32'), '0.33': programFor('0.33') }
}

/** The matcher as that version of cel-go compiles it, or why it does not compile, `line:column: message`. */
export const programOf = (text: string, celGo: CelGoVersion): Program | string => programsOf(text)[celGo]
