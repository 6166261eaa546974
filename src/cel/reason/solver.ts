/**
 * A solver for propositional formulas (conflict-driven clause learning with watched literals), with assumptions
 * and the assumptions that a contradiction needs. A literal is the number of a variable, negative when it is negated.
 */
export type Literal = number

/** Thrown when a question needs more work than its budget. */
export class OutOfBudget extends Error {}

/** Work that is left, in steps of about a microsecond. Counted and not timed, so that every run gives the same answer. */
export class Budget {
  #left: number

  constructor(steps: number) {
    this.#left = steps
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw new OutOfBudget('the budget of this question is spent')
  }
}

interface Clause {
  readonly literals: Literal[]
}

const NO_CLAUSE: Clause = { literals: [] }

const DECAY = 1 / 0.95
const RESCALE = 1e100

export class Solver {
  readonly #budget: Budget
  /** By variable: 1 true, -1 false, 0 open. The last model stays until the next call of solve. */
  readonly #assigned: number[] = [0]
  readonly #level: number[] = [0]
  readonly #reason: (Clause | undefined)[] = [undefined]
  readonly #activity: number[] = [0]
  readonly #phase: number[] = [0]
  readonly #seen: boolean[] = [false]
  /** By literal: the clauses that watch it. */
  readonly #watches: Clause[][] = [[], []]
  readonly #trail: Literal[] = []
  readonly #levels: number[] = []
  /** A binary heap of variables by activity, and the place of each in it. */
  readonly #heap: number[] = []
  readonly #place: number[] = [-1]
  #model: number[] = []
  #propagated = 0
  #bump = 1
  /** Whether the clauses contradict each other without assumptions. */
  #broken = false

  constructor(budget: Budget) {
    this.#budget = budget
  }

  /** A new variable; `phase` is the value that is tried first. */
  variable(phase = false): Literal {
    const variable = this.#assigned.length
    this.#assigned.push(0)
    this.#level.push(0)
    this.#reason.push(undefined)
    this.#activity.push(0)
    this.#phase.push(phase ? 1 : -1)
    this.#seen.push(false)
    this.#watches.push([], [])
    this.#place.push(-1)
    this.#enqueue(variable)
    return variable
  }

