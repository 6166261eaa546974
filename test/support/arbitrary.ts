import fc from 'fast-check'
import type { Kind } from '../../src/kinds/kind.ts'
import { PATTERNS } from '../../src/kinds/patterns.ts'

interface Node {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Node
  readonly items?: Node
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

/** By pattern: strings that match it, and strings that almost do. */
const MATCHING: Readonly<Record<string, readonly string[]>> = {
  [PATTERNS.arn.ecmaScript]: ['arn:aws:iam::123456789012:role/a', 'arn:aws-cn:iam::123456789012:role/x/y'],
  [PATTERNS.region.ecmaScript]: ['eu-central-1', 'us-gov-west-1'],
  [PATTERNS.issuer.ecmaScript]: [
    'https://a.example.com',
    'http://localhost:8080',
    'http://a.example.com',
    'https://u@h',
  ],
  [PATTERNS.duration.ecmaScript]: ['1h', '720h', '1h30m', '100ms', '9999999h', '1.5h'],
  [PATTERNS.dnsLabel.ecmaScript]: ['okta', 'github', 'default', 'a-1'],
  [PATTERNS.url.ecmaScript]: ['https://a.example.com/x', 'http://a.example.com', 'https://'],
  [PATTERNS.https.ecmaScript]: ['https://a.example.com', 'https://'],
  [PATTERNS.subjectTokenType.ecmaScript]: ['', 'jwt', 'access_token'],
  [PATTERNS.reason.ecmaScript]: ['Valid'],
  [PATTERNS.conditionType.ecmaScript]: ['Valid', 'a.b/Ready'],
}
const TEXTS = [
  'a',
  'groups',
  'claims.a == "b"',
  'true',
  'openid',
  'offline_access',
  'https://a.example.com',
  '${X}',
  '<NAME>',
  '',
  '\u0000\ud800',
]
const KEYS = ['a', 'access_type', 'client_id', '__proto__', 'constructor', 'b/c~d']

/** Generates resources of a kind. Each field may be present; `wrong` percent of the values do not fit the schema. */
export function resources(
  kind: Kind,
  { wrong = 0 }: { wrong?: number } = {},
): fc.Arbitrary<Record<string, unknown>> {
  const { spec, status } = (kind.schema as Node).properties ?? {}
  return fc
    .record({
      apiVersion: fc.constant('toolhive.stacklok.dev/v1beta1'),
      kind: fc.constant(kind.kind),
      metadata: fc.record({ name: fc.constant('example'), namespace: fc.constantFrom('default', 'team-a') }),
      ...(spec && { spec: valueOf(spec, wrong) }),
      ...(status && { status: fc.constantFrom(undefined, {}) }),
    })
    .map(withoutUndefined)
}

function valueOf(node: Node, wrong: number): fc.Arbitrary<unknown> {
  const right = rightValue(node, wrong)
  return wrong === 0
    ? right
    : fc.oneof({ weight: 100 - wrong, arbitrary: right }, { weight: wrong, arbitrary: WRONG })
}

const WRONG = fc.oneof(
  fc.constantFrom(null, '', 'x', -1, 1.5, true, [], {}, [null]),
  fc.jsonValue({ maxDepth: 2 }),
)

function rightValue(node: Node, wrong: number): fc.Arbitrary<unknown> {
  const { type, properties, required = [], additionalProperties, items } = node
  if (node.enum !== undefined) return fc.constantFrom(...node.enum)
  if (items !== undefined) return fc.array(valueOf(items, wrong), { maxLength: 3 })
  if (additionalProperties !== undefined) {
    return fc.dictionary(fc.constantFrom(...KEYS), valueOf(additionalProperties, wrong), { maxKeys: 3 })
  }
  if (properties !== undefined) {
    const fields = Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, valueOf(field, wrong)]),
    )
    return fc.record(fields, { requiredKeys: required.filter((name) => name in fields) })
  }
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') {
    const { minimum = -10, maximum = 40_000 } = node
    return fc.integer({ min: minimum, max: maximum })
  }
  if (type === undefined) return fc.constantFrom(true, { enabled: true }, 'x')
  const matching = node.pattern === undefined ? TEXTS : MATCHING[node.pattern]
  if (matching === undefined) throw new Error(`no texts for ${node.pattern}`)
  return fc.constantFrom(...matching)
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}
