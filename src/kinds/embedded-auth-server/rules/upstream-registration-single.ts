import { defineRule, forbidden, isAbsent, required } from '../../../rule/index.ts'
import { githubConfig, okta, withOAuth2, withOidc, withOidcConfig, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const unregistered = without(okta.oidcConfig ?? {}, 'clientId', 'clientSecretRef')
const unregisteredOAuth2 = without(githubConfig, 'clientId', 'clientSecretRef')
const discoveryUrl = 'https://idp.example.com/.well-known/openid-configuration'
const registrationEndpoint = 'https://idp.example.com/register'

export const upstreamRegistrationSingle = defineRule({
  id: 'upstream-registration-single',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    '`dcrConfig` stands without `clientId` and `clientSecretRef` and names one endpoint, which OAuth 2.0 providers need.',
  why: 'The API server refuses the resource: a client is either registered in advance, or by the server at one endpoint.',
  failure: {
    symptom:
      'the API server says "exactly one of clientId or dcrConfig must be set", "clientSecretRef must not be set when dcrConfig is set" or "exactly one of discoveryUrl or registrationEndpoint must be set"',
    reportedBy: 'API server',
    consequence: 'does not start',
    threads: ['stacklok/toolhive#6544'],
  },
  sources: ['decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      for (const type of ['oidcConfig', 'oauth2Config'] as const) {
        const config = provider?.[type]
        const dcr = config?.dcrConfig
        if (!config || dcr === undefined) continue
        const here = path.upstreamProviders.at(i)[type]
        if (config.clientId)
          yield forbidden(
            here.clientId,
            'may not be set beside `dcrConfig`, or the API server refuses the resource; keep one of the two',
          )
        if (!isAbsent(config, 'clientSecretRef'))
          yield forbidden(
            here.clientSecretRef,
            'may not be set beside `dcrConfig`, which obtains the secret, or the API server refuses the resource; remove the reference',
          )
        const [hasDiscovery, hasEndpoint] = [
          !isAbsent(dcr, 'discoveryUrl'),
          !isAbsent(dcr, 'registrationEndpoint'),
        ]
        if (hasDiscovery && hasEndpoint)
          yield forbidden(
            here.dcrConfig.registrationEndpoint,
            'may not be set beside `discoveryUrl`, or the API server refuses the resource; keep one of the two',
          )
        else if (type === 'oauth2Config' && !hasDiscovery && !hasEndpoint)
          yield required(
            here.dcrConfig.discoveryUrl,
            'set this or `registrationEndpoint`: without one the API server refuses the resource',
          )
      }
    }
  },
  examples: {
    'discovery at the issuer': { value: withOidcConfig({ ...unregistered, dcrConfig: {} }) },
    'an endpoint': { value: withOAuth2({ ...unregisteredOAuth2, dcrConfig: { registrationEndpoint } }) },
    'a client as well': {
      value: withOidc({ dcrConfig: {} }),
      findings: [
        'upstreamProviders[0].oidcConfig.clientId: Forbidden: may not be set beside `dcrConfig`, or the API server refuses the resource; keep one of the two',
        'upstreamProviders[0].oidcConfig.clientSecretRef: Forbidden: may not be set beside `dcrConfig`, which obtains the secret, or the API server refuses the resource; remove the reference',
      ],
    },
    'two endpoints': {
      value: withOidcConfig({ ...unregistered, dcrConfig: { discoveryUrl, registrationEndpoint } }),
      findings:
        'upstreamProviders[0].oidcConfig.dcrConfig.registrationEndpoint: Forbidden: may not be set beside `discoveryUrl`, or the API server refuses the resource; keep one of the two',
    },
    'no endpoint': {
      value: withOAuth2({ ...unregisteredOAuth2, dcrConfig: { softwareId: 'vmcp' } }),
      findings:
        'upstreamProviders[0].oauth2Config.dcrConfig.discoveryUrl: Required value: set this or `registrationEndpoint`: without one the API server refuses the resource',
    },
  },
})
