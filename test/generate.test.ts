import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { knownRelease, knownReleases } from '../src/configuration/known-releases.ts'
import { coverageProblems, withoutOwner } from '../src/generate/coverage.ts'
import { generatedFiles } from '../src/generate/files.ts'
import { heldPlaces } from '../src/generate/policies.ts'
import { KINDS } from '../src/kinds/index.ts'
import { PATTERNS } from '../src/kinds/patterns.ts'
import { examplesAt, rulePlaces } from '../src/kinds/places.ts'
import { judgeOf, resourceOf, submissionOf } from './support/review.ts'

interface Node {
  readonly [keyword: string]: unknown
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly additionalProperties?: Node
  readonly required?: readonly string[]
}

const file = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const jsonSchema = (kind: string) => JSON.parse(file(`schemas/${kind}.json`)) as Node

interface Crd {
  readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Node } }[] }
}

function crdSchema(set: 'crds' | 'crds-strict', plural: string): Node {
  const [version] = (parse(file(`deploy/${set}/${plural}.yaml`)) as Crd).spec.versions
  return version?.schema.openAPIV3Schema ?? {}
}

t.test('everything generated is fresh', async (t) => {
  for (const { path, text } of generatedFiles()) t.ok(file(path) === text, path)
})

t.test('every normative statement of the specification is held by a rule, a schema or a CRD', async (t) => {
  const statements = file('test/golden/normative-statements.txt').trim().split('\n')
  t.ok(statements.length > 80, `${statements.length} statements`)
  t.strictSame(withoutOwner(statements), [], 'statements without an owner')
  const strange = [
    '2.4.1 Nothing says this.',
    '9.9 At least one of fallbackRoleArn or roleMappings must be configured.',
  ]
  t.strictSame(withoutOwner(strange), strange, 'one that nothing holds is found')
  t.strictSame(coverageProblems(), [])
})

t.test('--check names what is stale, fails, and writes nothing', async (t) => {
  const copy = t.testdir()
  for (const folder of ['src', 'releases', 'schemas', 'deploy', 'docs', 'contributing', 'package.json'])
    cpSync(new URL(`../${folder}`, import.meta.url), join(copy, folder), { recursive: true })
  symlinkSync(fileURLToPath(new URL('../node_modules', import.meta.url)), join(copy, 'node_modules'))
  const stale = ['docs/rules/schema-enum.md', 'deploy/crds/mcpgroups.yaml'].map((path) => join(copy, path))
  for (const path of stale) writeFileSync(path, 'old')
  const { status, stderr } = spawnSync(process.execPath, ['src/generate/main.ts', '--check'], {
    cwd: copy,
    encoding: 'utf8',
  })
  t.equal(status, 1)
  t.strictSame(stderr.trim().split('\n'), [
    'stale: deploy/crds/mcpgroups.yaml',
    'stale: docs/rules/schema-enum.md',
    'run `npm run generate` and commit the result',
  ])
  for (const path of stale) t.equal(readFileSync(path, 'utf8'), 'old')
})

interface PolicyObject {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly failurePolicy?: string
    readonly matchConstraints?: {
      readonly resourceRules: readonly { readonly resources: readonly string[] }[]
    }
    readonly validations?: readonly { readonly message: string }[]
    readonly policyName?: string
    readonly validationActions?: readonly string[]
  }
}

