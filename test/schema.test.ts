import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { kindNamed } from '../src/kinds/index.ts'
import { withChanges } from '../src/engine/defaults.ts'
import { compareFindings, findingText } from '../src/rule/finding.ts'
import { shape } from '../src/shape/shape.ts'
import { pathText, valueAt } from '../src/rule/path.ts'
import { resourceOf } from './support/review.ts'

const role = 'arn:aws:iam::123456789012:role/reader'
const condition = (fields: object) => ({
  spec: { type: 'unauthenticated' },
  status: {
    conditions: [
      {
        type: 'Valid',
        status: 'True',
        reason: 'Valid',
        message: '',
        lastTransitionTime: '2026-01-31T12:00:00Z',
        ...fields,
      },
    ],
  },
})
const awsSts = (fields: object) => ({
  spec: { type: 'awsSts', awsSts: { region: 'eu-central-1', fallbackRoleArn: role, ...fields } },
})
const mapping = (fields: object) => awsSts({ roleMappings: [{ roleArn: role, ...fields }] })
const server = (fields: object) => ({
  spec: {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { issuer: 'https://a.example.com', upstreamProviders: [], ...fields },
  },
})
const provider = (name: unknown) => server({ upstreamProviders: [{ name, type: 'oidc' }] })
const secretOf = (fields: object) => ({
  spec: { type: 'bearerToken', bearerToken: { tokenSecretRef: fields } },
})
const incoming = (type: unknown) => ({ spec: { incomingAuth: { type } } })
const outgoing = (fields: object) => ({ spec: { outgoingAuth: fields } })
const emoji = (count: number) => '😀'.repeat(count)

const REASON = 'status.conditions[0].reason'
const TIME = 'status.conditions[0].lastTransitionTime'
const NO_TIME = "must be a date and time such as '2026-01-31T12:00:00Z'"
const DURATION = 'spec.awsSts.sessionDuration'
const PRIORITY = 'spec.awsSts.roleMappings[0].priority'
const NAME = 'spec.embeddedAuthServer.upstreamProviders[0].name'

/**
 * Values on both sides of each bound in sections 2 and 8, typed by hand from the specification, with the expected
 * findings.
 */
