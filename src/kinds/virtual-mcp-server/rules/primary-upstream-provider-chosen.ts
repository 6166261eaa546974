import { advice, defineRule, isAbsent, shortQuote } from '../../../rule/index.ts'
import { authServer, chosenProvider, gatewayOf, providersOf, withPolicies } from '../../../relations/index.ts'
import { hasNoProviders } from '../../embedded-auth-server/effective.ts'
import { VirtualMCPServer } from '../schema.ts'

export const primaryUpstreamProviderChosen = defineRule({
  id: 'primary-upstream-provider-chosen',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'warning',
  summary: 'Policies beside an embedded authorization server have a provider whose claims they see.',
  why: 'Policies see the claims of one provider: of the first when none is chosen, whatever the order was meant for. Without any provider, releases do not reconcile the VirtualMCPServer.',
  failure: {
    symptom:
      'policies deny, or allow the wrong people: they see the claims of the first provider (condition AuthzUpstreamSelectionWarning); or `AuthzRequiresUpstream`',
    reportedBy: 'operator',
    consequence: 'wrong identity',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#5197', 'stacklok/toolhive#5002'],
  },
  sources: ['decision 3'],
  *check(gateway, { path }) {
    const { incomingAuth } = gateway.spec ?? {}
    if (incomingAuth === undefined || chosenProvider(gateway) !== undefined) return
    const hasPolicies = !isAbsent(incomingAuth, 'authzConfig')
    if (!hasPolicies && isAbsent(incomingAuth, 'authzConfigRef')) return
    const server = gateway.spec?.authServerConfig
    const { names: [first, ...others] = [], complete = false } =
      providersOf(gateway.spec, 'authServerConfig') ?? {}
    if (complete && first !== undefined && others.length > 0)
      yield advice(
        path.spec.authServerConfig.primaryUpstreamProvider,
        `policies see the claims of ${shortQuote(first)}, the first of ${others.length + 1} providers; name here the one that is meant`,
      )
    else if (server !== undefined && hasPolicies && hasNoProviders(server))
      yield advice(
        path.spec.authServerConfig.upstreamProviders,
        'add a provider: with `authzConfig` and no provider the operator does not reconcile the VirtualMCPServer, as policies would see no claims of a login',
      )
  },
  examples: {
    'one provider': {
      value: gatewayOf({ authServerConfig: authServer('okta'), incomingAuth: withPolicies() }),
    },
    'two providers, of which one is chosen': {
      value: gatewayOf({
        authServerConfig: { ...authServer('okta', 'github'), primaryUpstreamProvider: 'okta' },
        incomingAuth: withPolicies(),
      }),
    },
    'two providers, and no policies': {
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
    },
    'two providers': {
      value: gatewayOf({ authServerConfig: authServer('okta', 'github'), incomingAuth: withPolicies() }),
      findings:
        'spec.authServerConfig.primaryUpstreamProvider: policies see the claims of "okta", the first of 2 providers; name here the one that is meant',
    },
    'no provider, because clients get tokens without a login': {
      value: gatewayOf({
        authServerConfig: {
          issuer: 'https://auth.example.com',
          delegateClients: [
            {
              clientId: 'agent',
              clientSecretRef: { name: 'agent', key: 'secret' },
              scopes: ['openid'],
              audiences: ['https://mcp.example.com'],
            },
          ],
        },
        incomingAuth: withPolicies(),
      }),
      findings:
        'spec.authServerConfig.upstreamProviders: add a provider: with `authzConfig` and no provider the operator does not reconcile the VirtualMCPServer, as policies would see no claims of a login',
    },
  },
})
