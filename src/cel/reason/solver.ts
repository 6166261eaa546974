import type { Budget } from '../../rule/index.ts'

/** A literal of the SAT solver: the number of a variable, negative when it is negated. */
export type Literal = number

/** The internal form of a literal: twice the number of its variable, plus one when it is negated. */
type Code = number

const codeOf = (literal: Literal): Code => (literal > 0 ? literal * 2 : literal * -2 + 1)
const literalOf = (code: Code): Literal => (isNegated(code) ? -variableOf(code) : variableOf(code))
const negated = (code: Code): Code => code ^ 1
const variableOf = (code: Code): number => code >> 1
const isNegated = (code: Code): boolean => (code & 1) === 1

const OPEN = 0
const TRUE = 1
const FALSE = 2

/**
 * A clause, of which at least one literal must be true. Its first two literals are watched: unless the clause is
 * violated, neither of them is false, or one is true.
 */
type Clause = Code[]

const NO_CLAUSE: Clause = []

/**
 * A SAT solver (conflict-driven clause learning with two watched literals) that accepts assumptions, and reports which
 * of them a contradiction needs.
 */
export class Solver {
  readonly #budget: Budget
  /** The value of a literal (OPEN, TRUE or FALSE), by its code. */
  readonly #values: number[] = [OPEN, OPEN]
  readonly #level: number[] = [0]
  readonly #reason: (Clause | undefined)[] = [undefined]
  /** For each variable, the literal that is tried first. */
  readonly #phase: Code[] = [0]
  readonly #seen: boolean[] = [false]
  /** The clauses that watch a literal, by its code. */
  readonly #watches: Clause[][] = [[], []]
  readonly #trail: Code[] = []
  readonly #levels: number[] = []
  /**
   * The order in which variables are tried, as a linked list from `#first` to 0: first the variables of the newest
   * conflict, then those of older conflicts, then variables without a conflict in the order of their creation: the
   * parts of a formula before the formula. `#next` and `#previous` are the neighbours of a variable; `#rank` falls
   * along the list.
   */
  readonly #next: number[] = [0]
  readonly #previous: number[] = [0]
  readonly #rank: number[] = [-Infinity]
  #first = 0
  #last = 0
  /**
   * Where the search for an unassigned variable begins: all variables before this one in the list are assigned; 0 is
   * the end.
   */
  #search = 0
  /** The values of all literals, by code, in the last satisfying assignment. */
  #model: readonly number[] = []
  #propagated = 0
  #raised = 0
  /** Whether the clauses contradict each other without any assumption. */
  #broken = false

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** Creates a variable; `phase` is the value that is tried first. */
  variable(phase = false): Literal {
    this.#budget.spend(1)
    const variable = this.#level.length
    this.#values.push(OPEN, OPEN)
    this.#level.push(0)
    this.#reason.push(undefined)
    this.#phase.push(codeOf(phase ? variable : -variable))
    this.#seen.push(false)
    this.#watches.push([], [])
    this.#append(variable)
    return variable
  }

