import {
  about,
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  namesText,
  nameText,
  type ObjectName,
  type Path,
  pathText,
  pathTo,
  relatedTo,
  says,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  allUnsuited,
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  backend,
  BACKEND_KINDS,
  bearerConfig,
  configsNamed,
  configsReached,
  configWith,
  exchangeConfigIn,
  frontingsOf,
  GATEWAY,
  type Gateway,
  gateway,
  gatewayOf,
  getAuthConfig,
  getWorkload,
  groupOf,
  hasIgnoredHeader,
  headerConfig,
  injectConfig,
  inline,
  isForNoBackend,
  isUnused,
  needsGateway,
  NOT_FOR_BACKENDS,
  otherOf,
  REACHED_KINDS,
  reachersOf,
  referenceEnds,
  referencesOf,
  routeOf,
  serverConfig,
  someNeedsGateway,
  sourceOf,
  unsuited,
  unsuitedCause,
  unsuitedForBackends,
  unusedText,
  useOf,
  workload,
  type Workload,
} from '../index.ts'
import { exchanging, injecting } from '../../kinds/mcp-external-auth-config/examples.ts'

const ID = 'auth-config-type-suited'

export const authConfigTypeSuited = defineRule({
  id: ID,
  formerIds: ['workload-auth-type-suited', 'auth-config-type-suits-consumers', 'backend-auth-type-supported'],
  on: [MCPServer, MCPRemoteProxy, MCPServerEntry, MCPExternalAuthConfig, VirtualMCPServer],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'A configuration has a type that does something for each workload and VirtualMCPServer that uses it, and a header that vMCP sends.',
  why: 'Releases ignore some types on some kinds, in silence, and fail on others. For backends they have no strategy for `bearerToken` and `embeddedAuthServer`: they leave such a backend out, and refuse a VirtualMCPServer that names one itself, whatever its source; a token exchange always uses the header Authorization.',
  failure: {
    symptom:
      'the credential is never sent, and the configuration reads as Valid=True; the backend is missing from the gateway, whose log says `unsupported auth type`; or the workload is not reconciled: `AWS STS middleware requires a remote URL`, reason `AuthServerRefInvalidType`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#5930', 'stacklok/toolhive#5202', 'stacklok/toolhive#6242'],
  },
  sources: [
    says(
      '1',
      'Every kind of workload can refer to every type of configuration (releases do not use all of them).',
    ),
    says(
      '5.2',
      'tokenExchange: the token replaces the Authorization header unless externalTokenHeaderName is set.',
    ),
    says('5.2', 'Each type is a strategy of vMCP (releases have none for two of them).'),
    'decision 9',
  ],
  check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') return unsuitedUses(resource as AuthConfig, self, cluster)
    return self.kind === 'VirtualMCPServer'
      ? unsuitedReached(resource as Gateway, cluster)
      : unsuitedNamed(resource as Workload, self, cluster)
  },
  examples: {
    'a header, which vMCP sends to this backend': {
      kind: 'MCPServer',
      value: workload('key', 'tools'),
      others: [headerConfig('key')],
    },
    'a bearer token of a proxy': {
      kind: 'MCPRemoteProxy',
      value: workload('token'),
      others: [bearerConfig('token')],
    },
    'a header that an inline VirtualMCPServer names for it too': {
      kind: 'MCPServer',
      value: workload('key', 'tools'),
      others: [
        headerConfig('key'),
        gateway('tools', { outgoingAuth: inline({ example: 'key' }) }),
        gateway('other', { outgoingAuth: inline({ jira: 'other' }) }),
      ],
    },
    'an authorization server, and an MCPOIDCConfig for its tokens': {
      kind: 'MCPServer',
      value: {
        spec: {
          externalAuthConfigRef: { name: 'auth' },
          oidcConfigRef: { name: 'auth', audience: 'tools' },
        } as object,
      },
      others: [serverConfig('auth', 'okta')],
    },
    'a header for the backends of a group': {
      kind: 'MCPExternalAuthConfig',
      value: injecting('X-Api-Key'),
      others: [backend('jira', 'example'), gateway('tools')],
    },
    'an MCPServerEntry has no authorization server, whatever it holds': {
      kind: 'MCPExternalAuthConfig',
      value: injecting('X-Api-Key'),
      others: [
        otherOf('MCPServerEntry', 'jira', {
          externalAuthConfigRef: { name: 'example' },
          authServerRef: { name: 'example' },
        }),
      ],
    },
    'a header': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'key'), headerConfig('key')],
    },
    'a bearer token of a proxy that a VirtualMCPServer discovers': {
      kind: 'MCPRemoteProxy',
      value: workload('token', 'tools'),
      others: [bearerConfig('token'), gateway('tools')],
      findings:
        'spec.externalAuthConfigRef.name: type bearerToken of MCPExternalAuthConfig "token" cannot be used for backends by ToolHive releases, so vMCP leaves out a backend that relies on it: VirtualMCPServer "tools"',
    },
    'a header of an MCPServer alone': {
      kind: 'MCPServer',
      value: workload('key'),
      others: [headerConfig('key')],
      findings:
        'spec.externalAuthConfigRef.name: type headerInjection of MCPExternalAuthConfig "key" has no effect on an MCPServer without `groupRef`',
    },
    'an AWS role of an MCPServer': {
      kind: 'MCPServer',
      value: workload('aws', 'tools'),
      others: [
        configWith('aws', 'awsSts', {
          region: 'eu-central-1',
          fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools',
        }),
      ],
      findings:
        'spec.externalAuthConfigRef.name: type awsSts of MCPExternalAuthConfig "aws" stops the operator from reconciling an MCPServer, which has no remote URL',
    },
    'an upstream token of a proxy alone': {
      kind: 'MCPRemoteProxy',
      value: workload('inject'),
      others: [injectConfig('inject', 'okta')],
      findings:
        'spec.externalAuthConfigRef.name: type upstreamInject of MCPExternalAuthConfig "inject" has no effect on an MCPRemoteProxy without `groupRef`',
    },
    'an authorization server whose tokens nobody checks': {
      kind: 'MCPRemoteProxy',
      value: workload('auth'),
      others: [serverConfig('auth', 'okta')],
      findings:
        'spec.externalAuthConfigRef.name: type embeddedAuthServer of MCPExternalAuthConfig "auth" needs an `oidcConfigRef` in the MCPRemoteProxy, which checks its tokens; releases do not reconcile the workload without one',
    },
    'a cross-application access of a proxy alone': {
      kind: 'MCPRemoteProxy',
      value: workload('wiki'),
      others: [{ kind: 'MCPExternalAuthConfig', metadata: { name: 'wiki' }, spec: { type: 'xaa', xaa: {} } }],
      findings:
        'spec.externalAuthConfigRef.name: type xaa of MCPExternalAuthConfig "wiki" has no effect on an MCPRemoteProxy without `groupRef`',
    },
    'on behalf of the user, which open-source builds do not do': {
      kind: 'MCPServerEntry',
      value: workload('graph', 'tools'),
      others: [
        { kind: 'MCPExternalAuthConfig', metadata: { name: 'graph' }, spec: { type: 'obo', obo: {} } },
      ],
      findings:
        'spec.externalAuthConfigRef.name: type obo of MCPExternalAuthConfig "graph" is refused by open-source builds of the operator (EnterpriseRequired)',
    },
    'no authorization server, in the field of releases': {
      kind: 'MCPServer',
      value: { spec: { authServerRef: { kind: 'MCPExternalAuthConfig', name: 'key' } } as object },
      others: [headerConfig('key')],
      findings:
        'spec.authServerRef.name: type headerInjection of MCPExternalAuthConfig "key" cannot be the authorization server of an MCPServer, which is then not reconciled',
    },
    'a bearer token of an entry': {
      kind: 'MCPServerEntry',
      value: workload('token', 'tools'),
      others: [bearerConfig('token')],
      findings:
        'spec.externalAuthConfigRef.name: type bearerToken of MCPExternalAuthConfig "token" cannot be used for backends by ToolHive releases, so vMCP leaves out a backend that relies on it',
    },
    'a header for a workload alone': {
      kind: 'MCPExternalAuthConfig',
      value: injecting('X-Api-Key'),
      others: [otherOf('MCPServer', 'jira', { externalAuthConfigRef: { name: 'example' } })],
      findings: 'spec.type: has no effect on an MCPServer without `groupRef`: MCPServer "jira"',
    },
    'no authorization server': {
      kind: 'MCPExternalAuthConfig',
      value: injecting('X-Api-Key'),
      others: [otherOf('MCPRemoteProxy', 'wiki', { authServerRef: { name: 'example' } })],
      findings:
        'spec.type: cannot be the authorization server of an MCPRemoteProxy, which is then not reconciled: MCPRemoteProxy "wiki"',
    },
    'a bearer token for backends': {
      kind: 'MCPExternalAuthConfig',
      value: {
        spec: { type: 'bearerToken', bearerToken: { tokenSecretRef: { name: 'jira', key: 'token' } } },
      },
      others: [gateway('tools', { outgoingAuth: inline({ jira: 'example' }) })],
      findings:
        'spec.type: ToolHive releases cannot use this type for backends of VirtualMCPServer "tools": they leave out the backend, or refuse a VirtualMCPServer that names this configuration',
    },
    'a token exchange with another header': [
      {
        kind: 'MCPServer',
        value: workload('jira', 'tools'),
        others: [exchangeConfigIn('jira', 'X-Token'), gateway('tools')],
        findings:
          'spec.externalAuthConfigRef.name: type tokenExchange of MCPExternalAuthConfig "jira" sets an `externalTokenHeaderName` that ToolHive releases ignore for backends: VirtualMCPServer "tools"',
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: exchanging({ externalTokenHeaderName: 'X-Token' }),
        others: [backend('jira', 'example'), gateway('tools')],
        findings:
          'spec.tokenExchange.externalTokenHeaderName: ToolHive releases ignore this header for backends of VirtualMCPServer "tools" and use Authorization',
      },
      {
        kind: 'VirtualMCPServer',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), exchangeConfigIn('jira', 'X-Token')],
        findings:
          'spec.outgoingAuth: ToolHive releases ignore externalTokenHeaderName of MCPExternalAuthConfig "jira" and use Authorization',
      },
    ],
    'a header that no VirtualMCPServer sends': [
      {
        kind: 'MCPServer',
        value: workload('key', 'tools'),
        others: [headerConfig('key'), gateway('tools', { outgoingAuth: inline({ example: 'other' }) })],
        findings:
          'spec.externalAuthConfigRef.name: type headerInjection of MCPExternalAuthConfig "key" has no effect on an MCPServer for which each VirtualMCPServer (source inline) lists another configuration',
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: injecting('X-Api-Key'),
        others: [backend('jira', 'example'), gateway('tools', { outgoingAuth: inline({ jira: 'key' }) })],
        findings:
          'spec.type: has no effect on an MCPServer for which each VirtualMCPServer (source inline) lists another configuration: MCPServer "jira"',
      },
    ],
    'a bearer token, discovered': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'token'), bearerConfig('token')],
      findings:
        'spec.outgoingAuth: MCPExternalAuthConfig "token" is of type bearerToken, which ToolHive releases cannot use for backends: they leave out MCPServer "jira"',
    },
    'an authorization server, inline': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: inline({ jira: 'auth' }) }),
      others: [backend('jira'), serverConfig('auth', 'okta')],
      findings:
        'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: MCPExternalAuthConfig "auth" is of type embeddedAuthServer, which ToolHive releases cannot use for backends: they refuse this VirtualMCPServer',
    },
    'a bearer token as a default that source discovered does not read': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ outgoingAuth: { ...inline({}, 'token'), source: 'discovered' } }),
      others: [backend('jira', 'key'), headerConfig('key'), bearerConfig('token')],
      findings:
        'spec.outgoingAuth.default.externalAuthConfigRef.name: MCPExternalAuthConfig "token" is of type bearerToken, which ToolHive releases cannot use for backends: they refuse this VirtualMCPServer',
    },
  },
})

