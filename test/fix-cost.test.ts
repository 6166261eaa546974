import { setFlagsFromString } from 'node:v8'
import t from 'tap'
import { fixed, writtenAs } from './support/fixed.ts'
import { stepsOf } from './support/steps.ts'

// In a file of its own, because counting blocks disturbs the coverage of other tests.
t.test('the members of each issuer are moved at the same cost', async (t) => {
  // V8 does not count blocks of optimised functions.
  for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag)
  const server = (count: number) => ({
    trustedIssuers: Array.from({ length: count }, (_, i) => ({
      expectedAudience: '"a"',
      name: `"i${i}"`,
      issuerUrl: `"https://i${i}.example"`,
      allowedDelegateClients: ['"b"'],
      jwtBearerGrant: { maxAssertionAge: '"5m"' },
    })),
  })
  for (const style of ['block', 'flow', 'JSON']) {
    fixed(writtenAs(style, server(2)))
    const costOf = (count: number) => {
      const text = writtenAs(style, server(count))
      const [steps = NaN] = stepsOf(() => void t.equal(fixed(text).titles.length, 2))
      return steps / count
    }
    const [least, most] = [costOf(50), costOf(400)]
    t.ok(most < 1.25 * least, `${style}: ${least} steps for each of 50 issuers, ${most} for each of 400`)
  }
})
