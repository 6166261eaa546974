import { advice, defineRule, isAbsent, pathTo, relatedTo } from '../../rule/index.ts'
import { type Server, storageType } from '../../kinds/embedded-auth-server/effective.ts'
import { redis, without } from '../../kinds/embedded-auth-server/examples.ts'
import { MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, server } from '../../kinds/virtual-mcp-server/examples.ts'
import { issuingBeside, serverConfig, serverEnd, serving } from '../index.ts'

const SPLIT =
  'with storage in memory each replica has its own logins and tokens, so requests to another replica fail; set `storage.type` to redis, or use 1 replica'
const OWN_KEYS =
  'each replica makes keys of its own, and refuses the tokens of the other replicas; set `signingKeySecretRefs` and `hmacSecretRefs`, or use 1 replica'

const stored = { ...embedded, storage: { type: 'redis' as const, redis } }

/** The effect when replicas do not share storage or keys; undefined when they share storage and keys. */
function problemOf(server: Server): string | undefined {
  if (storageType(server) === 'memory') return SPLIT
  const lacks = (field: 'signingKeySecretRefs' | 'hmacSecretRefs') =>
    isAbsent(server, field) || server[field]?.length === 0
  return lacks('signingKeySecretRefs') || lacks('hmacSecretRefs') ? OWN_KEYS : undefined
}

export const authServerStorageShared = defineRule({
  id: 'auth-server-storage-shared',
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy],
  needs: ['replicas'],
  reads: ['MCPExternalAuthConfig'],
  severity: 'warning',
  summary:
    'Several replicas with an embedded authorization server share its storage, in Redis, and its keys, in Secrets.',
  why: 'A login that begins at one replica and returns to another is lost, and so are clients, codes and refresh tokens that another replica stored. Without keys in Secrets each replica makes its own at its start.',
  failure: {
    symptom:
      'logins and refreshes fail by turns with "invalid_grant" or an unknown client, or requests with 401, depending on the replica',
    reportedBy: 'nobody',
    consequence: 'degrades',
    threads: [],
  },
  sources: [
    {
      section: '5.3',
      says: 'Upstream tokens in memory are lost at a restart; for production use redis with Sentinel.',
    },
    { section: '5.3', says: 'Keys that are not given are generated at startup.' },
    'decision 21',
  ],
  *check(resource, { cluster, self }) {
    const replicas = resource.spec?.replicas
    if (replicas === undefined || replicas < 2) return
    for (const issuing of issuingBeside(resource, self, cluster)) {
      const problem = problemOf(issuing.server)
      if (problem === undefined) continue
      const end = serverEnd(issuing, self, 'is in each replica')
      yield relatedTo(advice(pathTo<number>(['spec', 'replicas']), problem), [end])
      return
    }
  },
  examples: {
    valid: [
      {
        title: 'Redis, and keys in Secrets',
        kind: 'VirtualMCPServer',
        value: server({ replicas: 3, authServerConfig: stored }),
      },
      {
        title: 'one replica',
        kind: 'VirtualMCPServer',
        value: server({ replicas: 1, authServerConfig: embedded }),
      },
      { title: 'tokens of another issuer', kind: 'VirtualMCPServer', value: server({ replicas: 3 }) },
      {
        title: 'one replica of a workload',
        kind: 'MCPServer',
        value: { spec: { ...serving({}).spec, replicas: 1 } },
        others: [serverConfig('auth', 'okta')],
      },
    ],
    invalid: [
      {
        title: 'memory, by default',
        kind: 'VirtualMCPServer',
        value: server({ replicas: 2, authServerConfig: embedded }),
        findings: [`spec.replicas: ${SPLIT}`],
      },
      {
        title: 'Redis, and a signing key of each replica',
        kind: 'VirtualMCPServer',
        value: server({ replicas: 2, authServerConfig: without(stored, 'signingKeySecretRefs') }),
        findings: [`spec.replicas: ${OWN_KEYS}`],
      },
      {
        title: 'the server that a workload names',
        kind: 'MCPRemoteProxy',
        value: { spec: { ...serving({}).spec, replicas: 2 } },
        others: [serverConfig('auth', 'okta')],
        findings: [`spec.replicas: ${SPLIT}`],
      },
    ],
  },
})
