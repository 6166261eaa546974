import { defineRule, forbidden, isAbsent, required } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const publicClient = without(githubConfig, 'clientSecretRef')

export const upstreamTokenAuthMethodFitsSecret = defineRule({
  id: 'upstream-token-auth-method-fits-secret',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: '`tokenEndpointAuthMethod` is `none` without a client secret, and another one with it.',
  why: 'The authorization server does not start: `none` sends no secret, and the others have none to send.',
  failure: {
    symptom:
      'the pod ends at start with "token_endpoint_auth_method none cannot be used with a client secret" or "requires client_secret_file or client_secret_env_var"',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.48 on',
    threads: ['stacklok/toolhive#6543'],
  },
  sources: ['decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oauth2Config
      const method = config?.tokenEndpointAuthMethod
      if (!config || !method) continue
      const place = path.upstreamProviders.at(i).oauth2Config.clientSecretRef
      const hasSecret = !isAbsent(config, 'clientSecretRef')
      if (method === 'none' && hasSecret)
        yield forbidden(
          place,
          "may not be set where `tokenEndpointAuthMethod` is 'none', or the authorization server does not start",
        )
      else if (method !== 'none' && !hasSecret && isAbsent(config, 'dcrConfig'))
        yield required(
          place,
          `must be set where \`tokenEndpointAuthMethod\` is '${method}', or the authorization server does not start`,
        )
    }
  },
  examples: {
    'a client with a secret': {
      value: withOAuth2({ ...githubConfig, tokenEndpointAuthMethod: 'client_secret_basic' }),
    },
    'a public client': { value: withOAuth2({ ...publicClient, tokenEndpointAuthMethod: 'none' }) },
    'a client that is registered dynamically': {
      value: withOAuth2({
        ...without(publicClient, 'clientId'),
        dcrConfig: { discoveryUrl: 'https://idp.example.com/.well-known/oauth-authorization-server' },
        tokenEndpointAuthMethod: 'client_secret_post',
      }),
    },
    'none, with a secret': {
      value: withOAuth2({ ...githubConfig, tokenEndpointAuthMethod: 'none' }),
      findings:
        "upstreamProviders[0].oauth2Config.clientSecretRef: Forbidden: may not be set where `tokenEndpointAuthMethod` is 'none', or the authorization server does not start",
    },
    'a secret that is not there': {
      value: withOAuth2({ ...publicClient, tokenEndpointAuthMethod: 'client_secret_basic' }),
      findings:
        "upstreamProviders[0].oauth2Config.clientSecretRef: Required value: must be set where `tokenEndpointAuthMethod` is 'client_secret_basic', or the authorization server does not start",
    },
  },
})
