import { advice } from '../../../rule/field-error.ts'
import { shortQuote } from '../../../rule/go-text.ts'
import { nearest } from '../../../rule/nearest.ts'
import { defineRule } from '../../../rule/rule.ts'
import { backend, gatewayOf, headerConfig, inline } from '../../between/examples.ts'
import { BACKEND_KINDS, groupOf, membersOf } from '../../between/neighbours.ts'
import { VirtualMCPServer } from '../schema.ts'

/** A near name is looked for among all members: not for every key of a long map. */
const MOST_HINTS = 5

export const outgoingAuthBackendIsMember = defineRule({
  id: 'outgoing-auth-backend-is-member',
  on: VirtualMCPServer,
  reads: ['MCPGroup', ...BACKEND_KINDS],
  severity: 'warning',
  summary: 'A key of `backends` is the name of a backend of the group.',
  why: 'The entry has no effect, and the backend that was meant is contacted without credentials.',
  sources: ['2.2', '5.2', 'decision 10'],
  *check(gateway, { path, cluster }) {
    const group = groupOf(gateway)
    const { source, backends } = gateway.spec?.outgoingAuth ?? {}
    if (group === undefined || source !== 'inline' || !BACKEND_KINDS.every((kind) => cluster.knows(kind)))
      return
    const members = new Set(membersOf(cluster, group).map(({ name }) => name))
    let hints = MOST_HINTS
    for (const key of Object.keys(backends ?? {})) {
      if (members.has(key)) continue
      const near = hints-- > 0 ? nearest(key, members) : undefined
      const hint = near === undefined ? '' : `; did you mean ${shortQuote(near)}`
      yield advice(
        path.spec.outgoingAuth.backends.at(key),
        `names no backend of group ${shortQuote(group)}${hint}`,
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'a member of each kind',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'key', wiki: 'key' }) }),
        others: [backend('jira'), backend('wiki', undefined, 'MCPServerEntry'), headerConfig('key')],
      },
    ],
    invalid: [
      {
        title: 'a misspelt key',
        value: gatewayOf({ outgoingAuth: inline({ jirra: 'key' }, 'key') }),
        others: [backend('jira'), headerConfig('key')],
        findings: [
          'spec.outgoingAuth.backends[jirra]: names no backend of group "tools"; did you mean "jira"',
        ],
      },
    ],
  },
})
