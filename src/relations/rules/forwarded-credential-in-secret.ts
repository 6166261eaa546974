// cspell:ignore apikey appkey applicationkey authkey secretkey subscriptionkey xatlassiantoken xcsrftoken xxsrftoken csrftoken opsu glpat AKIA ATATT
import { advice, defineRule } from '../../rule/index.ts'
import { RESTRICTED_HEADERS } from '../../kinds/headers.ts'
import { MCPRemoteProxy, MCPServerEntry } from '../../kinds/schemas.ts'

const forwarding = (headerForward: object) => ({
  spec: { remoteUrl: 'https://jira.example.com/mcp', headerForward },
})

/** Endings of header names that suggest a credential; in lower case, without `-` and `_`. */
const CREDENTIAL_END =
  /(?:authorization|cookie|apikey|appkey|applicationkey|accesskey|authkey|secretkey|subscriptionkey|token|secret|password|credential|credentials)$/
/** Header names that match `CREDENTIAL_END` but carry no credential: Jira needs `X-Atlassian-Token: no-check`. */
const NO_CREDENTIALS = new Set(['xatlassiantoken', 'xcsrftoken', 'xxsrftoken', 'csrftoken'])
/** Header values that look like credentials: authorization schemes, and prefixes of API keys of well-known issuers. */
const CREDENTIAL_VALUE =
  /^(?:(?:bearer|basic|token|apikey) \S|eyJ[A-Za-z0-9_-]{10}|gh[opsu]_|github_pat_|glpat-|xox[abp]-|sk-[A-Za-z0-9_-]{16}|AKIA[0-9A-Z]{12}|ATATT3)/i

const REMEDY =
  'a credential in plain text: everyone who may read this resource sees it; move it to `addHeadersFromSecret`'

export const forwardedCredentialInSecret = defineRule({
  id: 'forwarded-credential-in-secret',
  on: [MCPRemoteProxy, MCPServerEntry],
  needs: ['headerForward'],
  reads: [],
  severity: 'warning',
  summary: '`addPlaintextHeaders` has no credentials: `addHeadersFromSecret` takes them from a Secret.',
  why: 'The value stands in the resource, in its history in Git and in the backups of the cluster. Its names and values are guessed from their form, such as `Authorization`, `X-Api-Key` or `Bearer …`.',
  failure: {
    symptom: '`kubectl get -o yaml` shows a password, an API key or a token in `headerForward`',
    reportedBy: 'nobody',
    consequence: 'lets anyone in',
    threads: [],
  },
  sources: [
    { section: '5.3', must: 'Values are never inlined; they are referenced through Secret references.' },
    'decision 21',
  ],
  *check({ spec }, { path }) {
    const headers = spec?.headerForward?.addPlaintextHeaders
    if (headers === undefined) return
    for (const [name, value] of Object.entries(headers)) {
      if (value === '' || RESTRICTED_HEADERS.has(name.toLowerCase())) continue
      if (isForCredentials(name) || (value !== undefined && CREDENTIAL_VALUE.test(value)))
        yield advice(path.spec.headerForward.addPlaintextHeaders.at(name), `holds ${REMEDY}`)
    }
  },
  examples: {
    valid: [
      {
        title: 'a key in a Secret, and headers that are none',
        value: forwarding({
          addPlaintextHeaders: {
            'X-Tenant-Id': 'tools',
            'X-Atlassian-Token': 'no-check',
            'Idempotency-Key': '1',
            'Accept-Language': 'sk-SK,sk;q=0.9',
          },
          addHeadersFromSecret: [
            { headerName: 'X-Api-Key', valueSecretRef: { name: 'jira', key: 'api-key' } },
          ],
        }),
      },
    ],
    invalid: [
      {
        title: 'an API key, and a token in a header with another name',
        value: forwarding({
          addPlaintextHeaders: {
            'x-api-key': '0123456789',
            'X-Upstream': 'Bearer 0123456789',
            'X-Model': 'sk-example-0123456789',
          },
        }),
        findings: [
          `spec.headerForward.addPlaintextHeaders[x-api-key]: holds ${REMEDY}`,
          `spec.headerForward.addPlaintextHeaders[X-Upstream]: holds ${REMEDY}`,
          `spec.headerForward.addPlaintextHeaders[X-Model]: holds ${REMEDY}`,
        ],
      },
    ],
  },
})

function isForCredentials(header: string): boolean {
  const name = header.slice(0, LONGEST_NAME).toLowerCase().replaceAll('-', '').replaceAll('_', '')
  return !NO_CREDENTIALS.has(name) && CREDENTIAL_END.test(name)
}

/** The most characters of a header name that are examined. */
const LONGEST_NAME = 256
