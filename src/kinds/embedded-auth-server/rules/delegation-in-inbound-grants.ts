import {
  advice,
  defineRule,
  type FieldError,
  type Fix,
  isAbsent,
  segmentsOf,
  type Path,
} from '../../../rule/index.ts'
import { agent, granting, partner, server, trusting } from '../examples.ts'
import { isUnreadable, type Server } from '../effective.ts'
import { hasDelegationPolicy, mayHaveDelegationPolicy, type TrustedIssuer } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

/** The deprecated fields for token exchange (RFC 8693) in a trusted issuer, in the order of the CRD. */
const POLICY = [
  'expectedAudience',
  'actorClaim',
  'allowedActors',
  'actorMatcher',
  'allowedDelegateClients',
  'allowMayAct',
] as const
const SINCE = 'deprecated since release 0.47'
const POLICIES = (grant: string) =>
  `\`inboundGrants.${grant}.issuerPolicies\`, with the name of the issuer as \`issuerRef\``

export const delegationInInboundGrants = defineRule({
  id: 'delegation-in-inbound-grants',
  on: EmbeddedAuthServer,
  needs: ['delegateClients', 'trustedIssuers'],
  appliesTo: { from: '0.47', orUnknown: true },
  severity: 'advice',
  summary:
    'Delegate clients and the policies of trusted issuers are in `inboundGrants`, not in the older fields.',
  why: 'Releases from 0.47 on read both and set the condition DeprecatedInboundGrantConfiguration; a later one may stop. A grant cannot be configured in both places.',
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    const { delegateClients, trustedIssuers = [] } = server
    const hasClients = delegateClients !== undefined && delegateClients.length > 0
    const withPolicy = trustedIssuers.filter((issuer) => issuer !== undefined && hasDelegationPolicy(issuer))
    const withGrant = trustedIssuers.filter((issuer) => issuer?.jwtBearerGrant !== undefined)
    if (!hasClients && withPolicy.length === 0 && withGrant.length === 0) return
    const fixes = {
      exchange: fixOf(server, segmentsOf(path), 'tokenExchange'),
      assertions: fixOf(server, segmentsOf(path), 'jwtBearer'),
    }
    if (hasClients)
      yield fixed(
        advice(path.delegateClients, `${SINCE}: move it to \`inboundGrants.tokenExchange.delegateClients\``),
        fixes.exchange,
      )
    for (const [i, issuer] of trustedIssuers.entries()) {
      if (issuer === undefined) continue
      const here = path.trustedIssuers.at(i)
      for (const field of hasDelegationPolicy(issuer) ? policyFields(issuer) : []) {
        const at: Path<unknown> = here[field]
        yield fixed(advice(at, `${SINCE}: move it to ${POLICIES('tokenExchange')}`), fixes.exchange)
      }
      if (issuer.jwtBearerGrant !== undefined)
        yield fixed(
          advice(here.jwtBearerGrant, `${SINCE}: move it to ${POLICIES('jwtBearer')}`),
          fixes.assertions,
        )
    }
  },
  examples: {
    'the fields of newer releases': {
      value: granting({
        tokenExchange: {
          delegateClients: [agent],
          issuerPolicies: [
            {
              issuerRef: 'partner',
              expectedAudience: 'https://mcp.example.com',
              allowedDelegateClients: ['agent'],
              allowedActors: ['orchestrator'],
            },
          ],
        },
      }),
    },
    'no grants without a login': { value: server },
    'clients that are registered in advance': {
      value: { ...server, delegateClients: [agent] },
      findings:
        'delegateClients: deprecated since release 0.47: move it to `inboundGrants.tokenExchange.delegateClients`',
    },
    'the policies of an issuer for both grants': {
      value: trusting({
        ...partner,
        jwtBearerGrant: {
          maxAssertionAge: '5m',
          subjectBindings: [{ subject: 'ci', allowedResources: ['https://mcp.example.com'] }],
        },
      }),
      findings: [
        `trustedIssuers[0].expectedAudience: ${SINCE}: move it to ${POLICIES('tokenExchange')}`,
        `trustedIssuers[0].allowedActors: ${SINCE}: move it to ${POLICIES('tokenExchange')}`,
        `trustedIssuers[0].allowedDelegateClients: ${SINCE}: move it to ${POLICIES('tokenExchange')}`,
        `trustedIssuers[0].jwtBearerGrant: ${SINCE}: move it to ${POLICIES('jwtBearer')}`,
      ],
    },
  },
})

