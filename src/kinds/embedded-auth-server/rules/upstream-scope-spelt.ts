import { advice, defineRule } from '../../../rule/index.ts'
import { scopeSlips } from '../../scope-slips.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const REFUSED = 'so providers refuse the login with invalid_scope, or ignore the scope'

export const upstreamScopeSpelt = defineRule({
  id: 'upstream-scope-spelt',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'The scopes of upstream providers are not empty, and those of OpenID Connect are spelt as there.',
  why: 'A provider answers a scope that it does not know with `invalid_scope`, and nobody can log in; or it leaves the scope out, and claims or the refresh token are missing.',
  failure: {
    symptom: 'the login ends at the provider with `invalid_scope`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const at = path.upstreamProviders.at(i)
      for (const [j, problem] of scopeSlips(provider?.oidcConfig?.scopes, REFUSED))
        yield advice(at.oidcConfig.scopes.at(j), problem)
      for (const [j, problem] of scopeSlips(provider?.oauth2Config?.scopes, REFUSED))
        yield advice(at.oauth2Config.scopes.at(j), problem)
    }
  },
  examples: {
    'scopes of OpenID Connect': { value: withOidc({ scopes: ['openid', 'email', 'offline_access'] }) },
    'scopes of an API, some of which are near': {
      value: withOAuth2({ ...githubConfig, scopes: ['repo', 'user:email', 'emails', 'mail', 'profiles'] }),
    },
    'letters that are swapped, and a word without its underscore': {
      value: withOidc({ scopes: ['openid', 'proifle', 'offlineaccess'] }),
      findings: [
        'upstreamProviders[0].oidcConfig.scopes[1]: "proifle" is not a scope of OpenID Connect, so providers refuse the login with invalid_scope, or ignore the scope; did you mean \'profile\'',
        'upstreamProviders[0].oidcConfig.scopes[2]: "offlineaccess" is not a scope of OpenID Connect, so providers refuse the login with invalid_scope, or ignore the scope; did you mean \'offline_access\'',
      ],
    },
    'an empty scope': {
      value: withOAuth2({ ...githubConfig, scopes: ['repo', ''] }),
      findings:
        'upstreamProviders[0].oauth2Config.scopes[1]: an empty scope puts a second space into the list, which may be refused with invalid_scope; remove it',
    },
  },
})
