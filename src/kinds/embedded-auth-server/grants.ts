/** Settings of newer releases for clients and tokens that come without a login at an upstream provider. */

import { type TSchema } from 'typebox'
import { filled, flag, int32, LATER, list, map, newer, object, oneOf, optional, text } from '../fields.ts'
import { secretRef } from '../parts.ts'

/** What each of the settings of newer releases may hold is theirs to extend. */
const OPEN = { open: true } as const

const bounded = <T extends TSchema>(item: T, most: number, description: string, least = 0) =>
  list(item, description, { ...(least > 0 && { minItems: least }), maxItems: most })

const audiences = bounded(
  filled('An audience.', { maxLength: 2048 }),
  10,
  'Audiences that the client may ask for.',
  1,
)
const scopes = bounded(filled('A scope.', { maxLength: 256 }), 10, 'Scopes that the client may ask for.', 1)

export const caBundleRef = object(
  {
    configMapRef: optional(
      object(
        {
          name: text('Name of the ConfigMap, in the same namespace.'),
          key: text('Key within the ConfigMap.'),
        },
        'ConfigMap with the certificates.',
        OPEN,
      ),
    ),
  },
  'PEM certificates of authorities that are trusted beside those of the system.',
  OPEN,
)

const delegateClients = bounded(
  object(
    {
      clientId: filled('Client identifier.', { maxLength: 256 }),
      clientSecretRef: secretRef('Secret with the client secret, of at least 32 characters.'),
      scopes,
      audiences,
    },
    'A client that exchanges tokens of users for its own (RFC 8693).',
    OPEN,
  ),
  10,
  'Clients that may exchange tokens of users (RFC 8693).',
)

/** Which clients and actors may exchange the tokens of an issuer. */
const delegation = {
  expectedAudience: optional(filled('Audience that subject tokens must have.', { maxLength: 2048 })),
  allowedDelegateClients: optional(
    bounded(
      filled('A client identifier.', { maxLength: 256 }),
      50,
      'Clients that may exchange the tokens; `*` is any.',
      1,
    ),
  ),
  actorClaim: optional(text('Claim that names the actor; azp by default.', { maxLength: 64 })),
  allowedActors: optional(bounded(filled('An actor.', { maxLength: 256 }), 50, 'Actors that are accepted.')),
  actorMatcher: newer(
    text('CEL expression over `claims`: true where the actor is accepted.', { maxLength: 4096 }),
    LATER,
  ),
  allowMayAct: optional(flag('Accepts actors that the claim may_act of the token names.')),
}

const jwtBearer = {
  maxAssertionAge: optional(text('How old an assertion may be, as a Go duration.')),
  subjectBindings: optional(
    bounded(
      object(
        {
          subject: filled('Subject of the assertion.'),
          allowedResources: optional(
            bounded(filled('A URI.'), 50, 'Resources that the subject may ask for.', 1),
          ),
        },
        'What one subject may ask for.',
        OPEN,
      ),
      50,
      'What each subject may ask for.',
      1,
    ),
  ),
  acceptedAudiences: optional(bounded(filled('An audience.'), 50, 'Audiences of assertions.')),
}

const trustedIssuers = bounded(
  object(
    {
      name: newer(text('Name that policies refer to.', { maxLength: 253 }), LATER),
      issuerUrl: filled('Issuer whose tokens are accepted.', { maxLength: 2048 }),
      jwksUrl: optional(text('URL of its keys; discovered when not given.', { maxLength: 2048 })),
      insecureAllowHTTP: optional(flag('Allows plain http.')),
      allowPrivateIPs: optional(flag('Allows keys at a private address.')),
      caBundleRef: newer(caBundleRef, LATER),
      jwtBearerGrant: newer(object(jwtBearer, 'Accepts its tokens as assertions (RFC 7523).', OPEN), LATER),
      ...delegation,
    },
    'An issuer whose tokens are accepted in exchanges.',
    OPEN,
  ),
  20,
  'Issuers whose tokens are accepted in exchanges.',
)

const issuerRef = text('Name of one of the trusted issuers.')

