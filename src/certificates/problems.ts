/** Reports each problem when it appears, and again only after it was solved; counts the checks with problems. */
export class Problems {
  readonly #report: (problem: string) => void
  #present: readonly string[] = []
  #count = 0

  constructor(report: (problem: string) => void) {
    this.#report = report
  }

  get count(): number {
    return this.#count
  }

  get present(): string | undefined {
    return this.#present.length === 0 ? undefined : this.#present.join('; ')
  }

  /** Receives the problems of one check; an empty list for none. */
  found(problems: readonly string[]): void {
    const before = this.#present
    this.#present = [...new Set(problems)]
    if (problems.length > 0) this.#count += 1
    for (const problem of this.#present) if (!before.includes(problem)) this.#report(problem)
  }
}
