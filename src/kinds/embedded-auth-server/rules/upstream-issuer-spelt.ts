import { advice, defineRule, says } from '../../../rule/index.ts'
import { issuerErrors } from '../../known-issuers.ts'
import { server, withOidc } from '../examples.ts'
import { EmbeddedAuthServer } from '../schema.ts'

const NO_QUERY =
  'an issuer has no query and no fragment, and its metadata is not found behind one, so every login fails; write it without'

export const upstreamIssuerSpelt = defineRule({
  id: 'upstream-issuer-spelt',
  on: EmbeddedAuthServer,
  severity: 'warning',
  summary:
    'The issuers are written as in their metadata, not as the address of it; those of known identity providers with or without a slash.',
  why: 'The issuer in the metadata and in the tokens is compared as a text: one that differs by a slash is another one, so no endpoint is discovered and no token is accepted. Discovery appends the path of the metadata.',
  failure: {
    symptom:
      'the pod ends or logins fail: `issuer mismatch: expected https://….okta.com/, got https://….okta.com`',
    reportedBy: 'start-up',
    consequence: 'does not start',
  },
  sources: [says('2.4.3', 'issuerUrl is the issuer of the provider; its endpoints are discovered.')],
  *check({ upstreamProviders, trustedIssuers }, { path }) {
    const providers = upstreamProviders ?? []
    for (let i = 0; i < providers.length; i++) {
      const issuer = providers[i]?.oidcConfig?.issuerUrl
      if (!issuer) continue
      const place = () => path.upstreamProviders.at(i).oidcConfig.issuerUrl
      if (/[?#]/.test(issuer)) yield advice(place(), NO_QUERY)
      else yield* issuerErrors(place, issuer, 'every login fails')
    }
    if (trustedIssuers === undefined) return
    for (let i = 0; i < trustedIssuers.length; i++)
      yield* issuerErrors(
        () => path.trustedIssuers.at(i).issuerUrl,
        trustedIssuers[i]?.issuerUrl,
        'every token of it is refused',
      )
  },
  examples: {
    Okta: { value: withOidc({ issuerUrl: 'https://example.okta.com/oauth2/default' }) },
    'Auth0, whose issuer has one': { value: withOidc({ issuerUrl: 'https://example.eu.auth0.com/' }) },
    'a provider that is not known': { value: withOidc({ issuerUrl: 'https://idp.example.com/' }) },
    'Okta with a slash': {
      value: withOidc({ issuerUrl: 'https://example.okta.com/oauth2/default/' }),
      findings:
        "upstreamProviders[0].oidcConfig.issuerUrl: Okta writes its issuer without a slash at the end, so every login fails; write 'https://example.okta.com/oauth2/default'",
    },
    'Okta for the military with a slash': {
      value: withOidc({ issuerUrl: 'https://example.okta.mil/' }),
      findings:
        "upstreamProviders[0].oidcConfig.issuerUrl: Okta writes its issuer without a slash at the end, so every login fails; write 'https://example.okta.mil'",
    },
    'the address of the metadata': {
      value: withOidc({ issuerUrl: 'https://sso.example.com/realms/a/.well-known/openid-configuration' }),
      findings:
        "upstreamProviders[0].oidcConfig.issuerUrl: is the address of the metadata of an issuer, so every login fails; write 'https://sso.example.com/realms/a'",
    },
    'a query': {
      value: withOidc({ issuerUrl: 'https://idp.example.com/v2.0?p=sign-in' }),
      findings: `upstreamProviders[0].oidcConfig.issuerUrl: ${NO_QUERY}`,
    },
    'a trusted issuer of Auth0 without one': {
      value: {
        ...server,
        trustedIssuers: [
          {
            name: 'auth0',
            issuerUrl: 'https://example.auth0.com',
            expectedAudience: 'https://mcp.example.com',
            allowedActors: ['agent'],
          },
        ],
      },
      findings:
        "trustedIssuers[0].issuerUrl: Auth0 writes its issuer with a slash at the end, so every token of it is refused; write 'https://example.auth0.com/'",
    },
  },
})
