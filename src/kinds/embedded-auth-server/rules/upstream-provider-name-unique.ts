import { defineRule, duplicate, must } from '../../../rule/index.ts'
import { github, okta, server } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

export const upstreamProviderNameUnique = defineRule({
  id: 'upstream-provider-name-unique',
  on: EmbeddedAuthServer,
  severity: 'error',
  summary: 'Every upstream provider has a name of its own.',
  why: 'Routes, sessions and stored tokens are kept by provider name; the tokens of two providers would mix.',
  sources: [must('2.4.3', 'A provider name is unique.')],
  *check({ upstreamProviders = [] }, { path }) {
    const seen = new Set<string>()
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const name = provider?.name
      // An empty name is not reported as a duplicate: the schema refuses it.
      if (name === undefined || name === '') continue
      if (seen.has(name)) yield duplicate(path.upstreamProviders.at(i).name, name)
      seen.add(name)
    }
  },
  policy: {
    expression: `
      self.?upstreamProviders.orValue([]).all(provider,
        provider.?name.orValue('') == '' ||
        self.upstreamProviders.exists_one(other, other.?name.orValue('') == provider.name))`,
  },
  examples: {
    'two names': { value: { ...server, upstreamProviders: [okta, github] } },
    'three names': { value: { ...server, upstreamProviders: [okta, github, { ...okta, name: 'partners' }] } },
    'one name for three providers': {
      value: { ...server, upstreamProviders: [okta, { ...github, name: 'okta' }, okta] },
      findings: [
        'upstreamProviders[1].name: Duplicate value: "okta"',
        'upstreamProviders[2].name: Duplicate value: "okta"',
      ],
    },
  },
})
