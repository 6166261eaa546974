import { advice, defineRule } from '../../../rule/index.ts'
import { withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const UNUSED = 'has no effect: the ID token identifies the user; see `subjectClaim` for another claim'

export const upstreamUserInfoUsed = defineRule({
  id: 'upstream-user-info-used',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'An OpenID Connect provider has no `userInfoOverride`.',
  why: 'No release reads it: the ID token says who the user is. The log of the server mentions it once.',
  failure: {
    symptom:
      'no effect; the log says that userinfo_override is configured for an OIDC provider but will not be used',
    reportedBy: 'nobody',
    consequence: 'degrades',
  },
  sources: ['decision 21'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      if (provider?.oidcConfig?.userInfoOverride !== undefined)
        yield advice(path.upstreamProviders.at(i).oidcConfig.userInfoOverride, UNUSED)
    }
  },
  examples: {
    'another claim': { value: withOidc({ subjectClaim: 'uid' }) },
    'an endpoint': {
      value: withOidc({ userInfoOverride: { endpointUrl: 'https://idp.example.com/user' } }),
      findings: `upstreamProviders[0].oidcConfig.userInfoOverride: ${UNUSED}`,
    },
  },
})
