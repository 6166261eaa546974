import {
  defineRule,
  duplicate,
  isAbsent,
  MOST_HINTS,
  nearest,
  notFound,
  shortQuote,
} from '../../../rule/index.ts'
import { granting, partner, trusting } from '../examples.ts'
import { isUnreadable, type Server } from '../effective.ts'
import { policiesOf, type TrustedIssuer } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const policy = {
  issuerRef: 'partner',
  expectedAudience: 'https://mcp.example.com',
  allowedDelegateClients: ['agent'],
  allowedActors: ['orchestrator'],
}

const REFUSED = 'the API server refuses it (from 0.48 on)'

export const inboundGrantIssuerTrusted = defineRule({
  id: 'inbound-grant-issuer-trusted',
  on: EmbeddedAuthServer,
  needs: ['inboundGrants'],
  severity: 'warning',
  summary: 'Each policy of `inboundGrants` refers to the name of a trusted issuer, at most one to each.',
  why: 'The API server refuses the resource.',
  failure: {
    symptom: 'the API server says "every tokenExchange issuerRef must reference a named trusted issuer"',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.48 on',
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const names = issuerNames(server)
    if (names === undefined) return
    const known = new Set(names)
    let hints = MOST_HINTS
    for (const grant of ['tokenExchange', 'jwtBearer'] as const) {
      const seen = new Set<string>()
      for (const [i, policy] of policiesOf(server, grant).entries()) {
        const ref = policy?.issuerRef
        if (!ref) continue
        const place = path.inboundGrants[grant].issuerPolicies.at(i).issuerRef
        if (!known.has(ref)) yield notFound(place, ref, unknownName(ref, names, hints-- > 0))
        else if (seen.has(ref)) yield duplicate(place, ref, `keep one policy for each issuer, or ${REFUSED}`)
        seen.add(ref)
      }
    }
  },
  examples: {
    'a policy for a name': { value: granting({ tokenExchange: { issuerPolicies: [policy] } }) },
    'a policy in the issuer itself': { value: trusting(partner) },
    'a name that is not there, and the URL of an issuer': {
      value: granting({
        tokenExchange: {
          issuerPolicies: [policy, { ...policy, issuerRef: 'https://login.partner.example' }],
        },
        jwtBearer: {
          issuerPolicies: [
            {
              issuerRef: 'partners',
              maxAssertionAge: '5m',
              subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com'] }],
            },
          ],
        },
      }),
      findings: [
        'inboundGrants.tokenExchange.issuerPolicies[1].issuerRef: Not found: "https://login.partner.example": is not a name in `trustedIssuers`, so the API server refuses it (from 0.48 on); there is "partner"',
        'inboundGrants.jwtBearer.issuerPolicies[0].issuerRef: Not found: "partners": is not a name in `trustedIssuers`, so the API server refuses it (from 0.48 on); did you mean "partner"',
      ],
    },
    'two policies for one issuer': {
      value: granting({ tokenExchange: { issuerPolicies: [policy, policy] } }),
      findings:
        'inboundGrants.tokenExchange.issuerPolicies[1].issuerRef: Duplicate value: "partner": keep one policy for each issuer, or the API server refuses it (from 0.48 on)',
    },
  },
})

function unknownName(ref: string, names: readonly string[], isHinted: boolean): string {
  const near = isHinted ? nearest(ref, names) : undefined
  const known = names.length <= 3 ? names.map((name) => shortQuote(name)).join(', ') : ''
  const hint =
    near !== undefined ? `; did you mean ${shortQuote(near)}` : known === '' ? '' : `; there is ${known}`
  return `is not a name in \`trustedIssuers\`, so ${REFUSED}${hint}`
}

/** The names of the trusted issuers; undefined when one of the issuers or names has a wrong JSON type. */
function issuerNames(server: Server): readonly string[] | undefined {
  const { trustedIssuers = [] } = server
  const isReadable = (issuer: TrustedIssuer | undefined) =>
    issuer !== undefined && (issuer.name !== undefined || isAbsent(issuer, 'name'))
  if (!trustedIssuers.every(isReadable) || isUnreadable(server, 'trustedIssuers')) return undefined
  return trustedIssuers.flatMap((issuer) => issuer?.name ?? [])
}
