import { about, advice, defineRule, end, isAbsent, nameText, relatedTo } from '../../../rule/index.ts'
import {
  AUTH_CONFIG,
  authConfigNamed,
  bearerConfig,
  exchangeConfig,
  getAuthConfig,
  stsConfig,
} from '../../../relations/index.ts'
import { holdsCredential } from '../../headers.ts'
import { MCPRemoteProxy } from '../schema.ts'

const using = (config: string) => ({ spec: { externalAuthConfigRef: { name: config } } })

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
  id: 'remote-proxy-callers-authenticated',
  on: MCPRemoteProxy,
  reads: ['MCPExternalAuthConfig'],
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
  *check({ spec }, { path, cluster }) {
    if (!spec || !isAbsent(spec, 'oidcConfigRef')) return
    const name = spec.externalAuthConfigRef?.name
    const config = name === undefined ? undefined : getAuthConfig(cluster, name)
    const consequence = CONSEQUENCES.get(config?.spec?.type ?? '')
    if (name !== undefined && consequence !== undefined)
      yield relatedTo(
        about(
          advice(path.spec.externalAuthConfigRef.name, `${nameText(authConfigNamed(name))} ${consequence}`),
          'remote-proxy-callers-authenticated',
          name,
        ),
        [end(authConfigNamed(name), AUTH_CONFIG.spec.type, 'has this type')],
      )
    const { addHeadersFromSecret = [], addPlaintextHeaders = {} } = spec.headerForward ?? {}
    const here = path.spec.headerForward
    if (addHeadersFromSecret.length > 0)
      yield advice(here.addHeadersFromSecret, `holds a fixed credential: ${REMEDY}`)
    for (const [header, value] of Object.entries(addPlaintextHeaders))
      if (holdsCredential(header, value))
        yield advice(here.addPlaintextHeaders.at(header), `holds a fixed credential: ${REMEDY}`)
  },
  examples: {
    valid: [
      {
        title: 'callers need a token',
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
      {
        title: 'the exchanged token of the caller, which is checked first',
        value: { spec: { ...using('jira').spec, oidcConfigRef: { name: 'corporate', audience: 'jira' } } },
        others: [exchangeConfig('jira')],
      },
      {
        title: 'a header that is no credential',
        value: { spec: { headerForward: { addPlaintextHeaders: { 'X-Tenant-Id': 'tools' } } } },
      },
    ],
    invalid: [
      {
        title: 'a bearer token for everybody',
        value: using('token'),
        others: [bearerConfig('token')],
        findings: [
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "token" holds a fixed token: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
        ],
      },
      {
        title: 'a role for everybody',
        value: using('aws'),
        others: [stsConfig('aws')],
        findings: [
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "aws" gives every caller the same role, by the claims of a local user in place of those of the token; set `oidcConfigRef`',
        ],
      },
      {
        title: 'an exchange of whatever token comes',
        value: using('jira'),
        others: [exchangeConfig('jira')],
        findings: [
          'spec.externalAuthConfigRef.name: MCPExternalAuthConfig "jira" exchanges any token, unchecked, and passes callers without one on; set `oidcConfigRef`, so that they need a valid one',
        ],
      },
      {
        title: 'an API key for everybody',
        value: {
          spec: {
            headerForward: {
              addHeadersFromSecret: [
                { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
              ],
            },
          },
        },
        findings: [
          'spec.headerForward.addHeadersFromSecret: holds a fixed credential: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
        ],
      },
      {
        title: 'an API key in plain text for everybody',
        value: { spec: { headerForward: { addPlaintextHeaders: { 'X-Api-Key': '0123456789' } } } },
        findings: [
          'spec.headerForward.addPlaintextHeaders[X-Api-Key]: holds a fixed credential: the proxy sends it for callers without a token too; set `oidcConfigRef`, so that they need one',
        ],
      },
    ],
  },
})
