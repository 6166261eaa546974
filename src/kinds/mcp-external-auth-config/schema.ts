import { EmbeddedAuthServer } from '../embedded-auth-server/schema.ts'
import {
  filled,
  flag,
  int32,
  int64,
  list,
  like,
  matching,
  name,
  newer,
  object,
  oneOf,
  optional,
  text,
} from '../fields.ts'
import { providerName } from '../newer-parts.ts'
import { conditions, resource, secretRef, workloadReference } from '../parts.ts'
import { must, says } from '../../rule/index.ts'

export const roleMapping = object(
  {
    roleArn: matching('arn', 'Role to assume when the mapping matches.'),
    claim: optional(filled('Value to look for in the claim named by roleClaim. Not together with matcher.')),
    matcher: optional(
      filled('CEL expression over `claims`, a map of all JWT claims. Not together with claim.'),
    ),
    priority: optional(
      int32('Lower values are tried first; without one the mapping comes last, in list order.', {
        minimum: 0,
        statements: [
          says('2.4.1', 'Lower priority first; without one last; configuration order breaks ties.'),
          must('8', 'roleMappings[].priority: minimum 0.'),
        ],
      }),
    ),
  },
  'One rule for choosing a role.',
  { source: '2.4.1' },
)

const awsSts = object(
  {
    region: matching('region', 'AWS region of the STS endpoint and of the service.', { minLength: 1 }),
    service: optional(text('Service name used for signing (SigV4).', { default: 'aws-mcp' })),
    fallbackRoleArn: optional(matching('arn', 'Role to assume when no mapping matches.')),
    roleClaim: optional(text('JWT claim that mappings with claim look into.', { default: 'groups' })),
    roleMappings: optional(list(roleMapping, 'Rules that choose a role from the claims of the caller.')),
    sessionDuration: optional(
      int32('Lifetime of the role session in seconds.', {
        minimum: 900,
        maximum: 43200,
        default: 3600,
        statements: [must('8', 'awsSts.sessionDuration: 900 to 43200 seconds, default 3600.')],
      }),
    ),
    sessionNameClaim: optional(text('JWT claim used as the role session name.', { default: 'sub' })),
    subjectProviderName: newer(text('Upstream provider whose token is exchanged for the role.')),
  },
  'Requests are signed with SigV4 and temporary credentials of a role.',
  { source: '2.4.1' },
)

const tokenExchange = object(
  {
    tokenUrl: name('Token endpoint of the exchange (RFC 8693).', {
      statements: [must('2.4.5', 'tokenUrl is the token endpoint.')],
    }),
    audience: name('Audience of the exchanged token.'),
    clientId: optional(text('Client identifier at the token endpoint.')),
    clientSecretRef: optional(secretRef('Secret with the client secret.')),
    scopes: optional(list(text('Scope.'), 'Scopes of the exchanged token.')),
    subjectTokenType: optional(
      matching('subjectTokenType', 'Type of the subject token, short or as URN.', {
        default: 'access_token',
        statements: [
          must(
            '2.4.5',
            'subjectTokenType is access_token (default), id_token or jwt, or one of the full URNs.',
          ),
        ],
      }),
    ),
    externalTokenHeaderName: optional(text('Header for the exchanged token; Authorization when not given.')),
    subjectProviderName: optional(
      text(
        'Upstream provider whose token is exchanged; the first one of the VirtualMCPServer when not given.',
      ),
    ),
  },
  'The token of the caller is exchanged for one of the backend (RFC 8693).',
  { source: '2.4.5' },
)

/** Exchange of one provider's identity assertion for an access token of another provider; only in newer releases. */
const xaa = object(
  {
    idpTokenUrl: like('https', 'Token endpoint of the identity provider.'),
    idpClientId: optional(text('Client identifier there.')),
    idpClientSecretRef: optional(secretRef('Secret with the client secret there.')),
    targetTokenUrl: text('Token endpoint of the target.'),
    targetAudience: text('Audience of the target.'),
    targetClientId: optional(text('Client identifier at the target.')),
    targetClientSecretRef: optional(secretRef('Secret with the client secret at the target.')),
    targetResource: optional(text('Resource at the target (RFC 8707).')),
    scopes: optional(list(text('Scope.'), 'Scopes to request.')),
    subjectProviderName: optional(text('Upstream provider whose token is exchanged.')),
    subjectTokenType: optional(
      oneOf(['urn:ietf:params:oauth:token-type:id_token'], 'Type of that token; there is no other.'),
    ),
    insecureTargetTokenUrl: optional(flag('Allows plain http to the target.')),
  },
  'Cross-application access, with type xaa of newer releases.',
  { open: true },
)

/** The on-behalf-of flow of Microsoft Entra; only newer releases have it. */
const obo = object(
  {
    tenantId: optional(text('Tenant: a GUID or a domain.', { maxLength: 253 })),
    authority: optional(like('https', 'Authority.')),
    clientId: optional(text('Client identifier.')),
    clientSecretRef: optional(secretRef('Secret with the client secret.')),
    audience: optional(text('Audience of the token.')),
    scopes: optional(list(filled('Scope.', { maxLength: 256 }), 'Scopes to request.', { maxItems: 20 })),
    subjectTokenProviderName: optional(providerName('Upstream provider whose token is exchanged.')),
    cacheSkew: optional(text('How long before its end a token is renewed, as a Go duration.')),
  },
  'On-behalf-of, with type obo of newer releases; open-source builds refuse it.',
  { open: true },
)

export const AUTH_TYPES = [
  'tokenExchange',
  'headerInjection',
  'bearerToken',
  'unauthenticated',
  'embeddedAuthServer',
  'awsSts',
  'upstreamInject',
] as const

/** Specification, section 2.4. */
export const MCPExternalAuthConfig = resource(
  'MCPExternalAuthConfig',
  {
    spec: object(
      {
        type: oneOf(AUTH_TYPES, 'How to authenticate; the field of the same name holds the settings.', {
          statements: [must('2.4', 'type is one of seven values.')],
        }),
        awsSts: optional(awsSts),
        bearerToken: optional(
          object({ tokenSecretRef: secretRef('Secret with the bearer token.') }, 'A fixed bearer token.', {
            source: '2.4.2',
          }),
        ),
        embeddedAuthServer: optional(EmbeddedAuthServer),
        headerInjection: optional(
          object(
            {
              headerName: filled('Header to set.', {
                statements: [must('2.4.4', 'headerName is required and not empty: the header to inject.')],
              }),
              valueSecretRef: secretRef('Secret with the value of the header.'),
            },
            'A header with a fixed value.',
            { source: '2.4.4' },
          ),
        ),
        tokenExchange: optional(tokenExchange),
        obo: newer(obo, '0.29'),
        xaa: newer(xaa, '0.33'),
        upstreamInject: optional(
          object(
            { providerName: filled('Upstream provider whose access token is sent to the backend.') },
            'The stored access token of an upstream provider is sent as bearer token.',
            { source: '2.4.6' },
          ),
        ),
      },
      'How a workload authenticates to an external service.',
      { source: '2.4' },
    ),
    status: optional(
      object(
        {
          conditions: optional(conditions),
          configHash: optional(text('Hash of the current configuration.')),
          observedGeneration: optional(int64('Most recent generation that was observed.')),
          referencingWorkloads: optional(
            list(workloadReference, 'Workloads that refer to this configuration.'),
          ),
        },
        'What the operator observed.',
        { source: '2.4.7' },
      ),
    ),
  },
  'How a server or proxy authenticates to an external service.',
)
