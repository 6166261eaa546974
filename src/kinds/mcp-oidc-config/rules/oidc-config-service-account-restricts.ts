import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { MCPOIDCConfig } from '../schema.ts'

const UNREAD =
  'releases do not read it: every ServiceAccount of the cluster is accepted; permit only Client::"system:serviceaccount:<namespace>:<name>" in a Cedar policy, and remove it'

const ofCluster = (settings: object) =>
  ({ spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: settings } }) as const

export const oidcConfigServiceAccountRestricts = defineRule({
  id: 'oidc-config-service-account-restricts',
  on: MCPOIDCConfig,
  needs: ['kubernetesServiceAccount'],
  severity: 'warning',
  summary: 'No ServiceAccount is named as the only caller, because releases do not compare it.',
  why: 'Releases validate issuer, audience, expiry and signature, and read neither `serviceAccount` nor `namespace`: a pod of any ServiceAccount can have a token with that audience.',
  failure: {
    symptom:
      'pods with another ServiceAccount than that of `kubernetesServiceAccount.serviceAccount` get answers',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
  },
  sources: [
    says('5.1', 'Service account tokens of the cluster are validated by issuer and audience.'),
    'decision 3',
  ],
  *check({ spec }, { path }) {
    const settings = spec?.kubernetesServiceAccount ?? {}
    const { serviceAccount, namespace } = settings
    const at = path.spec.kubernetesServiceAccount
    if (serviceAccount) yield advice(at.serviceAccount, UNREAD)
    else if (namespace && (serviceAccount === '' || isAbsent(settings, 'serviceAccount')))
      yield advice(at.namespace, UNREAD)
  },
  examples: {
    'tokens of the cluster': { value: ofCluster({}) },
    'an issuer': { value: ofCluster({ issuer: 'https://oidc.eks.eu-west-1.amazonaws.com/id/ABC' }) },
    'the caller': {
      value: ofCluster({ serviceAccount: 'mcp-client', namespace: 'client-apps' }),
      findings: `spec.kubernetesServiceAccount.serviceAccount: ${UNREAD}`,
    },
    'a namespace alone': {
      value: ofCluster({ serviceAccount: '', namespace: 'client-apps' }),
      findings: `spec.kubernetesServiceAccount.namespace: ${UNREAD}`,
    },
  },
})
