import { advice, defineRule, isAbsent, required, tooLong } from '../../../rule/index.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig } from '../schema.ts'

/**
 * The operator names a volume `oidc-ca-bundle-` plus the name of the ConfigMap, and a volume name is a DNS label: at most
 * 63 characters, none of them a dot.
 */
const LONGEST_NAME = 48
const DOTTED =
  "may not have a dot, or the workloads that use this configuration do not start: the operator names a volume after the ConfigMap; copy it to one such as 'corporate-ca'"

export const oidcConfigCaBundleConfigured = defineRule({
  id: 'oidc-config-ca-bundle-configured',
  on: MCPOIDCConfig,
  severity: 'warning',
  summary: '`caBundleRef` names a ConfigMap, in at most 48 characters and without a dot.',
  why: 'The operator refuses the reference in every workload that uses the configuration. The name of the ConfigMap is part of the name of a volume.',
  failure: {
    symptom:
      'the workload fails at reconcile with "configMapRef must be specified in caBundleRef" or "is too long … to fit in Kubernetes volume name", or the API server refuses its Deployment: "a lowercase RFC 1123 label must consist of"',
    reportedBy: 'operator',
    consequence: 'does not start',
    threads: ['stacklok/toolhive#5632'],
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const caBundleRef = spec?.inline?.caBundleRef
    if (caBundleRef === undefined) return
    const { configMapRef } = path.spec.inline.caBundleRef
    const reference = caBundleRef.configMapRef
    if (isAbsent(caBundleRef, 'configMapRef'))
      yield required(
        configMapRef,
        'must name a ConfigMap, or the workloads that use this configuration do not start',
      )
    else if (reference && (isAbsent(reference, 'name') || reference.name === ''))
      yield required(
        configMapRef.name,
        'must name a ConfigMap, or the workloads that use this configuration do not start',
      )
    else if ((reference?.name?.length ?? 0) > LONGEST_NAME)
      yield tooLong(
        configMapRef.name,
        `may not be more than ${LONGEST_NAME} characters, or the workloads that use this configuration do not start: the operator names a volume after the ConfigMap`,
      )
    else if (reference?.name?.includes('.')) yield advice(configMapRef.name, DOTTED)
  },
  examples: {
    'a ConfigMap': {
      value: issuing('https://idp.example.com', {
        caBundleRef: { configMapRef: { name: 'corporate-ca', key: 'ca.crt' } },
      }),
    },
    'no ConfigMap': {
      value: issuing('https://idp.example.com', { caBundleRef: {} }),
      findings:
        'spec.inline.caBundleRef.configMapRef: Required value: must name a ConfigMap, or the workloads that use this configuration do not start',
    },
    'the ConfigMap that each namespace has': {
      value: issuing('https://kubernetes.default.svc', {
        caBundleRef: { configMapRef: { name: 'kube-root-ca.crt', key: 'ca.crt' } },
      }),
      findings: `spec.inline.caBundleRef.configMapRef.name: ${DOTTED}`,
    },
    'a long name': {
      value: issuing('https://idp.example.com', {
        caBundleRef: {
          configMapRef: { name: 'certificates-of-the-authorities-of-the-corporation', key: 'ca.crt' },
        },
      }),
      findings:
        'spec.inline.caBundleRef.configMapRef.name: Too long: may not be more than 48 characters, or the workloads that use this configuration do not start: the operator names a volume after the ConfigMap',
    },
  },
})
