import { advice, defineRule, isAbsent, isLoopback, parseUrl, says } from '../../../rule/index.ts'
import { mayBeTrue } from '../../embedded-auth-server/effective.ts'
import { exchanging } from '../examples.ts'
import { MCPExternalAuthConfig } from '../schema.ts'

const UNSENT =
  'is not sent without `clientId`, and behind a VirtualMCPServer releases fail every exchange; set `clientId`, or remove it'
const withoutId = (id: string) =>
  `releases fail every exchange without \`${id}\`; set it, or remove the Secret`
const withoutSecret = (secret: string) =>
  `releases fail every exchange without \`${secret}\`; set it, or remove the client identifier`
const NO_ENDPOINT =
  "must be an https URL with a host, without a fragment and user information, such as 'https://idp.example.com/token', or releases fail every exchange"
const PLAIN =
  "use 'https://', or set `insecureTargetTokenUrl: true` beside it, or releases fail every exchange"

const PAIRS = [
  ['idpClientId', 'idpClientSecretRef'],
  ['targetClientId', 'targetClientSecretRef'],
] as const

const secret = { name: 'jira', key: 'client-secret' }

export const exchangeSettingsAccepted = defineRule({
  id: 'exchange-settings-accepted',
  on: MCPExternalAuthConfig,
  needs: ['tokenExchange', 'xaa'],
  severity: 'warning',
  summary:
    'A client secret has its client identifier, with type `xaa` also the other way round, and `targetTokenUrl` is an https URL.',
  why: 'A VirtualMCPServer validates the settings of a backend before it calls it, so no tool of the backend works. Proxies of workloads send no client authentication.',
  failure: {
    symptom:
      'calls of the backend fail: `ClientSecret cannot be provided without ClientID`, `requires either client secret or client secret env var`, `endpoint must use HTTPS`',
    reportedBy: 'nobody',
    consequence: 'denies everyone',
  },
  sources: [
    says('2.4.5', 'clientId and clientSecretRef are optional for some exchange flows.'),
    'decision 3',
  ],
  *check({ spec }, { path }) {
    const { tokenExchange, xaa } = spec ?? {}
    if (tokenExchange && has(tokenExchange, 'clientSecretRef') && !has(tokenExchange, 'clientId'))
      yield advice(path.spec.tokenExchange.clientSecretRef, UNSENT)
    if (!xaa) return
    for (const [id, secretRef] of PAIRS) {
      if (has(xaa, id) === has(xaa, secretRef)) continue
      yield has(xaa, id)
        ? advice(path.spec.xaa[id], withoutSecret(secretRef))
        : advice(path.spec.xaa[secretRef], withoutId(id))
    }
    const { targetTokenUrl } = xaa
    if (!targetTokenUrl) return
    const url = parseUrl(targetTokenUrl)
    const isEndpoint = (url?.scheme === 'https' || url?.scheme === 'http') && url.host !== ''
    if (!isEndpoint || url.hasUserInfo || /#./.test(targetTokenUrl))
      yield advice(path.spec.xaa.targetTokenUrl, NO_ENDPOINT)
    else if (url.scheme === 'http' && !isLoopback(url.host) && !mayBeTrue(xaa, 'insecureTargetTokenUrl'))
      yield advice(path.spec.xaa.targetTokenUrl, PLAIN)
  },
  examples: {
    'a public client': { value: exchanging({ clientId: 'vmcp' }) },
    'a client': { value: exchanging({ clientId: 'vmcp', clientSecretRef: secret }) },
    'no client': { value: exchanging({}) },
    'a secret alone': {
      value: exchanging({ clientSecretRef: secret }),
      findings: `spec.tokenExchange.clientSecretRef: ${UNSENT}`,
    },
  },
})

/** Whether a field is there with a value other than an empty text; a value of a wrong JSON type is there too. */
const has = <K extends string>(holder: Readonly<Partial<Record<K, unknown>>>, field: K): boolean =>
  !isAbsent(holder, field) && holder[field] !== ''
