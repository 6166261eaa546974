import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import root, { type Test } from 'tap'
import {
  authServer,
  backend,
  exchangeConfigWritten,
  gateway,
  group,
  injectConfig,
  oidcConfig,
} from '../../src/relations/examples.ts'
import { KINDS } from '../../src/kinds/index.ts'
import type { Other } from '../../src/rule/rule.ts'
import { kubeconfigOf } from '../support/fake-api-server.ts'
import { type RunningServer, startServer } from '../support/server.ts'
import type { ApiServer } from './api-server.ts'
import { called, installCrds, kubectl, register } from './cluster.ts'
import { type Forwarding, startWatchProxy } from './watch-proxy.ts'
import {
  apply,
  causes,
  createNamespaces,
  EXCEPT_STORED,
  metric,
  pathTo,
  resourceIn,
  settled,
  currentFindingsIn,
  store,
  storeAll,
  stored,
} from './resources.ts'
import { inBatches } from './rule-examples.ts'
import { withApiServer } from './suite.ts'
import { waitFor } from './wait-for.ts'

/** A write that the server would misjudge if it relied on its outdated cache. */
interface Moment {
  readonly title: string
  /** The objects that are stored at first, which are in the cache. */
  readonly before: readonly Other[]
  /** The objects that are stored or deleted later, of which the cache does not know yet. */
  readonly since?: readonly Other[]
  readonly deleted?: readonly Other[]
  /** `no watches` when omitted. */
  readonly forwarding?: Forwarding
  /** The beginning of each cause of the denial, or of each warning. */
  readonly denied?: readonly string[]
  readonly warned?: readonly string[]
}

const okta = gateway('tools', { authServerConfig: authServer('okta') })
const NO_SUCH_PROVIDER = 'spec.authServerConfig.upstreamProviders: Not found: "github": '
const OTHER_ISSUER = 'spec.authServerConfig.issuer: Invalid value: "https://auth.example.com": '
const CONTRADICTION = [
  group(),
  oidcConfig('corporate'),
  backend('jira', 'jira'),
  injectConfig('jira', 'github'),
]

const MOMENTS: readonly Moment[] = [
  {
    title: 'nothing has changed: denied',
    before: CONTRADICTION,
    denied: [NO_SUCH_PROVIDER],
  },
  {
    title: 'the configuration has been deleted',
    before: CONTRADICTION,
    deleted: [injectConfig('jira', 'github')],
  },
  {
    title: 'the configuration has been changed',
    before: CONTRADICTION,
    since: [injectConfig('jira', 'okta')],
  },
  {
    title: 'the backend no longer names a configuration',
    before: CONTRADICTION,
    since: [backend('jira')],
  },
  {
    title: 'the backend has been deleted',
    before: CONTRADICTION,
    deleted: [backend('jira')],
  },
  {
    title: 'the issuer has been changed',
    before: [group(), oidcConfig('corporate', 'https://login.example.com')],
    since: [oidcConfig('corporate')],
  },
  {
    title: 'the objects that it names have been created',
    before: [backend('jira')],
    since: [group(), oidcConfig('corporate')],
  },
  {
    title: 'the objects that it names have been deleted: no live read confirms that an object exists',
    before: [group(), backend('jira'), oidcConfig('corporate')],
    deleted: [group(), oidcConfig('corporate')],
  },
  {
    title: 'an object that contradicts it has been created',
    before: [group(), backend('jira')],
    since: [oidcConfig('corporate', 'https://login.example.com')],
    denied: [OTHER_ISSUER],
  },
  ...(['no reads', 'slow reads'] as const).flatMap((forwarding): Moment[] => [
    {
      title: `an error, and ${forwarding}`,
      before: CONTRADICTION,
      forwarding,
      warned: [`not confirmed: ${NO_SUCH_PROVIDER}`],
    },
    {
      title: `a missing object, and ${forwarding}`,
      before: [group(), backend('jira')],
      forwarding,
      warned: ['not confirmed: spec.incomingAuth.oidcConfigRef.name: Not found: "corporate": '],
    },
  ]),
]

