import { advice } from '../../../rule/field-error.ts'
import { defineRule } from '../../../rule/rule.ts'
import { storageType } from '../../embedded-auth-server/effective.ts'
import { redis } from '../../embedded-auth-server/examples.ts'
import { embedded, server } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

const SPLIT =
  'each replica has its own logins and tokens with storage in memory: requests to another one fail; use redis, or 1'

export const authServerStorageShared = defineRule({
  id: 'auth-server-storage-shared',
  on: VirtualMCPServer,
  reads: [],
  severity: 'warning',
  summary: 'Several replicas with an embedded authorization server share its storage, in Redis.',
  why: 'A login that begins at one replica and returns to another is lost, and so are clients, codes and refresh tokens that another replica stored.',
  failure: {
    symptom:
      'logins and refreshes fail by turns with "invalid_grant" or an unknown client, depending on the replica',
    toldBy: 'nobody',
    threads: [],
  },
  sources: [
    {
      section: '5.3',
      says: 'Upstream tokens in memory are lost at a restart; for production use redis with Sentinel.',
    },
    'decision 21',
  ],
  *check({ spec }, { path }) {
    const { replicas, authServerConfig } = spec ?? {}
    if (replicas === undefined || replicas < 2 || !authServerConfig) return
    if (storageType(authServerConfig) === 'memory') yield advice(path.spec.replicas, SPLIT)
  },
  examples: {
    valid: [
      {
        title: 'Redis',
        value: server({
          replicas: 3,
          authServerConfig: { ...embedded, storage: { type: 'redis', redis } },
        }),
      },
      { title: 'one replica', value: server({ replicas: 1, authServerConfig: embedded }) },
      { title: 'tokens of another issuer', value: server({ replicas: 3 }) },
    ],
    invalid: [
      {
        title: 'memory, by default',
        value: server({ replicas: 2, authServerConfig: embedded }),
        findings: [`spec.replicas: ${SPLIT}`],
      },
    ],
  },
})
