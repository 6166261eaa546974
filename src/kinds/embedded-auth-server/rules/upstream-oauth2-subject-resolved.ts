import { advice, defineRule, isAbsent } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const anonymous = without(githubConfig, 'userInfo')

export const upstreamOauth2SubjectResolved = defineRule({
  id: 'upstream-oauth2-subject-resolved',
  on: EmbeddedAuthServer,
  reads: [],
  severity: 'warning',
  summary: '`identityFromToken` says where the token answer has the subject.',
  why: 'Releases read the identity from the answer of the token endpoint, and every login fails where they find no subject in it.',
  sources: [
    { section: '2.4.3', must: 'userInfo is required to resolve the identity of OAuth 2.0 users.' },
    'decision 3',
  ],
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
    valid: [
      { title: 'a userinfo endpoint', value: withOAuth2(githubConfig) },
      {
        title: 'the identity is in the token response',
        value: withOAuth2({ ...anonymous, identityFromToken: { subjectPath: 'username' } }),
      },
    ],
    invalid: [
      {
        title: 'no path of the subject',
        value: withOAuth2({ ...anonymous, identityFromToken: { namePath: 'user.name' } }),
        findings: [
          'upstreamProviders[0].oauth2Config.identityFromToken.subjectPath: must be set: no subject is read from the token answer without it',
        ],
      },
    ],
  },
})
