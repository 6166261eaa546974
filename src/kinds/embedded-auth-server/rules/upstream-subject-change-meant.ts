import { advice, defineRule, isAbsent, remembered, shortQuote } from '../../../rule/index.ts'
import { withOidc } from '../examples.ts'
import { byName, type Provider } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamSubjectChangeMeant = defineRule({
  id: 'upstream-subject-change-meant',
  on: EmbeddedAuthServer,
  when: 'change',
  severity: 'warning',
  summary: 'A change of `subjectClaim` is meant: every user becomes another one.',
  why: 'Users are known by the value of this claim. After a change each gets a new identity, and their stored tokens belong to the old one.',
  failure: {
    symptom: 'after a change of `subjectClaim` all users are new ones: their stored tokens are gone',
    reportedBy: 'nobody',
    consequence: 'wrong identity',
    releases: 'from 0.31 on',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ upstreamProviders = [] }, { path, old, memo }) {
    const before = remembered(memo, byName, old()?.upstreamProviders)
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const earlier = before.get(provider?.name)
      if (!earlier?.oidcConfig || !provider?.oidcConfig) continue
      const [was, is] = [subjectOf(earlier.oidcConfig), subjectOf(provider.oidcConfig)]
      if (was !== is && was !== undefined && is !== undefined)
        yield advice(
          path.upstreamProviders.at(i).oidcConfig.subjectClaim,
          `changes from ${shortQuote(was)}, so every user becomes another one and loses stored tokens`,
        )
    }
  },
  examples: {
    'the default, written': { value: withOidc({ subjectClaim: 'sub' }), old: withOidc({}) },
    'another claim': {
      value: withOidc({ subjectClaim: 'oid' }),
      old: withOidc({}),
      findings:
        'upstreamProviders[0].oidcConfig.subjectClaim: changes from "sub", so every user becomes another one and loses stored tokens',
    },
  },
})

/** The claim that identifies a provider's users, `sub` by default; undefined when `subjectClaim` is not a string. */
function subjectOf(config: NonNullable<Provider['oidcConfig']>): string | undefined {
  if (isAbsent(config, 'subjectClaim') || config.subjectClaim === '') return 'sub'
  return config.subjectClaim
}
