import fc from 'fast-check'
import root from 'tap'
import { API_VERSION, DEFAULT_API_GROUP, kindNamed } from '../../src/kinds/index.ts'
import { refusals } from '../../src/release/refused.ts'
import { metadataFindings } from '../../src/engine/metadata.ts'
import { errorBody } from '../../src/rule/field-error.ts'
import { pathText } from '../../src/rule/path.ts'
import { isObject } from '../../src/rule/resource.ts'
import { knownReleases } from '../support/releases.ts'
import { runCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'
import { fileOf, judgeOf, resourceOf } from '../support/review.ts'
import { installCrds, pathOf, register } from './cluster.ts'
import { installRelease } from './release-crds.ts'
import { inBatches, ruleExamples, type Status } from './rule-examples.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

type Json = Record<string, unknown>

/** Values of each JSON type, to put in place of correct ones. */
const WRONG = fc.constantFrom(
  null,
  '',
  'x',
  'http://a b',
  'x'.repeat(5_000),
  -1,
  0,
  1.5,
  2 ** 31,
  true,
  [],
  {},
  [null],
  [''],
)

/** Objects with settings of newer releases, which few rule examples have. */
const OF_RELEASES: readonly Json[] = [
  resourceOf(
    'MCPExternalAuthConfig',
    {
      type: 'embeddedAuthServer',
      embeddedAuthServer: {
        issuer: 'https://auth.example.com',
        baselineClientScopes: ['openid'],
        cimd: { cacheMaxSize: 10, cacheFallbackTtl: '5m' },
        registrationRateLimit: { maxTokens: 5, refillPeriod: '1m' },
        storage: { type: 'memory', maxDCRClients: 100 },
        trustedIssuers: [
          {
            name: 'a',
            issuerUrl: 'https://a.example.com',
            caBundleRef: { configMapRef: { name: 'a', key: 'b' } },
          },
        ],
        inboundGrants: {
          tokenExchange: {
            issuerPolicies: [
              {
                issuerRef: 'a',
                expectedAudience: 'https://a',
                allowedDelegateClients: ['c'],
                allowedActors: ['d'],
              },
            ],
          },
          jwtBearer: {
            issuerPolicies: [
              {
                issuerRef: 'a',
                maxAssertionAge: '5m',
                subjectBindings: [{ subject: 's', allowedResources: ['https://r.example.com'] }],
              },
            ],
          },
          spiffeClientAuth: [
            {
              clientId: 'c',
              trustDomainRef: 'd',
              principalPattern: 'spiffe://example.org/ns/*',
              methods: ['spiffe_jwt'],
              scopes: ['openid'],
              audiences: ['https://r.example.com'],
            },
          ],
        },
        spiffeTrustDomains: [
          {
            name: 'd',
            trustDomain: 'example.org',
            methods: ['spiffe_jwt'],
            bundleSource: { type: 'file', file: { configMapName: 'a', configMapKey: 'b' } },
          },
        ],
        upstreamProviders: [
          {
            name: 'okta',
            type: 'oidc',
            oidcConfig: {
              issuerUrl: 'https://okta.example.com',
              dcrConfig: { registrationProbeInterval: '5m', registrationProbe: 'none', rotationKey: 'a' },
              additionalTokenParams: { a: 'b' },
            },
          },
        ],
      },
    },
    { name: 'example', namespace: 'default' },
  ),
  resourceOf(
    'MCPServer',
    {
      image: 'a',
      authServerRef: { name: 'a' },
      authzConfig: { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } },
      oidcConfigRef: { name: 'a', audience: 'b', resourceUrl: 'https://r.example.com' },
      sessionStorage: { provider: 'redis', address: 'redis:6379', db: 1 },
      proxyReadTimeout: '30s',
      permissionProfile: { name: 'network' },
    },
    { name: 'example', namespace: 'default' },
  ),
].map((object) => ({ ...object }))

