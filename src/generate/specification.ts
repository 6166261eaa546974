/** The sections of the specification, and the statements that no rule or schema enforces. */

/** A statement of the specification that no resource can violate, and why. */
export interface Unowned {
  readonly text: string
  readonly because: string
}

/** A statement of the specification that the CRD of MCPExternalAuthConfig enforces; `field` is a path inside `spec`. */
export interface CrdStatement {
  readonly must: string
  readonly field: string
}

export interface Section {
  readonly section: string
  readonly title: string
  readonly crds?: readonly CrdStatement[]
  readonly unowned?: readonly Unowned[]
}

const because = (reason: string, ...texts: readonly string[]): readonly Unowned[] =>
  texts.map((text) => ({ text, because: reason }))

const RUN_TIME = 'run time: what the service does, no resource can break it'
const DESCRIPTION = 'description: asks for nothing'
const NOT_SHOWN = 'the specification does not show it'

/** The sections of the specification, without the statements that are in `sources` of rules or in schemas. */
export const SECTIONS: readonly Section[] = [
  {
    section: '1',
    title: 'What the service does',
    unowned: [
      ...because(
        DESCRIPTION,
        'One process fronts a group of backends and has two authentication boundaries.',
        'When to use the embedded authorization server.',
      ),
      ...because(
        RUN_TIME,
        'Incoming: OAuth 2.1 as the MCP specification defines it.',
        'JWTs: issuer, audience, expiry and signature are checked.',
        'Opaque tokens: token introspection is used.',
        'Authorization policies are evaluated after validation, before forwarding.',
        'All of this runs in the vMCP process; a plain MCPServer uses a separate proxy.',
        'Outgoing: credentials come from the configured strategy.',
        'The embedded server sends users to upstream providers for login.',
        'The embedded server stores the upstream tokens.',
        'The embedded server issues JWTs that vMCP validates later.',
        'The embedded server provides dynamic client registration (RFC 7591).',
      ),
    ],
  },
  {
    section: '2',
    title: 'Resources and their fields',
    crds: [
      { must: 'Every resource uses apiVersion {api_group}/v1beta1.', field: 'versions' },
      { must: 'MCPExternalAuthConfig is namespaced.', field: 'scope' },
      {
        must: 'The short names of MCPExternalAuthConfig are extauth and mcpextauth.',
        field: 'names.shortNames',
      },
    ],
  },
  { section: '2.1', title: 'Secret reference' },
  { section: '2.2', title: 'VirtualMCPServer' },
  {
    section: '2.3',
    title: 'MCPOIDCConfig',
    unowned: [
      ...because(
        RUN_TIME,
        'clientSecretRef enables introspection of opaque tokens.',
        'kubernetesServiceAccount selects the API server of the cluster as issuer, which is auto-detected.',
      ),
      ...because(
        'an option of /mutate: --service-account-audience (decision 4)',
        'The audience of kubernetesServiceAccount has a configurable default, set on incomingAuth.audience.',
      ),
    ],
  },
  { section: '2.4', title: 'MCPExternalAuthConfig' },
  {
    section: '2.4.1',
    title: 'spec.awsSts',
    unowned: because(RUN_TIME, 'fallbackRoleArn is assumed when no mapping matches.'),
  },
  { section: '2.4.2', title: 'spec.bearerToken' },
  {
    section: '2.4.3',
    title: 'spec.embeddedAuthServer',
    unowned: [
      ...because(
        RUN_TIME,
        'issuer is placed in the iss claim of issued tokens.',
        'authorizationEndpointBaseUrl overrides the base of the authorization_endpoint in the discovery document.',
        'Several signing keys allow rotation; the oldest verify only.',
        'The first HMAC secret is current, the rest verify only.',
        'Without caCertSecretRef the system root CAs are used.',
        'clientSecretRef is optional for public clients that use PKCE.',
        'With tokenResponseMapping the service reads the token answer by dotted paths.',
        'Of an ordered list of field names the first non-empty value is used.',
        'Without userInfoOverride the userinfo endpoint is discovered.',
      ),
      ...because(
        'depends on the resource that uses the configuration: never written',
        'redirectUri defaults to {resourceUrl}/oauth/callback.',
      ),
    ],
  },
  { section: '2.4.4', title: 'spec.headerInjection' },
  { section: '2.4.5', title: 'spec.tokenExchange' },
  { section: '2.4.6', title: 'spec.upstreamInject' },
  { section: '2.4.7', title: 'status' },
  { section: '2.5', title: 'Patterns' },
  {
    section: '3',
    title: 'States and transitions',
    unowned: [
      ...because(NOT_SHOWN, 'Transitions.', 'Condition type values and reason values.'),
      ...because(
        RUN_TIME,
        'With several upstream providers the user is sent to each in order; one JWT at the end.',
      ),
    ],
  },
  {
    section: '4',
    title: 'Endpoints',
    unowned: [
      ...because(
        RUN_TIME,
        'GET {issuer}/.well-known/oauth-authorization-server is the discovery document.',
        'The authorization endpoint is below authorizationEndpointBaseUrl, or else issuer.',
        '{resourceUrl}/oauth/callback receives users from the upstream provider.',
        'Token, registration and key set endpoints.',
        'Rule 1: all but the authorization endpoint are always derived from issuer.',
        'Rule 2: clients discover the server through protected resource metadata.',
        'Rule 3: dynamic registration spares manual client configuration.',
      ),
      ...because(
        NOT_SHOWN,
        'Paths of the token, registration, key set and metadata endpoints.',
        'Bodies of the endpoints; the path of the MCP endpoint.',
      ),
    ],
  },
  {
    section: '5.1',
    title: 'Incoming authentication',
    unowned: [
      ...because(
        RUN_TIME,
        'JWT: issuer, audience, expiry and signature are checked.',
        'Opaque token: introspection, enabled by clientSecretRef.',
        'kubernetesServiceAccount validates service account tokens of the cluster.',
      ),
      ...because(NOT_SHOWN, 'Policies are evaluated after validation; their configuration.'),
    ],
  },
  {
    section: '5.2',
    title: 'Outgoing authentication',
    unowned: [
      ...because(
        RUN_TIME,
        'tokenExchange: RFC 8693 exchange at tokenUrl.',
        'tokenExchange: without subjectProviderName and without an embedded authorization server, the subject token is the JWT that vMCP issued.',
        'upstreamInject: the token stored for providerName replaces the Authorization header of the request to the backend.',
        'awsSts: requests are signed with credentials of the role that a mapping chooses.',
        'headerInjection: the header is set to the value from the Secret.',
      ),
      ...because(
        DESCRIPTION,
        'embeddedAuthServer: as in 2.4.3.',
        'Strategies can be mixed in one deployment.',
      ),
      ...because(NOT_SHOWN, 'bearerToken: how the token is placed in the request.'),
    ],
  },
  { section: '5.3', title: 'Key and secret handling' },
  { section: '6', title: 'Events', unowned: because(NOT_SHOWN, 'Events.') },
  {
    section: '7',
    title: 'Errors',
    unowned: because(NOT_SHOWN, 'Error response bodies, status codes and error codes.'),
  },
  { section: '8', title: 'Limits', unowned: because(NOT_SHOWN, 'Rate limits and request size limits.') },
  {
    section: '9',
    title: 'Versioning',
    crds: [{ must: 'All resources use apiVersion {api_group}/v1beta1.', field: 'versions' }],
    unowned: because(NOT_SHOWN, 'Deprecation policy and compatibility rules.'),
  },
]