const inboundGrants = object(
  {
    tokenExchange: optional(
      object(
        {
          delegateClients: optional(delegateClients),
          issuerPolicies: optional(
            bounded(
              object({ issuerRef: optional(issuerRef), ...delegation }, 'Policy for one issuer.', OPEN),
              20,
              'Policies by issuer.',
            ),
          ),
        },
        'Token exchange (RFC 8693); may be empty.',
        OPEN,
      ),
    ),
    jwtBearer: optional(
      object(
        {
          issuerPolicies: optional(
            bounded(
              object({ issuerRef: optional(issuerRef), ...jwtBearer }, 'Policy for one issuer.', OPEN),
              20,
              'Policies by issuer.',
            ),
          ),
        },
        'JWT bearer assertions (RFC 7523); may be empty.',
        OPEN,
      ),
    ),
    spiffeClientAuth: optional(
      bounded(
        object(
          {
            clientId: optional(text('Client identifier; neither a URL nor synthetic:.')),
            trustDomain: optional(text('Name of one of the trust domains.')),
            spiffeIdPattern: optional(text('SPIFFE ID of the client; may end in /*.')),
          },
          'A client that authenticates by its SPIFFE ID.',
          OPEN,
        ),
        100,
        'Clients that authenticate by their SPIFFE ID.',
      ),
    ),
  },
  'Grants for clients without a login.',
  OPEN,
)

/** The fields of newer releases beside those of section 2.4.3, each with the release that brought it. */
export const GRANTS = {
  delegateClients: newer(delegateClients, '0.43'),
  trustedIssuers: newer(trustedIssuers, '0.44'),
  inboundGrants: newer(inboundGrants, LATER),
  spiffeTrustDomains: newer(
    bounded(
      object({ name: optional(text('Name of the trust domain.')) }, 'A SPIFFE trust domain.', OPEN),
      50,
      'SPIFFE trust domains.',
    ),
    LATER,
  ),
  tlsListener: newer(
    object(
      {
        certificateSecretRef: optional(secretRef('Secret with the certificate.')),
        privateKeySecretRef: optional(secretRef('Secret with the private key.')),
      },
      'Serves TLS on port 8443; SPIFFE X.509 needs it.',
      OPEN,
    ),
    LATER,
  ),
  allowConfidentialClientRegistration: newer(flag('Lets clients register with a secret.'), '0.43'),
  allowPrivateKeyJWTRegistration: newer(flag('Lets clients register with a key of their own.'), LATER),
  insecureAllowConfidentialOverLoopbackHTTP: newer(
    flag('Allows that with an http issuer on loopback.'),
    '0.43',
  ),
  forceConfidentialRedirectUris: newer(
    bounded(text('An https URL.'), 10, 'Redirect URIs whose clients must register with a secret.'),
    '0.43',
  ),
  baselineClientScopes: newer(
    bounded(filled('A scope.'), 10, 'Scopes that every registered client gets; advertised ones only.'),
    '0.27',
  ),
  cimd: newer(
    object(
      {
        enabled: flag('Whether client identifiers may be URLs of metadata documents.'),
        cacheMaxSize: optional(int32('How many documents are kept.')),
        cacheFallbackTtl: optional(text('How long they are kept, as a Go duration.')),
      },
      'Client ID metadata documents.',
      OPEN,
    ),
    '0.29',
  ),
  primaryUpstreamProvider: newer(
    text('Provider whose token authorization policies see.', { maxLength: 63 }),
    '0.28',
  ),
  disableUpstreamTokenInjection: newer(
    flag('Keeps the tokens of upstream providers from the backend.'),
    '0.30',
  ),
}

export const dcrConfig = object(
  {
    discoveryUrl: optional(text('Where the registration endpoint is looked up.', { maxLength: 2048 })),
    registrationEndpoint: optional(text('Where the client is registered (RFC 7591).', { maxLength: 2048 })),
    initialAccessTokenRef: optional(secretRef('Secret with the token that registration asks for.')),
    softwareId: optional(text('Identifier of the software.', { maxLength: 255 })),
    softwareStatement: optional(text('Signed statement about the software.', { maxLength: 16_384 })),
  },
  'Registers the client dynamically (newer releases).',
  OPEN,
)

/** The fields of newer releases that both types of providers have. */
export const OF_PROVIDERS = {
  additionalTokenParams: newer(
    map(text('Value of the parameter.'), 'Extra parameters of token requests.'),
    LATER,
  ),
  tokenEndpointAuthMethod: newer(
    oneOf(['none', 'client_secret_basic', 'client_secret_post'], 'How the client authenticates for tokens.'),
    LATER,
  ),
  caBundleRef: newer(caBundleRef, LATER),
}
