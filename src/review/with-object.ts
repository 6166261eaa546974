import { type Link, linksOf, refersToOthers } from '../kinds/between/links.ts'
import { BACKEND_KINDS } from '../kinds/between/neighbours.ts'
import { type Cluster, joined, type Names, namesOf, type ObjectName, without } from '../rule/cluster.ts'
import type { Resource } from '../rule/resource.ts'

/** The view with one object put in place of the stored one of its name: what a rule judges is part of what it sees. */
export function withObject(cluster: Cluster, self: ObjectName, resource: Resource): Cluster {
  return refersToOthers(self.kind)
    ? new Referring(cluster, self, resource)
    : new Over(cluster, self, resource)
}

/** The view with one object that nothing else is found by. */
class Over implements Cluster {
  protected readonly cluster: Cluster
  protected readonly self: ObjectName
  protected readonly resource: Resource

  constructor(cluster: Cluster, self: ObjectName, resource: Resource) {
    this.cluster = cluster
    this.self = self
    this.resource = resource
  }

  get group(): string {
    return this.cluster.group
  }

  get where(): string {
    return this.cluster.where
  }

  get(kind: string, name: string): Resource | undefined {
    return name === this.self.name && kind === this.self.kind ? this.resource : this.cluster.get(kind, name)
  }

  referrers(kind: string, name: string, among?: readonly string[]): Names {
    return this.cluster.referrers(kind, name, among)
  }

  apart(kind: string, name: string, aspect: string): Iterable<readonly [string, Names]> {
    return this.cluster.apart(kind, name, aspect)
  }

  knows(kind: string): boolean {
    return this.cluster.knows(kind)
  }

  names(kind: string): Iterable<string> {
    return this.cluster.names(kind)
  }

  elsewhere(kind: string, name: string): readonly string[] {
    return this.cluster.elsewhere(kind, name)
  }
}

/** The view with one object that is found by what it refers to. */
class Referring extends Over {
  #links: { readonly before: readonly Link[]; readonly after: readonly Link[] } | undefined

  override referrers(kind: string, name: string, among?: readonly string[]): Names {
    const names = this.cluster.referrers(kind, name, among)
    if (among !== undefined && !among.includes(this.self.kind)) return names
    const { before, after } = this.#both()
    const to = { kind, name }
    return this.#amended(names, isLinked(before, to), isLinked(after, to))
  }

  override apart(kind: string, name: string, aspect: string): Iterable<readonly [string, Names]> {
    return BACKEND_KINDS.includes(this.self.kind)
      ? this.#apart(kind, name, aspect)
      : this.cluster.apart(kind, name, aspect)
  }

  *#apart(kind: string, name: string, aspect: string): Iterable<readonly [string, Names]> {
    const { before, after } = this.#both()
    const to = { kind, name }
    const [left, joins] = [valuesOf(before, to, aspect), valuesOf(after, to, aspect)]
    const missing = new Set(joins)
    for (const [value, names] of this.cluster.apart(kind, name, aspect)) {
      missing.delete(value)
      const amended = this.#amended(names, left.includes(value), joins.includes(value))
      if (amended.length > 0) yield [value, amended]
    }
    for (const value of missing) yield [value, namesOf([this.self])]
  }

  #both() {
    const { kind, name } = this.self
    const stored = this.cluster.get(kind, name)
    this.#links ??= {
      before: stored === undefined ? [] : linksOf(kind, stored),
      after: linksOf(kind, this.resource),
    }
    return this.#links
  }

  #amended(names: Names, before: boolean, after: boolean): Names {
    if (before === after) return names
    return after ? joined([names, namesOf([this.self])]) : without(names, [this.self])
  }
}

const isLinked = (links: readonly Link[], to: ObjectName) => links.some((link) => isSame(link.to, to))

const isSame = (one: ObjectName, other: ObjectName) => one.name === other.name && one.kind === other.kind

const valuesOf = (links: readonly Link[], to: ObjectName, aspect: string): string[] =>
  links
    .filter((link) => isSame(link.to, to))
    .flatMap(({ aspects }) => aspects.filter(([each]) => each === aspect).map(([, value]) => value))
