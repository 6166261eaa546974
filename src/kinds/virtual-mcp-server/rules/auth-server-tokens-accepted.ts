import {
  defineRule,
  dependingOn,
  type FieldError,
  invalid,
  must,
  nameText,
  relatedTo,
} from '../../../rule/index.ts'
import {
  acceptingEnd,
  authServer,
  gatewayOf,
  getOidcConfig,
  issuerText,
  oidcConfig,
  oidcConfigNamed,
  otherOf,
  refusalOf,
  refusedCause,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const authServerTokensAccepted = defineRule({
  id: 'auth-server-tokens-accepted',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  reads: ['MCPOIDCConfig'],
  severity: 'error',
  summary:
    'The MCPOIDCConfig that validates incoming tokens has the issuer of the embedded authorization server.',
  why: 'Every token that the embedded server issues is refused: nobody can log in.',
  failure: {
    symptom: 'the VirtualMCPServer stays Failed: `auth server issuer mismatch`',
    reportedBy: 'operator',
    consequence: 'does not start',
  },
  sources: [must('5.1', 'The issuer of that MCPOIDCConfig equals authServerConfig.issuer.'), 'decision 9'],
  *check(gateway, { path, cluster }) {
    const { authServerConfig, incomingAuth } = gateway.spec ?? {}
    const name = incomingAuth?.oidcConfigRef?.name
    const config = name === undefined ? undefined : getOidcConfig(cluster, name)
    const refusal = config && refusalOf(gateway, config)
    if (name === undefined || authServerConfig === undefined || refusal === undefined) return
    const named = oidcConfigNamed(name)
    const withEnds = (error: FieldError) =>
      relatedTo(dependingOn(error, named), [acceptingEnd(name, refusal)], () => [refusedCause(name)])
    if (refusal.reason === 'type') {
      const detail = `${nameText(named)} accepts only tokens of the cluster (type kubernetesServiceAccount), and none of authServerConfig; name one of type inline with the same issuer`
      yield withEnds(invalid(path.spec.incomingAuth.oidcConfigRef.name, name, detail))
    } else {
      const { issued, accepted } = refusal
      const detail = `must equal the issuer of ${nameText(named)}, ${issuerText(accepted, issued)}`
      yield withEnds(invalid(path.spec.authServerConfig.issuer, issued, detail))
    }
  },
  examples: {
    'the same issuer': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [oidcConfig('corporate')],
    },
    'no embedded authorization server: tokens come from elsewhere': {
      value: gatewayOf(),
      others: [oidcConfig('corporate', 'https://okta.example.com')],
    },
    'another issuer': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [oidcConfig('corporate', 'https://okta.example.com')],
      findings:
        'spec.authServerConfig.issuer: Invalid value: "https://auth.example.com": must equal the issuer of MCPOIDCConfig "corporate", "https://okta.example.com"',
    },
    'the same issuer with a slash': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [oidcConfig('corporate', 'https://auth.example.com/')],
      findings:
        'spec.authServerConfig.issuer: Invalid value: "https://auth.example.com": must equal the issuer of MCPOIDCConfig "corporate", "https://auth.example.com/", which differs by the slash at its end',
    },
    'tokens of the cluster': {
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        otherOf('MCPOIDCConfig', 'corporate', {
          type: 'kubernetesServiceAccount',
          kubernetesServiceAccount: {},
        }),
      ],
      findings:
        'spec.incomingAuth.oidcConfigRef.name: Invalid value: "corporate": MCPOIDCConfig "corporate" accepts only tokens of the cluster (type kubernetesServiceAccount), and none of authServerConfig; name one of type inline with the same issuer',
    },
  },
})
