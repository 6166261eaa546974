import { defineRule, isAbsent, must, required } from '../../../rule/index.ts'
import { mappingTo, role, signing } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

export const awsStsRoleConfigured = defineRule({
  id: 'aws-sts-role-configured',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'error',
  summary:
    'At least one of `fallbackRoleArn` or `roleMappings` is configured; an empty list configures no role.',
  why: 'There is no role whose credentials could sign a request.',
  sources: [
    must('2.4.1', 'At least one of fallbackRoleArn or roleMappings must be configured.'),
    must('7', 'awsSts has neither fallbackRoleArn nor roleMappings.'),
    'decision 17',
  ],
  *check({ spec }, { path }) {
    const awsSts = spec?.awsSts
    if (!awsSts || !isAbsent(awsSts, 'fallbackRoleArn')) return
    if (isAbsent(awsSts, 'roleMappings') || awsSts.roleMappings?.length === 0) {
      yield required(
        path.spec.awsSts,
        'at least one of `fallbackRoleArn` or `roleMappings` must be configured',
      )
    }
  },
  policy: {
    expression: `
      self.?spec.?awsSts.orValue(null) == null ||
      self.spec.awsSts.?fallbackRoleArn.orValue(null) != null ||
      !(self.spec.awsSts.?roleMappings.orValue(null) in [dyn(null), dyn([])])`,
  },
  examples: {
    'a fallback role': { value: signing({ fallbackRoleArn: role('reader') }) },
    'a mapping': { value: mappingTo({ admin: { claim: 'admins' } }) },
    neither: {
      value: signing({}),
      findings:
        'spec.awsSts: Required value: at least one of `fallbackRoleArn` or `roleMappings` must be configured',
    },
    'an empty list of mappings': {
      value: mappingTo({}),
      findings:
        'spec.awsSts: Required value: at least one of `fallbackRoleArn` or `roleMappings` must be configured',
    },
  },
})
