import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { mayStandIn } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const anonymous = without(githubConfig, 'userInfo')
const unregistered = without(anonymous, 'clientId', 'clientSecretRef')

export const upstreamOauth2SubjectResolved = defineRule({
  id: 'upstream-oauth2-subject-resolved',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'An OAuth 2.0 provider resolves the subject through `userInfo`.',
  why: 'Without it the subject is synthesised or taken from the token response: policies may see another user than you expect.',
  sources: [must('2.4.3', 'userInfo is required to resolve the identity of OAuth 2.0 users.'), 'decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oauth2Config
      if (!config || !isAbsent(config, 'userInfo')) continue
      const place = path.upstreamProviders.at(i).oauth2Config.userInfo
      if (mayStandIn(config, 'identityFromToken')) {
        yield advice(
          place,
          'is absent, so the subject comes from `identityFromToken`, and policies may see another user than you expect; check its `subjectPath`',
        )
        const { identityFromToken } = config
        if (
          identityFromToken &&
          (isAbsent(identityFromToken, 'subjectPath') || identityFromToken.subjectPath === '')
        )
          yield advice(
            path.upstreamProviders.at(i).oauth2Config.identityFromToken.subjectPath,
            'must be set: no subject is read from the token answer without it',
          )
      } else if (mayStandIn(config, 'dcrConfig')) {
        yield advice(
          place,
          'is absent, so the subject of each user is synthesised, and policies may see another user than you expect; add it',
        )
      }
    }
  },
  examples: {
    'a userinfo endpoint': { value: withOAuth2(githubConfig) },
    'dynamic registration alone': {
      value: withOAuth2({
        ...unregistered,
        dcrConfig: { registrationEndpoint: 'https://idp.example.com/register' },
      }),
      findings:
        'upstreamProviders[0].oauth2Config.userInfo: is absent, so the subject of each user is synthesised, and policies may see another user than you expect; add it',
    },
    'the identity is in the token response': {
      value: withOAuth2({ ...anonymous, identityFromToken: { subjectPath: 'user.id' } }),
      findings:
        'upstreamProviders[0].oauth2Config.userInfo: is absent, so the subject comes from `identityFromToken`, and policies may see another user than you expect; check its `subjectPath`',
    },
    'no path of the subject': {
      value: withOAuth2({ ...anonymous, identityFromToken: { namePath: 'user.name' } }),
      findings: [
        'upstreamProviders[0].oauth2Config.userInfo: is absent, so the subject comes from `identityFromToken`, and policies may see another user than you expect; check its `subjectPath`',
        'upstreamProviders[0].oauth2Config.identityFromToken.subjectPath: must be set: no subject is read from the token answer without it',
      ],
    },
  },
})
