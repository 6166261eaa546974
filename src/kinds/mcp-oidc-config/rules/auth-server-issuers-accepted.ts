import {
  advice,
  defineRule,
  dependingAsError,
  end,
  type FieldError,
  must,
  nameText,
  type ObjectName,
  type Path,
  relatedTo,
  segmentsOf,
} from '../../../rule/index.ts'
import {
  authServer,
  GATEWAY,
  gateway,
  getGateway,
  issuerText,
  refusalOf,
  refusedCause,
} from '../../../relations/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

const setting = (at: Path<string>, value: string): Pick<FieldError, 'fix'> => ({
  fix: { title: `write '${value}'`, edits: [{ op: 'set', at: segmentsOf(at), value }] },
})

export const authServerIssuersAccepted = defineRule({
  id: 'auth-server-issuers-accepted',
  on: MCPOIDCConfig,
  reads: ['VirtualMCPServer'],
  severity: 'warning',
  summary:
    'The issuer is that of the embedded authorization server of each VirtualMCPServer that refers to it.',
  why: 'Every token that such a server issues is refused, until the VirtualMCPServer is changed as well.',
  sources: [must('5.1', 'The issuer of that MCPOIDCConfig equals authServerConfig.issuer.'), 'decision 9'],
  *check(config, { path, cluster, self }) {
    const issuing = (gateway: ObjectName) => [
      end(gateway, GATEWAY.spec.authServerConfig.issuer, 'issues the tokens'),
    ]
    const causes = () => [refusedCause(self.name)]
    const referrers = cluster.referrers(self.kind, self.name, ['VirtualMCPServer'])
    const issuerOf = ({ name }: ObjectName) => getGateway(cluster, name)?.spec?.authServerConfig?.issuer
    let isIssuerOfAll: boolean | undefined
    for (const referrer of referrers) {
      const gateway = getGateway(cluster, referrer.name)
      const refusal = gateway && refusalOf(gateway, config)
      if (refusal?.reason === 'type') {
        const warning = advice(
          path.spec.type,
          `every token that ${nameText(referrer)} issues is refused; write 'inline', and its authServerConfig.issuer in spec.inline.issuer`,
        )
        yield relatedTo(dependingAsError(warning, referrer), issuing(referrer), causes)
      } else if (refusal !== undefined) {
        const { issued, accepted } = refusal
        const warning = advice(
          path.spec.inline.issuer,
          `every token that ${nameText(referrer)} issues is refused, as its issuer is ${issuerText(issued, accepted)}; write that issuer, or change authServerConfig.issuer too`,
        )
        // With a slash at its end no server can have the issuer.
        const fix =
          accepted === `${issued}/` &&
          (isIssuerOfAll ??= referrers.every((each) => (issuerOf(each) ?? issued) === issued))
            ? setting(path.spec.inline.issuer, issued)
            : {}
        yield relatedTo(dependingAsError({ ...warning, ...fix }, referrer), issuing(referrer), causes)
      }
    }
  },
  examples: {
    'the same issuer': {
      value: issuing('https://auth.example.com'),
      others: [
        gateway('tools', {
          authServerConfig: authServer('okta'),
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
    },
    'another issuer': {
      value: issuing('https://login.example.com'),
      others: [
        gateway('tools', {
          authServerConfig: authServer('okta'),
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
      findings:
        'spec.inline.issuer: every token that VirtualMCPServer "tools" issues is refused, as its issuer is "https://auth.example.com"; write that issuer, or change authServerConfig.issuer too',
    },
    'tokens of the cluster': {
      value: { spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} } },
      others: [
        gateway('tools', {
          authServerConfig: authServer('okta'),
          incomingAuth: { type: 'oidc', oidcConfigRef: { name: 'example' }, audience: 'tools' },
        }),
      ],
      findings: `spec.type: every token that VirtualMCPServer "tools" issues is refused; write 'inline', and its authServerConfig.issuer in spec.inline.issuer`,
    },
  },
})
