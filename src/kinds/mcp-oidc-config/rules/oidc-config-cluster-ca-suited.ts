import { advice, defineRule, isAbsent, says } from '../../../rule/index.ts'
import { isPublicIssuer } from '../../known-issuers.ts'
import { keysHostOf, usesClusterAuth } from '../cluster-keys.ts'
import { MCPOIDCConfig } from '../schema.ts'

const EKS = 'https://oidc.eks.eu-central-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF'
const UNTRUSTED =
  'the CA of the cluster, the only one that is trusted by default, did not sign this public host: no keys are fetched, every token is refused; set `useClusterAuth: false` beside it'

const ofCluster = (settings: object) => ({
  spec: { type: 'kubernetesServiceAccount' as const, kubernetesServiceAccount: settings },
})

export const oidcConfigClusterCaSuited = defineRule({
  id: 'oidc-config-cluster-ca-suited',
  on: MCPOIDCConfig,
  needs: ['kubernetesServiceAccount'],
  appliesTo: { from: '0.41', orUnknown: true },
  severity: 'warning',
  summary: 'Where a public host has the keys of service account tokens, `useClusterAuth` is false.',
  why: '`useClusterAuth` is true by default: releases then trust the CA of the cluster alone, and the connection to a host with a public certificate fails, with the first token.',
  failure: {
    symptom: 'every request gets 401; the log says `x509: certificate signed by unknown authority`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.3', 'kubernetesServiceAccount selects the API server as issuer.'), 'decision 3'],
  *check({ spec }, { path }) {
    const account = spec?.kubernetesServiceAccount
    if (spec?.type !== 'kubernetesServiceAccount' || account === undefined) return
    if (usesClusterAuth(account) !== true || !isAbsent(account, 'introspectionUrl')) return
    const keys = keysHostOf(account)
    if (keys !== undefined && isPublicIssuer(keys.host))
      yield advice(path.spec.kubernetesServiceAccount[keys.field], UNTRUSTED)
  },
  examples: {
    'the API server': { value: ofCluster({}) },
    'a public issuer, with the CAs of the system': {
      value: ofCluster({ issuer: EKS, useClusterAuth: false }),
    },
    'a public issuer, with the keys of the API server': {
      value: ofCluster({ issuer: EKS, jwksUrl: 'https://kubernetes.default.svc/openid/v1/jwks' }),
    },
    'a host that may have a certificate of the cluster': {
      value: ofCluster({ issuer: 'https://api.cluster.example.com:6443' }),
    },
    'the issuer of EKS': {
      value: ofCluster({ issuer: EKS }),
      findings: `spec.kubernetesServiceAccount.issuer: ${UNTRUSTED}`,
    },
    'the keys of a bucket': {
      value: ofCluster({
        jwksUrl: 'https://keys.s3.eu-central-1.amazonaws.com/jwks.json',
        useClusterAuth: true,
      }),
      findings: `spec.kubernetesServiceAccount.jwksUrl: ${UNTRUSTED}`,
    },
  },
})
