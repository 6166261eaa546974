import { namesText } from '../../../rule/cluster.ts'
import { aboutEach, advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { backend, gatewayOf, headerConfig, inline } from '../../between/examples.ts'
import { hasNoStrategy } from '../../between/related-resources.ts'
import { REACHED_KINDS, sourceOf, withoutStrategy } from '../../between/reach.ts'
import { VirtualMCPServer } from '../schema.ts'

export const backendCredentialsConfigured = defineRule({
  id: 'backend-credentials-configured',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary: 'Every backend of the group has a strategy; type `unauthenticated` says that none is needed.',
  why: 'The backend is contacted without credentials, and nobody may have meant that.',
  sources: [
    {
      section: '5.2',
      says: 'discovered: the externalAuthConfigRef of each backend chooses; without one no credentials.',
    },
    { section: '5.2', says: 'inline: backends that are not in the map receive unauthenticated requests.' },
    { section: '7', says: 'A backend not listed under inline outgoing authentication gets no credentials.' },
    'decision 21',
  ],
  *check(gateway, { path, cluster }) {
    const without = withoutStrategy(gateway, cluster)
    if (without.length === 0) return
    const things = () =>
      Array.from(without, ({ kind, name }) => ['backend-credentials-configured', kind, name] as const)
    if (sourceOf(gateway) === 'discovered') {
      yield aboutEach(
        advice(
          path.spec.outgoingAuth,
          `without \`externalAuthConfigRef\` there are no credentials for ${namesText(without)}`,
        ),
        things,
      )
    } else if (!hasNoStrategy(gateway)) {
      yield aboutEach(
        advice(
          path.spec.outgoingAuth.backends,
          `not listed, and no \`default\` names a configuration; there are no credentials for ${namesText(without)}`,
        ),
        things,
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'discovered: a reference in each backend',
        value: gatewayOf(),
        others: [backend('jira', 'key'), headerConfig('key')],
      },
      {
        title: 'inline: an entry, and a default for the others',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }, 'key') }),
        others: [backend('jira'), backend('wiki'), headerConfig('key')],
      },
      {
        title: 'inline: nothing at all, which another rule tells without looking at the group',
        value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {} } }),
        others: [backend('jira')],
      },
    ],
    invalid: [
      {
        title: 'discovered: a backend without a reference',
        value: gatewayOf(),
        others: [backend('jira', 'key'), backend('wiki'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth: without `externalAuthConfigRef` there are no credentials for MCPServer "wiki"',
        ],
      },
      {
        title: 'inline: a backend that is not listed; its own reference is not read',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key' }) }),
        others: [backend('jira'), backend('wiki', 'key'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "wiki"',
        ],
      },
      {
        title: 'inline: a default that names nothing',
        value: gatewayOf({ outgoingAuth: { source: 'inline', backends: {}, default: {} } }),
        others: [backend('jira')],
        findings: [
          'spec.outgoingAuth.backends: not listed, and no `default` names a configuration; there are no credentials for MCPServer "jira"',
        ],
      },
    ],
  },
})
