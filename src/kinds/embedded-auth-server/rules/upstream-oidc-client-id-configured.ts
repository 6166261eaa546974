import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { okta, withOidcConfig, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const unregistered = without(okta.oidcConfig ?? {}, 'clientId', 'clientSecretRef')

export const upstreamOidcClientIdConfigured = defineRule({
  id: 'upstream-oidc-client-id-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  severity: 'error',
  summary: 'An OpenID Connect provider has `clientId`, unless the client registers dynamically.',
  why: 'The provider refuses every login of a client that it does not know.',
  sources: [must('2.4.3', 'clientId is required.'), 'decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oidcConfig
      if (!config || !isAbsent(config, 'clientId') || mayStandIn(config, 'dcrConfig')) continue
      yield required(
        path.upstreamProviders.at(i).oidcConfig.clientId,
        'must be the client identifier registered with the provider',
      )
    }
  },
  policy: {
    expression: `
      self.?upstreamProviders.orValue([]).map(provider, provider.?oidcConfig.orValue(null)).all(config,
        config == null ||
        config.?clientId.orValue(null) != null ||
        config.?dcrConfig.orValue(null) != null)`,
  },
  examples: {
    'a registered client': { value: withOidcConfig(okta.oidcConfig ?? {}) },
    'dynamic registration (newer releases)': { value: withOidcConfig({ ...unregistered, dcrConfig: {} }) },
    'no client': {
      value: withOidcConfig(unregistered),
      findings:
        'upstreamProviders[0].oidcConfig.clientId: Required value: must be the client identifier registered with the provider',
    },
  },
})