/** The objects of the rule examples, unchanged and with one mistake each; the random choice has a fixed seed. */
function corpus(count: number): Json[] {
  const examples = [...ruleExamples().map(({ resource }) => resource as Json), ...OF_RELEASES]
  const mistaken = (objects: readonly Json[]) =>
    fc.constantFrom(...objects).chain((resource) => {
      const places = placesIn(resource.spec, ['spec'])
      return fc.tuple(fc.constantFrom(...places), fc.nat(3), WRONG).map(([place, how, wrong]) => {
        const copy = structuredClone(resource)
        const holder = place.slice(0, -1).reduce<unknown>((at, key) => (at as Json)[key], copy) as Json
        const key = place.at(-1) ?? ''
        if (how === 0) Reflect.deleteProperty(holder, key)
        else if (how === 1) holder[key] = wrong
        else if (how === 2 && !Array.isArray(holder)) holder[`${key}X`] = 'x'
        else if (Array.isArray(holder)) holder.push(holder[0])
        else holder[key] = [holder[key]]
        return copy
      })
    })
  const mistakenIn = (objects: readonly Json[], numRuns: number) =>
    fc.sample(mistaken(objects), { numRuns, seed: 17 })
  return [...examples, ...mistakenIn(examples, count), ...mistakenIn(OF_RELEASES, count / 2)]
}

function placesIn(value: unknown, at: readonly string[]): string[][] {
  if (Array.isArray(value))
    return [[...at], ...value.flatMap((item, i) => placesIn(item, [...at, String(i)]))]
  if (!isObject(value)) return [[...at]]
  return [[...at], ...Object.entries(value).flatMap(([key, field]) => placesIn(field, [...at, key]))]
}

/** A policy that does not belong to the product and refuses an MCPGroup with this name. */
const POLICY_OF_OTHERS = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'others' },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [DEFAULT_API_GROUP],
              apiVersions: ['*'],
              operations: ['CREATE'],
              resources: ['mcpgroups'],
            },
          ],
        },
        validations: [{ expression: "object.metadata.name != 'denied'", message: 'not here, says a policy' }],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'others' },
      spec: { policyName: 'others', validationActions: ['Deny'] },
    },
  ],
}