const policyFields = (issuer: TrustedIssuer) => POLICY.filter((field) => issuer[field] !== undefined)
/** The deprecated fields that an issuer has, including those with a wrong JSON type, such as a placeholder. */
const givenFields = (issuer: TrustedIssuer) => POLICY.filter((field) => !isAbsent(issuer, field))

const fixed = (error: FieldError, fix: Fix | undefined): FieldError =>
  fix === undefined ? error : { ...error, fix }

type Moves = Fix['edits'][number] & { readonly op: 'move' }

/**
 * The fix that moves the deprecated settings of a grant to `inboundGrants`; undefined when `inboundGrants` has the
 * grant already, or when a setting has a wrong JSON type.
 */
function fixOf(server: Server, at: Moves['at'], grant: 'tokenExchange' | 'jwtBearer'): Fix | undefined {
  const { trustedIssuers = [], inboundGrants } = server
  const isRead = !isUnreadable(server, 'inboundGrants') && !isUnreadable(server, 'trustedIssuers')
  if (!isRead || inboundGrants?.[grant] !== undefined) return undefined
  const moves: { from: string[]; to: string[] }[] = []
  const adds: { at: string[]; value: string | boolean }[] = []
  if (grant === 'tokenExchange' && !isAbsent(server, 'delegateClients'))
    moves.push({ from: ['delegateClients'], to: ['inboundGrants', grant, 'delegateClients'] })
  const names = new Set(trustedIssuers.map((issuer) => issuer?.name))
  let policies = 0
  for (const [i, issuer] of trustedIssuers.entries()) {
    if (issuer === undefined || isUnreadable(issuer, 'name') || isUnreadable(issuer, 'jwtBearerGrant'))
      return undefined
    const own = ['trustedIssuers', String(i)]
    const from =
      grant === 'jwtBearer'
        ? Object.keys(issuer.jwtBearerGrant ?? {}).map((field) => [...own, 'jwtBearerGrant', field])
        : mayHaveDelegationPolicy(issuer)
          ? givenFields(issuer).map((field) => [...own, field])
          : []
    if (from.length === 0) continue
    const name = issuer.name ?? freeName(issuer.issuerUrl, names)
    if (name === undefined) return undefined
    if (issuer.name === undefined) adds.push({ at: [...own, 'name'], value: name })
    names.add(name)
    const to = ['inboundGrants', grant, 'issuerPolicies', String(policies++)]
    adds.push({ at: [...to, 'issuerRef'], value: name })
    for (const place of from) moves.push({ from: place, to: [...to, place.at(-1) ?? ''] })
    // When `allowedDelegateClients` contains `*`, the CRD of some releases requires `allowMayAct` in `inboundGrants`,
    // and has no default for it.
    if (
      grant === 'tokenExchange' &&
      issuer.allowedDelegateClients?.includes('*') &&
      isAbsent(issuer, 'allowMayAct')
    )
      adds.push({ at: [...to, 'allowMayAct'], value: false })
  }
  if (moves.length === 0) return undefined
  return { title: `move it to \`inboundGrants.${grant}\``, edits: [{ op: 'move', at, moves, adds }] }
}

/** A name for a trusted issuer without a name: its host; undefined when the host is not known or is in `names`. */
function freeName(issuerUrl: string | undefined, names: ReadonlySet<string | undefined>): string | undefined {
  const host = /^https?:\/\/([a-z0-9.-]+)/.exec(issuerUrl ?? '')?.[1]
  return host === undefined || names.has(host) ? undefined : host
}
