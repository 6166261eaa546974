import { defineRule, forbidden, isAbsent, must, required } from '../../../rule/index.ts'
import { github, githubConfig, okta, server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const CONFIGS = [
  ['oidc', 'oidcConfig'],
  ['oauth2', 'oauth2Config'],
] as const

export const upstreamProviderConfigMatchesType = defineRule({
  id: 'upstream-provider-config-matches-type',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary:
    'An upstream provider of type `oidc` has `oidcConfig` alone, one of type `oauth2` `oauth2Config` alone.',
  why: 'Only the settings that fit the type are read; without them nobody can log in.',
  sources: [
    must('2.4.3', 'oauth2Config is there when type is oauth2, and absent when type is oidc.'),
    must('2.4.3', 'oidcConfig is there when type is oidc, and absent when type is oauth2.'),
    must('7', 'Provider type oauth2 without oauth2Config, or with oidcConfig.'),
    must('7', 'Provider type oidc without oidcConfig, or with oauth2Config.'),
  ],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      if (provider?.type !== 'oidc' && provider?.type !== 'oauth2') continue
      for (const [type, config] of CONFIGS) {
        const absent = isAbsent(provider, config)
        if (absent !== (type === provider.type)) continue
        const place = path.upstreamProviders.at(i)[config]
        if (absent) yield required(place, `must be set when \`type\` is '${type}'`)
        else yield forbidden(place, `may not be specified when \`type\` is '${provider.type}'`)
      }
    }
  },
  policy: {
    expression: `
      self.?upstreamProviders.orValue([]).all(provider,
        !(provider.?type.orValue('') in ['oidc', 'oauth2']) ||
        (provider.?oidcConfig.orValue(null) != null) == (provider.type == 'oidc') &&
        (provider.?oauth2Config.orValue(null) != null) == (provider.type == 'oauth2'))`,
  },
  examples: {
    'one of each type': { value: { ...server, upstreamProviders: [okta, github] } },
    'without settings': {
      value: {
        ...server,
        upstreamProviders: [
          { name: 'okta', type: 'oidc' },
          { name: 'github', type: 'oauth2' },
        ],
      },
      findings: [
        "upstreamProviders[0].oidcConfig: Required value: must be set when `type` is 'oidc'",
        "upstreamProviders[1].oauth2Config: Required value: must be set when `type` is 'oauth2'",
      ],
    },
    'with both settings': {
      value: { ...server, upstreamProviders: [{ ...okta, oauth2Config: githubConfig }] },
      findings: "upstreamProviders[0].oauth2Config: Forbidden: may not be specified when `type` is 'oidc'",
    },
    'with the settings of the other type': {
      value: { ...server, upstreamProviders: [{ ...okta, type: 'oauth2' }] },
      findings: [
        "upstreamProviders[0].oidcConfig: Forbidden: may not be specified when `type` is 'oauth2'",
        "upstreamProviders[0].oauth2Config: Required value: must be set when `type` is 'oauth2'",
      ],
    },
  },
})