await withApiServer(root, async (t, api) => {
  await installCrds(api, 'crds')
  const proxy = await startWatchProxy(t, api)
  const server = await startServer(['--kubeconfig', proxy.kubeconfig])
  try {
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await called(api, server)
    await t.test('a stale cache denies nobody', (t) => judgeWithStaleCache(t, api, server, proxy.forward))
    await t.test('current findings appear and disappear', (t) => checkCurrentFindings(t, api, server))
    t.notMatch(server.log(), /"level":"(error|fatal)"/, 'the server logs no error')
  } finally {
    await server.stop('SIGKILL')
  }
  await t.test('a server that watches some namespaces', (t) => watchOneNamespace(t, api))
  await t.test('a server that may not read a kind', (t) => serveWithoutRights(t, api))
  await t.test('a kind without its CRD', (t) => serveWithoutCrd(t, api))
})

/** The findings of the rules that these tests concern. */
function findingsBetweenObjects(texts: readonly string[]): string[] {
  return texts.filter((text) =>
    /\((reference-found|upstream-inject-[a-z-]+|auth-server-tokens-accepted)\)$/.test(text),
  )
}

async function judgeWithStaleCache(
  t: Test,
  api: ApiServer,
  server: RunningServer,
  forward: (what: Forwarding) => void,
): Promise<void> {
  const here = (i: number, objects: readonly Other[] = []) =>
    objects.map((object) => resourceIn(`moment-${i}`, object))
  await createNamespaces(
    api,
    MOMENTS.map((_, i) => `moment-${i}`),
  )
  await storeAll(
    api,
    MOMENTS.flatMap(({ before }, i) => here(i, before)),
  )
  await settled(api, server)
  for (const forwarding of ['no watches', 'no reads', 'slow reads'] as const) {
    forward(forwarding)
    const moments = [...MOMENTS.entries()].filter(
      ([, moment]) => (moment.forwarding ?? 'no watches') === forwarding,
    )
    await storeAll(
      api,
      moments.flatMap(([i, { since }]) => here(i, since)),
    )
    await inBatches(
      moments.flatMap(([i, { deleted }]) => here(i, deleted)),
      (resource) => api.request('DELETE', pathTo(resource)),
    )
    const start = performance.now()
    const outcomes = await Promise.all(
      moments.map(async ([i]) => apply(api, resourceIn(`moment-${i}`, okta))),
    )
    const seconds = (performance.now() - start) / 1_000
    t.ok(seconds < 5, `${forwarding}: answered in ${seconds.toFixed(1)} s, within the timeout of the webhook`)
    for (const [n, [, { title, denied = [], warned = [] }]] of moments.entries()) {
      const outcome = outcomes[n]
      if (outcome === undefined) continue
      t.equal(
        outcome.status,
        denied.length === 0 ? 201 : 422,
        `${title}: ${outcome.body.message ?? 'admitted'}`,
      )
      beginWith(t, causes(outcome), denied, `${title}: causes`)
      const begun = warned.map((text) => `${okta.kind} ${okta.metadata.name}: ${text}`)
      beginWith(t, findingsBetweenObjects(outcome.warnings), begun, `${title}: warnings`)
    }
  }
  forward('all')
}

function beginWith(t: Test, texts: readonly string[], wanted: readonly string[], title: string): void {
  const shown = texts.map((text, i) => text.slice(0, wanted[i]?.length))
  t.strictSame(shown, wanted, title)
}

/**
 * Asserts that a contradiction between stored objects is a current finding within ten seconds, and that it disappears
 * as fast.
 */
