import {
  about,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  isAbsent,
  nameText,
  type ObjectName,
  type Other,
  pathTo,
  type Related,
  relatedTo,
  shortQuote,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPRemoteProxy,
  MCPServer,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  type AuthConfig,
  authConfigNamed,
  authServer,
  backend,
  configsReached,
  configWith,
  discoverersOf,
  gateway,
  type Gateway,
  GATEWAY,
  gatewayEnd,
  gatewayOf,
  getAuthConfig,
  inline,
  isUsedByName,
  joiningAs,
  newerSubjectProvider,
  type Providers,
  providersOf,
  REACHED_KINDS,
  reachersOf,
  referenceEnds,
  routeOf,
  sourceOf,
  unservedCause,
  type Workload,
  WORKLOAD,
} from '../index.ts'

const ID = 'newer-subject-provider-exists'
const config = (type: 'xaa' | 'awsSts', settings: object): Other => configWith('jira', type, settings)
const XAA = {
  idpTokenUrl: 'https://okta.example.com/token',
  targetTokenUrl: 'https://jira.example.com/token',
  targetAudience: 'https://jira.example.com',
}
const AWS = { region: 'eu-central-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools' }

export const newerSubjectProviderExists = defineRule({
  id: ID,
  on: [VirtualMCPServer, MCPServer, MCPRemoteProxy, MCPServerEntry, MCPExternalAuthConfig],
  needs: ['groupRef', 'xaa', 'awsSts'],
  reads: ['VirtualMCPServer', ...REACHED_KINDS],
  severity: 'warning',
  summary:
    'The provider whose token `xaa` or `awsSts` exchanges is one of the embedded authorization server.',
  why: 'No token is stored under another name, so every call to the backend fails; with several providers, releases leave out a backend of type `xaa` that names none.',
  failure: {
    symptom: '`upstream token not found`, or a condition with reason `AmbiguousSubjectProvider`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
    threads: ['stacklok/toolhive#5697'],
  },
  sources: ['decision 3'],
  *check(resource, { cluster, self }) {
    if (self.kind === 'MCPExternalAuthConfig') {
      const found = choosingNone(resource as AuthConfig, self, cluster)
      if (found !== undefined) yield found
      return
    }
    if (self.kind !== 'VirtualMCPServer') {
      const found = joining(resource as Workload, self, cluster)
      if (found !== undefined) yield found
      return
    }
    const gateway = resource as Gateway
    // With source inline the operator also chooses the provider for configurations that only backends name.
    const isDiscovered = sourceOf(gateway) !== 'inline'
    const providers = providersOf(gateway.spec, 'authServerConfig')
    for (const reached of configsReached(gateway, cluster)) {
      const { config, auth, at, members } = reached
      if (auth === undefined) continue
      const detail = problemOf(auth, config, { providers, isDiscovered: isDiscovered && at === undefined })
      if (detail === undefined) continue
      const place = at === undefined ? GATEWAY.spec.authServerConfig : pathTo(at())
      const warning = about(advice(place, detail), ID, config, ...routeOf(reached, gateway))
      const named = authConfigNamed(config)
      yield relatedTo(
        warning,
        [choosing(named, auth), ...referenceEnds(members, named, cluster, 'uses it')],
        () => [unservedCause(config)],
      )
    }
  },
  examples: {
    'the only provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({ jira: 'jira' }) }),
      others: [backend('jira'), config('xaa', XAA)],
    },
    'one of two': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
      others: [backend('jira', 'jira'), config('xaa', { ...XAA, subjectProviderName: 'okta' })],
    },
    'a role for the token of the caller': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'jira', 'MCPRemoteProxy'), config('awsSts', AWS)],
    },
    'a role for the token of the provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira', 'MCPRemoteProxy'),
        config('awsSts', { ...AWS, subjectProviderName: 'okta' }),
      ],
    },
    'a backend that joins, with one of the providers': {
      kind: 'MCPServer',
      value: joiningAs('jira'),
      others: [
        gateway('vmcp', { authServerConfig: authServer('okta', 'github') }),
        config('xaa', { ...XAA, subjectProviderName: 'okta' }),
      ],
    },
    'a role for the token of the caller, at the configuration': {
      kind: 'MCPExternalAuthConfig',
      value: { spec: { type: 'awsSts', awsSts: AWS } },
      others: [backend('jira', 'example', 'MCPRemoteProxy'), gateway('vmcp')],
    },
    'a role for the token of another provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [
        backend('jira', 'jira', 'MCPRemoteProxy'),
        config('awsSts', { ...AWS, subjectProviderName: 'octa' }),
      ],
      findings:
        'spec.authServerConfig: MCPExternalAuthConfig "jira" has awsSts.subjectProviderName "octa", and authServerConfig has no such upstream provider, so every call to the backend fails; there is "okta"',
    },
    'several providers, and none named': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: authServer('okta', 'github'),
        outgoingAuth: inline({ jira: 'jira' }),
      }),
      others: [backend('jira'), config('xaa', XAA)],
      findings:
        'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: set xaa.subjectProviderName in MCPExternalAuthConfig "jira": the operator chooses none of several providers, so no call gets a token; there is "okta", "github"',
    },
    'none named, discovered: releases do not choose the only one there': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({ authServerConfig: authServer('okta') }),
      others: [backend('jira', 'jira'), config('xaa', XAA)],
      findings:
        'spec.authServerConfig: set xaa.subjectProviderName in MCPExternalAuthConfig "jira": for discovered backends the operator chooses no provider, so every call to the backend fails; there is "okta"',
    },
    'no embedded server': {
      kind: 'VirtualMCPServer',
      value: gatewayOf(),
      others: [backend('jira', 'jira'), config('xaa', { ...XAA, subjectProviderName: 'okta' })],
      findings:
        'spec.authServerConfig: MCPExternalAuthConfig "jira" exchanges the token of a login (xaa), and there is no authServerConfig, so every call to the backend fails; add one with the provider',
    },
    'a backend that joins later': {
      kind: 'MCPServerEntry',
      value: joiningAs('jira'),
      others: [gateway('vmcp', { authServerConfig: authServer('okta') }), config('xaa', XAA)],
      findings:
        'spec.externalAuthConfigRef.name: set xaa.subjectProviderName in MCPExternalAuthConfig "jira": for discovered backends the operator chooses no provider, so every call fails; VirtualMCPServer "vmcp" has "okta"',
    },
    'a backend that joins a VirtualMCPServer without logins': {
      kind: 'MCPRemoteProxy',
      value: joiningAs('jira'),
      others: [gateway('vmcp'), config('xaa', XAA)],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" exchanges the token of a login (xaa), and VirtualMCPServer "vmcp" has no authServerConfig, so every call fails; add one with the provider',
    },
  },
})

