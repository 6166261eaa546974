import { UsageError } from './flags.ts'

/** A mistake in a configuration file; lines and columns count from 1. */
export interface ConfigurationProblem {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Thrown for mistakes in a configuration file. The message has a line for each: `FILE:LINE:COLUMN: what to write`. */
export class ConfigurationError extends UsageError {
  readonly file: string
  readonly problems: readonly ConfigurationProblem[]

  constructor(file: string, problems: readonly ConfigurationProblem[]) {
    const told = problems.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`)
    super(told.join('\n'))
    this.file = file
    this.problems = problems
  }
}
