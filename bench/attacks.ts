import { authServer, gateway } from '../src/relations/examples.ts'
import { resourceOf, reviewOf } from '../test/support/review.ts'

/** Bodies that cost much, by name; a different one for each number, so that nothing of the one before is remembered. */
export const ATTACKS: Readonly<Record<string, (i: number) => string>> = {
  '300,000 keys, 5 MB': once(() => {
    const keys = Array.from({ length: 300_000 }, (_, i) => [`${'k'.repeat(6)}${i * 7_919}`, 1] as const)
    return JSON.stringify(reviewOf(resourceOf('MCPServer', { x: Object.fromEntries(keys) }), ATTACKER))
  }),
  '85,000 keys, 1.4 MB': once(() => {
    const keys = Array.from({ length: 85_000 }, (_, i) => [`${'k'.repeat(6)}${i * 7_919}`, 1] as const)
    return JSON.stringify(reviewOf(resourceOf('MCPServer', { x: Object.fromEntries(keys) }), ATTACKER))
  }),
  'an update of 15,000 providers': once(() =>
    JSON.stringify(reviewOf(providers('a'), { ...ATTACKER, operation: 'UPDATE', oldObject: providers('b') })),
  ),
  'hard matchers, 20 KB': (i) => {
    const roleMappings = Array.from({ length: 6 }, (_, j) => ({
      roleArn: `arn:aws:iam::123456789012:role/team-${j}`,
      priority: j,
      matcher: `claims.a.matches("^(a|b|c${i * 6 + j}){1,40}(x|y){1,40}$") && !claims.a.matches("(ab){1,60}[a-z]{50}z$")`,
    }))
    const spec = { type: 'awsSts', awsSts: { region: 'eu-central-1', roleMappings } }
    const annotations = { note: 'x'.repeat(18_000) }
    return JSON.stringify(reviewOf(resourceOf('MCPExternalAuthConfig', spec, { annotations }), ATTACKER))
  },
}

const ATTACKER = { namespace: 'attacker' }

function once(build: () => string): () => string {
  let built: string | undefined
  return () => (built ??= build())
}

function providers(client: string): Record<string, unknown> {
  const upstreamProviders = Array.from({ length: 15_000 }, (_, i) => ({
    name: `p${i}`,
    type: 'oidc',
    oidcConfig: { issuerUrl: `https://i${i}.example.com`, clientId: `${client}${i}` },
  }))
  const { kind, spec } = gateway('', { authServerConfig: { ...authServer('a'), upstreamProviders } as never })
  return resourceOf(kind, spec)
}
