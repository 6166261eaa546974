import { advice, defineRule, says } from '../../../rule/index.ts'
import { github, okta, server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamProviderNameNotReserved = defineRule({
  id: 'upstream-provider-name-not-reserved',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'None of several upstream providers is named `default`.',
  why: 'With two or more providers the server keeps this name for itself and does not start.',
  sources: [says('2.4.3', 'A provider name is used for routing and session binding.')],
  *check({ upstreamProviders = [] }, { path }) {
    if (upstreamProviders.length < 2) return
    for (let i = 0; i < upstreamProviders.length; i++) {
      if (upstreamProviders[i]?.name === 'default') {
        yield advice(
          path.upstreamProviders.at(i).name,
          "'default' is reserved when there are several providers, so the server does not start; write another name",
        )
      }
    }
  },
  examples: {
    'the only provider': { value: { ...server, upstreamProviders: [{ ...okta, name: 'default' }] } },
    'several with names of their own': { value: { ...server, upstreamProviders: [okta, github] } },
    'one of several': {
      value: { ...server, upstreamProviders: [okta, { ...github, name: 'default' }] },
      findings:
        "upstreamProviders[1].name: 'default' is reserved when there are several providers, so the server does not start; write another name",
    },
  },
})
