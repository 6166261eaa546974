import { bounded, LIMITS, Stopped } from '../../src/access/role/matcher.ts'
import { fromJson } from '../../src/cel/evaluate/values.ts'
import {
  type CelGoVersion,
  check,
  checkMatcher,
  evaluate,
  type MatcherVerdict,
  parse,
} from '../../src/cel/index.ts'
import { OutOfBudget } from '../../src/rule/index.ts'
import { printed } from '../../test/support/cel-values.ts'
import { celGoName, celGoValues, type CelGoVerdict, celGoVerdicts } from '../cel-go.ts'
import { expressionWriter } from './cel-expressions.ts'
import { pairWriter } from './cel-pairs.ts'
import { type Compare, type Comparison, Tally } from './comparison.ts'
import { several } from './random.ts'

export const compareCel: Compare = async (count, seed) => [
  await compareVerdicts(count, seed),
  await compareValues(count, seed, '0.32'),
  await compareValues(count, seed, '0.33'),
]

const MESSAGES = 'it names a message or enum of Protobuf: we do not know which there are (decision 15)'
const TOO_LARGE = 'its types are too large for us: we refuse it'
const LIMIT = 'a pattern that is too large for us: we say that it could not be evaluated'
const ZONE = 'the zone EST before 1908: newer versions of the time zone database take it for that of Panama'
const KEY = 'one list of the claims as two keys of a map: it is another value for cel-go each time it is read'
const LIST_AS_KEY = /[{ ]\[[^\]]*\]: /
const ORDER = 'a list of the keys of a map: Go takes them in another order each time'

/** Whether an expression compiles with either version, and its type. */
async function compareVerdicts(count: number, seed: number): Promise<Comparison> {
  const expressions = several(count, expressionWriter(seed)).filter((expr) => expr.isWellFormed())
  const [older, newer] = await Promise.all([
    celGoVerdicts(expressions, '0.32'),
    celGoVerdicts(expressions, '0.33'),
  ])
  const tally = new Tally()
  for (const [i, expr] of expressions.entries()) {
    const [inOlder, inNewer] = [older[i], newer[i]]
    if (inOlder !== undefined && inNewer !== undefined) compareVerdict(tally, expr, inOlder, inNewer)
  }
  const against = `${celGoName('0.32')} and ${celGoName('0.33').replace('cel-go ', '')}`
  return tally.result('CEL: compiles, and its type', against, expressions.length)
}

function compareVerdict(tally: Tally, expr: string, older: CelGoVerdict, newer: CelGoVerdict): void {
  tally.came(older.ok !== newer.ok ? 'accepted by one version' : older.ok ? 'accepted' : 'refused')
  if (/google\s*\.\s*protobuf/.test(expr) && (newer.ok || described(newer).includes('google'))) {
    tally.explained(MESSAGES)
    return
  }
  const verdict = checkMatcher(expr)
  if (!verdict.ok && verdict.message.startsWith('the types of this expression are too large')) {
    tally.explained(TOO_LARGE)
    return
  }
  const accepts = (version: CelGoVersion) => verdict.ok && verdict.refusedBy?.version !== version
  const type = newer.ok ? newer.type : older.type
  const sameType = !verdict.ok || verdict.type === type || verdict.type.includes('…')
  if (accepts('0.32') !== older.ok || accepts('0.33') !== newer.ok || !sameType)
    tally.different(
      `${expr}\n    ours ${describedHere(verdict)}\n    0.32 ${described(older)}\n    0.33 ${described(newer)}`,
    )
}

const described = ({ ok, type, phase, message }: CelGoVerdict) => (ok ? `${type}` : `${phase}: ${message}`)
const describedHere = (verdict: MatcherVerdict) =>
  verdict.ok ? `${verdict.type} ${verdict.refusedBy?.message ?? ''}` : verdict.message

/** The value of an expression over claims, or that it fails. */
async function compareValues(count: number, seed: number, version: CelGoVersion): Promise<Comparison> {
  const pairs = several(count, pairWriter(seed))
  const lines = pairs.map((pair) => JSON.stringify(pair))
  const answers = await celGoValues(lines, version)
  const tally = new Tally()
  for (const [i, { expr, claims }] of pairs.entries()) {
    const theirs = answers[i] ?? ''
    const ours = valueOf(expr, claims, version)
    tally.came(['refused', 'error', 'cost'].includes(theirs) ? theirs : 'a value')
    if (ours === theirs) continue
    if (ours === LIMIT) tally.explained(LIMIT)
    else if (sorted(ours) === sorted(theirs)) tally.explained(ORDER)
    else if (expr.includes('"EST"')) tally.explained(ZONE)
    else if (LIST_AS_KEY.test(theirs)) tally.explained(KEY)
    else tally.different(`${lines[i]}\n    cel-go ${theirs}\n    ours   ${ours}`)
  }
  return tally.result('CEL: its value over claims', celGoName(version), pairs.length)
}

/** The characters of a printed value in an order of their own. */
const sorted = (value: string) => [...value].toSorted().join('')

function valueOf(expr: string, claims: unknown, version: CelGoVersion): string {
  const parsed = parse(expr)
  const checked = parsed.ok ? check(parsed.expr, version) : undefined
  if (!parsed.ok || checked?.ok !== true) return 'refused'
  const spend = bounded(LIMITS, Infinity, () => 0)
  try {
    const { settled } = checked
    return printed(evaluate(parsed.expr, { claims: fromJson(claims), settled, celGo: version, spend }))
  } catch (error) {
    if (error instanceof Stopped) return 'cost'
    if (error instanceof OutOfBudget) return LIMIT
    throw error
  }
}
