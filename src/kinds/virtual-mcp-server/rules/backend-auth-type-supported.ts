import {
  about,
  advice,
  defineRule,
  end,
  namesText,
  nameText,
  type Path,
  pathTo,
  relatedTo,
} from '../../../rule/index.ts'
import {
  AUTH_CONFIG,
  authConfigNamed,
  backend,
  bearerConfig,
  configsNamed,
  configsReached,
  exchangeConfigIn,
  gatewayOf,
  hasIgnoredHeader,
  headerConfig,
  inline,
  isForNoBackend,
  REACHED_KINDS,
  referenceEnds,
  routeOf,
  serverConfig,
  sourceOf,
  unsuitedCause,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

export const backendAuthTypeSupported = defineRule({
  id: 'backend-auth-type-supported',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
  severity: 'warning',
  summary: 'A configuration that is reached has a type and a header with which vMCP can contact a backend.',
  why: 'Releases have no strategy for `bearerToken` and `embeddedAuthServer`: they leave such a backend out, and refuse a VirtualMCPServer that names one itself, whatever its source; a token exchange always uses the header Authorization.',
  failure: {
    symptom: 'the backend is missing from the gateway; its log says `unsupported auth type`',
    toldBy: 'nobody',
    threads: ['stacklok/toolhive#5930', 'stacklok/toolhive#5202', 'stacklok/toolhive#6242'],
  },
  sources: [
    {
      section: '5.2',
      says: 'tokenExchange: the token replaces the Authorization header unless externalTokenHeaderName is set.',
    },
    { section: '5.2', says: 'Each type is a strategy of vMCP (releases have none for two of them).' },
    'decision 9',
  ],
  *check(gateway, { path, cluster }) {
    // With source discovered these are not read, and yet converted.
    const unread = sourceOf(gateway) === 'inline' ? [] : configsNamed(gateway, cluster)
    for (const reached of [
      ...configsReached(gateway, cluster),
      ...unread.filter(({ auth }) => isForNoBackend(auth)),
    ]) {
      const { config, auth, at, members } = reached
      const type = auth?.spec?.type
      if (auth === undefined || type === undefined) continue
      const place = at === undefined ? path.spec.outgoingAuth : pathTo(at())
      const thing = () => ['backend-auth-type-supported', config, ...routeOf(reached, gateway)] as const
      const named = authConfigNamed(config)
      const ends = (path: Path<unknown>, text: string) => [
        end(named, path, text),
        ...referenceEnds(members, named, cluster, 'uses it'),
      ]
      const causes = () => [unsuitedCause(config)]
      if (hasIgnoredHeader(auth))
        yield relatedTo(
          about(
            advice(
              place,
              `ToolHive releases ignore externalTokenHeaderName of ${nameText(authConfigNamed(config))} and use Authorization`,
            ),
            ...thing(),
          ),
          ends(AUTH_CONFIG.spec.tokenExchange.externalTokenHeaderName, 'names the header'),
          causes,
        )
      if (!isForNoBackend(auth)) continue
      const effect =
        at === undefined ? `they leave out ${namesText(members)}` : 'they refuse this VirtualMCPServer'
      yield relatedTo(
        about(
          advice(
            place,
            `${nameText(authConfigNamed(config))} is of type ${type}, which ToolHive releases cannot use for backends: ${effect}`,
          ),
          ...thing(),
        ),
        ends(AUTH_CONFIG.spec.type, 'has this type'),
        causes,
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'a header',
        value: gatewayOf(),
        others: [backend('jira', 'key'), headerConfig('key')],
      },
    ],
    invalid: [
      {
        title: 'a token exchange with another header',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfigIn('jira', 'X-Token')],
        findings: [
          'spec.outgoingAuth: ToolHive releases ignore externalTokenHeaderName of MCPExternalAuthConfig "jira" and use Authorization',
        ],
      },
      {
        title: 'a bearer token, discovered',
        value: gatewayOf(),
        others: [backend('jira', 'token'), bearerConfig('token')],
        findings: [
          'spec.outgoingAuth: MCPExternalAuthConfig "token" is of type bearerToken, which ToolHive releases cannot use for backends: they leave out MCPServer "jira"',
        ],
      },
      {
        title: 'an authorization server, inline',
        value: gatewayOf({ outgoingAuth: inline({ jira: 'auth' }) }),
        others: [backend('jira'), serverConfig('auth', 'okta')],
        findings: [
          'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: MCPExternalAuthConfig "auth" is of type embeddedAuthServer, which ToolHive releases cannot use for backends: they refuse this VirtualMCPServer',
        ],
      },
      {
        title: 'a bearer token as a default that source discovered does not read',
        value: gatewayOf({ outgoingAuth: { ...inline({}, 'token'), source: 'discovered' } }),
        others: [backend('jira', 'key'), headerConfig('key'), bearerConfig('token')],
        findings: [
          'spec.outgoingAuth.default.externalAuthConfigRef.name: MCPExternalAuthConfig "token" is of type bearerToken, which ToolHive releases cannot use for backends: they refuse this VirtualMCPServer',
        ],
      },
    ],
  },
})
