import { advice, defineRule, isAbsent, shortQuote } from '../../../rule/index.ts'
import { github, server, withOidc } from '../examples.ts'
import type { Provider, Server } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamSubjectChangeMeant = defineRule({
  id: 'upstream-subject-change-meant',
  on: EmbeddedAuthServer,
  when: 'change',
  severity: 'warning',
  summary: 'A change of `subjectClaim` of the first provider is meant: every user becomes another one.',
  why: 'Users are known by the value of this claim. After a change each gets a new identity, and their stored tokens belong to the old one.',
  failure: {
    symptom: 'after a change of `subjectClaim` all users are new ones: their stored tokens are gone',
    reportedBy: 'nobody',
    consequence: 'wrong identity',
    releases: 'from 0.31 on',
  },
  sources: ['decision 3', 'decision 21'],
  *check({ upstreamProviders = [] }, { path, old }) {
    // The first provider of a login decides who the user is.
    const [provider] = upstreamProviders
    if (!provider?.oidcConfig) return
    const earlier = old()?.upstreamProviders?.find((each) => each?.name === provider.name)
    if (!earlier?.oidcConfig) return
    const [was, is] = [subjectOf(earlier.oidcConfig), subjectOf(provider.oidcConfig)]
    if (was !== is && was !== undefined && is !== undefined)
      yield advice(
        path.upstreamProviders.at(0).oidcConfig.subjectClaim,
        `changes from ${shortQuote(was)}, so every user becomes another one and loses stored tokens`,
      )
  },
  examples: {
    'the default, written': { value: withOidc({ subjectClaim: 'sub' }), old: withOidc({}) },
    'a provider after the first, which does not decide who the user is': {
      value: withSecond({ subjectClaim: 'oid' }),
      old: withSecond({}),
    },
    'another claim': {
      value: withOidc({ subjectClaim: 'oid' }),
      old: withOidc({}),
      findings:
        'upstreamProviders[0].oidcConfig.subjectClaim: changes from "sub", so every user becomes another one and loses stored tokens',
    },
  },
})

/** The example server with GitHub and then an OpenID Connect provider that has these settings. */
function withSecond(settings: NonNullable<Provider['oidcConfig']>): Server {
  return {
    ...server,
    upstreamProviders: [github, ...(withOidc(settings).upstreamProviders ?? [])],
  }
}

/** The claim that identifies a provider's users, `sub` by default; undefined when `subjectClaim` is not a string. */
function subjectOf(config: NonNullable<Provider['oidcConfig']>): string | undefined {
  if (isAbsent(config, 'subjectClaim') || config.subjectClaim === '') return 'sub'
  return config.subjectClaim
}
