import { defineRule, invalid } from '../../../rule/index.ts'
import { embedded, oidc, server } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

const advertising = (scopes: readonly string[] | undefined, baselineClientScopes: readonly string[]) =>
  server({
    incomingAuth: { ...oidc, oidcConfigRef: { ...oidc.oidcConfigRef, ...(scopes && { scopes }) } },
    authServerConfig: { ...embedded, baselineClientScopes },
  })

export const baselineClientScopesAdvertised = defineRule({
  id: 'baseline-client-scopes-advertised',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  severity: 'warning',
  summary:
    'Each of `baselineClientScopes` is advertised: it is in `oidcConfigRef.scopes`, or one of openid, profile, email and offline_access where these are not given.',
  why: 'The authorization server does not start with a scope for every client that it does not know.',
  failure: {
    symptom: 'CrashLoopBackOff; the log says that `baseline_client_scopes` are not in the supported scopes',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.27 on',
    threads: ['stacklok/toolhive#5252', 'stacklok/toolhive#5233'],
  },
  sources: ['decision 3', 'decision 21'],
  *check({ spec }, { path }) {
    const { server, scopes } = issuingOf(spec) ?? {}
    if (scopes === undefined) return
    const advertised = new Set(scopes)
    for (const [i, scope] of (server?.baselineClientScopes ?? []).entries()) {
      if (scope && !advertised.has(scope))
        yield invalid(
          path.spec.authServerConfig.baselineClientScopes.at(i),
          scope,
          'is not advertised, so the server does not start; add it to `incomingAuth.oidcConfigRef.scopes`',
        )
    }
  },
  examples: {
    'scopes by default': { value: advertising(undefined, ['openid', 'offline_access']) },
    'scopes that are given': { value: advertising(['openid', 'tools'], ['tools']) },
    'a scope that only tokens of upstream providers have': {
      value: advertising(undefined, ['openid', 'tools']),
      findings:
        'spec.authServerConfig.baselineClientScopes[1]: Invalid value: "tools": is not advertised, so the server does not start; add it to `incomingAuth.oidcConfigRef.scopes`',
    },
    'a scope that the list lacks': {
      value: advertising(['openid', 'profile'], ['offline_access']),
      findings:
        'spec.authServerConfig.baselineClientScopes[0]: Invalid value: "offline_access": is not advertised, so the server does not start; add it to `incomingAuth.oidcConfigRef.scopes`',
    },
  },
})
