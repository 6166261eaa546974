import { advice, defineRule, end, nameText, relatedTo, shortQuote } from '../../rule/index.ts'
import {
  CALLBACK_NOT_SERVED,
  defaultCallback,
  providerText,
  servesCallback,
  withoutCallback,
  workingCallback,
} from '../../kinds/embedded-auth-server/callback.ts'
import { okta } from '../../kinds/embedded-auth-server/examples.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { AUTH_CONFIG, authServer, GATEWAY, gatewayOf, issuingBeside, serving } from '../index.ts'

/** The most upstream providers of an authorization server that get a finding: all these findings have one cause. */
const MOST_PROVIDERS = 20
const ISSUER = 'https://auth.example.com'
const defaulting = { ...authServer(), upstreamProviders: [okta] }
const config = (server: object) => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'auth' },
  spec: { type: 'embeddedAuthServer', embeddedAuthServer: server },
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
  id: 'login-callback-served',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['authServerConfig', 'oidcConfigRef'],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'Where `resourceUrl` has a path, each upstream provider has a `redirectUri`: the callback below the path is not served.',
  why: 'A provider without `redirectUri` returns users to `resourceUrl` + `/oauth/callback`. The authorization server serves `/oauth/callback` at the root of the host only: below a path the request reaches the MCP server, which asks for a token. Only an Ingress that rewrites the path helps.',
  failure: CALLBACK_NOT_SERVED,
  sources: ['decision 3', 'decision 21'],
  *check(resource, { cluster, self }) {
    for (const issuing of issuingBeside(resource, self, cluster)) {
      const { server, to, resourceUrl } = issuing
      if (resourceUrl === undefined) continue
      const callback = defaultCallback(resourceUrl)
      if (servesCallback(callback) !== false) continue
      const working = workingCallback(server)
      if (working === undefined) continue
      const works = shortQuote(working)
      const { upstreamProviders = [] } = server
      let left = MOST_PROVIDERS
      for (let i = 0; i < upstreamProviders.length && left > 0; i++) {
        const provider = upstreamProviders[i]
        const settings = withoutCallback(provider)
        const who = settings && provider && providerText(provider)
        if (settings === undefined || who === undefined) continue
        left -= 1
        const ends = `end at ${shortQuote(callback)}, which is not served`
        if (to === undefined) {
          const place = GATEWAY.spec.authServerConfig.upstreamProviders.at(i)[settings].redirectUri
          const detail = `logins at ${who} ${ends}; write and register ${works}`
          yield relatedTo(advice(place, detail), [end(self, issuing.at.resourceUrl, 'has a path')])
        } else {
          const place = AUTH_CONFIG.spec.embeddedAuthServer.upstreamProviders.at(i)[settings].redirectUri
          const detail = `logins at ${who} ${ends}; write and register ${works} in ${nameText(to)}`
          yield relatedTo(advice(issuing.at.resourceUrl, detail), [end(to, place, 'is not set')])
        }
      }
    }
  },
  examples: {
    valid: [
      { title: 'no path', kind: 'VirtualMCPServer', value: at(ISSUER, defaulting) },
      { title: 'a slash alone', kind: 'VirtualMCPServer', value: at(`${ISSUER}/`, defaulting) },
      {
        title: 'a path, and the callback of the root',
        kind: 'VirtualMCPServer',
        value: at(`${ISSUER}/mcp`, authServer('okta', 'github')),
      },
      {
        title: 'the same in the configuration of a workload',
        kind: 'MCPServer',
        value: serving({}),
        others: [config(authServer('okta'))],
      },
    ],
    invalid: [
      {
        title: 'a path in `resourceUrl`, below which the callback is',
        kind: 'VirtualMCPServer',
        value: at(`${ISSUER}/mcp`, defaulting),
        findings: [
          'spec.authServerConfig.upstreamProviders[0].oidcConfig.redirectUri: logins at "okta" end at "https://auth.example.com/mcp/oauth/callback", which is not served; write and register "https://auth.example.com/oauth/callback"',
        ],
      },
      {
        title: 'the same of a workload',
        kind: 'MCPRemoteProxy',
        value: serving({}),
        others: [config(defaulting)],
        findings: [
          'spec.oidcConfigRef.resourceUrl: logins at "okta" end at "https://auth.example.com/mcp/oauth/callback", which is not served; write and register "https://auth.example.com/oauth/callback" in MCPExternalAuthConfig "auth"',
        ],
      },
    ],
  },
})