async function checkCurrentFindings(t: Test, api: ApiServer, server: RunningServer): Promise<void> {
  const tools = gateway('tools', { authServerConfig: authServer('okta', 'github') })
  const rows: readonly { title: string; wrong: readonly Other[]; right: Other; found: readonly string[] }[] =
    [
      {
        title: 'stored without the webhook',
        wrong: [oidcConfig('corporate', 'https://login.example.com')],
        right: oidcConfig('corporate'),
        found: [
          'MCPOIDCConfig/corporate auth-server-issuers-accepted warning',
          'VirtualMCPServer/tools auth-server-tokens-accepted error',
        ],
      },
      {
        title: 'a provider renamed in the configuration alone',
        wrong: [injectConfig('jira', 'corporate')],
        right: injectConfig('jira', 'github'),
        found: [
          'MCPExternalAuthConfig/jira auth-config-served warning',
          'MCPServer/jira backend-auth-served warning',
          'VirtualMCPServer/tools upstream-inject-provider-exists error',
        ],
      },
    ]
  for (const [i, { title, wrong, right, found }] of rows.entries()) {
    const namespace = `current-${i}`
    const here = (object: Other) => resourceIn(namespace, object)
    const isFound = async (wanted: boolean) => {
      const there = await currentFindingsIn(server, namespace)
      return found.every((text) => there.includes(text) === wanted)
    }
    const soon = async (wanted: boolean, what: string) => {
      const start = performance.now()
      await waitFor(() => isFound(wanted), { seconds: 10, what })
      const seconds = ((performance.now() - start) / 1_000).toFixed(1)
      t.pass(`${title}: ${what} after ${seconds} s`)
    }
    await createNamespaces(api, [namespace])
    await storeAll(api, [...CONTRADICTION, tools].map(here))
    for (const object of wrong) {
      if (i === 0) await store(api, here(object))
      else t.equal((await apply(api, here(object))).status, 200, `${title}: admitted`)
    }
    await soon(true, 'seen')
    t.equal((await apply(api, here(right))).status, 200, `${title}: put right`)
    await soon(false, 'gone')
  }
}

/** A kubeconfig that impersonates another user, who has only the permissions of roles. */
function kubeconfigAs(api: ApiServer, user: string): string {
  const file = join(api.kubeconfig, '..', `as-${user}`)
  const cluster = { 'certificate-authority-data': Buffer.from(api.ca).toString('base64') }
  writeFileSync(file, JSON.stringify(kubeconfigOf(api.url, { token: api.token, as: user }, cluster)))
  return file
}

/** Runs a server on this machine with these flags, which the API server calls as a webhook, until `work` ends. */
async function withServer(
  api: ApiServer,
  flags: readonly string[],
  work: (server: RunningServer) => Promise<void>,
): Promise<void> {
  const server = await startServer(flags)
  try {
    await waitFor(async () => (await fetch(`${server.probeUrl}/readyz`)).status === 200, {
      seconds: 10,
      what: 'the server to be ready',
    })
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await called(api, server)
    await work(server)
  } finally {
    await server.stop('SIGKILL')
  }
}

async function statesOf(server: RunningServer, kind: string): Promise<string[]> {
  const samples = await metric(server, 'vmcp_admission_cluster_cache_state')
  const ofKind = [...samples].filter(([labels, value]) => value === 1 && labels.includes(`kind="${kind}"`))
  return ofKind.map(([labels]) => labels.replace(/.*state="(.*)"$/, '$1'))
}

/** Tests a server whose role of deploy/rbac is bound in one namespace only. */
async function watchOneNamespace(t: Test, api: ApiServer): Promise<void> {
  await createNamespaces(api, ['seen', 'unseen'])
  await kubectl(api, ['apply', '-f', 'deploy/rbac/view.yaml', '-f', 'deploy/rbac/secrets.yaml'])
  for (const role of ['view', 'secrets']) {
    const subject = [`--clusterrole=vmcp-admission-${role}`, '--user=narrow', '--namespace=seen']
    await kubectl(api, ['create', 'rolebinding', role, ...subject])
  }
  const flags = [
    '--kubeconfig',
    kubeconfigAs(api, 'narrow'),
    '--watch-namespaces',
    'seen',
    '--check-secrets=any-caller',
  ]
  await withServer(api, flags, async (server) => {
    const contradiction = ['seen', 'unseen'].flatMap((namespace) =>
      CONTRADICTION.map((object) => resourceIn(namespace, object)),
    )
    await storeAll(api, contradiction)
    await settled(api, server, 'seen')
    const seen = await apply(api, resourceIn('seen', okta))
    t.equal(seen.status, 422, 'judged beside the others where they are watched')
    beginWith(t, causes(seen), [NO_SUCH_PROVIDER], 'for that reason')
    const unseen = await apply(
      api,
      resourceIn('unseen', gateway('tools', { authServerConfig: authServer('okta') })),
    )
    t.equal(unseen.status, 201, 'judged alone elsewhere')
    const alone = unseen.warnings.map((text) => text.replace(/.*\((.*)\)$/, '$1'))
    t.strictSame(alone, ['auth-server-storage-persistent'], 'no finding about objects that are not watched')
    t.strictSame(await currentFindingsIn(server, 'unseen'), [])
  })
}

