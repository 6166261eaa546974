/** Settings of newer releases for clients, and for tokens that need no login of a user at an upstream provider. */

import { filled, flag, int32, map, like, newer, object, oneOf, optional, text } from '../fields.ts'
import { bounded, caBundleRef, OPEN, providerName } from '../newer-parts.ts'
import { secretRef } from '../parts.ts'

const audiences = bounded(
  filled('An audience.', { maxLength: 2048 }),
  10,
  'Audiences that the client may ask for.',
  1,
)
const scopes = bounded(filled('A scope.', { maxLength: 256 }), 10, 'Scopes that the client may ask for.', 1)

const url = (description: string) => like('url', description, { minLength: 1, maxLength: 2048 })

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

/** Fields that determine which clients and actors may exchange the tokens of an issuer. */
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
    '0.45',
  ),
  allowMayAct: optional(flag('Accepts actors that the claim may_act of the token names.')),
}

const jwtBearer = {
  maxAssertionAge: text('How old an assertion may be, as a Go duration.'),
  subjectBindings: bounded(
    object(
      {
        subject: filled('Subject of the assertion.', { maxLength: 256 }),
        allowedResources: bounded(url('A resource.'), 50, 'Resources that the subject may ask for.', 1),
      },
      'What one subject may ask for.',
      OPEN,
    ),
    50,
    'What each subject may ask for.',
    1,
  ),
  acceptedAudiences: optional(bounded(url('An audience.'), 50, 'Audiences of assertions.')),
}

const trustedIssuers = bounded(
  object(
    {
      name: newer(filled('Name that policies refer to.', { maxLength: 253 }), '0.47'),
      issuerUrl: filled('Issuer whose tokens are accepted.', { maxLength: 2048 }),
      jwksUrl: optional(text('URL of its keys; discovered when not given.', { maxLength: 2048 })),
      insecureAllowHTTP: optional(flag('Allows plain http.')),
      allowPrivateIPs: optional(flag('Allows keys at a private address.')),
      caBundleRef: newer(caBundleRef, '0.47'),
      jwtBearerGrant: newer(object(jwtBearer, 'Accepts its tokens as assertions (RFC 7523).', OPEN), '0.45'),
      ...delegation,
    },
    'An issuer whose tokens are accepted in exchanges.',
    OPEN,
  ),
  20,
  'Issuers whose tokens are accepted in exchanges.',
)

const issuerRef = filled('Name of one of the trusted issuers.', { maxLength: 253 })

const methods = bounded(
  oneOf(['spiffe_x509', 'spiffe_jwt'], 'A method.'),
  2,
  'How clients prove their SPIFFE ID.',
  1,
)

