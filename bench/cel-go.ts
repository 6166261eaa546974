import { execFileSync } from 'node:child_process'
import type { CelGoVersion } from '../src/cel/index.ts'

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

const folder = new URL('../test/golden/record-cel-verdicts/', import.meta.url)
const moduleFlags = { '0.32': ['-modfile', 'cel-0.32.mod'], '0.33': [] } as const

/** The verdicts of cel-go in the order of the expressions, which must be well-formed. Needs Go; throws without it. */
export function celGoVerdicts(expressions: readonly string[], version: CelGoVersion): CelGoVerdict[] {
  const output = execFileSync('go', ['run', ...moduleFlags[version], '.'], {
    cwd: folder,
    input: expressions.map((expr) => JSON.stringify({ expr })).join('\n'),
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  })
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as CelGoVerdict)
}
