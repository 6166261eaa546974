import { readFileSync } from 'node:fs'
import { randomOf } from './random.ts'

type Kind = 'bool' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'list' | 'map' | 'type' | 'time' | 'any'
const kinds = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'type', 'time'] as const
const typeNames = [
  ...['int', 'string', 'list', 'map', 'type', 'bool', 'double', 'null_type', 'bytes', 'uint'],
  ...['google.protobuf.Timestamp', 'google.protobuf.Duration', '.int', '.list'],
] as const

const golden = readFileSync(new URL('../../test/golden/cel.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => (JSON.parse(line) as { expr: string }).expr)

/** Writes CEL expressions over `claims`. Four of five are of known kinds, the others damaged texts; most compile. */
export function expressionWriter(seed: number): () => string {
  const { random, below, pick } = randomOf(seed)

  /** Most expressions are of the kind that is asked for, so that many of them compile. */
  function expression(depth: number, scope: readonly string[], wanted: Kind): string {
    const kind = wanted === 'any' || random() < 0.06 ? pick(kinds) : wanted
    if (random() < 0.25 && scope.length > 0) return local(scope)
    if (random() < 0.12) return claim(depth, scope)
    if (depth <= 0) return leaf(kind)
    const inner = (of: Kind) => expression(depth - 1 - below(2), scope, of)
    if (random() < 0.05) return `(${inner('bool')} ? ${inner(kind)} : ${inner(kind)})`
    if (random() < 0.04) return `(${inner(kind)})`
    if (random() < 0.05) return `${collection(depth, scope, kind)}[${random() < 0.5 ? '0' : inner('any')}]`
    if (random() < 0.03) return `dyn(${inner(kind)})`
    return compound(kind, depth, scope, inner)
  }

  const local = (scope: readonly string[]) =>
    `${random() < 0.05 ? '.' : ''}${scope[below(scope.length)] ?? 'x'}`

  function claim(depth: number, scope: readonly string[]): string {
    if (random() < 0.2 && depth > 0) return `claims[${expression(depth - 1, scope, 'string')}]`
    return `claims${pick(['.a', '.groups', '["b"]', '.c.d', '.`e-f`', '', '.g[0]'])}`
  }

  function leaf(kind: Kind): string {
    switch (kind) {
      case 'bool':
        return pick(['true', 'false', 'has(claims.a)', 'has(claims.a.b)'])
      case 'int':
        return pick(['0', '1', '-1', '--2', '0x1F', '-9223372036854775808', '--9223372036854775808'])
      case 'uint':
        return pick(['0u', '1u', '18446744073709551615u'])
      case 'double':
        return pick(['0.5', '1.0', '-1e3', '.5'])
      case 'string':
        return pick(['""', '"a"', "'b'", 'r"\\d"'])
      case 'bytes':
        return pick(['b""', 'b"a"'])
      case 'list':
        return pick(['[]', '[1]', '[null]', '["a"]', '[int]', '[[]]', '[{}]'])
      case 'map':
        return pick(['{}', '{"a": 1}', '{1: "a"}', '{int: 1}', '{1: []}', '{null: null}'])
      case 'type':
        return pick(typeNames)
      default:
        return pick(['null', 'timestamp(0)', 'duration("1s")'])
    }
  }

  const collection = (depth: number, scope: readonly string[], kind: Kind): string => {
    const inner = (of: Kind) => expression(depth - 1, scope, of)
    if (random() < 0.3) return inner('list')
    if (random() < 0.2) return inner('map')
    if (random() < 0.2) return `{${inner('any')}: ${inner(kind)}}`
    return `[${Array.from({ length: below(3) }, () => inner(random() < 0.15 ? 'any' : kind)).join(', ')}]`
  }

  function compound(
    kind: Kind,
    depth: number,
    scope: readonly string[],
    inner: (of: Kind) => string,
  ): string {
    const number = pick(['int', 'int', 'uint', 'double'] as const)
    switch (kind) {
      case 'bool':
        return boolean(depth, scope, inner)
      case 'int':
        if (random() < 0.2) return `size(${inner(pick(['list', 'map', 'string']))})`
        if (random() < 0.2) return `int(${inner(pick(['string', 'double', 'uint', 'time']))})`
        if (random() < 0.1) return `-${inner('int')}`
        return `${inner('int')} ${pick(['+', '-', '*', '/', '%'])} ${inner('int')}`
      case 'uint':
      case 'double':
        return random() < 0.3
          ? `${kind}(${inner(number)})`
          : `${inner(kind)} ${pick(['+', '*'])} ${inner(kind)}`
      case 'string':
      case 'bytes':
        return random() < 0.4 ? `${kind}(${inner('any')})` : `${inner(kind)} + ${inner(kind)}`
      case 'list':
        return random() < 0.5 ? loop('list', depth, scope) : collection(depth, scope, pick(kinds))
      case 'map':
        return `{${inner('any')}: ${inner('any')}${random() < 0.3 ? `, ${inner('any')}: ${inner('any')}` : ''}}`
      case 'type':
        return random() < 0.6 ? `type(${inner('any')})` : leaf('type')
      default:
        return pick([
          `timestamp(${inner('string')})`,
          `duration(${inner('string')})`,
          `${inner('time')} + ${inner('time')}`,
        ])
    }
  }

  function boolean(depth: number, scope: readonly string[], inner: (of: Kind) => string): string {
    const chance = random()
    if (chance < 0.25) return loop('bool', depth, scope)
    if (chance < 0.4) return `${inner('bool')} ${pick(['&&', '||'])} ${inner('bool')}`
    if (chance < 0.45) return `!${inner('bool')}`
    if (chance < 0.55) return `${inner('any')} in ${inner(pick(['list', 'map']))}`
    if (chance < 0.62)
      return `${inner('string')}.${pick(['startsWith', 'contains', 'matches'])}(${inner('string')})`
    const same = pick([...kinds, 'type', 'type', 'list'] as const)
    const other = random() < 0.1 ? pick(kinds) : same
    if (chance < 0.85) return `${inner(same)} ${pick(['==', '!='])} ${inner(other)}`
    const numbers = ['int', 'uint', 'double'] as const
    const left = pick(numbers)
    return `${inner(left)} ${pick(['<', '<=', '>', '>='])} ${inner(random() < 0.5 ? left : pick(numbers))}`
  }

  function loop(kind: 'bool' | 'list', depth: number, scope: readonly string[]): string {
    const variable = pick(['x', 'y', 't', 'x', 'y', 't', 'int', 'claims', 'google'])
    const range =
      random() < 0.15 ? expression(depth - 1, scope, 'any') : collection(depth, scope, pick(kinds))
    const body = (of: Kind) => expression(depth - 1 - below(2), [...scope, variable], of)
    if (kind === 'bool')
      return `${range}.${pick(['all', 'exists', 'exists_one'])}(${variable}, ${body('bool')})`
    if (random() < 0.4) return `${range}.filter(${variable}, ${body('bool')})`
    const test = random() < 0.3 ? `${body('bool')}, ` : ''
    return `${range}.map(${variable}, ${test}${body('any')})`
  }

  /** Some text of one expression within another. */
  function damaged(one: string, other: string): string {
    const at = below(one.length + 1)
    const from = below(other.length + 1)
    const middle =
      random() < 0.5 ? other.slice(from, from + below(6)) : pick(['', '(', ')', '"', '.', '-', '!', '[', '?'])
    return one.slice(0, at) + middle + one.slice(at + below(3))
  }

  function next(): string {
    const chance = random()
    const made = expression(2 + below(4), [], random() < 0.8 ? 'bool' : 'any')
    if (chance < 0.8) return made
    const known = golden[below(golden.length)] ?? made
    return chance < 0.9 ? damaged(known, made) : damaged(made, known)
  }
  return next
}
