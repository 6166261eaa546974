/** Schemas of fields that several kinds have in operator releases, but not in the specification. */

import type { TSchema } from 'typebox'
import { filled, flag, int32, list, map, like, name, newer, object, oneOf, optional, text } from './fields.ts'
import { secretRef } from './parts.ts'

/** Marks the schema of an object to which operator releases may add fields that this schema does not have. */
export const OPEN = { open: true } as const

/** The schema of a list with at least `least` and at most `most` items. */
export const bounded = <T extends TSchema>(item: T, most: number, description: string, least = 0) =>
  list(item, description, { ...(least > 0 && { minItems: least }), maxItems: most })

/** The schema of an upstream provider's name, in a field that only operator releases have, not the specification. */
export const providerName = (description: string) =>
  like('dnsLabel', description, { minLength: 1, maxLength: 63 })

const bundleRef = (description: string) =>
  object(
    {
      configMapRef: optional(
        object(
          {
            name: optional(text('Name of the ConfigMap, in the same namespace.')),
            key: text('Key within the ConfigMap.'),
            optional: optional(flag('Whether the ConfigMap may be absent.')),
          },
          'ConfigMap with the certificates.',
          OPEN,
        ),
      ),
    },
    description,
    OPEN,
  )

export const caBundleRef = bundleRef(
  'PEM certificates of authorities that are trusted beside those of the system.',
)

export const soleCaBundleRef = bundleRef(
  'PEM certificates of the authorities that are trusted, in place of those of the system.',
)

/** `authzConfig`: Cedar policies that decide which callers may do what. */
export const AuthzConfig = object(
  {
    type: optional(oneOf(['configMap', 'inline'], 'Where the policies are; configMap when not given.')),
    configMap: optional(
      object(
        { name: text('Name of the ConfigMap.'), key: optional(text('Key within the ConfigMap.')) },
        'ConfigMap with the policies. With type configMap.',
        OPEN,
      ),
    ),
    inline: optional(
      object(
        {
          policies: list(text('A Cedar policy.'), 'Cedar policies.', { minItems: 1 }),
          entitiesJson: optional(text('Cedar entities, as JSON.')),
          primaryUpstreamProvider: newer(
            providerName(
              'Provider whose claims the policies see; newer releases have it in authServerConfig.',
            ),
            '0.27',
          ),
        },
        'The policies themselves. With type inline.',
        OPEN,
      ),
    ),
    groupClaimName: newer(text('Claim with the groups of the caller.', { maxLength: 253 }), '0.28'),
    groupEntityType: newer(text('Type of the Cedar entities of groups.', { maxLength: 63 }), '0.28'),
    roleClaimName: newer(text('Claim with the roles of the caller.', { maxLength: 253 }), '0.28'),
  },
  'Authorization by Cedar policies. Not together with authzConfigRef.',
  { title: 'AuthzConfig', ...OPEN },
)

/** `authzConfigRef`: names an MCPAuthzConfig with the policies; cannot be used together with `authzConfig`. */
export const AuthzConfigRef = object(
  { name: name('Name of the MCPAuthzConfig.') },
  'The MCPAuthzConfig with the policies.',
  { title: 'AuthzConfigRef', ...OPEN },
)

/** The fields for authorization: in the spec of a workload, and in `incomingAuth` of a VirtualMCPServer. */
export const AUTHORIZATION = {
  authzConfig: newer(AuthzConfig),
  authzConfigRef: newer(AuthzConfigRef, '0.30'),
}

/** The fields that operator releases have in `oidcConfigRef`, apart from name and audience. */
export const OF_OIDC_CONFIG_REF = {
  resourceUrl: newer(text('URL of this resource for clients (RFC 9728); that of its Service by default.')),
  scopes: newer(list(text('Scope.'), 'Scopes that are advertised to clients; openid by default.')),
}

const oidcConfigRef = object(
  {
    name: name('Name of the MCPOIDCConfig.'),
    audience: name('Expected audience of incoming tokens.'),
    ...OF_OIDC_CONFIG_REF,
  },
  'The MCPOIDCConfig that validates incoming tokens.',
  OPEN,
)

const authServerRef = object(
  {
    kind: optional(oneOf(['MCPExternalAuthConfig'], 'Kind of the configuration; the only one there is.')),
    name: name('Name of the MCPExternalAuthConfig, of type embeddedAuthServer.'),
  },
  'The embedded authorization server of this workload.',
  OPEN,
)

export const headerForward = object(
  {
    addPlaintextHeaders: optional(map(text('Value of the header.'), 'Headers by name.')),
    addHeadersFromSecret: optional(
      list(
        object(
          {
            headerName: filled('Name of the header.', { maxLength: 255 }),
            valueSecretRef: secretRef('Secret with the value of the header.'),
          },
          'One header.',
          OPEN,
        ),
        'Headers whose values are in Secrets.',
      ),
    ),
  },
  'Headers that are added to each request to the remote server.',
  OPEN,
)

export const remoteUrl = newer(like('url', 'URL of the remote MCP server.'))
export const allowPrivateEndpoint = newer(flag('Allows a remoteUrl at a private address.'), '0.45')

const sessionStorage = object(
  {
    provider: oneOf(['memory', 'redis'], 'Where sessions are kept.'),
    address: optional(filled('Address of the Redis, host:port.')),
    db: optional(int32('Database number.', { minimum: 0 })),
    keyPrefix: optional(text('Prefix of the keys.')),
    passwordRef: optional(secretRef('Secret with the password.')),
    tls: newer(
      object(
        {
          caCertSecretRef: optional(secretRef('Secret with the PEM CA certificate.')),
          insecureSkipVerify: optional(flag('Accept any certificate.')),
        },
        'TLS towards the Redis.',
        OPEN,
      ),
      '0.55',
    ),
  },
  'Storage of sessions.',
  OPEN,
)

/** Fields for the number of replicas of a process that serves clients, and for the session storage that they share. */
export const SESSIONS = (replicasSince?: string) => ({
  replicas: newer(int32('Number of replicas.', { minimum: 0 }), replicasSince),
  sessionStorage: newer(sessionStorage, replicasSince),
})

/** The fields of MCPServer and MCPRemoteProxy that determine how clients authenticate to the proxy. */
export const OF_PROXIES = {
  oidcConfigRef: newer(oidcConfigRef),
  authServerRef: newer(authServerRef),
  ...AUTHORIZATION,
  proxyPort: newer(int32('Port of the proxy.', { minimum: 1, maximum: 65_535 })),
}