t.test(
  'policies: every error that reads nothing is held or says why not, under its id, and fails open',
  async (t) => {
    for (const [variant, actions] of [['deny', ['Deny']] as const, ['trial', ['Warn', 'Audit']] as const]) {
      const objects = parseAllDocuments(file(`deploy/policies/${variant}.yaml`)).map(
        (document) => document.toJS() as PolicyObject,
      )
      const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      const held = policies.flatMap(({ spec }) =>
        (spec.validations ?? []).map(({ message }) => {
          const plural =
            spec.matchConstraints?.resourceRules.flatMap(({ resources }) => resources).join() ?? ''
          return `${plural} ${/\(([a-z0-9-]+)\)$/.exec(message)?.[1] ?? message}`
        }),
      )
      const expected = rulePlaces().flatMap(({ rule, kind }) => {
        const isCandidate = rule.severity === 'error' && rule.reads.length === 0
        t.equal(rule.policy !== undefined, isCandidate, `${rule.id} says what policies can do`)
        return rule.policy && 'expression' in rule.policy ? [`${kind.plural} ${rule.id}`] : []
      })
      t.strictSame(held.toSorted(), expected.toSorted(), variant)
      const bindings = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
      t.strictSame(
        bindings.map(({ spec }) => [spec.policyName, spec.validationActions]),
        policies.map(({ metadata }) => [metadata.name, actions]),
        'each policy is bound',
      )
      t.strictSame(new Set(policies.map(({ spec }) => spec.failurePolicy)), new Set(['Ignore']))
    }
  },
)

t.test('policies deny nothing that the webhook admits because the release accepts it', async (t) => {
  for (const version of knownReleases()) {
    const judge = judgeOf({ release: knownRelease(version) })
    for (const place of heldPlaces()) {
      const { kind, rule } = place
      for (const { title, findings, resource, old } of examplesAt(place)) {
        if (findings.length === 0 || old !== undefined) continue
        const { errors } = judge.admit(submissionOf(kind.kind, resourceOf(kind.kind, resource.spec)))
        if (errors.length === 0) t.fail(`${version} ${kind.kind} ${rule.id}: ${title}`)
      }
    }
  }
})

t.test('policies as files of the API server are the others under reserved names', async (t) => {
  for (const [plain, reserved] of [
    ['deny', 'validating'],
    ['defaults', 'mutating'],
  ]) {
    const documents = (path: string) => file(path).replace(/^#.*\n/gm, '')
    t.equal(
      documents(`deploy/policies/static/${reserved}/vmcp-admission.yaml`).replaceAll('.static.k8s.io', ''),
      documents(`deploy/policies/${plain}.yaml`),
    )
  }
})

const ajv = new Ajv({ strict: false, allErrors: true })
formats.default(ajv)
const accepts = new Map(KINDS.map(({ kind }) => [kind, ajv.compile(jsonSchema(kind))]))

t.test('a plain Ajv accepts every valid example', async (t) => {
  for (const place of rulePlaces()) {
    const validate = accepts.get(place.kind.kind)
    for (const { title, resource, findings } of examplesAt(place)) {
      if (findings.length > 0) continue
      const valid = validate?.(resource)
      t.ok(valid, `${place.rule.id} on ${place.kind.kind}: ${title}`, { errors: validate?.errors })
    }
  }
})

t.test('the schemas of kinds are plain JSON Schema, and that of editors needs one word more', (t) => {
  for (const { kind } of KINDS) {
    const strict = formats.default(new Ajv({ logger: false }))
    t.doesNotThrow(() => strict.compile(jsonSchema(kind)), kind)
  }
  const strict = formats.default(new Ajv({ logger: false }))
  t.throws(() => strict.compile(jsonSchema('vmcp')), /unknown keyword: "patternErrorMessage"/)
  strict.addVocabulary(['patternErrorMessage'])
  t.doesNotThrow(() => strict.compile(jsonSchema('vmcp')))
  t.end()
})

t.test('the schema of editors picks by kind, and says what a pattern asks for', async (t) => {
  const picks = ajv.compile(jsonSchema('vmcp'))
  for (const { kind } of KINDS) {
    const validate = accepts.get(kind)
    for (const { resource } of rulePlaces().flatMap((place) =>
      place.kind.kind === kind ? examplesAt(place) : [],
    )) {
      const errors = () =>
        picks.errors?.filter(({ keyword }) => keyword !== 'if').map(({ message }) => message)
      t.equal(picks(resource), validate?.(resource), kind)
      t.strictSame(
        errors(),
        validate?.errors?.filter(({ keyword }) => keyword !== 'if').map(({ message }) => message) ??
          undefined,
        kind,
      )
    }
  }
  const silent = [
    { apiVersion: 'v1', kind: 'ConfigMap', data: 3 },
    { apiVersion: 'other.dev/v1', kind: 'MCPServer', spec: 3 },
    { apiVersion: 'toolhive.stacklok.dev/v1beta1', kind: 'MCPToolConfig', spec: 3 },
    {},
  ]
  for (const document of silent) t.ok(picks(document), JSON.stringify(document))
  t.notOk(picks({ apiVersion: 'toolhive.stacklok.dev/v1', kind: 'MCPServer', metadata: {}, spec: {} }))
  const texts = new Map<unknown, unknown>()
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { pattern, patternErrorMessage } = node as Node
    if (typeof pattern === 'string') texts.set(pattern, patternErrorMessage)
    for (const inner of Object.values(node)) visit(inner)
  }
  visit((jsonSchema('vmcp') as { definitions: unknown }).definitions)
  t.strictSame(texts, new Map(Object.values(PATTERNS).map(({ ecmaScript, detail }) => [ecmaScript, detail])))
})

