import { advice, defineRule, relatedTo, says } from '../../../rule/index.ts'
import {
  authServer,
  backend,
  choiceEnds,
  choicesText,
  gateway,
  leavesSubjectProvider,
  subjectProviders,
  undecidedCause,
} from '../../../relations/index.ts'
import { exchanging } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const subjectProviderAgreed = defineRule({
  id: 'subject-provider-agreed',
  on: MCPExternalAuthConfig,
  reads: ['VirtualMCPServer', 'MCPServer', 'MCPRemoteProxy', 'MCPServerEntry'],
  severity: 'warning',
  summary:
    'Without `subjectProviderName`, the VirtualMCPServers that reach the configuration have the same first provider.',
  why: 'No default can be written, and each VirtualMCPServer exchanges the token of another provider.',
  failure: {
    symptom: 'the identity provider refuses the token exchange in one gateway and takes it in another',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#5697'],
  },
  sources: [
    says(
      '2.4.5',
      'An empty subjectProviderName is filled in with the first provider of the VirtualMCPServer.',
    ),
    'decision 25',
  ],
  *check(config, { path, cluster, self }) {
    if (!leavesSubjectProvider(config, cluster.group)) return
    const choices = subjectProviders(self.name, cluster)
    if (choices.length < 2) return
    const detail = `set it: no default is written, as it would be ${choicesText(choices)}`
    const warning = advice(path.spec.tokenExchange.subjectProviderName, detail)
    yield relatedTo(warning, choiceEnds(choices), () => [undecidedCause(self.name)])
  },
  examples: {
    'they agree': {
      value: exchanging({}),
      others: [backend('jira', 'example'), gateway('a', { authServerConfig: authServer('okta') })],
    },
    'it is chosen': {
      value: exchanging({ subjectProviderName: 'okta' }),
      others: [
        backend('jira', 'example'),
        gateway('a', { authServerConfig: authServer('okta') }),
        gateway('b', { authServerConfig: authServer('github', 'okta') }),
      ],
    },
    'they differ': {
      value: exchanging({}),
      others: [
        backend('jira', 'example'),
        gateway('a', { authServerConfig: authServer('okta') }),
        gateway('b', { authServerConfig: authServer('github') }),
      ],
      findings:
        'spec.tokenExchange.subjectProviderName: set it: no default is written, as it would be "okta" in VirtualMCPServer "a"; "github" in "b"',
    },
    'many differ': {
      value: exchanging({}),
      others: [
        backend('jira', 'example'),
        ...['a', 'b', 'c', 'd'].map((name) => gateway(name, { authServerConfig: authServer('okta') })),
        gateway('e', { authServerConfig: authServer('github') }),
        gateway('f', { authServerConfig: authServer('corporate') }),
        gateway('g', { authServerConfig: authServer('google') }),
      ],
      findings:
        'spec.tokenExchange.subjectProviderName: set it: no default is written, as it would be "okta" in VirtualMCPServer "a", "b" and 2 more; "github" in "e"; "corporate" in "f"; 1 more elsewhere',
    },
  },
})
