import type { Static } from 'typebox'
import {
  about,
  aboutEach,
  advice,
  type Cluster,
  defineRule,
  end,
  type FieldError,
  type Given,
  isAbsent,
  namesText,
  nameText,
  type ObjectName,
  pathTo,
  relatedTo,
} from '../../../rule/index.ts'
import {
  AUTH_CONFIG,
  type AuthConfig,
  authConfigNamed,
  bearerConfig,
  exchangeConfig,
  getAuthConfig,
  getWorkload,
  otherOf,
  stsConfig,
} from '../../../relations/index.ts'
import { holdsCredential } from '../../headers.ts'
import { MCPExternalAuthConfig } from '../../schemas.ts'
import { MCPRemoteProxy } from '../schema.ts'

type Proxy = Given<Static<typeof MCPRemoteProxy>>

const PROXY = pathTo<Proxy>([])
const ID = 'remote-proxy-callers-authenticated'

const using = (config: string) => ({ spec: { externalAuthConfigRef: { name: config } } })
const TOKEN = {
  spec: { type: 'bearerToken' as const, bearerToken: { tokenSecretRef: { name: 'wiki', key: 'token' } } },
}

const REMEDY =
  'the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one'

/** By type of MCPExternalAuthConfig: the effect when the proxy validates no tokens of callers. */
const CONSEQUENCES: ReadonlyMap<string, string> = new Map([
  ['bearerToken', `holds a fixed token: ${REMEDY}`],
  [
    'awsSts',
    'gives every caller the same role, by the claims of a local user in place of those of the token; set `oidcConfigRef`',
  ],
  [
    'tokenExchange',
    'exchanges any token, unchecked, and passes callers without one on; set `oidcConfigRef`, so that they need a valid one',
  ],
])

export const remoteProxyCallersAuthenticated = defineRule({
  id: ID,
  on: [MCPRemoteProxy, MCPExternalAuthConfig],
  reads: ['MCPExternalAuthConfig', 'MCPRemoteProxy'],
  severity: 'warning',
  summary:
    'An MCPRemoteProxy that sends a fixed credential, exchanges tokens, or assumes an AWS role, checks the tokens of its callers.',
  why: 'Without `oidcConfigRef` the proxy serves every caller, also one without a token, and adds the credential to each request. A token exchange takes the token as the caller sends it, with the client credentials of the configuration.',
  failure: {
    symptom: 'none: a request without a token is answered, with the rights of your credential',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
    threads: ['stacklok/toolhive#3104', 'stacklok/toolhive#4168'],
  },
  sources: ['decision 21'],
  check: (resource, { cluster, self }) =>
    self.kind === 'MCPExternalAuthConfig'
      ? givenToAnyone(resource as AuthConfig, self, cluster)
      : givenByProxy(resource as Proxy, cluster),
  examples: {
    'callers need a token': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          ...using('token').spec,
          oidcConfigRef: { name: 'corporate', audience: 'jira' },
          headerForward: {
            addHeadersFromSecret: [
              { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
            ],
          },
        },
      },
      others: [bearerConfig('token')],
    },
    'the exchanged token of the caller, which is checked first': {
      kind: 'MCPRemoteProxy',
      value: { spec: { ...using('jira').spec, oidcConfigRef: { name: 'corporate', audience: 'jira' } } },
      others: [exchangeConfig('jira')],
    },
    'a header that is no credential': {
      kind: 'MCPRemoteProxy',
      value: { spec: { headerForward: { addPlaintextHeaders: { 'X-Tenant-Id': 'tools' } } } },
    },
    'a fixed token for callers with a token, and one that an MCPServerEntry sends': {
      kind: 'MCPExternalAuthConfig',
      value: TOKEN,
      others: [
        otherOf('MCPRemoteProxy', 'wiki', {
          ...using('example').spec,
          oidcConfigRef: { name: 'corporate', audience: 'wiki' },
        }),
        { kind: 'MCPServerEntry', metadata: { name: 'wiki' }, ...using('example') },
      ],
    },
    'a bearer token for everybody': [
      {
        kind: 'MCPRemoteProxy',
        value: using('token'),
        others: [bearerConfig('token')],
        findings:
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "token" holds a fixed token: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
      },
      {
        kind: 'MCPExternalAuthConfig',
        value: TOKEN,
        others: [{ kind: 'MCPRemoteProxy', metadata: { name: 'wiki' }, ...using('example') }],
        findings:
          'spec.type: holds a fixed token: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one: MCPRemoteProxy "wiki"',
      },
    ],
    'a role for everybody': {
      kind: 'MCPRemoteProxy',
      value: using('aws'),
      others: [stsConfig('aws')],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" gives every caller the same role, by the claims of a local user in place of those of the token; set `oidcConfigRef`',
    },
    'an exchange of whatever token comes': {
      kind: 'MCPRemoteProxy',
      value: using('jira'),
      others: [exchangeConfig('jira')],
      findings:
        'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" exchanges any token, unchecked, and passes callers without one on; set `oidcConfigRef`, so that they need a valid one',
    },
    'an API key for everybody': {
      kind: 'MCPRemoteProxy',
      value: {
        spec: {
          headerForward: {
            addHeadersFromSecret: [
              { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
            ],
          },
        },
      },
      findings:
        'spec.headerForward.addHeadersFromSecret: holds a fixed credential: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
    },
    'an API key in plain text for everybody': {
      kind: 'MCPRemoteProxy',
      value: { spec: { headerForward: { addPlaintextHeaders: { 'X-Api-Key': '0123456789' } } } },
      findings:
        'spec.headerForward.addPlaintextHeaders[X-Api-Key]: holds a fixed credential: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
    },
  },
})

