import { advice, defineRule, isAbsent, must } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const anonymous = without(githubConfig, 'userInfo')

export const upstreamOauth2SubjectResolved = defineRule({
  id: 'upstream-oauth2-subject-resolved',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: '`identityFromToken` says where the token answer has the subject.',
  why: 'Releases read the identity from the answer of the token endpoint, and every login fails where they find no subject in it.',
  sources: [must('2.4.3', 'userInfo is required to resolve the identity of OAuth 2.0 users.'), 'decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const identity = upstreamProviders[i]?.oauth2Config?.identityFromToken
      if (!identity || (!isAbsent(identity, 'subjectPath') && identity.subjectPath !== '')) continue
      yield advice(
        path.upstreamProviders.at(i).oauth2Config.identityFromToken.subjectPath,
        'must be set: no subject is read from the token answer without it',
      )
    }
  },
  examples: {
    'a userinfo endpoint': { value: withOAuth2(githubConfig) },
    'the identity is in the token response': {
      value: withOAuth2({ ...anonymous, identityFromToken: { subjectPath: 'username' } }),
    },
    'no path of the subject': {
      value: withOAuth2({ ...anonymous, identityFromToken: { namePath: 'user.name' } }),
      findings:
        'upstreamProviders[0].oauth2Config.identityFromToken.subjectPath: must be set: no subject is read from the token answer without it',
    },
  },
})
