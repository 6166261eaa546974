import { about, invalid, required } from '../../../rule/field-error.ts'
import { isAbsent } from '../../../rule/resource.ts'
import { defineRule } from '../../../rule/rule.ts'
import { incoming, oidc } from '../examples.ts'
import { VirtualMCPServer } from '../schema.ts'

export const incomingAuthAudienceConfigured = defineRule({
  id: 'incoming-auth-audience-configured',
  on: VirtualMCPServer,
  reads: [],
  severity: 'error',
  summary:
    'With `oidcConfigRef` the expected audience is set, beside the reference or in it, and where both are set they agree.',
  why: 'Without an audience a token that was issued for another service would be accepted, so none is.',
  sources: [
    { section: '2.2', must: 'audience stands beside oidcConfigRef and is required when that is used.' },
    { section: '5.1', must: 'With oidcConfigRef audience must be set explicitly.' },
    {
      section: '5.1',
      must: 'With the embedded authorization server incomingAuth must validate the JWTs it issues: oidcConfigRef and audience.',
    },
    { section: '7', must: 'oidcConfigRef used without audience.' },
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
      yield required(audience, 'must name the expected audience when `oidcConfigRef` is set')
    else if (beside !== undefined && inside !== undefined && beside !== inside)
      yield about(
        invalid(audience, beside, 'must equal `oidcConfigRef.audience`; set the same in both, or only one'),
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
    valid: [
      { title: 'beside the reference', value: incoming(oidc) },
      {
        title: 'in the reference, as releases have it',
        value: incoming({ type: 'oidc', oidcConfigRef: { name: 'corporate', audience: 'tools' } }),
      },
      {
        title: 'the same in both',
        value: incoming({ ...oidc, oidcConfigRef: { name: 'corporate', audience: 'tools' } }),
      },
      { title: 'no reference, no audience', value: incoming({ type: 'anonymous' }) },
    ],
    invalid: [
      {
        title: 'no audience',
        value: incoming({ type: 'oidc', oidcConfigRef: { name: 'corporate' } }),
        findings: [
          'spec.incomingAuth.audience: Required value: must name the expected audience when `oidcConfigRef` is set',
        ],
      },
      {
        title: 'an empty audience, which is none, whatever the type',
        value: incoming({ type: 'anonymous', oidcConfigRef: { name: 'corporate' }, audience: '' }),
        findings: [
          'spec.incomingAuth.audience: Required value: must name the expected audience when `oidcConfigRef` is set',
        ],
      },
      {
        title: 'two that differ',
        value: incoming({ ...oidc, oidcConfigRef: { name: 'corporate', audience: 'other' } }),
        findings: [
          'spec.incomingAuth.audience: Invalid value: "tools": must equal `oidcConfigRef.audience`; set the same in both, or only one',
        ],
      },
      {
        title: 'one that is empty and one that is not',
        value: incoming({ ...oidc, audience: '', oidcConfigRef: { name: 'corporate', audience: 'tools' } }),
        findings: [
          'spec.incomingAuth.audience: Invalid value: "": must equal `oidcConfigRef.audience`; set the same in both, or only one',
        ],
      },
    ],
  },
})