/**
 * Advice about the first VirtualMCPServer that uses the judged MCPExternalAuthConfig and chooses no provider for it. The
 * rule auth-config-served reports a provider that the configuration names.
 */
function choosingNone(auth: AuthConfig, self: ObjectName, cluster: Cluster): FieldError | undefined {
  if (newerSubjectProvider(auth) !== undefined) return undefined
  for (const { name, gateway, source } of reachersOf(self.name, cluster)) {
    const providers = providersOf(gateway.spec, 'authServerConfig')
    const isDiscovered = source === 'discovered' && !isUsedByName(gateway, self.name, cluster)
    const detail = problemOf(auth, undefined, { providers, isDiscovered, gateway: name })
    if (detail === undefined) continue
    return relatedTo(
      about(advice(pathTo(['spec', 'xaa', 'subjectProviderName']), detail), ID, self.name, name.name),
      [gatewayEnd(name, { reason: providers ? 'no such provider' : 'no authorization server' })],
      () => [unservedCause(self.name)],
    )
  }
  return undefined
}

/**
 * Advice about the first VirtualMCPServer that discovers the workload and chooses no provider for its configuration. The
 * rule backend-auth-served reports a provider that the configuration names.
 */
function joining(workload: Workload, { name }: ObjectName, cluster: Cluster): FieldError | undefined {
  const config = workload.spec?.externalAuthConfigRef?.name
  const auth = config === undefined ? undefined : getAuthConfig(cluster, config)
  if (config === undefined || auth === undefined || newerSubjectProvider(auth) !== undefined) return undefined
  for (const { name: gateway, gateway: found, source } of discoverersOf(name, workload, cluster)) {
    const providers = providersOf(found.spec, 'authServerConfig')
    const detail = problemOf(auth, config, { providers, isDiscovered: source === 'discovered', gateway })
    if (detail === undefined) continue
    return relatedTo(
      about(advice(WORKLOAD.spec.externalAuthConfigRef.name, detail), ID, config, gateway.name),
      [
        choosing(authConfigNamed(config), auth),
        gatewayEnd(gateway, { reason: providers ? 'no such provider' : 'no authorization server' }),
      ],
      () => [unservedCause(config)],
    )
  }
  return undefined
}