const inboundGrants = object(
  {
    tokenExchange: optional(
      object(
        {
          delegateClients: optional(delegateClients),
          issuerPolicies: optional(
            bounded(
              object({ issuerRef, ...delegation }, 'Policy for one issuer.', OPEN),
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
              object({ issuerRef, ...jwtBearer }, 'Policy for one issuer.', OPEN),
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
            clientId: filled('Client identifier; neither a URL nor synthetic:.', { maxLength: 253 }),
            trustDomainRef: filled('Name of one of the trust domains.', { maxLength: 253 }),
            principalPattern: text('SPIFFE ID of the client; may end in /*.', { maxLength: 2048 }),
            methods,
            scopes: bounded(filled('A scope.', { maxLength: 256 }), 50, 'Scopes it may ask for.', 1),
            audiences: bounded(
              filled('An audience.', { maxLength: 2048 }),
              50,
              'Audiences it may ask for.',
              1,
            ),
            resources: optional(bounded(url('A resource.'), 50, 'Resources it may ask for.')),
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

const spiffeTrustDomain = object(
  {
    name: filled('Name that clients refer to.', { maxLength: 253 }),
    trustDomain: filled('The trust domain, without spiffe://.', { maxLength: 255 }),
    methods,
    bundleSource: object(
      {
        type: oneOf(['bundle_endpoint', 'file', 'workload_api'], 'Where the keys of the domain are.'),
        endpoint: optional(
          object(
            {
              url: filled('URL of the bundle.', { maxLength: 2048 }),
              profile: oneOf(['https_web', 'https_spiffe'], 'How the endpoint proves who it is.'),
            },
            'A bundle endpoint. With type bundle_endpoint.',
            OPEN,
          ),
        ),
        file: newer(
          object(
            {
              configMapName: filled('Name of the ConfigMap.', { maxLength: 253 }),
              configMapKey: filled('Key within the ConfigMap.', { maxLength: 253 }),
            },
            'A ConfigMap with the bundle. With type file.',
            OPEN,
          ),
          '0.55',
        ),
        workloadAPI: optional(object({}, 'The SPIFFE Workload API. With type workload_api.', OPEN)),
      },
      'Where the keys of the domain come from.',
      OPEN,
    ),
  },
  'A SPIFFE trust domain.',
  OPEN,
)

/** The fields of newer releases that section 2.4.3 of the specification does not list, each with its first release. */
export const GRANTS = {
  delegateClients: newer(delegateClients, '0.43'),
  trustedIssuers: newer(trustedIssuers, '0.44'),
  inboundGrants: newer(inboundGrants, '0.47'),
  spiffeTrustDomains: newer(bounded(spiffeTrustDomain, 50, 'SPIFFE trust domains.', 1), '0.47'),
  tlsListener: newer(
    object(
      {
        certificateSecretRef: secretRef('Secret with the certificate.'),
        privateKeySecretRef: secretRef('Secret with the private key.'),
      },
      'Serves TLS on port 8443; SPIFFE X.509 needs it.',
      OPEN,
    ),
    '0.62',
  ),
  registrationRateLimit: newer(
    object(
      {
        maxTokens: int32('Registrations that are allowed at once.', { minimum: 1 }),
        refillPeriod: text('How long until as many are allowed again, as a Go duration.'),
      },
      'How often clients may register.',
      OPEN,
    ),
    '0.56',
  ),
  allowConfidentialClientRegistration: newer(flag('Lets clients register with a secret.'), '0.43'),
  allowPrivateKeyJWTRegistration: newer(flag('Lets clients register with a key of their own.'), '0.45'),
  insecureAllowConfidentialOverLoopbackHTTP: newer(
    flag('Allows that with an http issuer on loopback.'),
    '0.43',
  ),
  forceConfidentialRedirectUris: newer(
    bounded(like('https', 'A URL.'), 10, 'Redirect URIs whose clients must register with a secret.'),
    '0.43',
  ),
  baselineClientScopes: newer(
    bounded(filled('A scope.'), 10, 'Scopes that every registered client gets; advertised ones only.'),
    '0.27',
  ),
  cimd: newer(
    object(
      {
        enabled: optional(flag('Whether client identifiers may be URLs of metadata documents.')),
        cacheMaxSize: optional(int32('How many documents are kept.', { minimum: 1 })),
        cacheFallbackTtl: optional(like('duration', 'How long they are kept, as a Go duration.')),
      },
      'Client ID metadata documents.',
      OPEN,
    ),
    '0.29',
  ),
  primaryUpstreamProvider: newer(providerName('Provider whose token authorization policies see.'), '0.28'),
  disableUpstreamTokenInjection: newer(
    flag('Keeps the tokens of upstream providers from the backend.'),
    '0.30',
  ),
}

const registrationUrl = (description: string) => like('https', description, { maxLength: 2048 })

export const dcrConfig = object(
  {
    discoveryUrl: optional(registrationUrl('Where the registration endpoint is looked up.')),
    registrationEndpoint: optional(registrationUrl('Where the client is registered (RFC 7591).')),
    initialAccessTokenRef: optional(secretRef('Secret with the token that registration asks for.')),
    softwareId: optional(text('Identifier of the software.', { maxLength: 255 })),
    softwareStatement: optional(text('Signed statement about the software.', { maxLength: 16_384 })),
    rotationKey: newer(text('Another text makes it register a new client.', { maxLength: 64 }), '0.55'),
    registrationProbe: newer(
      oneOf(
        ['tokenEndpoint', 'authorizationEndpoint', 'none'],
        'Where it asks whether the client is still registered.',
      ),
      '0.57',
    ),
    registrationProbeInterval: newer(like('duration', 'How often it asks; at least 1m.'), '0.59'),
  },
  'Registers the client dynamically (newer releases).',
  OPEN,
)

/** The fields of newer releases for both types of upstream providers. */
export const OF_PROVIDERS = {
  additionalTokenParams: newer(
    map(text('Value of the parameter.'), 'Extra parameters of token requests.', { maxProperties: 16 }),
    '0.50',
  ),
  caBundleRef: newer(caBundleRef, '0.46'),
  omitScopeOnRefresh: newer(flag('Refreshes tokens without the parameter scope.'), '0.55'),
}

export const tokenEndpointAuthMethod = newer(
  oneOf(['none', 'client_secret_basic', 'client_secret_post'], 'How the client authenticates for tokens.'),
  '0.48',
)