/** Advice about each MCPExternalAuthConfig that a workload names although its type has no effect on the workload. */
function* unsuitedNamed(resource: Workload, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  for (const { to, at, field } of referencesOf(self.kind, resource)) {
    const config = to.kind === 'MCPExternalAuthConfig' ? getAuthConfig(cluster, to.name) : undefined
    if (config === undefined) continue
    const subject = () => `type ${config.spec?.type ?? ''} of ${nameText(to)}`
    const use = useOf(self.kind, resource, to.name)
    const group = needsGateway(use, field, config) ? groupOf(resource) : undefined
    const unused = group !== undefined && isUnused(self.name, { group, config: to.name }, cluster)
    const why = unused ? unusedText(use) : unsuited(use, field, config)
    const ends = [end(to, AUTH_CONFIG.spec.type, 'has this type')]
    const causes = () => [unsuitedCause(to.name)]
    if (why !== undefined) yield relatedTo(advice(pathTo<string>(at()), `${subject()} ${why}`), ends, causes)
    const there = unsuitedForBackends(config)
    if (there === undefined || there === why || field !== 'externalAuthConfigRef') continue
    const gateways = frontingsOf(self.name, resource, cluster).filter(({ from }) => from === 'discovered')
    if (gateways.length > 0)
      yield relatedTo(
        aboutEach(
          advice(
            pathTo<string>(at()),
            `${subject()} ${there}: ${namesText(gateways.map(({ gateway }) => gateway))}`,
          ),
          () => gateways.map(({ gateway }) => [ID, to.name, gateway.name]),
        ),
        ends,
        causes,
      )
  }
}

