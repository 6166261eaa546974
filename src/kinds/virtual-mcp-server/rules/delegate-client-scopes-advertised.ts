import { defineRule, invalid } from '../../../rule/index.ts'
import { agent } from '../../embedded-auth-server/examples.ts'
import { delegateClients, spiffeClients } from '../../embedded-auth-server/inbound-grants.ts'
import { embedded, server } from '../examples.ts'
import { issuingOf } from '../issued-tokens.ts'
import { VirtualMCPServer } from '../schema.ts'

export const delegateClientScopesAdvertised = defineRule({
  id: 'delegate-client-scopes-advertised',
  on: VirtualMCPServer,
  needs: ['authServerConfig'],
  severity: 'warning',
  summary: 'The scopes of a delegate client or SPIFFE client are advertised in `oidcConfigRef.scopes`.',
  why: 'The operator refuses the configuration: a token with such a scope could not be issued.',
  failure: {
    symptom:
      'AuthServerConfigValidated=False says that a scope of "delegate_clients" is not in the supported scopes',
    reportedBy: 'operator',
    consequence: 'does not start',
    releases: 'from 0.43 on',
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const { server, scopes: advertised } = issuingOf(spec) ?? {}
    if (server === undefined || advertised === undefined) return
    const all = new Set(advertised)
    const at = path.spec.authServerConfig
    for (const { value, place } of [...delegateClients(server, at), ...spiffeClients(server, at)]) {
      for (const [i, scope] of (value.scopes ?? []).entries()) {
        if (scope && !all.has(scope))
          yield invalid(
            place().scopes.at(i),
            scope,
            'is not advertised, so the operator refuses the configuration; add it to `incomingAuth.oidcConfigRef.scopes`',
          )
      }
    }
  },
  examples: {
    'a scope by default': { value: server({ authServerConfig: { ...embedded, delegateClients: [agent] } }) },
    'a scope that nothing advertises': {
      value: server({
        authServerConfig: { ...embedded, delegateClients: [{ ...agent, scopes: ['openid', 'tools'] }] },
      }),
      findings:
        'spec.authServerConfig.delegateClients[0].scopes[1]: Invalid value: "tools": is not advertised, so the operator refuses the configuration; add it to `incomingAuth.oidcConfigRef.scopes`',
    },
  },
})
