import { defineRule, must } from '../../../rule/index.ts'
import { settingsOfType, settingsOfTypePolicy } from '../../settings-of-type.ts'
import { role } from '../examples.ts'
import { AUTH_TYPES, MCPExternalAuthConfig } from '../schema.ts'

/** The types of MCPExternalAuthConfig that have settings, in the field of `spec` with the name of the type. */
const SETTINGS = AUTH_TYPES.filter((type) => type !== 'unauthenticated')

export const externalAuthConfigMatchesType = defineRule({
  id: 'external-auth-config-matches-type',
  on: MCPExternalAuthConfig,
  severity: 'error',
  summary: 'The field named like `spec.type` holds the settings, and no other type has any.',
  why: 'Settings of another type have no effect, and without its own a type cannot work.',
  sources: [
    must(
      '2.4',
      'Each sub-object is there only when type is its name: awsSts, bearerToken, embeddedAuthServer, headerInjection, tokenExchange, upstreamInject.',
    ),
    must('2.4', 'The type unauthenticated has no associated sub-object.'),
    'decision 12',
  ],
  check: ({ spec }, { path }) => settingsOfType(spec, AUTH_TYPES, SETTINGS, path),
  policy: settingsOfTypePolicy(AUTH_TYPES, SETTINGS),
  examples: {
    'a bearer token': {
      value: {
        spec: { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'jira', key: 'token' } } },
      },
    },
    'no credentials, no settings': { value: { spec: { type: 'unauthenticated' } } },
    'no settings': {
      value: { spec: { type: 'tokenExchange' } },
      findings: "spec.tokenExchange: Required value: must be set when `type` is 'tokenExchange'",
    },
    'settings of another type': {
      value: {
        spec: {
          type: 'upstreamInject',
          upstreamInject: { providerName: 'okta' },
          bearerToken: { tokenSecretRef: { name: 'jira', key: 'token' } },
        },
      },
      findings:
        "spec.bearerToken: Forbidden: may only be set when `type` is 'bearerToken', not 'upstreamInject'",
    },
    'settings under a type that has none': {
      value: {
        spec: {
          type: 'unauthenticated',
          awsSts: { region: 'eu-central-1', fallbackRoleArn: role('reader') },
        },
      },
      findings: "spec.awsSts: Forbidden: may only be set when `type` is 'awsSts', not 'unauthenticated'",
    },
  },
})
