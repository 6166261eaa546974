import type { Claims } from '../role/claims.ts'

/** The most variants of one example that are tried to simplify it. */
const MOST_TRIES = 60

/** Simplifies example claims: removes parts of them while `holds` remains true. */
export function shrink(claims: Claims, holds: (claims: Claims) => boolean): Claims {
  let smallest: unknown = claims
  let tries = 0
  for (let changed = true; changed;) {
    changed = false
    for (const smaller of smallerThan(smallest)) {
      if (tries++ >= MOST_TRIES) break
      if (!holds(smaller as Claims)) continue
      smallest = smaller
      changed = true
      break
    }
  }
  return smallest as Claims
}

/** Variants of the value, each without one list item or object member, at any depth. */
function* smallerThan(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) {
    for (const i of value.keys()) yield value.toSpliced(i, 1)
    for (const [i, item] of value.entries())
      for (const smaller of smallerThan(item)) yield value.with(i, smaller)
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
    for (const [name] of members) yield Object.fromEntries(members.filter(([other]) => other !== name))
    for (const [name, member] of members) {
      for (const smaller of smallerThan(member))
        yield Object.fromEntries(members.map(([other, old]) => [other, other === name ? smaller : old]))
    }
  }
}
