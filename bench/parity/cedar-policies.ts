import { parsePolicy } from '../../src/cedar/index.ts'
import { cedarGoAnswers, cedarGoName } from '../cedar-go.ts'
import { type Compare, Tally } from './comparison.ts'
import { randomOf, several } from './random.ts'

const NAMES = [
  'a',
  '_b',
  'claim_x',
  'if',
  'in',
  'permit',
  'when',
  'principal',
  'has',
  '__cedar',
  'é',
] as const
const STRINGS: readonly [string, ...string[]] = [
  '""',
  ...[
    '"."',
    '"a"',
    '"*"',
    '"\\*"',
    '"\\u{41}"',
    '"\\u{110000}"',
    '"\\u{d800}"',
    '"\\x41"',
    '"\\xff"',
    '"\\q"',
  ],
  ...['"\\n"', '"a\nb"', '"\\\\"', '"\\""', "'a'", '"é"', '"//"', '"a', '"\\u{}"', '"\\0"', '"\\\'"'],
]
const NUMBERS = [
  '0',
  '1',
  '007',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '1.5',
] as const
const TYPES = ['User', 'A::B', 'THVGroup', 'Action'] as const

const ODD = '(){}[]"\\;,.:@=!<>&|*+-?%$\'/é\n \0x1'

/** Writes policies, and texts that are nearly policies. */
function policyWriter(seed: number): () => string {
  const { random, below, pick, some } = randomOf(seed)

  const name = () => (random() < 0.8 ? pick(['a', 'b', 'claim_x', 'permit', 'principal']) : pick(NAMES))
  const string = () => (random() < 0.8 ? pick(['"a"', '""', '"b c"', '"*x"']) : pick(STRINGS))
  const entity = () => `${pick(TYPES)}${random() < 0.05 ? ':' : '::'}${random() < 0.05 ? name() : string()}`
  const list = (item: () => string) => `${some(3, item).join(', ')}${random() < 0.1 ? ',' : ''}`

  function expression(depth: number): string {
    if (depth <= 0) return leaf()
    const inner = () => expression(depth - 1 - below(2))
    switch (below(16)) {
      case 0:
        return `${inner()} && ${inner()}`
      case 1:
        return `${inner()} || ${inner()}`
      case 2:
        return `${inner()} ${pick(['==', '!=', '<', '<=', '>', '>=', 'in', '='])} ${inner()}`
      case 3:
        return `(${inner()})`
      case 4:
        return `${pick(['!', '-', '!!', '--', '!-'])}${inner()}`
      case 5:
        return `if ${inner()} then ${inner()} else ${inner()}`
      case 6:
        return `${inner()} has ${random() < 0.7 ? name() : string()}${random() < 0.2 ? `.${name()}` : ''}`
      case 7:
        return `${inner()} like ${string()}`
      case 8:
        return `${inner()} is ${pick(TYPES)}${random() < 0.3 ? ` in ${inner()}` : ''}`
      case 9:
        return `[${list(inner)}]`
      case 10:
        return `{${list(() => `${random() < 0.5 ? name() : string()}: ${inner()}`)}}`
      case 11:
        return `${inner()}.${name()}`
      case 12:
        return `${inner()}[${string()}]`
      case 13:
        return `${inner()}.${pick(['contains', 'isEmpty', 'hasTag', 'lessThan', 'isIpv4', 'nothing', 'ip'])}(${list(inner)})`
      case 14:
        return `${pick(['ip', 'decimal', 'datetime', 'duration', 'lessThan', 'A::f'])}(${list(inner)})`
      default:
        return `${inner()} ${pick(['+', '-', '*'])} ${inner()}`
    }
  }

  function leaf(): string {
    switch (below(6)) {
      case 0:
        return random() < 0.8 ? pick(['0', '1', '42']) : pick(NUMBERS)
      case 1:
        return string()
      case 2:
        return entity()
      case 3:
        return pick(['true', 'false'])
      default:
        return pick(['principal', 'action', 'resource', 'context', 'context.a', 'principal.claim_x', 'other'])
    }
  }

  const scope = (of: string) =>
    pick([
      () => of,
      () => of,
      () => `${of} == ${entity()}`,
      () => `${of} in ${entity()}`,
      () => `${of} is ${pick(TYPES)}`,
      () => `${of} is ${pick(TYPES)} in ${entity()}`,
      () => `${of} in [${list(entity)}]`,
    ])()

  function policy(): string {
    const annotations = some(2, () => `@${name()}${random() < 0.7 ? `(${string()})` : ''}\n`).join('')
    const conditions = some(2, () => ` ${pick(['when', 'unless'])} { ${expression(1 + below(4))} }`).join('')
    const comment = random() < 0.1 ? pick([' // x\n', ' /* x */ ', ' /* x ']) : ''
    const head = `${pick(['permit', 'forbid'])}(${scope('principal')}, ${scope('action')}, ${scope('resource')}${random() < 0.05 ? ',' : ''})`
    return `${annotations}${head}${comment}${conditions}${random() < 0.97 ? ';' : ''}`
  }

  /** A policy of which a few characters are left out, doubled or replaced. */
  function mutated(text: string): string {
    let result = text
    for (let i = below(3); i >= 0; i--) {
      const at = below(result.length + 1)
      const odd = ODD.charAt(below(ODD.length))
      result = result.slice(0, at) + pick(['', odd, result.slice(at, at + 3)]) + result.slice(at + below(2))
    }
    return result
  }

  return () => {
    const text = policy()
    return random() < 0.5 ? text : random() < 0.9 ? mutated(text) : text + policy()
  }
}

/** Which policies are accepted. */
export const comparePolicies: Compare = async (count, seed) => {
  const texts = several(count, policyWriter(seed))
  const answers = await cedarGoAnswers(texts.map((policy) => ({ policy })))
  const tally = new Tally()
  for (const [i, text] of texts.entries()) {
    const theirs = answers[i]
    const ours = parsePolicy(text)
    tally.came(theirs?.ok === true ? 'accepted' : 'refused')
    if (ours.kind === 'unread') tally.explained(UNREAD)
    else if ((ours.kind === 'policy') !== theirs?.ok)
      tally.different(JSON.stringify({ text, theirs: theirs?.message ?? 'accepted', ours }))
  }
  return [tally.result('Cedar: which policies are accepted', cedarGoName(), texts.length)]
}

const UNREAD = 'a policy that is too deep or too long for us: nothing is said of it'
