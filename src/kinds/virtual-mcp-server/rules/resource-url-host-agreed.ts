import { advice, defineRule, outage, shortQuote } from '../../../rule/index.ts'
import {
  authorizationHost,
  hostOf,
  LOGIN_RETURNS_ELSEWHERE,
} from '../../embedded-auth-server/authorization-host.ts'
import {
  defaultCallback,
  servesCallback,
  withoutCallback,
  workingCallback,
} from '../../embedded-auth-server/callback.ts'
import { embedded, oidc, server, type Spec } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

const at = (resourceUrl: string, authServerConfig: Spec['authServerConfig']) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, resourceUrl } },
    authServerConfig,
  })

export const resourceUrlHostAgreed = defineRule({
  id: 'resource-url-host-agreed',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  reads: [],
  appliesTo: { from: '0.55' },
  severity: 'warning',
  summary:
    'Where a provider has no `redirectUri`, `resourceUrl` has the host of the authorization endpoint: the callback is below it.',
  why: 'From release 0.55 on a cookie of the host of the authorization endpoint binds a login to its browser. It does not reach a callback on another host, which rejects every login.',
  failure: LOGIN_RETURNS_ELSEWHERE,
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const { server, resourceUrl } = issuingOf(spec) ?? {}
    if (server === undefined) return
    const [host, callback] = [authorizationHost(server), hostOf(resourceUrl)]
    if (host === '' || callback === '' || host === callback) return
    // A `resourceUrl` with a path makes a callback URL that no host serves; another rule reports that.
    if (servesCallback(defaultCallback(resourceUrl ?? '')) === false) return
    const usesDefault = server.upstreamProviders?.some((each) => withoutCallback(each) !== undefined)
    const works = workingCallback(server)
    if (usesDefault !== true || works === undefined) return
    yield outage(
      advice(
        path.spec.incomingAuth.oidcConfigRef.resourceUrl,
        `logins return to this host and are rejected: a cookie binds them to ${shortQuote(host)}; set \`redirectUri\` of each upstream provider to ${works}`,
      ),
    )
  },
  examples: {
    valid: [
      { title: 'one host', value: at('https://auth.example.com', embedded) },
      {
        title: 'a redirect URI',
        value: at('https://mcp.example.com', {
          ...embedded,
          upstreamProviders: [
            {
              name: 'okta',
              type: 'oidc',
              oidcConfig: {
                issuerUrl: 'https://okta.example.com',
                clientId: 'vmcp',
                redirectUri: 'https://auth.example.com/oauth/callback',
              },
            },
          ],
        }),
      },
    ],
    invalid: [
      {
        title: 'two hosts',
        value: at('https://mcp.example.com', embedded),
        findings: [
          'spec.incomingAuth.oidcConfigRef.resourceUrl: logins return to this host and are rejected: a cookie binds them to "auth.example.com"; set `redirectUri` of each upstream provider to https://auth.example.com/oauth/callback',
        ],
      },
    ],
  },
})
