import {
  advice,
  defineRule,
  dependingAsError,
  namesText,
  nameText,
  outage,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import {
  authorizationHost,
  hostOf,
  LOGIN_RETURNS_ELSEWHERE,
} from '../../kinds/embedded-auth-server/authorization-host.ts'
import {
  defaultCallback,
  missesCallback,
  withoutCallback,
  workingCallback,
} from '../../kinds/embedded-auth-server/callback.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server, type Spec } from '../../kinds/virtual-mcp-server/examples.ts'
import {
  AUTH_CONFIG,
  authServer,
  configWith,
  type Gateway,
  type HeldIssuing,
  issuingBeside,
  issuingHere,
  ofHolders,
  servedBy,
  serverConfig,
  serverEnd,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'resource-url-host-agreed'
const [HERE, ELSEWHERE] = ['https://auth.example.com', 'https://mcp.example.com']
const at = (resourceUrl: string, authServerConfig: Spec['authServerConfig']) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, resourceUrl } },
    authServerConfig,
  })
const workloadAt = (url: string) => serving({ name: 'corporate', audience: url, resourceUrl: url })
const config = (embeddedAuthServer: NonNullable<Spec['authServerConfig']>) =>
  configWith('auth', 'embeddedAuthServer', embeddedAuthServer)

export const resourceUrlHostAgreed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['authServerConfig', 'oidcConfigRef', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  appliesTo: { from: '0.55' },
  severity: 'warning',
  summary:
    'Where a provider has no `redirectUri`, `resourceUrl` has the host of the authorization endpoint: the callback is below it.',
  why: 'From release 0.55 on a cookie of the host of the authorization endpoint binds a login to its browser. It does not reach a callback on another host, which rejects every login.',
  failure: LOGIN_RETURNS_ELSEWHERE,
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const elsewhere = issuingHere(resource, self, cluster).filter(returnsElsewhere)
      const server = elsewhere[0]?.server
      const works = server && workingCallback(server)
      const i = server?.upstreamProviders?.findIndex((each) => withoutCallback(each) !== undefined) ?? -1
      const settings = withoutCallback(server?.upstreamProviders?.[i])
      if (server === undefined || settings === undefined || works === undefined) return
      const holders = elsewhere.map(({ holder }) => holder)
      const detail = `write and register ${shortQuote(works)}: logins for ${namesText(holders, 2)} end on another host, rejected`
      yield ofHolders(
        advice(AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders.at(i)[settings].redirectUri, detail),
        {
          holders,
          at: WORKLOAD.spec.oidcConfigRef.resourceUrl,
          text: 'has another host',
          cause: [ID, self.name],
        },
      )
      return
    }
    for (const issuing of issuingBeside(resource as Gateway | Workload, self, cluster)) {
      const { server, to } = issuing
      if (!returnsElsewhere(issuing)) continue
      const host = authorizationHost(server)
      const usesDefault = server.upstreamProviders?.some((each) => withoutCallback(each) !== undefined)
      const works = workingCallback(server)
      if (usesDefault !== true || works === undefined) continue
      const place = to === undefined ? 'of each upstream provider' : `in ${nameText(to)}`
      const detail = `logins return to this host and are rejected: a cookie binds them to ${shortQuote(host)}; set \`redirectUri\` ${place} to ${works}`
      const error = outage(advice(issuing.at.resourceUrl, detail))
      yield to === undefined
        ? error
        : relatedTo(dependingAsError(error, to), [serverEnd(issuing, self, 'begins the logins')], () => [
            [ID, to.name],
          ])
    }
  },
  examples: {
    'one host': { kind: 'VirtualMCPServer', value: at(HERE, embedded) },
    'a redirect URI': { kind: 'VirtualMCPServer', value: at(ELSEWHERE, authServer('okta')) },
    'one host of a workload': { kind: 'MCPRemoteProxy', value: workloadAt(HERE), others: [config(embedded)] },
    'one host of a workload, at the configuration': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: config(embedded).spec },
      others: [servedBy('example', workloadAt(HERE).spec)],
    },
    'a redirect URI in the configuration of a workload': {
      kind: 'MCPServer',
      value: workloadAt(ELSEWHERE),
      others: [serverConfig('auth', 'okta')],
    },
    'two hosts': {
      kind: 'VirtualMCPServer',
      value: at(ELSEWHERE, embedded),
      findings:
        'spec.incomingAuth.oidcConfigRef.resourceUrl: logins return to this host and are rejected: a cookie binds them to "auth.example.com"; set `redirectUri` of each upstream provider to https://auth.example.com/oauth/callback',
    },
    'the same of a workload': {
      kind: 'MCPRemoteProxy',
      value: workloadAt(ELSEWHERE),
      others: [config(embedded)],
      findings:
        'spec.oidcConfigRef.resourceUrl: logins return to this host and are rejected: a cookie binds them to "auth.example.com"; set `redirectUri` in MCPExternalAuthConfig "auth" to https://auth.example.com/oauth/callback',
    },
    'the same at the configuration': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: config(embedded).spec },
      others: [servedBy('example', workloadAt(ELSEWHERE).spec)],
      findings:
        'spec.embeddedAuthServer.upstreamProviders[0].oidcConfig.redirectUri: write and register "https://auth.example.com/oauth/callback": logins for MCPRemoteProxy "wiki" end on another host, rejected',
    },
  },
})

/** Whether the default callback is on another host than the authorization endpoint. */
function returnsElsewhere({ server, resourceUrl }: Pick<HeldIssuing, 'server' | 'resourceUrl'>): boolean {
  const [host, callback] = [authorizationHost(server), hostOf(resourceUrl)]
  if (host === '' || callback === '' || host === callback) return false
  // A `resourceUrl` with a path makes a callback URL that no host serves; another rule reports that.
  return !missesCallback(server, defaultCallback(resourceUrl ?? ''))
}
