import { about, defineRule, invalid, isAbsent, must, required } from '../../../rule/index.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthAudienceConfigured = defineRule({
  id: 'incoming-auth-audience-configured',
  on: VirtualMCPServer,
  needs: ['incomingAuth'],
  severity: 'error',
  summary:
    'With `oidcConfigRef` the expected audience is set, in the reference or beside it, and where both are set they agree.',
  why: 'Without an audience a token that was issued for another service would be accepted, so none is.',
  sources: [
    must('2.2', 'audience stands beside oidcConfigRef and is required when that is used.'),
    must('5.1', 'With oidcConfigRef audience must be set explicitly.'),
    must(
      '5.1',
      'With the embedded authorization server incomingAuth must validate the JWTs it issues: oidcConfigRef and audience.',
    ),
    must('7', 'oidcConfigRef used without audience.'),
    'decision 4',
  ],
  *check({ spec }, { path }) {
    const incomingAuth = spec?.incomingAuth
    const oidcConfigRef = incomingAuth?.oidcConfigRef
    if (!incomingAuth || !oidcConfigRef) return
    const given = [incomingAuth, oidcConfigRef]
      .filter((holder) => !isAbsent(holder, 'audience'))
      .map(({ audience }) => audience)
    if (given.includes(undefined)) return
    const { audience } = path.spec.incomingAuth
    const [beside, inside] = given
    if (given.every((text) => text === ''))
      yield required(
        audience,
        'set `oidcConfigRef.audience`, which every release reads, to the expected audience',
      )
    else if (beside !== undefined && inside !== undefined && beside !== inside)
      yield about(
        invalid(
          audience,
          beside,
          'must equal `oidcConfigRef.audience`, the one that releases read; remove this',
        ),
        'incoming-auth-audience-configured',
        beside,
        inside,
      )
  },
  policy: {
    expression: `
      self.?spec.?incomingAuth.?oidcConfigRef.orValue(null) == null ||
      [[
        self.spec.incomingAuth.?audience.orValue(null),
        self.spec.incomingAuth.oidcConfigRef.?audience.orValue(null),
      ].filter(audience, audience != null)].all(given,
        given.exists(audience, audience != '') && given.all(audience, audience == given[0]))`,
  },
  examples: {
    'in the reference': { value: incoming(oidc) },
    'beside the reference, where the specification has it and releases refuse it': {
      value: incoming({ type: 'oidc', oidcConfigRef: { name: 'corporate' }, audience: 'tools' }),
    },
    'the same in both': { value: incoming({ ...oidc, audience: 'tools' }) },
    'no reference, no audience': { value: incoming({ type: 'anonymous' }) },
    'no audience': {
      value: incoming({ type: 'oidc', oidcConfigRef: { name: 'corporate' } }),
      findings:
        'spec.incomingAuth.audience: Required value: set `oidcConfigRef.audience`, which every release reads, to the expected audience',
    },
    'an empty audience, which is none, whatever the type': {
      value: incoming({ type: 'anonymous', oidcConfigRef: { name: 'corporate' }, audience: '' }),
      findings:
        'spec.incomingAuth.audience: Required value: set `oidcConfigRef.audience`, which every release reads, to the expected audience',
    },
    'two that differ': {
      value: incoming({ ...oidc, audience: 'other' }),
      findings:
        'spec.incomingAuth.audience: Invalid value: "other": must equal `oidcConfigRef.audience`, the one that releases read; remove this',
    },
    'one that is empty and one that is not': {
      value: incoming({ ...oidc, audience: '' }),
      findings:
        'spec.incomingAuth.audience: Invalid value: "": must equal `oidcConfigRef.audience`, the one that releases read; remove this',
    },
  },
})
