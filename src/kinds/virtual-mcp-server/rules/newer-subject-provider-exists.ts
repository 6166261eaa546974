import {
  about,
  advice,
  defineRule,
  end,
  isAbsent,
  nameText,
  type Other,
  pathTo,
  relatedTo,
  shortQuote,
} from '../../../rule/index.ts'
import {
  type AuthConfig,
  authConfigNamed,
  authServer,
  backend,
  configsReached,
  gatewayOf,
  inline,
  type Providers,
  providersOf,
  REACHED_KINDS,
  referenceEnds,
  routeOf,
  unservedCause,
} from '../../../relations/index.ts'
import { VirtualMCPServer } from '../schema.ts'

const config = (type: 'xaa' | 'awsSts', settings: object): Other => ({
  kind: 'MCPExternalAuthConfig',
  metadata: { name: 'jira' },
  spec: { type, [type]: settings },
})
const XAA = {
  idpTokenUrl: 'https://okta.example.com/token',
  targetTokenUrl: 'https://jira.example.com/token',
  targetAudience: 'https://jira.example.com',
}
const AWS = { region: 'eu-central-1', fallbackRoleArn: 'arn:aws:iam::123456789012:role/tools' }

export const newerSubjectProviderExists = defineRule({
  id: 'newer-subject-provider-exists',
  on: VirtualMCPServer,
  reads: REACHED_KINDS,
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
  *check(gateway, { path, cluster }) {
    const providers = providersOf(gateway.spec, 'authServerConfig')
    for (const reached of configsReached(gateway, cluster)) {
      const named = authConfigNamed(reached.config)
      const detail =
        reached.auth && problemOf(reached.auth, nameText(named), providers, reached.at === undefined)
      if (detail === undefined) continue
      const place = reached.at === undefined ? path.spec.authServerConfig : pathTo(reached.at())
      const warning = about(
        advice(place, detail),
        'newer-subject-provider-exists',
        reached.config,
        ...routeOf(reached, gateway),
      )
      const type: string = reached.auth?.spec?.type ?? ''
      yield relatedTo(
        warning,
        [
          end(named, pathTo(['spec', type, 'subjectProviderName']), 'chooses the provider'),
          ...referenceEnds(reached.members, named, cluster, 'uses it'),
        ],
        () => [unservedCause(reached.config)],
      )
    }
  },
  examples: {
    valid: [
      {
        title: 'the only provider',
        value: gatewayOf({ authServerConfig: authServer('okta'), outgoingAuth: inline({ jira: 'jira' }) }),
        others: [backend('jira'), config('xaa', XAA)],
      },
      {
        title: 'one of two',
        value: gatewayOf({ authServerConfig: authServer('okta', 'github') }),
        others: [backend('jira', 'jira'), config('xaa', { ...XAA, subjectProviderName: 'okta' })],
      },
      {
        title: 'a role for the token of the caller',
        value: gatewayOf(),
        others: [backend('jira', 'jira', 'MCPRemoteProxy'), config('awsSts', AWS)],
      },
      {
        title: 'a role for the token of the provider',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          backend('jira', 'jira', 'MCPRemoteProxy'),
          config('awsSts', { ...AWS, subjectProviderName: 'okta' }),
        ],
      },
    ],
    invalid: [
      {
        title: 'a role for the token of another provider',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [
          backend('jira', 'jira', 'MCPRemoteProxy'),
          config('awsSts', { ...AWS, subjectProviderName: 'octa' }),
        ],
        findings: [
          'spec.authServerConfig: MCPExternalAuthConfig "jira" has awsSts.subjectProviderName "octa", and authServerConfig has no such upstream provider, so every call to the backend fails; there is "okta"',
        ],
      },
      {
        title: 'several providers, and none named',
        value: gatewayOf({
          authServerConfig: authServer('okta', 'github'),
          outgoingAuth: inline({ jira: 'jira' }),
        }),
        others: [backend('jira'), config('xaa', XAA)],
        findings: [
          'spec.outgoingAuth.backends[jira].externalAuthConfigRef.name: set xaa.subjectProviderName in MCPExternalAuthConfig "jira": the operator chooses none of several providers, so no call gets a token; there is "okta", "github"',
        ],
      },
      {
        title: 'none named, discovered: releases do not choose the only one there',
        value: gatewayOf({ authServerConfig: authServer('okta') }),
        others: [backend('jira', 'jira'), config('xaa', XAA)],
        findings: [
          'spec.authServerConfig: set xaa.subjectProviderName in MCPExternalAuthConfig "jira": for discovered backends the operator chooses no provider, so every call to the backend fails; there is "okta"',
        ],
      },
      {
        title: 'no embedded server',
        value: gatewayOf(),
        others: [backend('jira', 'jira'), config('xaa', { ...XAA, subjectProviderName: 'okta' })],
        findings: [
          'spec.authServerConfig: MCPExternalAuthConfig "jira" exchanges the token of a login (xaa), and there is no authServerConfig, so every call to the backend fails; add one with the provider',
        ],
      },
    ],
  },
})

/**
 * Why an MCPExternalAuthConfig gets no token of an upstream provider; undefined when it gets a token, or when a field
 * has a wrong JSON type. `named` is its kind and name, as text.
 */
function problemOf(
  { spec }: AuthConfig,
  named: string,
  providers: Providers | undefined,
  isDiscovered: boolean,
): string | undefined {
  const type: string | undefined = spec?.type
  if (type !== 'xaa' && type !== 'awsSts') return undefined
  const settings = spec?.[type]
  if (settings === undefined) return undefined
  const isOpen = isAbsent(settings, 'subjectProviderName') || settings.subjectProviderName === ''
  const name = settings.subjectProviderName ?? ''
  if (isOpen ? type === 'awsSts' : name === '') return undefined
  const has = `has ${type}.subjectProviderName ${shortQuote(name)}`
  if (providers === undefined)
    return `${named} ${type === 'xaa' ? 'exchanges the token of a login (xaa)' : has}, and there is no authServerConfig, so every call to the backend fails; add one with the provider`
  if (!providers.complete || providers.has(name)) return undefined
  const there = providers.names.slice(0, 5).map(shortQuote).join(', ') || 'none'
  if (!isOpen)
    return `${named} ${has}, and authServerConfig has no such upstream provider, so every call to the backend fails; there is ${there}`
  if (!isDiscovered && providers.names.length < 2) return undefined
  const effect = isDiscovered
    ? 'for discovered backends the operator chooses no provider, so every call to the backend fails'
    : 'the operator chooses none of several providers, so no call gets a token'
  return `set xaa.subjectProviderName in ${named}: ${effect}; there is ${there}`
}
