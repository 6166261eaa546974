import { aboutEach, defineRule, tooLong } from '../../../rule/index.ts'
import { role, signing } from '../examples.ts'
import { factsAbout } from '../role-mappings.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

const longMatcher = (i: number) => `claims.sub == "${String(i).padStart(9_900, 'x')}"`
/** An example with this many long matchers: 52 of them fit into the 512 KiB that an object may have, and 53 do not. */
const longMatchers = (count: number) =>
  signing({
    roleMappings: Array.from({ length: count }, (_, i) => ({
      roleArn: role('reader'),
      matcher: longMatcher(i),
    })),
  })

export const roleMappingMatchersFit = defineRule({
  id: 'role-mapping-matchers-fit',
  on: MCPExternalAuthConfig,
  needs: ['awsSts'],
  severity: 'error',
  summary: 'One object holds at most 512 KiB of distinct matchers.',
  why: 'They could not all be compiled before the API server gives up waiting, so none of them is.',
  sources: ['decision 15'],
  *check({ spec }, context) {
    if (factsAbout(spec?.awsSts?.roleMappings, context).fit) return
    const error = tooLong(
      context.path.spec.awsSts.roleMappings,
      'may not hold more than 512 KiB of distinct matchers; test several values in one matcher',
    )
    // The error is about every matcher, because none is compiled. For the ratchet (decision 8) it is a new error if
    // it is about a matcher that the stored object does not have.
    const matchers = () => new Set(spec?.awsSts?.roleMappings?.flatMap((mapping) => mapping?.matcher ?? []))
    yield aboutEach(error, () => Array.from(matchers(), (text) => ['role-mapping-matchers-fit', text]))
  },
  policy: { needsWebhook: 'CEL cannot add up lengths, nor read so much text within its cost limit' },
  examples: {
    'the same long matcher many times': {
      value: signing({
        roleMappings: Array.from({ length: 60 }, () => ({
          roleArn: role('reader'),
          matcher: longMatcher(0),
        })),
      }),
    },
    'fifty-two long matchers': { value: longMatchers(52) },
    'sixty long matchers': {
      value: longMatchers(60),
      findings:
        'spec.awsSts.roleMappings: Too long: may not hold more than 512 KiB of distinct matchers; test several values in one matcher',
    },
  },
})
