import {
  aboutEach,
  advice,
  defineRule,
  end,
  isAbsent,
  namesText,
  pathTo,
  relatedTo,
  says,
} from '../../rule/index.ts'
import { type Server, storageType } from '../../kinds/embedded-auth-server/effective.ts'
import { redis, without } from '../../kinds/embedded-auth-server/examples.ts'
import { MCPExternalAuthConfig, MCPRemoteProxy, MCPServer, VirtualMCPServer } from '../../kinds/schemas.ts'
import { embedded, server } from '../../kinds/virtual-mcp-server/examples.ts'
import {
  AUTH_CONFIG,
  type Gateway,
  heldServersOf,
  issuingBeside,
  otherOf,
  serverConfig,
  serverEnd,
  serving,
  SINGLE_PROVIDER_KINDS,
  type Workload,
} from '../index.ts'

const SPLIT =
  'with storage in memory each replica has its own logins and tokens, so requests to another replica fail; set `storage.type` to redis, or use 1 replica'
const OWN_KEYS =
  'each replica makes keys of its own, and refuses the tokens of the other replicas; set `signingKeySecretRefs` and `hmacSecretRefs`, or use 1 replica'

const SERVER = { spec: { type: 'embeddedAuthServer' as const, embeddedAuthServer: embedded } }
const proxyWith = (replicas: number) =>
  otherOf('MCPRemoteProxy', 'wiki', {
    ...serving({}).spec,
    authServerRef: { kind: 'MCPExternalAuthConfig', name: 'example' },
    replicas,
  })

const stored = { ...embedded, storage: { type: 'redis' as const, redis } }

/** The effect when replicas do not share storage or keys; undefined when they share storage and keys. */
function problemOf(server: Server): string | undefined {
  if (storageType(server) === 'memory') return SPLIT
  const lacks = (field: 'signingKeySecretRefs' | 'hmacSecretRefs') =>
    isAbsent(server, field) || server[field]?.length === 0
  return lacks('signingKeySecretRefs') || lacks('hmacSecretRefs') ? OWN_KEYS : undefined
}

const ID = 'auth-server-storage-shared'
const REPLICAS = pathTo<number>(['spec', 'replicas'])

const isSeveral = ({ spec }: Gateway | Workload): boolean => (spec?.replicas ?? 1) > 1

export const authServerStorageShared = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPExternalAuthConfig],
  needs: ['replicas', 'embeddedAuthServer'],
  reads: ['MCPExternalAuthConfig', ...SINGLE_PROVIDER_KINDS],
  severity: 'warning',
  summary:
    'Several replicas with an embedded authorization server share its storage, in Redis, and its keys, in Secrets.',
  why: 'A login that begins at one replica and returns to another is lost, and so are clients, codes and refresh tokens that another replica stored. Without keys in Secrets each replica makes its own at its start.',
  failure: {
    symptom:
      'logins and refreshes fail by turns with "invalid_grant" or an unknown client, or requests with 401, depending on the replica',
    reportedBy: 'nobody',
    consequence: 'degrades',
  },
  sources: [
    says('5.3', 'Upstream tokens in memory are lost at a restart; for production use redis with Sentinel.'),
    says('5.3', 'Keys that are not given are generated at startup.'),
    'decision 21',
  ],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const several = heldServersOf(resource, self, cluster).filter(
        ({ workload }) => isSeveral(workload) && workload.spec?.oidcConfigRef !== undefined,
      )
      const [first] = several
      const problem = first && problemOf(first.server)
      if (problem === undefined) return
      const holders = several.map(({ holder }) => holder)
      const warning = advice(AUTH_CONFIG.spec.embeddedAuthServer, `${problem}: ${namesText(holders, 2)}`)
      yield relatedTo(
        aboutEach(warning, () => holders.map(({ kind, name }) => [ID, kind, name])),
        holders.slice(0, 4).map((holder) => end(holder, REPLICAS, 'is more than 1')),
        () => [[ID, self.name]],
      )
      return
    }
    const judged = resource as Gateway | Workload
    if (!isSeveral(judged)) return
    for (const issuing of issuingBeside(judged, self, cluster)) {
      const problem = problemOf(issuing.server)
      if (problem === undefined) continue
      const { to } = issuing
      yield relatedTo(
        advice(REPLICAS, problem),
        [serverEnd(issuing, self, 'is in each replica')],
        to && (() => [[ID, to.name]]),
      )
      return
    }
  },
  examples: {
    'Redis, and keys in Secrets': {
      kind: 'VirtualMCPServer',
      value: server({ replicas: 3, authServerConfig: stored }),
    },
    'one replica': { kind: 'VirtualMCPServer', value: server({ replicas: 1, authServerConfig: embedded }) },
    'tokens of another issuer': { kind: 'VirtualMCPServer', value: server({ replicas: 3 }) },
    'one replica of a workload': {
      kind: 'MCPServer',
      value: { spec: { ...serving({}).spec, replicas: 1 } },
      others: [serverConfig('auth', 'okta')],
    },
    'one replica of each workload that names the server': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [proxyWith(1)],
    },
    'memory, by default': {
      kind: 'VirtualMCPServer',
      value: server({ replicas: 2, authServerConfig: embedded }),
      findings: `spec.replicas: ${SPLIT}`,
    },
    'Redis, and a signing key of each replica': {
      kind: 'VirtualMCPServer',
      value: server({ replicas: 2, authServerConfig: without(stored, 'signingKeySecretRefs') }),
      findings: `spec.replicas: ${OWN_KEYS}`,
    },
    'the server that a workload names': {
      kind: 'MCPRemoteProxy',
      value: { spec: { ...serving({}).spec, replicas: 2 } },
      others: [serverConfig('auth', 'okta')],
      findings: `spec.replicas: ${SPLIT}`,
    },
    'several replicas of a workload that names the server': {
      kind: 'MCPExternalAuthConfig',
      value: SERVER,
      others: [proxyWith(2)],
      findings: `spec.embeddedAuthServer: ${SPLIT}: MCPRemoteProxy "wiki"`,
    },
  },
})