function* givenByProxy({ spec }: Proxy, cluster: Cluster): Iterable<FieldError> {
  if (!spec || !isAbsent(spec, 'oidcConfigRef')) return
  const name = spec.externalAuthConfigRef?.name
  const config = name === undefined ? undefined : getAuthConfig(cluster, name)
  const consequence = CONSEQUENCES.get(config?.spec?.type ?? '')
  if (name !== undefined && consequence !== undefined)
    yield relatedTo(
      about(
        advice(PROXY.spec.externalAuthConfigRef.name, `${nameText(authConfigNamed(name))} ${consequence}`),
        ID,
        name,
      ),
      [end(authConfigNamed(name), AUTH_CONFIG.spec.type, 'has this type')],
      () => [[ID, name]],
    )
  const { addHeadersFromSecret = [], addPlaintextHeaders = {} } = spec.headerForward ?? {}
  const here = PROXY.spec.headerForward
  if (addHeadersFromSecret.length > 0)
    yield advice(here.addHeadersFromSecret, `holds a fixed credential: ${REMEDY}`)
  for (const [header, value] of Object.entries(addPlaintextHeaders))
    if (holdsCredential(header, value))
      yield advice(here.addPlaintextHeaders.at(header), `holds a fixed credential: ${REMEDY}`)
}

function* givenToAnyone({ spec }: AuthConfig, self: ObjectName, cluster: Cluster): Iterable<FieldError> {
  const consequence = CONSEQUENCES.get(spec?.type ?? '')
  if (consequence === undefined) return
  const open = cluster.referrers(self.kind, self.name, ['MCPRemoteProxy']).filter((proxy) => {
    const { spec = {} } = getWorkload(cluster, proxy) ?? {}
    return spec.externalAuthConfigRef?.name === self.name && isAbsent(spec, 'oidcConfigRef')
  })
  if (open.length === 0) return
  yield relatedTo(
    aboutEach(advice(AUTH_CONFIG.spec.type, `${consequence}: ${namesText(open)}`), () =>
      open.map(({ name }) => [ID, name]),
    ),
    open.map((proxy) => end(proxy, PROXY.spec.externalAuthConfigRef.name, 'uses it, for any caller')),
    () => [[ID, self.name]],
  )
}
