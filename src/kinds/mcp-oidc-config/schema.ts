import { soleCaBundleRef } from '../newer-parts.ts'
import { flag, name, newer, object, oneOf, optional, text } from '../fields.ts'
import { openStatus, resource, secretRef } from '../parts.ts'
import { must, says } from '../../rule/index.ts'

const SOURCE = '2.3'
const jwksAllowPrivateIP = optional(
  flag('Allows fetching keys from private addresses.', {
    statements: [says(SOURCE, 'jwksAllowPrivateIP exists on the OIDC configuration.')],
  }),
)

export const OIDC_TYPES = ['inline', 'kubernetesServiceAccount'] as const

/** The resource that section 2.3 of the specification describes. */
export const MCPOIDCConfig = resource(
  'MCPOIDCConfig',
  {
    spec: object(
      {
        type: oneOf(OIDC_TYPES, 'Which settings validate tokens.', {
          statements: [
            must(
              SOURCE,
              'type is inline or kubernetesServiceAccount, and the object of that name holds the settings.',
            ),
          ],
        }),
        inline: optional(
          object(
            {
              issuer: name('URL of the token issuer.'),
              clientId: optional(text('Client identifier.')),
              clientSecretRef: optional(
                secretRef(
                  'Secret with the client secret for introspection of opaque tokens; releases need introspectionUrl too.',
                ),
              ),
              jwksUrl: newer(text('URL of the keys; discovered at the issuer when not given.')),
              insecureAllowHTTP: newer(flag('Allows an issuer and keys over plain http.')),
              jwksAllowPrivateIP,
              introspectionUrl: newer(text('URL that checks opaque tokens (RFC 7662).')),
              jwksAuthTokenPath: newer(text('File with the bearer token for jwksUrl.')),
              protectedResourceAllowPrivateIP: newer(
                flag('Allows private addresses, as jwksAllowPrivateIP does.'),
              ),
              caBundleRef: newer(soleCaBundleRef),
            },
            'An OIDC issuer. With type inline only.',
            { source: SOURCE, open: true },
          ),
        ),
        kubernetesServiceAccount: optional(
          object(
            {
              serviceAccount: newer(
                text('Name of a ServiceAccount; releases do not read it, and accept every one.'),
              ),
              namespace: newer(text('Its namespace; releases do not read it.')),
              issuer: newer(text('Issuer of the tokens; that of the cluster by default.')),
              jwksUrl: newer(text('URL of the keys; discovered at the issuer when not given.')),
              introspectionUrl: newer(text('URL that checks tokens.')),
              useClusterAuth: newer(flag('Asks for the keys with the CA and the token of the pod.')),
            },
            'Tokens of the cluster. With type kubernetesServiceAccount only; may be empty.',
            {
              source: SOURCE,
              open: true,
              statements: [says(SOURCE, 'kubernetesServiceAccount may be an empty object.')],
            },
          ),
        ),
        jwksAllowPrivateIP,
      },
      'How incoming tokens are validated.',
      { source: SOURCE, open: true },
    ),
    status: optional(openStatus()),
  },
  'Shared OIDC configuration for incoming tokens.',
)
