import { compareNames, type Names, type ObjectName } from '../rule/cluster.ts'

/** Names that are kept in order while they come and go. */
export class Sorted {
  readonly #names: ObjectName[] = []

  get length(): number {
    return this.#names.length
  }

  add(name: ObjectName): void {
    const at = this.#after(name, 0)
    if (!this.#isAt(at, name)) this.#names.splice(at, 0, name)
  }

  remove(name: ObjectName): void {
    const at = this.#after(name, 0)
    if (this.#isAt(at, name)) this.#names.splice(at, 1)
  }

  /** A window on these kinds, or on all; it holds until the next change. */
  of(kinds?: readonly string[]): Names {
    const all = this.#names
    if (kinds === undefined) return new Windows(all, [[0, all.length]])
    const spans: Span[] = []
    let length = 0
    for (const kind of kinds.length === 1 ? kinds : kinds.toSorted()) {
      const from = this.#after({ kind, name: '' }, length)
      let to = from
      // The names of one kind end where the next kind begins.
      if (all[from]?.kind === kind) to = this.#after({ kind: `${kind}\0`, name: '' }, from)
      if (to > from) spans.push([from, to])
      length = to
    }
    return new Windows(all, spans)
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

type Span = readonly [from: number, to: number]

/** Parts of a list, one after the other. */
class Windows implements Names {
  readonly length: number
  readonly #all: readonly ObjectName[]
  readonly #spans: readonly Span[]

  constructor(all: readonly ObjectName[], spans: readonly Span[]) {
    this.#all = all
    this.#spans = spans
    let length = 0
    for (const [from, to] of spans) length += to - from
    this.length = length
  }

  first(most: number): ObjectName[] {
    let left = most
    const parts = this.#spans.map(([from, to]) => {
      const part = this.#all.slice(from, Math.min(to, from + left))
      left -= part.length
      return part
    })
    return parts.length === 1 ? (parts[0] ?? []) : parts.flat()
  }

  [Symbol.iterator](): Iterator<ObjectName> {
    return this.first(this.length)[Symbol.iterator]()
  }
}
