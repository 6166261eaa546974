import { advice, defineRule, isAbsent } from '../../../rule/index.ts'
import { server } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const authenticationSetInSpec = defineRule({
  id: 'authentication-set-in-spec',
  on: VirtualMCPServer,
  needs: ['config'],
  severity: 'warning',
  summary: '`incomingAuth` and `outgoingAuth` are set in `spec`, not in `spec.config`.',
  why: 'The operator takes both from `spec` and overwrites what `spec.config` has: backends are contacted without the credentials that are written there.',
  failure: {
    symptom: 'what is written below `spec.config` has no effect; backends answer with 401',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: ['decision 3'],
  *check({ spec }, { path }) {
    const config = spec?.config
    if (config === undefined) return
    for (const field of ['incomingAuth', 'outgoingAuth'] as const) {
      if (isAbsent(config, field)) continue
      yield advice(
        path.spec.config[field],
        `has no effect: the operator reads \`spec.${field}\` only; move it there`,
      )
    }
  },
  examples: {
    'in spec': { value: server({ outgoingAuth: { source: 'discovered' } }) },
    'other settings': { value: server({ config: { passthroughHeaders: ['X-Request-Id'] } }) },
    'in spec.config, as the file of the vmcp command has it': {
      value: server({
        config: {
          outgoingAuth: {
            source: 'inline',
            backends: { jira: { type: 'header_injection' } },
          },
        },
      }),
      findings:
        'spec.config.outgoingAuth: has no effect: the operator reads `spec.outgoingAuth` only; move it there',
    },
  },
})
