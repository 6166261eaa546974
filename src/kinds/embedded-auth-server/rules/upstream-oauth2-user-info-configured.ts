import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const anonymous = without(githubConfig, 'userInfo')

export const upstreamOauth2UserInfoConfigured = defineRule({
  id: 'upstream-oauth2-user-info-configured',
  on: EmbeddedAuthServer,
  constraint: 'required',
  // Source: toolhive, pkg/authserver/upstream/oauth2.go, synthesizeIdentity. Only the first provider of a login decides
  // who the user is: pkg/authserver/server/handlers/callback.go.
  instead: (at) =>
    at.at(-3) === 0 ? 'takes a user for another one at each login, without name and email' : undefined,
  severity: 'error',
  summary: 'An OAuth 2.0 provider has `userInfo`, or an alternative of newer releases.',
  why: 'OAuth 2.0 alone does not say who logged in: the server asks the userinfo endpoint.',
  sources: [
    must('2.4.3', 'userInfo is required to resolve the identity of OAuth 2.0 users.'),
    must('7', 'oauth2Config without userInfo.'),
    'decision 3',
  ],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oauth2Config
      if (!config || !isAbsent(config, 'userInfo')) continue
      if (mayStandIn(config, 'identityFromToken') || mayStandIn(config, 'dcrConfig')) continue
      yield required(
        path.upstreamProviders.at(i).oauth2Config.userInfo,
        'must be set to learn who the user is',
      )
    }
  },
  policy: { needsWebhook: 'releases accept it, and the webhook warns' },
  examples: {
    'a userinfo endpoint': { value: withOAuth2(githubConfig) },
    'the identity is in the token response (newer releases)': {
      value: withOAuth2({ ...anonymous, identityFromToken: { subjectPath: 'user.id' } }),
    },
    'nothing that says who the user is': {
      value: withOAuth2(anonymous),
      findings:
        'upstreamProviders[0].oauth2Config.userInfo: Required value: must be set to learn who the user is',
    },
  },
})
