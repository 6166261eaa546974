import { advice, defineRule, nearest, shortQuote } from '../../../rule/index.ts'
import { authServer, chosenProvider, gatewayOf, providersOf, withPolicies } from '../../../relations/index.ts'
import { agent } from '../../embedded-auth-server/examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const primaryUpstreamProviderExists = defineRule({
  id: 'primary-upstream-provider-exists',
  on: VirtualMCPServer,
  severity: 'warning',
  summary: 'The `primaryUpstreamProvider`, whose claims policies see, is a provider of `authServerConfig`.',
  why: 'With policies, releases do not reconcile the VirtualMCPServer; earlier ones deny every request, because there is no token of such a provider.',
  failure: {
    symptom:
      'phase Failed, condition AuthServerConfigValidated with reason `AuthzUpstreamUnknown` or `AuthzPrimaryProviderRequiresAuthServer`',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#5197', 'stacklok/toolhive#5002'],
  },
  sources: ['decision 3'],
  *check(gateway) {
    const { name, at } = chosenProvider(gateway) ?? {}
    if (name === undefined || at === undefined) return
    const providers = providersOf(gateway.spec, 'authServerConfig')
    if (providers === undefined) {
      yield advice(
        at,
        'needs `authServerConfig` with a provider of this name, or the VirtualMCPServer stays Failed; add it, or remove this field',
      )
    } else if (providers.complete && !providers.has(name)) {
      const near = nearest(name, providers.names)
      const there = providers.names.slice(0, 5).map(shortQuote).join(', ')
      const hint = near !== undefined ? `did you mean ${shortQuote(near)}` : `there is ${there || 'none'}`
      yield advice(
        at,
        `no upstream provider is named ${shortQuote(name)}, so with policies the VirtualMCPServer stays Failed; ${hint}`,
      )
    }
  },
  examples: {
    'the second provider': {
      value: gatewayOf({
        authServerConfig: { ...authServer('okta', 'github'), primaryUpstreamProvider: 'github' },
        incomingAuth: withPolicies(),
      }),
    },
    'none chosen': {
      value: gatewayOf({ authServerConfig: authServer('okta'), incomingAuth: withPolicies() }),
    },
    'a misspelt provider': {
      value: gatewayOf({
        authServerConfig: { ...authServer('okta', 'github'), primaryUpstreamProvider: 'octa' },
        incomingAuth: withPolicies(),
      }),
      findings:
        'spec.authServerConfig.primaryUpstreamProvider: no upstream provider is named "octa", so with policies the VirtualMCPServer stays Failed; did you mean "okta"',
    },
    'no provider, because clients get tokens without a login': {
      value: gatewayOf({
        authServerConfig: {
          issuer: 'https://auth.example.com',
          delegateClients: [agent],
          primaryUpstreamProvider: 'okta',
        },
        incomingAuth: withPolicies(),
      }),
      findings:
        'spec.authServerConfig.primaryUpstreamProvider: no upstream provider is named "okta", so with policies the VirtualMCPServer stays Failed; there is none',
    },
    'no embedded server, where older releases have the field': {
      value: gatewayOf({ incomingAuth: withPolicies({ primaryUpstreamProvider: 'okta' }) }),
      findings:
        'spec.incomingAuth.authzConfig.inline.primaryUpstreamProvider: needs `authServerConfig` with a provider of this name, or the VirtualMCPServer stays Failed; add it, or remove this field',
    },
  },
})
