import { execFileSync } from 'node:child_process'

/** What test/golden/record-cedar-verdicts asks and answers; its main.go says more. */
export type CedarQuestion =
  | { readonly policy: string }
  | { readonly entities: string }
  | { readonly policies: readonly string[]; readonly entities?: string; readonly request: CedarRequest }

export interface CedarRequest {
  readonly action: string
  readonly type: string
  readonly name: string
  readonly server: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly args: Readonly<Record<string, unknown>>
  readonly hints: Readonly<Record<string, boolean>>
  readonly groups: readonly string[]
  /** The type of the entities of groups. */
  readonly group: string
}

export interface CedarAnswer {
  readonly ok: boolean
  readonly message?: string
  /** The indexes of the policies that decided, and of those with an error. */
  readonly reasons?: readonly string[]
  readonly errors?: readonly string[]
}

const folder = new URL('../test/golden/record-cedar-verdicts/', import.meta.url)

/** The answers of cedar-go, in the order of the questions. Needs Go; throws without it. */
export function cedarGoAnswers(questions: readonly CedarQuestion[]): CedarAnswer[] {
  const output = execFileSync('go', ['run', '.'], {
    cwd: folder,
    input: questions.map((question) => JSON.stringify(question)).join('\n'),
    maxBuffer: 2 ** 30,
    encoding: 'utf8',
  })
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as CedarAnswer)
}
