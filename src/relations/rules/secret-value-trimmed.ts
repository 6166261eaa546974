import {
  defineRule,
  dependingOn,
  end,
  invalid,
  pathTo,
  relatedTo,
  says,
  type Segment,
  shortQuote,
} from '../../rule/index.ts'
import {
  MCPExternalAuthConfig,
  MCPOIDCConfig,
  MCPRemoteProxy,
  MCPServerEntry,
  VirtualMCPServer,
} from '../../kinds/schemas.ts'
import {
  bearerConfig,
  gatewayOf,
  getSecret,
  headerConfig,
  NAME,
  secretReferencesOf,
  seesSecrets,
} from '../index.ts'

const HEADER = 'no HTTP header may have one, so calls fail; write it without'
const CLIENT = 'the provider refuses it; write it without'

/** What a line break does, by the field that names the Secret. */
const EFFECTS: Readonly<Record<string, string>> = {
  valueSecretRef: HEADER,
  tokenSecretRef: HEADER,
  clientSecretRef: CLIENT,
}

/** What a line break in the value of a reference does; undefined where the value may have one. */
function effectOf(at: readonly Segment[]): string | undefined {
  const field = at.at(-1)
  // A delegate client may read its own secret from the same Secret, with the line break.
  if (typeof field !== 'string' || at.includes('delegateClients')) return undefined
  return Object.hasOwn(EFFECTS, field) ? EFFECTS[field] : undefined
}

const secretOf = (name: string, data: object, field = 'stringData') =>
  ({ kind: 'Secret', metadata: { name }, [field]: data }) as never

const broken = (at: string, key: string, name: string, effect: string) =>
  `${at}: Invalid value: "${key}": the value in Secret "${name}" ends in a line break: ${effect}`

export const secretValueTrimmed = defineRule({
  id: 'secret-value-trimmed',
  on: [MCPExternalAuthConfig, VirtualMCPServer, MCPOIDCConfig, MCPRemoteProxy, MCPServerEntry],
  reads: ['Secret'],
  severity: 'warning',
  summary:
    'A header value, a bearer token or a client secret has a text, without a line break at its end (only where Secrets may be looked at).',
  why: 'Releases send the value as it is: a header with a line break is never sent, and an identity provider refuses a client secret with one. An empty value counts as none.',
  failure: {
    symptom:
      'calls fail with `invalid HTTP header value: contains control characters` or `net/http: invalid header field value`; or the identity provider says `invalid_client`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [says('2.1', 'name is the name of the Secret, key a key within it.'), 'decision 22'],
  *check(resource, { cluster }) {
    if (!seesSecrets(cluster)) return
    for (const { at, name, key } of secretReferencesOf(resource)) {
      const effect = effectOf(at)
      const secret = effect === undefined ? undefined : getSecret(cluster, name)
      if (secret === undefined || !Object.hasOwn(secret.bytes, key)) continue
      const isEmpty = secret.bytes[key] === 0
      if (!isEmpty && !secret.lineBreaks.includes(key)) continue
      const text = `the value in Secret ${shortQuote(name)}`
      const detail = isEmpty
        ? `${text} is empty, so calls or the start of the workload fail; write the value`
        : `${text} ends in a line break: ${effect}`
      const named = { kind: 'Secret', name }
      yield relatedTo(
        dependingOn(invalid(pathTo<string>([...at, 'key']), key, detail), named),
        [end(named, NAME, isEmpty ? 'has no value' : 'has the line break')],
        () => [['untrimmed', 'Secret', name, key]],
      )
    }
  },
  examples: {
    'a token without a line break': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(bearerConfig('jira') as object) },
      others: [secretOf('jira', { token: 'c2VjcmV0' }, 'data')],
    },
    'a Secret that cannot be looked at': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(bearerConfig('jira') as object) },
    },
    'a bearer token that echo wrote': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(bearerConfig('jira') as object) },
      others: [secretOf('jira', { token: 'c2VjcmV0Cg==' }, 'data')],
      findings: broken('spec.bearerToken.tokenSecretRef.key', 'token', 'jira', HEADER),
    },
    'the value of a header, as a block of YAML': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(headerConfig('jira') as object) },
      others: [secretOf('jira', { 'api-key': 'secret\n' })],
      findings: broken('spec.headerInjection.valueSecretRef.key', 'api-key', 'jira', HEADER),
    },
    'an empty value': {
      kind: 'MCPExternalAuthConfig',
      value: { ...(headerConfig('jira') as object) },
      others: [secretOf('jira', { 'api-key': '' })],
      findings:
        'spec.headerInjection.valueSecretRef.key: Invalid value: "api-key": the value in Secret "jira" is empty, so calls or the start of the workload fail; write the value',
    },
    'a header that a workload adds': ['MCPRemoteProxy', 'MCPServerEntry'].map((kind) => ({
      kind,
      value: {
        spec: {
          remoteUrl: 'https://mcp.example.com/mcp',
          headerForward: {
            addHeadersFromSecret: [
              { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
            ],
          },
        },
      },
      others: [secretOf('jira', { 'api-key': 'secret\n' })],
      findings: broken(
        'spec.headerForward.addHeadersFromSecret[0].valueSecretRef.key',
        'api-key',
        'jira',
        HEADER,
      ),
    })),
    'the client secret of a provider': {
      kind: 'VirtualMCPServer',
      value: gatewayOf({
        authServerConfig: {
          issuer: 'https://auth.example.com',
          upstreamProviders: [
            {
              name: 'okta',
              type: 'oidc',
              oidcConfig: {
                issuerUrl: 'https://okta.example.com',
                clientId: 'vmcp',
                clientSecretRef: { name: 'okta', key: 'secret' },
              },
            },
          ],
        },
      }),
      others: [secretOf('okta', { secret: 'secret\n' })],
      findings: broken(
        'spec.authServerConfig.upstreamProviders[0].oidcConfig.clientSecretRef.key',
        'secret',
        'okta',
        CLIENT,
      ),
    },
    'a client secret': {
      kind: 'MCPOIDCConfig',
      value: {
        spec: {
          type: 'inline',
          inline: {
            issuer: 'https://idp.example.com',
            clientId: 'vmcp',
            clientSecretRef: { name: 'idp', key: 'secret' },
          },
        },
      },
      others: [secretOf('idp', { secret: 'secret\r\n' })],
      findings: broken('spec.inline.clientSecretRef.key', 'secret', 'idp', CLIENT),
    },
  },
})
