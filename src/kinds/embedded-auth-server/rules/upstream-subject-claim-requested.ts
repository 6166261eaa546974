import { advice, defineRule, parseUrl } from '../../../rule/index.ts'
import { requestedScopes } from '../effective.ts'
import { withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const ENTRA = new Set([
  'login.microsoftonline.com',
  'login.microsoftonline.us',
  'login.partner.microsoftonline.cn',
  'sts.windows.net',
])
const issuerUrl = 'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0'

export const upstreamSubjectClaimRequested = defineRule({
  id: 'upstream-subject-claim-requested',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'Where `subjectClaim` is `oid`, the scopes for Microsoft Entra include `profile`.',
  why: 'Entra puts `oid` into the ID token with the scope `profile` only, and without the claim every login fails.',
  failure: {
    symptom: 'every login fails at /oauth/callback, because the ID token lacks the subject claim "oid"',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    releases: 'from 0.31 on',
  },
  sources: ['decision 3'],
  *check({ upstreamProviders = [] }, { path }) {
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const config = provider?.oidcConfig
      if (!provider || config?.subjectClaim !== 'oid') continue
      const scopes = requestedScopes(provider, 'oidcConfig')
      const isEntra = ENTRA.has(parseUrl(config.issuerUrl ?? '')?.host ?? '')
      if (!isEntra || scopes === undefined || scopes.includes('profile') || scopes.includes(undefined))
        continue
      yield advice(
        path.upstreamProviders.at(i).oidcConfig.scopes,
        "add 'profile': Entra gives the claim oid with this scope only, and without the claim every login fails",
      )
    }
  },
  examples: {
    'the scope': {
      value: withOidc({ issuerUrl, subjectClaim: 'oid', scopes: ['openid', 'profile', 'offline_access'] }),
    },
    'the scopes by default': {
      value: withOidc({ issuerUrl, subjectClaim: 'oid' }),
      findings:
        "upstreamProviders[0].oidcConfig.scopes: add 'profile': Entra gives the claim oid with this scope only, and without the claim every login fails",
    },
  },
})
