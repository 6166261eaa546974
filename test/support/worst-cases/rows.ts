/** Objects that once crashed or stalled the server, each with the size at which it did. */

import type { Candidate, Resource } from './candidate.ts'
import { resourceOf } from '../review.ts'

const repeated = (count: number, part: (i: number) => string, by = '') =>
  Array.from({ length: count }, (_, i) => part(i)).join(by)

const resource = (kind: string, spec: unknown, metadata: object = {}): Resource => ({
  ...resourceOf(kind, spec, metadata),
  kind,
})
const created = (object: Resource): Candidate => ({ object, others: [] })
const updated = (oldObject: Resource, object: Resource): Candidate => ({ object, oldObject, others: [] })

const ROLE = 'arn:aws:iam::123456789012:role/reader'

/** A configuration with a role mapping for each matcher. */
export const roleMappings = (...matchers: readonly string[]): Candidate =>
  created(
    resource('MCPExternalAuthConfig', {
      type: 'awsSts',
      awsSts: {
        region: 'eu-central-1',
        roleMappings: matchers.map((matcher, i) => ({ matcher, roleArn: ROLE, priority: i })),
      },
    }),
  )

/** An embedded authorization server with a trusted issuer for each matcher of actors. */
export const actorMatchers = (...matchers: readonly string[]): Candidate =>
  created(
    resource('MCPExternalAuthConfig', {
      type: 'embeddedAuthServer',
      embeddedAuthServer: {
        ...SERVER,
        trustedIssuers: matchers.map((actorMatcher, i) => ({
          issuerUrl: `https://issuer-${i}.example.com`,
          expectedAudience: 'https://auth.example.com',
          allowedDelegateClients: ['agent'],
          actorMatcher,
        })),
      },
    }),
  )

const provider = (name: string, clientId: string) => ({
  name,
  type: 'oidc',
  oidcConfig: { issuerUrl: 'https://okta.example.com', clientId },
})
const SERVER = {
  issuer: 'https://auth.example.com',
  signingKeySecretRefs: [{ name: 'auth', key: 'signing-key' }],
  hmacSecretRefs: [{ name: 'auth', key: 'hmac' }],
  upstreamProviders: [provider('okta', 'vmcp')],
}
const serverOf = (settings: object) =>
  resource('MCPExternalAuthConfig', {
    type: 'embeddedAuthServer',
    embeddedAuthServer: { ...SERVER, ...settings },
  })
const providers = (count: number, name: string, clientId: string) =>
  serverOf({
    upstreamProviders: Array.from({ length: count }, (_, i) => provider(`${name}-${i}`, `${clientId}-${i}`)),
  })

/** A matcher of nested conditional expressions, in which each level reads claims of its own. */
const choices = (depth: number, from = 0): string => {
  const levels = Array.from({ length: depth }, (_, i) => from + i)
  return `${levels.map((i) => `(claims.c${i}==1?`).join('')}claims.end${levels
    .toReversed()
    .map((i) => `:claims.d${i})`)
    .join('')}==1`
}
/** A matcher of two nested loops over `count` numbers, which converts each timestamp to the time zone. */
const loops = (count: number, zone: string, i = 0) => {
  const numbers = `[${repeated(count, String, ',')}]`
  return `${numbers}.all(x, ${numbers}.all(y, timestamp(x * 100 + y + ${i}).getDayOfYear("${zone}") >= 0)) || !has(claims.a)`
}
const matching = (pattern: string) => `claims.a.matches("${pattern}")`

const https = (letters: number) => `https://${'a'.repeat(letters)}.com`
const oidcConfig = (issuer: string, metadata: object = {}) =>
  resource('MCPOIDCConfig', { type: 'inline', inline: { issuer } }, metadata)

const PERMIT = 'permit(principal, action, resource)'
const withPolicies = (inline: object) =>
  resource('VirtualMCPServer', {
    groupRef: { name: 'tools' },
    incomingAuth: {
      type: 'oidc',
      oidcConfigRef: {
        name: 'corporate',
        audience: 'https://auth.example.com/mcp',
        resourceUrl: 'https://auth.example.com/mcp',
      },
      authzConfig: { type: 'inline', inline },
    },
    authServerConfig: SERVER,
  })

