import type { Expr } from '../ast.ts'
import type { CelGoVersion } from '../checker.ts'
import { checkMatcher } from '../matcher.ts'
import type { CompiledExpr } from './reading.ts'

/** A matcher, compiled as one version of cel-go compiles it. */
export interface Program extends CompiledExpr {
  readonly expr: Expr
}

/** For each version of cel-go: the compiled matcher, or the error, as `line:column: message`. */
export type Programs = Readonly<Record<CelGoVersion, Program | string>>

/** Compiles a matcher for every version of cel-go; the programs share a syntax tree. */
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

/** Compiles a matcher for one version of cel-go; on failure the error, as `line:column: message`. */
export const programOf = (text: string, celGo: CelGoVersion): Program | string => programsOf(text)[celGo]