const EDGES: Readonly<Record<string, readonly (readonly [object: object, ...found: string[]])[]>> = {
  MCPExternalAuthConfig: [
    [awsSts({ sessionDuration: 900 })],
    [awsSts({ sessionDuration: 43_200 })],
    [
      awsSts({ sessionDuration: 899 }),
      `${DURATION}: Invalid value: 899: must be greater than or equal to 900 (schema-minimum)`,
    ],
    [
      awsSts({ sessionDuration: 43_201 }),
      `${DURATION}: Invalid value: 43201: must be less than or equal to 43200 (schema-maximum)`,
    ],
    [
      awsSts({ sessionDuration: 2 ** 31 }),
      `${DURATION}: Invalid value: 2147483648: must be less than or equal to 43200 (schema-maximum)`,
    ],
    [
      awsSts({ sessionDuration: -(2 ** 31) - 1 }),
      `${DURATION}: Invalid value: -2147483649: must be greater than or equal to 900 (schema-minimum)`,
    ],
    [
      awsSts({ sessionDuration: 900.5 }),
      `${DURATION}: Invalid value: "number": must be of type integer (schema-type)`,
    ],
    [
      awsSts({ region: '' }),
      `spec.awsSts.region: Invalid value: "": must be at least 1 character long (schema-minLength)`,
    ],
    [
      mapping({ claim: '' }),
      `spec.awsSts.roleMappings[0].claim: Invalid value: "": must be at least 1 character long (schema-minLength)`,
    ],
    [
      mapping({ matcher: '' }),
      `spec.awsSts.roleMappings[0].matcher: Invalid value: "": must be at least 1 character long (schema-minLength)`,
    ],
    [mapping({ claim: 'a', priority: 0 })],
    [mapping({ claim: 'a', priority: 2 ** 31 - 1 })],
    [
      mapping({ claim: 'a', priority: -1 }),
      `${PRIORITY}: Invalid value: -1: must be greater than or equal to 0 (schema-minimum)`,
    ],
    [
      mapping({ claim: 'a', priority: 2 ** 31 }),
      `${PRIORITY}: Invalid value: 2147483648: must be between -2147483648 and 2147483647 (schema-format)`,
    ],
    [
      mapping({ claim: 'a', priority: -(2 ** 31) - 1 }),
      `${PRIORITY}: Invalid value: -2147483649: must be greater than or equal to 0 (schema-minimum)`,
    ],
    [
      server({ upstreamProviders: [] }),
      'spec.embeddedAuthServer.upstreamProviders: Invalid value: []: must have at least 1 item (schema-minItems)',
    ],
    [provider('a'.repeat(63))],
    [provider('a'.repeat(64)), `${NAME}: Too long: may not be more than 63 characters (schema-maxLength)`],
    [provider(''), `${NAME}: Invalid value: "": must be at least 1 character long (schema-minLength)`],
    [
      secretOf({ name: '', key: 'a' }),
      'spec.bearerToken.tokenSecretRef.name: Invalid value: "": must be at least 1 character long (schema-minLength)',
    ],
    [secretOf({ name: 'a' }), 'spec.bearerToken.tokenSecretRef.key: Required value (schema-required)'],
    [condition({ reason: 'a'.repeat(1_024) })],
    [
      condition({ reason: 'a'.repeat(1_025) }),
      `${REASON}: Too long: may not be more than 1024 characters (schema-maxLength)`,
    ],
    [
      condition({ reason: '' }),
      `${REASON}: Invalid value: "": must be at least 1 character long (schema-minLength)`,
    ],
    [condition({ type: 'a'.repeat(316) })],
    [
      condition({ type: 'a'.repeat(317) }),
      'status.conditions[0].type: Too long: may not be more than 316 characters (schema-maxLength)',
    ],
    [condition({ message: emoji(32_768) })],
    [
      condition({ message: emoji(32_769) }),
      'status.conditions[0].message: Too long: may not be more than 32768 characters (schema-maxLength)',
    ],
    [condition({ observedGeneration: 2 ** 63 })],
    [
      condition({ observedGeneration: 2 ** 64 }),
      'status.conditions[0].observedGeneration: Invalid value: 1.8446744073709552e+19: must be between -9223372036854775808 and 9223372036854775807 (schema-format)',
    ],
    [
      condition({ observedGeneration: -1 }),
      'status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or equal to 0 (schema-minimum)',
    ],
    ...[
      '2026-01-31T12:00:00Z',
      '2026-01-31T12:00:00.123456Z',
      '2026-01-31T12:00:00+00:00',
      '2026-01-31T12:00:00-08:30',
    ].map((time) => [condition({ lastTransitionTime: time })] as const),
    ...[
      '2026-01-31T12:00:00+0000',
      '2026-01-31T12:00:00+00',
      '2026-01-31T12:00:00-0830',
      '2026-01-31T12:00:00',
      '2026-02-30T12:00:00Z',
      '2026-01-31 12:00:00Z',
      '2026-01-31t12:00:00z',
      '',
    ].map(
      (time) =>
        [
          condition({ lastTransitionTime: time }),
          `${TIME}: Invalid value: "${time}": ${NO_TIME} (schema-format)`,
        ] as const,
    ),
  ],
  VirtualMCPServer: [
    ...['anonymous', 'oidc'].map((type) => [incoming(type)] as const),
    [
      incoming('OIDC'),
      `spec.incomingAuth.type: Unsupported value: "OIDC": supported values: "anonymous", "oidc"; did you mean 'oidc' (schema-enum)`,
    ],
    ...['discovered', 'inline'].map((source) => [outgoing({ source })] as const),
    [
      outgoing({ source: 'mixed' }),
      'spec.outgoingAuth.source: Unsupported value: "mixed": supported values: "discovered", "inline" (schema-enum)',
    ],
    ...['externalAuthConfigRef', 'discovered'].map(
      (type) => [outgoing({ backends: { a: { type } } })] as const,
    ),
    [
      outgoing({ backends: { a: { type: 'none' } } }),
      'spec.outgoingAuth.backends[a].type: Unsupported value: "none": supported values: "externalAuthConfigRef", "discovered" (schema-enum)',
    ],
  ],
  MCPOIDCConfig: [
    ...['inline', 'kubernetesServiceAccount'].map((type) => [{ spec: { type } }] as const),
    [
      { spec: { type: 'configMap' } },
      'spec.type: Unsupported value: "configMap": supported values: "inline", "kubernetesServiceAccount" (schema-enum)',
    ],
  ],
}

