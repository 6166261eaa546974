import { advice, defineRule, isInsideCluster, isLoopback, parseUrl } from '../../../rule/index.ts'
import { githubConfig, withOAuth2, withOidc } from '../examples.ts'
import { mayBeTrue } from '../effective.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const INSIDE =
  'is at a private address, to which the server does not connect: set `allowPrivateIPs: true` beside it, or'

export const upstreamAddressAllowed = defineRule({
  id: 'upstream-address-allowed',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary: 'A provider at a private address or inside the cluster has `allowPrivateIPs: true`.',
  why: 'The server connects to public addresses only. An issuer is discovered at start, so new pods do not start while old ones serve on; the endpoints of OAuth 2.0 fail at the login.',
  failure: {
    symptom:
      'the log says "the provided URL redirects to a private IP address, which is not allowed"; a new pod crashes while the old one serves on',
    reportedBy: 'start-up',
    consequence: 'does not start',
    releases: '`allowPrivateIPs` of oidcConfig is of 0.46 and later, of oauth2Config of 0.43',
    threads: ['joryirving/home-ops#9137', 'stacklok/toolhive#4523'],
  },
  sources: ['decision 3', 'decision 21'],
  *check(server, { path }) {
    if (mayBeTrue(server, 'insecureAllowHTTP')) return
    const { upstreamProviders = [] } = server
    for (let i = 0; i < upstreamProviders.length; i++) {
      const provider = upstreamProviders[i]
      const { oidcConfig, oauth2Config } = provider ?? {}
      const here = path.upstreamProviders.at(i)
      if (oidcConfig && isRefused(oidcConfig, oidcConfig.issuerUrl))
        yield advice(here.oidcConfig.issuerUrl, `${INSIDE} new pods do not start`)
      if (!oauth2Config || mayBeTrue(oauth2Config, 'insecureAllowHTTP')) continue
      if (isRefused(oauth2Config, oauth2Config.tokenEndpoint))
        yield advice(here.oauth2Config.tokenEndpoint, `${INSIDE} logins fail`)
      if (isRefused(oauth2Config, oauth2Config.userInfo?.endpointUrl))
        yield advice(here.oauth2Config.userInfo.endpointUrl, `${INSIDE} logins fail`)
    }
  },
  examples: {
    'a public provider': { value: withOidc({}) },
    'a provider in the cluster, allowed': {
      value: withOidc({
        issuerUrl: 'https://keycloak.auth.svc.cluster.local/realms/prod',
        allowPrivateIPs: true,
      }),
    },
    'an authorization endpoint in the network of the users, whose browsers call it': {
      value: withOAuth2({ ...githubConfig, authorizationEndpoint: 'https://10.0.0.7/authorize' }),
    },
    'a Service and an address': {
      value: withOidc({ issuerUrl: 'https://keycloak.auth.svc/realms/prod' }),
      findings: `upstreamProviders[0].oidcConfig.issuerUrl: ${INSIDE} new pods do not start`,
    },
    endpoints: {
      value: withOAuth2({
        ...githubConfig,
        tokenEndpoint: 'https://192.168.1.20/token',
        userInfo: { endpointUrl: 'https://192.168.1.20/user' },
      }),
      findings: [
        `upstreamProviders[0].oauth2Config.tokenEndpoint: ${INSIDE} logins fail`,
        `upstreamProviders[0].oauth2Config.userInfo.endpointUrl: ${INSIDE} logins fail`,
      ],
    },
  },
})

/** Whether the authorization server refuses the address of a provider because it is private, and not loopback. */
function isRefused(
  config: { readonly allowPrivateIPs?: boolean | undefined },
  text: string | undefined,
): boolean {
  if (!text || mayBeTrue(config, 'allowPrivateIPs')) return false
  const host = parseUrl(text)?.host ?? ''
  return isInsideCluster(host) && !isLoopback(host)
}