  /** Adds a clause: at least one of the literals must be true. */
  clause(literals: readonly Literal[]): void {
    if (this.#broken) return
    this.#budget.spend(1 + literals.length / 4)
    this.#backtrack(0)
    const open = [...new Set(literals)].map(codeOf).filter((code) => this.#values[code] !== FALSE)
    const isMet = (code: Code) => this.#values[code] === TRUE || open.includes(negated(code))
    if (open.some(isMet)) return
    const [first] = open
    if (first === undefined) this.#broken = true
    else if (open.length === 1) this.#assign(first, undefined)
    else this.#watch(open)
  }

  /**
   * Returns undefined if all assumptions can hold together; `isTrue` then reads the assignment. Otherwise returns
   * assumptions that contradict each other, or none when the clauses alone are contradictory.
   */
  solve(assumptions: readonly Literal[]): readonly Literal[] | undefined {
    if (this.#broken) return []
    this.#budget.spend(1 + assumptions.length / 4)
    this.#backtrack(0)
    const assumed = assumptions.map(codeOf)
    let conflicts = 0
    let restart = 64
    for (;;) {
      const conflict = this.#propagate()
      if (conflict !== undefined) {
        if (this.#levels.length === 0) {
          this.#broken = true
          return []
        }
        this.#learn(conflict)
        conflicts++
      } else if (conflicts >= restart) {
        conflicts = 0
        restart *= 1.3
        this.#backtrack(0)
      } else {
        const next = this.#decision(assumed)
        if (next === undefined) {
          this.#budget.spend(this.#values.length / 64)
          this.#model = this.#values.slice()
          return undefined
        }
        if (this.#values[next] === FALSE) {
          this.#budget.spend(this.#trail.length / 16)
          return this.#culprits(next, new Set(assumed))
        }
        this.#levels.push(this.#trail.length)
        this.#assign(next, undefined)
      }
    }
  }

  /** Whether the last satisfying assignment makes the literal true. */
  isTrue(literal: Literal): boolean {
    return this.#model[codeOf(literal)] === TRUE
  }

  #watch(clause: Clause): void {
    const [first = 0, second = 0] = clause
    this.#watches[first]?.push(clause)
    this.#watches[second]?.push(clause)
  }

  #assign(code: Code, reason: Clause | undefined): void {
    const variable = variableOf(code)
    this.#values[code] = TRUE
    this.#values[negated(code)] = FALSE
    this.#level[variable] = this.#levels.length
    this.#reason[variable] = reason
    this.#trail.push(code)
  }

  /** Unit propagation: assigns the literals that follow from those assigned; returns a violated clause, if any. */
  #propagate(): Clause | undefined {
    const values = this.#values
    while (this.#propagated < this.#trail.length) {
      const violated = negated(this.#trail[this.#propagated++] ?? 0)
      const watchers = this.#watches[violated] ?? []
      this.#budget.spend(1 + watchers.length / 8)
      let kept = 0
      for (let i = 0; i < watchers.length; i++) {
        const clause = watchers[i] ?? NO_CLAUSE
        if (clause[0] === violated) {
          clause[0] = clause[1] ?? 0
          clause[1] = violated
        }
        const first = clause[0] ?? 0
        if (values[first] === TRUE) {
          watchers[kept++] = clause
          continue
        }
        if (this.#rewatch(clause)) continue
        watchers[kept++] = clause
        if (values[first] === FALSE) {
          for (let rest = i + 1; rest < watchers.length; rest++)
            watchers[kept++] = watchers[rest] ?? NO_CLAUSE
          watchers.length = kept
          this.#propagated = this.#trail.length
          return clause
        }
        this.#assign(first, clause)
      }
      watchers.length = kept
    }
    return undefined
  }

  /**
   * Lets the clause watch another literal instead of its second one, which is false. Returns false if all literals
   * after the second one are false.
   */
  #rewatch(clause: Clause): boolean {
    if (clause.length > 8) this.#budget.spend(clause.length / 32)
    for (let i = 2; i < clause.length; i++) {
      const code = clause[i] ?? 0
      if (this.#values[code] === FALSE) continue
      clause[i] = clause[1] ?? 0
      clause[1] = code
      this.#watches[code]?.push(clause)
      return true
    }
    return false
  }

  /**
   * Learns a clause from a conflict (first unique implication point), and backtracks to the level at which the clause
   * implies a literal.
   */
  #learn(conflict: Clause): void {
    const level = this.#levels.length
    const learned: Clause = [0]
    const seen: number[] = []
    let open = 0
    let at = this.#trail.length - 1
    let clause: Clause | undefined = conflict
    let pivot = 0
    do {
      for (const code of clause ?? NO_CLAUSE) {
        const variable = variableOf(code)
        if (code === pivot || this.#seen[variable] === true || this.#level[variable] === 0) continue
        this.#seen[variable] = true
        seen.push(variable)
        if (this.#level[variable] === level) open++
        else learned.push(code)
      }
      while (this.#seen[variableOf(this.#trail[at] ?? 0)] !== true) at--
      pivot = this.#trail[at--] ?? 0
      clause = this.#reason[variableOf(pivot)]
      open--
    } while (open > 0)
    this.#budget.spend(1 + seen.length / 4)
    for (const variable of seen) this.#seen[variable] = false
    for (const variable of seen.toSorted((a, b) => this.#rankOf(a) - this.#rankOf(b))) this.#raise(variable)
    const implied = negated(pivot)
    learned[0] = implied
    let deepest = 1
    for (let i = 2; i < learned.length; i++) {
      if (this.#levelOf(learned[i]) > this.#levelOf(learned[deepest])) deepest = i
    }
    this.#backtrack(learned.length === 1 ? 0 : this.#levelOf(learned[deepest]))
    if (learned.length === 1) {
      this.#assign(implied, undefined)
      return
    }
    const second = learned[1] ?? 0
    learned[1] = learned[deepest] ?? 0
    learned[deepest] = second
    this.#watch(learned)
    this.#assign(implied, learned)
  }

  #levelOf(code: Code | undefined): number {
    return this.#level[variableOf(code ?? 0)] ?? 0
  }

  /**
   * The next literal to try: an assumption that is not yet true, or else the first unassigned variable; undefined when
   * all are assigned.
   */
  #decision(assumed: readonly Code[]): Code | undefined {
    while (this.#levels.length < assumed.length) {
      const assumption = assumed[this.#levels.length] ?? 0
      if (this.#values[assumption] !== TRUE) return assumption
      this.#levels.push(this.#trail.length)
    }
    while (this.#search !== 0 && this.#values[codeOf(this.#search)] !== OPEN)
      this.#search = this.#next[this.#search] ?? 0
    return this.#search === 0 ? undefined : this.#phase[this.#search]
  }

  /** Returns the assumption that is false, and the assumptions that together make it false. */
  #culprits(violated: Code, assumed: ReadonlySet<Code>): Literal[] {
    const wanted = new Set([variableOf(violated)])
    const culprits = [literalOf(violated)]
    for (let at = this.#trail.length - 1; at >= 0; at--) {
      const code = this.#trail[at] ?? 0
      if (!wanted.has(variableOf(code)) || this.#levelOf(code) === 0) continue
      const reason = this.#reason[variableOf(code)]
      if (reason !== undefined) for (const each of reason) wanted.add(variableOf(each))
      else if (assumed.has(code)) culprits.push(literalOf(code))
    }
    return culprits
  }

  #backtrack(level: number): void {
    if (this.#levels.length <= level) return
    const length = this.#levels[level] ?? 0
    for (let at = this.#trail.length - 1; at >= length; at--) {
      const code = this.#trail[at] ?? 0
      const variable = variableOf(code)
      this.#values[code] = OPEN
      this.#values[negated(code)] = OPEN
      this.#reason[variable] = undefined
      if (this.#rankOf(variable) > this.#rankOf(this.#search)) this.#search = variable
    }
    this.#trail.length = length
    this.#levels.length = level
    this.#propagated = length
  }

  #rankOf(variable: number): number {
    return this.#rank[variable] ?? 0
  }

  #append(variable: number): void {
    this.#rank.push(-variable)
    this.#next.push(0)
    this.#previous.push(this.#last)
    if (this.#last === 0) this.#first = variable
    else this.#next[this.#last] = variable
    this.#last = variable
    if (this.#search === 0) this.#search = variable
  }

  /** Moves a variable of the newest conflict to the front of the order in which variables are tried. */
  #raise(variable: number): void {
    this.#rank[variable] = ++this.#raised
    if (variable === this.#first) return
    const [before = 0, after = 0] = [this.#previous[variable], this.#next[variable]]
    this.#next[before] = after
    if (after === 0) this.#last = before
    else this.#previous[after] = before
    this.#previous[variable] = 0
    this.#next[variable] = this.#first
    this.#previous[this.#first] = variable
    this.#first = variable
    if (this.#values[codeOf(variable)] === OPEN) this.#search = variable
  }
}
