import { goAnswers, moduleVersion } from './go.ts'

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

const PROGRAM = { folder: 'test/golden/record-cedar-verdicts' }

/** The answers of cedar-go, in the order of the questions. Needs Go. */
export async function cedarGoAnswers(questions: readonly CedarQuestion[]): Promise<CedarAnswer[]> {
  const answers = await goAnswers(
    PROGRAM,
    questions.map((question) => JSON.stringify(question)),
  )
  return answers.map((line) => JSON.parse(line) as CedarAnswer)
}

/** `cedar-go v1.8.0`. */
export const cedarGoName = (): string =>
  `cedar-go ${moduleVersion(PROGRAM, 'github.com/cedar-policy/cedar-go')}`
