import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { embedded, oidc, server } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

const MISSING =
  "add 'offline_access': clients get no refresh token without it, and users log in again when the access token ends"
const advertising = (...scopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes } },
    authServerConfig: embedded,
  })

export const offlineAccessAdvertised = defineRule({
  id: 'offline-access-advertised',
  on: VirtualMCPServer,
  reads: [],
  severity: 'warning',
  summary: 'Where scopes are given beside an embedded authorization server, `offline_access` is one of them.',
  why: 'Clients ask for the scopes that are advertised, and get a refresh token with this one only. The access token ends after an hour by default.',
  failure: {
    symptom: 'users of MCP clients have to log in again every hour',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#3776', 'stacklok/toolhive#5507'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const { server, scopes } = issuingOf(spec) ?? {}
    if (scopes === undefined || !server?.upstreamProviders || server.upstreamProviders.length === 0) return
    if (!scopes.includes('offline_access') && !scopes.includes('offline'))
      yield advice(path.spec.incomingAuth.oidcConfigRef.scopes, MISSING)
  },
  examples: {
    valid: [
      { title: 'the scope', value: advertising('openid', 'offline_access') },
      { title: 'the scopes by default', value: server({ authServerConfig: embedded }) },
      {
        title: 'scopes of another issuer',
        value: server({
          incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, scopes: ['openid'] } },
        }),
      },
    ],
    invalid: [
      {
        title: 'scopes without it',
        value: advertising('openid', 'profile'),
        findings: [`spec.incomingAuth.oidcConfigRef.scopes: ${MISSING}`],
      },
    ],
  },
})
