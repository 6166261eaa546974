import { compareChoices } from '../../src/access/difference/compare.ts'
import { roleChoice } from '../../src/access/difference/role-choice.ts'
import { decideRole } from '../../src/access/role/decide.ts'
import type { Claims } from '../../src/access/role/claims.ts'
import type { Generation } from '../../src/kinds/mcp-external-auth-config/generations.ts'
import { bounded, type Evaluation, evaluateMatcher, LIMITS } from '../../src/access/role/matcher.ts'
import { fromJson } from '../../src/cel/evaluate/values.ts'
import { Budget } from '../../src/rule/budget.ts'
import { randomNumbers } from '../../src/access/difference/random-numbers.ts'

/**
 * Random role mappings (`awsSts`) over the claims `s`, `g`, `n` and `m`, with so few values that a test can try all
 * callers.
 */
export class RandomConfigs {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomNumbers(seed)
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.#below(choices.length)] ?? choices[0]
  }

  #text(): string {
    return this.#pick(['"a"', '"b"', '"ab"', '""', '"ba"', '"aa"'])
  }

  #number(): string {
    return this.#pick(['0', '1', '2', '1.5', '-1', '1u'])
  }

  #path(): string {
    return this.#pick([
      'claims.s',
      'claims.s',
      'claims.g',
      'claims.g',
      'claims.n',
      'claims.m',
      'claims.m.s',
      'claims["s"]',
      'claims.g[0]',
    ])
  }

  /** A random CEL condition about `value`, which is a CEL expression. */
  #test(value: string, depth: number): string {
    const compare = this.#pick(['<', '<=', '>', '>='])
    const text = this.#text()
    return this.#pick([
      () => `${value} ${this.#pick(['==', '!='])} ${text}`,
      () => `${value} == ${this.#number()}`,
      () => `${value}.${this.#pick(['startsWith', 'endsWith', 'contains'])}(${text})`,
      () => `${text}.${this.#pick(['startsWith', 'endsWith', 'contains'])}(${value})`,
      () =>
        `${value}.matches(${this.#pick(['"^a"', '"b$"', '"^[ab]?$"', '"a+b*"', '"^(a|b)b*$"', '"(?i)A"', '"^a(?i)+B?$"'])})`,
      () => `${value} in [${text}, ${this.#text()}]`,
      () => `${value} ${compare} ${text}`,
      () => `${value} ${compare} ${this.#number()}`,
      () => `size(${value}) ${this.#pick(['==', '>', '<', '>=', '!='])} ${this.#pick(['0', '1', '2', '3'])}`,
      () => `int(${value}) ${compare} ${this.#pick(['0', '1', '2'])}`,
      () => `type(${value}) == ${this.#pick(['string', 'list', 'double', 'map', 'bool', 'null_type'])}`,
      () =>
        `${value} == ${this.#pick(['true', 'null', '[]', '["a"]', '["a", "b"]', '{}', 'claims.s', 'claims.n'])}`,
      () => (depth > 0 ? this.#loop(value, depth - 1) : value),
    ])()
  }

  #loop(range: string, depth: number): string {
    const macro = this.#pick(['exists', 'exists', 'all', 'exists_one'])
    const body = this.#bool(depth, 'x')
    if (this.#random() < 0.15)
      return `size(${range}.filter(x, ${body})) ${this.#pick(['> 0', '== 1', '== 0'])}`
    if (this.#random() < 0.1) return `${range}.map(x, ${body}).${macro}(y, y == true)`
    return `${range}.${macro}(x, ${body})`
  }

  #leaf(depth: number, variable: string | undefined): string {
    if (variable !== undefined && this.#random() < 0.85) return this.#test(variable, depth)
    return this.#pick([
      () => this.#test(this.#path(), depth),
      (): string => this.#test(this.#path(), depth),
      () => `${this.#text()} in claims.g`,
      () => `${this.#text()} in claims.g`,
      () => `has(${this.#pick(['claims.s', 'claims.g', 'claims.n', 'claims.m', 'claims.m.s'])})`,
      () => `${this.#pick(['"s"', '"g"', '"n"', '"m"'])} in claims`,
      () => this.#path(),
      () => `has(claims.m.s) && ${this.#loop('claims.m', 0)}`,
      () =>
        `has(claims.m.s) && claims.m.${this.#pick(['exists', 'all'])}(k, k ${this.#pick(['==', '!='])} claims.s)`,
      (): string => `["a", "b"].${this.#pick(['exists', 'all', 'exists_one'])}(w, w in claims.g)`,
      () => `(has(claims.s) ? claims.s : "a") == ${this.#text()}`,
      () => `claims.s + ${this.#pick(['"a"', 'claims.m.s', 'claims.s', '"" + claims.n'])} == ${this.#text()}`,
      () => `${this.#text()} in claims.g + ${this.#pick(['["a"]', 'claims.m.s', '[claims.s, 1]'])}`,
      () => `(claims.g + ["a"]).${this.#pick(['exists', 'all'])}(j, ${this.#test('j', 0)})`,
      () =>
        `{"s": claims.s, "a": 1}${this.#pick(['.s', '.a', '.b', '["s"]', '[claims.s]'])} == ${this.#text()}`,
      () => `${this.#pick(['claims.s', '"b"'])} in {"a": claims.s, "ab": claims.n}`,
      () => `["a", claims.s][${this.#pick(['claims.n', 'int(claims.n)', 'claims.s'])}] == ${this.#text()}`,
      () => `bool(${this.#pick(['claims.s', 'claims.n', 'claims.s + "1"'])})`,
      (): string => `string(claims.n.matches(claims.s)) in claims.g`,
      () => `type(claims.g + claims.m.s) == ${this.#pick(['list', 'string'])}`,
      () => this.#pick(['true', 'false']),
    ])()
  }

  #bool(depth: number, variable?: string): string {
    const chance = this.#random()
    if (depth <= 0 || chance < 0.3) return this.#leaf(depth, variable)
    if (chance < 0.4) return `!(${this.#bool(depth - 1, variable)})`
    if (chance < 0.46)
      return `(${this.#bool(depth - 1, variable)} ? ${this.#bool(depth - 1, variable)} : ${this.#bool(depth - 1, variable)})`
    return `(${this.#bool(depth - 1, variable)} ${chance < 0.75 ? '&&' : '||'} ${this.#bool(depth - 1, variable)})`
  }

  matcher(): string {
    return this.#bool(1 + this.#below(3))
  }

  #mapping(): Mapping {
    const priority = this.#random() < 0.3 ? { priority: this.#below(3) } : {}
    const roleArn = role(this.#pick(['r1', 'r2', 'r3']))
    if (this.#random() < 0.25) return { claim: this.#pick(['a', 'b', 'ab']), roleArn, ...priority }
    return { matcher: this.matcher(), roleArn, ...priority }
  }

  /** An old and a new configuration; the new one often has mappings of the old one with their matchers rewritten. */
  pair(): readonly [object, object] {
    const old = Array.from({ length: 1 + this.#below(3) }, () => this.#mapping())
    const now = old.map((mapping) => (this.#random() < 0.6 ? this.#rewritten(mapping) : this.#mapping()))
    if (this.#random() < 0.2) now.splice(this.#below(now.length + 1), 0, this.#mapping())
    if (this.#random() < 0.1) now.pop()
    const fallback = this.#random() < 0.6 ? role('fallback') : undefined
    const roleClaim = this.#random() < 0.1 ? 's' : 'g'
    return [configOf(old, roleClaim, fallback), configOf(now, roleClaim, fallback)]
  }

  /** A configuration with matchers only. */
  ofMatchers(): object {
    const mappings = Array.from({ length: 1 + this.#below(4) }, () => ({
      matcher: this.matcher(),
      roleArn: role(this.#pick(['r1', 'r2', 'r3'])),
    }))
    return configOf(mappings, 'g', role('r1'))
  }

  /** The mapping with a matcher that is equivalent, or that differs slightly. */
  #rewritten(mapping: Mapping): Mapping {
    const { claim, matcher, ...rest } = mapping
    if (claim !== undefined)
      return this.#random() < 0.7 ? mapping : { ...rest, matcher: `"${claim}" in claims.g` }
    const text = matcher ?? 'true'
    return {
      ...rest,
      matcher: this.#pick([
        text,
        `!(!(${text}))`,
        `(${text}) && (${text})`,
        `(${text}) ? true : false`,
        `(${text}) || false`,
        `(${text}) || (${this.#bool(1)} && false)`,
        `(${text}) == true`,
        `(${text}) || ${this.#leaf(0, undefined)}`,
        `[${text}].exists(z, z)`,
      ]),
    }
  }
}

interface Mapping {
  readonly roleArn: string
  readonly claim?: string
  readonly matcher?: string
  readonly priority?: number
}

const role = (name: string) => `arn:aws:iam::123456789012:role/${name}`

const configOf = (
  roleMappings: readonly Mapping[],
  roleClaim: string,
  fallbackRoleArn: string | undefined,
) => ({
  apiVersion: 'toolhive.stacklok.dev/v1beta1',
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'aws' },
  spec: {
    type: 'awsSts',
    awsSts: {
      region: 'eu-west-1',
      roleClaim,
      roleMappings,
      ...(fallbackRoleArn === undefined ? {} : { fallbackRoleArn }),
    },
  },
})

const TEXTS = ['', 'a', 'b', 'ab', 'ba', 'aab', 'c']
const NUMBERS = [-1, 0, 0.5, 1, 1.5, 2, 3]
const SMALL = [null, true, false, 0, 1, 2, 'a', 'b', 'ab', '', 'c', {}, [], ['a']]
const LISTS = [
  [],
  ...SMALL.map((item) => [item]),
  ...['a', 'b', 'c', 1].flatMap((one) => ['a', 'b', 'ba', 'c', true].map((other) => [one, other])),
  ['a', 'b', 'c'],
  ['a', 'a', 'b'],
]
const MAPS = [{}, { s: 'a' }, { s: 'b' }, { s: ['a'] }, { a: 1 }, { a: 1, b: 2 }, { s: 'a', b: 2 }]
const ANYTHING = [undefined, null, true, false, ...TEXTS, ...NUMBERS, ...LISTS, ...MAPS]

/** The claims of callers: one or two claims with each of their values, and 1,000 random combinations of all claims. */
export const CALLERS: readonly Claims[] = (() => {
  const callers: Claims[] = []
  const add = (claims: Record<string, unknown>) =>
    callers.push(Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)))
  for (const s of [undefined, ...TEXTS, ...SMALL]) for (const g of ANYTHING) add({ s, g })
  for (const n of ANYTHING) for (const m of [undefined, ...MAPS]) add({ n, m, s: 'a', g: ['a'] })
  for (const s of ANYTHING) for (const n of NUMBERS) add({ s, n })
  const random = randomNumbers(7)
  const any = () => ANYTHING[Math.floor(random() * ANYTHING.length)]
  for (let i = 0; i < 1_000; i++) add({ s: any(), g: any(), n: any(), m: any() })
  return callers
})()

