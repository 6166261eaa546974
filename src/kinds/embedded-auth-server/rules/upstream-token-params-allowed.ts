import { defineRule, forbidden, invalid, parseUrl } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** The parameters of token requests that users may not set: the server sets them, or they authenticate the client. */
const RESERVED = [
  'grant_type',
  'code',
  'redirect_uri',
  'client_id',
  'client_secret',
  'code_verifier',
  'refresh_token',
  'scope',
  'client_assertion',
  'client_assertion_type',
] as const

export const upstreamTokenParamsAllowed = defineRule({
  id: 'upstream-token-params-allowed',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'Extra token parameters leave alone those that the server sets itself, and `resource` is an absolute URI without a fragment.',
  why: 'The operator refuses the configuration.',
  failure: {
    symptom:
      'Valid=False says "reserved token parameter … is managed by the framework", or that "resource" must be an absolute URI',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.50 on',
    threads: ['stacklok/toolhive#6430'],
  },
  sources: ['decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      for (const config of ['oidcConfig', 'oauth2Config'] as const) {
        const params = provider?.[config]?.additionalTokenParams
        if (params === undefined) continue
        const at = (name: string) => path.upstreamProviders.at(i)[config].additionalTokenParams.at(name)
        for (const name of RESERVED) {
          if (Object.hasOwn(params, name))
            yield forbidden(
              at(name),
              'the server sets this parameter: remove it, or the operator refuses the configuration',
            )
        }
        const resource = Object.hasOwn(params, 'resource') ? params.resource : undefined
        if (resource !== undefined && !isResource(resource))
          yield invalid(
            at('resource'),
            resource,
            'must be an absolute URI without a fragment (RFC 8707), or the operator refuses the configuration',
          )
      }
    }
  },
  examples: {
    'parameters of the provider': {
      value: withOidc({ additionalTokenParams: { resource: 'https://api.example.com', audience: 'api' } }),
    },
    'parameters that come from other fields': {
      value: withOAuth2({
        ...githubConfig,
        additionalTokenParams: { scope: 'repo', client_secret: 'abc' },
      }),
      findings: [
        'upstreamProviders[0].oauth2Config.additionalTokenParams[client_secret]: Forbidden: the server sets this parameter: remove it, or the operator refuses the configuration',
        'upstreamProviders[0].oauth2Config.additionalTokenParams[scope]: Forbidden: the server sets this parameter: remove it, or the operator refuses the configuration',
      ],
    },
    'a resource by name': {
      value: withOidc({ additionalTokenParams: { resource: 'api' } }),
      findings:
        'upstreamProviders[0].oidcConfig.additionalTokenParams[resource]: Invalid value: "api": must be an absolute URI without a fragment (RFC 8707), or the operator refuses the configuration',
    },
  },
})

const isResource = (text: string): boolean => (parseUrl(text)?.scheme ?? '') !== '' && !text.includes('#')
