import { compareNames, joined, type Names, NOBODY, type ObjectName } from '../rule/cluster.ts'

/** Names that are kept in order while they come and go. */
export class Sorted implements Names {
  readonly #names: ObjectName[] = []

  get length(): number {
    return this.#names.length
  }

  first(most: number): ObjectName[] {
    return this.#names.slice(0, most)
  }

  [Symbol.iterator](): Iterator<ObjectName> {
    return this.#names.slice()[Symbol.iterator]()
  }

  add(name: ObjectName): void {
    const at = this.#after(name, 0)
    if (!this.#isAt(at, name)) this.#names.splice(at, 0, name)
  }

  remove(name: ObjectName): void {
    const at = this.#after(name, 0)
    if (this.#isAt(at, name)) this.#names.splice(at, 1)
  }

  /** A window on these kinds; it holds until the next change. */
  of(kinds: readonly string[]): Names {
    const all = this.#names
    const [first, last] = [all[0], all.at(-1)]
    if (first === undefined || last === undefined) return NOBODY
    if (first.kind === last.kind) return kinds.includes(first.kind) ? this : NOBODY
    const windows: Window[] = []
    let to = 0
    for (const kind of kinds.length === 1 ? kinds : kinds.toSorted()) {
      const from = this.#after({ kind, name: '' }, to)
      if (all[from]?.kind !== kind) continue
      // The names of one kind end where the next kind begins.
      to = last.kind === kind ? all.length : this.#after({ kind: `${kind}\0`, name: '' }, from)
      const before = windows.at(-1)
      if (before?.to === from) windows[windows.length - 1] = new Window(all, before.from, to)
      else windows.push(new Window(all, from, to))
    }
    const [only] = windows
    return windows.length > 1 ? joined(windows) : (only ?? NOBODY)
  }

  /** The first place, not before `from`, of which the name is not smaller. */
  #after(name: ObjectName, from: number): number {
    let [low, high] = [from, this.#names.length]
    // What comes in order goes to the end.
    const last = this.#names.at(-1)
    if (last === undefined || compareNames(last, name) < 0) return high
    while (low < high) {
      const middle = (low + high) >> 1
      const at = this.#names[middle]
      if (at !== undefined && compareNames(at, name) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #isAt(place: number, { kind, name }: ObjectName): boolean {
    const found = this.#names[place]
    return found?.kind === kind && found.name === name
  }
}

/** A part of a list. */
class Window implements Names {
  readonly from: number
  readonly to: number
  readonly #all: readonly ObjectName[]

  constructor(all: readonly ObjectName[], from: number, to: number) {
    this.#all = all
    this.from = from
    this.to = to
  }

  get length(): number {
    return this.to - this.from
  }

  first(most: number): ObjectName[] {
    return this.#all.slice(this.from, Math.min(this.to, this.from + most))
  }

  [Symbol.iterator](): Iterator<ObjectName> {
    return this.#all.slice(this.from, this.to)[Symbol.iterator]()
  }
}
