import {
  advice,
  defineRule,
  dependingAsError,
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
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, oidc, server, type Spec } from '../../kinds/virtual-mcp-server/examples.ts'
import { authServer, issuingBeside, serverConfig, serverEnd, serving } from '../index.ts'

const ID = 'resource-url-host-agreed'
const [HERE, ELSEWHERE] = ['https://auth.example.com', 'https://mcp.example.com']
const at = (resourceUrl: string, authServerConfig: Spec['authServerConfig']) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, resourceUrl } },
    authServerConfig,
  })
const workloadAt = (url: string) => serving({ name: 'corporate', audience: url, resourceUrl: url })
const config = (embeddedAuthServer: object) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: { type: 'embeddedAuthServer', embeddedAuthServer },
})

export const resourceUrlHostAgreed = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['authServerConfig', 'oidcConfigRef'],
  reads: ['MCPExternalAuthConfig'],
  appliesTo: { from: '0.55' },
  severity: 'warning',
  summary:
    'Where a provider has no `redirectUri`, `resourceUrl` has the host of the authorization endpoint: the callback is below it.',
  why: 'From release 0.55 on a cookie of the host of the authorization endpoint binds a login to its browser. It does not reach a callback on another host, which rejects every login.',
  failure: LOGIN_RETURNS_ELSEWHERE,
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    for (const issuing of issuingBeside(resource, self, cluster)) {
      const { server, to, resourceUrl } = issuing
      const [host, callback] = [authorizationHost(server), hostOf(resourceUrl)]
      if (host === '' || callback === '' || host === callback) continue
      // A `resourceUrl` with a path makes a callback URL that no host serves; another rule reports that.
      if (missesCallback(server, defaultCallback(resourceUrl ?? ''))) continue
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
    valid: [
      { title: 'one host', kind: 'VirtualMCPServer', value: at(HERE, embedded) },
      {
        title: 'a redirect URI',
        kind: 'VirtualMCPServer',
        value: at(ELSEWHERE, authServer('okta')),
      },
      {
        title: 'one host of a workload',
        kind: 'MCPRemoteProxy',
        value: workloadAt(HERE),
        others: [config(embedded)],
      },
      {
        title: 'a redirect URI in the configuration of a workload',
        kind: 'MCPServer',
        value: workloadAt(ELSEWHERE),
        others: [serverConfig('auth', 'okta')],
      },
    ],
    invalid: [
      {
        title: 'two hosts',
        kind: 'VirtualMCPServer',
        value: at(ELSEWHERE, embedded),
        findings: [
          'spec.incomingAuth.oidcConfigRef.resourceUrl: logins return to this host and are rejected: a cookie binds them to "auth.example.com"; set `redirectUri` of each upstream provider to https://auth.example.com/oauth/callback',
        ],
      },
      {
        title: 'the same of a workload',
        kind: 'MCPRemoteProxy',
        value: workloadAt(ELSEWHERE),
        others: [config(embedded)],
        findings: [
          'spec.oidcConfigRef.resourceUrl: logins return to this host and are rejected: a cookie binds them to "auth.example.com"; set `redirectUri` in MCPExternalAuthConfig "auth" to https://auth.example.com/oauth/callback',
        ],
      },
    ],
  },
})