t.test('an editor is told what a type needs, and of required fields with an alternative', async (t) => {
  const errorsOf = (kind: string, spec: object) => {
    const validate = accepts.get(kind)
    validate?.({ apiVersion: 'toolhive.stacklok.dev/v1beta1', kind, metadata: { name: 'a' }, spec })
    return (validate?.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
  const upstreamInject = { providerName: 'okta' }
  t.strictSame(errorsOf('MCPExternalAuthConfig', { type: 'upstreamInject', upstreamInject }), [])
  t.match(errorsOf('MCPExternalAuthConfig', { type: 'upstreamInject' }), [
    "/spec must have required property 'upstreamInject'",
  ])
  t.match(errorsOf('MCPExternalAuthConfig', { type: 'unauthenticated', upstreamInject }), [
    '/spec/type must be equal to constant',
  ])
  t.match(errorsOf('MCPOIDCConfig', { type: 'inline', kubernetesServiceAccount: {} }), [
    "/spec must have required property 'inline'",
    '/spec must match "then" schema',
    '/spec/type must be equal to constant',
  ])
  const oauth2 = (more: object) => ({
    authServerConfig: {
      issuer: 'https://auth.example.com',
      upstreamProviders: [
        {
          name: 'a',
          type: 'oauth2',
          oauth2Config: { authorizationEndpoint: 'https://a', tokenEndpoint: 'https://a', ...more },
        },
      ],
    },
  })
  t.strictSame(errorsOf('VirtualMCPServer', oauth2({ dcrConfig: {} })), [])
  t.strictSame(
    errorsOf('VirtualMCPServer', oauth2({ clientId: 'a', identityFromToken: { subjectPath: 'a' } })),
    [],
  )
  t.ok(errorsOf('VirtualMCPServer', oauth2({})).includes(at("must have required property 'clientId'")))
  t.ok(errorsOf('VirtualMCPServer', oauth2({})).includes(at("must have required property 'userInfo'")))
})

const at = (message: string) => `/spec/authServerConfig/upstreamProviders/0/oauth2Config ${message}`

const CONSTRAINTS = [
  'required',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'minimum',
  'maximum',
]

/** The schema without constraints at any level; calls `dropped` with each keyword that it removes. */
function bare(node: Node, dropped: (keyword: string) => void): Node {
  const each = (nodes: Readonly<Record<string, Node>>) =>
    Object.fromEntries(Object.entries(nodes).map(([name, child]) => [name, bare(child, dropped)]))
  const { properties, items, additionalProperties, ...rest } = node
  const kept = Object.entries(rest).filter(([keyword]) => !CONSTRAINTS.includes(keyword))
  CONSTRAINTS.filter((keyword) => keyword in rest).forEach(dropped)
  if ('default' in rest) dropped('default')
  return {
    ...Object.fromEntries(kept),
    ...(properties && { properties: each(properties) }),
    ...(items && { items: bare(items, dropped) }),
    ...(additionalProperties && { additionalProperties: bare(additionalProperties, dropped) }),
  }
}

t.test('crds has types only; crds-strict is the same with constraints', async (t) => {
  for (const { plural } of KINDS) {
    const inPlain: string[] = []
    const inStrict: string[] = []
    const plain = bare(crdSchema('crds', plural), (keyword) => inPlain.push(keyword))
    const strict = bare(crdSchema('crds-strict', plural), (keyword) => inStrict.push(keyword))
    t.strictSame(inPlain, [], `crds/${plural}: no constraint, no default`)
    t.notOk(inStrict.includes('default'), `crds-strict/${plural}: no default`)
    t.strictSame(strict, plain, plural)
  }
})

t.test('authServerConfig has the shape of embeddedAuthServer', async (t) => {
  const shapes = (schema: (kind: string, plural: string) => Node) => [
    nodeAt(schema('VirtualMCPServer', 'virtualmcpservers'), 'spec.authServerConfig'),
    nodeAt(schema('MCPExternalAuthConfig', 'mcpexternalauthconfigs'), 'spec.embeddedAuthServer'),
  ]
  for (const schema of [jsonSchema, (_: string, plural: string) => crdSchema('crds-strict', plural)]) {
    const [virtual, auth] = shapes(schema)
    t.strictSame(virtual, auth)
  }
})

/** The patterns of section 2.5, typed by hand from the specification. */
const P: Readonly<Record<string, string>> = {
  arn: String.raw`^arn:(aws|aws-cn|aws-us-gov):iam::\d{12}:role/[\w+=,.@\-_/]+$`,
  region: String.raw`^[a-z]{2}(-[a-z]+)+-\d+$`,
  issuer: String.raw`^https?://[^\s?#]+[^/\s?#]$`,
  duration: String.raw`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
  dnslabel: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
  url: '^https?://.*$',
  https: '^https://.*$',
  subjecttype: '^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))?$',
  reason: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  condtype: String.raw`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
}

/**
 * Every field of sections 2.4 and 8, typed by hand from the specification: its path, type, `!` if it is required (`?!`
 * if a newer release may omit it), constraints and default. `A`, `O`, `U`, `R` and `S` abbreviate long paths.
 */
const PATHS: Readonly<Record<string, string>> = {
  A: 'spec.embeddedAuthServer',
  O: 'spec.embeddedAuthServer.upstreamProviders[].oauth2Config',
  U: 'spec.embeddedAuthServer.upstreamProviders[].oidcConfig',
  R: 'spec.embeddedAuthServer.storage.redis',
  S: 'status.conditions[]',
}
const FIELDS = `
spec.type string! enum=tokenExchange,headerInjection,bearerToken,unauthenticated,embeddedAuthServer,awsSts,upstreamInject
spec.awsSts object
spec.awsSts.region string! minLength=1 pattern=region
spec.awsSts.service string default="aws-mcp"
spec.awsSts.fallbackRoleArn string pattern=arn
spec.awsSts.roleClaim string default="groups"
spec.awsSts.roleMappings object[]
spec.awsSts.roleMappings[].roleArn string! pattern=arn
spec.awsSts.roleMappings[].claim string minLength=1
spec.awsSts.roleMappings[].matcher string minLength=1
spec.awsSts.roleMappings[].priority int32 minimum=0
spec.awsSts.sessionDuration int32 minimum=900 maximum=43200 default=3600
spec.awsSts.sessionNameClaim string default="sub"
spec.bearerToken object
spec.bearerToken.tokenSecretRef secret!
A object
A.issuer string! pattern=issuer
A.authorizationEndpointBaseUrl string pattern=issuer
A.signingKeySecretRefs secret[]
A.hmacSecretRefs secret[]
A.tokenLifespans object
A.tokenLifespans.accessTokenLifespan string pattern=duration default="1h"
A.tokenLifespans.refreshTokenLifespan string pattern=duration default="168h"
A.tokenLifespans.authCodeLifespan string pattern=duration default="10m"
A.storage object
A.storage.type string enum=memory,redis default="memory"
R object
R.aclUserConfig object!
R.aclUserConfig.usernameSecretRef secret
R.aclUserConfig.passwordSecretRef secret!
R.sentinelConfig object?!
R.sentinelConfig.masterName string!
R.sentinelConfig.db int32 default=0
R.sentinelConfig.sentinelAddrs string[]
R.sentinelConfig.sentinelService object
R.sentinelConfig.sentinelService.name string!
R.sentinelConfig.sentinelService.namespace string
R.sentinelConfig.sentinelService.port int32 default=26379
R.sentinelTls object
R.sentinelTls.caCertSecretRef secret
R.sentinelTls.insecureSkipVerify boolean
R.tls object
R.tls.caCertSecretRef secret
R.tls.insecureSkipVerify boolean
R.dialTimeout string pattern=duration default="5s"
R.readTimeout string pattern=duration default="3s"
R.writeTimeout string pattern=duration default="3s"
A.upstreamProviders object[]?!
A.upstreamProviders[].name string! pattern=dnslabel minLength=1 maxLength=63
A.upstreamProviders[].type string! enum=oidc,oauth2
O object
O.authorizationEndpoint string! pattern=url
O.tokenEndpoint string! pattern=url
O.clientId string?!
O.clientSecretRef secret
O.redirectUri string
O.scopes string[]
O.additionalAuthorizationParams string{}
O.tokenResponseMapping object
O.tokenResponseMapping.accessTokenPath string! minLength=1
O.tokenResponseMapping.scopePath string default="scope"
O.tokenResponseMapping.refreshTokenPath string default="refresh_token"
O.tokenResponseMapping.expiresInPath string default="expires_in"
O.userInfo object?!
O.userInfo.endpointUrl string! pattern=url
O.userInfo.httpMethod string enum=GET,POST default="GET"
O.userInfo.additionalHeaders string{}
O.userInfo.fieldMapping object
O.userInfo.fieldMapping.subjectFields string[] default=["sub"]
O.userInfo.fieldMapping.nameFields string[] default=["name"]
O.userInfo.fieldMapping.emailFields string[] default=["email"]
U object
U.issuerUrl string! pattern=https
U.clientId string?!
U.clientSecretRef secret
U.redirectUri string
U.scopes string[] default=["openid","offline_access"]
U.additionalAuthorizationParams string{}
U.userInfoOverride object
U.userInfoOverride.endpointUrl string! pattern=url
U.userInfoOverride.httpMethod string enum=GET,POST default="GET"
U.userInfoOverride.additionalHeaders string{}
U.userInfoOverride.fieldMapping object
U.userInfoOverride.fieldMapping.subjectFields string[] default=["sub"]
U.userInfoOverride.fieldMapping.nameFields string[] default=["name"]
U.userInfoOverride.fieldMapping.emailFields string[] default=["email"]
spec.headerInjection object
spec.headerInjection.headerName string! minLength=1
spec.headerInjection.valueSecretRef secret!
spec.tokenExchange object
spec.tokenExchange.tokenUrl string!
spec.tokenExchange.audience string!
spec.tokenExchange.clientId string
spec.tokenExchange.clientSecretRef secret
spec.tokenExchange.scopes string[]
spec.tokenExchange.subjectTokenType string pattern=subjecttype default="access_token"
spec.tokenExchange.externalTokenHeaderName string
spec.tokenExchange.subjectProviderName string
spec.upstreamInject object
spec.upstreamInject.providerName string! minLength=1
status.conditions object[]
S.type string! pattern=condtype maxLength=316
S.status string! enum=True,False,Unknown
S.reason string! pattern=reason minLength=1 maxLength=1024
S.message string! maxLength=32768
S.lastTransitionTime date-time!
S.observedGeneration int64 minimum=0
status.configHash string
status.observedGeneration int64
status.referencingWorkloads object[]
status.referencingWorkloads[].kind string! enum=MCPServer,VirtualMCPServer,MCPRemoteProxy
status.referencingWorkloads[].name string! minLength=1
`

interface Row {
  readonly path: string
  /** The type, required mark and constraints of the field in the strict CRD, in the notation of FIELDS. */
  readonly strict: string
  readonly default: unknown
  readonly alternative: boolean
}

const ROWS: readonly Row[] = FIELDS.trim()
  .split('\n')
  .flatMap((line) => {
    const [short = '', type = '', ...more] = line.split(' ')
    const path = short.replace(/^[A-Z]/, (letter) => PATHS[letter] ?? letter)
    const given = more.find((word) => word.startsWith('default='))?.slice('default='.length)
    const words = more.filter((word) => !word.startsWith('default='))
    const strict = [type.replace('?!', '').replace('secret', 'object'), ...words].sort().join(' ')
    const row = { default: given && (JSON.parse(given) as unknown), alternative: type.endsWith('?!') }
    const inner = type.startsWith('secret') ? ['name', 'key'] : []
    const holder = type.endsWith('[]') ? `${path}[]` : path
    return [
      { path, strict, ...row },
      ...inner.map((name) => ({
        path: `${holder}.${name}`,
        strict: 'string!',
        default: undefined,
        alternative: false,
      })),
    ]
  })

t.test('the fields of sections 2.4 and 8, no more and no less', async (t) => {
  const root = crdSchema('crds-strict', 'mcpexternalauthconfigs').properties ?? {}
  const found = ['spec', 'status'].flatMap((name) => [...described(root[name] ?? {}, name)])
  t.strictSame(
    Object.fromEntries(found),
    Object.fromEntries(ROWS.map(({ path, strict }) => [path, strict])),
    'types, required marks, enums, patterns, lengths and bounds',
  )
  const schema = jsonSchema('MCPExternalAuthConfig')
  for (const { path, default: written, alternative } of ROWS) {
    t.strictSame(nodeAt(schema, path)?.default, written, `default of ${path}`)
    if (!alternative) continue
    const holder = nodeAt(schema, path.slice(0, path.lastIndexOf('.')))
    const first = { required: [path.slice(path.lastIndexOf('.') + 1)] }
    t.ok(JSON.stringify(holder?.allOf).includes(`{"anyOf":[${JSON.stringify(first)},`), path)
  }
})

/** Every field below a schema node, in the notation of FIELDS. */
function* described(node: Node, path: string): Iterable<readonly [string, string]> {
  for (const [name, field] of Object.entries(node.properties ?? {})) {
    const words = CONSTRAINTS.filter((keyword) => keyword !== 'required' && keyword in field)
    const mark = node.required?.includes(name) ? '!' : ''
    const place = `${path}.${name}`
    yield [
      place,
      [typeOf(field) + mark, ...words.map((word) => `${word}=${valueOf(field, word)}`)].sort().join(' '),
    ]
    yield* described(field.items ?? field, field.items ? `${place}[]` : place)
  }
}

function typeOf({ type, format, items, additionalProperties }: Node): string {
  if (items) return `${typeOf(items)}[]`
  return additionalProperties ? `${typeOf(additionalProperties)}{}` : String(format ?? type)
}

function valueOf(field: Node, keyword: string): string {
  const value = field[keyword]
  if (keyword !== 'pattern') return String(value)
  return Object.keys(P).find((name) => P[name] === value) ?? String(value)
}

function nodeAt(root: Node, path: string): Node | undefined {
  return path
    .split(/\.|(?=\[\])/)
    .reduce<Node | undefined>((node, step) => (step === '[]' ? node?.items : node?.properties?.[step]), root)
}