/** Advice at an MCPExternalAuthConfig about workloads and backends that ignore its type or its token header. */
function* unsuitedUses(config: AuthConfig, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const type = config.spec?.type
  if (type === undefined) return
  const causes = () => [unsuitedCause(self.name)]
  for (const [reason, workloads] of unsuitedWorkloads(config, self.name, cluster)) {
    yield relatedTo(
      advice(AUTH_CONFIG.spec.type, `${reason}: ${namesText(workloads)}`),
      referenceEnds(workloads, self, cluster),
      causes,
    )
  }
  const isLeftOut = NOT_FOR_BACKENDS.includes(type)
  if (!isLeftOut && !hasIgnoredHeader(config)) return
  const reachers = reachersOf(self.name, cluster).map(({ name }) => name)
  if (reachers.length === 0) return
  const warning = isLeftOut
    ? advice(
        AUTH_CONFIG.spec.type,
        `ToolHive releases cannot use this type for backends of ${namesText(reachers)}: they leave out the backend, or refuse a VirtualMCPServer that names this configuration`,
      )
    : advice(
        AUTH_CONFIG.spec.tokenExchange.externalTokenHeaderName,
        `ToolHive releases ignore this header for backends of ${namesText(reachers)} and use Authorization`,
      )
  yield relatedTo(warning, referenceEnds(reachers, self, cluster, 'reaches it'), causes)
}