export interface PairCounts {
  pairs: number
  same: number
  different: number
  witnesses: number
  undecided: number
  /** Pairs for which the comparison found a change and left another question undecided. */
  partly: number
}

/** A caller for whom two configurations choose different roles: a witness that `compareChoices` reports. */
export interface NotedWitness {
  readonly old: object
  readonly now: object
  readonly generation: Generation
  readonly witness: Claims
  readonly had: string | undefined
  readonly has: string | undefined
}

/**
 * Compares one pair and verifies the result: each witness by the decision of `role`, and a result without differences
 * by trying all callers. Returns what is wrong.
 */
export function checkPair(
  [old, now]: readonly [object, object],
  generation: Generation,
  counts: PairCounts,
  noted: (witness: NotedWitness) => void = () => undefined,
): string | undefined {
  const choices = [old, now].map((each) => roleChoice(each, generation))
  const [before, after] = choices
  if (before === undefined || after === undefined) return 'no choice'
  const { changes, undecided, more } = compareChoices(before, after, { budget: new Budget(3_000_000) })
  counts.pairs++
  counts.witnesses += changes.length
  if (undecided.length > 0) counts[changes.length > 0 ? 'partly' : 'undecided']++
  else counts[changes.length > 0 ? 'different' : 'same']++
  for (const { old: had, new: has, witness } of changes) {
    noted({ old, now, generation, witness, had: had.access, has: has.access })
    const roles = [old, now].map((each) => decided(each, witness, generation))
    if (roles[0] !== had.access || roles[1] !== has.access || roles[0] === roles[1])
      return `false witness ${JSON.stringify({ witness, had, has, roles })}`
  }
  if (undecided.length > 0 || more) return undefined
  // If the pair has changes, one in 16 callers is tried; successive pairs try different callers.
  const tried = changes.length === 0 ? CALLERS : CALLERS.filter((_, i) => i % 16 === counts.pairs % 16)
  const found = new Set(changes.map((each) => JSON.stringify([each.old.access, each.new.access])))
  for (const claims of tried) {
    const [one, other] = [before.decide(claims).access, after.decide(claims).access]
    if (one !== other && !found.has(JSON.stringify([one, other])))
      return `a difference is missing for ${JSON.stringify({ claims, one, other })}`
  }
  return undefined
}

function decided(config: object, claims: Claims, generation: Generation): string | undefined {
  const value = fromJson(claims)
  const evaluationOf = (matcher: string): Evaluation =>
    evaluateMatcher(
      matcher,
      value,
      generation.celGo,
      bounded(LIMITS, Infinity, () => 0),
    )
  return decideRole(config, claims, generation, evaluationOf).role
}
