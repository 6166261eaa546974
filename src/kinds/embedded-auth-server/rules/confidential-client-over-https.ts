import { advice, defineRule, forbidden, isLoopback, parseUrl } from '../../../rule/index.ts'
import { agent, server } from '../examples.ts'
import { mayBeTrue } from '../effective.ts'
import { delegateClients } from '../inbound-grants.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const WITH_SECRETS = 'confidential clients (`allowConfidentialClientRegistration`, `delegateClients`)'

export const confidentialClientOverHttps = defineRule({
  id: 'confidential-client-over-https',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'A server that gives secrets to clients, or has delegate clients, is reached over https.',
  why: 'Client secrets would cross the network in plain text: the API server or the operator refuses the combination. On loopback hosts `insecureAllowConfidentialOverLoopbackHTTP` allows it.',
  failure: {
    symptom:
      'the API server says "insecureAllowHTTP cannot be combined with confidential client registration", or Valid=False says "client credentials, authorization codes and tokens would cross cleartext HTTP"',
    reportedBy: 'API server',
    consequence: 'does not start',
    releases: 'from 0.43 on',
    threads: ['stacklok/toolhive#6423'],
  },
  sources: ['decision 3'],
  *check(server, { path }) {
    if (server.allowConfidentialClientRegistration !== true && delegateClients(server, path).length === 0)
      return
    if (server.insecureAllowHTTP === true)
      yield forbidden(
        path.insecureAllowHTTP,
        `may not be true beside ${WITH_SECRETS}: the API server or the operator refuses secrets in plain text`,
      )
    else if (
      server.issuer?.startsWith('http:') &&
      isLoopback(parseUrl(server.issuer)?.host ?? '') &&
      !mayBeTrue(server, 'insecureAllowHTTP') &&
      !mayBeTrue(server, 'insecureAllowConfidentialOverLoopbackHTTP')
    )
      yield advice(
        path.issuer,
        `use 'https://' beside ${WITH_SECRETS}, or set \`insecureAllowConfidentialOverLoopbackHTTP: true\`: the operator refuses http`,
      )
  },
  examples: {
    https: { value: { ...server, allowConfidentialClientRegistration: true } },
    'a loopback host': {
      value: {
        ...server,
        issuer: 'http://localhost:8080',
        delegateClients: [agent],
        insecureAllowConfidentialOverLoopbackHTTP: true,
      },
    },
    'public clients over http': {
      value: { ...server, issuer: 'http://auth.internal', insecureAllowHTTP: true },
    },
    'secrets over http': {
      value: {
        ...server,
        issuer: 'http://auth.internal',
        insecureAllowHTTP: true,
        allowConfidentialClientRegistration: true,
      },
      findings:
        'insecureAllowHTTP: Forbidden: may not be true beside confidential clients (`allowConfidentialClientRegistration`, `delegateClients`): the API server or the operator refuses secrets in plain text',
    },
    'secrets over http, for clients of both sorts': {
      value: {
        ...server,
        issuer: 'http://auth.internal',
        insecureAllowHTTP: true,
        allowConfidentialClientRegistration: true,
        delegateClients: [agent],
      },
      findings:
        'insecureAllowHTTP: Forbidden: may not be true beside confidential clients (`allowConfidentialClientRegistration`, `delegateClients`): the API server or the operator refuses secrets in plain text',
    },
    'a delegate client on a loopback host': {
      value: { ...server, issuer: 'http://localhost:8080', delegateClients: [agent] },
      findings:
        "issuer: use 'https://' beside confidential clients (`allowConfidentialClientRegistration`, `delegateClients`), or set `insecureAllowConfidentialOverLoopbackHTTP: true`: the operator refuses http",
    },
  },
})