export interface Row {
  /** What makes the object expensive; N stands for the size. */
  readonly title: string
  /** The size at which it crashed or stalled the server, in the unit of the title. */
  readonly size: number
  readonly at: (size: number) => Candidate
}

export const ROWS: readonly Row[] = [
  {
    title: '6 role mappings of choices nested N deep',
    size: 120,
    at: (size) => roleMappings(...Array.from({ length: 6 }, (_, i) => choices(size, i * size))),
  },
  {
    title: 'one role mapping of choices nested N deep',
    size: 240,
    at: (size) => roleMappings(choices(size)),
  },
  {
    title: 'a role mapping of N choices, each the condition of the next',
    size: 200,
    at: (size) =>
      roleMappings(
        Array.from({ length: size }).reduce<string>(
          (condition) => `(${condition} ? claims.a == "x" : claims.b == "y")`,
          'has(claims.c)',
        ),
      ),
  },
  {
    title: 'N role mappings of choices nested 40 deep',
    size: 30,
    at: (size) => roleMappings(...Array.from({ length: size }, (_, i) => choices(40, i * 40))),
  },
  {
    title: 'N matchers of actors of choices nested 110 deep',
    size: 20,
    at: (size) => actorMatchers(...Array.from({ length: size }, (_, i) => choices(110, i * 110))),
  },
  {
    title: 'a pattern of N counted repetitions',
    size: 1_000,
    at: (size) => roleMappings(`"a".matches("${'a{999}'.repeat(size)}")`),
  },
  {
    title: 'a pattern of N letters',
    size: 9_900,
    at: (size) => roleMappings(`"a".matches("${'a'.repeat(size)}")`),
  },
  {
    title: 'N patterns of 20 counted repetitions each',
    size: 60,
    at: (size) =>
      roleMappings(
        ...Array.from({ length: size / 10 }, (_, i) =>
          repeated(10, (j) => matching(`${i}x${j}${'a{999}'.repeat(20)}`), ' || '),
        ),
      ),
  },
  {
    title: 'N matchers of loops in loops that read the clock of a zone',
    size: 200,
    at: (size) => roleMappings(...Array.from({ length: size }, (_, i) => loops(20, 'Europe/Berlin', i))),
  },
  {
    title: 'N matchers of loops in loops that read UTC',
    size: 2_000,
    at: (size) => roleMappings(...Array.from({ length: size }, (_, i) => loops(20, 'UTC', i))),
  },
  {
    title: '10 matchers of actors of N tests each',
    size: 100,
    at: (size) =>
      actorMatchers(
        ...Array.from({ length: 10 }, (_, i) =>
          repeated(size, (j) => `(claims.a${i}x${j} - claims.b${j} > ${j}.0)`, ' || '),
        ),
      ),
  },
  {
    title: 'N matchers of 50 choices each that a caller without claims may pass',
    size: 100,
    at: (size) =>
      roleMappings(
        ...Array.from(
          { length: size },
          (_, i) => `!has(claims.z${i}) || ${repeated(50, (j) => `${choices(3, j)} != ${i}`, ' || ')}`,
        ),
      ),
  },
  {
    title: 'N matchers of actors of 100 tests each',
    size: 300,
    at: (size) =>
      actorMatchers(
        ...Array.from({ length: size }, (_, i) =>
          repeated(100, (j) => `claims.a${i}x${j} == "${j}"`, ' || '),
        ),
      ),
  },
  {
    title: 'N upstream providers, every clientId changed',
    size: 10_000,
    at: (size) => updated(providers(size, 'p', 'old'), providers(size, 'p', 'new')),
  },
  {
    title: 'N upstream providers, all renamed',
    size: 10_000,
    at: (size) => updated(providers(size, 'old', 'c'), providers(size, 'new', 'c')),
  },
  {
    title: 'an issuer of N letters, of an embedded authorization server',
    size: 50_000,
    at: (size) => created(serverOf({ issuer: https(size) })),
  },
  {
    title: 'an issuer of N letters, of an upstream provider',
    size: 50_000,
    at: (size) => {
      const { oidcConfig, ...rest } = provider('okta', 'vmcp')
      return created(
        serverOf({ upstreamProviders: [{ ...rest, oidcConfig: { ...oidcConfig, issuerUrl: https(size) } }] }),
      )
    },
  },
  {
    title: 'a redirect URI of N letters',
    size: 1_000_000,
    at: (size) => {
      const { oidcConfig, ...rest } = provider('okta', 'vmcp')
      const redirecting = { ...oidcConfig, redirectUri: `${https(size)}/oauth/callback` }
      return created(serverOf({ upstreamProviders: [{ ...rest, oidcConfig: redirecting }] }))
    },
  },
  {
    title: 'N clients with patterns of SPIFFE IDs, every one changed',
    size: 10_000,
    at: (size) => {
      const spiffe = (name: string) =>
        serverOf({
          spiffeTrustDomains: [{ name: 'prod', trustDomain: 'example.com' }],
          inboundGrants: {
            spiffeClientAuth: Array.from({ length: size }, (_, i) => ({
              clientId: `agent-${i}`,
              principalPattern: `spiffe://example.com/${name}/${i}/*`,
            })),
          },
        })
      return updated(spiffe('old'), spiffe('new'))
    },
  },
  {
    title: 'an issuer of N letters, of an MCPOIDCConfig',
    size: 100_000,
    at: (size) => created(oidcConfig(https(size))),
  },
  {
    title: 'an annotation that ignores, with N blanks',
    size: 250_000,
    at: (size) => {
      const annotations = { 'toolhive.stacklok.dev/vmcp-admission-ignore': `x: y${' '.repeat(size)}!` }
      return updated(
        oidcConfig('https://idp.example.com'),
        oidcConfig('https://idp.example.com', { annotations }),
      )
    },
  },
  {
    title: 'three patterns of N dots',
    size: 9_800,
    at: (size) =>
      roleMappings(
        ...['', '^', '$'].map(
          (end) =>
            `claims.a.matches("${end === '^' ? end : ''}${'.'.repeat(size)}${end === '$' ? end : ''}")`,
        ),
      ),
  },
  {
    title: 'five patterns of N optional letters',
    size: 4_900,
    at: (size) =>
      roleMappings(
        ...['a', 'b', 'c', 'd', 'e'].map((claim) => `claims.${claim}.matches("${'a?'.repeat(size)}")`),
      ),
  },
  {
    title: 'a double of N zeros',
    size: 9_000,
    at: (size) => roleMappings(`double("${'0'.repeat(size)}x") > 0.5`),
  },
  {
    title: 'an assertion age of N terms',
    size: 700_000,
    at: (size) =>
      created(
        serverOf({
          trustedIssuers: [
            {
              issuerUrl: 'https://issuer.example.com',
              jwtBearerGrant: {
                maxAssertionAge: '0s'.repeat(size),
                subjectBindings: [{ subject: 'a', allowedResources: ['https://a.example.com'] }],
              },
            },
          ],
        }),
      ),
  },
  {
    title: 'a Cedar policy of N unfinished strings',
    size: 300_000,
    at: (size) => created(withPolicies({ policies: ['"\\'.repeat(size)] })),
  },
  {
    title: 'a Cedar policy of signs and brackets nested N deep',
    size: 40,
    at: (size) =>
      created(
        withPolicies({
          policies: [`${PERMIT} when { ${`${'!'.repeat(99)}(`.repeat(size)}true${')'.repeat(size)} };`],
        }),
      ),
  },
  {
    title: 'N Cedar entities of nothing',
    size: 100_000,
    at: (size) =>
      created(withPolicies({ policies: [`${PERMIT};`], entitiesJson: `[${'{},'.repeat(size)}{}]` })),
  },
  {
    title: 'N Cedar policies that permit, and as many that fail without a claim',
    size: 1_000,
    at: (size) =>
      created(
        withPolicies({
          policies: Array.from({ length: size }, (_, i) => [
            `permit(principal, action, resource) when { resource.name like "*a${i}*b*" };`,
            `permit(principal, action, resource) when { resource.name == "a${i}" && principal.claim_a == "b" };`,
          ]).flat(),
        }),
      ),
  },
]
