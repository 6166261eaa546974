import {
  about,
  advice,
  defineRule,
  end,
  isLoopback,
  namesText,
  nameText,
  type ObjectName,
  oncePerCluster,
  parseUrl,
  pathTo,
  relatedTo,
  says,
} from '../../rule/index.ts'
import type { Server } from '../../kinds/embedded-auth-server/effective.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authServer,
  authServersOf,
  getWorkload,
  serverConfig,
  serving,
  SINGLE_PROVIDER_KINDS,
  WORKLOAD,
  type Workload,
} from '../index.ts'

const ID = 'workload-auth-server-resource-single'
const SERVER = { type: 'embeddedAuthServer' as const, embeddedAuthServer: authServer('okta') }
const URLS = ['https://auth.example.com/mcp', 'https://wiki.example.com/mcp'] as const

const RESOURCE_URL = WORKLOAD.spec.oidcConfigRef.resourceUrl
const REFUSED = 'one refuses clients of others (invalid_target); give each its own server'

/** A proxy that names the MCPExternalAuthConfig as its authorization server, for examples. */
const proxyAt = (resourceUrl: string | undefined, config = 'auth', name = 'wiki') => ({
  kind: 'MCPRemoteProxy',
  metadata: { name },
  spec: {
    authServerRef: { kind: 'MCPExternalAuthConfig' as const, name: config },
    oidcConfigRef: {
      name: 'corporate',
      audience: resourceUrl ?? URLS[0],
      ...(resourceUrl !== undefined && { resourceUrl }),
    },
  },
})

export const workloadAuthServerResourceSingle = defineRule({
  id: ID,
  on: [MCPExternalAuthConfig, MCPServer, MCPRemoteProxy],
  needs: ['embeddedAuthServer', 'authServerRef', 'externalAuthConfigRef'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary: 'Workloads with different `resourceUrl` do not name one embedded authorization server.',
  why: 'Each workload runs the server in its own process, which issues tokens for its own `resourceUrl` only. Their clients find the same issuer, which leads to one of the processes: it refuses the clients of the others with `invalid_target`.',
  sources: [
    says('4', 'The endpoints of the authorization server are derived from issuer.'),
    'decision 3',
    'decision 21',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const { spec } = resource as AuthConfig
      if (spec?.type !== 'embeddedAuthServer' || !isShared(spec.embeddedAuthServer)) return
      const found = [...resourceUrlsAt(self.name, cluster).values()].slice(0, 2)
      if (found.length < 2) return
      const detail = `${namesText(found)} have different \`resourceUrl\`s: ${REFUSED}`
      const ends = found.map((holder) => end(holder, RESOURCE_URL, 'differs'))
      yield relatedTo(advice(AUTH_CONFIG.spec.embeddedAuthServer.issuer, detail), ends, () => [
        [ID, self.name],
      ])
      return
    }
    const workload = resource as Workload
    const own = workload.spec?.oidcConfigRef?.resourceUrl
    if (!own) return
    for (const { to, at, server } of authServersOf(self.kind, workload, cluster)) {
      const other = isShared(server) ? holderOfOther(own, resourceUrlsAt(to.name, cluster)) : undefined
      if (other === undefined) continue
      const detail = `${nameText(other)} runs this server too, for another \`resourceUrl\`: ${REFUSED}`
      const ends = [end(other, RESOURCE_URL, 'differs')]
      yield relatedTo(about(advice(pathTo(at()), detail), ID, to.name), ends, () => [[ID, to.name]])
    }
  },
  examples: {
    'one workload': { kind: 'MCPServer', value: serving({}), others: [serverConfig('auth', 'okta')] },
    'one resourceUrl, or one that is not known': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: SERVER },
      others: [
        proxyAt(URLS[0], 'example', 'jira'),
        proxyAt(URLS[0], 'example', 'wiki'),
        proxyAt(undefined, 'example', 'docs'),
      ],
    },
    'an authorization server for each': {
      kind: 'MCPRemoteProxy',
      value: { spec: proxyAt(URLS[1], 'wiki').spec },
      others: [proxyAt(URLS[0], 'auth', 'jira'), serverConfig('auth', 'okta'), serverConfig('wiki', 'okta')],
    },
    'one after the other on a developer machine': {
      kind: 'MCPExternalAuthConfig',
      value: {
        spec: { ...SERVER, embeddedAuthServer: { ...authServer('okta'), issuer: 'http://localhost:8080' } },
      },
      others: [proxyAt(URLS[0], 'example', 'jira'), proxyAt(URLS[1], 'example')],
    },
    'a second workload': {
      kind: 'MCPServer',
      value: serving({}),
      others: [proxyAt(URLS[1]), serverConfig('auth', 'okta')],
      findings: `spec.authServerRef.name: MCPRemoteProxy "wiki" runs this server too, for another \`resourceUrl\`: ${REFUSED}`,
    },
    'a second workload, through the other field': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          externalAuthConfigRef: { name: 'auth' },
          oidcConfigRef: proxyAt(URLS[0]).spec.oidcConfigRef,
        },
      },
      others: [proxyAt(URLS[1]), serverConfig('auth', 'okta')],
      findings: `spec.externalAuthConfigRef.name: MCPRemoteProxy "wiki" runs this server too, for another \`resourceUrl\`: ${REFUSED}`,
    },
    'two workloads': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: SERVER },
      others: [proxyAt(URLS[0], 'example', 'jira'), proxyAt(URLS[1], 'example')],
      findings: `spec.embeddedAuthServer.issuer: MCPRemoteProxy "jira" and MCPRemoteProxy "wiki" have different \`resourceUrl\`s: ${REFUSED}`,
    },
  },
})

/** Whether clients of several workloads find one issuer; not on a machine of a developer, with one at a time. */
function isShared(server: Server | undefined): boolean {
  const host = parseUrl(server?.issuer ?? '')?.host ?? ''
  return host !== '' && !isLoopback(host)
}

/** For each `resourceUrl` of the workloads that name the MCPExternalAuthConfig, the first of these workloads. */
const resourceUrlsAt = oncePerCluster((config: string, cluster): ReadonlyMap<string, ObjectName> => {
  const found = new Map<string, ObjectName>()
  for (const holder of cluster.referrers('MCPExternalAuthConfig', config, SINGLE_PROVIDER_KINDS)) {
    const url = getWorkload(cluster, holder)?.spec?.oidcConfigRef?.resourceUrl
    if (url && !found.has(url)) found.set(url, holder)
  }
  return found
})

function holderOfOther(own: string, urls: ReadonlyMap<string, ObjectName>): ObjectName | undefined {
  for (const [url, holder] of urls) if (url !== own) return holder
  return undefined
}