async function serveWithoutRights(t: Test, api: ApiServer): Promise<void> {
  const readable = KINDS.filter(({ kind }) => !['MCPGroup', 'MCPRemoteProxy'].includes(kind))
  const resources = readable.map(({ plural }) => `${plural}.toolhive.stacklok.dev`).join(',')
  await kubectl(api, ['create', 'clusterrole', 'partial', '--verb=get,list,watch', `--resource=${resources}`])
  await kubectl(api, ['create', 'clusterrolebinding', 'partial', '--clusterrole=partial', '--user=partial'])
  await createNamespaces(api, ['partial'])
  await withServer(api, ['--kubeconfig', kubeconfigAs(api, 'partial')], async (server) => {
    t.strictSame(await statesOf(server, 'MCPGroup'), ['forbidden'])
    t.strictSame(await statesOf(server, 'MCPRemoteProxy'), ['forbidden'])
    await waitFor(async () => (await statesOf(server, 'MCPServer')).includes('watching'), {
      seconds: 10,
      what: 'the kinds that may be read',
    })
    const here = (object: Other) => resourceIn('partial', object)
    const outcome = await apply(api, here(backend('jira', 'nothing')))
    t.equal(outcome.status, 201, 'admitted')
    beginWith(
      t,
      findingsBetweenObjects(outcome.warnings),
      ['MCPServer jira: spec.externalAuthConfigRef.name: Not found: "nothing": '],
      'only the rules that need the unreadable kinds are silent',
    )
    const written = here(exchangeConfigWritten('wiki', 'okta'))
    await apply(api, written)
    t.match(
      (await stored(api, written))?.spec,
      { tokenExchange: { subjectProviderName: 'okta' } },
      'a default is kept',
    )
  })
}

async function serveWithoutCrd(t: Test, api: ApiServer): Promise<void> {
  await kubectl(api, [
    'delete',
    'crd',
    'mcpserverentries.toolhive.stacklok.dev',
    'mcpgroups.toolhive.stacklok.dev',
  ])
  await createNamespaces(api, ['absent'])
  const server = await startServer(['--kubeconfig', api.kubeconfig])
  try {
    await waitFor(async () => (await fetch(`${server.probeUrl}/readyz`)).status === 200, {
      seconds: 10,
      what: 'the server to be ready',
    })
    for (const kind of ['MCPGroup', 'MCPServerEntry']) t.strictSame(await statesOf(server, kind), ['absent'])
    await register(api, server, 'Fail', [EXCEPT_STORED])
    await waitFor(
      async () => {
        await apply(api, resourceIn('absent', backend('probe')))
        return server.log().includes('"name":"probe"')
      },
      { seconds: 10, what: 'the server to be called' },
    )
    const outcome = await apply(api, resourceIn('absent', backend('jira')))
    t.equal(outcome.status, 201, 'admitted')
    beginWith(
      t,
      findingsBetweenObjects(outcome.warnings),
      ['MCPServer jira: spec.groupRef.name: Not found: "tools": '],
      'the finding about the missing group',
    )
  } finally {
    await server.stop('SIGKILL')
  }
}
