import { defineRule, must } from '../../../rule/index.ts'
import { settingsOfType, settingsOfTypePolicy } from '../../settings-of-type.ts'
import { issuing } from '../examples.ts'
import { MCPOIDCConfig, OIDC_TYPES } from '../schema.ts'

export const oidcConfigMatchesType = defineRule({
  id: 'oidc-config-matches-type',
  on: MCPOIDCConfig,
  severity: 'error',
  summary: 'The field named like `spec.type` holds the settings, and the other type has none.',
  why: 'Settings of the other type have no effect, and without its own a type cannot validate tokens.',
  sources: [
    must(
      '2.3',
      'type is inline or kubernetesServiceAccount, and the object of that name holds the settings.',
    ),
    'decision 5',
  ],
  check: ({ spec }, { path }) => settingsOfType(spec, OIDC_TYPES, OIDC_TYPES, path),
  policy: settingsOfTypePolicy(OIDC_TYPES, OIDC_TYPES),
  examples: {
    'an issuer': { value: issuing('https://idp.example.com') },
    'tokens of the cluster': {
      value: { spec: { type: 'kubernetesServiceAccount', kubernetesServiceAccount: {} } },
    },
    'no settings': {
      value: { spec: { type: 'kubernetesServiceAccount' } },
      findings:
        "spec.kubernetesServiceAccount: Required value: must be set when `type` is 'kubernetesServiceAccount'",
    },
    'settings of both types': {
      value: {
        spec: {
          type: 'inline',
          inline: { issuer: 'https://idp.example.com' },
          kubernetesServiceAccount: {},
        },
      },
      findings:
        "spec.kubernetesServiceAccount: Forbidden: may only be set when `type` is 'kubernetesServiceAccount', not 'inline'",
    },
  },
})
