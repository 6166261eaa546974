import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const unregistered = without(githubConfig, 'clientId', 'clientSecretRef')

export const upstreamOauth2ClientIdConfigured = defineRule({
  id: 'upstream-oauth2-client-id-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  severity: 'error',
  summary: 'An OAuth 2.0 provider has `clientId`, unless the client registers dynamically.',
  why: 'The provider refuses every login of a client that it does not know.',
  sources: [must('2.4.3', 'clientId is required.'), 'decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oauth2Config
      if (!config || !isAbsent(config, 'clientId') || mayStandIn(config, 'dcrConfig')) continue
      yield required(
        path.upstreamProviders.at(i).oauth2Config.clientId,
        'must be the client identifier registered with the provider',
      )
    }
  },
  policy: {
    expression: `
      self.?upstreamProviders.orValue([]).map(provider, provider.?oauth2Config.orValue(null)).all(config,
        config == null ||
        config.?clientId.orValue(null) != null ||
        config.?dcrConfig.orValue(null) != null)`,
  },
  examples: {
    'a registered client': { value: withOAuth2(githubConfig) },
    'dynamic registration (newer releases)': {
      value: withOAuth2({
        ...unregistered,
        dcrConfig: { registrationEndpoint: 'https://idp.example.com/register' },
      }),
    },
    'no client': {
      value: withOAuth2(unregistered),
      findings:
        'upstreamProviders[0].oauth2Config.clientId: Required value: must be the client identifier registered with the provider',
    },
  },
})
