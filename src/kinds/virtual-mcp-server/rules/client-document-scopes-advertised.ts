import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { DEFAULT_SCOPES } from '../../embedded-auth-server/advertised-scopes.ts'
import { embedded, oidc, server } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

const advertising = (enabled: boolean, ...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: { ...embedded, cimd: { enabled } },
  })

export const clientDocumentScopesAdvertised = defineRule({
  id: 'client-document-scopes-advertised',
  on: VirtualMCPServer,
  reads: [],
  appliesTo: { to: '0.46' },
  severity: 'warning',
  summary: 'Where `cimd` is enabled, openid, profile, email and offline_access are advertised.',
  why: 'Up to release 0.46 a client whose metadata document names no scope gets these four, and is refused when one of them is not advertised. Later releases give it those that are.',
  failure: {
    symptom:
      'the authorization endpoint says that the client does not exist, for a client identifier that is a URL',
    toldBy: 'nobody',
    releases: '0.29 to 0.46',
    threads: ['stacklok/toolhive#6186'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const { server, scopes } = issuingOf(spec) ?? {}
    if (scopes === undefined || server?.cimd?.enabled !== true) return
    const missing = DEFAULT_SCOPES.filter((scope) => !scopes.includes(scope))
    if (missing.length > 0)
      yield advice(
        path.spec.incomingAuth.oidcConfigRef.scopes,
        `add ${missing.join(', ')}: up to release 0.46 clients are refused whose document names no scope`,
      )
  },
  examples: {
    valid: [
      {
        title: 'all four and more',
        value: advertising(true, 'openid', 'profile', 'email', 'offline_access', 'tools'),
      },
      { title: 'no documents', value: advertising(false, 'openid', 'offline_access') },
    ],
    invalid: [
      {
        title: 'two of the four',
        value: advertising(true, 'openid', 'offline_access'),
        findings: [
          'spec.incomingAuth.oidcConfigRef.scopes: add profile, email: up to release 0.46 clients are refused whose document names no scope',
        ],
      },
    ],
  },
})
