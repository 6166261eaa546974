import { type TSchema, Type } from 'typebox'
import { EmbeddedAuthServer } from '../embedded-auth-server/schema.ts'
import { filled, list, map, name, newer, object, oneOf, optional, text } from '../fields.ts'
import { AUTHORIZATION, bounded, OF_OIDC_CONFIG_REF, OPEN, SESSIONS } from '../newer-parts.ts'
import { nameRef, openStatus, resource } from '../parts.ts'
import { must, says } from '../../rule/index.ts'

const SOURCE = '2.2'
const externalAuthConfigRef = nameRef('The MCPExternalAuthConfig to use.', SOURCE)

/** Chooses the upstream providers at which a user logs in, by the user's groups; only newer releases have it. */
const authServerUpstreamFilter = object(
  {
    claim: optional(filled('Claim with the groups of the user.', { maxLength: 253 })),
    defaultUpstreams: optional(
      bounded(text('Name of a provider.'), 100, 'Providers of a user whom no rule matches.'),
    ),
    rules: bounded(
      object(
        {
          groups: bounded(text('Name of a group.'), 100, 'Groups, of which the user has one.', 1),
          upstreamProviders: bounded(
            text('Name of a provider; not of the first.'),
            100,
            'Providers where these users log in too.',
            1,
          ),
        },
        'The providers of some groups.',
        OPEN,
      ),
      100,
      'Providers by group.',
      1,
    ),
  },
  'Chooses among the upstream providers by the groups of the user.',
  OPEN,
)

const passthroughHeaders = list(
  text('Name of a header.'),
  'Headers of the client that are sent to every backend as they are.',
)

/** The field `spec.config` of older releases; the same settings directly in `spec` take precedence. */
const config = object(
  {
    incomingAuth: optional(Type.Unknown({ description: 'Not read beside spec.incomingAuth.' })),
    outgoingAuth: optional(Type.Unknown({ description: 'Not read beside spec.outgoingAuth.' })),
    passthroughHeaders: newer(passthroughHeaders, '0.30'),
  },
  'Settings of the vMCP process.',
  OPEN,
)

/** The fields of a VirtualMCPServer (section 2.2 of the specification). */
export const VirtualMCPServer = resource(
  'VirtualMCPServer',
  {
    spec: object(
      {
        groupRef: optional(nameRef('The MCPGroup whose backends are fronted.', SOURCE)),
        incomingAuth: optional(
          object(
            {
              type: oneOf(['anonymous', 'oidc'], 'How clients authenticate to vMCP.', {
                statements: [
                  says(SOURCE, 'incomingAuth says how clients authenticate: type anonymous or oidc.'),
                ],
              }),
              oidcConfigRef: optional(
                object(
                  {
                    name: name('Name of the MCPOIDCConfig.'),
                    audience: optional(
                      text('Expected audience of incoming tokens. Required; every release reads it here.'),
                    ),
                    ...OF_OIDC_CONFIG_REF,
                  },
                  'The MCPOIDCConfig that validates incoming tokens. With type oidc.',
                  { source: SOURCE, open: true },
                ),
              ),
              audience: optional(
                text(
                  'Expected audience, where releases do not read it; write it in oidcConfigRef (decision 4).',
                ),
              ),
              ...AUTHORIZATION,
              oidcConfig: newer(
                Type.Unknown({ description: 'Inline OIDC configuration of older releases (decision 5).' }),
              ),
            },
            'Boundary 1: how clients authenticate to vMCP.',
            { source: SOURCE, open: true },
          ),
        ),
        outgoingAuth: optional(
          object(
            {
              source: optional(
                oneOf(
                  ['discovered', 'inline'],
                  'Where the strategies come from: each backend, or this resource.',
                ),
              ),
              backends: optional(
                map(
                  object(
                    {
                      type: oneOf(['externalAuthConfigRef', 'discovered'], 'What selects the strategy.', {
                        statements: [
                          must(
                            SOURCE,
                            'The type of a backend is externalAuthConfigRef, which then names an MCPExternalAuthConfig.',
                          ),
                        ],
                      }),
                      externalAuthConfigRef: optional(externalAuthConfigRef),
                    },
                    'The strategy of one backend.',
                    { source: SOURCE, open: true },
                  ),
                  'Strategies by backend name. With source inline.',
                ),
              ),
              default: optional(
                object(
                  {
                    type: newer(
                      oneOf(
                        ['externalAuthConfigRef', 'discovered'],
                        'What selects the strategy, in releases.',
                      ),
                    ),
                    externalAuthConfigRef: optional(externalAuthConfigRef),
                  },
                  'The strategy of backends without one of their own.',
                  {
                    source: SOURCE,
                    open: true,
                    statements: [
                      says(
                        SOURCE,
                        'A default reference exists at outgoingAuth.default.externalAuthConfigRef.',
                      ),
                    ],
                  },
                ),
              ),
            },
            'Boundary 2: how vMCP authenticates to backends.',
            { source: SOURCE, open: true },
          ),
        ),
        authServerConfig: optional({
          ...EmbeddedAuthServer,
          statements: [
            must(
              SOURCE,
              'authServerConfig has the structure of MCPExternalAuthConfig.spec.embeddedAuthServer.',
            ),
            says('8', 'Upstream providers per VirtualMCPServer: several.'),
          ],
        }),
        authServerUpstreamFilter: newer(authServerUpstreamFilter, '0.55'),
        passthroughHeaders: newer(passthroughHeaders, '0.30'),
        config: newer(config),
        ...SESSIONS(),
      },
      'A vMCP deployment.',
      {
        source: SOURCE,
        open: true,
        statements: [
          says('1', 'VirtualMCPServer holds incomingAuth, outgoingAuth, authServerConfig and groupRef.'),
        ],
      },
    ),
    status: optional(
      openStatus({
        discoveredBackends: optional(
          list(
            object(
              {
                authConfigRef: optional(
                  Type.Unsafe<unknown>({
                    description:
                      'The auth configuration found for the backend: an object, or a name in releases.',
                    type: ['string', 'object'],
                    open: true,
                    statements: [
                      says(
                        SOURCE,
                        'status.discoveredBackends[].authConfigRef refers to the configuration found for a backend.',
                      ),
                    ],
                  }),
                ),
              } satisfies Record<string, TSchema>,
              'One backend that was found.',
              { source: SOURCE, open: true },
            ),
            'Backends that were found.',
          ),
        ),
      }),
    ),
  },
  'One vMCP process in front of a group of MCP servers.',
)
