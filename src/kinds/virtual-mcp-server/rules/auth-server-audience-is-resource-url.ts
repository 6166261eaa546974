import { defineRule, outage } from '../../../rule/index.ts'
import {
  audienceErrors,
  authServer,
  gatewayChecker,
  gatewayOf,
  namespaceOf,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const listening = (oidcConfigRef: { name?: string; audience?: string; resourceUrl?: string }) =>
  gatewayOf({
    authServerConfig: authServer('okta'),
    incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', ...oidcConfigRef } },
  })

export const authServerAudienceIsResourceUrl = defineRule({
  id: 'auth-server-audience-is-resource-url',
  on: VirtualMCPServer,
  severity: 'warning',
  summary: 'Beside an embedded authorization server, the audience is the `resourceUrl`, an absolute URL.',
  why: 'The server issues tokens for the `resourceUrl` only: releases do not reconcile a VirtualMCPServer that expects another audience, and refuse every login for a resource that is not a URL.',
  failure: {
    symptom:
      "every request is answered with 401, or the VirtualMCPServer stays Failed: `not in auth server's allowed audiences`",
    reportedBy: 'operator',
    consequence: 'does not start',
    threads: ['stacklok/toolhive#4860', 'stacklok/toolhive#4904'],
  },
  sources: ['decision 4', 'decision 23'],
  *check(gateway, { path, self }) {
    const checker = gatewayChecker(gateway, { name: self.name, namespace: namespaceOf(gateway) }, path)
    if (checker === undefined) return
    for (const error of audienceErrors(checker)) yield outage(error)
  },
  examples: {
    'the URL of clients in both': {
      value: listening({
        audience: 'https://mcp.example.com/mcp',
        resourceUrl: 'https://mcp.example.com/mcp',
      }),
    },
    'no embedded server: another server says what the audience is': {
      value: gatewayOf({
        incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate', audience: 'tools' } },
      }),
    },
    'no resourceUrl': {
      value: listening({ audience: 'https://mcp.example.com' }),
      findings:
        'spec.incomingAuth.oidcConfigRef.resourceUrl: defaults to the address in the cluster, which is not the audience, so the operator refuses the resource; set it to "https://mcp.example.com"',
    },
    'two URLs that differ by a slash': {
      value: listening({ audience: 'https://mcp.example.com', resourceUrl: 'https://mcp.example.com/' }),
      findings:
        'spec.incomingAuth.oidcConfigRef.audience: must equal `resourceUrl`, "https://mcp.example.com/", the only audience of tokens of the embedded server, or the operator refuses it',
    },
    'a name': {
      value: gatewayOf({
        authServerConfig: authServer('okta'),
        incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'corporate' }, audience: 'tools' },
      }),
      findings:
        'spec.incomingAuth.audience: must be an absolute http(s) URL without a fragment, or every login at the embedded server fails; write the URL of clients, in `resourceUrl` too',
    },
  },
})