t.test('bounds and values, on both sides of each', async (t) => {
  for (const [name, rows] of Object.entries(EDGES)) {
    const kind = kindNamed.get(name)
    if (kind === undefined) throw new Error(name)
    for (const [fields, ...expected] of rows) {
      const { findings } = shape(kind, { ...resourceOf(name, undefined), ...fields })
      const found = findings.toSorted(compareFindings).map(findingText)
      const title = `${name} ${JSON.stringify(fields).slice(0, 120)}`
      t.strictSame(found, expected, title)
    }
  }
})

t.test('lengths count code points', async (t) => {
  const kind = kindNamed.get('MCPExternalAuthConfig')
  if (kind === undefined) throw new Error('no kind')
  for (const [count, ids] of [
    [63, ['schema-pattern']],
    [64, ['schema-maxLength', 'schema-pattern']],
  ] as const) {
    const { findings } = shape(kind, resourceOf(kind.kind, provider(emoji(count)).spec))
    t.strictSame(findings.map(({ id }) => id).toSorted(), ids, `${count} emoji`)
  }
})

t.test('names that kubectl knows (decision 1)', async (t) => {
  const rows: [kind: string, plural: string, shortNames: string[]][] = [
    ['MCPExternalAuthConfig', 'mcpexternalauthconfigs', ['extauth', 'mcpextauth']],
    ['VirtualMCPServer', 'virtualmcpservers', []],
    ['MCPOIDCConfig', 'mcpoidcconfigs', []],
    ['MCPServer', 'mcpservers', []],
    ['MCPGroup', 'mcpgroups', []],
    ['MCPRemoteProxy', 'mcpremoteproxies', []],
    ['MCPServerEntry', 'mcpserverentries', []],
  ]
  t.strictSame(
    [...kindNamed.values()].map(({ kind, plural, shortNames }) => [kind, plural, [...shortNames]]),
    rows,
  )
})

