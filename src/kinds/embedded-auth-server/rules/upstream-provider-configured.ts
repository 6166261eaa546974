import { defineRule, isAbsent, required } from '../../../rule/index.ts'
import { grantsWithoutLogin } from '../effective.ts'
import { server, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const withoutProviders = without(server, 'upstreamProviders')

export const upstreamProviderConfigured = defineRule({
  id: 'upstream-provider-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  severity: 'error',
  summary: 'An authorization server has an upstream provider, unless it issues tokens without a login.',
  why: 'Users log in at an upstream provider; without one nobody gets a token, and most releases refuse the resource.',
  sources: ['2.4.3', 'decision 3', 'decision 17'],
  *check(authServer, { path }) {
    if (isAbsent(authServer, 'upstreamProviders') && !grantsWithoutLogin(authServer))
      yield required(path.upstreamProviders, 'must name the identity providers at which users log in')
  },
  policy: {
    expression: `
      self == {} ||
      self.?upstreamProviders.orValue(null) != null ||
      self.?delegateClients.orValue([]) != [] ||
      self.?trustedIssuers.orValue([]).exists(issuer, issuer.?jwtBearerGrant.orValue(null) != null) ||
      self.?inboundGrants.?tokenExchange.orValue(null) != null ||
      self.?inboundGrants.?jwtBearer.orValue(null) != null ||
      self.?inboundGrants.?spiffeClientAuth.orValue([]) != []`,
  },
  examples: {
    'a provider': { value: server },
    'token exchange alone (newer releases)': {
      value: { ...withoutProviders, inboundGrants: { tokenExchange: {} } },
    },
    'no provider': {
      value: withoutProviders,
      findings: 'upstreamProviders: Required value: must name the identity providers at which users log in',
    },
    'a trusted issuer without a grant': {
      value: { ...withoutProviders, trustedIssuers: [{ issuerUrl: 'https://idp.example.com' }] },
      findings: 'upstreamProviders: Required value: must name the identity providers at which users log in',
    },
  },
})