/** Asserts that a real API server with the CRDs of a release refuses exactly what `refusals` finds. */
await withApiServer(root, async (t, api) => {
  const releases = knownReleases()
  const objects = corpus(1_000)
  for (const release of [
    releases[0],
    releases.find(({ version }) => version.startsWith('0.50.')),
    releases.at(-1),
  ]) {
    if (release === undefined) throw new Error('no releases')
    await t.test(`release ${release.version}`, async (t) => {
      await installRelease(api, release)
      const differences = await inBatches(objects, async (object) => {
        const kind = kindNamed.get(object.kind as string)
        const schema = release.schemas[object.kind as string]
        if (kind === undefined || schema === undefined) throw new Error(String(object.kind))
        const path = `${pathOf(kind)}?dryRun=All&fieldValidation=Strict`
        const { status, body } = await api.request<Status>('POST', path, object)
        const ours = [...refusals(schema, object)].map(
          ({ error }) => `${pathText(error.at)}: ${errorBody(error)}`,
        )
        return (status === 201) === (ours.length === 0)
          ? []
          : [{ theirs: body.message, ours, spec: object.spec }]
      })
      t.strictSame(differences.flat(), [])
      const { stdout } = await runCli(['doctor', '--kubeconfig', api.kubeconfig], { cwd: '.' })
      const minor = release.version.split('.')[1]
      t.match(stdout, new RegExp(`^operator release: .*\\b0\\.${minor}\\b.*, as its CRDs say`, 'm'))
    })
  }

  await t.test('what is refused in metadata, in the same words', async (t) => {
    const long = 'x'.repeat(300)
    const keys = [
      'a',
      'a/b',
      'A.b/C_d.e',
      'a b',
      '/a',
      'a/',
      'a/b/c',
      'a_b/c',
      '-a',
      long,
      `${long}/a`,
      'a..b/c',
    ]
    const metadata: Json[] = [
      ...['Bad_Name', 'a.b-c', '-a', 'a-', 'a..b', 'ä', long, 'a/b', 'a'.repeat(253)].map((name) => ({
        name,
      })),
      ...['a-', 'A-', 'a', 'a_', '-'].map((generateName) => ({ generateName })),
      ...keys.flatMap((key) => [{ labels: { [key]: 'a' } }, { annotations: { [key]: 'a b' } }]),
      ...['', 'a b', 'a_b.C', '-a', 'a-', 'é', long].map((value) => ({ labels: { key: value } })),
      { annotations: { big: 'x'.repeat(262_145) } },
      { name: 'Bad_Name', labels: { 'a b': 'c d' } },
      { name: '' },
    ]
    const group = kindNamed.get('MCPGroup')
    if (group === undefined) throw new Error('MCPGroup')
    for (const each of metadata) {
      const named = 'generateName' in each ? each : { name: 'example', ...each }
      const object = { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, kind: 'MCPGroup', metadata: named }
      const { body } = await api.request<Status>('POST', `${pathOf(group)}?dryRun=All`, object)
      const theirs = (body.details?.causes ?? []).map(({ message }) => message)
      const ours = metadataFindings(object, { strict: true }).map(({ error }) => errorBody(error))
      const title = JSON.stringify(each).slice(0, 100)
      // The API server reports the name that it generates from the prefix, so only the fact of a refusal is compared.
      if ('generateName' in each) t.equal(ours.length > 0, theirs.length > 0, title)
      else t.strictSame(ours.toSorted(), theirs.toSorted(), title)
    }
  })

  await t.test('which fields of metadata are refused', async (t) => {
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: '1' }
    const metadata: Json[] = [
      ...[null, 1, {}, 'x', [null], [1], [''], ['a b/c'], ['a/b/c'], ['example.com/a']].map((finalizers) => ({
        finalizers,
      })),
      ...[null, {}, [], [{}], [owner], [{ ...owner, uid: '' }], [owner, { ...owner, uid: '2' }]].map(
        (ownerReferences) => ({ ownerReferences }),
      ),
      { ownerReferences: ['1', '2'].map((uid) => ({ ...owner, uid, controller: true })) },
      { lables: { a: 'b' } },
      { clusterName: 'x' },
      { generation: '1' },
      { generation: 1 },
      { uid: 1 },
      { managedFields: {} },
      { resourceVersion: 1 },
      { namespace: 1 },
      { name: true },
      { creationTimestamp: null },
      { annotations: null },
    ]
    const group = kindNamed.get('MCPGroup')
    if (group === undefined) throw new Error('MCPGroup')
    for (const each of metadata) {
      const named = { name: 'example', ...each }
      const object = { apiVersion: `${DEFAULT_API_GROUP}/${API_VERSION}`, kind: 'MCPGroup', metadata: named }
      const path = `${pathOf(group)}?dryRun=All&fieldValidation=Strict`
      const { status } = await api.request('POST', path, object)
      // `schema-type` reports a name or namespace of another type.
      const { errors } = judgeOf({}).file(fileOf(object))
      const ours = [
        ...metadataFindings(object, { strict: true }),
        ...errors.filter(({ id }) => id === 'schema-type'),
      ].map(({ error }) => errorBody(error))
      t.equal(ours.length > 0, status !== 201, `${JSON.stringify(each)}: ${ours.join('; ')}`)
    }
  })

  await t.test('check with a dry run by the API server', async (t) => {
    const cwd = t.testdir({
      'good.json': JSON.stringify(resourceOf('MCPGroup', {}, { name: 'good' })),
      'unknown.json': JSON.stringify(resourceOf('MCPGroup', { descriptions: 'a' }, { name: 'unknown' })),
      'denied.json': JSON.stringify(resourceOf('MCPGroup', {}, { name: 'denied' })),
      'ours.json': JSON.stringify(
        resourceOf('MCPExternalAuthConfig', {
          type: 'awsSts',
          awsSts: {
            region: 'eu-central-1',
            roleMappings: [{ matcher: 'claims.a ==', roleArn: 'arn:aws:iam::123456789012:role/a' }],
          },
        }),
      ),
      'later.json': JSON.stringify(resourceOf('MCPGroup', {}, { name: '${NAME}' })),
      'elsewhere.json': JSON.stringify(resourceOf('MCPGroup', {}, { name: 'a', namespace: 'nowhere' })),
    })
    await api.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(POLICY_OF_OTHERS) })
    const checked = async (...args: string[]) =>
      runCli(['check', '--cluster', '--kubeconfig', api.kubeconfig, '--server-dry-run', ...args], { cwd })
    await waitFor(async () => (await checked('denied.json')).status === 1, {
      seconds: 30,
      what: 'the policy',
    })

    const rows: [args: string[], code: number, ...texts: RegExp[]][] = [
      [['good.json'], 0, /0 errors, 0 warnings/],
      [
        ['--release', 'none', 'unknown.json'],
        1,
        /spec\.descriptions: no operator release up to \S+ has this field; did you mean 'description' \(unknown-field\)/,
        /1 error,/,
      ],
      [['unknown.json'], 1, /spec\.descriptions: .*did you mean 'description' \(unknown-field\)/, /1 error,/],
      [
        ['denied.json'],
        1,
        /not here, says a policy; the API server refuses it \(api-server-accepts\)/,
        /1 error,/,
      ],
      [['--severity', 'api-server-accepts=warning', 'denied.json'], 0, /0 errors, 1 warning/],
      [['ours.json'], 1, /1 error,/],
      [['later.json'], 0, /no dry run, because of placeholders/],
      [['elsewhere.json'], 3, /the dry run failed: namespaces "nowhere" not found/],
    ]
    const server = await startServer(['--kubeconfig', api.kubeconfig])
    t.teardown(() => server.stop('SIGKILL'))
    for (const withWebhook of [false, true]) {
      if (withWebhook) await register(api, server)
      for (const [args, code, ...texts] of rows) {
        const { status, stdout, stderr } = await checked(...args)
        t.equal(status, code, `${args.join(' ')}\n${stdout}${stderr}`)
        for (const text of texts) t.match(stdout + stderr, text, args.join(' '))
      }
    }
    const { body } = await api.request<{ items: unknown[] }>('GET', pathOf({ plural: 'mcpgroups' }))
    t.strictSame(body.items, [], 'nothing is stored')
  })

  await t.test('the server follows the CRDs of the cluster', async (t) => {
    const spec = { type: 'obo', obo: {} }
    const object = {
      ...resourceOf('MCPExternalAuthConfig', spec, { name: 'on-behalf', namespace: 'default' }),
    }
    const path = `${pathOf({ plural: 'mcpexternalauthconfigs' })}?dryRun=All`
    const asked = async () => (await api.request<Status>('POST', path, object)).status
    const server = await startServer(['--kubeconfig', api.kubeconfig])
    t.teardown(() => server.stop('SIGKILL'))
    await register(api, server)
    await waitFor(async () => (await asked()) === 201, { seconds: 20, what: 'what the release takes' })
    t.match(await (await fetch(`${server.probeUrl}/metrics`)).text(), /installed_release_kinds 7$/m)

    const own = await startServer(['--kubeconfig', api.kubeconfig, '--installed-release', 'off'])
    t.teardown(() => own.stop('SIGKILL'))
    await register(api, own)
    await waitFor(async () => (await asked()) === 422, { seconds: 20, what: 'the specification alone' })
    t.match(await (await fetch(`${own.probeUrl}/metrics`)).text(), /installed_release_kinds 0$/m)

    // These CRDs have open types, so the API server accepts the object and the webhook decides.
    await register(api, server)
    await waitFor(async () => (await asked()) === 201, { seconds: 20, what: 'the first server again' })
    await installCrds(api, 'crds')
    await waitFor(async () => (await asked()) === 422, { seconds: 60, what: 'the change to be noticed' })
    const { stdout } = await runCli(['doctor', '--kubeconfig', api.kubeconfig], { cwd: '.' })
    t.match(stdout, /^operator release: none: the CRDs are those of vmcp-admission/m)
  })
})
