import {
  defineRule,
  dependingOn,
  end,
  MOST_HINTS,
  nearest,
  notFound,
  pathTo,
  relatedTo,
  says,
  shortQuote,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPOIDCConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  authServer,
  bearerConfig,
  gatewayOf,
  getSecret,
  NAME,
  secretReferencesOf,
  seesSecrets,
} from '../index.ts'

const MISSING = 'meanwhile the workload does not start, or fails at its first call'

export const secretReferenceFound = defineRule({
  id: 'secret-reference-found',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPOIDCConfig, MCPServer, MCPRemoteProxy, MCPServerEntry],
  reads: ['Secret'],
  severity: 'warning',
  summary: 'A Secret that is named exists and has the key (only where Secrets may be looked at).',
  why: 'The workload does not start, or fails at its first call.',
  sources: [says('2.1', 'name is the name of the Secret, key a key within it.'), 'decision 22'],
  *check(resource, { cluster }) {
    if (!seesSecrets(cluster)) return
    let hints = MOST_HINTS
    for (const { at, name, key } of secretReferencesOf(resource)) {
      const secret = getSecret(cluster, name)
      const named = { kind: 'Secret', name }
      const path = (field: string) => pathTo<string>([...at, field])
      if (secret === undefined) {
        if (!cluster.knows('Secret')) continue
        const detail = `no Secret of this name ${cluster.where} yet; ${MISSING}`
        yield relatedTo(dependingOn(notFound(path('name'), name, detail), named), [], () => [
          ['missing', 'Secret', name],
        ])
      } else if (secret.complete && !Object.hasOwn(secret.bytes, key)) {
        const near = hints-- > 0 ? nearest(key, Object.keys(secret.bytes).slice(0, 100)) : undefined
        const hint = near === undefined ? '' : `; did you mean ${shortQuote(near)}`
        const detail = `the Secret ${shortQuote(name)} has no such key${hint}; ${MISSING}`
        yield relatedTo(
          dependingOn(notFound(path('key'), key, detail), named),
          [end(named, NAME, 'lacks the key')],
          () => [['missing', 'Secret', name, key]],
        )
      }
    }
  },
  examples: {
    'the value of a header': {
      kind: 'MCPRemoteProxy',
      value: withHeaderFrom('token'),
      others: [{ kind: 'Secret', metadata: { name: 'jira' }, data: { token: 'c2VjcmV0' } } as never],
    },
    'an environment variable of an MCPServer': {
      kind: 'MCPServer',
      value: withVariableFrom('token'),
      others: [{ kind: 'Secret', metadata: { name: 'jira' }, data: { token: 'c2VjcmV0' } } as never],
    },
    'there, with the key': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(bearerConfig('jira') as object) },
      others: [{ kind: 'Secret', metadata: { name: 'jira' }, data: { token: 'c2VjcmV0' } } as never],
    },
    'the value of a header, without the key': {
      kind: 'MCPServerEntry',
      value: {
        spec: {
          remoteUrl: 'https://mcp.example.com/mcp',
          headerForward: {
            addHeadersFromSecret: [{ headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'key' } }],
          },
        },
      },
      findings:
        'spec.headerForward.addHeadersFromSecret[0].valueSecretRef.key: Not found: "key": the Secret "jira" has no such key; meanwhile the workload does not start, or fails at its first call',
      others: [{ kind: 'Secret', metadata: { name: 'jira' }, data: { token: 'c2VjcmV0' } } as never],
    },
    'an environment variable of an MCPServer, without the key': {
      kind: 'MCPServer',
      value: withVariableFrom('key'),
      findings:
        'spec.secrets[0].key: Not found: "key": the Secret "jira" has no such key; meanwhile the workload does not start, or fails at its first call',
      others: [{ kind: 'Secret', metadata: { name: 'jira' }, data: { token: 'c2VjcmV0' } } as never],
    },
    'the password of the storage of sessions': {
      kind: 'MCPServer',
      value: {
        spec: {
          sessionStorage: {
            provider: 'redis',
            address: 'redis.redis.svc:6379',
            passwordRef: { name: 'redis', key: 'password' },
          },
        },
      },
      findings:
        'spec.sessionStorage.passwordRef.name: Not found: "redis": no Secret of this name in namespace \'default\' yet; meanwhile the workload does not start, or fails at its first call',
    },
    'not there': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(bearerConfig('jira') as object) },
      findings:
        'spec.bearerToken.tokenSecretRef.name: Not found: "jira": no Secret of this name in namespace \'default\' yet; meanwhile the workload does not start, or fails at its first call',
    },
    'the client of introspection': {
      kind: 'MCPOIDCConfig',
      value: {
        spec: {
          type: 'inline',
          inline: { issuer: 'https://login.example.com', clientSecretRef: { name: 'oidc', key: 'secret' } },
        },
      },
      findings:
        'spec.inline.clientSecretRef.name: Not found: "oidc": no Secret of this name in namespace \'default\' yet; meanwhile the workload does not start, or fails at its first call',
    },
    'another key': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: { ...authServer('okta'), hmacSecretRefs: [{ name: 'auth', key: 'hmac-key' }] },
      }),
      others: [
        {
          kind: 'Secret',
          metadata: { name: 'auth' },
          stringData: { 'signing-key': 'x', hmac_key: 'y' },
        } as never,
      ],
      findings:
        'spec.authServerConfig.hmacSecretRefs[0].key: Not found: "hmac-key": the Secret "auth" has no such key; did you mean "hmac_key"; meanwhile the workload does not start, or fails at its first call',
    },
    'the token for the registration at a provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: {
          issuer: 'https://auth.example.com',
          upstreamProviders: [
            {
              name: 'okta',
              type: 'oidc',
              oidcConfig: {
                issuerUrl: 'https://okta.example.com',
                dcrConfig: { initialAccessTokenRef: { name: 'okta', key: 'token' } },
              },
            },
          ],
        },
      }),
      findings:
        'spec.authServerConfig.upstreamProviders[0].oidcConfig.dcrConfig.initialAccessTokenRef.name: Not found: "okta": no Secret of this name in namespace \'default\' yet; meanwhile the workload does not start, or fails at its first call',
    },
  },
})

/** A workload with `secrets`, a field that releases have and the specification lacks; no other rule reads it. */
function withVariableFrom(key: string): object {
  return { spec: { secrets: [{ name: 'jira', key, targetEnvName: 'JIRA_TOKEN' }] } }
}

function withHeaderFrom(key: string) {
  const header = { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key } }
  return {
    spec: {
      remoteUrl: 'https://mcp.example.com/mcp',
      headerForward: { addHeadersFromSecret: [header] },
    },
  }
}
