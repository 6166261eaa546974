import { advice, defineRule, isAbsent } from '../../../rule/index.ts'
import { hasNoProviders, isUnreadable } from '../effective.ts'
import { agent, server, without } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const tokenOnly = without(server, 'upstreamProviders')
const NOBODY =
  'without an upstream provider, add `delegateClients`, or a policy in `jwtBearer`: the server does not start else'

export const tokenOnlyServerHasCaller = defineRule({
  id: 'token-only-server-has-caller',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'A server without upstream providers has a delegate client, or an issuer whose assertions it accepts.',
  why: 'The CRD accepts an empty grant, with which nobody could get a token. The server does not start.',
  failure: {
    symptom:
      'the pod ends at start, or AuthServerConfigValidated=False, with "at least one upstream is required unless delegate clients or a trusted issuer with JWT bearer grant is configured"',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: 'from 0.47 on',
    threads: ['stacklok/toolhive#6452'],
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    const { inboundGrants } = server
    if (!hasNoProviders(server)) return
    if (!inboundGrants || isUnreadable(server, 'delegateClients') || isUnreadable(server, 'trustedIssuers'))
      return
    const { tokenExchange = {}, jwtBearer = {} } = inboundGrants
    if (isAbsent(inboundGrants, 'tokenExchange') && isAbsent(inboundGrants, 'jwtBearer')) return
    const isUnknown =
      isUnreadable(inboundGrants, 'tokenExchange') ||
      isUnreadable(inboundGrants, 'jwtBearer') ||
      isUnreadable(tokenExchange, 'delegateClients') ||
      isUnreadable(jwtBearer, 'issuerPolicies')
    const callers = [
      ...(server.delegateClients ?? []),
      ...(tokenExchange.delegateClients ?? []),
      ...(jwtBearer.issuerPolicies ?? []),
      ...(server.trustedIssuers ?? []).filter((issuer) => !issuer || !isAbsent(issuer, 'jwtBearerGrant')),
    ]
    if (!isUnknown && callers.length === 0) yield advice(path.inboundGrants, NOBODY)
  },
  examples: {
    'a client': { value: { ...tokenOnly, inboundGrants: { tokenExchange: { delegateClients: [agent] } } } },
    'a provider': { value: { ...server, inboundGrants: { tokenExchange: {} } } },
    'an empty grant': {
      value: { ...tokenOnly, inboundGrants: { tokenExchange: {} } },
      findings: `inboundGrants: ${NOBODY}`,
    },
  },
})
