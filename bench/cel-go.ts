import type { CelGoVersion } from '../src/cel/index.ts'
import { goAnswers, type GoProgram, moduleVersion } from './go.ts'

/** What test/golden/record-cel-verdicts prints of one expression. */
export interface CelGoVerdict {
  readonly ok: boolean
  readonly type?: string
  readonly phase?: string
  readonly line?: number
  readonly col?: number
  readonly message?: string
  readonly milliseconds?: number
}

/** A program that is built with either version of cel-go. */
const withCelGo = (program: GoProgram, version: CelGoVersion): GoProgram =>
  version === '0.32' ? { ...program, modfile: 'cel-0.32.mod' } : program

const VERDICTS = { folder: 'test/golden/record-cel-verdicts' }
const VALUES = { folder: 'test/golden/record-cel-values', args: ['-'] }

/** The verdicts of cel-go in the order of the expressions, which must be well-formed. Needs Go. */
export async function celGoVerdicts(
  expressions: readonly string[],
  version: CelGoVersion,
): Promise<CelGoVerdict[]> {
  const lines = expressions.map((expr) => JSON.stringify({ expr }))
  const answers = await goAnswers(withCelGo(VERDICTS, version), lines)
  return answers.map((line) => JSON.parse(line) as CelGoVerdict)
}

/** What cel-go makes of pairs of an expression and claims, each pair as JSON: as test/golden/record-cel-values prints it. */
export const celGoValues = (pairs: readonly string[], version: CelGoVersion): Promise<string[]> =>
  goAnswers(withCelGo(VALUES, version), pairs)

/** `cel-go v0.33.2`. */
export const celGoName = (version: CelGoVersion): string =>
  `cel-go ${moduleVersion(withCelGo(VALUES, version), 'cel.dev/cel-go')}`