const choosing = (named: ObjectName, { spec }: AuthConfig): Related =>
  end(named, pathTo(['spec', spec?.type ?? '', 'subjectProviderName']), 'chooses the provider')

/** A VirtualMCPServer that uses an MCPExternalAuthConfig. */
interface User {
  readonly providers: Providers | undefined
  /**
   * Whether the VirtualMCPServer uses the configuration only because a backend names it, and so chooses no provider.
   */
  readonly isDiscovered: boolean
  /** The name of the VirtualMCPServer, unless that is the judged object. */
  readonly gateway?: ObjectName
}

/**
 * Why an MCPExternalAuthConfig, `config` or else the judged object, gets no token of an upstream provider; undefined when it gets a token, or when a field
 * has a wrong JSON type.
 */
function problemOf(
  { spec }: AuthConfig,
  config: string | undefined,
  { providers, isDiscovered, gateway }: User,
): string | undefined {
  const type: string | undefined = spec?.type
  if (type !== 'xaa' && type !== 'awsSts') return undefined
  const settings = spec?.[type]
  if (settings === undefined) return undefined
  const isOpen = isAbsent(settings, 'subjectProviderName') || settings.subjectProviderName === ''
  const name = settings.subjectProviderName ?? ''
  if (isOpen ? type === 'awsSts' : name === '') return undefined
  const named = config === undefined ? '' : nameText(authConfigNamed(config))
  const subject = config === undefined ? '' : `${named} `
  const has = `has ${type}.subjectProviderName ${shortQuote(name)}`
  const fails = gateway === undefined ? 'every call to the backend fails' : 'every call fails'
  const thereIs = gateway === undefined ? 'there is' : `${nameText(gateway)} has`
  if (providers === undefined)
    return `${subject}${type === 'xaa' ? 'exchanges the token of a login (xaa)' : has}, and ${thereIs} no authServerConfig, so ${fails}; add one with the provider`
  if (!providers.complete || providers.has(name)) return undefined
  const there = `${thereIs} ${providers.names.slice(0, 5).map(shortQuote).join(', ') || 'none'}`
  if (!isOpen)
    return `${subject}${has}, and authServerConfig has no such upstream provider, so ${fails}; ${there}`
  if (!isDiscovered && providers.names.length < 2) return undefined
  const effect = isDiscovered
    ? `for discovered backends the operator chooses no provider, so ${fails}`
    : 'the operator chooses none of several providers, so no call gets a token'
  return `set xaa.subjectProviderName${config === undefined ? '' : ` in ${named}`}: ${effect}; ${there}`
}
