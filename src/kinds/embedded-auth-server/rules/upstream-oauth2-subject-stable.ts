import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const dynamic = {
  ...without(githubConfig, 'clientId', 'clientSecretRef', 'userInfo'),
  dcrConfig: { registrationEndpoint: 'https://idp.example.com/register' },
}

export const upstreamOauth2SubjectStable = defineRule({
  id: 'upstream-oauth2-subject-stable',
  on: EmbeddedAuthServer,
  severity: 'advice',
  summary: 'A first provider with dynamic registration says who the user is.',
  why: 'The first provider of a login decides who the user is. Without `userInfo` and `identityFromToken` the subject is made of the access token: policies and audit logs see a new user at each login, without name and email.',
  sources: [
    must('2.4.3', 'userInfo is required to resolve the identity of OAuth 2.0 users.'),
    'decision 3',
    'decision 21',
  ],
  *check({ upstreamProviders = [] }, { path }) {
    const config = upstreamProviders[0]?.oauth2Config
    if (!config || !isAbsent(config, 'userInfo') || mayStandIn(config, 'identityFromToken')) return
    if (mayStandIn(config, 'dcrConfig'))
      yield advice(
        path.upstreamProviders.at(0).oauth2Config.userInfo,
        'is absent, so each login is another user, without name and email; add it if the provider has a userinfo endpoint',
      )
  },
  examples: {
    'a userinfo endpoint': { value: withOAuth2({ ...dynamic, userInfo: githubConfig.userInfo }) },
    'the identity is in the token response': {
      value: withOAuth2({ ...dynamic, identityFromToken: { subjectPath: 'username' } }),
    },
    'a provider after the first': {
      value: {
        ...withOAuth2(githubConfig),
        upstreamProviders: [
          ...(withOAuth2(githubConfig).upstreamProviders ?? []),
          { name: 'gitlab', type: 'oauth2', oauth2Config: dynamic },
        ],
      },
    },
    'dynamic registration alone': {
      value: withOAuth2(dynamic),
      findings:
        'upstreamProviders[0].oauth2Config.userInfo: is absent, so each login is another user, without name and email; add it if the provider has a userinfo endpoint',
    },
  },
})