/** The workloads for which the type of an MCPExternalAuthConfig has no effect, grouped by the reason. */
function unsuitedWorkloads(
  config: AuthConfig,
  name: string,
  cluster: Cluster,
): ReadonlyMap<string, readonly ObjectName[]> {
  const found = new Map<string, ObjectName[]>()
  for (const named of cluster.referrers('MCPExternalAuthConfig', name, BACKEND_KINDS)) {
    const use = useOf(named.kind, getWorkload(cluster, named) ?? {}, name)
    const reasons = allUnsuited(use, config)
    const { group } = use
    if (
      group !== undefined &&
      someNeedsGateway(use, config) &&
      isUnused(named.name, { group, config: name }, cluster)
    )
      reasons.push(unusedText(use))
    for (const reason of reasons) {
      const names = found.get(reason)
      if (names === undefined) found.set(reason, [named])
      else names.push(named)
    }
  }
  return found
}

/** Advice about each MCPExternalAuthConfig that a VirtualMCPServer uses, but releases do not support for backends. */
function* unsuitedReached(gateway: Gateway, cluster: Cluster): Iterable<FieldError> {
  // With source `discovered` the operator also converts the MCPExternalAuthConfigs in `backends` and `default` for
  // vMCP, although vMCP may ignore them.
  const used = configsReached(gateway, cluster)
  const unread =
    sourceOf(gateway) === 'inline'
      ? []
      : configsNamed(gateway, cluster).filter(({ auth }) => isForNoBackend(auth))
  const places = unread.length > 0 && new Set(used.map(({ at }) => at && pathText(at())))
  for (const reached of [...used, ...unread.filter(({ at }) => !places || !places.has(pathText(at())))]) {
    const { config, auth, at, members } = reached
    const type = auth?.spec?.type
    if (auth === undefined || type === undefined) continue
    const place = at === undefined ? GATEWAY.spec.outgoingAuth : pathTo(at())
    const thing = () => [ID, config, ...routeOf(reached, gateway)] as const
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
}
