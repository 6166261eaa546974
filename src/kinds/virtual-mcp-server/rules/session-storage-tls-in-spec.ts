import { advice, defineRule, isObject, type Path, pathTo } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

const AT: Path<unknown> = pathTo(['spec', 'config', 'sessionStorage', 'tls'])
const TEXT =
  'does not turn on TLS to Redis; move it to `spec.sessionStorage.tls` (from release 0.55 on, where the API server refuses it here)'

export const sessionStorageTlsInSpec = defineRule({
  id: 'session-storage-tls-in-spec',
  on: VirtualMCPServer,
  needs: ['config'],
  severity: 'warning',
  summary:
    '`tls` of the session storage is set in `spec.sessionStorage`, not in `spec.config.sessionStorage`.',
  why: 'The operator writes the settings of the process from `spec.sessionStorage` alone: sessions and the password of the Redis go over the network in plain text.',
  failure: {
    symptom:
      'the API server says "config.sessionStorage.tls is ignored by the operator; set sessionStorage.tls instead"; before release 0.55 it drops the field, and the Redis is reached in plain text',
    reportedBy: 'API server',
    consequence: 'does not start',
  },
  sources: ['decision 3'],
  *check({ spec }) {
    const { sessionStorage } = (spec?.config ?? {}) as { readonly sessionStorage?: unknown }
    if (!isObject(sessionStorage) || sessionStorage.tls === undefined || sessionStorage.tls === null) return
    const target = spec?.sessionStorage
    const isFree = target !== undefined && !Object.hasOwn(target, 'tls')
    const moves = [{ from: ['config', 'sessionStorage', 'tls'], to: ['sessionStorage', 'tls'] }]
    yield {
      ...advice(AT, TEXT),
      ...(isFree && {
        fix: {
          title: 'move it to `spec.sessionStorage`',
          edits: [{ op: 'move', at: ['spec'], moves, adds: [] }],
        },
      }),
    }
  },
  examples: {
    'in spec': {
      value: server({
        sessionStorage: {
          provider: 'redis',
          address: 'redis.tools.svc:6379',
          tls: { caCertSecretRef: { name: 'redis', key: 'ca.crt' } },
        },
      }),
    },
    'other settings': { value: server({ config: { passthroughHeaders: ['X-Request-Id'] } }) },
    'in spec.config, as the file of the vmcp command has it': {
      value: server({
        sessionStorage: { provider: 'redis', address: 'redis.tools.svc:6379' },
        config: { sessionStorage: { provider: 'redis', tls: {} } } as object,
      }),
      findings: `spec.config.sessionStorage.tls: ${TEXT}`,
    },
  },
})
