import {
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import {
  CALLBACK_NOT_SERVED,
  defaultCallback,
  missesCallback,
  providerText,
  withoutCallback,
  workingCallback,
} from '../../kinds/embedded-auth-server/callback.ts'
import { okta } from '../../kinds/embedded-auth-server/examples.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import {
  AUTH_CONFIG,
  authServer,
  GATEWAY,
  type Gateway,
  gatewayOf,
  heldServersOf,
  issuingBeside,
  otherOf,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'login-callback-served'

/** The most upstream providers of an authorization server that get a finding: all these findings have one cause. */
const MOST_PROVIDERS = 20
const ISSUER = 'https://auth.example.com'
const defaulting = { ...authServer(), upstreamProviders: [okta] }
const config = (embeddedAuthServer: ReturnType<typeof authServer> | typeof defaulting) =>
  otherOf('MCPExternalAuthConfig', 'auth', { type: 'embeddedAuthServer' as const, embeddedAuthServer })
const proxy = otherOf('MCPRemoteProxy', 'wiki', {
  ...serving({}).spec,
  authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
})
const at = (
  resourceUrl: string,
  authServerConfig: NonNullable<ReturnType<typeof gatewayOf>['spec']>['authServerConfig'],
) =>
  gatewayOf({
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: resourceUrl, resourceUrl } },
    authServerConfig,
  })

export const loginCallbackServed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['authServerConfig', 'oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    'Where `resourceUrl` has a path, each upstream provider has a `redirectUri`: the callback below the path is not served.',
  why: 'A provider without `redirectUri` returns users to `resourceUrl` + `/oauth/callback`. The authorization server serves `/oauth/callback` at the root of the host only: below a path the request reaches the MCP server, which asks for a token. Only an Ingress that rewrites the path helps.',
  failure: CALLBACK_NOT_SERVED,
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      yield* lostAt(resource, self, cluster)
      return
    }
    for (const issuing of issuingBeside(resource as Gateway | Workload, self, cluster))
      for (const { i, settings, who, ends, works } of lostLogins(issuing, MOST_PROVIDERS)) {
        const { at, to } = issuing
        const detail = `logins at ${who} ${ends}, which is not served`
        if (to === undefined) {
          const place = GATEWAY.spec.authServerConfig.upstreamProviders.at(i)[settings].redirectUri
          const error = advice(place, `${detail}; write and register ${works}`)
          yield relatedTo(error, [end(self, at.resourceUrl, 'has a path')])
        } else {
          const error = advice(at.resourceUrl, `${detail}; write and register ${works} in ${nameText(to)}`)
          yield relatedTo(error, [end(to, redirectAt(i, settings), 'is not set')], () => [[ID, to.name]])
        }
      }
  },
  examples: {
    'no path': { kind: 'VirtualMCPServer', value: at(ISSUER, defaulting) },
    'a slash alone': { kind: 'VirtualMCPServer', value: at(`${ISSUER}/`, defaulting) },
    'the path of the issuer too, which the Ingress removes': {
      kind: 'VirtualMCPServer',
      value: at(`${ISSUER}/team-a`, { ...defaulting, issuer: `${ISSUER}/team-a` }),
    },
    'a path, and the callback of the root': {
      kind: 'VirtualMCPServer',
      value: at(`${ISSUER}/mcp`, authServer('okta', 'github')),
    },
    'the same in the configuration of a workload': {
      kind: 'MCPServer',
      value: serving({}),
      others: [config(authServer('okta'))],
    },
    'the same at the configuration': [
      { kind: 'MCPExternalAuthConfig', value: { spec: config(authServer('okta')).spec }, others: [proxy] },
      {
        kind: 'MCPExternalAuthConfig',
        value: { spec: config(defaulting).spec },
        others: [proxy],
        findings:
          'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.redirectUri: write and register "https://auth.example.com/oauth/callback": logins for MCPRemoteProxy "wiki" end at "https://auth.example.com/mcp/oauth/callback", not served',
      },
    ],
    'a path in `resourceUrl`, below which the callback is': {
      kind: 'VirtualMCPServer',
      value: at(`${ISSUER}/mcp`, defaulting),
      findings:
        'spec.authServerConfig.upstreamProviders[0].oidcConfig.redirectUri: logins at "okta" end at "https://auth.example.com/mcp/oauth/callback", which is not served; write and register "https://auth.example.com/oauth/callback"',
    },
    'the same of a workload': {
      kind: 'MCPRemoteProxy',
      value: serving({}),
      others: [config(defaulting)],
      findings:
        'spec.oidcConfigRef.resourceUrl: logins at "okta" end at "https://auth.example.com/mcp/oauth/callback", which is not served; write and register "https://auth.example.com/oauth/callback" in MCPExternalAuthConfig "auth"',
    },
    'the same at the configuration of two workloads': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: config(defaulting).spec },
      others: [proxy, { ...proxy, metadata: { name: 'jira' } }],
      findings:
        'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.redirectUri: write and register "https://auth.example.com/oauth/callback": logins for MCPRemoteProxy "jira" and MCPRemoteProxy "wiki" end below a path, not served',
    },
  },
})

type IssuingServer = Pick<ReturnType<typeof issuingBeside>[number], 'server' | 'resourceUrl'>

const redirectAt = (i: number, settings: 'oidcConfig' | 'oauth2Config') =>
  AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders.at(i)[settings].redirectUri

/** The first providers, at most `left`, whose logins end at the default callback, if that is not served. */
function* lostLogins({ server, resourceUrl }: IssuingServer, left: number) {
  if (resourceUrl === undefined) return
  const callback = defaultCallback(resourceUrl)
  if (!missesCallback(server, callback)) return
  const working = workingCallback(server)
  if (working === undefined) return
  const works = shortQuote(working)
  const { upstreamProviders = [] } = server
  for (let i = 0; i < upstreamProviders.length && left > 0; i++) {
    const provider = upstreamProviders[i]
    const settings = withoutCallback(provider)
    const who = settings && provider && providerText(provider)
    if (settings === undefined || who === undefined) continue
    left -= 1
    yield { i, settings, who, ends: `end at ${shortQuote(callback)}`, works }
  }
}

/** The warnings at an MCPExternalAuthConfig, for the workloads that name it. */
function* lostAt(resource: object, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const held = heldServersOf(resource, self, cluster).filter(({ server, workload }) => {
    const url = workload.spec?.oidcConfigRef?.resourceUrl
    return url !== undefined && url !== '' && missesCallback(server, defaultCallback(url))
  })
  const [first] = held
  if (first === undefined) return
  const { server, workload } = first
  const holders = held.map(({ holder }) => holder)
  const logins = lostLogins(
    { server, resourceUrl: workload.spec?.oidcConfigRef?.resourceUrl },
    MOST_PROVIDERS,
  )
  for (const { i, settings, ends, works } of logins) {
    const where = held.length === 1 ? ends : 'end below a path'
    const detail = `write and register ${works}: logins for ${namesText(holders, 2)} ${where}, not served`
    yield relatedTo(
      aboutEach(advice(redirectAt(i, settings), detail), () =>
        holders.map(({ kind, name }) => [ID, kind, name, server.upstreamProviders?.[i]?.name ?? '']),
      ),
      holders.slice(0, 4).map((holder) => end(holder, WORKLOAD.spec.oidcConfigRef.resourceUrl, 'has a path')),
      () => [[ID, self.name]],
    )
  }
}