  /** Adds a clause: one of the literals is true. */
  clause(literals: readonly Literal[]): void {
    if (this.#broken) return
    this.#backtrack(0)
    const open = [...new Set(literals)].filter((literal) => this.#value(literal) !== -1)
    if (open.some((literal) => this.#value(literal) === 1 || open.includes(-literal))) return
    const [first] = open
    if (first === undefined) this.#broken = true
    else if (open.length === 1) this.#assign(first, undefined)
    else this.#watch({ literals: open })
  }

  /** Undefined when all assumptions can hold: `isTrue` then reads the model. Otherwise assumptions that contradict each other. */
  solve(assumptions: readonly Literal[]): readonly Literal[] | undefined {
    if (this.#broken) return []
    this.#backtrack(0)
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
        this.#bump *= DECAY
        conflicts++
      } else if (conflicts >= restart) {
        conflicts = 0
        restart *= 1.3
        this.#backtrack(0)
      } else {
        const next = this.#next(assumptions)
        if (next === undefined) {
          this.#model = this.#assigned.slice()
          return undefined
        }
        if (this.#value(next) === -1) return this.#culprits(next, assumptions)
        this.#levels.push(this.#trail.length)
        this.#assign(next, undefined)
      }
    }
  }

  /** Whether the last model makes the literal true. */
  isTrue(literal: Literal): boolean {
    return (literal > 0 ? (this.#model[literal] ?? 0) : -(this.#model[-literal] ?? 0)) === 1
  }

  #value(literal: Literal): number {
    return literal > 0 ? (this.#assigned[literal] ?? 0) : -(this.#assigned[-literal] ?? 0)
  }

  #watchers(literal: Literal): Clause[] {
    return this.#watches[literal > 0 ? literal * 2 : literal * -2 + 1] ?? []
  }

  #watch(clause: Clause): void {
    const [first = 0, second = 0] = clause.literals
    this.#watchers(first).push(clause)
    this.#watchers(second).push(clause)
  }

  #assign(literal: Literal, reason: Clause | undefined): void {
    const variable = Math.abs(literal)
    this.#assigned[variable] = Math.sign(literal)
    this.#level[variable] = this.#levels.length
    this.#reason[variable] = reason
    this.#trail.push(literal)
  }

  /** Follows the assigned literals; the clause that is violated, if one is. */
  #propagate(): Clause | undefined {
    while (this.#propagated < this.#trail.length) {
      const violated = -(this.#trail[this.#propagated++] ?? 0)
      const watchers = this.#watchers(violated)
      this.#budget.spend(1 + watchers.length / 8)
      let kept = 0
      for (let i = 0; i < watchers.length; i++) {
        const clause = watchers[i] ?? NO_CLAUSE
        const { literals } = clause
        if (literals[0] === violated) {
          literals[0] = literals[1] ?? 0
          literals[1] = violated
        }
        const first = literals[0] ?? 0
        if (this.#value(first) === 1 || !this.#rewatch(clause)) watchers[kept++] = clause
        else continue
        if (this.#value(first) === 1) continue
        if (this.#value(first) === -1) {
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

  /** Lets the clause watch another literal in place of its second one, which is false. */
  #rewatch(clause: Clause): boolean {
    const { literals } = clause
    for (let i = 2; i < literals.length; i++) {
      const literal = literals[i] ?? 0
      if (this.#value(literal) === -1) continue
      literals[i] = literals[1] ?? 0
      literals[1] = literal
      this.#watchers(literal).push(clause)
      return true
    }
    return false
  }

  /** Learns the first unique implication point of a conflict, and goes back to where it decides. */
  #learn(conflict: Clause): void {
    const level = this.#levels.length
    const learned: Literal[] = [0]
    const seen: number[] = []
    let open = 0
    let at = this.#trail.length - 1
    let clause: Clause | undefined = conflict
    let pivot = 0
    do {
      for (const literal of clause?.literals ?? []) {
        const variable = Math.abs(literal)
        if (literal === pivot || this.#seen[variable] === true || this.#level[variable] === 0) continue
        this.#seen[variable] = true
        seen.push(variable)
        this.#raise(variable)
        if (this.#level[variable] === level) open++
        else learned.push(literal)
      }
      while (this.#seen[Math.abs(this.#trail[at] ?? 0)] !== true) at--
      pivot = this.#trail[at--] ?? 0
      clause = this.#reason[Math.abs(pivot)]
      open--
    } while (open > 0)
    for (const variable of seen) this.#seen[variable] = false
    learned[0] = -pivot
    let deepest = 1
    for (let i = 2; i < learned.length; i++) {
      if (this.#levelOf(learned[i]) > this.#levelOf(learned[deepest])) deepest = i
    }
    const back = learned.length === 1 ? 0 : this.#levelOf(learned[deepest])
    this.#backtrack(back)
    if (learned.length === 1) {
      this.#assign(-pivot, undefined)
      return
    }
    const second = learned[1] ?? 0
    learned[1] = learned[deepest] ?? 0
    learned[deepest] = second
    const added = { literals: learned }
    this.#watch(added)
    this.#assign(-pivot, added)
  }

  #levelOf(literal: Literal | undefined): number {
    return this.#level[Math.abs(literal ?? 0)] ?? 0
  }

  /** The assumption that is not met yet, then the most active open variable; undefined when everything is assigned. */
  #next(assumptions: readonly Literal[]): Literal | undefined {
    while (this.#levels.length < assumptions.length) {
      const assumption = assumptions[this.#levels.length] ?? 0
      if (this.#value(assumption) !== 1) return assumption
      this.#levels.push(this.#trail.length)
    }
    for (;;) {
      const variable = this.#dequeue()
      if (variable === undefined) return undefined
      if (this.#assigned[variable] === 0) return variable * (this.#phase[variable] ?? -1)
    }
  }

  /** The assumptions that make one of them false, with that one. */
  #culprits(violated: Literal, assumptions: readonly Literal[]): Literal[] {
    const wanted = new Set([Math.abs(violated)])
    const given = new Set(assumptions)
    const culprits = [violated]
    for (let at = this.#trail.length - 1; at >= 0; at--) {
      const literal = this.#trail[at] ?? 0
      if (!wanted.has(Math.abs(literal)) || this.#levelOf(literal) === 0) continue
      const reason = this.#reason[Math.abs(literal)]
      if (reason !== undefined) for (const each of reason.literals) wanted.add(Math.abs(each))
      else if (given.has(literal)) culprits.push(literal)
    }
    return culprits
  }

  #backtrack(level: number): void {
    if (this.#levels.length <= level) return
    const length = this.#levels[level] ?? 0
    for (let at = this.#trail.length - 1; at >= length; at--) {
      const variable = Math.abs(this.#trail[at] ?? 0)
      this.#assigned[variable] = 0
      this.#reason[variable] = undefined
      this.#enqueue(variable)
    }
    this.#trail.length = length
    this.#levels.length = level
    this.#propagated = length
  }

  #raise(variable: number): void {
    this.#activity[variable] = (this.#activity[variable] ?? 0) + this.#bump
    if ((this.#activity[variable] ?? 0) > RESCALE) {
      this.#activity.forEach((activity, i) => (this.#activity[i] = activity / RESCALE))
      this.#bump /= RESCALE
    }
    const place = this.#place[variable] ?? -1
    if (place >= 0) this.#up(place)
  }

  #enqueue(variable: number): void {
    if ((this.#place[variable] ?? -1) >= 0) return
    this.#heap.push(variable)
    this.#place[variable] = this.#heap.length - 1
    this.#up(this.#heap.length - 1)
  }

  #dequeue(): number | undefined {
    const [top] = this.#heap
    const last = this.#heap.pop()
    if (top === undefined || last === undefined) return undefined
    this.#place[top] = -1
    if (top !== last) {
      this.#heap[0] = last
      this.#place[last] = 0
      this.#down()
    }
    return top
  }

  /** More active first, then older: parts that a formula is made of come before the whole. */
  #isBefore(a: number, b: number): boolean {
    const difference = (this.#activity[a] ?? 0) - (this.#activity[b] ?? 0)
    return difference === 0 ? a < b : difference > 0
  }

  #up(from: number): void {
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!this.#isBefore(this.#heap[place] ?? 0, this.#heap[above] ?? 0)) return
      this.#swap(place, above)
      place = above
    }
  }

  #down(): void {
    let place = 0
    for (;;) {
      let first = place
      for (const below of [place * 2 + 1, place * 2 + 2]) {
        if (below < this.#heap.length && this.#isBefore(this.#heap[below] ?? 0, this.#heap[first] ?? 0))
          first = below
      }
      if (first === place) return
      this.#swap(place, first)
      place = first
    }
  }

  #swap(a: number, b: number): void {
    const [x = 0, y = 0] = [this.#heap[a], this.#heap[b]]
    this.#heap[a] = y
    this.#heap[b] = x
    this.#place[y] = a
    this.#place[x] = b
  }
}