t.test('what kubectl prints of a kind', async (t) => {
  const age = { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' }
  const text = (name: string, jsonPath: string) => ({ name, jsonPath, type: 'string' })
  const rows: [plural: string, columns: object[]][] = [
    ['mcpexternalauthconfigs', [text('Type', '.spec.type'), age]],
    [
      'virtualmcpservers',
      [text('Group', '.spec.groupRef.name'), text('Incoming', '.spec.incomingAuth.type'), age],
    ],
    [
      'mcpservers',
      [text('Group', '.spec.groupRef.name'), text('Auth', '.spec.externalAuthConfigRef.name'), age],
    ],
  ]
  for (const set of ['crds', 'crds-strict'])
    for (const [plural, columns] of rows) {
      const file = new URL(`../deploy/${set}/${plural}.yaml`, import.meta.url)
      const crd = parse(readFileSync(file, 'utf8')) as {
        spec: { versions: { additionalPrinterColumns: object[] }[] }
      }
      t.strictSame(
        crd.spec.versions.map((version) => version.additionalPrinterColumns),
        [columns],
        `${set}/${plural}`,
      )
    }
})

/** The value that the detail of an error recommends; undefined when it recommends none. */
function advised(detail: string, value: unknown): unknown {
  if (detail.endsWith('; put it in quotes')) return String(value)
  if (detail.endsWith('; write it without quotes')) return JSON.parse(String(value))
  const shown = /, such as ([[{].*)$/.exec(detail)?.[1]
  return shown === undefined ? /.*'([^']+)'/.exec(detail)?.[1] : parse(shown)
}

t.test('what was probably meant is said, and is right', (t) => {
  const arn = 'spec.awsSts.fallbackRoleArn'
  const issuer = 'spec.embeddedAuthServer.issuer'
  const lifespan = 'spec.embeddedAuthServer.tokenLifespans.accessTokenLifespan'
  const arnOf = (text: string) => awsSts({ fallbackRoleArn: text })
  const lasting = (value: unknown) => server({ tokenLifespans: { accessTokenLifespan: value } })
  const anArn = "must be the ARN of an IAM role, such as 'arn:aws:iam::123456789012:role/reader'"
  const anIssuer =
    "must be an https URL without query, fragment or trailing slash, such as 'https://auth.example.com'"
  const aDuration = "must be a Go duration with the units h, m, s, ms, us or ns, such as '1h30m'"
  const aLabel =
    "must consist of lower case letters, digits and '-', and start and end with a letter or digit"
  const rows: readonly (readonly [object: object, path: string, detail: string, kind?: string])[] = [
    [arnOf('arn:aws:iam::12345678901:role/a'), arn, 'must have an account ID of 12 digits; this one has 11'],
    [arnOf('arn:aws:iam::1:role/a b'), arn, anArn],
    [arnOf('arn:amazon:iam::1:role/a'), arn, anArn],
    [
      arnOf('arn:aws:sts::123456789012:assumed-role/a/session'),
      arn,
      "names a session; write the ARN of its role, such as 'arn:aws:iam::123456789012:role/a'",
    ],
    [arnOf('arn:amazon:sts::123456789012:assumed-role/a/session'), arn, anArn],
    [arnOf('arn:aws:sts::1:assumed-role/a/session'), arn, anArn],
    [arnOf('arn:aws:iam::123456789012:user/a'), arn, anArn],
    [
      awsSts({ region: 'eu-central-1a' }),
      'spec.awsSts.region',
      "names an availability zone; write 'eu-central-1'",
    ],
    [
      awsSts({ region: 'eu-central1' }),
      'spec.awsSts.region',
      "must be an AWS region, such as 'eu-central-1'",
    ],
    [
      awsSts({ region: 'us-west-2-lax-1a' }),
      'spec.awsSts.region',
      "must be an AWS region, such as 'eu-central-1'",
    ],
    [server({ issuer: 'https://a.example.com//' }), issuer, 'must not end with a slash'],
    [server({ issuer: 'https://a:hush@example.com/' }), issuer, 'must not end with a slash'],
    [server({ issuer: 'http://a.example.com/' }), issuer, anIssuer],
    [server({ issuer: 'https://a.example.com?x/' }), issuer, anIssuer],
    [server({ issuer: 'https://' }), issuer, anIssuer],
    [server({ issuer: `https://${'a'.repeat(300)}/` }), issuer, anIssuer],
    [lasting('7d'), lifespan, "there is no unit for days; write '168h'"],
    [lasting('999999d'), lifespan, aDuration],
    [lasting('3600'), lifespan, "must have a unit: '3600s' for seconds"],
    [lasting('9'.repeat(10)), lifespan, aDuration],
    [provider('My_Okta'), NAME, `${aLabel}, such as 'my-okta'`],
    [provider('_'), NAME, `${aLabel}, such as 'okta'`],
    [provider('https://a:hush@b'), NAME, `${aLabel}, such as 'okta'`],
    [provider('A'.repeat(64)), NAME, `${aLabel}, such as 'okta'`],
    [server({ issuer: 1 }), issuer, `must be of type string; ${anIssuer}`],
    [lasting(3600), lifespan, `must be of type string; ${aDuration}`],
    [provider(7), NAME, 'must be of type string; put it in quotes'],
    [awsSts({ roleClaim: true }), 'spec.awsSts.roleClaim', 'must be of type string; put it in quotes'],
    [awsSts({ roleClaim: ['a'] }), 'spec.awsSts.roleClaim', 'must be of type string'],
    [{ spec: { type: 1 } }, 'spec.type', 'must be of type string'],
    [
      { metadata: { labels: { on: true } } },
      'metadata.labels[on]',
      'must be of type string; put it in quotes',
    ],
    [awsSts({ sessionDuration: '3600' }), DURATION, 'must be of type integer; write it without quotes'],
    [awsSts({ sessionDuration: '60' }), DURATION, 'must be of type integer'],
    [awsSts({ sessionDuration: '1h' }), DURATION, 'must be of type integer'],
    [mapping({ priority: '2147483648' }), PRIORITY, 'must be of type integer'],
    [
      { spec: { inline: { jwksAllowPrivateIP: 'true' } } },
      'spec.inline.jwksAllowPrivateIP',
      'must be of type boolean; write it without quotes',
      'MCPOIDCConfig',
    ],
    [
      { spec: { inline: { insecureAllowHTTP: 'true' } } },
      'spec.inline.insecureAllowHTTP',
      'must be of type boolean; write it without quotes',
      'MCPOIDCConfig',
    ],
    [
      server({ insecureAllowHTTP: 'yes' }),
      'spec.embeddedAuthServer.insecureAllowHTTP',
      'must be of type boolean',
    ],
    [
      server({ storage: { type: 'redis', redis: { addr: 6379 } } }),
      'spec.embeddedAuthServer.storage.redis.addr',
      'must be of type string; put it in quotes',
    ],
    [
      server({ upstreamProviders: [{ oauth2Config: { identityFromToken: { subjectPath: ['id'] } } }] }),
      'spec.embeddedAuthServer.upstreamProviders[0].oauth2Config.identityFromToken.subjectPath',
      'must be of type string',
    ],
    [
      server({ upstreamProviders: [{ oauth2Config: { dcrConfig: true } }] }),
      'spec.embeddedAuthServer.upstreamProviders[0].oauth2Config.dcrConfig',
      'must be of type object',
    ],
    [
      { spec: { inline: { jwksAllowPrivateIP: 'yes' } } },
      'spec.inline.jwksAllowPrivateIP',
      'must be of type boolean',
      'MCPOIDCConfig',
    ],
    [
      { spec: { groupRef: 'tools' } },
      'spec.groupRef',
      'must be of type object, such as {name: NAME}',
      'VirtualMCPServer',
    ],
    [
      { spec: { bearerToken: { tokenSecretRef: 'a' } } },
      'spec.bearerToken.tokenSecretRef',
      'must be of type object, such as {name: NAME, key: KEY}',
    ],
    [{ spec: { bearerToken: 'a' } }, 'spec.bearerToken', 'must be of type object'],
    [
      { spec: { tokenExchange: { scopes: 'a b' } } },
      'spec.tokenExchange.scopes',
      'must be of type array, such as [A, B]',
    ],
    [server({ hmacSecretRefs: 'a' }), 'spec.embeddedAuthServer.hmacSecretRefs', 'must be of type array'],
  ]
  for (const [object, path, detail, name = 'MCPExternalAuthConfig'] of rows) {
    const kind = kindNamed.get(name)
    if (kind === undefined) throw new Error(name)
    const errorsOf = (value: unknown) =>
      shape(kind, value).findings.flatMap(({ error }) => (pathText(error.at) === path ? [error] : []))
    const resource = { ...resourceOf(name, undefined), ...object }
    const errors = errorsOf(resource)
    t.ok(
      errors.some((error) => error.detail === detail),
      `${JSON.stringify(object)} gives ${JSON.stringify(errors)}`,
    )
    for (const { at } of errors.slice(0, 1)) {
      const better = advised(detail, valueAt(resource, at))
      if (better !== undefined)
        t.strictSame(errorsOf(withChanges(resource, [{ at, value: better }])), [], `${detail} is right`)
    }
  }
  t.end()
})
